/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels by name, as gpu_launch.c looks them up: lp_gather_<codec>_<dtype>[_<levels>]. One
 * argument, struct lp_gather_args by value. Launch: blocks of whole warps, warp_bytes of dynamic
 * shared memory for each warp, any number of blocks. */
#include "cuda/gather_kernel.cuh"

/* Four warps, as gather_plan.c launches them, and four such blocks on a multiprocessor: said so
 * that ptxas has the registers it wants. Left alone it aims higher and spills. */
#define LP_GATHER_BOUNDS __launch_bounds__(128, 4)

#define LP_GATHER_KERNEL(name, ...)                                                                \
    extern "C" __global__ void LP_GATHER_BOUNDS name(const __grid_constant__ lp_gather_args args)  \
    {                                                                                              \
        lp_gather_body<__VA_ARGS__>(args);                                                         \
    }                                                                                              \
    LP_EXPORT_KERNEL(name)

LP_GATHER_KERNEL(lp_gather_raw_any, lp_gather_raw)
LP_GATHER_KERNEL(lp_gather_ibp_any, lp_gather_ibp)

/* Any levels of any split, and levels of the dtypes that the encoder most often chooses
 * (codec_lane_learn.c); three bits alone are codec zip7's. */
#define LP_GATHER_LANE(elem_bytes)                                                                 \
    LP_GATHER_KERNEL(lp_gather_lane_any_##elem_bytes,                                              \
                     lp_gather_lane<lp_lane_any_split<elem_bytes>, lp_lane_any_widths>)
#define LP_GATHER_LEVELS(dtype, levels, ...)                                                       \
    LP_GATHER_KERNEL(lp_gather_lane_##dtype##_##levels,                                            \
                     lp_gather_lane<lp_lane_##dtype, lp_lane_widths<__VA_ARGS__>>)
LP_GATHER_LANE(1)
LP_GATHER_LANE(2)
LP_GATHER_LANE(4)
LP_GATHER_LANE(8)

LP_GATHER_LEVELS(bf16, 3, 3)
LP_GATHER_LEVELS(bf16, 223, 2, 2, 3)
LP_GATHER_LEVELS(bf16, 2223, 2, 2, 2, 3)
LP_GATHER_LEVELS(bf16, 123, 1, 2, 3)
LP_GATHER_LEVELS(bf16, 1123, 1, 1, 2, 3)
LP_GATHER_LEVELS(f32, 223, 2, 2, 3)
LP_GATHER_LEVELS(f32, 2223, 2, 2, 2, 3)
LP_GATHER_LEVELS(f16, 33, 3, 3)
LP_GATHER_LEVELS(f16, 2223, 2, 2, 2, 3)

/* Codecs that ask for an element's size only. */
#define LP_GATHER_SIZES(name, codec)                                                               \
    LP_GATHER_KERNEL(lp_gather_##name##_1, codec<1>)                                               \
    LP_GATHER_KERNEL(lp_gather_##name##_2, codec<2>)                                               \
    LP_GATHER_KERNEL(lp_gather_##name##_4, codec<4>)                                               \
    LP_GATHER_KERNEL(lp_gather_##name##_8, codec<8>)
LP_GATHER_SIZES(dict, lp_gather_dict_values)
LP_GATHER_SIZES(sparse, lp_gather_sparse_values)

LP_GATHER_KERNEL(lp_gather_sparse_counts, lp_gather_counts)
