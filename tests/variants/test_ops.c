/* SPDX-License-Identifier: Apache-2.0 */
/* Every tier against scalar: the same bytes out of the encoder, the same values out of the decoder,
 * and the same records refused; nothing read or written outside of what codec/ops.h allows. */
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/shape.h"
#include "tests/lib/fence.h"
#include "tests/lib/samples.h"
#include "tests/variants/lanes.h"

#include <criterion/criterion.h>

#include <string.h>

#define DTYPES_END (LP_DTYPE_F8_E5M2 + 1)
#define BYTES_MAX LP_FORMAT_RECORD_BYTES_MAX
#define ROOM_BYTES (BYTES_MAX + 4096u)

struct bench {
    const struct lp_codec_ops *tier[LP_CODEC_TIERS_MAX]; /* tier[0] is scalar */
    int n_tiers;
    struct fence src, coded, dst;
    uint8_t want[BYTES_MAX + LP_CODEC_SLACK_BYTES]; /* a record as scalar codes it */
};

static struct bench bench;
static uint8_t elements[BYTES_MAX];

static void setup(void)
{
    bench.n_tiers = lp_codec_ops_tiers(bench.tier);
    fence_init(&bench.src, ROOM_BYTES);
    fence_init(&bench.coded, ROOM_BYTES);
    fence_init(&bench.dst, ROOM_BYTES);
}

static void teardown(void)
{
    fence_fini(&bench.src);
    fence_fini(&bench.coded);
    fence_fini(&bench.dst);
}

TestSuite(ops, .init = setup, .fini = teardown);

static uint32_t raw_bytes_of(const struct lp_lane *lane, uint32_t n)
{
    return n * lane->elem_bytes;
}

/* Encode at some offset from the fence; returns the size, the record at *ret_coded. */
static uint32_t encode(int tier, const struct lp_lane *lane, const uint8_t *src, uint32_t n,
                       uint32_t offset, uint32_t limit, uint8_t **ret_coded)
{
    const uint32_t room = raw_bytes_of(lane, n) + LP_CODEC_SLACK_BYTES;
    uint8_t *const copy = fence_place(&bench.src, raw_bytes_of(lane, n), offset);
    uint32_t size;

    memcpy(copy, src, raw_bytes_of(lane, n));
    *ret_coded = fence_place(&bench.coded, room, offset);
    size = bench.tier[tier]->lane_encode(lane, copy, n, *ret_coded, limit);
    fence_check(&bench.coded, room, bench.tier[tier]->tier);
    return size;
}

/* Decode at some offset; returns the verdict, the elements at *ret_dst. */
static int decode(int tier, const struct lp_lane *lane, const uint8_t *src, uint32_t src_bytes,
                  uint32_t align, uint32_t n, uint32_t offset, uint8_t **ret_dst)
{
    uint8_t *const copy =
        fence_place(&bench.src, src_bytes + LP_CODEC_SLACK_BYTES, offset % LP_CODEC_SLACK_BYTES);
    int rc;

    memcpy(copy, src, src_bytes);
    *ret_dst = fence_place(&bench.dst, raw_bytes_of(lane, n), offset);
    rc = bench.tier[tier]->lane_decode(lane, copy, src_bytes, align, *ret_dst, n, copy + src_bytes);
    fence_check(&bench.dst, raw_bytes_of(lane, n), bench.tier[tier]->tier);
    return rc;
}

/* Scalar's record of src with padding to 4 bytes in bench.want; returns its size, 0 when it does
 * not shrink. */
static uint32_t make_record(const struct lp_lane *lane, const uint8_t *src, uint32_t n,
                            uint32_t offset)
{
    uint8_t *coded;
    const uint32_t size = encode(0, lane, src, n, offset, raw_bytes_of(lane, n), &coded);

    memset(bench.want, 0, sizeof(bench.want));
    memcpy(bench.want, coded, size);
    return size;
}

/* One record through every tier. */
static void check_record(const struct lp_lane *lane, const uint8_t *src, uint32_t n,
                         uint32_t offset)
{
    const uint32_t size = make_record(lane, src, n, offset);
    const uint32_t stored = (uint32_t)lp_round_up_u64(size, 4);
    uint8_t *out;

    for (int tier = 0; tier < bench.n_tiers; tier++) {
        const char *const name = bench.tier[tier]->tier;

        cr_assert_eq(encode(tier, lane, src, n, offset, raw_bytes_of(lane, n), &out), size,
                     "%s: dtype %u, n %u", name, lane->dtype, n);
        cr_assert_arr_eq(out, bench.want, size);
        if (size == 0)
            continue;
        cr_assert_eq(encode(tier, lane, src, n, offset, size, &out), 0, "%s ignores the limit",
                     name);
        cr_assert_eq(decode(tier, lane, bench.want, stored, 4, n, offset, &out), 0,
                     "%s refuses: dtype %u, n %u", name, lane->dtype, n);
        cr_assert(memcmp(out, src, raw_bytes_of(lane, n)) == 0, "%s: dtype %u, n %u", name,
                  lane->dtype, n);
    }
}

/* A few of the shapes for each length, so that over neighbouring lengths all have their turn. */
static void check_length(uint32_t dtype, uint32_t n)
{
    for (uint32_t kind = 0; kind < SAMPLES_KINDS; kind++) {
        samples_fill((enum samples_kind)kind, dtype, n, n + kind, elements);
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t turn = 7 * n + 5 * kind + i;
            struct lp_lane lane;

            if (lanes_make(&lane, dtype, turn % LANES_SHAPES, turn / 3 % 2, kind == 0 && i == 2,
                           elements, n))
                check_record(&lane, elements, n, turn % 16);
        }
    }
}

