/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the stand-in driver's own test, as a product's entry file would name them. */
#include "demo_kernel.cuh"

extern "C" __global__ void __launch_bounds__(demo::WARPS * 32)
demo_unpack(const uint32_t *words, const uint32_t *offsets, uint32_t *out, uint32_t n,
            uint32_t *escapes)
{
    demo::unpack_body<demo::RIGHT>(words, offsets, out, n, escapes);
}
LP_EXPORT_KERNEL(demo_unpack)

struct AddArgs { /* addresses as numbers, as a host program without CUDA types passes them */
    uint64_t in, out;
    uint32_t n, add;
};

extern "C" __global__ void demo_add(const __grid_constant__ AddArgs args)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < args.n) {
        reinterpret_cast<uint32_t *>(args.out)[i] =
            reinterpret_cast<const uint32_t *>(args.in)[i] + args.add;
    }
}
LP_EXPORT_KERNEL(demo_add)
