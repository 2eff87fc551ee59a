/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions: one warp decodes one coded dict record (docs/FORMAT.md, section 7).
 *
 * In each step a warp decodes 256 elements, a lane eight neighbours. A lane takes its eight bits of
 * each plane and transposes them: eight codes in eight bytes. Which of its elements have no code
 * yet is a word of eight nibbles; their codes in the next level are taken from there on in the same
 * way, and a byte permute by rank puts them where they belong. In the end each element has a code
 * and its level, which together are the index of its value; those that no level has coded follow
 * as they are.
 *
 * Nothing of a level is known to the compiler, and five levels with their places would fill the
 * registers: lane k of the warp keeps what there is to know of level k. */
#ifndef LP_CUDA_DICT_DEV_CUH
#define LP_CUDA_DICT_DEV_CUH

#include "cuda/decode_dev.cuh"

#define LP_DICT_STEP 256u
#define LP_DICT_WIDTH_MAX 8u

struct lp_dict_state {
    lp_gpu_words string;
    const unsigned char *bytes; /* the record */
    unsigned char *scratch;     /* of the warp, LP_GATHER_SCRATCH_DICT_BYTES */
    uint32_t lane;
    uint32_t bit, count; /* lane k: of level k; behind the last level, raw elements */
    uint32_t done;       /* lane k: codes of the steps before in level k */
    uint32_t raw_byte;   /* first raw element */
    uint32_t most;       /* largest index of this lane's values so far */
};

/* Where a level stands, once its end is known to lie within the record. */
LP_DEVICE void lp_dict_set_level(lp_dict_state &s, uint32_t level, uint32_t bit, uint32_t count)
{
    if (s.lane == level) {
        s.bit = bit;
        s.count = count;
    }
}

/* record.elements elements, whose codes begin with bit first_bit of the record. False: the record
 * breaks the format, but for codes without a value. */
template <uint32_t ELEM>
LP_DEVICE bool lp_dict_begin(lp_dict_state &s, const lp_gpu_record &record,
                             const lp_gather_table &table, uint32_t first_bit)
{
    uint32_t bit = first_bit, count = record.elements, widths = table.dict.widths;

    s.string = lp_gpu_shared_words(record.bytes);
    s.bytes = record.bytes;
    s.scratch = record.scratch;
    s.lane = record.lane;
    s.bit = 0;
    s.count = 0;
    s.done = 0;
    s.most = 0;
    for (uint32_t k = 0; k < table.dict.n_levels; k++) {
        const uint32_t width = widths & 15, end = bit + width * count;

        if (end > 8 * record.stored_bytes)
            return false;
        lp_dict_set_level(s, k, bit, count);
        count = lp_gpu_count_zeros(s.string, bit, width, count, record.lane);
        bit = end;
        widths >>= 4;
    }
    s.raw_byte = (bit + 7) / 8;
    const uint32_t size = s.raw_byte + count * ELEM;
    if (size > record.stored_bytes || record.stored_bytes - size >= table.align_bytes)
        return false;
    if ((bit & 7) != 0 && record.bytes[bit >> 3] >> (bit & 7) != 0)
        return false;
    return lp_gpu_zero_bytes(record.bytes, size, record.stored_bytes, record.lane);
}

/* The codes of eight elements: code and level as bytes of each, both 0 where no level has coded
 * it. Those are left in pending, a one in the nibble of each. */
struct lp_dict_codes {
    uint32_t code[2], level[2];
    uint32_t pending;
};

/* Codes go to the elements that wait for them, in order; those that get 0 go on waiting. ret_coded
 * gets bytes of 1 where one has got a code. */
LP_DEVICE void lp_dict_place_codes(lp_dict_codes &to, const uint32_t codes[2],
                                   uint32_t ret_coded[2])
{
    const uint32_t ranks = lp_gpu_nibble_ranks(to.pending);

#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t placed = lp_gpu_permute(codes[0], codes[1], ranks >> (16 * i)) &
                                lp_gpu_byte_mask(to.pending >> (16 * i));

        to.code[i] |= placed;
        ret_coded[i] = (((placed & 0x7f7f7f7fu) + 0x7f7f7f7fu) | placed) >> 7 & 0x01010101u;
    }
    to.pending &= ~lp_gpu_nibbles_of_bytes(ret_coded);
}

