/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions: one warp decodes one record that lies in shared memory. Codec raw and ibp; lane
 * is in lane_dev.cuh. Source: docs/FORMAT.md, section 4.
 *
 * Each decoder gets a lp_gpu_record and returns false when the record breaks the format; what it
 * has stored by then is unspecified, but never outside of the record's own rows. All 32 lanes call,
 * and all get the same answer. */
#ifndef LP_CUDA_DECODE_DEV_CUH
#define LP_CUDA_DECODE_DEV_CUH

#include "cuda/bits_dev.cuh"
#include "cuda/gather_args.h"

/* A record that has arrived, and what is wanted of it. */
struct lp_gpu_record {
    const unsigned char *bytes; /* in shared memory, LP_GATHER_SLACK_BYTES readable behind */
    uint32_t stored_bytes;
    uint32_t elements;    /* of the whole record */
    uint32_t first, last; /* elements [first, last) go out ... */
    unsigned char *out;   /* ... to here, without gaps; on a border of an element's size */
    uint32_t lane;
    unsigned char *scratch; /* of shared memory, the warp's own: as much as the codec asked for */
    uint32_t columns;       /* of element 0: its group << 16, and where in the period it stands */
    uint32_t turn;          /* the first element of the next group */
};

/* bytes [first, last) of a run that lies in shared memory go to out. Byte by byte, but for whole
 * words. */
LP_DEVICE void lp_gpu_copy_out(const unsigned char *from, unsigned char *out, uint32_t n_bytes,
                               uint32_t lane)
{
    const uint32_t shift = 8 * (uint32_t)(reinterpret_cast<uintptr_t>(from) & 3);
    const uint32_t *const words = reinterpret_cast<const uint32_t *>(from - shift / 8);
    uint32_t done = 0;

    if ((reinterpret_cast<uintptr_t>(from) & 15) == 0 &&
        (reinterpret_cast<uintptr_t>(out) & 15) == 0) {
        for (done = 0; done + 16 * 32 <= n_bytes; done += 16 * 32)
            lp_gpu_as<uint4>(out + done)[lane] = reinterpret_cast<const uint4 *>(from + done)[lane];
    }
    if ((reinterpret_cast<uintptr_t>(out) & 3) == 0) {
        const uint32_t n_words = n_bytes / 4;

        for (uint32_t i = done / 4 + lane; i < n_words; i += 32)
            lp_gpu_as<uint32_t>(out)[i] = __funnelshift_r(words[i], words[i + 1], shift);
        done = 4 * n_words;
    }
    for (uint32_t i = done + lane; i < n_bytes; i += 32)
        out[i] = from[i];
}

/* Elements as they are. */
LP_DEVICE void lp_gpu_copy_record(const lp_gpu_record &record, uint32_t elem_bytes)
{
    lp_gpu_copy_out(record.bytes + record.first * elem_bytes, record.out,
                    (record.last - record.first) * elem_bytes, record.lane);
}

/* Bytes [begin, end) are zero; fewer than 32 of them. */
LP_DEVICE bool lp_gpu_zero_bytes(const unsigned char *bytes, uint32_t begin, uint32_t end,
                                 uint32_t lane)
{
    const uint32_t at = begin + lane;

    return __all_sync(0xffffffffu, at >= end || bytes[at] == 0);
}

LP_DEVICE uint32_t lp_gpu_round_up(uint32_t bytes, uint32_t align)
{
    return (bytes + align - 1) & ~(align - 1);
}

/* --- ibp ------------------------------------------------------------------------------------- */

/* The bits of a packed part go back to where the mask left them: Hacker's Delight, section 7-5,
 * with the steps' masks made on the host. */
LP_DEVICE uint32_t lp_gpu_open_gaps(uint32_t bits, const uint4 &low, const uint4 &high)
{
    bits = lp_gpu_select(high.w, bits << 16, bits);
    bits = lp_gpu_select(high.z, bits << 8, bits);
    bits = lp_gpu_select(high.y, bits << 4, bits);
    bits = lp_gpu_select(high.x, bits << 2, bits);
    bits = lp_gpu_select(low.w, bits << 1, bits);
    return (bits & low.y) | low.x;
}

/* What must hold behind the last bit of the string: zeros to the end of the word and of the record.
 */