/* All lengths up to a few blocks, every dtype, every kind of data, offsets 0 to 15. */
Test(ops, lane_tiers_agree_on_short_records)
{
    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        for (uint32_t n = 0; n <= 300; n++)
            check_length(dtype, n);
    }
}

/* Powers of two and their neighbours. */
Test(ops, lane_tiers_agree_on_longer_records)
{
    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        for (uint32_t n = 512; n <= 4096; n *= 2) {
            check_length(dtype, n - 1);
            check_length(dtype, n);
            check_length(dtype, n + 1);
        }
    }
}

/* The longest records that the format has. */
Test(ops, lane_tiers_agree_on_the_longest_records)
{
    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        const uint32_t n = BYTES_MAX / lp_codec_dtype_info(dtype)->bytes;
        struct lp_lane lane;

        samples_fill(SAMPLES_NORMAL, dtype, n, dtype, elements);
        for (uint32_t window = 0; window < 2; window++) {
            cr_assert(lanes_make(&lane, dtype, 5, window, false, elements, n));
            check_record(&lane, elements, n, 3);
            check_record(&lane, elements, LP_MIN(n, 16384), 4);
            check_record(&lane, elements, LP_MIN(n, 16385), 5);
        }
    }
}

/* Every pattern of the 16-bit dtypes comes back, in records that hold few exponents and in records
 * that hold all. */
Test(ops, lane_keeps_every_16_bit_pattern)
{
    static const uint32_t dtypes[] = {LP_DTYPE_F16, LP_DTYPE_BF16};
    uint8_t *const words = elements;

    for (uint32_t i = 0; i < 2 * 65536; i++) {
        const uint32_t dtype = dtypes[i / 65536];
        const uint32_t first = i % 65536;
        struct lp_lane lane;

        if (i % 512 != 0)
            continue;
        for (uint32_t step = 1; step <= 129; step += 128) {
            for (uint32_t j = 0; j < 512; j++)
                lp_store_u16(words + 2 * j, (uint16_t)((first + j) * step));
            cr_assert(lanes_make(&lane, dtype, step % 5 + 3, i / 512 % 2, false, words, 512));
            check_record(&lane, words, 512, step % 16);
        }
    }
}

/* Change bits, lengths or alignment of a record: what scalar says, all say, value for value. */
static void check_damage(const struct lp_lane *lane, uint32_t n, uint64_t *state)
{
    const uint32_t size = make_record(lane, elements, n, 0);
    uint32_t stored = (uint32_t)lp_round_up_u64(size, 4), align = 4;
    static uint8_t values[BYTES_MAX];
    const uint64_t random = samples_next(state);
    uint8_t *out;
    int want;

    if (size == 0)
        return;
    if (random % 8 == 0)
        stored = (uint32_t)(random >> 8) % (stored + 64);
    else if (random % 8 == 1)
        align = 32;
    else
        bench.want[(random >> 8) % stored] ^= (uint8_t)(1u << (random >> 40) % 8);
    if (random % 3 == 0)
        bench.want[(random >> 12) % LP_MAX(stored, 1)] = (uint8_t)(random >> 48);
    want = decode(0, lane, bench.want, stored, align, n, 0, &out);
    memcpy(values, out, raw_bytes_of(lane, n));
    for (int tier = 1; tier < bench.n_tiers; tier++) {
        cr_assert_eq(decode(tier, lane, bench.want, stored, align, n, 0, &out), want,
                     "%s: dtype %u, n %u", bench.tier[tier]->tier, lane->dtype, n);
        cr_assert(want != 0 || memcmp(out, values, raw_bytes_of(lane, n)) == 0);
    }
}

/* Damaged records are refused alike, or decode to the same values. */
Test(ops, lane_tiers_agree_on_damaged_records)
{
    uint64_t state = 1;

    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        for (uint32_t round = 0; round < 4000; round++) {
            const uint32_t n = 1 + round % 400;
            struct lp_lane lane;

            samples_fill(round % 5 == 4 ? SAMPLES_SPECIAL : SAMPLES_NORMAL, dtype, n, round,
                         elements);
            if (lanes_make(&lane, dtype, round % LANES_SHAPES, round / 2 % 2, false, elements, n))
                check_damage(&lane, n, &state);
        }
    }
}

/* Histograms agree, and add to what is there. */
Test(ops, histogram_tiers_agree)
{
    for (uint32_t dtype = LP_DTYPE_F64; dtype < DTYPES_END; dtype++) {
        const uint32_t elem_bytes = lp_codec_dtype_info(dtype)->bytes;

        for (uint32_t n = 0; n <= 8192; n = n < 300 ? n + 1 : n * 3) {
            uint32_t want[LP_LANE_EXPONENTS_MAX] = {1, 2, 3}, got[LP_LANE_EXPONENTS_MAX];
            uint8_t *src;

            samples_fill((enum samples_kind)(n % SAMPLES_KINDS), dtype, n, n, elements);
            bench.tier[0]->exponent_histogram(dtype, elements, n, want);
            for (int tier = 1; tier < bench.n_tiers; tier++) {
                src = fence_place(&bench.src, n * elem_bytes, n % 16);
                memcpy(src, elements, n * elem_bytes);
                memset(got, 0, sizeof(got));
                got[0] = 1;
                got[1] = 2;
                got[2] = 3;
                bench.tier[tier]->exponent_histogram(dtype, src, n, got);
                cr_assert_arr_eq(got, want, sizeof(want), "%s: dtype %u, n %u",
                                 bench.tier[tier]->tier, dtype, n);
            }
        }
    }
}