/* One level's. */
LP_DEVICE void lp_dict_place_level(lp_dict_codes &to, const uint32_t codes[2], uint32_t level)
{
    uint32_t coded[2];

    lp_dict_place_codes(to, codes, coded);
    to.level[0] |= coded[0] * level;
    to.level[1] |= coded[1] * level;
}

/* The other levels of 32 elements at most, which wait from that level on: a lane each, whatever
 * lane they belong to. Returns level << 8 | code of the lane's, or 0; total becomes how many of
 * them no level has coded. */
LP_DEVICE uint32_t lp_dict_look_at_few(lp_dict_state &s, const lp_gather_table &table,
                                       uint32_t level, uint32_t widths, uint32_t &total)
{
    const uint32_t below = (1u << s.lane) - 1;
    uint32_t rank = __shfl_sync(0xffffffffu, s.done, (int)level - 1) - total + s.lane, index = 0;
    bool waits = s.lane < total;

    for (uint32_t k = level; k < table.dict.n_levels && total != 0; k++) {
        const uint32_t step = __shfl_sync(0xffffffffu, s.count, (int)k), width = widths & 15;
        uint32_t at = __shfl_sync(0xffffffffu, s.bit, (int)k) + (waits ? rank : 0) + width * step;
        uint32_t code = 0;

        for (uint32_t plane = width; plane > 0; plane--) {
            at -= step;
            code = lp_gpu_mad<2>(code, lp_gpu_window(s.string, at) & 1);
        }
        index = waits && code != 0 ? k << 8 | code : index;
        waits = waits && code == 0;
        widths >>= 4;

        const uint32_t left = __ballot_sync(0xffffffffu, waits);
        total = (uint32_t)__popc(left);
        rank = __shfl_sync(0xffffffffu, s.done, (int)k) + (uint32_t)__popc(left & below);
        if (s.lane == k)
            s.done += total;
    }
    return index;
}

/* What each lane has found for one element goes to the elements that wait: a lane's are those from
 * the rank-th on. */
LP_DEVICE void lp_dict_share(const lp_dict_state &s, lp_dict_codes &to, uint32_t index,
                             uint32_t rank)
{
    const uint32_t *const w = reinterpret_cast<const uint32_t *>(s.scratch) + (rank >> 1);
    const uint32_t ranks = lp_gpu_nibble_ranks(to.pending), waited = to.pending;
    uint32_t pairs[4], codes[2], levels[2], coded[2];

    lp_gpu_as<uint16_t>(s.scratch)[s.lane] = (uint16_t)index;
    __syncwarp();
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
        pairs[i] = __funnelshift_r(w[i], w[i + 1], 16 * (rank & 1));
    __syncwarp();
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        codes[i] = __byte_perm(pairs[2 * i], pairs[2 * i + 1], 0x6420);
        levels[i] = __byte_perm(pairs[2 * i], pairs[2 * i + 1], 0x7531);
    }
    lp_dict_place_codes(to, codes, coded);
#pragma unroll
    for (uint32_t i = 0; i < 2; i++)
        to.level[i] |= lp_gpu_permute(levels[0], levels[1], ranks >> (16 * i)) &
                       lp_gpu_byte_mask(waited >> (16 * i));
}

/* The codes of eight elements from at on, of which the record has count. Returns the rank of the
 * lane's first raw element, and in any_raw whether a lane has one. */
