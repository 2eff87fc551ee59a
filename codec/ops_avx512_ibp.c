/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding ibp records with AVX-512 and BMI2, in units of 64 bits: a word, or for s = 4 two, the
 * first in the upper half, as they follow each other in the bit string.
 *
 * Masks and values are selected by participation bits for eight units at once; an unpacked word is
 * one whose mask is empty. What is left to do one by one is to find a unit's bits and to spread
 * them, and the only chain between units is their position. */
#include "codec/ibp_record.h"
#include "codec/ibp_measure_body.h"
#include "codec/ibp_pick_body.h"
#include "codec/ops_avx512.h"
#include "codec/ops_ibp.h"

#define UNITS 8u
/* Positions are checked after so many: their windows end within the slack. */
#define UNITS_UNCHECKED 4u

/* Long records are mostly read in order, so what lies this far ahead is wanted even past the end.
 */
#define AHEAD_BYTES 512u
#define AHEAD_RECORD_BYTES_MIN 2048u

/* Masks or values of the units from word j on, zero where words are not packed. */
static LP_ALWAYS_INLINE __m512i load_units(const uint64_t *words, uint32_t participation,
                                           const uint32_t s)
{
    __m512i pairs;

    if (s == 8)
        return _mm512_maskz_loadu_epi64((__mmask8)participation, words);
    pairs = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(_mm512_loadu_si512(words)));
    pairs = _mm512_inserti64x4(pairs, _mm512_cvtepi64_epi32(_mm512_loadu_si512(words + UNITS)), 1);
    return _mm512_rol_epi64(_mm512_maskz_mov_epi32((__mmask16)participation, pairs), 32);
}

/* The 64 bits of the string from pos on. Reads up to 16 bytes from there. */
static LP_ALWAYS_INLINE uint64_t load_window(const uint8_t *string, uint64_t pos, const uint32_t s)
{
    const uint8_t *const p = string + pos / (8 * s) * s;
    uint64_t word;

    /* Shifts take the last 6 bits of their count: ~pos shifts by 63 less what pos shifts by. */
    if (s == 8)
        return lp_load_u64(p) << (pos & 63) | lp_load_u64(p + 8) >> (~pos & 63) >> 1;
    word = lp_load_u64(p);
    return (word << 32 | word >> 32) << (pos & 31) |
           (uint64_t)lp_load_u32(p + 8) << (pos & 31) >> 32;
}

/* One unit to dst, keep being the bits that its mask leaves; returns the position behind it. */
static LP_ALWAYS_INLINE uint64_t decode_unit(const uint8_t *string, uint64_t pos, uint64_t keep,
                                             uint64_t value, uint8_t *dst, const uint32_t s)
{
    const uint64_t n = (uint64_t)_mm_popcnt_u64(keep);
    /* Where nothing is kept the shift does nothing, and nothing is spread. */
    const uint64_t unit = _pdep_u64(load_window(string, pos, s) >> (-n & 63), keep) | value;

    lp_store_u64(dst, s == 4 ? unit << 32 | unit >> 32 : unit);
    return pos + n;
}

/* The bits that masks leave, and values, of some units. */
struct units {
    uint64_t keep[UNITS], value[UNITS];
};

static LP_ALWAYS_INLINE void select_units(const struct lp_ibp *ibp, const uint8_t *src, uint32_t j,
                                          struct units *units, const uint32_t s)
{
    const uint32_t participation = s == 4 ? lp_load_u16(src + j / 8) : src[j / 8];
    const __m512i mask = load_units(ibp->mask + j, participation, s);

    _mm512_storeu_si512(units->keep, _mm512_xor_si512(mask, _mm512_set1_epi64(-1)));
    _mm512_storeu_si512(units->value, load_units(ibp->value + j, participation, s));
}

/* UNITS units to dst. Returns the position behind them, or more than end when they do not fit. */
static LP_ALWAYS_INLINE uint64_t decode_units(const struct units *units, const uint8_t *string,
                                              uint64_t pos, uint64_t end, uint8_t *dst,
                                              const uint32_t s)
{
    const uint64_t *const keep = units->keep, *const value = units->value;

    pos = decode_unit(string, pos, keep[0], value[0], dst, s);
    pos = decode_unit(string, pos, keep[1], value[1], dst + 8, s);
    pos = decode_unit(string, pos, keep[2], value[2], dst + 16, s);
    pos = decode_unit(string, pos, keep[3], value[3], dst + 24, s);
    if (pos > end)
        return pos;
    pos = decode_unit(string, pos, keep[4], value[4], dst + 32, s);
    pos = decode_unit(string, pos, keep[5], value[5], dst + 40, s);
    pos = decode_unit(string, pos, keep[6], value[6], dst + 48, s);
    return decode_unit(string, pos, keep[7], value[7], dst + 56, s);
}

