/* SPDX-License-Identifier: Apache-2.0 */
#include "gather_case.hpp"

#include "gather_counts.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

extern "C" {
#include "client/gpu_table.h"
#include "codec/codec_ibp.h"
#include "codec/packer.h"
#include "codec/table.h"
#include "tests/lib/lpk_memory.h"
}

void die(const std::string &what)
{
    fprintf(stderr, "%s\n", what.c_str());
    exit(1);
}

std::string TableSpec::text() const
{
    static const char *const codecs[] = {"auto", "raw", "ibp", "lane", "zip7", "dict", "sparse"};
    static const char *const kinds[] = {"normal", "random", "equal", "special", "sparse"};
    std::string s = lp_codec_dtype_info(dtype)->name;

    s += " [";
    for (size_t i = 0; i < dims.size(); i++)
        s += (i != 0 ? "," : "") + std::to_string(dims[i]);
    s += std::string("] ") + kinds[kind] + " " + codecs[plan.codec];
    if (plan.ibp_word_bytes != 0)
        s += std::to_string(plan.ibp_word_bytes);
    s += plan.layout == LP_LAYOUT_SLOTTED ? " slotted" : " packed";
    if (plan.align_bytes != 0)
        s += " align " + std::to_string(plan.align_bytes);
    if (plan.record_elements != 0)
        s += " records of " + std::to_string(plan.record_elements);
    if (distinct != 0)
        s += " of " + std::to_string(distinct) + " values";
    if (percent != 0)
        s += " " + std::to_string(percent) + " %";
    if (counts)
        s += " counts";
    if (ibp_groups != 0)
        s += " in " + std::to_string(ibp_groups) + " groups";
    if (!lane.widths.empty()) {
        s += " levels ";
        for (const uint8_t width : lane.widths)
            s += std::to_string(width);
        s += " exponent " + std::to_string(lane.exponent_bits) + " sign " +
             std::to_string(lane.sign) + " trailing " + std::to_string(lane.trailing_bits) +
             " period " + std::to_string(lane.period) + (lane.spans ? " in spans" : "");
    }
    return s;
}

/* Add to the exponents of each row another number. */
static void add_drift(const lp_geometry &g, unsigned char *data)
{
    const lp_dtype_info *const info = lp_codec_dtype_info(g.dtype);
    const uint64_t mask = (1ull << info->exponent_bits) - 1;

    for (uint64_t i = 0; i < g.n_elements; i++) {
        uint64_t word = 0;

        memcpy(&word, data + i * g.elem_bytes, g.elem_bytes);
        const uint64_t old = word >> info->mantissa_bits & mask;
        const uint64_t drift = i / g.row_elements * 7 % (mask / 2);
        word ^= (old ^ (old + drift) % mask) << info->mantissa_bits;
        memcpy(data + i * g.elem_bytes, &word, g.elem_bytes);
    }
}

static uint64_t load_element(const lp_geometry &g, const unsigned char *data, uint64_t i)
{
    uint64_t word = 0;

    memcpy(&word, data + i * g.elem_bytes, g.elem_bytes);
    return word;
}

static void store_element(const lp_geometry &g, unsigned char *data, uint64_t i, uint64_t word)
{
    memcpy(data + i * g.elem_bytes, &word, g.elem_bytes);
}

/* Every element becomes one of the first few, the smaller of two random ones. */
static void draw_from_few(const lp_geometry &g, uint32_t distinct, uint64_t seed,
                          unsigned char *data)
{
    for (uint64_t i = distinct; i < g.n_elements; i++) {
        const uint64_t r = samples_next(&seed);
        const uint64_t from = std::min((r & 0xffffffff) % distinct, (r >> 32) % distinct);

        store_element(g, data, i, load_element(g, data, from));
    }
}

static void thin_out(const lp_geometry &g, uint32_t percent, uint64_t seed, unsigned char *data)
{
    for (uint64_t i = 0; i < g.n_elements; i++)
        if (samples_next(&seed) % 100 >= percent)
            store_element(g, data, i, 0);
}

/* Where the field of an element is, and what of it codec lane is told. */
struct Field {
    uint32_t bits, shift;
    uint64_t mask;

