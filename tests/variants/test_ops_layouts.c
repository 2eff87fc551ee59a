/* SPDX-License-Identifier: Apache-2.0 */
/* As test_ops.c, for every way to deal out an element's bits that docs/FORMAT.md, section 5, has:
 * each dtype, with its sign stored, always 0 and always 1, each number of trailing bits, and i8 and
 * u8 with each field; and for exponents that are shifted by the bases of columns. */
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "tests/lib/fence.h"
#include "tests/lib/samples.h"
#include "tests/variants/lanes.h"

#include <criterion/criterion.h>

#include <string.h>

#define BYTES_MAX LP_FORMAT_RECORD_BYTES_MAX
#define ROOM_BYTES (BYTES_MAX + 4096u)
#define DTYPES_END (LP_DTYPE_U8 + 1)
#define OFFSETS 16u

static struct {
    const struct lp_codec_ops *tier[LP_CODEC_TIERS_MAX]; /* tier[0] is scalar */
    int n_tiers;
    struct fence src, dst;
    uint8_t elements[BYTES_MAX], want[BYTES_MAX + LP_CODEC_SLACK_BYTES];
} bench;

static void setup(void)
{
    bench.n_tiers = lp_codec_ops_tiers(bench.tier);
    fence_init(&bench.src, ROOM_BYTES);
    fence_init(&bench.dst, ROOM_BYTES);
}

static void teardown(void)
{
    fence_fini(&bench.src);
    fence_fini(&bench.dst);
}

TestSuite(ops_layouts, .init = setup, .fini = teardown);

static bool is_float(uint32_t dtype)
{
    return lp_codec_dtype_info(dtype)->exponent_bits != 0;
}

/* A layout of the format, and where to go on from it. */
struct layout {
    uint32_t dtype, exponent_bits, sign, trailing_bits;
};

static uint32_t mantissa_bits(const struct layout *layout)
{
    return 8 * lp_codec_dtype_info(layout->dtype)->bytes - is_float(layout->dtype) -
           layout->exponent_bits;
}

static void first_of(uint32_t dtype, struct layout *ret)
{
    *ret = (struct layout){dtype, is_float(dtype) ? lp_codec_dtype_info(dtype)->exponent_bits : 3,
                           LP_LANE_SIGN_STORED, 0};
}

/* False: that was the last one. */
static bool next_of(struct layout *layout)
{
    if (layout->trailing_bits < mantissa_bits(layout)) {
        layout->trailing_bits++;
        return true;
    }
    layout->trailing_bits = 0;
    if (is_float(layout->dtype) && layout->sign < LP_LANE_SIGN_ONE) {
        layout->sign++;
        return true;
    }
    layout->sign = LP_LANE_SIGN_STORED;
    if (is_float(layout->dtype) || layout->exponent_bits == 6)
        return false;
    layout->exponent_bits++;
    return true;
}

static uint64_t load(const uint8_t *p, uint32_t bytes)
{
    uint64_t word = 0;

    memcpy(&word, p, bytes);
    return word;
}

/* Elements get the fixed bits of lane. */
static void fix(const struct lp_lane *lane, uint8_t *elements, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t word =
            (load(elements + (size_t)i * lane->elem_bytes, lane->elem_bytes) & ~lane->fixed_mask) |
            lane->fixed_value;

        memcpy(elements + (size_t)i * lane->elem_bytes, &word, lane->elem_bytes);
    }
}

static uint32_t encode(int tier, const struct lp_lane *lane, uint32_t n, uint32_t offset,
                       uint8_t **ret_coded)
{
    const uint32_t bytes = n * lane->elem_bytes, room = bytes + LP_CODEC_SLACK_BYTES;
    uint8_t *const copy = fence_place(&bench.src, bytes, offset);
    uint32_t size;

    memcpy(copy, bench.elements, bytes);
    *ret_coded = fence_place(&bench.dst, room, offset);
    size = bench.tier[tier]->lane_encode(lane, copy, n, *ret_coded, bytes);
    fence_check(&bench.dst, room, bench.tier[tier]->tier);
    return size;
}

static void check_decode(int tier, const struct lp_lane *lane, uint32_t stored, uint32_t n,
                         uint32_t offset)
{
    const uint32_t bytes = n * lane->elem_bytes;
    uint8_t *const copy = fence_place(&bench.src, stored + LP_CODEC_SLACK_BYTES, offset);
    uint8_t *const dst = fence_place(&bench.dst, bytes, offset);

    memcpy(copy, bench.want, stored);
    cr_assert_eq(bench.tier[tier]->lane_decode(lane, copy, stored, 4, dst, n, NULL), 0);
    fence_check(&bench.dst, bytes, bench.tier[tier]->tier);
    cr_assert(memcmp(dst, bench.elements, bytes) == 0, "%s: dtype %u, E %u, sign %u, t %u, n %u",
              bench.tier[tier]->tier, lane->dtype, lane->exponent_bits, lane->sign,
              lane->trailing_bits, n);
}

