/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions: from exponents and other bits of eight neighbours to elements (docs/FORMAT.md,
 * section 5). How elements split is known when a kernel is compiled (the structs named after a
 * dtype) or read from the table (lp_lane_any_split). */
#ifndef LP_CUDA_LANE_SPLIT_DEV_CUH
#define LP_CUDA_LANE_SPLIT_DEV_CUH

#include "cuda/decode_dev.cuh"

/* Exponents of eight elements: their low bytes, and their high bytes where they have 11 bits. */
template <class F> struct lp_lane_eight {
    uint32_t low[2], high[2];
};

/* Eight elements from at on, and where their other bits lie. */
struct lp_lane_place {
    const uint32_t *words; /* the record, on a 4-byte border */
    lp_gpu_words string;   /* the same, for bits */
    uint32_t at;           /* first element */
    uint32_t elements;     /* of the record */
    uint32_t planes_bit;   /* planes of other bits */
    uint32_t lane;
};

/* Two words from an even word on; lanes of the upper half read the second one first, so that 32
 * lanes side by side meet no bank twice. */
LP_DEVICE void lp_lane_pair(uint32_t to[2], const uint32_t *words, uint32_t lane)
{
    const bool swap = lane >= 16;
    const uint32_t *const first = words + swap, *const second = words + !swap;
    const uint32_t a = *first, b = *second;

    to[0] = swap ? b : a;
    to[1] = swap ? a : b;
}

/* Eight bytes from any byte on. */
LP_DEVICE void lp_lane_bytes(uint32_t to[2], const uint32_t *words, uint32_t byte)
{
    const uint32_t *const w = words + (byte >> 2);

    to[0] = __funnelshift_r(w[0], w[1], 8 * (byte & 3));
    to[1] = __funnelshift_r(w[1], w[2], 8 * (byte & 3));
}

/* The bits of up to MOST planes, as a byte of each element. */
template <uint32_t MOST>
LP_DEVICE void lp_lane_plane_bytes(uint32_t to[2], const lp_lane_place &p, uint32_t planes)
{
    lp_gpu_planes<MOST>(to, p.string, p.planes_bit + p.at, p.elements, planes);
    lp_gpu_transpose(to);
}

/* From bytes of sign and seven mantissa bits: pairs of sign, eight exponent bits, mantissa. */
LP_DEVICE void lp_lane_join16(uint32_t to[4], const uint32_t other[2], const uint32_t exponent[2])
{
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t high = lp_gpu_select<0x80808080u>(other[i], exponent[i] >> 1);
        const uint32_t low = lp_gpu_select<0x7f7f7f7fu>(other[i], exponent[i] << 7);

        to[2 * i] = __byte_perm(low, high, 0x5140);
        to[2 * i + 1] = __byte_perm(low, high, 0x7362);
    }
}

/* Byte i of eight. */
LP_DEVICE uint32_t lp_lane_byte(const uint32_t bytes[2], uint32_t i)
{
    return bytes[i / 4] >> (8 * (i % 4)) & 0xff;
}

/* --- splits that are known -------------------------------------------------------------------- */

/* bytes(), planes(): of an element's other bits. EXPONENT_MASK: 2^E - 1. NO_PLANES: the
 * levels follow whole bytes. */
struct lp_lane_bf16 {
    static constexpr uint32_t ELEM = 2, WIDE_EXPONENT = 0, EXPONENT_MASK = 0xff;
    static constexpr bool NO_PLANES = true;
    LP_DEVICE uint32_t bytes(const lp_gather_table &)
    {
        return 1;
    }
    LP_DEVICE uint32_t planes(const lp_gather_table &)
    {
        return 0;
    }
    LP_DEVICE void join(uint32_t to[4], const lp_lane_place &p, const lp_gather_table &,
                        const lp_lane_eight<lp_lane_bf16> &e)
    {
        uint32_t other[2];

        lp_lane_pair(other, p.words + p.at / 4, p.lane);
        lp_lane_join16(to, other, e.low);
    }
};