LP_DEVICE uint32_t lp_dict_look(lp_dict_state &s, const lp_gather_table &table, uint32_t at,
                                uint32_t count, lp_dict_codes &to, bool &any_raw)
{
    uint32_t widths = table.dict.widths, rank = at, total = 1;

    to = {{0, 0}, {0, 0}, LP_NIBBLES ^ lp_gpu_nibbles_from(count)};
    for (uint32_t k = 0; k < table.dict.n_levels && total != 0;) {
        const uint32_t bit = __shfl_sync(0xffffffffu, s.bit, (int)k),
                       step = __shfl_sync(0xffffffffu, s.count, (int)k);
        uint32_t codes[2];

        lp_gpu_planes<LP_DICT_WIDTH_MAX>(codes, s.string, bit + rank, step, widths & 15);
        lp_gpu_transpose(codes);
        lp_dict_place_level(to, codes, k);
        widths >>= 4;

        uint32_t own = (uint32_t)__popc(to.pending), ends = lp_gpu_scan(own);
        total = lp_gpu_last(ends);
        rank = __shfl_sync(0xffffffffu, s.done, (int)k) + ends - own;
        if (s.lane == k)
            s.done += total;
        k++;
        if (k < table.dict.n_levels && total - 1 < 32) {
            const uint32_t index = lp_dict_look_at_few(s, table, k, widths, total);

            lp_dict_share(s, to, index, ends - own);
            own = (uint32_t)__popc(to.pending);
            ends = lp_gpu_scan(own);
            rank =
                __shfl_sync(0xffffffffu, s.done, (int)table.dict.n_levels - 1) - total + ends - own;
            break;
        }
    }
    any_raw = total != 0;
    return rank;
}

/* The raw elements, from the rank-th on, to where a nibble of pending holds a one. What stands
 * there is what index 0 stands for: zeros. */
template <uint32_t ELEM>
LP_DEVICE void lp_dict_take_raw(const lp_dict_state &s, uint32_t pending, uint32_t rank,
                                uint32_t (&to)[2 * ELEM])
{
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        if ((pending >> (4 * i) & 1) == 0)
            continue;
        uint32_t value[2];

        lp_gpu_load_element<ELEM>(value, s.bytes, s.raw_byte + rank * ELEM);
        lp_gpu_add_element<ELEM>(to, i, value);
        rank++;
    }
}

/* Elements by what lp_dict_look() has found. */
template <uint32_t ELEM>
LP_DEVICE void lp_dict_elements(lp_dict_state &s, const lp_gather_table &table, uint32_t at,
                                uint32_t count, uint32_t (&to)[2 * ELEM])
{
    lp_dict_codes c;
    bool any_raw;
    const uint32_t rank = lp_dict_look(s, table, at, count, c, any_raw);

#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t pair =
            __byte_perm(c.code[i / 4], c.level[i / 4], i / 2 % 2 == 0 ? 0x5140 : 0x7362);
        const uint32_t index = i % 2 == 0 ? pair & 0xffff : pair >> 16;
        uint32_t value[2];

        s.most = max(s.most, index);
        lp_gpu_load_global<ELEM>(value, table.meta_dev + index * ELEM);
        lp_gpu_set_element<ELEM>(to, i, value);
    }
    if (any_raw)
        lp_dict_take_raw<ELEM>(s, c.pending, rank, to);
}

/* Every code that was seen has a value. */
LP_DEVICE bool lp_dict_end(const lp_dict_state &s, const lp_gather_table &table)
{
    return __all_sync(0xffffffffu, s.most <= table.dict.index_max);
}

/* All of the record is looked at, whatever is wanted of it: a code without a value makes all of it
 * corrupt. */
template <uint32_t ELEM>
LP_DEVICE bool lp_gpu_decode_dict(const lp_gpu_record &record, const lp_gather_table &table)
{
    const uint64_t address = reinterpret_cast<uint64_t>(record.out) - record.first * ELEM;
    const bool wide = (address & (ELEM == 1 ? 7 : 15)) == 0;
    lp_dict_state s;

    if (!lp_dict_begin<ELEM>(s, record, table, 0))
        return false;
    for (uint32_t step = 0; step < record.elements; step += LP_DICT_STEP) {
        const uint32_t at = min(step + 8 * record.lane, record.elements);
        const uint32_t count = min(record.elements - at, 8u);
        uint32_t w[2 * ELEM];

        lp_dict_elements<ELEM>(s, table, at, count, w);
        lp_gpu_store<ELEM>({reinterpret_cast<unsigned char *>(address + at * ELEM),
                            max(record.first, at) - at, max(min(record.last, at + 8), at) - at},
                           w, wide);
    }
    return lp_dict_end(s, table);
}

#endif
