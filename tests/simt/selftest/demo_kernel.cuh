/* SPDX-License-Identifier: Apache-2.0 */
/* The demo kernel with its seeded defects: plain CUDA C++, a test of what the executors can see.
 *
 * DEFECT 0 is right; each other number breaks one thing that a real kernel might get wrong, and
 * selftest/defects.sh shows that some mode reports it. Do not tidy the defects away. */
#ifndef LP_TESTS_SIMT_DEMO_KERNEL_CUH
#define LP_TESTS_SIMT_DEMO_KERNEL_CUH

#include "cuda/gpu_port.h"
#include "demo_format.hpp"

namespace demo {

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int WARPS = 4;

enum Defect {
    RIGHT = 0,
    DIVERGENT_COLLECTIVE = 1,   /* a shuffle in a branch that only some lanes take */
    MASK_WITHOUT_CALLER = 2,    /* lane 0 is not in the mask it gives */
    MISALIGNED_ASYNC = 3,       /* cp.async target 4 bytes off */
    UNINITIALISED_SHARED = 4,   /* the block's counter is never set */
    NO_ASYNC_WAIT = 5,          /* reads before the copy has landed */
    NO_SYNC_AFTER_WAIT = 6,     /* other lanes' copies are not visible yet */
    SOURCE_OUTSIDE_MASK = 7,    /* half the warp reads a lane of the other half */
    STORE_PAST_END = 8,         /* the last tile writes 128 bits where less is left */
    MISALIGNED_STORE = 9,       /* a 128-bit store 4 bytes off */
    PLAIN_COUNTER = 10,         /* warps race on one word without an atomic */
    NO_SYNC_BEFORE_REUSE = 11,  /* the next stage overwrites what slower lanes still read */
    EARLY_EXIT = 12,            /* half a warp leaves, the rest goes on with a full mask */
    TWO_BARRIERS = 13,          /* warps of one block at different __syncthreads */
    NO_BARRIER_BEFORE_TOTAL = 14 /* the total is read before all warps have added to it */
};

struct alignas(16) Stage {
    uint32_t words[2][MAX_TILE_WORDS];
};

struct Smem {
    Stage warp[WARPS];
    uint32_t escapes;
};

template <int DEFECT>
__device__ __forceinline__ uint32_t inclusive_scan(uint32_t v, uint32_t lane)
{
#pragma unroll
    for (uint32_t d = 1; d < 32; d <<= 1) {
        if (DEFECT == DIVERGENT_COLLECTIVE) {
            if (lane >= d) {
                v += __shfl_up_sync(ALL_LANES, v, d);
            }
            continue;
        }
        const unsigned mask = DEFECT == MASK_WITHOUT_CALLER ? ALL_LANES << 1 : ALL_LANES;
        const uint32_t below = __shfl_up_sync(mask, v, d);
        if (lane >= d) {
            v += below;
        }
    }
    return v;
}

__device__ __forceinline__ uint32_t take_bits(const uint32_t *w, uint32_t bit, uint32_t length)
{
    const uint32_t low = __funnelshift_r(w[bit >> 5], w[(bit >> 5) + 1], bit & 31);
    return low & ((1u << length) - 1u);
}

template <int DEFECT>
__device__ __forceinline__ void stage_tile(uint32_t *dst, const uint32_t *words,
                                           const uint32_t *offsets, uint32_t tile, uint32_t lane)
{
    const uint32_t first = __ldg(offsets + tile), n = __ldg(offsets + tile + 1) - first;
    const uint32_t off = DEFECT == MISALIGNED_ASYNC ? 1 : 0;
    for (uint32_t i = lane; i < n; i += 32) {
        __pipeline_memcpy_async(dst + 4 * i + off, words + 4ull * (first + i), 16);
    }
}

template <int DEFECT>
__device__ __forceinline__ void store_values(uint32_t *out, uint32_t at, uint32_t n,
                                             const uint32_t x[4])
{
    if (DEFECT == STORE_PAST_END || at + 4u <= n) {
        uint32_t *to = out + at + (DEFECT == MISALIGNED_STORE ? 1 : 0);
        *reinterpret_cast<uint4 *>(to) = make_uint4(x[0], x[1], x[2], x[3]);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (at + k < n) {
            out[at + k] = x[k];
        }
    }
}

/* Decode the staged tile; each lane gets four neighbouring values. Returns the tile's escapes. */
template <int DEFECT>
__device__ __forceinline__ uint32_t unpack_tile(const uint32_t *w, uint32_t lane, uint32_t x[4])
{
    const uint32_t nibbles = w[lane >> 1] >> ((lane & 1u) * 16u);
    uint32_t length[4], escape_at[4], sum = 0, escapes = 0;

#pragma unroll
    for (int k = 0; k < 4; k++) {
        length[k] = nibbles >> (4 * k) & 15u;
        const bool escape = length[k] == ESCAPE;
        const unsigned who = __ballot_sync(ALL_LANES, escape);
        escape_at[k] = escapes + (uint32_t)__popc(who & ((1u << lane) - 1u));
        escapes += (uint32_t)__popc(who);
        sum += escape ? 0u : length[k];
    }
    const uint32_t upto = inclusive_scan<DEFECT>(sum, lane);
    const uint32_t total =
        __shfl_sync(DEFECT == SOURCE_OUTSIDE_MASK ? 0x0000ffffu : ALL_LANES, upto, 31);
    const uint32_t *escaped = w + HEAD_WORDS + ((total + 31u) >> 5);
    uint32_t bit = upto - sum;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const bool escape = length[k] == ESCAPE;
        x[k] = escape ? escaped[escape_at[k]] : take_bits(w + HEAD_WORDS, bit, length[k]);
        bit += escape ? 0u : length[k];
    }
    return escapes;
}

