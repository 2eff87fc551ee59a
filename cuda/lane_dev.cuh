/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions: one warp decodes one coded lane record (docs/FORMAT.md, section 5).
 *
 * In each step a warp decodes 256 elements, a lane eight neighbours. Planes are words that every
 * lane can read, so a lane takes its eight bits of each plane of level 1, and a byte permute turns
 * eight codes into eight exponents. Which of the eight went on to level 2 is a word of eight
 * nibbles, so a multiplication ranks them, a prefix sum over the warp says where their codes begin,
 * and they are decoded there in the same way, side by side; another permute by rank puts the
 * deeper level's exponents into the gaps. No loop over bits, no branch that lanes disagree on.
 *
 * Where the deeper levels begin depends on how many elements reach them. A record of one step
 * learns that from the prefix sums on its way, a longer one counts zero codes beforehand, 1,024
 * elements at a time. */
#ifndef LP_CUDA_LANE_DEV_CUH
#define LP_CUDA_LANE_DEV_CUH

#include "cuda/lane_split_dev.cuh"

#define LP_LANE_STEP 256u
#define LP_LANE_LEVELS LP_FORMAT_LANE_LEVELS_MAX

/* Widths of the levels, known when the kernel is compiled: every branch on them is gone then. */
template <uint32_t A, uint32_t B = 0, uint32_t C = 0, uint32_t D = 0, uint32_t E = 0>
struct lp_lane_widths {
    static constexpr bool KNOWN = true;
    static constexpr uint32_t MOST = (A != 0) + (B != 0) + (C != 0) + (D != 0) + (E != 0);
    LP_DEVICE constexpr uint32_t levels(const lp_gather_table &)
    {
        return MOST;
    }
    LP_DEVICE constexpr uint32_t width(const lp_gather_table &, uint32_t level)
    {
        return level == 0 ? A : level == 1 ? B : level == 2 ? C : level == 3 ? D : E;
    }
};

/* Any widths. */
struct lp_lane_any_widths {
    static constexpr bool KNOWN = false;
    static constexpr uint32_t MOST = LP_LANE_LEVELS;
    LP_DEVICE uint32_t levels(const lp_gather_table &table)
    {
        return table.n_levels;
    }
    LP_DEVICE uint32_t width(const lp_gather_table &table, uint32_t level)
    {
        return table.level[level].width;
    }
};

/* What is known of a record and grows while its steps go on. Lives in registers. */
template <class F> struct lp_lane_state {
    const uint32_t *words;              /* the record, on a 4-byte border */
    lp_gpu_words string;                /* the same, for bits */
    unsigned char *scratch;             /* of the warp */
    uint32_t lane, below;               /* and a bit for each lane below */
    uint32_t limit_bits;                /* its stored length */
    uint32_t bit[LP_LANE_LEVELS + 1];   /* first bit of each level's planes */
    uint32_t count[LP_LANE_LEVELS + 1]; /* codes of each level */
    uint32_t end_bit, raw_count;        /* of the bit string; raw exponents behind it */
    bool bad;                           /* the record breaks the format */
    uint32_t done[LP_LANE_LEVELS + 1];  /* codes of the steps before, per level; raw ones last */
    uint64_t columns;                   /* bases of the record's first group, and ... */
    uint32_t column; /* which of them this lane's first element in the next step has */
    struct lp_lane_eight<F> table[LP_LANE_LEVELS];
};

/* --- finding the parts ------------------------------------------------------------------------ */

template <class L, class F>
LP_DEVICE uint32_t lp_lane_end_bit(const lp_lane_state<F> &s, const lp_gather_table &table,
                                   uint32_t level)
{
    return s.bit[level] + L::width(table, level) * s.count[level];
}

template <class F> LP_DEVICE uint32_t lp_lane_size(const lp_lane_state<F> &s)
{
    return (s.end_bit + 7) / 8 + (s.raw_count << F::WIDE_EXPONENT);
}

/* Are all raw exponents of a record exponents? */
template <class F> LP_DEVICE bool lp_lane_raw_is_good(const lp_lane_state<F> &s, uint32_t mask)
{
    const unsigned char *const top =
        reinterpret_cast<const unsigned char *>(s.words) + (s.end_bit + 7) / 8 + F::WIDE_EXPONENT;
    const uint32_t most = mask >> (8 * F::WIDE_EXPONENT);
    bool good = true;

    for (uint32_t i = s.lane; i < s.raw_count; i += 32)
        good = good && top[i << F::WIDE_EXPONENT] <= most;
    return __all_sync(0xffffffffu, good);
}