/* Planes: mantissa bits 8 and 9, sign. */
struct lp_lane_f16 {
    static constexpr uint32_t ELEM = 2, WIDE_EXPONENT = 0, EXPONENT_MASK = 0x1f;
    static constexpr bool NO_PLANES = false;
    LP_DEVICE uint32_t bytes(const lp_gather_table &)
    {
        return 1;
    }
    LP_DEVICE uint32_t planes(const lp_gather_table &)
    {
        return 3;
    }
    LP_DEVICE uint32_t plane(const lp_lane_place &p, uint32_t i)
    {
        return lp_gpu_spread(lp_gpu_window(p.string, p.planes_bit + i * p.elements + p.at) & 0xffu);
    }
    LP_DEVICE void join(uint32_t to[4], const lp_lane_place &p, const lp_gather_table &,
                        const lp_lane_eight<lp_lane_f16> &e)
    {
        const uint32_t codes = plane(p, 0) + 2 * plane(p, 1) + 4 * plane(p, 2);
        uint32_t other[2];

        lp_lane_pair(other, p.words + p.at / 4, p.lane);
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t high =
                4 * e.low[i] + lp_gpu_lookup<0x03020100u, 0x83828180u>(codes >> (16 * i));

            to[2 * i] = __byte_perm(other[i], high, 0x5140);
            to[2 * i + 1] = __byte_perm(other[i], high, 0x7362);
        }
    }
};

/* Where the sign is constant, what is left of the third byte lies in planes. */
struct lp_lane_f32 {
    static constexpr uint32_t ELEM = 4, WIDE_EXPONENT = 0, EXPONENT_MASK = 0xff;
    static constexpr bool NO_PLANES = false; /* where the sign is constant */
    LP_DEVICE uint32_t bytes(const lp_gather_table &table)
    {
        return table.split.bytes;
    }
    LP_DEVICE uint32_t planes(const lp_gather_table &table)
    {
        return table.split.planes;
    }
    LP_DEVICE void join(uint32_t to[8], const lp_lane_place &p, const lp_gather_table &table,
                        const lp_lane_eight<lp_lane_f32> &e)
    {
        const uint32_t *const low = p.words + p.at / 2;
        uint32_t other[2], high[4];

        if (table.split.planes == 0) {
            lp_lane_bytes(other, p.words, 2 * p.elements + p.at);
        } else {
            const uint32_t sign = __byte_perm((uint32_t)table.split.fixed, 0, 0x3333);

            lp_gpu_planes<7>(other, p.string, p.planes_bit + p.at, p.elements, 7);
            lp_gpu_transpose(other);
            other[0] |= sign;
            other[1] |= sign;
        }
        lp_lane_join16(high, other, e.low);
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            to[2 * i] = __byte_perm(low[i], high[i], 0x5410);
            to[2 * i + 1] = __byte_perm(low[i], high[i], 0x7632);
        }
    }
};

/* --- a split that the table tells ------------------------------------------------------------- */

/* Other bits and exponent, both in one word, to where they belong in the element: for two elements
 * of 2 bytes and four of 1 at once. */
LP_DEVICE uint32_t lp_lane_place_bits(const lp_gather_split &s, uint32_t other, uint32_t exponent)
{
    return (other & (uint32_t)s.mantissa_mask) << s.trailing_bits |
           (other & (uint32_t)s.sign_mask) << s.sign_shift | (uint32_t)s.fixed |
           exponent << s.mantissa_bits;
}

/* i8, u8 and both f8: all other bits lie in planes. */
template <class F>
LP_DEVICE void lp_lane_join_any(uint32_t (&to)[2], const lp_lane_place &p,
                                const lp_gather_table &table, const lp_lane_eight<F> &e)
{
    uint32_t other[2];

    lp_lane_plane_bytes<5>(other, p, table.split.planes);
    to[0] = lp_lane_place_bits(table.split, other[0], e.low[0]);
    to[1] = lp_lane_place_bits(table.split, other[1], e.low[1]);
}

template <class F>
LP_DEVICE void lp_lane_join_any(uint32_t (&to)[4], const lp_lane_place &p,
                                const lp_gather_table &table, const lp_lane_eight<F> &e)
{
    uint32_t planes[2], low[2] = {0, 0};

    lp_lane_plane_bytes<7>(planes, p, table.split.planes);
    if (table.split.bytes != 0)
        lp_lane_pair(low, p.words + p.at / 4, p.lane);
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t below = table.split.bytes != 0 ? low[i] : planes[i],
                       above = table.split.bytes != 0 ? planes[i] : 0;

        to[2 * i] = lp_lane_place_bits(table.split, __byte_perm(below, above, 0x5140),
                                       __byte_perm(e.low[i], 0, 0x4140));
        to[2 * i + 1] = lp_lane_place_bits(table.split, __byte_perm(below, above, 0x7362),
                                           __byte_perm(e.low[i], 0, 0x4342));
    }
}

