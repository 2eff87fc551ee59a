/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions: one warp decodes one coded sparse record (docs/FORMAT.md, section 8).
 *
 * The output is zeroed, then the values go to their places. Places come from 256 bits of the map,
 * or of the list's upper bits, at a time, a byte for each lane: prefix sums say which of the
 * record's places a lane's set bits are, and the lane writes them into a ring in shared memory.
 * There the values, 256 at a time, find theirs. */
#ifndef LP_CUDA_SPARSE_DEV_CUH
#define LP_CUDA_SPARSE_DEV_CUH

#include "cuda/dict_dev.cuh"
#include "cuda/lane_dev.cuh"

#define LP_SPARSE_STEP 256u
/* Places that are kept: those of a step of values, and what one pass over the bits may find beyond
 * its end. */
#define LP_SPARSE_RING (2 * LP_SPARSE_STEP)
static_assert(LP_SPARSE_RING * sizeof(uint16_t) + LP_GATHER_SCRATCH_DICT_BYTES ==
                  LP_GATHER_SCRATCH_SPARSE_BYTES,
              "the ring lies behind what codec dict uses");

struct lp_sparse_places {
    lp_gpu_words string;
    uint16_t *ring; /* place i at i % LP_SPARSE_RING */
    uint32_t lane;
    uint32_t elements, count;        /* of the record; not zero among them */
    uint32_t low_bits;               /* of a place in the list; 0: there is a map */
    uint32_t upper_begin, upper_end; /* bits: of the upper parts, or of the map */
    uint32_t upper_bit;              /* the next one to look at */
    uint32_t found;                  /* places so far, from the bits before that */
};

/* From a record's head to its places; *ret_end is the byte behind them. */
LP_DEVICE void lp_sparse_find_places(lp_sparse_places &p, const lp_gpu_record &record,
                                     uint32_t count, uint32_t &ret_end)
{
    const uint32_t n = record.elements;
    uint32_t low_bits = (uint32_t)(__clz((int)count) - __clz((int)n)), begin = 16, bits = n;

    low_bits -= count << low_bits > n ? 1 : 0;
    const uint32_t upper_bits = count + ((n - 1) >> low_bits);
    const bool list = count * low_bits + upper_bits < n;
    if (list) {
        begin += count * low_bits;
        bits = upper_bits;
    }
    p.string = lp_gpu_shared_words(record.bytes);
    p.ring = reinterpret_cast<uint16_t *>(record.scratch + LP_GATHER_SCRATCH_DICT_BYTES);
    p.lane = record.lane;
    p.elements = n;
    p.count = count;
    p.low_bits = list ? low_bits : 0;
    p.upper_begin = begin;
    p.upper_bit = begin;
    p.upper_end = begin + bits;
    p.found = 0;
    ret_end = (p.upper_end + 7) / 8;
}

/* Do places from the first-th on rise, and stay within the record? What a map has does. */
LP_DEVICE bool lp_sparse_places_rise(const lp_sparse_places &p, uint32_t first, uint32_t end)
{
    bool good = true;

    for (uint32_t i = first + p.lane; i < end; i += 32) {
        const uint32_t place = p.ring[i % LP_SPARSE_RING];

        good = good && place < p.elements && (i == 0 || p.ring[(i - 1) % LP_SPARSE_RING] < place);
    }
    return good;
}

/* The places of the next 256 bits. False: there are more than the record's head says, or they do
 * not rise: two lanes would write one place. */