/* What is in elements through every tier. */
static void check_record(const struct lp_lane *lane, uint32_t n, uint32_t offset)
{
    uint8_t *coded;
    const uint32_t size = encode(0, lane, n, offset, &coded);
    const uint32_t stored = (uint32_t)lp_round_up_u64(size, 4);

    memset(bench.want, 0, stored);
    memcpy(bench.want, coded, size);
    for (int tier = 0; tier < bench.n_tiers; tier++) {
        cr_assert_eq(encode(tier, lane, n, offset, &coded), size,
                     "%s: dtype %u, E %u, sign %u, t %u, n %u", bench.tier[tier]->tier, lane->dtype,
                     lane->exponent_bits, lane->sign, lane->trailing_bits, n);
        cr_assert(memcmp(coded, bench.want, size) == 0, "%s: dtype %u, E %u, sign %u, t %u, n %u",
                  bench.tier[tier]->tier, lane->dtype, lane->exponent_bits, lane->sign,
                  lane->trailing_bits, n);
        if (size != 0)
            check_decode(tier, lane, stored, n, offset);
    }
}

/* A record of n elements of some kind and shape, which follow from turn. */
static bool make(const struct layout *layout, uint32_t n, uint32_t turn, struct lp_lane *ret_lane)
{
    const struct lanes_bits bits = {layout->exponent_bits, layout->sign, layout->trailing_bits};

    samples_fill((enum samples_kind)(turn % SAMPLES_KINDS), layout->dtype, n, turn, bench.elements);
    if (!lanes_make_bits(ret_lane, layout->dtype, &bits, turn % LANES_SHAPES, turn / 3 % 2,
                         bench.elements, n) &&
        !lanes_make_bits(ret_lane, layout->dtype, &bits, 0, turn / 3 % 2, bench.elements, n))
        return false;
    fix(ret_lane, bench.elements, n);
    return true;
}

/* Every layout, with every length up to two blocks of the widest tier. */
Test(ops_layouts, tiers_agree_on_short_records)
{
    struct layout layout;
    struct lp_lane lane;
    uint32_t turn = 0;

    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        first_of(dtype, &layout);
        do {
            for (uint32_t n = 0; n <= 130; n++, turn++) {
                cr_assert(make(&layout, n, turn, &lane));
                check_record(&lane, n, turn % OFFSETS);
            }
        } while (next_of(&layout));
    }
}

/* Every layout, with lengths at which buffers or index entries change, and the longest. */
Test(ops_layouts, tiers_agree_on_long_records)
{
    static const uint32_t lengths[] = {1000, 4096, 4097, 16385, 32768, 65536};
    struct layout layout;
    struct lp_lane lane;
    uint32_t turn = 0;

    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        first_of(dtype, &layout);
        do {
            const uint32_t n_max = BYTES_MAX / lp_codec_dtype_info(dtype)->bytes;
            const uint32_t n = lengths[turn++ % LP_ARRAY_LEN(lengths)];

            cr_assert(make(&layout, LP_MIN(n, n_max), turn, &lane));
            check_record(&lane, LP_MIN(n, n_max), turn % OFFSETS);
        } while (next_of(&layout));
    }
}

/* One element that has another fixed bit is noticed, wherever it stands. */
Test(ops_layouts, no_tier_codes_another_fixed_bit)
{
    struct layout layout;
    struct lp_lane lane;
    uint32_t turn = 0;
    uint8_t *coded;

    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        first_of(dtype, &layout);
        do {
            const uint32_t n = 1 + turn % 300, at = turn * 7 % n;
            uint8_t *const p = bench.elements + (size_t)at * lp_codec_dtype_info(dtype)->bytes;
            uint64_t word, bit;

            turn++;
            cr_assert(make(&layout, n, SAMPLES_EQUAL, &lane));
            if (lane.fixed_mask == 0)
                continue;
            for (bit = UINT64_C(1) << turn % 64; (bit & lane.fixed_mask) == 0;)
                bit = bit << 1 | bit >> 63;
            word = load(p, lane.elem_bytes) ^ bit;
            memcpy(p, &word, lane.elem_bytes);
            for (int tier = 0; tier < bench.n_tiers; tier++)
                cr_assert_eq(encode(tier, &lane, n, 0, &coded), 0, "%s: dtype %u, n %u, at %u",
                             bench.tier[tier]->tier, dtype, n, at);
        } while (next_of(&layout));
    }
}

/* The record in want, of stored bytes, decoded by one tier. */
static int decode(int tier, const struct lp_lane *lane, uint32_t stored, uint32_t n,
                  uint8_t **ret_dst)
{
    uint8_t *const copy = fence_place(&bench.src, stored + LP_CODEC_SLACK_BYTES, 0);
    int rc;

    memcpy(copy, bench.want, stored);
    *ret_dst = fence_place(&bench.dst, n * lane->elem_bytes, 0);
    rc = bench.tier[tier]->lane_decode(lane, copy, stored, 4, *ret_dst, n, NULL);
    fence_check(&bench.dst, n * lane->elem_bytes, bench.tier[tier]->tier);
    return rc;
}

