/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share about an opened device; not for other folders. */
#ifndef LP_CUDA_GPU_DEVICE_H
#define LP_CUDA_GPU_DEVICE_H

#include "cuda/driver.h"
#include "cuda/gpu.h"

#include <pthread.h>

/* The kernels of one process's fatbin, made by the build; NULL-terminated names stand in
 * gather_plan.c. Without nvcc kernels_bytes is 0. */
extern const unsigned char lp_gpu_kernels[];
extern const size_t lp_gpu_kernels_bytes;

struct lp_gpu {
    const struct lp_gpu_driver *driver; /* borrowed, static */
    struct lp_gpu_info info;
    int device;
    void *context; /* a retain of the primary context */
    void *module;
    uint32_t users;                  /* the owner, mappings and tables; under lock */
    struct lp_gpu_mapping *mappings; /* under lock, newest first */
    pthread_mutex_t lock;
};

/* One user more: lp_gpu_unref() ends it, and the last one closes the device. */
void lp_gpu_ref(struct lp_gpu *gpu);
void lp_gpu_unref(struct lp_gpu *gpu);

/* Make the device's context current, and put the caller's back. enter: 0, LP_EDEVICE. */
int lp_gpu_enter(const struct lp_gpu *gpu, struct lp_error *err);
void lp_gpu_leave(const struct lp_gpu *gpu);

/* The same for what ends a life: nobody is there to be told, so it tries once more before things
 * are left behind. False: leave them. */
bool lp_gpu_enter_to_end(const struct lp_gpu *gpu);

#endif
