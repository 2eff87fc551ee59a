/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting a record block by block, the same for every vector tier.
 *
 * A tier includes this once, after it has defined LP_LANE_SPLIT_BLOCK, the elements of a block, and
 * split_block(dtype, src, dst, n, i, upper): bytes of other bits of elements [i, i + block) of n to
 * their arrays in dst; exponents, or for dtypes with planes upper bytes, to upper. */
#ifndef LP_CODEC_LANE_SPLIT_H
#define LP_CODEC_LANE_SPLIT_H

/* As when decoding: blocks may overlap, and a short record goes through buffers. Its arrays are
 * written in rising order, so that what a block writes behind its array is overwritten. */
static LP_ALWAYS_INLINE void split_of(const uint32_t dtype, const uint32_t elem_bytes,
                                      const uint8_t *src, uint32_t n, uint8_t *dst, uint8_t *upper)
{
    uint8_t block[LP_LANE_SPLIT_BLOCK * 4] = {0}, arrays[LP_LANE_SPLIT_BLOCK * 4];
    uint32_t i = 0;

    if (n < LP_LANE_SPLIT_BLOCK) {
        memcpy(block, src, (size_t)n * elem_bytes);
        split_block(dtype, block, arrays, n, 0, upper);
        memcpy(dst, arrays, (size_t)n * (elem_bytes - 1));
        return;
    }
    for (; i + LP_LANE_SPLIT_BLOCK <= n; i += LP_LANE_SPLIT_BLOCK)
        split_block(dtype, src + (size_t)i * elem_bytes, dst, n, i, upper + i);
    if (i < n) {
        i = n - LP_LANE_SPLIT_BLOCK;
        split_block(dtype, src + (size_t)i * elem_bytes, dst, n, i, upper + i);
    }
}

static void split(uint32_t dtype, const uint8_t *src, uint32_t n, uint8_t *dst, uint8_t *upper)
{
    switch (dtype) {
    case LP_DTYPE_BF16:
        split_of(LP_DTYPE_BF16, 2, src, n, dst, upper);
        break;
    case LP_DTYPE_F32:
        split_of(LP_DTYPE_F32, 4, src, n, dst, upper);
        break;
    case LP_DTYPE_F16:
        split_of(LP_DTYPE_F16, 2, src, n, dst, upper);
        break;
    default:
        split_of(LP_DTYPE_F8_E4M3, 1, src, n, dst, upper);
    }
}

#endif
