/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway to the CUDA driver: libcuda.so.1, opened at run time, and nothing else of CUDA.
 *
 * Life: lp_gpu_driver_get() opens and probes once per process; the answer, good or bad, stays. No
 * program of ours links a CUDA library, so each one starts on a machine without a driver. Types are
 * our own, of the driver's sizes: handles are pointers, addresses 64-bit, results int.
 * Source: CUDA Driver API reference manual, version 13. */
#ifndef LP_CUDA_DRIVER_H
#define LP_CUDA_DRIVER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Results that mean something to us; all others are LP_EDEVICE under their own name. */
enum lp_gpu_result {
    LP_GPU_SUCCESS = 0,
    LP_GPU_INVALID_VALUE = 1,
    LP_GPU_OUT_OF_MEMORY = 2,
    LP_GPU_STUB_LIBRARY = 34,
    LP_GPU_NO_DEVICE = 100,
    LP_GPU_INVALID_DEVICE = 101,
    LP_GPU_NO_BINARY_FOR_GPU = 209,
    LP_GPU_OPERATING_SYSTEM = 304,
    LP_GPU_ALREADY_REGISTERED = 712,
    LP_GPU_NOT_REGISTERED = 713,
    LP_GPU_NOT_PERMITTED = 800,
    LP_GPU_NOT_SUPPORTED = 801
};

/* Flags of host_register. */
#define LP_GPU_REGISTER_PORTABLE 1u
#define LP_GPU_REGISTER_DEVICEMAP 2u
#define LP_GPU_REGISTER_READ_ONLY 8u

/* Device attributes that we ask for. */
#define LP_GPU_ATTRIBUTE_MULTIPROCESSORS 16
#define LP_GPU_ATTRIBUTE_COMPUTE_MAJOR 75
#define LP_GPU_ATTRIBUTE_COMPUTE_MINOR 76
#define LP_GPU_ATTRIBUTE_SHARED_OPTIN_BYTES 97
#define LP_GPU_ATTRIBUTE_PAGEABLE_BY_HOST_TABLES 100
#define LP_GPU_ATTRIBUTE_READ_ONLY_REGISTER 113

/* Attribute of a function: most dynamic shared memory that a launch may ask for. */
#define LP_GPU_FUNCTION_DYNAMIC_SHARED_BYTES 8

/* Every function we call: X(member, symbol, parameters). Each must be there, or there is no driver.
 */
#define LP_GPU_DRIVER_CALLS(X)                                                                     \
    X(init, cuInit, (unsigned flags))                                                              \
    X(get_version, cuDriverGetVersion, (int *version))                                             \
    X(get_error_name, cuGetErrorName, (int result, const char **name))                             \
    X(get_error_string, cuGetErrorString, (int result, const char **text))                         \
    X(device_count, cuDeviceGetCount, (int *count))                                                \
    X(device_get, cuDeviceGet, (int *device, int ordinal))                                         \
    X(device_name, cuDeviceGetName, (char *name, int bytes, int device))                           \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device))             \
    X(context_retain, cuDevicePrimaryCtxRetain, (void **context, int device))                      \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (int device))                                 \
    X(context_push, cuCtxPushCurrent_v2, (void *context))                                          \
    X(context_pop, cuCtxPopCurrent_v2, (void **context))                                           \
    X(context_synchronize, cuCtxSynchronize, (void))                                               \
    X(module_load, cuModuleLoadData, (void **module, const void *image))                           \
    X(module_unload, cuModuleUnload, (void *module))                                               \
    X(module_function, cuModuleGetFunction, (void **function, void *module, const char *name))     \
    X(function_attribute, cuFuncSetAttribute, (void *function, int attribute, int value))          \
    X(memory_alloc, cuMemAlloc_v2, (uint64_t * address, size_t bytes))                             \
    X(memory_free, cuMemFree_v2, (uint64_t address))                                               \
    X(copy_to_device, cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))              \
    X(copy_to_host, cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                      \
    X(copy_to_device_async, cuMemcpyHtoDAsync_v2,                                                  \
      (uint64_t to, const void *from, size_t bytes, void *stream))                                 \
    X(set_words_async, cuMemsetD32Async,                                                           \
      (uint64_t to, unsigned value, size_t words, void *stream))                                   \
    X(host_register, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))           \
    X(host_unregister, cuMemHostUnregister, (void *memory))                                        \
    X(host_address, cuMemHostGetDevicePointer_v2, (uint64_t * address, void *memory, unsigned))    \
    X(stream_create, cuStreamCreate, (void **stream, unsigned flags))                              \
    X(stream_destroy, cuStreamDestroy_v2, (void *stream))                                          \
    X(stream_synchronize, cuStreamSynchronize, (void *stream))                                     \
    X(event_create, cuEventCreate, (void **event, unsigned flags))                                 \
    X(event_destroy, cuEventDestroy_v2, (void *event))                                             \
    X(event_record, cuEventRecord, (void *event, void *stream))                                    \
    X(event_synchronize, cuEventSynchronize, (void *event))                                        \
    X(event_elapsed, cuEventElapsedTime, (float *milliseconds, void *begin, void *end))            \
    X(launch, cuLaunchKernel,                                                                      \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params,     \
       void **extra))

struct lp_gpu_driver {
#define X(member, symbol, params) int(*member) params;
    LP_GPU_DRIVER_CALLS(X)
#undef X
    int version; /* 13000: CUDA 13.0 */
    int n_devices;
};

/* The driver, opened, initialised and with a device at least; static, never closed. Opens
 * LANEPACK_LIBCUDA instead of libcuda.so.1 where that is set. NULL when there is none: *err says
 * why (LP_ENODEV), the same each time. Any thread. */
const struct lp_gpu_driver *lp_gpu_driver_get(struct lp_error *err);

/* Turn a result into 0 or a code: LP_ENOMEM for out of memory, LP_ENODEV for no or a wrong device,
 * else LP_EDEVICE; the sentence is "what: CUDA_ERROR_NAME (number)". */
int lp_gpu_driver_check(const struct lp_gpu_driver *driver, int result, const char *what,
                        struct lp_error *err);

#endif
