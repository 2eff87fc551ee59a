/* SPDX-License-Identifier: Apache-2.0 */
/* The gather kernels' own source under the fiber executor, against the host decoder.
 *
 *     test_gather [PART PARTS]        every PARTS-th table, from PART on
 *     test_gather golden FOLDER       the stored .lpk files below it
 *     test_gather bits [PART PARTS]   small tables with one bit turned over
 *     test_gather quick FOLDER [EVERY]
 *
 * The last one runs some of it all, or every EVERY-th of that, with the kernels that are linked: it
 * is what tools/mutate_kernels.py asks of kernels that it has changed. */
#include "gather_case.hpp"
#include "simt_export.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_linked(const char *kernel)
{
    for (const simt::Exported &exported : simt::exported_kernels())
        if (strcmp(exported.name, kernel) == 0)
            return true;
    return false;
}

bool is_linked(const TableSpec &spec)
{
    const GatherTable table(spec);

    return is_linked(lp_gpu_plan_kernel(&table.table));
}

void launch_fibers(const char *kernel, const lp_gather_args &args, const lp_gpu_shape &shape,
                   const std::vector<Range> &)
{
    lp_gather_args copy = args;
    void *params[] = {&copy};

    for (const simt::Exported &exported : simt::exported_kernels()) {
        if (strcmp(exported.name, kernel) == 0) {
            exported.launch(shape.blocks, shape.threads, shape.shared_bytes, params);
            return;
        }
    }
    die(std::string("no kernel ") + kernel);
}

/* Three gathers of each table: some rows, some bad ones, all of it. */
uint64_t check_table(const TableSpec &spec)
{
    const GatherTable table(spec);
    const uint64_t rows = spec.dims[0];
    const size_t n = rows * spec.dims[1] > 20000 ? 6 : 45;
    const uint32_t elem = table.geometry().elem_bytes;
    Gather g;
    uint64_t bytes;

    g.rows = random_rows(rows, n, spec.seed, 0);
    g.index_bytes = spec.seed % 2 != 0 ? 4 : 8;
    bytes = check_gather(table, g, launch_fibers, spec.text());
    g.rows = random_rows(rows, n / 2 + 1, spec.seed + 1, 4);
    g.with_default = spec.seed % 3 == 0;
    g.out_offset = elem * (1 + (uint32_t)spec.seed % 5);
    g.multiprocessors = 1 + (uint32_t)spec.seed % 3;
    bytes += check_gather(table, g, launch_fibers, spec.text() + ", bad rows");
    if (spec.seed % 4 == 0) {
        Gather whole;

        whole.all = true;
        bytes += check_gather(table, whole, launch_fibers, spec.text() + ", all");
    }
    return bytes;
}

TableSpec largest_spec(uint32_t dtype, uint32_t codec, uint32_t record_bytes)
{
    TableSpec spec;

    spec.dtype = dtype;
    spec.dims = {2, record_bytes / lp_codec_dtype_info(dtype)->bytes};
    spec.plan.codec = codec;
    spec.plan.record_elements = (uint32_t)spec.dims[1];
    return spec;
}

/* Records of 64 KiB leave room for one stage and one warp. */
uint64_t check_largest()
{
    std::vector<TableSpec> specs;
    uint64_t bytes = 0;

    for (const uint32_t dtype : {LP_DTYPE_BF16, LP_DTYPE_F8_E4M3, LP_DTYPE_F64})
        specs.push_back(largest_spec(dtype, LP_CODEC_LANE, 65536));
    for (const uint32_t dtype : {LP_DTYPE_BF16, LP_DTYPE_I8, LP_DTYPE_F64}) {
        specs.push_back(largest_spec(dtype, LP_CODEC_DICT, 65536));
        specs.back().distinct = 200;
    }
    /* The most elements that codec sparse takes, with few zeros and with few others. */
    for (const uint32_t percent : {2u, 20u, 70u}) {
        specs.push_back(largest_spec(LP_DTYPE_BF16, LP_CODEC_SPARSE, 65536));
        specs.back().percent = percent;
        specs.push_back(largest_spec(LP_DTYPE_I8, LP_CODEC_SPARSE, 32768));
        specs.back().percent = percent;
    }
    for (const TableSpec &spec : specs) {
        const GatherTable table(spec);
        Gather g;

        if (table.table.codec != spec.plan.codec)
            die(spec.text() + ": packed with another codec");
        g.rows = {1, 0};
        bytes += check_gather(table, g, launch_fibers, spec.text());
    }
    return bytes;
}

