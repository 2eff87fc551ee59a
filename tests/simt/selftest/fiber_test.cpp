/* SPDX-License-Identifier: Apache-2.0 */
/* The fiber executor's own rules, case by case.
 *
 *   fiber_test            all that must pass
 *   fiber_test CASE       one; die_* must be stopped, asan_* and race_* reported in those builds */
#include "cuda/gpu_port.h"

#include <cstdio>
#include <cstring>

namespace {

unsigned failures;

void expect(bool ok, const char *what)
{
    if (!ok && failures++ < 10) {
        printf("FAILED: %s\n", what);
    }
}

/* The lane that shfl.sync reads, as the PTX manual states it from segment mask and clamp. */
unsigned ptx_source(char mode, unsigned lane, unsigned b, unsigned width)
{
    const unsigned segment = (32 - width) & 31, clamp = mode == 'u' ? 0 : 31, value = b & 31;
    const int most = (int)((lane & segment) | (clamp & ~segment)), least = (int)(lane & segment);
    int from = least | (int)(value & ~segment);
    bool in_range = from <= most;

    if (mode == 'u') {
        from = (int)lane - (int)value;
        in_range = from >= most;
    } else if (mode == 'd') {
        from = (int)lane + (int)value;
        in_range = from <= most;
    } else if (mode == 'x') {
        from = (int)(lane ^ value);
        in_range = from <= most;
    }
    return in_range ? (unsigned)from : lane;
}

unsigned value_of(unsigned lane, unsigned b)
{
    return lane * 2654435761u + b;
}

__global__ void shuffles(unsigned *fails)
{
    const unsigned lane = threadIdx.x;

    for (unsigned width = 1; width <= 32; width *= 2) {
        for (unsigned b = 0; b < 40; b++) {
            const unsigned v = value_of(lane, b);
            const unsigned up = __shfl_up_sync(~0u, v, b, (int)width);
            const unsigned down = __shfl_down_sync(~0u, v, b, (int)width);
            const unsigned cross = __shfl_xor_sync(~0u, v, (int)b, (int)width);
            const unsigned index = __shfl_sync(~0u, v, (int)b, (int)width);
            const unsigned each = __shfl_sync(~0u, v, (int)(lane * 7 + b), (int)width);
            const double wide = __shfl_sync(~0u, (double)v, (int)b, (int)width);
            if (up != value_of(ptx_source('u', lane, b, width), b) ||
                down != value_of(ptx_source('d', lane, b, width), b) ||
                cross != value_of(ptx_source('x', lane, b, width), b) ||
                index != value_of(ptx_source('i', lane, b, width), b) ||
                each != value_of(ptx_source('i', lane, lane * 7 + b, width), b) ||
                wide != (double)index) {
                atomicAdd(fails, 1u);
            }
        }
    }
}

/* Four groups of 8 lanes, each with its own number of meetings; then nested and whole-warp ones. */
__global__ void groups(unsigned *fails)
{
    const unsigned lane = threadIdx.x & 31, g = lane / 8, mask = 0xffu << (8 * g);
    unsigned sum = 0, want = 0, matching = 0;

    for (unsigned r = 0; r <= g; r++) {
        sum += __reduce_add_sync(mask, lane + r);
        for (unsigned l = 0; l < 8; l++) {
            want += g * 8 + l + r;
        }
    }
    if (lane < 4) {
        unsigned t = lane;
        if (lane < 2) {
            t += __shfl_xor_sync(0x3u, t, 1);
            t += __shfl_xor_sync(0x3u, t, 1);
        }
        if (__ballot_sync(0xfu, t == 2) != 0x7u) { /* lanes 0 and 1 hold 1 + 1, lane 2 its own */
            atomicAdd(fails, 1u);
        }
    }
    __syncwarp();
    for (unsigned l = 0; l < 32; l++) {
        matching |= (unsigned)(l % 5 == lane % 5) << l;
    }
    const bool votes = __any_sync(~0u, lane == 31) && !__all_sync(~0u, lane < 31);
    const unsigned m = __match_any_sync(~0u, lane % 5);
    if (sum != want || m != matching || !votes ||
        __reduce_or_sync(~0u, 1u << lane) != ~0u || __reduce_xor_sync(~0u, lane) != 0) {
        atomicAdd(fails, 1u);
    }
}

/* 1024 threads in three dimensions, dynamic and static shared memory. */
__global__ void whole_block(unsigned *out, unsigned *fails)
{
    LP_DYNAMIC_SHARED(unsigned, dyn);
    LP_SHARED(unsigned[32], per_warp);
    const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);

    dyn[t] = t + blockIdx.x;
    const unsigned sum = __reduce_add_sync(~0u, t);
    if (t % 32 == 0) {
        per_warp[t / 32] = sum;
    }
    __syncthreads();
    if (dyn[1023 - t] != 1023 - t + blockIdx.x) {
        atomicAdd(fails, 1u);
    }
    if (t == 0) {
        unsigned all = 0;
        for (unsigned w = 0; w < 32; w++) {
            all += per_warp[w];
        }
        out[blockIdx.x] = all;
    }
}

