/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisation, devices, primary contexts, names of errors. */
#include <cstdio>
#include <cstring>

#include "standin_driver.hpp"

namespace standin {
namespace {

const int DRIVER_VERSION = 13000;

bool is_device(Device device)
{
    return device >= 0 && (unsigned)device < driver().options.devices;
}

/* A middling card of the asked-for generation; constants are those of the sm_80 data sheet. */
int attribute_value(int attribute, Device device, int *ret_value)
{
    const Options &o = driver().options;

    switch (attribute) {
    case ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case ATTRIBUTE_MAX_BLOCK_DIM_X:
    case ATTRIBUTE_MAX_BLOCK_DIM_Y: *ret_value = 1024; break;
    case ATTRIBUTE_MAX_BLOCK_DIM_Z: *ret_value = 64; break;
    case ATTRIBUTE_MAX_GRID_DIM_X: *ret_value = 0x7fffffff; break;
    case ATTRIBUTE_MAX_GRID_DIM_Y:
    case ATTRIBUTE_MAX_GRID_DIM_Z: *ret_value = 65535; break;
    case ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *ret_value = 48 << 10; break;
    case ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *ret_value = 163 << 10; break;
    case ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *ret_value = 164 << 10; break;
    case ATTRIBUTE_WARP_SIZE: *ret_value = 32; break;
    case ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *ret_value = 65536; break;
    case ATTRIBUTE_CLOCK_RATE: *ret_value = 1410000; break;
    case ATTRIBUTE_MULTIPROCESSOR_COUNT: *ret_value = 4; break; /* few: tests pay for each */
    case ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *ret_value = 2048; break;
    case ATTRIBUTE_INTEGRATED: *ret_value = 0; break;
    case ATTRIBUTE_CAN_MAP_HOST_MEMORY: *ret_value = 1; break;
    case ATTRIBUTE_CONCURRENT_KERNELS: *ret_value = 1; break;
    case ATTRIBUTE_PCI_BUS_ID: *ret_value = device + 1; break;
    case ATTRIBUTE_PCI_DEVICE_ID:
    case ATTRIBUTE_PCI_DOMAIN_ID: *ret_value = 0; break;
    case ATTRIBUTE_L2_CACHE_SIZE: *ret_value = 40 << 20; break;
    case ATTRIBUTE_ASYNC_ENGINE_COUNT: *ret_value = 2; break;
    case ATTRIBUTE_UNIFIED_ADDRESSING: *ret_value = 1; break;
    case ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *ret_value = (int)o.sm / 10; break;
    case ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *ret_value = (int)o.sm % 10; break;
    case ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: *ret_value = 0; break;
    case ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        *ret_value = o.alias == Alias::off;
        break;
    case ATTRIBUTE_HOST_REGISTER_SUPPORTED: *ret_value = 1; break;
    case ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED: *ret_value = o.read_only; break;
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}

/* The last release ends a primary context and all in it, as cuDevicePrimaryCtxReset does. */
void end_context(Context *context)
{
    Driver &d = driver();

    run_everything(context);
    end_memory_of(context);
    const auto own = d.default_streams.find(context);
    if (own != d.default_streams.end()) {
        d.streams.end(own->second);
        d.default_streams.erase(own);
    }
    d.freed_by_context += d.streams.end_all(context) + d.events.end_all(context) +
                          d.modules.end_all(context);
    context->sticky = SUCCESS;
}

} /* namespace */

int cuInit(unsigned flags)
{
    Call call(__func__, Need::nothing);
    Driver &d = driver();

    if (call.error) {
        return call.error;
    }
    if (flags) {
        return INVALID_VALUE;
    }
    if (d.options.stub) {
        return STUB_LIBRARY;
    }
    if (d.options.devices == 0) {
        return NO_DEVICE;
    }
    d.initialised = true;
    return SUCCESS;
}

int cuDriverGetVersion(int *version)
{
    Call call(__func__, Need::nothing);
    if (!call.error && !version) {
        return INVALID_VALUE;
    }
    if (!call.error) {
        *version = DRIVER_VERSION;
    }
    return call.error;
}

int cuDeviceGetCount(int *count)
{
    Call call(__func__, Need::init);
    if (!call.error) {
        *count = (int)driver().options.devices;
    }
    return call.error;
}

int cuDeviceGet(Device *device, int ordinal)
{
    Call call(__func__, Need::init);
    if (!call.error && !is_device(ordinal)) {
        return INVALID_DEVICE;
    }
    if (!call.error) {
        *device = ordinal;
    }
    return call.error;
}

int cuDeviceGetName(char *name, int bytes, Device device)
{
    Call call(__func__, Need::init);
    if (!call.error && (!is_device(device) || bytes <= 0)) {
        return bytes <= 0 ? INVALID_VALUE : INVALID_DEVICE;
    }
    if (!call.error) {
        snprintf(name, (size_t)bytes, "Lanepack stand-in %d", device);
    }
    return call.error;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, Device device)
{
    Call call(__func__, Need::init);
    if (!call.error && !is_device(device)) {
        return INVALID_DEVICE;
    }
    if (!call.error) {
        memset(uuid, 0x10 + device, 16);
    }
    return call.error;
}

int cuDeviceTotalMem_v2(size_t *bytes, Device device)
{
    Call call(__func__, Need::init);
    if (!call.error && !is_device(device)) {
        return INVALID_DEVICE;
    }
    if (!call.error) {
        *bytes = driver().options.memory;
    }
    return call.error;
}

int cuDeviceGetAttribute(int *value, int attribute, Device device)
{
    Call call(__func__, Need::init);
    if (!call.error && !is_device(device)) {
        return INVALID_DEVICE;
    }
    return call.error ? call.error : attribute_value(attribute, device, value);
}

int cuDevicePrimaryCtxRetain(Context **context, Device device)
{
    Call call(__func__, Need::init);
    if (!call.error && !is_device(device)) {
        return INVALID_DEVICE;
    }
    if (!call.error) {
        *context = &driver().contexts[device];
        (*context)->retains++;
    }
    return call.error;
}

int cuDevicePrimaryCtxRelease_v2(Device device)
{
    Call call(__func__, Need::init);
    if (call.error) {
        return call.error;
    }
    if (!is_device(device)) {
        return INVALID_DEVICE;
    }
    Context &context = driver().contexts[device];
    if (context.retains == 0) {
        return INVALID_CONTEXT;
    }
    if (--context.retains == 0) {
        end_context(&context);
    }
    return SUCCESS;
}

int cuDevicePrimaryCtxGetState(Device device, unsigned *flags, int *active)
{
    Call call(__func__, Need::init);
    if (!call.error && !is_device(device)) {
        return INVALID_DEVICE;
    }
    if (!call.error) {
        *flags = 0;
        *active = driver().contexts[device].retains != 0;
    }
    return call.error;
}

static bool is_context(const Context *context)
{
    Driver &d = driver();
    return context >= d.contexts && context < d.contexts + MAX_DEVICES && context->retains;
}

int cuCtxSetCurrent(Context *context)
{
    Call call(__func__, Need::init);
    if (call.error) {
        return call.error;
    }
    if (context && !is_context(context)) {
        return INVALID_CONTEXT;
    }
    if (!context_stack().empty()) {
        context_stack().pop_back();
    }
    if (context) {
        context_stack().push_back(context);
    }
    return SUCCESS;
}

int cuCtxGetCurrent(Context **context)
{
    Call call(__func__, Need::init);
    if (!call.error) {
        *context = current_context();
    }
    return call.error;
}

int cuCtxPushCurrent_v2(Context *context)
{
    Call call(__func__, Need::init);
    if (!call.error && !is_context(context)) {
        return INVALID_CONTEXT;
    }
    if (!call.error) {
        context_stack().push_back(context);
    }
    return call.error;
}

int cuCtxPopCurrent_v2(Context **context)
{
    Call call(__func__, Need::init);
    if (!call.error && context_stack().empty()) {
        return INVALID_CONTEXT;
    }
    if (!call.error) {
        if (context) {
            *context = current_context();
        }
        context_stack().pop_back();
    }
    return call.error;
}

int cuCtxGetDevice(Device *device)
{
    Call call(__func__, Need::context);
    if (!call.error) {
        *device = current_context()->device;
    }
    return call.error;
}

int cuCtxSynchronize(void)
{
    Call call(__func__, Need::context, Capture::refused);
    if (!call.error) {
        run_everything(current_context());
    }
    return call.error;
}

int cuGetErrorName(int error, const char **name)
{
    switch (error) {
    case SUCCESS: *name = "CUDA_SUCCESS"; return SUCCESS;
#define X(constant, number, text)                                                                  \
    case constant: *name = "CUDA_ERROR_" #constant; return SUCCESS;
        STANDIN_ERRORS(X)
#undef X
    default: *name = nullptr; return INVALID_VALUE;
    }
}

int cuGetErrorString(int error, const char **text)
{
    switch (error) {
    case SUCCESS: *text = "no error"; return SUCCESS;
#define X(constant, number, words)                                                                 \
    case constant: *text = words; return SUCCESS;
        STANDIN_ERRORS(X)
#undef X
    default: *text = nullptr; return INVALID_VALUE;
    }
}

} /* namespace standin */
