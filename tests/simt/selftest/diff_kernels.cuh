/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the differential test: one source, run by the fiber executor from gcc's or clang's
 * code and by the PTX executor from nvcc's. Each operation is mixed into a hash per thread. */
#ifndef LP_TESTS_SIMT_DIFF_KERNELS_CUH
#define LP_TESTS_SIMT_DIFF_KERNELS_CUH

#include "cuda/gpu_port.h"

struct Fnv { /* FNV-1a on words, enough to notice any wrong bit */
    uint32_t h = 2166136261u;

    __device__ __forceinline__ void mix(uint32_t v) { h = (h ^ v) * 16777619u; }
    __device__ __forceinline__ void mix(int32_t v) { mix((uint32_t)v); }
    __device__ __forceinline__ void mix(uint64_t v)
    {
        mix((uint32_t)v);
        mix((uint32_t)(v >> 32));
    }
    __device__ __forceinline__ void mix(float v) { mix(__float_as_uint(v)); }
};

__device__ __forceinline__ void mix_integers(Fnv &f, uint32_t a, uint32_t b, uint32_t s)
{
    const int32_t sa = (int32_t)a, sb = (int32_t)b;
    const uint64_t w = (uint64_t)a << 32 | b;

    f.mix(a + b);
    f.mix(a - b);
    f.mix((uint64_t)a * b);
    f.mix((uint64_t)((int64_t)sa * sb));
    f.mix(__umulhi(a, b));
    f.mix(__mulhi(sa, sb));
    f.mix((uint64_t)__umul64hi(w, w ^ s));
    f.mix(w * (w >> 7 | 1));
    f.mix(a << (s & 31));
    f.mix(a >> (s & 31));
    f.mix(sa >> (s & 31));
    f.mix(w << (s & 63));
    f.mix(w >> (s & 63));
    f.mix((uint64_t)((int64_t)w >> (s & 63)));
    f.mix(a / (b | 1));
    f.mix(a % (b | 1));
    f.mix(sa / (sb | 1));
    f.mix(sa % (sb | 1));
    f.mix(w / (s | 1));
    f.mix(w % (s | 1));
    f.mix(a / 10);
    f.mix(sa / 7);
    f.mix(min(a, b));
    f.mix(max(sa, sb));
    f.mix(a < b ? 1 : 0);
    f.mix(sa <= sb ? 1 : 0);
    f.mix(w > s ? 1 : 0);
    f.mix(sa < 0 ? (uint32_t)0 - a : a);
}

__device__ __forceinline__ void mix_bits(Fnv &f, uint32_t a, uint32_t b, uint32_t s)
{
    const uint64_t w = (uint64_t)a << 32 | b;

    f.mix(__popc(a));
    f.mix(__popcll(w));
    f.mix(__clz((int)(a >> (s & 31))));
    f.mix(__clzll((long long)(w >> (s & 63))));
    f.mix(__ffs((int)(a << (s & 31))));
    f.mix(__ffsll((long long)(w << (s & 63))));
    f.mix(__brev(a));
    f.mix((uint64_t)__brevll(w));
    f.mix(__byte_perm(a, b, s));
    f.mix(__byte_perm(a, b, 0x4321));
    f.mix(__byte_perm(a, 0, 0x4140));
    f.mix(__funnelshift_r(a, b, s));
    f.mix(__funnelshift_l(a, b, s));
    f.mix(__funnelshift_rc(a, b, s & 63));
    f.mix(__funnelshift_lc(a, b, s & 63));
    f.mix((uint32_t)(uint8_t)a);
    f.mix((int32_t)(int8_t)a);
    f.mix((uint32_t)(uint16_t)b);
    f.mix((int32_t)(int16_t)b);
    f.mix((uint64_t)(int64_t)(int32_t)a);
    f.mix((uint64_t)(int64_t)(int8_t)b);
    f.mix((a & 0xff0) >> 4);
    f.mix((int32_t)(a << 12) >> 20);
    f.mix((w >> 13) & 0x1fffff);
    f.mix((a & b) ^ (s | ~a));
    f.mix((a & 0x00ffff00u) | (b & 0xff0000ffu));
    f.mix((a & 0x7fu) | (s & 0x7fu) << 7 | (b & 0xffu) << 16);
    f.mix(a > b && (s & 1) ? 1 : 0);
    f.mix((a & 4) || (int32_t)b < 5 ? 1 : 0);
}