LP_DEVICE bool lp_gpu_ibp_tail(const lp_gpu_record &record, const lp_gather_table &table,
                               uint32_t head_used, uint32_t head_bytes, uint32_t n_words,
                               uint32_t n_bits)
{
    const uint32_t word_bits = 8 * table.ibp_word_bytes, flip = table.ibp_word_bytes / 8;
    const uint32_t words_bytes = (n_bits + word_bits - 1) / word_bits * table.ibp_word_bytes;
    const uint32_t size = head_bytes + words_bytes;
    const uint32_t *const string = reinterpret_cast<const uint32_t *>(record.bytes + head_bytes);
    const uint32_t end = 8 * words_bytes;
    uint32_t rest = 0;

    if (lp_gpu_round_up(size, table.align_bytes) != record.stored_bytes)
        return false;
    if (n_bits < end) {
        const uint32_t left = end - n_bits; /* of the last word, so 1 to 63 */

        rest = left > 32
                   ? lp_gpu_top_bits(string, n_bits, flip) | lp_gpu_top_bits(string, end - 32, flip)
                   : __funnelshift_lc(0u, lp_gpu_top_bits(string, end - 32, flip), 32 - left);
    }
    if (n_words % 8 != 0)
        rest |= (uint32_t)record.bytes[n_words / 8] >> (n_words % 8);
    return rest == 0 && lp_gpu_zero_bytes(record.bytes, head_used, head_bytes, record.lane) &&
           lp_gpu_zero_bytes(record.bytes, size, record.stored_bytes, record.lane);
}

/* 32 parts of 4 bytes at a time, a lane each. wanted: parts [first, last) of the record. */
LP_DEVICE bool lp_gpu_decode_ibp(const lp_gpu_record &record, const lp_gather_table &table)
{
    const uint32_t flip = table.ibp_word_bytes / 8; /* 1 where words have two parts */
    const uint32_t n_parts = record.elements * table.elem_bytes / 4, n_words = n_parts >> flip;
    const uint32_t head_used = (n_words + 7) / 8 + (table.ibp_groups > 0);
    const uint32_t head_bytes = lp_gpu_round_up(head_used, table.ibp_word_bytes);
    const uint32_t *const head = reinterpret_cast<const uint32_t *>(record.bytes);
    const uint32_t *const string = reinterpret_cast<const uint32_t *>(record.bytes + head_bytes);
    const uint32_t limit = 8 * (record.stored_bytes - head_bytes);
    const uint32_t first_byte = record.first * table.elem_bytes,
                   last_byte = record.last * table.elem_bytes;
    const uint4 *parts = reinterpret_cast<const uint4 *>(table.meta_dev);
    const bool words =
        ((reinterpret_cast<uintptr_t>(record.out) | first_byte | last_byte) & 3) == 0;
    uint32_t used = 0;

    if (record.elements * table.elem_bytes % table.ibp_word_bytes != 0 ||
        n_parts > table.ibp_parts || head_bytes > record.stored_bytes)
        return false;
    if (table.ibp_groups > 0) {
        const uint32_t group = record.bytes[head_used - 1];

        if (group >= table.ibp_groups)
            return false;
        parts += 2 * (size_t)group * table.ibp_parts;
    }
    for (uint32_t step = 0; step < n_parts; step += 32) {
        const uint32_t part = step + record.lane, at = min(part, n_parts - 1), word = at >> flip;
        const uint4 low = __ldg(parts + 2 * at), high = __ldg(parts + 2 * at + 1);
        const bool packed = (head[word >> 5] >> (word & 31) & 1) != 0;
        const uint32_t n = part < n_parts ? (packed ? low.z : 32) : 0;
        const uint32_t sum = lp_gpu_scan(n), total = lp_gpu_last(sum);
        uint32_t bits;

        if (used + total > limit)
            return false;
        bits = lp_gpu_top_bits(string, used + sum - n, flip);
        if (packed)
            bits = lp_gpu_open_gaps(__funnelshift_rc(bits, 0u, 32 - n), low, high);
        used += total;

        const uint32_t byte = 4 * (at ^ flip);
        if (words) {
            if (part < n_parts && byte >= first_byte && byte < last_byte)
                *lp_gpu_as<uint32_t>(record.out + (byte - first_byte)) = bits;
        } else if (part < n_parts) {
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
                if (byte + i >= first_byte && byte + i < last_byte)
                    record.out[byte + i - first_byte] = (unsigned char)(bits >> (8 * i));
        }
    }
    return lp_gpu_ibp_tail(record, table, head_used, head_bytes, n_words, used);
}

#endif