/* A record of elements with a few bits changed: what scalar says of it, all say. */
static void check_damage(const struct lp_lane *lane, uint32_t n, uint64_t *state)
{
    static uint8_t values[BYTES_MAX];
    uint8_t *out;
    const uint32_t size = encode(0, lane, n, 0, &out);
    const uint32_t stored = (uint32_t)lp_round_up_u64(size, 4);
    int want;

    if (size == 0)
        return;
    memset(bench.want, 0, stored);
    memcpy(bench.want, out, size);
    for (uint64_t i = samples_next(state) % 4; i < 4; i++)
        bench.want[samples_next(state) % stored] ^= (uint8_t)(1u << samples_next(state) % 8);
    want = decode(0, lane, stored, n, &out);
    memcpy(values, out, (size_t)n * lane->elem_bytes);
    for (int tier = 1; tier < bench.n_tiers; tier++) {
        cr_assert_eq(decode(tier, lane, stored, n, &out), want, "%s: dtype %u, E %u, n %u",
                     bench.tier[tier]->tier, lane->dtype, lane->exponent_bits, n);
        cr_assert(want != 0 || memcmp(out, values, (size_t)n * lane->elem_bytes) == 0,
                  "%s: dtype %u, E %u, sign %u, t %u, n %u", bench.tier[tier]->tier, lane->dtype,
                  lane->exponent_bits, lane->sign, lane->trailing_bits, n);
    }
}

/* Damaged records of every layout are refused alike, or decode to the same values. */
Test(ops_layouts, tiers_agree_on_damaged_records)
{
    struct layout layout;
    struct lp_lane lane;
    uint64_t state = 1;
    uint32_t turn = 0;

    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        first_of(dtype, &layout);
        do {
            for (uint32_t i = 0; i < 60; i++, turn++) {
                const uint32_t n = 1 + turn * 7 % 200;

                cr_assert(make(&layout, n, turn, &lane));
                check_damage(&lane, n, &state);
            }
        } while (next_of(&layout));
    }
}

/* Bases of period columns, and behind them what codec/lane.h asks for. */
static void make_bases(const struct lp_lane *lane, uint32_t period, uint8_t *bases)
{
    uint64_t state = period;

    for (uint32_t i = 0; i < period + LP_LANE_COLUMN_SLACK; i++) {
        const uint64_t v = i < period ? samples_next(&state) & lane->exponent_mask
                                      : load(bases + (size_t)(i - period) * lane->escape_bytes,
                                             lane->escape_bytes);

        memcpy(bases + (size_t)i * lane->escape_bytes, &v, lane->escape_bytes);
    }
}

/* n elements there and back on every tier. */
static void check_shift(const struct lp_lane *lane, const uint8_t *bases, uint32_t n,
                        uint32_t phase, uint32_t offset)
{
    const uint32_t bytes = n * lane->elem_bytes;

    memcpy(bench.want, bench.elements, bytes);
    bench.tier[0]->exponent_shift(lane, bench.want, n, bases, phase, true);
    for (int tier = 0; tier < bench.n_tiers; tier++) {
        uint8_t *const p = fence_place(&bench.dst, bytes, offset);

        memcpy(p, bench.elements, bytes);
        bench.tier[tier]->exponent_shift(lane, p, n, bases, phase, true);
        fence_check(&bench.dst, bytes, bench.tier[tier]->tier);
        cr_assert(memcmp(p, bench.want, bytes) == 0, "%s: dtype %u, E %u, n %u, period %u",
                  bench.tier[tier]->tier, lane->dtype, lane->exponent_bits, n, lane->column_period);
        bench.tier[tier]->exponent_shift(lane, p, n, bases, phase, false);
        fence_check(&bench.dst, bytes, bench.tier[tier]->tier);
        cr_assert(memcmp(p, bench.elements, bytes) == 0);
    }
}

/* Periods shorter and longer than a block, every phase of the short ones. */
Test(ops_layouts, shift_tiers_agree)
{
    static const uint32_t periods[] = {1, 2, 3, 7, 16, 63, 64, 65, 100, 128, 700};
    static uint8_t bases[2 * (700 + LP_LANE_COLUMN_SLACK)];
    struct layout layout;
    struct lp_lane lane;
    uint32_t turn = 0;

    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        first_of(dtype, &layout);
        do {
            if (layout.trailing_bits != 0 || layout.sign != LP_LANE_SIGN_STORED)
                continue;
            for (size_t i = 0; i < LP_ARRAY_LEN(periods); i++) {
                cr_assert(make(&layout, 2000, SAMPLES_RANDOM, &lane));
                lane.column_period = periods[i];
                make_bases(&lane, periods[i], bases);
                for (uint32_t n = 0; n <= 2000; n = n < 135 ? n + 1 : n * 3, turn++)
                    check_shift(&lane, bases, n, turn % periods[i], turn % OFFSETS);
            }
        } while (next_of(&layout));
    }
}