LP_DEVICE bool lp_sparse_next_places(lp_sparse_places &p)
{
    const uint32_t at = min(p.upper_bit + 8 * p.lane, p.upper_end),
                   left = min(p.upper_end - at, 8u);
    uint32_t bits = lp_gpu_window(p.string, at) & ~(0xffffffffu << left);
    const uint32_t own = (uint32_t)__popc(bits), ends = lp_gpu_scan(own), total = lp_gpu_last(ends),
                   first = p.found;
    uint32_t rank = first + ends - own;

    if (first + total > p.count)
        return false;
    while (bits != 0) {
        uint32_t place = at - p.upper_begin + (uint32_t)__ffs((int)bits) - 1;

        if (p.low_bits != 0)
            place =
                (place - rank) << p.low_bits |
                (lp_gpu_window(p.string, 16 + rank * p.low_bits) & ~(0xffffffffu << p.low_bits));
        p.ring[rank % LP_SPARSE_RING] = (uint16_t)place;
        bits &= bits - 1;
        rank++;
    }
    p.found = first + total;
    p.upper_bit = min(p.upper_bit + LP_SPARSE_STEP, p.upper_end);
    __syncwarp();
    if (p.low_bits != 0 && !__all_sync(0xffffffffu, lp_sparse_places_rise(p, first, p.found)))
        return false;
    __syncwarp();
    return true;
}

/* The value at a place, where it is wanted. A place may be anywhere: what it means is said later.
 */
template <uint32_t ELEM>
LP_DEVICE void lp_sparse_put(const lp_gpu_record &record, uint32_t place, const uint32_t value[2])
{
    unsigned char *const to = record.out + (place - record.first) * ELEM;

    if (place < record.first || place >= record.last)
        return;
    if (ELEM == 1)
        *to = (unsigned char)value[0];
    else if (ELEM == 2)
        *lp_gpu_as<uint16_t>(to) = (uint16_t)value[0];
    else if (ELEM == 4)
        *lp_gpu_as<uint32_t>(to) = value[0];
    else
        *lp_gpu_as<uint2>(to) = make_uint2(value[0], value[1]);
}

/* The places of eight neighbours of the values, from the at-th on, a multiple of eight or the end
 * of a step: those behind the end are of no use. */
LP_DEVICE void lp_sparse_eight_places(uint32_t (&ret)[8], const lp_sparse_places &p, uint32_t at)
{
    const uint4 four = *reinterpret_cast<const uint4 *>(p.ring + (at & ~7u) % LP_SPARSE_RING);
    const uint32_t pairs[4] = {four.x, four.y, four.z, four.w};

#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
        ret[i] = i % 2 == 0 ? pairs[i / 2] & 0xffff : pairs[i / 2] >> 16;
}

/* Eight neighbours of the values, from the at-th on, count of them, go to their places. */
template <uint32_t ELEM>
LP_DEVICE void lp_sparse_put_eight(const lp_gpu_record &record, const lp_sparse_places &p,
                                   uint32_t at, uint32_t count, const uint32_t (&values)[2 * ELEM])
{
    uint32_t places[8];

    lp_sparse_eight_places(places, p, at);
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t value[2];

        lp_gpu_get_element<ELEM>(value, values, i);
        if (i < count)
            lp_sparse_put<ELEM>(record, places[i], value);
    }
}

/* --- values, in the four ways that they are kept ---------------------------------------------- */

/* Each has put(): the values from the first-th up to the end-th go to their places. */
template <uint32_t ELEM> struct lp_sparse_one {
    LP_DEVICE void put(lp_sparse_one &v, const lp_gpu_record &record, const lp_gather_table &,
                       const lp_sparse_places &p, uint32_t first, uint32_t end)
    {
        for (uint32_t i = first + p.lane; i < end; i += 32)
            lp_sparse_put<ELEM>(record, p.ring[i % LP_SPARSE_RING], v.value);
    }
    uint32_t value[2];
};

/* As they are, on any border of a byte. */
template <uint32_t ELEM> struct lp_sparse_plain {
    LP_DEVICE void put(lp_sparse_plain &v, const lp_gpu_record &record, const lp_gather_table &,
                       const lp_sparse_places &p, uint32_t first, uint32_t end)
    {
        for (uint32_t i = first + p.lane; i < end; i += 32) {
            uint32_t value[2];

            lp_gpu_load_element<ELEM>(value, record.bytes, v.begin + i * ELEM);
            lp_sparse_put<ELEM>(record, p.ring[i % LP_SPARSE_RING], value);
        }
    }
    uint32_t begin; /* byte of the first one */
};

