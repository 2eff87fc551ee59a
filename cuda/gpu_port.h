/* SPDX-License-Identifier: Apache-2.0 */
/* The one file that knows which compiler is at work: nvcc, or gcc and clang with the fiber
 * executor.
 *
 * Kernels are plain CUDA C++; what the two sides spell differently has a name here:
 *
 *   LP_SHARED(T, name)            a __shared__ variable of type T: a struct, or an array as in
 *                                 uint32_t[64]
 *   LP_DYNAMIC_SHARED(T, name)    T * to the launch's dynamic shared memory, aligned to 16 bytes
 *   LP_LAUNCH(kernel, grid, block, dynamic_bytes, stream, args...)
 *                                 for tests only: the product launches through the driver API
 *   LP_EXPORT_KERNEL(kernel)      at file scope, after an extern "C" kernel: lets the stand-in
 *                                 driver find it by name; nothing under nvcc, where the name is in
 *                                 the module
 *   LP_NOINLINE                   a device function that stays one
 *   lp_gpu_*                      device functions at the end: inline PTX and its twin on the host
 *
 * On the host side, <simt.hpp> comes with the CMake target lp_simt (tests/simt). */
#ifndef LP_CUDA_GPU_PORT_H
#define LP_CUDA_GPU_PORT_H

#include <stddef.h>
#include <stdint.h>

/* Lets an array type stand where a declaration wants the name in the middle. */
template <class T> struct lp_gpu_type {
    using type = T;
};

#ifdef __CUDACC__

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#define LP_SHARED(T, name) __shared__ typename lp_gpu_type<T>::type name
#define LP_DYNAMIC_SHARED(T, name)                                                                 \
    extern __shared__ __align__(16) unsigned char lp_dynamic_shared[];                             \
    T *name = reinterpret_cast<T *>(lp_dynamic_shared)
#define LP_LAUNCH(kernel, grid, block, dynamic_bytes, stream, ...)                                 \
    kernel<<<grid, block, dynamic_bytes, stream>>>(__VA_ARGS__)
#define LP_EXPORT_KERNEL(kernel)
#define LP_NOINLINE __noinline__

#else

#include <simt.hpp>
#include <simt_export.hpp>

#define LP_SHARED(T, name)                                                                         \
    static const char name##_key = 0;                                                              \
    auto &name = ::simt::shared<typename lp_gpu_type<T>::type>(&name##_key)
#define LP_DYNAMIC_SHARED(T, name) T *name = static_cast<T *>(::simt::self->block->dynamic_shared())
#define LP_LAUNCH(kernel, grid, block, dynamic_bytes, stream, ...)                                 \
    ::simt::launch(kernel, grid, block, dynamic_bytes, __VA_ARGS__)
#define LP_EXPORT_KERNEL(kernel) SIMT_EXPORT_KERNEL(kernel)
#define LP_NOINLINE __attribute__((noinline))
#define __grid_constant__

#endif

#define LP_DEVICE static __device__ __forceinline__

#ifdef __CUDACC__

/* Bytes of (b, a) by the four selector nibbles, each below 8 (which __byte_perm spends an AND on).
 */
LP_DEVICE uint32_t lp_gpu_permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(selector));
    return bytes;
}

/* The same of eight constant bytes: a table of eight entries, looked up four times. */
template <uint32_t LOW, uint32_t HIGH> LP_DEVICE uint32_t lp_gpu_lookup(uint32_t selector)
{
    uint32_t bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "n"(LOW), "n"(HIGH), "r"(selector));
    return bytes;
}

/* Bits of a where mask is 1, of b where it is 0. */
LP_DEVICE uint32_t lp_gpu_select(uint32_t mask, uint32_t a, uint32_t b)
{
    uint32_t bits;
    asm("lop3.b32 %0, %1, %2, %3, 0xCA;" : "=r"(bits) : "r"(mask), "r"(a), "r"(b));
    return bits;
}

template <uint32_t MASK> LP_DEVICE uint32_t lp_gpu_select(uint32_t a, uint32_t b)
{
    uint32_t bits;
    asm("lop3.b32 %0, %1, %2, %3, 0xE4;" : "=r"(bits) : "r"(a), "r"(b), "n"(MASK));
    return bits;
}

/* v, which the compiler then keeps: left alone it computes values that a loop needs all over again,
 * to save a register. */
LP_DEVICE uint32_t lp_gpu_keep(uint32_t v)
{
    asm volatile("" : "+r"(v));
    return v;
}

/* a * FACTOR + b, where nvcc would rather shift and add. */
template <uint32_t FACTOR> LP_DEVICE uint32_t lp_gpu_mad(uint32_t a, uint32_t b)
{
    uint32_t sum;
    asm("mad.lo.u32 %0, %1, %3, %2;" : "=r"(sum) : "r"(a), "r"(b), "n"(FACTOR));
    return sum;
}

/* Words in shared memory, on a 4-byte border, as lp_gpu_window() wants them. */
struct lp_gpu_words {
    uint32_t address;
};

LP_DEVICE lp_gpu_words lp_gpu_shared_words(const void *words)
{
    return {(uint32_t)__cvta_generic_to_shared(words)};
}

