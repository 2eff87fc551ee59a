/* SPDX-License-Identifier: Apache-2.0 */
/* As test_ops.c, for counts_spread: symbols of a row to elements in their places. */
#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/sparse_places.h"
#include "tests/lib/fence.h"
#include "tests/lib/samples.h"

#include <criterion/criterion.h>

#include <fenv.h>
#include <string.h>

#define SYMBOL_BYTES LP_FORMAT_COUNTS_SYMBOL_BYTES
#define BYTES_MAX LP_FORMAT_RECORD_BYTES_MAX
#define ELEMENTS_MAX (BYTES_MAX / SYMBOL_BYTES)
#define ROOM_BYTES (BYTES_MAX + 4096u)

struct bench_counts {
    const struct lp_codec_ops *tier[LP_CODEC_TIERS_MAX]; /* tier[0] is scalar */
    int n_tiers;
    struct fence columns, symbols, map, dst;
    uint8_t want[BYTES_MAX]; /* elements as scalar makes them */
};

static struct bench_counts bench;

/* Places that have a symbol, in 10,000. */
static const uint32_t densities[] = {0, 30, 500, 2500, 6000, 10000};

static const int rounding_modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static void setup(void)
{
    bench.n_tiers = lp_codec_ops_tiers(bench.tier);
    fence_init(&bench.columns, ROOM_BYTES);
    fence_init(&bench.symbols, ROOM_BYTES);
    fence_init(&bench.map, ELEMENTS_MAX / 8 + 64);
    fence_init(&bench.dst, ROOM_BYTES);
}

static void teardown(void)
{
    fence_fini(&bench.columns);
    fence_fini(&bench.symbols);
    fence_fini(&bench.map);
    fence_fini(&bench.dst);
}

TestSuite(ops_counts, .init = setup, .fini = teardown);

/* The bits of any scale there is. */
static uint32_t scale_of(uint64_t random)
{
    const uint32_t exponents = LP_FORMAT_COUNTS_EXPONENT_MAX - LP_FORMAT_COUNTS_EXPONENT_MIN + 1;

    return (LP_FORMAT_COUNTS_EXPONENT_MIN + (uint32_t)(random >> 32) % exponents) << 23 |
           (uint32_t)(random & 0x7fffff);
}

/* Counts small and large, every residual; some symbols are elements as they are, NaN among them. */
static uint32_t symbol_of(uint64_t random)
{
    const uint32_t low = (uint32_t)random;

    if (random >> 60 == 0)
        return LP_MAX(low, LP_FORMAT_COUNTS_SYMBOLS);
    if (random >> 60 == 1)
        return LP_FORMAT_COUNTS_SYMBOLS - 1 + (low & 1);
    return random >> 60 < 4 ? low % LP_FORMAT_COUNTS_SYMBOLS : low % 256;
}

/* The scales of n columns, aligned as codec/counts.h has them, with only its slack behind. */
static struct lp_counts make_columns(uint32_t n, uint64_t *state)
{
    const size_t bytes = (size_t)n * sizeof(float), room = lp_round_up_u64(bytes, 64);
    uint8_t *const at = fence_place(&bench.columns, room + LP_COUNTS_SLACK_BYTES, 0);

    memset(at + bytes, 0, room + LP_COUNTS_SLACK_BYTES - bytes);
    for (uint32_t c = 0; c < n; c++)
        lp_store_u32(at + c * sizeof(float), scale_of(samples_next(state)));
    return (struct lp_counts){.n_columns = n, .columns = (float *)(void *)at};
}

/* A map of n places and the symbols for those set in it, of which *ret_symbols gives the first. */
static uint64_t *make_map(uint32_t n, uint32_t density, uint32_t offset, uint64_t *state,
                          uint8_t **ret_symbols)
{
    const size_t map_bytes = lp_sparse_map_words(n) * sizeof(uint64_t);
    uint64_t *const map = (uint64_t *)(void *)fence_place(&bench.map, map_bytes, 0);
    uint32_t m = 0;

    memset(map, 0, map_bytes);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t set = samples_next(state) % 10000 < density;

        map[i / 64] |= set << i % 64;
        m += (uint32_t)set;
    }
    *ret_symbols = fence_place(&bench.symbols, m * SYMBOL_BYTES + LP_CODEC_SLACK_BYTES, offset);
    for (uint32_t i = 0; i < m; i++)
        lp_store_u32(*ret_symbols + (size_t)i * SYMBOL_BYTES, symbol_of(samples_next(state)));
    return map;
}

/* All tiers, in a rounding mode that none of them may follow or change. */
static void check_length(uint32_t n, uint32_t density, uint64_t *state)
{
    const uint32_t offset = (uint32_t)(samples_next(state) % 16);
    const int mode = rounding_modes[samples_next(state) % LP_ARRAY_LEN(rounding_modes)];
    const struct lp_counts counts = make_columns(n, state);
    const uint32_t row = scale_of(samples_next(state)), bytes = n * SYMBOL_BYTES;
    uint8_t *symbols;
    const uint64_t *const map = make_map(n, density, offset, state, &symbols);

    for (int tier = 0; tier < bench.n_tiers; tier++) {
        const char *const name = bench.tier[tier]->tier;
        uint8_t *const dst = fence_place(&bench.dst, bytes, offset);
        int now, flags;

        (void)fesetround(mode);
        (void)feclearexcept(FE_ALL_EXCEPT);
        bench.tier[tier]->counts_spread(&counts, row, map, n, symbols, dst);
        now = fegetround();
        flags = fetestexcept(FE_ALL_EXCEPT);
        (void)fesetround(FE_TONEAREST);
        cr_assert_eq(now, mode, "%s changes the rounding mode", name);
        cr_assert_eq(flags, 0, "%s leaves flags", name);
        fence_check(&bench.dst, bytes, name);
        if (tier == 0)
            memcpy(bench.want, dst, bytes);
        cr_assert(memcmp(dst, bench.want, bytes) == 0, "%s: %u columns", name, n);
    }
}

Test(ops_counts, tiers_agree_on_short_records)
{
    uint64_t state = 1;

    for (uint32_t n = 0; n <= 200; n++) {
        for (uint32_t i = 0; i < LP_ARRAY_LEN(densities); i++)
            check_length(n, densities[i], &state);
    }
}

/* Powers of two and their neighbours. */
Test(ops_counts, tiers_agree_on_longer_records)
{
    uint64_t state = 2;

    for (uint32_t n = 256; n <= ELEMENTS_MAX; n *= 2) {
        for (uint32_t i = 0; i < LP_ARRAY_LEN(densities); i++) {
            check_length(n - 1, densities[i], &state);
            check_length(n, densities[i], &state);
            check_length(LP_MIN(n + 1, ELEMENTS_MAX), densities[i], &state);
        }
    }
}
