/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels by name, as gpu_launch.c looks them up: lp_gather_<codec>[_<dtype>]. One argument,
 * struct lp_gather_args by value. Launch: blocks of whole warps, warp_bytes of dynamic shared memory
 * for each warp, any number of blocks. */
#include "cuda/gather_kernel.cuh"

/* Four warps, as gather_plan.c launches them, and four such blocks on a multiprocessor: said so that
 * ptxas has the registers it wants. Left alone it aims higher and spills. */
#define LP_GATHER_BOUNDS __launch_bounds__(128, 4)

#define LP_GATHER_KERNEL(name, ...)                                                                \
    extern "C" __global__ void LP_GATHER_BOUNDS                                                   \
        name(const __grid_constant__ lp_gather_args args)                                          \
    {                                                                                              \
        lp_gather_body<__VA_ARGS__>(args);                                                         \
    }                                                                                              \
    LP_EXPORT_KERNEL(name)

LP_GATHER_KERNEL(lp_gather_raw_any, lp_gather_raw)
LP_GATHER_KERNEL(lp_gather_ibp_any, lp_gather_ibp)
LP_GATHER_KERNEL(lp_gather_lane_f64, lp_gather_lane<lp_lane_f64>)
LP_GATHER_KERNEL(lp_gather_lane_f32, lp_gather_lane<lp_lane_f32>)
LP_GATHER_KERNEL(lp_gather_lane_f16, lp_gather_lane<lp_lane_f16>)
LP_GATHER_KERNEL(lp_gather_lane_bf16, lp_gather_lane<lp_lane_bf16>)
LP_GATHER_KERNEL(lp_gather_lane_f8_e4m3, lp_gather_lane<lp_lane_f8_e4m3>)
LP_GATHER_KERNEL(lp_gather_lane_f8_e5m2, lp_gather_lane<lp_lane_f8_e5m2>)