/* Copies land group by group, zero fill included, and not before the wait. */
__global__ void async_groups(const unsigned *in, unsigned *fails)
{
    LP_SHARED(uint4[32], big);
    LP_SHARED(unsigned[32], small);
    const unsigned lane = threadIdx.x;

    __pipeline_memcpy_async(&big[lane], in, 16, 8);
    __pipeline_commit();
    __pipeline_memcpy_async(&small[lane], in + lane % 4, 4);
    const bool early = small[lane] == in[lane % 4]; /* 4 bytes: no ASan report, only the fill */
    __pipeline_commit();
    __pipeline_wait_prior(1);
    const bool first = big[lane].x == in[0] && big[lane].y == in[1] && big[lane].z == 0;
    const bool still_early = small[lane] == in[lane % 4];
    __pipeline_wait_prior(0);
    if (early || !first || still_early || small[lane] != in[lane % 4]) {
        atomicAdd(fails, 1u);
    }
}

/* A spin loop that yields ends: thread 33 sets what thread 0 waits for. */
__global__ void spin(unsigned *flag, unsigned *out)
{
    if (threadIdx.x == 33) {
        atomicExch(flag, 1u);
    }
    while (threadIdx.x == 0 && atomicAdd(flag, 0u) == 0) {
        __nanosleep(100);
    }
    if (threadIdx.x == 0) {
        *out = 77;
    }
}

__global__ void atomics(unsigned *u, int *s, unsigned long long *w, float *f)
{
    const unsigned t = threadIdx.x;
    atomicMin(&u[0], t + 5);
    atomicMax(&u[1], t + 5);
    atomicMin(&s[0], (int)t - 40);
    atomicMax(&s[1], (int)t - 40);
    atomicAdd(&w[0], 1ull << 33);
    atomicMax(&w[1], (unsigned long long)t << 40);
    atomicAdd(f, 0.5f);
    atomicSub(&u[2], 1);
}

__global__ void shuffle_orders_nothing(unsigned *out)
{
    LP_SHARED(unsigned[32], s);
    s[threadIdx.x] = threadIdx.x;
    const unsigned d = __shfl_sync(~0u, 1u, 0);
    out[threadIdx.x] = s[(threadIdx.x + d) % 32];
}

__global__ void blocks_collide(unsigned *out, bool atomic)
{
    if (threadIdx.x != 0) {
        return;
    }
    if (atomic) {
        atomicAdd(out, 1u);
    } else {
        *out += 1;
    }
}

/* Must not be reported: blocks have their own shared memory. */
__global__ void shared_reuse(unsigned *out)
{
    LP_SHARED(unsigned[32], s);
    s[threadIdx.x] = blockIdx.x;
    __syncwarp();
    out[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];
}

__global__ void deadlock(unsigned *out)
{
    if (threadIdx.x != 5) {
        __syncwarp(); /* lane 5 goes straight to the barrier */
    }
    __syncthreads();
    out[0] = 1;
}

__global__ void odd_width(unsigned *out)
{
    out[threadIdx.x] = __shfl_sync(~0u, threadIdx.x, 1, 24);
}

__global__ void no_wait(const unsigned *in, unsigned *out)
{
    LP_SHARED(unsigned[32], s);
    __pipeline_memcpy_async(&s[threadIdx.x], in + threadIdx.x % 4, 4);
    __pipeline_commit();
    out[0] = 1;
}

__global__ void copy_to_global(const unsigned *in, unsigned *out)
{
    __pipeline_memcpy_async(out + 4, in, 4);
    __pipeline_wait_prior(0);
}

__global__ void much_shared(unsigned *out)
{
    LP_DYNAMIC_SHARED(unsigned, d);
    d[0] = 1;
    out[0] = d[0];
}

__global__ void past_shared(unsigned *out, unsigned by)
{
    LP_SHARED(unsigned[32], s);
    s[threadIdx.x] = 1;
    out[0] = s[threadIdx.x + by];
}

__global__ void early_read(const unsigned *in, unsigned *out)
{
    LP_SHARED(uint4[32], s);
    __pipeline_memcpy_async(&s[threadIdx.x], in, 16);
    __pipeline_commit();
    out[0] = s[threadIdx.x].x;
    __pipeline_wait_prior(0);
}

void check_bits(unsigned a, unsigned b, unsigned shift, unsigned selector)
{
    unsigned count = 0, zeros = 0, reversed = 0, first = 0, right = 0, left = 0, permuted = 0;
    const auto bit = [&](unsigned k) { return k < 32 ? a >> k & 1 : b >> (k - 32) & 1; };

    for (unsigned k = 0; k < 32; k++) {
        count += a >> k & 1;
        reversed |= (a >> k & 1) << (31 - k);
        first = !first && (a >> k & 1) ? k + 1 : first;
        right |= bit(k + (shift & 31)) << k;
        left |= bit(k + 32 - (shift & 31)) << k;
    }
    while (zeros < 32 && !(a >> (31 - zeros) & 1)) {
        zeros++;
    }
    for (unsigned k = 0; k < 4; k++) {
        const unsigned q = selector >> (4 * k) & 15;
        permuted |= ((q & 4 ? b : a) >> (8 * (q & 3)) & 255) << (8 * k);
    }
    expect(__popc(a) == (int)count && __clz((int)a) == (int)zeros, "popc and clz");
    expect(__brev(a) == reversed && __ffs((int)a) == (int)first, "brev and ffs");
    expect(__funnelshift_r(a, b, shift) == right, "funnelshift_r");
    expect(__funnelshift_l(a, b, shift) == left, "funnelshift_l");
    expect(__funnelshift_rc(a, b, shift) == (shift >= 32 ? b : right), "funnelshift_rc");
    expect(__funnelshift_lc(a, b, shift) == (shift >= 32 ? a : left), "funnelshift_lc");
    expect(__byte_perm(a, b, selector) == permuted, "byte_perm");
}