/* Every level's place and count, before the first step. False: the record ends too early. */
template <class L, class F>
LP_DEVICE bool lp_lane_find_levels(lp_lane_state<F> &s, const lp_gather_table &table, uint32_t lane)
{
    uint32_t end = 0, zeros = s.count[0];

#pragma unroll
    for (uint32_t k = 0; k < LP_LANE_LEVELS; k++) {
        if (k >= L::levels(table))
            break;
        if (k > 0) {
            s.bit[k] = end;
            s.count[k] = zeros;
        }
        end = lp_lane_end_bit<L>(s, table, k);
        if (end > s.limit_bits)
            return false;
        zeros = lp_gpu_count_zeros(s.string, s.bit[k], L::width(table, k), s.count[k], lane);
    }
    s.end_bit = end;
    s.raw_count = zeros;
    return lp_lane_size(s) <= s.limit_bits / 8 &&
           (table.exponent_mask == 0xff || lp_lane_raw_is_good(s, table.exponent_mask));
}

/* Exponents of a level, shifted by the record's base, modulo 2^E. */
template <class F>
LP_DEVICE void lp_lane_set_table(lp_lane_eight<F> &to, const lp_gather_level &level, uint32_t base,
                                 uint32_t mask)
{
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t low = level.low[i], high = level.high[i];

        if (F::WIDE_EXPONENT) {
            const uint32_t bases = base * 0x00010001u, masks = mask * 0x00010001u;
            const uint32_t a = (__byte_perm(low, high, 0x5140) + bases) & masks;
            const uint32_t b = (__byte_perm(low, high, 0x7362) + bases) & masks;

            to.low[i] = __byte_perm(a, b, 0x6420);
            to.high[i] = __byte_perm(a, b, 0x7531);
        } else {
            /* The top bits apart, so that no carry leaves its byte. */
            const uint32_t bases = base * 0x01010101u, masks = mask * 0x01010101u;
            const uint32_t sum = (low & 0x7f7f7f7fu) + (bases & 0x7f7f7f7fu);

            to.low[i] = (sum ^ ((low ^ bases) & 0x80808080u)) & masks;
        }
    }
}

/* The tables of a record with its own base, which ends at byte head. False: the base is no
 * exponent. */
template <class F>
LP_DEVICE bool lp_lane_set_tables(lp_lane_state<F> &s, const lp_gpu_record &record,
                                  const lp_gather_table &table, uint32_t head)
{
    uint32_t base = record.bytes[head - table.base_bytes];

    if (F::WIDE_EXPONENT)
        base |= (uint32_t)record.bytes[head - 1] << 8;
#pragma unroll
    for (uint32_t k = 0; k < LP_LANE_LEVELS; k++)
        lp_lane_set_table<F>(s.table[k], table.level[k], base, table.exponent_mask);
    return base <= table.exponent_mask;
}

template <class F>
LP_DEVICE void lp_lane_copy_tables(lp_lane_state<F> &s, const lp_gather_table &table)
{
#pragma unroll
    for (uint32_t k = 0; k < LP_LANE_LEVELS; k++) {
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            s.table[k].low[i] = table.level[k].low[i];
            if (F::WIDE_EXPONENT)
                s.table[k].high[i] = table.level[k].high[i];
        }
    }
}

/* --- one step --------------------------------------------------------------------------------- */

template <class F>
LP_DEVICE void lp_lane_look_up(lp_lane_eight<F> &to, const lp_lane_eight<F> &table, uint32_t codes)
{
    to.low[0] = lp_gpu_bytes_low(table.low, codes);
    to.low[1] = lp_gpu_bytes_high(table.low, codes);
    if (F::WIDE_EXPONENT) {
        to.high[0] = lp_gpu_bytes_low(table.high, codes);
        to.high[1] = lp_gpu_bytes_high(table.high, codes);
    }
}