template <int DEFECT> __device__ __forceinline__ void add_total(uint32_t *count, const Smem &sm)
{
    if (DEFECT == TWO_BARRIERS) {
        if (threadIdx.x < 32) {
            __syncthreads();
        } else {
            __syncthreads();
        }
    } else if (DEFECT != NO_BARRIER_BEFORE_TOTAL) {
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(count, sm.escapes);
    }
}

/* One warp per tile, grid-stride, the next tile in flight while this one is decoded. */
template <int DEFECT>
__device__ __forceinline__ void unpack_body(const uint32_t *__restrict__ words,
                                            const uint32_t *__restrict__ offsets,
                                            uint32_t *__restrict__ out, uint32_t n,
                                            uint32_t *__restrict__ escape_count)
{
    LP_SHARED(Smem, sm);
    const uint32_t lane = threadIdx.x & 31u, warp = threadIdx.x >> 5;
    const uint32_t tiles = (n + TILE - 1) / TILE, step = gridDim.x * WARPS;
    Stage &stage = sm.warp[warp];
    uint32_t tile = blockIdx.x * WARPS + warp, current = 0;

    if (DEFECT != UNINITIALISED_SHARED && threadIdx.x == 0) {
        sm.escapes = 0;
    }
    __syncthreads();
    if (tile < tiles) {
        stage_tile<DEFECT>(stage.words[0], words, offsets, tile, lane);
    }
    __pipeline_commit();
    for (; tile < tiles; tile += step, current ^= 1u) {
        if (tile + step < tiles) {
            stage_tile<DEFECT>(stage.words[current ^ 1u], words, offsets, tile + step, lane);
        }
        __pipeline_commit();
        if (DEFECT != NO_ASYNC_WAIT) {
            __pipeline_wait_prior(1);
        }
        if (DEFECT != NO_SYNC_AFTER_WAIT) {
            __syncwarp();
        }
        uint32_t x[4];
        const uint32_t escapes = unpack_tile<DEFECT>(stage.words[current], lane, x);
        store_values<DEFECT>(out, tile * TILE + lane * 4u, n, x);
        if (DEFECT == PLAIN_COUNTER) {
            if (lane == 0) {
                sm.escapes += escapes;
            }
        } else if (lane == 0) {
            atomicAdd(&sm.escapes, escapes);
        }
        if (DEFECT != NO_SYNC_BEFORE_REUSE) {
            __syncwarp();
        }
        if (DEFECT == EARLY_EXIT && lane >= 16) {
            return;
        }
    }
    __pipeline_wait_prior(0);
    add_total<DEFECT>(escape_count, sm);
}

template <int DEFECT>
__global__ void __launch_bounds__(WARPS * 32)
unpack_kernel(const uint32_t *words, const uint32_t *offsets, uint32_t *out, uint32_t n,
              uint32_t *escape_count)
{
    unpack_body<DEFECT>(words, offsets, out, n, escape_count);
}

} /* namespace demo */

#endif