template <class F>
LP_DEVICE void lp_lane_join_any(uint32_t (&to)[8], const lp_lane_place &p,
                                const lp_gather_table &table, const lp_lane_eight<F> &e)
{
    const uint32_t bytes = table.split.bytes, pairs = bytes & 2;
    uint32_t planes[2], single[2] = {0, 0}, low[4] = {0, 0, 0, 0};

    lp_lane_plane_bytes<7>(planes, p, table.split.planes);
    if (bytes & 1)
        lp_lane_bytes(single, p.words, pairs * p.elements + p.at);
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
        low[i] = pairs != 0 ? p.words[p.at / 2 + i] : 0;
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t other = __byte_perm(low[i / 2], 0, i % 2 == 0 ? 0x4410 : 0x4432) |
                               lp_lane_byte(single, i) << (8 * pairs) |
                               lp_lane_byte(planes, i) << (8 * bytes);

        to[i] = lp_lane_place_bits(table.split, other, lp_lane_byte(e.low, i));
    }
}

template <class F>
LP_DEVICE void lp_lane_join_any(uint32_t (&to)[16], const lp_lane_place &p,
                                const lp_gather_table &table, const lp_lane_eight<F> &e)
{
    const lp_gather_split &s = table.split;
    const uint32_t quads = s.bytes & 4, pairs = s.bytes & 2;
    const uint32_t *const low = p.words + p.at, *const middle = p.words + quads / 4 * p.elements;
    uint32_t planes[2], single[2] = {0, 0};

    lp_lane_plane_bytes<7>(planes, p, s.planes);
    if (s.bytes & 1)
        lp_lane_bytes(single, p.words, (quads + pairs) * p.elements + p.at);
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t high_byte = lp_lane_byte(e.high, i);
        const uint64_t exponent = high_byte << 8 | lp_lane_byte(e.low, i);
        const uint32_t pair = pairs != 0 ? middle[(p.at + i) / 2] >> (16 * (i % 2)) & 0xffff : 0;
        uint64_t other = quads != 0 ? low[i] : 0;

        other |= (uint64_t)pair << (8 * quads);
        other |= (uint64_t)lp_lane_byte(single, i) << (8 * (quads + pairs));
        other |= (uint64_t)lp_lane_byte(planes, i) << (8 * s.bytes);
        other = (other & s.mantissa_mask) << s.trailing_bits |
                (other & s.sign_mask) << s.sign_shift | s.fixed | exponent << s.mantissa_bits;
        to[2 * i] = (uint32_t)other;
        to[2 * i + 1] = (uint32_t)(other >> 32);
    }
}

template <uint32_t BYTES> struct lp_lane_any_split {
    static constexpr uint32_t ELEM = BYTES, WIDE_EXPONENT = BYTES == 8;
    static constexpr uint32_t EXPONENT_MASK = 0; /* the table tells */
    static constexpr bool NO_PLANES = false;
    LP_DEVICE uint32_t bytes(const lp_gather_table &table)
    {
        return table.split.bytes;
    }
    LP_DEVICE uint32_t planes(const lp_gather_table &table)
    {
        return table.split.planes;
    }
    LP_DEVICE void join(uint32_t (&to)[2 * BYTES], const lp_lane_place &p,
                        const lp_gather_table &table, const lp_lane_eight<lp_lane_any_split> &e)
    {
        lp_lane_join_any(to, p, table, e);
    }
};

/* --- columns ---------------------------------------------------------------------------------- */