/* Where a nibble of gaps holds a one, the next exponent of deeper. */
LP_DEVICE void lp_lane_fill(uint32_t to[2], const uint32_t deeper[2], uint32_t gaps, uint32_t ranks)
{
    to[0] = lp_gpu_select(lp_gpu_byte_mask(gaps), lp_gpu_bytes_low(deeper, ranks), to[0]);
    to[1] = lp_gpu_select(lp_gpu_byte_mask(gaps >> 16), lp_gpu_bytes_high(deeper, ranks), to[1]);
}

/* Eight raw exponents from the rank-th on. */
template <class F>
LP_DEVICE void lp_lane_take_raw(lp_lane_eight<F> &to, const lp_lane_state<F> &s, uint32_t rank)
{
    const uint32_t byte = (s.end_bit + 7) / 8 + (rank << F::WIDE_EXPONENT), shift = 8 * (byte & 3);
    const uint32_t *const w = s.words + (byte >> 2);

    to.low[0] = __funnelshift_r(w[0], w[1], shift);
    to.low[1] = __funnelshift_r(w[1], w[2], shift);
    if (F::WIDE_EXPONENT) {
        const uint32_t third = __funnelshift_r(w[2], w[3], shift),
                       fourth = __funnelshift_r(w[3], w[4], shift);
        const uint32_t first = to.low[0], second = to.low[1];

        to.low[0] = __byte_perm(first, second, 0x6420);
        to.low[1] = __byte_perm(third, fourth, 0x6420);
        to.high[0] = __byte_perm(first, second, 0x7531);
        to.high[1] = __byte_perm(third, fourth, 0x7531);
    }
}

/* Is one of the first count raw exponents no exponent? */
template <class F>
LP_DEVICE bool lp_lane_raw_is_bad(const lp_lane_eight<F> &raw, uint32_t mask, uint32_t count)
{
    const uint32_t bits = 8 * count;
    const uint32_t valid0 = ~__funnelshift_lc(0u, 0xffffffffu, bits);
    const uint32_t valid1 = count > 4 ? ~__funnelshift_lc(0u, 0xffffffffu, bits - 32) : 0;
    const uint32_t mask4 = F::WIDE_EXPONENT ? (mask >> 8) * 0x01010101u : mask * 0x01010101u;

    return F::WIDE_EXPONENT
               ? ((raw.high[0] & ~mask4 & valid0) | (raw.high[1] & ~mask4 & valid1)) != 0
               : ((raw.low[0] & ~mask4 & valid0) | (raw.low[1] & ~mask4 & valid1)) != 0;
}

/* Raw exponents, as what follows the last level. In records of more than one step they have been
 * checked. */
template <bool ONE, class F>
LP_DEVICE void lp_lane_raw(lp_lane_state<F> &s, const lp_gather_table &table, uint32_t rank,
                           uint32_t count, lp_lane_eight<F> &ret)
{
    lp_lane_take_raw(ret, s, rank);
    if (ONE && table.exponent_mask != 0xff)
        s.bad =
            s.bad || __any_sync(0xffffffffu, lp_lane_raw_is_bad(ret, table.exponent_mask, count));
}

/* As lp_lane_level(), where 32 codes at most are left in the whole step: a lane each. Returns the
 * exponent of code number first + lane in the low byte; lanes from total on get nothing of use. */
template <uint32_t K, bool ONE, class L, class F>
LP_DEVICE uint32_t lp_lane_few(lp_lane_state<F> &s, const lp_gather_table &table, uint32_t first,
                               uint32_t total)
{
    const uint32_t width = L::width(table, K);
    uint32_t code = lp_gpu_window(s.string, s.bit[K] + first) >> s.lane & 1;

    if (width > 1)
        code = lp_gpu_mad<2>(lp_gpu_window(s.string, s.bit[K] + s.count[K] + first) >> s.lane & 1,
                             code);
    if (width > 2)
        code = lp_gpu_mad<4>(
            lp_gpu_window(s.string, s.bit[K] + 2 * s.count[K] + first) >> s.lane & 1, code);
    const bool gap = code == 0 && s.lane < total;
    const uint32_t gaps = __ballot_sync(0xffffffffu, gap);
    const uint32_t deeper_total = (uint32_t)__popc(gaps), deeper_first = ONE ? 0 : s.done[K + 1];
    uint32_t exponent = lp_gpu_permute(s.table[K].low[0], s.table[K].low[1], code);

    if (ONE) {
        s.end_bit = lp_lane_end_bit<L>(s, table, K);
        s.raw_count = deeper_total;
        s.bit[K + 1] = s.end_bit;
        s.count[K + 1] = deeper_total;
    } else {
        s.done[K + 1] += deeper_total;
    }
    if (deeper_total != 0) {
        uint32_t deeper;

        if constexpr (K + 1 < L::MOST) {
            deeper = lp_lane_few<K + 1, ONE, L>(s, table, deeper_first, deeper_total);
        } else {
            deeper = reinterpret_cast<const unsigned char *>(
                s.words)[(s.end_bit + 7) / 8 + deeper_first + s.lane];
            if (ONE && table.exponent_mask != 0xff)
                s.bad = s.bad || __any_sync(0xffffffffu,
                                            s.lane < deeper_total && deeper > table.exponent_mask);
        }
        deeper = __shfl_sync(0xffffffffu, deeper, __popc(gaps & s.below));
        exponent = gap ? deeper : exponent;
    }
    return exponent;
}

