/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables the executors run over: every codec, dtype, layout and shape that differs to a
 * kernel. */
#include "gather_case.hpp"

namespace {

struct Choice {
    uint32_t codec, word_bytes, layout, align;
};

constexpr Choice CHOICES[] = {
    {LP_CODEC_LANE, 0, LP_LAYOUT_PACKED, 4},  {LP_CODEC_LANE, 0, LP_LAYOUT_PACKED, 32},
    {LP_CODEC_LANE, 0, LP_LAYOUT_SLOTTED, 0}, {LP_CODEC_IBP, 4, LP_LAYOUT_PACKED, 4},
    {LP_CODEC_IBP, 8, LP_LAYOUT_PACKED, 4},   {LP_CODEC_IBP, 4, LP_LAYOUT_SLOTTED, 0},
    {LP_CODEC_IBP, 8, LP_LAYOUT_PACKED, 32},  {LP_CODEC_RAW, 0, LP_LAYOUT_PACKED, 0},
};

/* Codecs that ask for little more than an element's size. */
constexpr Choice SIZE_CHOICES[] = {
    {LP_CODEC_DICT, 0, LP_LAYOUT_PACKED, 4},    {LP_CODEC_DICT, 0, LP_LAYOUT_SLOTTED, 0},
    {LP_CODEC_SPARSE, 0, LP_LAYOUT_PACKED, 4},  {LP_CODEC_SPARSE, 0, LP_LAYOUT_PACKED, 32},
    {LP_CODEC_SPARSE, 0, LP_LAYOUT_SLOTTED, 0},
};

constexpr uint32_t SIZE_DTYPES[] = {LP_DTYPE_F64,  LP_DTYPE_I64, LP_DTYPE_F32,     LP_DTYPE_U32,
                                    LP_DTYPE_BF16, LP_DTYPE_I16, LP_DTYPE_F8_E4M3, LP_DTYPE_I8};

bool is_float(uint32_t dtype)
{
    return lp_codec_dtype_info(dtype)->exponent_bits != 0;
}

/* Shapes [rows, row_elements] and elements in a record: whole rows, groups, tiles, and cuts that
 * agree with nothing. */
struct Shape {
    uint64_t rows, row;
    uint32_t record;
};

constexpr Shape SHAPES[] = {
    {37, 256, 0}, {9, 4096, 0},   {40, 100, 0},   {65, 33, 0},   {300, 8, 0},   {5, 5000, 4096},
    {50, 24, 72}, {7, 1030, 256}, {11, 96, 1000}, {3, 512, 257}, {130, 1, 130}, {33, 128, 128},
};

TableSpec make_spec(uint32_t dtype, const Choice &choice, const Shape &shape, uint64_t seed)
{
    TableSpec spec;

    spec.dtype = dtype;
    spec.dims = {shape.rows, shape.row};
    spec.seed = seed;
    spec.kind = (samples_kind)(seed % 7 % SAMPLES_KINDS);
    spec.plan.codec = choice.codec;
    spec.plan.layout = choice.layout;
    spec.plan.align_bytes = choice.align;
    spec.plan.ibp_word_bytes = choice.word_bytes;
    spec.plan.record_elements = shape.record;
    if ((uint64_t)shape.record * lp_codec_dtype_info(dtype)->bytes > 65536)
        spec.plan.record_elements = 0;
    return spec;
}

void add_drifting(std::vector<TableSpec> &specs, uint64_t &seed)
{
    for (const uint32_t dtype : {LP_DTYPE_F64, LP_DTYPE_F32, LP_DTYPE_F16, LP_DTYPE_BF16,
                                 LP_DTYPE_F8_E4M3, LP_DTYPE_F8_E5M2}) {
        for (const uint64_t row : {128u, 1000u}) {
            TableSpec spec;

            spec.dtype = dtype;
            spec.dims = {48, row};
            spec.seed = ++seed;
            spec.plan.codec = LP_CODEC_LANE;
            spec.plan.record_elements = (uint32_t)row;
            spec.drift = true;
            specs.push_back(spec);
        }
    }
}

/* Few values and many, all at once and on few places: each way in which a dictionary's levels end,
 * and each in which codec sparse keeps its values. */
void add_sized(std::vector<TableSpec> &specs, uint64_t &seed)
{
    static constexpr uint32_t distinct[] = {0, 1, 2, 5, 15, 90, 300, 900};
    static constexpr uint32_t percent[] = {1, 10, 30, 60};

    for (const uint32_t dtype : SIZE_DTYPES) {
        for (const Choice &choice : SIZE_CHOICES) {
            for (const Shape &shape : SHAPES) {
                TableSpec spec = make_spec(dtype, choice, shape, ++seed);

                spec.kind = seed % 3 == 0 ? SAMPLES_RANDOM : SAMPLES_NORMAL;
                spec.distinct = distinct[seed % 8];
                if (choice.codec == LP_CODEC_SPARSE)
                    spec.percent = percent[seed / 8 % 4];
                specs.push_back(spec);
            }
        }
    }
}

/* Counts in few places and in many, so that lists and maps are both there. */
void add_counts(std::vector<TableSpec> &specs, uint64_t &seed)
{
    static constexpr uint32_t percent[] = {2, 10, 30, 60};

    for (const Choice &choice : SIZE_CHOICES) {
        if (choice.codec != LP_CODEC_SPARSE)
            continue;
        for (const Shape &shape : SHAPES) {
            specs.push_back(make_spec(LP_DTYPE_F32, choice, shape, ++seed));
            specs.back().counts = true;
            specs.back().percent = percent[seed % 4];
        }
    }
}

void add_zip7(std::vector<TableSpec> &specs, uint64_t &seed)
{
    for (const Shape &shape : SHAPES) {
        for (const Choice &choice : CHOICES) {
            if (choice.codec != LP_CODEC_LANE)
                continue;
            specs.push_back(make_spec(LP_DTYPE_BF16, choice, shape, ++seed));
            specs.back().plan.codec = LP_CODEC_ZIP7;
            specs.back().kind = SAMPLES_NORMAL;
        }
    }
}

/* Lane in all its forms: what is learned from the samples above is but a few. */
void add_forms(std::vector<TableSpec> &specs, uint64_t &seed)
{
    struct Form {
        uint32_t dtype;
        LaneForm lane;
    };
    static const uint32_t TABLE = LP_LANE_WINDOW_TABLE;
    static const uint32_t KEPT = LP_LANE_SIGN_STORED, ZERO = LP_LANE_SIGN_ZERO,
                          ONE = LP_LANE_SIGN_ONE;
    static const Form forms[] = {
        /* columns: every length from one to more than a record, one group and many */
        {LP_DTYPE_BF16, {{2, 2, 3}, 0, TABLE, KEPT, 0, 64, false}},
        {LP_DTYPE_BF16, {{2, 2, 2, 3}, 0, TABLE, KEPT, 0, 1, false}},
        {LP_DTYPE_BF16, {{1, 2, 3}, 0, TABLE, KEPT, 0, 3, true}},
        {LP_DTYPE_BF16, {{1, 1, 2, 3}, 0, TABLE, KEPT, 0, 100, true}},
        {LP_DTYPE_BF16, {{3, 3}, 0, TABLE, KEPT, 0, 17, true}},
        {LP_DTYPE_F32, {{2, 2, 3}, 0, TABLE, KEPT, 0, 7, false}},
        {LP_DTYPE_F32, {{2, 2, 2, 3}, 0, TABLE, ZERO, 0, 13, true}},
        {LP_DTYPE_F16, {{3, 3}, 0, TABLE, KEPT, 0, 5, true}},
        {LP_DTYPE_F64, {{3, 3, 3}, 0, TABLE, KEPT, 0, 6, true}},
        {LP_DTYPE_F64, {{2, 2}, 0, TABLE, ONE, 20, 1001, false}},
        {LP_DTYPE_F8_E4M3, {{2, 2}, 0, TABLE, KEPT, 0, 9, true}},
        {LP_DTYPE_I8, {{2, 2}, 4, TABLE, KEPT, 0, 11, false}},
        /* signs and trailing bits: every number of bytes and planes that is left */
        {LP_DTYPE_F32, {{2, 2, 3}, 0, TABLE, ZERO, 0, 0, false}},
        {LP_DTYPE_F32, {{2, 2, 2, 3}, 0, TABLE, ONE, 0, 0, false}},
        {LP_DTYPE_F32, {{2, 2, 3}, 0, LP_LANE_WINDOW_RECORD, ONE, 13, 0, false}},
        {LP_DTYPE_F32, {{3}, 0, TABLE, KEPT, 7, 0, false}},
        {LP_DTYPE_F32, {{2, 3}, 0, TABLE, KEPT, 16, 0, false}},
        {LP_DTYPE_F32, {{1}, 0, TABLE, ZERO, 23, 0, false}},
        {LP_DTYPE_F32, {{3, 3, 3, 3, 3}, 0, TABLE, ZERO, 21, 0, false}},
        {LP_DTYPE_BF16, {{2, 2, 3}, 0, TABLE, ZERO, 0, 0, false}},
        {LP_DTYPE_BF16, {{2, 2, 2, 3}, 0, LP_LANE_WINDOW_RECORD, KEPT, 3, 0, false}},
        {LP_DTYPE_BF16, {{3, 3}, 0, TABLE, ONE, 7, 0, false}},
        {LP_DTYPE_F16, {{3, 3}, 0, TABLE, ZERO, 0, 0, false}},
        {LP_DTYPE_F16, {{2, 3}, 0, TABLE, ONE, 2, 0, false}},
        {LP_DTYPE_F16, {{2, 2}, 0, LP_LANE_WINDOW_RECORD, KEPT, 9, 0, false}},
        {LP_DTYPE_F64, {{3, 3}, 0, TABLE, ZERO, 0, 0, false}},
        {LP_DTYPE_F64, {{2, 2, 3}, 0, LP_LANE_WINDOW_RECORD, KEPT, 5, 0, false}},
        {LP_DTYPE_F64, {{2, 2, 3}, 0, TABLE, ONE, 29, 0, false}},
        {LP_DTYPE_F64, {{1, 1, 1}, 0, TABLE, KEPT, 45, 0, false}},
        {LP_DTYPE_F64, {{3}, 0, TABLE, ONE, 52, 0, false}},
        {LP_DTYPE_F8_E4M3, {{2, 2}, 0, TABLE, ZERO, 1, 0, false}},
        {LP_DTYPE_F8_E5M2, {{2, 3}, 0, LP_LANE_WINDOW_RECORD, ONE, 2, 0, false}},
        {LP_DTYPE_F8_E5M2, {{1, 2}, 0, TABLE, KEPT, 1, 0, false}},
        /* integers */
        {LP_DTYPE_I8, {{1, 2}, 3, TABLE, KEPT, 0, 0, false}},
        {LP_DTYPE_I8, {{2, 2}, 4, TABLE, KEPT, 0, 0, false}},
        {LP_DTYPE_U8, {{2, 3}, 5, LP_LANE_WINDOW_RECORD, KEPT, 0, 0, false}},
        {LP_DTYPE_I8, {{2, 2, 3}, 6, TABLE, KEPT, 1, 0, false}},
        {LP_DTYPE_U8, {{1, 1, 1}, 3, TABLE, KEPT, 2, 0, false}},
    };

    for (const Form &form : forms) {
        for (size_t i = 0; i < std::size(SHAPES); i++) {
            const Choice &choice = CHOICES[i % 3];
            TableSpec spec = make_spec(form.dtype, choice, SHAPES[i], ++seed);

            spec.kind = SAMPLES_NORMAL;
            spec.lane = form.lane;
            specs.push_back(spec);
        }
    }
}

} /* namespace */

std::vector<TableSpec> all_specs()
{
    std::vector<TableSpec> specs;
    uint64_t seed = 0;

    for (uint32_t dtype = LP_DTYPE_F64; dtype < LP_DTYPE_END; dtype++) {
        for (const Choice &choice : CHOICES) {
            if (choice.codec == LP_CODEC_LANE && !is_float(dtype))
                continue;
            for (const Shape &shape : SHAPES)
                specs.push_back(make_spec(dtype, choice, shape, ++seed));
        }
    }
    add_drifting(specs, seed);
    add_zip7(specs, seed);
    add_forms(specs, seed);
    add_sized(specs, seed);
    add_counts(specs, seed);
    return specs;
}
