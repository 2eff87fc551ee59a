/* SPDX-License-Identifier: Apache-2.0 */
/* Codec sparse's functions of codec/ops.h, each with a loop of its own for every size of elements.
 * Included once by a file of a tier, which has defined before
 *
 *   find_of(elem_bytes, src, n, map, values)     as sparse_find() of codec/ops.h
 *   spread_of(elem_bytes, map, n, values, dst)   as sparse_spread()
 *
 * both always inline, and elem_bytes is constant where they are called. */
#ifndef LP_CODEC_SPARSE_SIZES_H
#define LP_CODEC_SPARSE_SIZES_H

static uint32_t sparse_find(uint32_t elem_bytes, const void *src, uint32_t n, uint64_t *map,
                            void *values)
{
    switch (elem_bytes) {
    case 1:
        return find_of(1, src, n, map, values);
    case 2:
        return find_of(2, src, n, map, values);
    case 4:
        return find_of(4, src, n, map, values);
    default:
        return find_of(8, src, n, map, values);
    }
}

static void sparse_spread(uint32_t elem_bytes, const uint64_t *map, uint32_t n, const void *values,
                          void *dst)
{
    switch (elem_bytes) {
    case 1:
        spread_of(1, map, n, values, dst);
        break;
    case 2:
        spread_of(2, map, n, values, dst);
        break;
    case 4:
        spread_of(4, map, n, values, dst);
        break;
    default:
        spread_of(8, map, n, values, dst);
    }
}

#endif