    Field(const lp_geometry &g, const LaneForm &form)
        : bits(form.exponent_bits != 0 ? form.exponent_bits
                                       : lp_codec_dtype_info(g.dtype)->exponent_bits),
          shift(form.exponent_bits != 0 ? 8 - bits : lp_codec_dtype_info(g.dtype)->mantissa_bits),
          mask((1ull << bits) - 1)
    {
    }
    uint64_t of(uint64_t word) const
    {
        return word >> shift & mask;
    }
    uint64_t add(uint64_t word, uint64_t more) const
    {
        return (word & ~(mask << shift)) | ((of(word) + more) & mask) << shift;
    }
};

/* A base for each column, and the same subtracted to see what the cascade sees. */
static std::vector<uint16_t> make_columns(const lp_geometry &g, const LaneForm &form, uint64_t seed)
{
    const uint64_t groups = form.span == 0 ? 1 : (g.n_elements + form.span - 1) / form.span;
    std::vector<uint16_t> columns(form.period == 0 ? 0 : groups * form.period);

    for (uint16_t &column : columns)
        column = (uint16_t)(samples_next(&seed) & Field(g, form).mask);
    return columns;
}

static uint64_t column_of(const LaneForm &form, uint64_t i)
{
    return (form.span == 0 ? 0 : i / form.span) * form.period + i % form.period;
}

/* Elements as the form wants them, but for one in 500 of the first third: their records are then
 * stored raw. */
static void suit_lane(const lp_geometry &g, const LaneForm &form,
                      const std::vector<uint16_t> &columns, uint64_t seed, unsigned char *data)
{
    const uint64_t sign = 1ull << (8 * g.elem_bytes - 1);
    const uint64_t trailing = (1ull << form.trailing_bits) - 1;
    const Field field(g, form);

    for (uint64_t i = 0; i < g.n_elements; i++) {
        uint64_t word = load_element(g, data, i);

        if (!form.misfits || samples_next(&seed) % 500 != 0 || i > g.n_elements / 3) {
            word &= ~trailing;
            if (form.sign == LP_LANE_SIGN_ONE)
                word |= sign;
            else if (form.sign == LP_LANE_SIGN_ZERO)
                word &= ~sign;
        }
        if (!columns.empty())
            word = field.add(word, columns[column_of(form, i)]);
        store_element(g, data, i, word);
    }
}

/* Ranks by frequency. */
static std::vector<uint16_t> make_ranks(const lp_geometry &g, const LaneForm &form,
                                        const std::vector<uint16_t> &columns,
                                        const unsigned char *data)
{
    const Field field(g, form);
    std::vector<uint64_t> count(field.mask + 1);
    std::vector<uint16_t> order(field.mask + 1);

    for (uint64_t i = 0; i < g.n_elements; i++) {
        const uint64_t word = load_element(g, data, i);

        count[field.of(
            columns.empty() ? word : field.add(word, 0 - (uint64_t)columns[column_of(form, i)]))]++;
    }
    for (size_t i = 0; i < order.size(); i++)
        order[i] = (uint16_t)i;
    std::stable_sort(order.begin(), order.end(),
                     [&count](uint16_t a, uint16_t b) { return count[a] > count[b]; });
    return order;
}

/* The shortest span that this table's records allow, or none where it has no second group. */
static LaneForm fit_span(const TableSpec &spec, const lp_geometry &geometry)
{
    LaneForm form = spec.lane;
    uint32_t record;
    lp_error err{};

    if (!form.spans)
        return form;
    if (lp_codec_plan_record(&geometry, &spec.plan, &record, &err) < 0)
        die(spec.text() + ": " + err.text);
    form.span = (record + form.period - 1) / form.period * form.period;
    if (form.span >= geometry.n_elements)
        form.span = 0;
    return form;
}

struct LaneChange {
    const TableSpec &spec;
    lp_lane_params params;
};

static int set_lane(lp_table *table, void *user, lp_error *err)
{
    const LaneChange &change = *static_cast<LaneChange *>(user);
    const uint32_t layout = change.spec.plan.layout;

    lp_codec_lane_fini(&table->lane);
    if (lp_codec_lane_init(&table->lane, &change.params, err) < 0)
        return -1;
    table->codec = LP_CODEC_LANE;
    table->layout = layout == LP_LAYOUT_SLOTTED ? LP_LAYOUT_SLOTTED : LP_LAYOUT_PACKED;
    table->align_bytes = std::max(change.spec.plan.align_bytes, 4u);
    if (layout == LP_LAYOUT_SLOTTED)
        table->align_bytes = LP_FORMAT_SECTOR_BYTES;
    table->meta_bytes = lp_codec_lane_meta_bytes(&table->lane);
    return 0;
}