/* Sums of bytes, or of 11 bits in two bytes, modulo 2^E. mask is that of one exponent. */
template <class F>
LP_DEVICE void lp_lane_add(lp_lane_eight<F> &to, const lp_lane_eight<F> &more, uint32_t mask)
{
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        if (F::WIDE_EXPONENT) {
            const uint32_t masks = mask * 0x00010001u;
            const uint32_t a = (__byte_perm(to.low[i], to.high[i], 0x5140) +
                                __byte_perm(more.low[i], more.high[i], 0x5140)) &
                               masks;
            const uint32_t b = (__byte_perm(to.low[i], to.high[i], 0x7362) +
                                __byte_perm(more.low[i], more.high[i], 0x7362)) &
                               masks;

            to.low[i] = __byte_perm(a, b, 0x6420);
            to.high[i] = __byte_perm(a, b, 0x7531);
        } else {
            /* The top bits apart, so that no carry leaves its byte. */
            const uint32_t sum = (to.low[i] & 0x7f7f7f7fu) + (more.low[i] & 0x7f7f7f7fu);

            to.low[i] = (sum ^ ((to.low[i] ^ more.low[i]) & 0x80808080u)) & (mask * 0x01010101u);
        }
    }
}

/* Eight bases from an address on. */
template <class F> LP_DEVICE void lp_lane_load_columns(lp_lane_eight<F> &to, uint64_t address)
{
    const uint32_t *const w = reinterpret_cast<const uint32_t *>(address & ~3ull);
    const uint32_t shift = 8 * (uint32_t)address;
    uint32_t v[F::WIDE_EXPONENT ? 5 : 3];

#pragma unroll
    for (uint32_t i = 0; i < (F::WIDE_EXPONENT ? 5 : 3); i++)
        v[i] = __ldg(w + i);
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t first =
            __funnelshift_r(v[i << F::WIDE_EXPONENT], v[(i << F::WIDE_EXPONENT) + 1], shift);

        if (F::WIDE_EXPONENT) {
            const uint32_t second = __funnelshift_r(v[2 * i + 1], v[2 * i + 2], shift);

            to.low[i] = __byte_perm(first, second, 0x6420);
            to.high[i] = __byte_perm(first, second, 0x7531);
        } else {
            to.low[i] = first;
        }
    }
}

/* Where the groups change within eight elements from at on, those behind the turn get the next
 * group's bases, which are where next says. Where it has happened before, all do. */
template <class F>
LP_DEVICE void lp_lane_turn_columns(lp_lane_eight<F> &bases, uint64_t next, uint32_t at,
                                    uint32_t turn)
{
    const uint32_t from = turn > at ? 8 * (turn - at) : 0;
    const uint32_t masks[2] = {__funnelshift_lc(0u, 0xffffffffu, from),
                               __funnelshift_lc(0u, 0xffffffffu, max(from, 32u) - 32)};
    lp_lane_eight<F> more;

    if (turn >= at + 8)
        return;
    lp_lane_load_columns(more, next);
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        bases.low[i] = lp_gpu_select(masks[i], more.low[i], bases.low[i]);
        if (F::WIDE_EXPONENT)
            bases.high[i] = lp_gpu_select(masks[i], more.high[i], bases.high[i]);
    }
}

/* Which column the lane's first element has; steps go on from there. */
LP_DEVICE uint32_t lp_lane_first_column(const lp_gpu_record &record, const lp_gather_columns &c)
{
    const uint32_t phase = (record.columns & 0xffff) + 8 * record.lane;

    return phase - (__umulhi(phase, c.period_magic) >> c.period_shift) * (uint32_t)c.period.by;
}

/* 256 elements further. */
LP_DEVICE uint32_t lp_lane_next_column(uint32_t column, const lp_gather_columns &c)
{
    const uint32_t next = column + c.step;

    return min(next, next - (uint32_t)c.period.by); /* a negative one is larger */
}

/* The exponents of eight elements from at on get the bases of their columns, which begin with that
 * column of the group. Within a record the group may change once, at record.turn. */
template <class F>
LP_DEVICE void lp_lane_add_columns(lp_lane_eight<F> &to, const lp_gpu_record &record,
                                   const lp_gather_table &table, uint64_t group, uint32_t column,
                                   uint32_t at)
{
    const uint64_t address = group + (column << F::WIDE_EXPONENT);
    lp_lane_eight<F> bases;

    lp_lane_load_columns(bases, address);
    if (record.turn != LP_GATHER_NO_TURN)
        lp_lane_turn_columns(bases, address + (table.columns.pitch << F::WIDE_EXPONENT), at,
                             record.turn);
    lp_lane_add(to, bases, F::EXPONENT_MASK != 0 ? F::EXPONENT_MASK : table.exponent_mask);
}

#endif