/* One exponent from each lane; each lane takes eight from the rank-th on. */
template <class F>
LP_DEVICE void lp_lane_share(lp_lane_eight<F> &to, const lp_lane_state<F> &s, uint32_t exponent,
                             uint32_t rank)
{
    const uint32_t *const w = reinterpret_cast<const uint32_t *>(s.scratch) + (rank >> 2);

    s.scratch[s.lane] = (unsigned char)exponent;
    __syncwarp();
    to.low[0] = __funnelshift_r(w[0], w[1], 8 * rank);
    to.low[1] = __funnelshift_r(w[1], w[2], 8 * rank);
    __syncwarp();
}

template <uint32_t K, bool ONE, bool FIRST, class L, class F>
LP_DEVICE void lp_lane_level(lp_lane_state<F> &s, const lp_gather_table &table, uint32_t rank,
                             uint32_t count, lp_lane_eight<F> &ret);

/* Eight bits of a plane, one in each nibble. BYTE: they are known to be a byte. */
template <bool BYTE, class F>
LP_DEVICE uint32_t lp_lane_eight_bits(const lp_lane_state<F> &s, uint32_t bit)
{
    if (BYTE)
        return lp_gpu_spread(reinterpret_cast<const unsigned char *>(s.words)[bit >> 3]);
    return lp_gpu_spread(lp_gpu_window(s.string, bit) & 0xffu);
}

/* The codes of a step that a level gets: all, and those of this lane. */
struct lp_lane_share_of {
    uint32_t first, total;
    uint32_t rank, count;
};

/* What follows a level: the next one, or raw exponents. */
template <uint32_t K, bool ONE, class L, class F>
LP_DEVICE void lp_lane_deeper(lp_lane_state<F> &s, const lp_gather_table &table,
                              const lp_lane_share_of &codes, lp_lane_eight<F> &ret)
{
    if constexpr (K < L::MOST) {
        if constexpr (K >= 2 && L::KNOWN && !F::WIDE_EXPONENT) {
            if (codes.total <= 32) {
                const uint32_t exponent =
                    lp_lane_few<K, ONE, L>(s, table, codes.first, codes.total);

                lp_lane_share(ret, s, exponent, codes.rank - codes.first);
                return;
            }
        }
        if (K < L::levels(table)) {
            lp_lane_level<K, ONE, false, L>(s, table, codes.rank, codes.count, ret);
            return;
        }
    }
    lp_lane_raw<ONE>(s, table, codes.rank, codes.count, ret);
}

/* The exponents of a level's codes from the rank-th on, count of them, at most eight, and with
 * those of the levels behind it. FIRST: there are eight. */