/* 32 bits of the words from any bit on. Reads the word behind, too. */
LP_DEVICE uint32_t lp_gpu_window(const lp_gpu_words &words, uint32_t bit)
{
    uint32_t bits;
    asm volatile("{\n\t"
                 ".reg .u32 at, low, high;\n\t"
                 "shr.u32 at, %1, 5;\n\t"
                 "mad.lo.u32 at, at, 4, %2;\n\t"
                 "ld.shared.u32 low, [at];\n\t"
                 "ld.shared.u32 high, [at+4];\n\t"
                 "shf.r.wrap.b32 %0, low, high, %1;\n\t"
                 "}"
                 : "=r"(bits)
                 : "r"(bit), "r"(words.address)
                 : "memory");
    return bits;
}

/* Inclusive prefix sum over the warp, and the value of its last lane. All 32 lanes call. A lane
 * that has none below it gets its own value from the shuffle, and adds nothing. */
LP_DEVICE uint32_t lp_gpu_scan(uint32_t v)
{
    uint32_t sum;
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 ".reg .u32 t;\n\t"
                 "shfl.sync.up.b32 %0|p, %1, 1, 0, -1;\n\t"
                 "@p add.u32 %0, %0, %1;\n\t"
                 "shfl.sync.up.b32 t|p, %0, 2, 0, -1;\n\t"
                 "@p add.u32 t, t, %0;\n\t"
                 "shfl.sync.up.b32 %0|p, t, 4, 0, -1;\n\t"
                 "@p add.u32 %0, %0, t;\n\t"
                 "shfl.sync.up.b32 t|p, %0, 8, 0, -1;\n\t"
                 "@p add.u32 t, t, %0;\n\t"
                 "shfl.sync.up.b32 %0|p, t, 16, 0, -1;\n\t"
                 "@p add.u32 %0, %0, t;\n\t"
                 "}"
                 : "=&r"(sum)
                 : "r"(v));
    return sum;
}

LP_DEVICE uint32_t lp_gpu_last(uint32_t v)
{
    uint32_t last;
    asm volatile("shfl.sync.idx.b32 %0, %1, 31, 31, -1;" : "=r"(last) : "r"(v));
    return last;
}

/* Sum over the warp, in every lane. */
LP_DEVICE uint32_t lp_gpu_sum(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
    uint32_t sum;
    asm volatile("redux.sync.add.u32 %0, %1, -1;" : "=r"(sum) : "r"(v));
    return sum;
#else
    return lp_gpu_last(lp_gpu_scan(v));
#endif
}

/* Start a copy of 16 bytes to shared memory if at < end; __pipeline_commit() and
 * __pipeline_wait_prior() go with it. Before sm_80 the copy is done on return. */
LP_DEVICE void lp_gpu_copy_async(void *dst, const void *src, uint32_t at, uint32_t end)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "setp.lt.u32 p, %0, %1;\n\t"
                 "@p cp.async.cg.shared.global [%2], [%3], 16;\n\t"
                 "}" ::"r"(at),
                 "r"(end), "r"((uint32_t)__cvta_generic_to_shared(dst)), "l"(src)
                 : "memory");
#else
    if (at < end)
        *static_cast<uint4 *>(dst) = *static_cast<const uint4 *>(src);
#endif
}

#else

LP_DEVICE uint32_t lp_gpu_permute(uint32_t a, uint32_t b, uint32_t selector)
{
    return __byte_perm(a, b, selector);
}

template <uint32_t LOW, uint32_t HIGH> LP_DEVICE uint32_t lp_gpu_lookup(uint32_t selector)
{
    return __byte_perm(LOW, HIGH, selector);
}

LP_DEVICE uint32_t lp_gpu_select(uint32_t mask, uint32_t a, uint32_t b)
{
    return (a & mask) | (b & ~mask);
}

template <uint32_t MASK> LP_DEVICE uint32_t lp_gpu_select(uint32_t a, uint32_t b)
{
    return (a & MASK) | (b & ~MASK);
}

LP_DEVICE uint32_t lp_gpu_keep(uint32_t v)
{
    return v;
}

struct lp_gpu_words {
    const uint32_t *address;
};

LP_DEVICE lp_gpu_words lp_gpu_shared_words(const void *words)
{
    return {static_cast<const uint32_t *>(words)};
}

LP_DEVICE uint32_t lp_gpu_window(const lp_gpu_words &words, uint32_t bit)
{
    const uint32_t *const at = words.address + (bit >> 5);

    return __funnelshift_r(at[0], at[1], bit);
}

template <uint32_t FACTOR> LP_DEVICE uint32_t lp_gpu_mad(uint32_t a, uint32_t b)
{
    return a * FACTOR + b;
}

LP_DEVICE uint32_t lp_gpu_scan(uint32_t v)
{
    for (uint32_t delta = 1; delta < 32; delta *= 2) {
        const uint32_t below = __shfl_up_sync(0xffffffffu, v, delta);
        v += (threadIdx.x & 31) >= delta ? below : 0;
    }
    return v;
}

LP_DEVICE uint32_t lp_gpu_last(uint32_t v)
{
    return __shfl_sync(0xffffffffu, v, 31);
}

LP_DEVICE uint32_t lp_gpu_sum(uint32_t v)
{
    return __reduce_add_sync(0xffffffffu, v);
}

LP_DEVICE void lp_gpu_copy_async(void *dst, const void *src, uint32_t at, uint32_t end)
{
    if (at < end)
        __pipeline_memcpy_async(dst, src, 16);
}

#endif

#endif