static int make_lane(packed *ret, const TableSpec &spec, const lp_geometry &geometry,
                     unsigned char *data, lp_error *err)
{
    const LaneForm form = fit_span(spec, geometry);
    const std::vector<uint16_t> columns = make_columns(geometry, form, spec.seed);
    LaneChange change = {spec, {}};
    lp_plan_params plan = spec.plan;

    plan.codec = LP_CODEC_RAW; /* for the records; what is learned is changed */
    plan.layout = 0;
    plan.align_bytes = 0;
    suit_lane(geometry, form, columns, spec.seed, data);
    const std::vector<uint16_t> ranks = make_ranks(geometry, form, columns, data);
    change.params.dtype = spec.dtype;
    change.params.exponent_bits = form.exponent_bits;
    change.params.n_levels = (uint32_t)form.widths.size();
    change.params.widths = form.widths.data();
    change.params.ranks = ranks.data();
    change.params.window = form.window;
    change.params.sign = form.sign;
    change.params.trailing_bits = form.trailing_bits;
    if (!columns.empty()) {
        change.params.window = LP_LANE_WINDOW_COLUMNS;
        change.params.column_period = form.period;
        change.params.column_span = form.span;
        change.params.n_columns = (uint32_t)columns.size();
        change.params.columns = columns.data();
    }
    const int rc = packed_make_changed(ret, &geometry, &plan, set_lane, &change, data, err);
    return rc == LP_PACKER_ALL_RAW ? packed_make(ret, &geometry, &plan, data, 0, err) : rc;
}

/* Group g has the masks that were learned, less every fourth word from g on, so that words which do
 * not match there decide on the group. */
static int set_groups(lp_table *table, void *user, lp_error *err)
{
    const uint32_t n_groups = *static_cast<const uint32_t *>(user);
    const lp_ibp_masks learned = table->ibp.set[0];
    lp_ibp grouped;

    if (lp_codec_ibp_init(&grouped, table->ibp.word_bytes, table->ibp.n_words, n_groups, err) < 0)
        return -1;
    for (uint32_t g = 0; g < n_groups; g++) {
        for (uint32_t j = 0; j < grouped.n_words; j++) {
            grouped.set[g].mask[j] = j % 4 == g ? 0 : learned.mask[j];
            grouped.set[g].value[j] = j % 4 == g ? 0 : learned.value[j];
        }
    }
    lp_codec_ibp_derive(&grouped);
    lp_codec_ibp_fini(&table->ibp);
    table->ibp = grouped;
    table->meta_bytes = lp_codec_ibp_meta_bytes(&grouped);
    return 0;
}

static int make(packed *ret, const TableSpec &spec, const lp_geometry &geometry,
                unsigned char *data, lp_error *err)
{
    uint32_t n_groups = spec.ibp_groups;

    if (spec.counts)
        return make_counts(ret, spec, geometry, data, err);
    if (!spec.lane.widths.empty())
        return make_lane(ret, spec, geometry, data, err);
    if (n_groups != 0)
        return packed_make_changed(ret, &geometry, &spec.plan, set_groups, &n_groups, data, err);
    return packed_make(ret, &geometry, &spec.plan, data, 0, err);
}

GatherTable::GatherTable(const TableSpec &spec) : view(&own.view), owns(true)
{
    lp_geometry geometry;
    lp_error err{};
    std::vector<uint64_t> dims = spec.dims;

    if (lp_codec_geometry_init(&geometry, spec.dtype, (uint32_t)dims.size(), dims.data(), &err) < 0)
        die(spec.text() + ": " + err.text);
    std::vector<unsigned char> data(geometry.logical_bytes + 64);
    samples_fill(spec.kind, spec.dtype, geometry.n_elements, spec.seed, data.data());
    if (spec.drift)
        add_drift(geometry, data.data());
    if (spec.distinct != 0)
        draw_from_few(geometry, spec.distinct, spec.seed, data.data());
    if (spec.percent != 0)
        thin_out(geometry, spec.percent, spec.seed, data.data());
    if (make(&own, spec, geometry, data.data(), &err) != 0)
        die(spec.text() + ": " + err.text);
    copy();
}

GatherTable::GatherTable(const lp_view *borrowed) : view(borrowed)
{
    copy();
}

GatherTable::~GatherTable()
{
    if (owns)
        packed_fini(&own);
}