void check_intrinsics()
{
    uint64_t s = 1; /* a linear congruential generator with Knuth's MMIX constants */
    const auto next = [&] {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        return (unsigned)(s >> 33) ^ (unsigned)(s >> 20);
    };

    for (int i = 0; i < 100000; i++) {
        const unsigned a = next() >> next() % 32;
        const unsigned b = next(), shift = next() % 70;
        check_bits(a, b, shift, next());
    }
    check_bits(0, 0, 0, 0);
    expect(__clzll(0) == 64 && __ffsll(0) == 0 && __brevll(1) == 1ull << 63, "64-bit zero cases");
}

void check_all()
{
    unsigned fails = 0, out[128] = {}, u[3] = {1000, 0, 64};
    const unsigned in[4] = {11, 22, 33, 44};
    alignas(16) unsigned aligned_in[4];
    int s[2] = {1000, -1000};
    unsigned long long w[2] = {};
    float f = 0;

    memcpy(aligned_in, in, sizeof in);
    check_intrinsics();
    LP_LAUNCH(shuffles, 1, 32, 0, 0, &fails);
    LP_LAUNCH(groups, 3, 64, 0, 0, &fails);
    LP_LAUNCH(whole_block, 3, dim3(8, 16, 8), 4096, 0, out, &fails);
    expect(out[0] == 1023u * 512u && out[2] == out[0], "sum of a block");
    LP_LAUNCH(async_groups, 2, 32, 0, 0, aligned_in, &fails);
    expect(fails == 0, "device-side checks");
    LP_LAUNCH(shared_reuse, 4, 32, 0, 0, out);
    for (unsigned i = 0; i < 128; i++) {
        expect(out[i] == i / 32, "shared memory of its own for each block");
    }
    out[0] = out[1] = 0;
    LP_LAUNCH(spin, 1, 64, 0, 0, &out[0], &out[1]);
    expect(out[1] == 77, "a yielding spin loop");
    out[0] = 0;
    LP_LAUNCH(blocks_collide, 4, 32, 0, 0, out, true);
    expect(out[0] == 4, "atomics across blocks");
    LP_LAUNCH(atomics, 1, 64, 0, 0, u, s, w, &f);
    expect(u[0] == 5 && u[1] == 68 && u[2] == 0 && s[0] == -40 && s[1] == 23, "32-bit atomics");
    expect(w[0] == 64ull << 33 && w[1] == 63ull << 40 && f == 32.0f, "64-bit and float atomics");
    expect(simt::stats().blocks == 1 && simt::stats().switches > 64, "counters");
}

void run_case(const char *name)
{
    unsigned out[64] = {}, in[4] = {};

    if (!strcmp(name, "race_shuffle")) {
        LP_LAUNCH(shuffle_orders_nothing, 1, 32, 0, 0, out);
    } else if (!strcmp(name, "race_blocks")) {
        LP_LAUNCH(blocks_collide, 4, 32, 0, 0, out, false);
    } else if (!strcmp(name, "die_deadlock")) {
        LP_LAUNCH(deadlock, 1, 64, 0, 0, out);
    } else if (!strcmp(name, "die_width")) {
        LP_LAUNCH(odd_width, 1, 32, 0, 0, out);
    } else if (!strcmp(name, "die_no_wait")) {
        LP_LAUNCH(no_wait, 1, 32, 0, 0, in, out);
    } else if (!strcmp(name, "die_copy_to_global")) {
        LP_LAUNCH(copy_to_global, 1, 1, 0, 0, in, out);
    } else if (!strcmp(name, "die_shared_limit")) {
        LP_LAUNCH(much_shared, 1, 32, 300000, 0, out);
    } else if (!strcmp(name, "asan_past_shared")) {
        LP_LAUNCH(past_shared, 1, 32, 0, 0, out, 1u);
    } else if (!strcmp(name, "asan_early_read")) {
        alignas(16) unsigned aligned[4] = {};
        LP_LAUNCH(early_read, 1, 32, 0, 0, aligned, out);
    } else {
        expect(false, "no such case");
    }
}

} /* namespace */

int main(int argc, char **argv)
{
    if (argc > 1) {
        run_case(argv[1]);
    } else {
        check_all();
    }
    printf("fiber executor: %u checks failed\n", failures);
    return failures != 0;
}