template <uint32_t ELEM> struct lp_sparse_lane {
    using split = lp_lane_any_split<ELEM>;

    LP_DEVICE void put(lp_sparse_lane &v, const lp_gpu_record &record, const lp_gather_table &table,
                       const lp_sparse_places &p, uint32_t first, uint32_t end)
    {
        const uint32_t at = min(first + 8 * p.lane, end), count = min(end - at, 8u);
        uint32_t w[2 * ELEM];

        lp_lane_elements<false, false, false, lp_lane_any_widths>(v.state, v.inner, table,
                                                                  v.planes_bit, at, count, w);
        lp_sparse_put_eight<ELEM>(record, p, at, count, w);
    }
    lp_lane_state<split> state;
    lp_gpu_record inner;
    uint32_t planes_bit;
};

template <uint32_t ELEM> struct lp_sparse_dict {
    LP_DEVICE void put(lp_sparse_dict &v, const lp_gpu_record &record, const lp_gather_table &table,
                       const lp_sparse_places &p, uint32_t first, uint32_t end)
    {
        const uint32_t at = min(first + 8 * p.lane, end), count = min(end - at, 8u);
        uint32_t w[2 * ELEM];

        lp_dict_elements<ELEM>(v.state, table, at, count, w);
        lp_sparse_put_eight<ELEM>(record, p, at, count, w);
    }
    lp_dict_state state;
};

/* Places and values, step by step. The bits must hold as many places as the head says, and no
 * more. */
template <class Values>
LP_DEVICE bool lp_sparse_put_all(Values &values, lp_sparse_places &p, const lp_gpu_record &record,
                                 const lp_gather_table &table)
{
    for (uint32_t first = 0; first < p.count; first += LP_SPARSE_STEP) {
        const uint32_t end = min(first + LP_SPARSE_STEP, p.count);

        while (p.found < end)
            if (p.upper_bit >= p.upper_end || !lp_sparse_next_places(p))
                return false;
        Values::put(values, record, table, p, first, end);
        __syncwarp();
    }
    while (p.upper_bit < p.upper_end)
        if (!lp_sparse_next_places(p))
            return false;
    return true;
}

/* --- a record --------------------------------------------------------------------------------- */

/* What follows byte end moves up to the next border of a word. Backwards: what a pass reads is
 * written by later ones only. */
LP_DEVICE void lp_sparse_align(unsigned char *bytes, uint32_t end, uint32_t stored_bytes,
                               uint32_t lane)
{
    uint32_t *const words = reinterpret_cast<uint32_t *>(bytes) + end / 4;
    const uint32_t shift = 8 * (end & 3), n_words = (stored_bytes - end + 3) / 4;

    if (shift == 0)
        return;
    for (uint32_t left = lp_gpu_round_up(n_words, 32); left > 0; left -= 32) {
        const uint32_t i = left - 32 + lane;
        const uint32_t word = __funnelshift_r(words[i], words[i + 1], shift);

        __syncwarp();
        words[i + 1] = word;
        __syncwarp();
    }
}

template <uint32_t ELEM>
LP_DEVICE bool lp_sparse_lane_values(lp_sparse_places &p, const lp_gpu_record &record,
                                     const lp_gather_table &table, uint32_t end)
{
    const uint32_t begin = lp_gpu_round_up(end, 4);
    lp_sparse_lane<ELEM> values;

    lp_sparse_align(const_cast<unsigned char *>(record.bytes), end, record.stored_bytes,
                    record.lane);
    values.inner = record;
    values.inner.bytes = record.bytes + begin;
    values.inner.stored_bytes = record.stored_bytes - end;
    values.inner.elements = p.count;
    if (!lp_lane_begin<false, lp_lane_any_widths>(values.state, values.inner, table) ||
        !lp_lane_end<true>(values.state, values.inner, table))
        return false;
    values.planes_bit = values.state.bit[0] - table.split.planes * p.count;
    return lp_sparse_put_all(values, p, record, table);
}