template <uint32_t K, bool ONE, bool FIRST, class L, class F>
LP_DEVICE void lp_lane_level(lp_lane_state<F> &s, const lp_gather_table &table, uint32_t rank,
                             uint32_t count, lp_lane_eight<F> &ret)
{
    const uint32_t width = L::width(table, K);
    constexpr bool BYTES = K == 0 && FIRST && ONE; /* 256 elements: each plane begins with a byte */
    constexpr bool BYTE = K == 0 && FIRST && (ONE || F::NO_PLANES); /* the first one does */
    uint32_t codes = lp_lane_eight_bits<BYTE>(s, s.bit[K] + rank), any = codes;

    if (width > 1) {
        const uint32_t plane = lp_lane_eight_bits<BYTES>(s, s.bit[K] + s.count[K] + rank);
        codes = lp_gpu_mad<2>(plane, codes);
        any |= plane;
    }
    if (width > 2) {
        const uint32_t plane = lp_lane_eight_bits<BYTES>(s, s.bit[K] + 2 * s.count[K] + rank);
        codes = lp_gpu_mad<4>(plane, codes);
        any |= plane;
    }
    lp_lane_look_up(ret, s.table[K], codes);
    const uint32_t gaps = (FIRST ? any : any | lp_gpu_nibbles_from(count)) ^ LP_NIBBLES;
    const uint32_t deeper_count = (uint32_t)__popc(gaps), ends = lp_gpu_scan(deeper_count);
    const uint32_t before = ONE ? 0 : s.done[K + 1], deeper_rank = before + ends - deeper_count;
    const uint32_t total = lp_gpu_last(ends);

    if (ONE) {
        const uint32_t end = lp_lane_end_bit<L>(s, table, K);

        s.bit[K + 1] = end;
        s.count[K + 1] = total;
        s.end_bit = end;
        s.raw_count = total;
    } else {
        s.done[K + 1] += total;
    }
    if (total != 0) {
        lp_lane_eight<F> deeper;

        lp_lane_deeper<K + 1, ONE, L>(s, table, {before, total, deeper_rank, deeper_count}, deeper);
        const uint32_t ranks = lp_gpu_nibble_ranks(gaps);
        lp_lane_fill(ret.low, deeper.low, gaps, ranks);
        if (F::WIDE_EXPONENT)
            lp_lane_fill(ret.high, deeper.high, gaps, ranks);
    }
}

/* --- a record --------------------------------------------------------------------------------- */

/* Where things begin. False: the record is too short, or its base is no exponent. A record of one
 * step learns the rest on its way, and is checked at its end: LP_GATHER_SLACK_BYTES says why that
 * is early enough. */
template <bool ONE, class L, class F>
LP_DEVICE bool lp_lane_begin(lp_lane_state<F> &s, const lp_gpu_record &record,
                             const lp_gather_table &table)
{
    const uint32_t n = record.elements, head = n * F::bytes(table) + table.base_bytes;

    s.words = reinterpret_cast<const uint32_t *>(record.bytes);
    s.string = lp_gpu_shared_words(record.bytes);
    s.scratch = record.scratch;
    s.lane = record.lane;
    s.below = lp_gpu_keep((1u << record.lane) - 1);
    s.limit_bits = 8 * record.stored_bytes;
    if (!ONE && head > record.stored_bytes)
        return false;
    s.bad = false;
    if (table.columns.pitch != 0) {
        s.column = lp_lane_first_column(record, table.columns);
        s.columns = table.meta_dev +
                    (uint64_t)((record.columns >> 16) << F::WIDE_EXPONENT) * table.columns.pitch;
    }
    if (table.base_bytes != 0)
        s.bad = !lp_lane_set_tables(s, record, table, head);
    else
        lp_lane_copy_tables(s, table);
    s.bit[0] = 8 * head + F::planes(table) * n;
    s.count[0] = n;
#pragma unroll
    for (uint32_t k = 0; k <= LP_LANE_LEVELS; k++)
        s.done[k] = 0;
    if (ONE)
        return true;
    return lp_lane_find_levels<L>(s, table, record.lane);
}

/* The record fills its stored length up to less than an alignment, and its padding is zero. Most
 * often there are no raw exponents, and what is left lies in the last word. INNER: it is part of
 * another codec's record, and may be shorter than a word. */
template <bool INNER, class F>
LP_DEVICE bool lp_lane_end(const lp_lane_state<F> &s, const lp_gpu_record &record,
                           const lp_gather_table &table)
{
    const uint32_t used = s.end_bit & 7, left = s.limit_bits - s.end_bit;

    if (!INNER && s.raw_count == 0 && table.align_bytes == 4)
        return (left >> 5 |
                __funnelshift_rc(lp_gpu_window(s.string, s.limit_bits - 32), 0u, 32 - left)) == 0;
    const uint32_t size = lp_lane_size(s);
    if (size > record.stored_bytes || record.stored_bytes - size >= table.align_bytes)
        return false;
    if (used != 0 && record.bytes[s.end_bit >> 3] >> used != 0)
        return false;
    return lp_gpu_zero_bytes(record.bytes, size, record.stored_bytes, record.lane);
}

