/* SPDX-License-Identifier: Apache-2.0 */
#include "gather_counts.hpp"

#include <algorithm>
#include <cstring>
#include <map>

extern "C" {
#include "codec/packer.h"
#include "codec/table.h"
}

namespace {

float as_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Any mantissa, and an exponent around that of 1; now and then one of the outermost. */
uint32_t draw_scale(uint64_t &seed)
{
    const uint64_t r = samples_next(&seed);
    const uint32_t mantissa = (uint32_t)r & 0x7fffff;
    uint32_t exponent = 120 + (uint32_t)(r >> 32) % 12;

    if ((r >> 40) % 16 == 0)
        exponent =
            (r >> 50) % 2 != 0 ? LP_FORMAT_COUNTS_EXPONENT_MIN : LP_FORMAT_COUNTS_EXPONENT_MAX;
    return exponent << 23 | mantissa;
}

/* Small counts are frequent; one in 64 may be any. */
uint32_t draw_symbol(uint64_t &seed)
{
    const uint64_t r = samples_next(&seed);
    const uint32_t residual =
        (r & 7) != 0 ? LP_FORMAT_COUNTS_RESIDUAL_BIAS : (uint32_t)(r >> 3) % 16;
    uint32_t count = (uint32_t)__builtin_ctzll(r >> 8 | 1ull << 40) + 1;

    if ((r >> 50) % 64 == 0)
        count = 1 + (uint32_t)samples_next(&seed) % 65536;
    return (count - 1) << LP_FORMAT_COUNTS_RESIDUAL_BITS | residual;
}

struct Parameters {
    std::vector<uint32_t> columns, symbols;
    std::vector<uint8_t> widths;
    const TableSpec &spec;
};

/* Fills in the columns and what the dictionary has: the most frequent symbols, in three levels. */
class Maker {
  public:
    Maker(Parameters &to, uint32_t record_elements) : to_(to), seed_(to.spec.seed)
    {
        for (uint32_t i = 0; i < record_elements; i++)
            to_.columns.push_back(draw_scale(seed_));
    }

    void make(uint32_t *elements, uint64_t n)
    {
        for (uint64_t first = 0; first < n; first += to_.columns.size())
            make_record(elements + first, std::min<uint64_t>(to_.columns.size(), n - first),
                        first / to_.columns.size());
        choose_symbols();
    }

  private:
    void make_record(uint32_t *elements, uint64_t n, uint64_t record)
    {
        const uint32_t row = draw_scale(seed_);

        for (uint64_t i = 0; i < n; i++) {
            const uint64_t r = samples_next(&seed_);

            if (r % 100 >= to_.spec.percent)
                elements[i] = 0;
            else if ((r >> 32) % 50 == 0)
                elements[i] = (uint32_t)samples_next(&seed_) | LP_FORMAT_COUNTS_SYMBOLS;
            else
                elements[i] = draw_element(row, to_.columns[i]);
        }
        if (record % 4 == 3)
            elements[n / 2] = 1;
    }

    uint32_t draw_element(uint32_t row, uint32_t column)
    {
        const uint32_t symbol = draw_symbol(seed_);
        const float scaled =
            (float)((symbol >> LP_FORMAT_COUNTS_RESIDUAL_BITS) + 1) * as_float(row);
        const float product = scaled * as_float(column);
        uint32_t bits;

        often_[symbol]++;
        memcpy(&bits, &product, sizeof(bits));
        return bits + symbol % 16 - LP_FORMAT_COUNTS_RESIDUAL_BIAS;
    }

    /* Not all of them, so that some are left as raw symbols. */
    void choose_symbols()
    {
        std::vector<std::pair<uint32_t, uint32_t>> order;

        for (const auto &entry : often_)
            order.push_back({entry.second, entry.first});
        std::sort(order.rbegin(), order.rend());
        order.resize(std::min<size_t>(order.size() == 0 ? 0 : (order.size() * 7 + 7) / 8, 100));
        for (const auto &entry : order)
            to_.symbols.push_back(entry.second);
        if (to_.symbols.empty())
            to_.symbols.push_back(LP_FORMAT_COUNTS_RESIDUAL_BIAS);
        to_.widths = {2};
        if (to_.symbols.size() > 3)
            to_.widths.push_back(3);
        if (to_.symbols.size() > 10)
            to_.widths.push_back(7);
    }

    Parameters &to_;
    uint64_t seed_;
    std::map<uint32_t, uint32_t> often_;
};

int set_counts(lp_table *table, void *user, lp_error *err)
{
    const Parameters &p = *static_cast<Parameters *>(user);
    const uint32_t layout = p.spec.plan.layout;
    lp_sparse sparse{};
    lp_dict symbols;

    if (lp_codec_dict_init(&symbols, LP_FORMAT_COUNTS_SYMBOL_BYTES, (uint32_t)p.widths.size(),
                           p.widths.data(), (uint32_t)p.symbols.size(), p.symbols.data(),
                           err) < 0 ||
        lp_codec_counts_init_take(&sparse.counts, (uint32_t)p.columns.size(), p.columns.data(),
                                  &symbols, err) < 0)
        return -1;
    sparse.values = LP_SPARSE_VALUES_COUNTS;
    sparse.elem_bytes = LP_FORMAT_COUNTS_SYMBOL_BYTES;
    table->sparse = sparse;
    table->codec = LP_CODEC_SPARSE;
    table->layout = layout == LP_LAYOUT_SLOTTED ? LP_LAYOUT_SLOTTED : LP_LAYOUT_PACKED;
    table->align_bytes = std::max(p.spec.plan.align_bytes, 4u);
    if (layout == LP_LAYOUT_SLOTTED)
        table->align_bytes = LP_FORMAT_SECTOR_BYTES;
    table->meta_bytes = lp_codec_sparse_meta_bytes(&table->sparse);
    return 0;
}

} /* namespace */

int make_counts(packed *ret, const TableSpec &spec, const lp_geometry &geometry,
                unsigned char *data, lp_error *err)
{
    std::vector<uint32_t> elements(geometry.n_elements);
    Parameters parameters = {{}, {}, {}, spec};
    lp_plan_params plan = spec.plan;
    uint32_t record;

    plan.codec = LP_CODEC_RAW; /* for the records; what is learned is changed */
    plan.layout = 0;
    plan.align_bytes = 0;
    if (lp_codec_plan_record(&geometry, &plan, &record, err) < 0)
        return -1;
    Maker(parameters, record).make(elements.data(), elements.size());
    memcpy(data, elements.data(), elements.size() * sizeof(elements[0]));
    const int rc = packed_make_changed(ret, &geometry, &plan, set_counts, &parameters, data, err);
    return rc == LP_PACKER_ALL_RAW ? packed_make(ret, &geometry, &plan, data, 0, err) : rc;
}