/* Small tables of each form, to be damaged bit by bit. */
struct BitForm {
    uint32_t dtype, codec, word_bytes, layout, align;
    uint64_t row;
    uint32_t distinct = 0, percent = 0;
    LaneForm lane = {};
    uint32_t ibp_groups = 0;
    bool counts = false;
};

std::vector<BitForm> bit_forms()
{
    const uint32_t TABLE = LP_LANE_WINDOW_TABLE, KEPT = LP_LANE_SIGN_STORED;
    std::vector<BitForm> forms = {
        {LP_DTYPE_BF16, LP_CODEC_LANE, 0, LP_LAYOUT_PACKED, 4, 77},
        {LP_DTYPE_F16, LP_CODEC_LANE, 0, LP_LAYOUT_PACKED, 4, 61},
        {LP_DTYPE_F32, LP_CODEC_LANE, 0, LP_LAYOUT_PACKED, 32, 93},
        {LP_DTYPE_F64, LP_CODEC_LANE, 0, LP_LAYOUT_SLOTTED, 0, 45},
        {LP_DTYPE_F8_E5M2, LP_CODEC_LANE, 0, LP_LAYOUT_PACKED, 4, 300},
        {LP_DTYPE_F32, LP_CODEC_IBP, 4, LP_LAYOUT_PACKED, 4, 37},
        {LP_DTYPE_I64, LP_CODEC_IBP, 8, LP_LAYOUT_PACKED, 32, 19},
        {LP_DTYPE_F32, LP_CODEC_IBP, 4, LP_LAYOUT_PACKED, 4, 43, 0, 0, {}, 4},
        {LP_DTYPE_F64, LP_CODEC_IBP, 8, LP_LAYOUT_SLOTTED, 0, 23, 0, 0, {}, 3},
        {LP_DTYPE_BF16, LP_CODEC_ZIP7, 0, LP_LAYOUT_PACKED, 4, 75},
        {LP_DTYPE_BF16, LP_CODEC_DICT, 0, LP_LAYOUT_PACKED, 4, 301, 20},
        {LP_DTYPE_F64, LP_CODEC_DICT, 0, LP_LAYOUT_SLOTTED, 0, 43, 11},
        {LP_DTYPE_I8, LP_CODEC_DICT, 0, LP_LAYOUT_PACKED, 4, 270, 6},
        {LP_DTYPE_BF16,
         LP_CODEC_LANE,
         0,
         LP_LAYOUT_PACKED,
         4,
         301,
         0,
         0,
         {{3, 3}, 0, TABLE, KEPT, 2, 10}},
        {LP_DTYPE_I8, LP_CODEC_LANE, 0, LP_LAYOUT_PACKED, 4, 290, 0, 0, {{1, 2}, 3}},
        {LP_DTYPE_F64,
         LP_CODEC_LANE,
         0,
         LP_LAYOUT_PACKED,
         4,
         41,
         0,
         0,
         {{2}, 0, TABLE, LP_LANE_SIGN_ZERO, 11}},
    };
    /* A list and a map, and the five ways to keep values. */
    for (const uint32_t percent : {6u, 50u}) {
        for (const uint32_t distinct : {0u, 1u, 7u}) {
            forms.push_back(
                {LP_DTYPE_F32, LP_CODEC_SPARSE, 0, LP_LAYOUT_PACKED, 4, 333, distinct, percent});
            forms.push_back(
                {LP_DTYPE_I16, LP_CODEC_SPARSE, 0, LP_LAYOUT_PACKED, 32, 290, distinct, percent});
        }
        forms.push_back({LP_DTYPE_F32, LP_CODEC_SPARSE, 0, LP_LAYOUT_PACKED, 4, 301, 0, percent});
        forms.back().counts = true;
    }
    return forms;
}