/* Where a record's elements go. */
struct lp_lane_out {
    uint64_t address; /* of element 0, wanted or not */
    bool wide;        /* on a border of a vector store */
    bool whole;       /* and the whole record is wanted */
};

/* Eight elements from at on, of which the record has count. COLUMNS: the table may have some. */
template <bool ONE, bool FULL, bool COLUMNS, class L, class F>
LP_DEVICE void lp_lane_elements(lp_lane_state<F> &s, const lp_gpu_record &record,
                                const lp_gather_table &table, uint32_t planes_bit, uint32_t at,
                                uint32_t count, uint32_t (&to)[2 * F::ELEM])
{
    const lp_lane_place place = {s.words, s.string, at, record.elements, planes_bit, record.lane};
    lp_lane_eight<F> exponents;

    lp_lane_level<0, ONE, FULL, L>(s, table, at, count, exponents);
    if (COLUMNS && table.columns.pitch != 0) {
        lp_lane_add_columns(exponents, record, table, s.columns, s.column, at);
        if (!ONE)
            s.column = lp_lane_next_column(s.column, table.columns);
    }
    F::join(to, place, table, exponents);
}

/* The 256 elements from step on, FULL: all of them within the record. */
template <bool ONE, bool FULL, class L, class F>
LP_DEVICE void lp_lane_decode_step(lp_lane_state<F> &s, const lp_gpu_record &record,
                                   const lp_gather_table &table, uint32_t planes_bit,
                                   const lp_lane_out &out, uint32_t step)
{
    const uint32_t begin = step + 8 * record.lane, at = FULL ? begin : min(begin, record.elements);
    const uint32_t count = FULL ? 8 : min(record.elements - at, 8u);
    unsigned char *const to = reinterpret_cast<unsigned char *>(out.address + at * F::ELEM);
    uint32_t w[2 * F::ELEM];

    lp_lane_elements<ONE, FULL, true, L>(s, record, table, planes_bit, at, count, w);
    if (FULL && out.whole)
        lp_gpu_store_wide<F::ELEM>(to, w);
    else
        lp_gpu_store<F::ELEM>(
            {to, max(record.first, at) - at, max(min(record.last, at + 8), at) - at}, w, out.wide);
}

/* ONE: the record is decoded in one step, FULL: of 256 elements. */
template <bool ONE, bool FULL, class F, class L>
LP_DEVICE bool lp_lane_decode_steps(const lp_gpu_record &record, const lp_gather_table &table)
{
    const uint64_t address = reinterpret_cast<uint64_t>(record.out) - record.first * F::ELEM;
    const bool wide = (address & (F::ELEM == 1 ? 7 : 15)) == 0;
    const lp_lane_out out = {address, wide,
                             wide && record.first == 0 && record.last == record.elements};
    lp_lane_state<F> s;
    uint32_t step = 0;

    if (!lp_lane_begin<ONE, L>(s, record, table))
        return false;
    const uint32_t planes_bit = s.bit[0] - F::planes(table) * record.elements;
    if (ONE) {
        lp_lane_decode_step<true, FULL, L>(s, record, table, planes_bit, out, 0);
    } else {
        if constexpr (L::KNOWN)
            for (; step + LP_LANE_STEP <= record.last; step += LP_LANE_STEP)
                lp_lane_decode_step<false, true, L>(s, record, table, planes_bit, out, step);
        for (; step < record.last; step += LP_LANE_STEP)
            lp_lane_decode_step<false, false, L>(s, record, table, planes_bit, out, step);
    }
    return !s.bad && lp_lane_end<false>(s, record, table);
}

template <class F, class L>
LP_DEVICE bool lp_gpu_decode_lane(const lp_gpu_record &record, const lp_gather_table &table)
{
    if constexpr (!L::KNOWN)
        return lp_lane_decode_steps<false, false, F, L>(record, table);
    else if (record.elements > LP_LANE_STEP)
        return lp_lane_decode_steps<false, false, F, L>(record, table);
    else if (record.elements == LP_LANE_STEP)
        return lp_lane_decode_steps<true, true, F, L>(record, table);
    else
        return lp_lane_decode_steps<true, false, F, L>(record, table);
}

#endif
