/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's binary interface, as far as it is exported: types, numbers, functions.
 *
 * Written from the CUDA Driver API reference, version 13.0, so that machines without the toolkit
 * build this too; where <cuda.h> is, selftest/standin_abi_check.cpp compares every line with it.
 * Only the symbols that current headers map to (cuMemAlloc_v2, not cuMemAlloc): the unsuffixed ones
 * are 32-bit relics in the real library, and a gateway that asks for them has a fault. */
#ifndef LP_TESTS_STANDIN_ABI_HPP
#define LP_TESTS_STANDIN_ABI_HPP

#include <cstddef>
#include <cstdint>

namespace standin {

using DevicePtr = unsigned long long;
using Device = int;
struct Context;
struct ModuleHandle;
struct Function;
struct Stream;
struct Event;
struct Graph;
struct GraphExec;

/* X(name without CUDA_ERROR_, number, text) */
#define STANDIN_ERRORS(X)                                                                          \
    X(INVALID_VALUE, 1, "invalid argument")                                                        \
    X(OUT_OF_MEMORY, 2, "out of memory")                                                           \
    X(NOT_INITIALIZED, 3, "initialization error")                                                  \
    X(STUB_LIBRARY, 34, "CUDA driver is a stub library")                                           \
    X(NO_DEVICE, 100, "no CUDA-capable device is detected")                                        \
    X(INVALID_DEVICE, 101, "invalid device ordinal")                                               \
    X(INVALID_IMAGE, 200, "device kernel image is invalid")                                        \
    X(INVALID_CONTEXT, 201, "invalid device context")                                              \
    X(NO_BINARY_FOR_GPU, 209, "no kernel image is available for execution on the device")          \
    X(INVALID_HANDLE, 400, "invalid resource handle")                                              \
    X(NOT_FOUND, 500, "named symbol not found")                                                    \
    X(NOT_READY, 600, "device not ready")                                                          \
    X(ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered")                            \
    X(LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch")                     \
    X(HOST_MEMORY_ALREADY_REGISTERED, 712, "part or all of the memory range is already mapped")    \
    X(HOST_MEMORY_NOT_REGISTERED, 713, "pointer does not correspond to a registered region")       \
    X(LAUNCH_FAILED, 719, "unspecified launch failure")                                            \
    X(NOT_PERMITTED, 800, "operation not permitted")                                               \
    X(NOT_SUPPORTED, 801, "operation not supported")                                               \
    X(STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing")         \
    X(STREAM_CAPTURE_INVALIDATED, 901, "operation failed due to a previous error during capture")  \
    X(STREAM_CAPTURE_UNMATCHED, 903, "the capture was not initiated in this stream")               \
    X(UNKNOWN, 999, "unknown error")

enum Error : int {
    SUCCESS = 0,
#define X(name, number, text) name = number,
    STANDIN_ERRORS(X)
#undef X
};

/* X(name without CU_DEVICE_ATTRIBUTE_, number) */
#define STANDIN_ATTRIBUTES(X)                                                                      \
    X(MAX_THREADS_PER_BLOCK, 1)                                                                    \
    X(MAX_BLOCK_DIM_X, 2)                                                                          \
    X(MAX_BLOCK_DIM_Y, 3)                                                                          \
    X(MAX_BLOCK_DIM_Z, 4)                                                                          \
    X(MAX_GRID_DIM_X, 5)                                                                           \
    X(MAX_GRID_DIM_Y, 6)                                                                           \
    X(MAX_GRID_DIM_Z, 7)                                                                           \
    X(MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                              \
    X(WARP_SIZE, 10)                                                                               \
    X(MAX_REGISTERS_PER_BLOCK, 12)                                                                 \
    X(CLOCK_RATE, 13)                                                                              \
    X(MULTIPROCESSOR_COUNT, 16)                                                                    \
    X(INTEGRATED, 18)                                                                              \
    X(CAN_MAP_HOST_MEMORY, 19)                                                                     \
    X(CONCURRENT_KERNELS, 31)                                                                      \
    X(PCI_BUS_ID, 33)                                                                              \
    X(PCI_DEVICE_ID, 34)                                                                           \
    X(L2_CACHE_SIZE, 38)                                                                           \
    X(MAX_THREADS_PER_MULTIPROCESSOR, 39)                                                          \
    X(ASYNC_ENGINE_COUNT, 40)                                                                      \
    X(UNIFIED_ADDRESSING, 41)                                                                      \
    X(PCI_DOMAIN_ID, 50)                                                                           \
    X(COMPUTE_CAPABILITY_MAJOR, 75)                                                                \
    X(COMPUTE_CAPABILITY_MINOR, 76)                                                                \
    X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                                    \
    X(PAGEABLE_MEMORY_ACCESS, 88)                                                                  \
    X(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91)                                                 \
    X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                                       \
    X(HOST_REGISTER_SUPPORTED, 99)                                                                 \
    X(READ_ONLY_HOST_REGISTER_SUPPORTED, 113)

enum Attribute : int {
#define X(name, number) ATTRIBUTE_##name = number,
    STANDIN_ATTRIBUTES(X)
#undef X
};

enum : unsigned { /* CU_MEMHOSTREGISTER_* */
    REGISTER_PORTABLE = 1, REGISTER_DEVICEMAP = 2, REGISTER_IOMEMORY = 4, REGISTER_READ_ONLY = 8
};

enum : int { /* CU_POINTER_ATTRIBUTE_*, CU_MEMORYTYPE_* */
    POINTER_CONTEXT = 1, POINTER_MEMORY_TYPE = 2, POINTER_DEVICE_POINTER = 3,
    POINTER_HOST_POINTER = 4, POINTER_DEVICE_ORDINAL = 9, POINTER_RANGE_START_ADDR = 11,
    POINTER_RANGE_SIZE = 12,
    MEMORY_HOST = 1, MEMORY_DEVICE = 2
};

enum : int { /* CU_FUNC_ATTRIBUTE_* */
    FUNCTION_MAX_THREADS_PER_BLOCK = 0, FUNCTION_SHARED_SIZE_BYTES = 1, FUNCTION_NUM_REGS = 4,
    FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
};

enum : unsigned { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2 };

/* X(function, parameters). CUresult and the enums travel as int, as they do in the ABI. */
#define STANDIN_FUNCTIONS(X)                                                                       \
    X(cuInit, (unsigned flags))                                                                    \
    X(cuDriverGetVersion, (int *version))                                                          \
    X(cuGetErrorName, (int error, const char **name))                                              \
    X(cuGetErrorString, (int error, const char **text))                                            \
    X(cuDeviceGetCount, (int *count))                                                              \
    X(cuDeviceGet, (Device * device, int ordinal))                                                 \
    X(cuDeviceGetName, (char *name, int bytes, Device device))                                     \
    X(cuDeviceGetUuid_v2, (unsigned char *uuid, Device device))                                    \
    X(cuDeviceTotalMem_v2, (size_t *bytes, Device device))                                         \
    X(cuDeviceGetAttribute, (int *value, int attribute, Device device))                            \
    X(cuDevicePrimaryCtxRetain, (Context * *context, Device device))                               \
    X(cuDevicePrimaryCtxRelease_v2, (Device device))                                               \
    X(cuDevicePrimaryCtxGetState, (Device device, unsigned *flags, int *active))                   \
    X(cuCtxSetCurrent, (Context * context))                                                        \
    X(cuCtxGetCurrent, (Context * *context))                                                       \
    X(cuCtxPushCurrent_v2, (Context * context))                                                    \
    X(cuCtxPopCurrent_v2, (Context * *context))                                                    \
    X(cuCtxGetDevice, (Device * device))                                                           \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuModuleLoadData, (ModuleHandle * *module, const void *image))                               \
    X(cuModuleLoadDataEx, (ModuleHandle * *module, const void *image, unsigned n, int *options,    \
                           void **values))                                                         \
    X(cuModuleUnload, (ModuleHandle * module))                                                     \
    X(cuModuleGetFunction, (Function * *function, ModuleHandle *module, const char *name))         \
    X(cuFuncGetAttribute, (int *value, int attribute, Function *function))                         \
    X(cuFuncSetAttribute, (Function * function, int attribute, int value))                         \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                 \
      (int *blocks, Function *function, int threads, size_t dynamic_bytes))                        \
    X(cuLaunchKernel, (Function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
                       unsigned block_x, unsigned block_y, unsigned block_z,                       \
                       unsigned dynamic_bytes, Stream *stream, void **params, void **extra))       \
    X(cuLaunchHostFunc, (Stream * stream, void (*call)(void *), void *user))                       \
    X(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))                                  \
    X(cuMemAlloc_v2, (DevicePtr * address, size_t bytes))                                          \
    X(cuMemFree_v2, (DevicePtr address))                                                           \
    X(cuMemAllocHost_v2, (void **p, size_t bytes))                                                 \
    X(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags))                                    \
    X(cuMemFreeHost, (void *p))                                                                    \
    X(cuMemHostRegister_v2, (void *p, size_t bytes, unsigned flags))                               \
    X(cuMemHostUnregister, (void *p))                                                              \
    X(cuMemHostGetDevicePointer_v2, (DevicePtr * address, void *p, unsigned flags))                \
    X(cuPointerGetAttribute, (void *data, int attribute, DevicePtr address))                       \
    X(cuMemcpyHtoD_v2, (DevicePtr dst, const void *src, size_t bytes))                             \
    X(cuMemcpyDtoH_v2, (void *dst, DevicePtr src, size_t bytes))                                   \
    X(cuMemcpyDtoD_v2, (DevicePtr dst, DevicePtr src, size_t bytes))                               \
    X(cuMemcpyHtoDAsync_v2, (DevicePtr dst, const void *src, size_t bytes, Stream *stream))        \
    X(cuMemcpyDtoHAsync_v2, (void *dst, DevicePtr src, size_t bytes, Stream *stream))              \
    X(cuMemcpyDtoDAsync_v2, (DevicePtr dst, DevicePtr src, size_t bytes, Stream *stream))          \
    X(cuMemsetD8_v2, (DevicePtr dst, unsigned char value, size_t n))                               \
    X(cuMemsetD32_v2, (DevicePtr dst, unsigned value, size_t n))                                   \
    X(cuMemsetD8Async, (DevicePtr dst, unsigned char value, size_t n, Stream *stream))             \
    X(cuMemsetD32Async, (DevicePtr dst, unsigned value, size_t n, Stream *stream))                 \
    X(cuStreamCreate, (Stream * *stream, unsigned flags))                                          \
    X(cuStreamCreateWithPriority, (Stream * *stream, unsigned flags, int priority))                \
    X(cuStreamDestroy_v2, (Stream * stream))                                                       \
    X(cuStreamSynchronize, (Stream * stream))                                                      \
    X(cuStreamQuery, (Stream * stream))                                                            \
    X(cuStreamWaitEvent, (Stream * stream, Event *event, unsigned flags))                          \
    X(cuStreamGetCtx, (Stream * stream, Context **context))                                        \
    X(cuStreamBeginCapture_v2, (Stream * stream, int mode))                                        \
    X(cuStreamEndCapture, (Stream * stream, Graph **graph))                                        \
    X(cuStreamIsCapturing, (Stream * stream, int *status))                                         \
    X(cuGraphInstantiateWithFlags, (GraphExec * *exec, Graph *graph, unsigned long long flags))    \
    X(cuGraphLaunch, (GraphExec * exec, Stream *stream))                                           \
    X(cuGraphExecDestroy, (GraphExec * exec))                                                      \
    X(cuGraphDestroy, (Graph * graph))                                                             \
    X(cuEventCreate, (Event * *event, unsigned flags))                                             \
    X(cuEventDestroy_v2, (Event * event))                                                          \
    X(cuEventRecord, (Event * event, Stream *stream))                                              \
    X(cuEventQuery, (Event * event))                                                               \
    X(cuEventSynchronize, (Event * event))                                                         \
    X(cuEventElapsedTime_v2, (float *milliseconds, Event *begin, Event *end))                      \
    X(cuEventElapsedTime, (float *milliseconds, Event *begin, Event *end))

/* Left out beside <cuda.h>, which declares the same C functions with its own types. */
#ifndef STANDIN_ABI_TYPES_ONLY
#define X(function, parameters)                                                                    \
    extern "C" __attribute__((visibility("default"))) int function parameters;
STANDIN_FUNCTIONS(X)
#undef X
#endif

} /* namespace standin */

#endif