template <uint32_t ELEM>
LP_DEVICE bool lp_sparse_dict_values(lp_sparse_places &p, const lp_gpu_record &record,
                                     const lp_gather_table &table, uint32_t end)
{
    lp_sparse_dict<ELEM> values;
    lp_gpu_record inner = record;

    inner.elements = p.count;
    if (!lp_dict_begin<ELEM>(values.state, inner, table, 8 * end) ||
        !lp_sparse_put_all(values, p, record, table))
        return false;
    return lp_dict_end(values.state, table);
}

/* The record's bytes end with size, but for less than an alignment of zeros. */
LP_DEVICE bool lp_sparse_ends(const lp_gpu_record &record, const lp_gather_table &table,
                              uint32_t size)
{
    return size <= record.stored_bytes && record.stored_bytes - size < table.align_bytes &&
           lp_gpu_zero_bytes(record.bytes, size, record.stored_bytes, record.lane);
}

template <uint32_t ELEM>
LP_DEVICE bool lp_sparse_plain_values(lp_sparse_places &p, const lp_gpu_record &record,
                                      const lp_gather_table &table, uint32_t end)
{
    lp_sparse_plain<ELEM> values = {end};

    return lp_sparse_ends(record, table, end + p.count * ELEM) &&
           lp_sparse_put_all(values, p, record, table);
}

/* All kinds of values but counts, which have a kernel of their own (counts_dev.cuh). */
template <uint32_t ELEM> struct lp_sparse_kinds {
    LP_DEVICE bool values(lp_sparse_places &p, const lp_gpu_record &record,
                          const lp_gather_table &table, uint32_t end, uint32_t kind)
    {
        if (kind == LP_CODEC_LANE)
            return lp_sparse_lane_values<ELEM>(p, record, table, end);
        if (kind == LP_CODEC_DICT)
            return lp_sparse_dict_values<ELEM>(p, record, table, end);
        if (kind == LP_CODEC_RAW)
            return lp_sparse_plain_values<ELEM>(p, record, table, end);

        const uint64_t one = table.sparse.one;
        lp_sparse_one<ELEM> values = {{(uint32_t)one, (uint32_t)(one >> 32)}};

        return lp_sparse_ends(record, table, end) && lp_sparse_put_all(values, p, record, table);
    }
};

template <uint32_t ELEM, class Kinds>
LP_DEVICE bool lp_gpu_decode_sparse(const lp_gpu_record &record, const lp_gather_table &table)
{
    const uint32_t head = *reinterpret_cast<const uint16_t *>(record.bytes);
    const uint32_t count = head & LP_FORMAT_SPARSE_COUNT_MASK;
    const bool plain = (head & LP_FORMAT_SPARSE_PLAIN) != 0;
    lp_sparse_places p;
    uint32_t end;

    lp_gpu_zero_out(record.out, (record.last - record.first) * ELEM, record.lane);
    if (count > record.elements || (plain && (count == 0 || table.sparse.values == LP_CODEC_RAW)))
        return false;
    if (count == 0)
        return lp_sparse_ends(record, table, 2);
    lp_sparse_find_places(p, record, count, end);
    if (end > record.stored_bytes)
        return false;
    if (p.upper_end % 8 != 0 && record.bytes[end - 1] >> p.upper_end % 8 != 0)
        return false;
    __syncwarp();
    return Kinds::values(p, record, table, end,
                         plain ? (uint32_t)LP_CODEC_RAW : table.sparse.values);
}

#endif