static LP_ALWAYS_INLINE int decode_words(const struct lp_ibp *ibp, const uint8_t *src,
                                         uint32_t src_bytes, uint32_t align_bytes, uint8_t *dst,
                                         uint32_t n_words, const uint32_t s)
{
    const uint32_t step = UNITS * 8 / s, head = lp_ibp_head_bytes(n_words, s);
    const uint8_t *const string = src + head;
    const bool ahead = src_bytes >= AHEAD_RECORD_BYTES_MIN;
    struct units units[2];
    uint64_t pos = 0, end;
    uint32_t j = 0;

    if (head > src_bytes)
        return LP_ECORRUPT;
    end = (uint64_t)(src_bytes - head) * 8;
    if (step <= n_words)
        select_units(ibp, src, 0, &units[0], s);
    for (; j + step <= n_words; j += step) {
        /* A step ahead: what vectors store is loaded word by word only when it has settled. */
        if (j + 2 * step <= n_words)
            select_units(ibp, src, j + step, &units[(j / step + 1) % 2], s);
        if (ahead) {
            __builtin_prefetch(dst + (size_t)j * s + AHEAD_BYTES, 1);
            __builtin_prefetch(string + pos / 8 + AHEAD_BYTES);
        }
        pos = decode_units(&units[j / step % 2], string, pos, end, dst + (size_t)j * s, s);
        if (pos > end)
            return LP_ECORRUPT;
    }
    for (; j < n_words; j++) {
        const bool packed = (src[j / 8] >> (j % 8) & 1) != 0;
        const uint32_t n = packed ? ibp->packed_bits[j] : 8 * s;
        uint64_t bits;

        if (pos + n > end)
            return LP_ECORRUPT;
        bits = lp_ibp_take(string, pos, n, s);
        if (packed)
            bits = _pdep_u64(bits, ~ibp->mask[j]) | ibp->value[j];
        lp_ibp_store(dst + (size_t)j * s, bits, s);
        pos += n;
    }
    return lp_ibp_tail_ok(src, src_bytes, align_bytes, n_words, pos, s) ? 0 : LP_ECORRUPT;
}

static int decode(const struct lp_ibp *ibp, const void *src, uint32_t src_bytes,
                  uint32_t align_bytes, void *dst, uint32_t n_words)
{
    if (n_words > ibp->n_words)
        return LP_ECORRUPT;
    if (ibp->word_bytes == 4)
        return decode_words(ibp, src, src_bytes, align_bytes, dst, n_words, 4);
    return decode_words(ibp, src, src_bytes, align_bytes, dst, n_words, 8);
}

/* --- the search for masks -------------------------------------------------------------------- */

LP_STATIC_ASSERT(sizeof(struct lp_ibp_set) == 64, "a set of records is a register");

static inline uint32_t common(const struct lp_ibp_set *a, const struct lp_ibp_set *b)
{
    const __m512i both = _mm512_and_si512(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
    const __m512i sums = _mm512_sad_epu8(_mm512_popcnt_epi8(both), _mm512_setzero_si512());

    return (uint32_t)_mm512_reduce_add_epi64(sums);
}

static void count(const uint8_t *records, uint64_t n_records, uint32_t record_bytes, void *scratch,
                  uint64_t *counts)
{
    lp_ibp_count(records, n_records, record_bytes, scratch, counts);
}

static void score(const struct lp_ibp_score *job, const uint8_t *records, uint64_t n_records,
                  struct lp_ibp_totals *ret_totals)
{
    lp_ibp_score(job, records, n_records, ret_totals);
}

static void pick(const struct lp_ibp_column *column, struct lp_ibp_pick *ret_pick)
{
    lp_ibp_pick(column, ret_pick, common);
}

void lp_codec_avx512_ibp_fill(struct lp_codec_ops *ops)
{
    ops->ibp_decode = decode;
    ops->ibp_count = count;
    ops->ibp_score = score;
    ops->ibp_pick = pick;
}