/* Segments in whole sectors and no byte more: that much a kernel may read. */
void GatherTable::copy()
{
    const lp_table *const t = view->table;
    lp_error err{};

    for (uint32_t i = 0; i < t->n_segments; i++) {
        const uint64_t bytes = lp_codec_table_segment_bytes(t, i);

        segments.emplace_back((bytes + 31) / 32 * 32, (unsigned char)0x5a);
        memcpy(segments.back().data(), view->segments[i], bytes);
        segments_dev.push_back(segments.back().address());
    }
    lp_client_gpu_table_params(&params, view, segments_dev.data());
    if (lp_gpu_plan_table(&table, &params, &err) < 0)
        die(std::string("plan: ") + err.text);
    index = std::make_unique<Block>(t->index_bytes);
    memcpy(index->data(), view->index, t->index_bytes);
    addresses = std::make_unique<Block>(8 * segments_dev.size());
    memcpy(addresses->data(), segments_dev.data(), addresses->bytes);
    meta = std::make_unique<Block>(lp_gpu_plan_meta_bytes(&table, &params));
    lp_gpu_plan_meta(meta->data(), &table, &params);
    table.index_dev = index->address();
    table.segments_dev = addresses->address();
    table.meta_dev = meta->address();
}

void GatherTable::flip_segment_bit(uint32_t segment, uint64_t bit)
{
    const unsigned char mask = (unsigned char)(1u << bit % 8);

    own.segments[segment][bit / 8] ^= mask;
    segments[segment].data()[bit / 8] ^= mask;
}

void GatherTable::flip_index_bit(uint64_t bit)
{
    const unsigned char mask = (unsigned char)(1u << bit % 8);

    own.head[own.table.index_offset + bit / 8] ^= mask;
    index->data()[bit / 8] ^= mask;
}

std::vector<int64_t> random_rows(uint64_t rows, size_t n, uint64_t seed, unsigned bad_every)
{
    std::vector<int64_t> numbers(n);

    for (size_t i = 0; i < n; i++) {
        const uint64_t r = samples_next(&seed);

        numbers[i] = (int64_t)(r % rows);
        if (bad_every != 0 && r >> 32 % 64 != 0 && (r >> 40) % bad_every == 0)
            numbers[i] = r & (1u << 20) ? -1 - (int64_t)(r >> 50) : (int64_t)(rows + (r >> 50));
    }
    return numbers;
}

namespace {

constexpr unsigned char CANARY = 0xcd;

/* What the host says: rows, default rows, and untouched bytes for bad numbers without one. */
std::vector<unsigned char> expected(const GatherTable &table, const Gather &g,
                                    const std::vector<unsigned char> &default_row,
                                    uint64_t &first_bad)
{
    const lp_geometry &geometry = table.geometry();
    const uint64_t n = g.all ? geometry.n_rows : g.rows.size(), row_bytes = geometry.row_bytes;
    std::vector<unsigned char> out(n * row_bytes, CANARY);

    first_bad = 0;
    for (uint64_t i = 0; i < n; i++) {
        const int64_t row = g.all ? (int64_t)i : g.rows[i];
        lp_error err{};

        if (row >= 0 && (uint64_t)row < geometry.n_rows) {
            if (lp_codec_view_gather(table.view, &row, 8, 1, &out[i * row_bytes], row_bytes,
                                     nullptr, &err) < 0)
                die(std::string("host: ") + err.text);
        } else if (g.with_default) {
            memcpy(&out[i * row_bytes], default_row.data(), row_bytes);
        } else if (first_bad == 0) {
            first_bad = i + 1;
        }
    }
    return out;
}

Block row_numbers(const Gather &g)
{
    Block block(g.rows.size() * g.index_bytes);

    for (size_t i = 0; i < g.rows.size(); i++) {
        const int32_t narrow = (int32_t)g.rows[i];

        if (g.index_bytes == 4)
            memcpy(block.data() + 4 * i, &narrow, 4);
        else
            memcpy(block.data() + 8 * i, &g.rows[i], 8);
    }
    return block;
}

} /* namespace */