/* What pooling and casts do: sums in FP32, bf16 by bits, rounding by hand. No division: nvcc may
 * take its own way there. Operands are finite and of modest size, as NaN payloads differ. */
__device__ __forceinline__ void mix_floats(Fnv &f, uint32_t a, uint32_t b, uint32_t s)
{
    const float x = __uint_as_float((a & 0x007fffffu) | 0x3f000000u | (a & 0x80000000u));
    const float y = __uint_as_float((b & 0x007fffffu) | 0x40800000u | (b & 0x80000000u));
    const float bf = __uint_as_float((s & 0xff7fu) << 16 & 0xbfff0000u);

    f.mix(__fadd_rn(x, y));
    f.mix(__fadd_rn(x, -y));
    f.mix(__fmul_rn(x, y));
    f.mix(__fmaf_rn(x, y, bf));
    f.mix(__fadd_rn(bf, x));
    f.mix(fminf(x, y));
    f.mix(fmaxf(x, y));
    f.mix(fabsf(x));
    f.mix(x < y ? 1 : 0);
    f.mix(x >= y ? 1 : 0);
    f.mix((float)a);
    f.mix((float)(int32_t)b);
    f.mix((int32_t)__fmul_rn(x, 1000.0f));
    f.mix((uint32_t)fabsf(__fmul_rn(y, 77.0f)));
    const uint32_t bits = __float_as_uint(__fmul_rn(x, y));
    f.mix((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
    f.mix((uint64_t)__double_as_longlong((double)x));
}

__device__ __forceinline__ void mix_control(Fnv &f, uint32_t a, uint32_t b, uint32_t s)
{
    switch (s % 9) { /* a jump table */
    case 0: f.mix(a * 3); break;
    case 1: f.mix(b ^ 77); break;
    case 2: f.mix(a + s); break;
    case 3: f.mix(a >> 3); break;
    case 4: f.mix(b * 11 + 1); break;
    case 5: f.mix(~a); break;
    case 6: f.mix(a - 9); break;
    case 7: f.mix(b | 1); break;
    default: f.mix(s); break;
    }
    uint32_t local[24]; /* indexed by data: local memory */
    for (uint32_t k = 0; k < 24; k++) {
        local[k] = a * k + b;
    }
    for (uint32_t k = 0; k < (s & 15); k++) {
        local[(a + k * 5) % 24] ^= local[(b + k) % 24] + k;
    }
    for (uint32_t k = 0; k < 24; k++) {
        f.mix(local[k]);
    }
    uint32_t x = a, steps = 0;
    while (x != 1 && steps < 40) { /* a divergent loop */
        x = x & 1 ? 3 * x + 1 : x >> 1;
        steps++;
    }
    f.mix(x);
    f.mix(steps);
}

__device__ __forceinline__ void mix_loads(Fnv &f, const uint32_t *in, uint32_t i, uint32_t n)
{
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(in);
    const uint16_t *halves = reinterpret_cast<const uint16_t *>(in);

    f.mix((uint32_t)bytes[i * 3 % (4 * n)]);
    f.mix((int32_t)reinterpret_cast<const int8_t *>(in)[(i * 5 + 1) % (4 * n)]);
    f.mix((uint32_t)halves[(i + 5) % (2 * n)]);
    f.mix((int32_t)reinterpret_cast<const int16_t *>(in)[(i + 6) % (2 * n)]);
    f.mix((uint64_t)reinterpret_cast<const unsigned long long *>(in)[i % (n / 2)]);
    const uint2 p = __ldg(reinterpret_cast<const uint2 *>(in) + (i + 3) % (n / 2));
    f.mix(p.x);
    f.mix(p.y);
    const uint4 q = reinterpret_cast<const uint4 *>(in)[i % (n / 4)];
    f.mix(q.x);
    f.mix(q.y);
    f.mix(q.z);
    f.mix(q.w);
}

__constant__ const uint16_t constant_table[8] = {1, 10, 100, 1000, 10000, 3, 33, 333};

extern "C" __global__ void diff_ops(const uint32_t *__restrict__ in, uint32_t *__restrict__ out,
                                    uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const uint32_t a = in[i], b = in[(i * 7 + 3) % n], s = in[(i + 11) % n];
    Fnv f;
    mix_integers(f, a, b, s);
    mix_bits(f, a, b, s);
    mix_floats(f, a, b, s);
    mix_control(f, a, b, s);
    mix_loads(f, in, i, n);
    f.mix((uint32_t)constant_table[s & 7]);
    out[i] = f.h;
}

__device__ __forceinline__ void mix_shuffles(Fnv &f, uint32_t a, uint32_t lane)
{
    for (int width = 1; width <= 32; width *= 2) {
        f.mix(__shfl_up_sync(~0u, a, 3, width));
        f.mix(__shfl_down_sync(~0u, a, 2, width));
        f.mix(__shfl_xor_sync(~0u, a, 5, width));
        f.mix(__shfl_sync(~0u, a, (int)(a & 31), width));
        const unsigned long long square = (unsigned long long)a * a;
        f.mix((uint32_t)(__shfl_sync(~0u, square, (int)lane ^ 1, width) >> 7));
    }
    f.mix(__ballot_sync(~0u, (a & 4) != 0));
    f.mix(__any_sync(~0u, a == 17));
    f.mix(__all_sync(~0u, a != 17));
    f.mix(__match_any_sync(~0u, a & 7));
    f.mix(__reduce_add_sync(~0u, a));
    f.mix(__reduce_min_sync(~0u, a));
    f.mix(__reduce_max_sync(~0u, a));
    f.mix(__reduce_or_sync(~0u, a));
    const uint32_t group = lane / 8, mask = 0xffu << (8 * group);
    for (uint32_t r = 0; r <= group; r++) { /* each group of 8 has its own trip count */
        f.mix(__reduce_add_sync(mask, a + r));
        f.mix(__shfl_xor_sync(mask, a, 3));
    }
    __syncwarp();
    if (lane < 4) { /* nested: two of four lanes meet before all four do */
        uint32_t v = lane;
        if (lane < 2) {
            v += __shfl_xor_sync(0x3u, v, 1);
        }
        f.mix(__ballot_sync(0xfu, v > 0));
    }
    __syncwarp();
}

/* Asynchronous copies of all three sizes, one group each, waited for one by one. */
__device__ __forceinline__ void mix_async(Fnv &f, uint32_t *dyn, uint32_t *hist, const uint32_t *in,
                                          uint32_t t, uint32_t n)
{
    const uint32_t at = t * 4 % 128;

    __pipeline_memcpy_async(&dyn[at], in + (t * 4 % (n & ~3u)), 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&hist[t], in + t % n, 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&hist[32 + 2 * (t & 15)], in + (t & 15) * 2, 8);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    f.mix(dyn[at + 1]);
    __pipeline_wait_prior(1);
    f.mix(hist[t]);
    __pipeline_wait_prior(0);
    f.mix(hist[32 + 2 * (t & 15) + 1]);
}

struct DiffCounters {
    unsigned long long sum, least, most;
    uint32_t words[4];
    int32_t low, high;
};

extern "C" __global__ void diff_warp(const uint32_t *__restrict__ in, uint32_t *__restrict__ out,
                                     uint32_t n, DiffCounters *counters)
{
    LP_DYNAMIC_SHARED(uint32_t, dyn);
    LP_SHARED(uint32_t[64], hist);
    const uint32_t t = threadIdx.x, lane = t & 31, i = blockIdx.x * blockDim.x + t;
    const uint32_t a = i < n ? in[i] : 0;
    Fnv f;

    if (t < 64) {
        hist[t] = 0;
    }
    dyn[t] = a;
    __syncthreads();
    mix_shuffles(f, a, lane);
    atomicAdd(&hist[a % 64], 1u);
    atomicOr(&hist[(a >> 6) % 64], 0x80000000u);
    atomicCAS(&hist[(a >> 12) % 64], 0u, 0u);
    __syncthreads();
    f.mix(dyn[blockDim.x - 1 - t]);
    f.mix(hist[(t * 5) % 64]);
    f.mix(reinterpret_cast<const uint4 *>(dyn)[t % (blockDim.x / 4)].z);
    __syncthreads();
    if (t < 16) { /* half a warp: the 8-byte copies then do not overlap */
        mix_async(f, dyn, hist, in, t, n);
    }
    if (lane == 0) {
        atomicAdd(&counters->words[f.h & 3u], f.h >> 9);
        atomicAdd(&counters->sum, (unsigned long long)f.h << 7);
        atomicMin(&counters->least, (unsigned long long)f.h << 3);
        atomicMax(&counters->most, (unsigned long long)f.h << 3);
        atomicMin(&counters->low, (int)f.h);
        atomicMax(&counters->high, (int)f.h);
    }
    if (i < n) {
        out[i] = f.h;
    }
}

#endif
