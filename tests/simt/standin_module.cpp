/* SPDX-License-Identifier: Apache-2.0 */
/* Module images, kernels by name, launches. */
#include <cstdio>
#include <cstring>

#include "standin_driver.hpp"

namespace standin {
namespace {

/* The stand-in cannot run an image; it runs the kernels that it was linked with. It does check that
 * the caller loads one of the forms that a driver takes: a fatbin, its wrapper, ELF or PTX text. */
bool is_image(const void *image, bool *ret_text)
{
    uint32_t magic = 0;
    const char *text = static_cast<const char *>(image);

    memcpy(&magic, image, sizeof magic);
    *ret_text = false;
    if (magic == 0xBA55ED50u || magic == 0x466243B1u || memcmp(text, "\177ELF", 4) == 0) {
        return true;
    }
    /* PTX begins with comments or with .version; four bytes are all that may be read blindly. */
    *ret_text = memcmp(text, "//", 2) == 0 || memcmp(text, ".ver", 4) == 0;
    return *ret_text && strstr(text, ".version");
}

int load(ModuleHandle **module, const void *image)
{
    bool text = false;
    if (!image || !module) {
        return INVALID_VALUE;
    }
    if (!is_image(image, &text)) {
        return INVALID_IMAGE;
    }
    *module = driver().modules.make();
    (*module)->context = current_context();
    if (text) {
        (*module)->ptx = static_cast<const char *>(image);
    }
    return SUCCESS;
}

const simt::Exported *find_kernel(const ModuleHandle &module, const std::string &name)
{
    if (!module.ptx.empty() && module.ptx.find(".entry " + name + "(") == std::string::npos) {
        return nullptr;
    }
    for (const simt::Exported &kernel : simt::exported_kernels()) {
        if (name == kernel.name) {
            return &kernel;
        }
    }
    return nullptr;
}

/* A pointer that the device cannot use. True: found one, and said so. Whole parameters of pointer
 * type must be device addresses; within structs only host addresses of registered memory are
 * recognisable, word by word. */
bool has_bad_address(const simt::Exported &kernel, const std::vector<std::vector<char>> &params)
{
    for (size_t i = 0; i < params.size(); i++) {
        for (size_t at = 0; at + 8 <= params[i].size(); at += 8) {
            uintptr_t word = 0, begin = 0;
            memcpy(&word, &params[i][at], sizeof word);
            const Registration *r = registration_of_host(word, &begin);
            if (r && r->alias != begin) {
                fprintf(stderr, "standin: %s: parameter %zu, byte %zu is the host address of "
                                "registered memory, not its device address\n", kernel.name, i, at);
                return true;
            }
            if (kernel.params[i].is_pointer && word && !device_memory(word, 1)) {
                fprintf(stderr,
                        "standin: %s: parameter %zu points at nothing that the device has\n",
                        kernel.name, i);
                return true;
            }
        }
    }
    return false;
}

bool fits(const Function &f, dim3 grid, dim3 block, unsigned dynamic_bytes)
{
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    return grid.x && grid.y && grid.z && grid.x <= 0x7fffffffu && grid.y <= 65535 &&
           grid.z <= 65535 && threads && threads <= 1024 && block.z <= 64 &&
           dynamic_bytes <= (unsigned)f.max_dynamic_bytes;
}

} /* namespace */

int cuModuleLoadData(ModuleHandle **module, const void *image)
{
    Call call(__func__, Need::context, Capture::refused);
    return call.error ? call.error : load(module, image);
}

int cuModuleLoadDataEx(ModuleHandle **module, const void *image, unsigned, int *, void **)
{
    Call call(__func__, Need::context, Capture::refused);
    return call.error ? call.error : load(module, image);
}

int cuModuleUnload(ModuleHandle *module)
{
    Call call(__func__, Need::context, Capture::refused);
    if (call.error) {
        return call.error;
    }
    if (!driver().modules.has(module)) {
        return INVALID_HANDLE;
    }
    run_everything(current_context());
    driver().modules.end(module);
    return SUCCESS;
}

int cuModuleGetFunction(Function **function, ModuleHandle *module, const char *name)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    if (!driver().modules.has(module)) {
        return INVALID_HANDLE;
    }
    const simt::Exported *kernel = find_kernel(*module, name);
    if (!kernel) {
        return NOT_FOUND;
    }
    *function = driver().functions.make();
    (*function)->module = module;
    (*function)->kernel = kernel;
    return SUCCESS;
}

static bool is_function(const Function *f)
{
    return driver().functions.has(f) && driver().modules.has(f->module);
}

int cuFuncGetAttribute(int *value, int attribute, Function *function)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    if (!is_function(function)) {
        return INVALID_HANDLE;
    }
    switch (attribute) {
    case FUNCTION_MAX_THREADS_PER_BLOCK: *value = 1024; return SUCCESS;
    case FUNCTION_SHARED_SIZE_BYTES: *value = 0; return SUCCESS; /* known only while it runs */
    case FUNCTION_NUM_REGS: *value = 32; return SUCCESS;
    case FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->max_dynamic_bytes;
        return SUCCESS;
    default: return INVALID_VALUE;
    }
}

int cuFuncSetAttribute(Function *function, int attribute, int value)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    if (!is_function(function)) {
        return INVALID_HANDLE;
    }
    if (attribute != FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 163 << 10) {
        return INVALID_VALUE;
    }
    function->max_dynamic_bytes = value;
    return SUCCESS;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function, int threads,
                                                size_t dynamic_bytes)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    if (!is_function(function) || threads <= 0 || threads > 1024) {
        return INVALID_VALUE;
    }
    const int by_threads = 2048 / ((threads + 31) / 32 * 32);
    const int by_shared = dynamic_bytes ? (int)((164u << 10) / dynamic_bytes) : 32;
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    return SUCCESS;
}

int cuLaunchKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_bytes,
                   Stream *handle, void **params, void **extra)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    Stream *stream = find_stream(handle);
    if (!stream || !is_function(function)) {
        return INVALID_HANDLE;
    }
    const simt::Exported &kernel = *function->kernel;
    const dim3 grid(grid_x, grid_y, grid_z), block(block_x, block_y, block_z);
    if (extra || (!params && !kernel.params.empty()) ||
        !fits(*function, grid, block, dynamic_bytes)) {
        return INVALID_VALUE;
    }
    std::vector<std::vector<char>> values; /* copied now: the caller's may go after the call */
    for (size_t i = 0; i < kernel.params.size(); i++) {
        const char *from = static_cast<const char *>(params[i]);
        values.emplace_back(from, from + kernel.params[i].bytes);
    }
    if (has_bad_address(kernel, values)) {
        current_context()->sticky = ILLEGAL_ADDRESS;
        return ILLEGAL_ADDRESS;
    }
    enqueue(stream, [=]() mutable {
        std::vector<void *> pointers;
        for (std::vector<char> &v : values) {
            pointers.push_back(v.data());
        }
        driver().launches++;
        protect_host_aliases(true);
        kernel.launch(grid, block, dynamic_bytes, pointers.data());
        protect_host_aliases(false);
    });
    return SUCCESS;
}

int cuLaunchHostFunc(Stream *handle, void (*function)(void *), void *user)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    Stream *stream = find_stream(handle);
    if (!stream || !function) {
        return stream ? INVALID_VALUE : INVALID_HANDLE;
    }
    enqueue(stream, [=] { function(user); });
    return SUCCESS;
}

} /* namespace standin */