uint64_t check_gather(const GatherTable &table, const Gather &g, const Launch &launch,
                      const std::string &name)
{
    const lp_geometry &geometry = table.geometry();
    const uint64_t n = g.all ? geometry.n_rows : g.rows.size();
    std::vector<unsigned char> default_row(geometry.row_bytes);
    uint64_t seed = 77, first_bad, status;
    lp_error err{};
    lp_gather_args args;
    lp_gpu_shape shape;
    lp_gpu_gather_params call{};

    for (unsigned char &byte : default_row)
        byte = (unsigned char)samples_next(&seed);
    const std::vector<unsigned char> want = expected(table, g, default_row, first_bad);
    const Block rows = row_numbers(g);
    Block out(want.size() + g.out_offset, CANARY), status_block(8);
    Block default_block(geometry.row_bytes);
    memcpy(default_block.data(), default_row.data(), default_row.size());
    call.rows_dev = g.all ? 0 : rows.address();
    call.index_bytes = g.index_bytes;
    call.n_rows = n;
    call.row_elements = geometry.row_elements;
    call.table_rows = geometry.n_rows;
    call.out_dev = out.address() + g.out_offset;
    call.out_bytes = want.size();
    call.default_row_dev = g.with_default ? default_block.address() : 0;
    call.status_dev = status_block.address();
    if (lp_gpu_plan_gather(&args, &shape, &table.table, &call, geometry.n_elements,
                           g.max_shared_bytes, g.multiprocessors, &err) < 0)
        die(name + ": " + err.text);
    std::vector<Range> ranges = {
        {"index", table.index.get(), false}, {"addresses", table.addresses.get(), false},
        {"meta", table.meta.get(), false},   {"rows", &rows, false},
        {"default", &default_block, false},  {"out", &out, true},
        {"status", &status_block, true}};
    for (const Block &segment : table.segments)
        ranges.push_back({"segment", &segment, false});
    if (shape.blocks != 0)
        launch(lp_gpu_plan_kernel(&table.table), args, shape, ranges);
    memcpy(&status, status_block.data(), 8);
    if (g.expect_corrupt) {
        if (lp_gpu_gather_status(status, &err) != LP_ECORRUPT)
            die(name + ": corrupt, and not noticed");
        return want.size();
    }
    if (status != first_bad)
        die(name + ": status " + std::to_string(status) + ", not " + std::to_string(first_bad));
    for (size_t i = 0; i < g.out_offset; i++)
        if (out.data()[i] != CANARY)
            die(name + ": byte written before the output");
    for (size_t i = 0; i < want.size(); i++)
        if (out.data()[g.out_offset + i] != want[i])
            die(name + ": byte " + std::to_string(i) + " of row " +
                std::to_string(i / geometry.row_bytes) + " (" +
                std::to_string(i % geometry.row_bytes) + " in it) is " +
                std::to_string(out.data()[g.out_offset + i]) + ", not " + std::to_string(want[i]));
    return want.size();
}

/* --- damage ---------------------------------------------------------------------------------- */

namespace {

/* Row by row, what the host says: good rows, and the first one that is corrupt. */
void compare_damaged(const GatherTable &table, const unsigned char *got, uint64_t status,
                     const std::string &name)
{
    const lp_geometry &g = table.geometry();
    std::vector<unsigned char> want(g.row_bytes);
    uint64_t first_corrupt = 0;

    for (uint64_t i = 0; i < g.n_rows; i++) {
        const int64_t row = (int64_t)i;

        if (lp_codec_view_gather(table.view, &row, 8, 1, want.data(), g.row_bytes, nullptr,
                                 nullptr) < 0)
            first_corrupt = first_corrupt == 0 ? i + 1 : first_corrupt;
        else if (memcmp(want.data(), got + i * g.row_bytes, g.row_bytes) != 0)
            die(name + ": row " + std::to_string(i) + " differs after damage");
    }
    if (status != (first_corrupt != 0 ? LP_GPU_STATUS_CORRUPT | first_corrupt : 0))
        die(name + ": status " + std::to_string(status & ~LP_GPU_STATUS_CORRUPT) +
            " after damage, the host says " + std::to_string(first_corrupt));
}

/* All rows by number, whatever state the table is in. */
void gather_damaged(const GatherTable &table, const Launch &launch, const std::string &name)
{
    const lp_geometry &g = table.geometry();
    Block rows(8 * g.n_rows), out(g.n_rows * g.row_bytes), status_block(8);
    lp_gpu_gather_params call{};
    lp_gather_args args;
    lp_gpu_shape shape;
    lp_error err{};
    uint64_t status;

    for (uint64_t i = 0; i < g.n_rows; i++)
        memcpy(rows.data() + 8 * i, &i, 8);
    call.rows_dev = rows.address();
    call.index_bytes = 8;
    call.n_rows = call.table_rows = g.n_rows;
    call.row_elements = g.row_elements;
    call.out_dev = out.address();
    call.out_bytes = out.bytes;
    call.status_dev = status_block.address();
    if (lp_gpu_plan_gather(&args, &shape, &table.table, &call, g.n_elements, 99u << 10, 1, &err) <
        0)
        die(name + ": " + err.text);
    std::vector<Range> ranges = {{"index", table.index.get(), false},
                                 {"addresses", table.addresses.get(), false},
                                 {"meta", table.meta.get(), false},
                                 {"rows", &rows, false},
                                 {"out", &out, true},
                                 {"status", &status_block, true}};
    for (const Block &segment : table.segments)
        ranges.push_back({"segment", &segment, false});
    launch(lp_gpu_plan_kernel(&table.table), args, shape, ranges);
    memcpy(&status, status_block.data(), 8);
    compare_damaged(table, out.data(), status, name);
}

} /* namespace */

