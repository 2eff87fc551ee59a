/* SPDX-License-Identifier: Apache-2.0 */
/* The one file that knows which compiler is at work: nvcc, or gcc and clang with the fiber executor.
 *
 * Kernels are plain CUDA C++; what the two sides spell differently has a name here:
 *   LP_SHARED(T, name)          a __shared__ variable of type T, a struct or an array (uint32_t[64])
 *   LP_DYNAMIC_SHARED(T, name)  T * to the launch's dynamic shared memory, aligned to 16 bytes
 *   LP_LAUNCH(kernel, grid, block, dynamic_bytes, stream, args...)   for tests and the lab only:
 *                               the product launches through the driver API
 *   LP_EXPORT_KERNEL(kernel)    at file scope, after an extern "C" kernel: lets the stand-in driver
 *                               find it by name; nothing under nvcc, where the name is in the module
 *   LP_NOINLINE                 a device function that stays one
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

#endif

#endif