TableSpec bit_spec(const BitForm &form, uint64_t seed)
{
    TableSpec spec;

    spec.dtype = form.dtype;
    spec.dims = {2, form.row};
    spec.seed = seed;
    spec.plan.codec = form.codec;
    spec.plan.ibp_word_bytes = form.word_bytes;
    spec.plan.layout = form.layout;
    spec.plan.align_bytes = form.align;
    spec.plan.record_elements = (uint32_t)form.row;
    spec.distinct = form.distinct;
    spec.percent = form.percent;
    spec.lane = form.lane;
    spec.ibp_groups = form.ibp_groups;
    spec.counts = form.counts;
    return spec;
}

void check_bits(size_t part, size_t parts)
{
    const std::vector<BitForm> forms = bit_forms();
    TableSpec based; /* each record with a base, of five bits in a byte */

    based.dtype = LP_DTYPE_F16;
    based.dims = {24, 64};
    based.plan.codec = LP_CODEC_LANE;
    based.plan.record_elements = 64;
    based.drift = true;
    if (GatherTable(based).table.base_bytes == 0)
        die("no base per record, where one was expected");
    if (part == 0)
        check_every_bit(based, 11, launch_fibers);
    for (size_t i = part; i < forms.size(); i += parts) {
        const TableSpec spec = bit_spec(forms[i], i + 1);

        if (GatherTable(spec).table.codec != spec.plan.codec)
            die(spec.text() + ": packed with another codec");
        check_every_bit(spec, 5, launch_fibers);
    }
}

/* What fails soonest comes first: damage is done to small tables only. */
void check_quick(const char *folder, size_t every)
{
    const std::vector<TableSpec> specs = all_specs();
    const std::vector<BitForm> forms = bit_forms();
    std::vector<TableSpec> linked;

    for (size_t i = 0; i < specs.size(); i += 5 * every)
        if (is_linked(specs[i]))
            linked.push_back(specs[i]);
    for (size_t i = 0; i < forms.size(); i++)
        if (is_linked(bit_spec(forms[i], i + 1)))
            check_every_bit(bit_spec(forms[i], i + 1), 41 * every, launch_fibers);
    for (const TableSpec &spec : linked)
        check_table(spec);
    for (const TableSpec &spec : linked)
        if (spec.dims[0] * spec.dims[1] <= 5000)
            check_damage(spec, 8, launch_fibers);
    check_golden(folder, launch_fibers, is_linked);
}

} /* namespace */

int main(int argc, char **argv)
{
    const std::vector<TableSpec> specs = all_specs();
    const size_t parts = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1;
    const size_t part = argc > 2 ? strtoul(argv[1], nullptr, 10) : 0;
    uint64_t bytes = 0;
    size_t n = 0;

    if (argc > 2 && strcmp(argv[1], "golden") == 0) {
        n = check_golden(argv[2], launch_fibers);
        printf("%zu stored tables: as the host decodes them\n", n);
        return n == 0;
    }
    if (argc > 2 && strcmp(argv[1], "quick") == 0) {
        check_quick(argv[2], argc > 3 ? strtoul(argv[3], nullptr, 10) : 1);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "bits") == 0) {
        check_bits(argc > 3 ? strtoul(argv[2], nullptr, 10) : 0,
                   argc > 3 ? strtoul(argv[3], nullptr, 10) : 1);
        return 0;
    }
    if (parts == 0)
        return 2;
    for (size_t i = part; i < specs.size(); i += parts, n++)
        bytes += check_table(specs[i]);
    for (size_t i = part; i < specs.size(); i += 4 * parts)
        if (specs[i].dims[0] * specs[i].dims[1] <= 10000)
            check_damage(specs[i], 8, launch_fibers);
    if (part == 0)
        bytes += check_largest();
    printf("%zu tables, %.1f MB of rows: as the host decodes them\n", n, (double)bytes / 1e6);
    return 0;
}