void check_damage(const TableSpec &spec, unsigned rounds, const Launch &launch)
{
    GatherTable table(spec);
    const lp_table *const t = table.view->table;
    uint64_t seed = spec.seed;

    if (t->n_segments == 0)
        return;
    for (unsigned round = 0; round < rounds; round++) {
        const uint64_t bits = 8 * lp_codec_table_segment_bytes(t, 0);
        const uint64_t bit = samples_next(&seed) % bits, in_index = samples_next(&seed);

        if (round % 4 == 3 && t->index_bytes != 0)
            table.flip_index_bit(in_index % (8 * t->index_bytes));
        else
            table.flip_segment_bit(0, bit);
        gather_damaged(table, launch, spec.text() + ", round " + std::to_string(round));
        /* Damage adds up in odd rounds, and is healed in even ones. */
        if (round % 2 != 0)
            continue;
        table.flip_segment_bit(0, bit);
    }
}

void check_every_bit(const TableSpec &spec, uint64_t stride, const Launch &launch)
{
    GatherTable table(spec);
    const lp_table *const t = table.view->table;
    const uint64_t bits = 8 * lp_codec_table_segment_bytes(t, 0);

    for (uint64_t bit = 0; bit < 8 * t->index_bytes; bit++) {
        table.flip_index_bit(bit);
        gather_damaged(table, launch, spec.text() + ", index bit " + std::to_string(bit));
        table.flip_index_bit(bit);
    }
    for (uint64_t bit = spec.seed % stride; bit < bits; bit += stride) {
        table.flip_segment_bit(0, bit);
        gather_damaged(table, launch, spec.text() + ", bit " + std::to_string(bit));
        table.flip_segment_bit(0, bit);
    }
}

/* --- stored files ---------------------------------------------------------------------------- */

namespace {

struct GoldenRun {
    const Launch &launch;
    bool (*wanted)(const char *kernel);
    std::string path;
    unsigned tables;
};

std::vector<unsigned char> read_file(const std::string &path)
{
    FILE *const file = fopen(path.c_str(), "rb");
    std::vector<unsigned char> bytes;
    unsigned char buffer[4096];
    size_t n;

    if (file == nullptr)
        die(path + ": cannot be read");
    while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
        bytes.insert(bytes.end(), buffer, buffer + n);
    fclose(file);
    return bytes;
}

int gather_golden(void *user, const char *name, const lp_view *view, lp_error *)
{
    GoldenRun &run = *static_cast<GoldenRun *>(user);

    if (view->table->geometry.n_elements == 0)
        return 0;
    const GatherTable table(view);
    if (run.wanted != nullptr && !run.wanted(lp_gpu_plan_kernel(&table.table)))
        return 0;
    gather_damaged(table, run.launch, run.path + ", " + name);
    run.tables++;
    return 0;
}

/* A file that is no .lpk at all is the host's to refuse: nothing of it reaches a device. */
void read_golden(GoldenRun &run)
{
    std::vector<unsigned char> bytes = read_file(run.path);
    const uint64_t n = bytes.size();
    lp_error err{};

    bytes.resize(n + 64);
    lpk_memory_read(bytes.data(), n, gather_golden, &run, &err);
}

} /* namespace */

unsigned check_golden(const std::string &folder, const Launch &launch,
                      bool (*wanted)(const char *kernel))
{
    namespace fs = std::filesystem;
    GoldenRun run = {launch, wanted, "", 0};

    for (const fs::directory_entry &entry : fs::directory_iterator(folder + "/valid")) {
        run.path = entry.path().string();
        if (entry.path().extension() == ".lpk")
            read_golden(run);
    }
    for (const fs::directory_entry &entry : fs::directory_iterator(folder + "/invalid")) {
        run.path = entry.path().string() + "/input";
        if (fs::exists(run.path))
            read_golden(run);
    }
    return run.tables;
}
