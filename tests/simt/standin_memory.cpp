/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory, pinned and registered host memory, copies. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#include "standin_driver.hpp"

namespace standin {
namespace {

const unsigned char GARBAGE = 0xA5; /* device memory is not zeroed */
const size_t DEVICE_ALIGNMENT = 256; /* the driver's promise */

uint64_t allocated_bytes(Context *context)
{
    uint64_t sum = 0;
    for (const auto &a : driver().allocations) {
        sum += a.second.context == context && !a.second.host ? a.second.bytes : 0;
    }
    return sum;
}

uint64_t registered_bytes()
{
    uint64_t sum = 0;
    for (const auto &r : driver().registrations) {
        sum += r.second.bytes;
    }
    return sum;
}

/* Exact sizes from the heap: ASan then sees the first byte past the end. */
int allocate(size_t bytes, bool host, uintptr_t *ret_address)
{
    void *p = nullptr;
    Context *context = current_context();
    if (bytes == 0) {
        return INVALID_VALUE;
    }
    if ((!host && bytes > driver().options.memory - allocated_bytes(context)) ||
        posix_memalign(&p, DEVICE_ALIGNMENT, bytes)) {
        return OUT_OF_MEMORY;
    }
    memset(p, GARBAGE, bytes);
    driver().allocations[(uintptr_t)p] = {context, bytes, host};
    *ret_address = (uintptr_t)p;
    return SUCCESS;
}

/* Freeing waits for the device, as cuMemFree does. */
int release(uintptr_t address, bool host)
{
    Driver &d = driver();
    const auto found = d.allocations.find(address);
    if (found == d.allocations.end() || found->second.host != host) {
        return INVALID_VALUE;
    }
    run_everything(found->second.context);
    d.allocations.erase(found);
    free(reinterpret_cast<void *>(address));
    return SUCCESS;
}

template <class Map> bool within(const Map &map, uintptr_t address, size_t bytes, uintptr_t *begin)
{
    auto found = map.upper_bound(address);
    if (found == map.begin()) {
        return false;
    }
    --found;
    *begin = found->first;
    const size_t offset = address - found->first;
    return offset < found->second.bytes && bytes <= found->second.bytes - offset;
}

/* Protection that the whole range has in the process's memory map; -1: not all of it is mapped. */
int mapped_protection(uintptr_t begin, size_t bytes)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    int protection = PROT_READ | PROT_WRITE;
    uintptr_t reached = begin;
    char line[512];

    while (maps && reached < begin + bytes && fgets(line, sizeof line, maps)) {
        unsigned long from = 0, to = 0;
        char r = 0, w = 0;
        if (sscanf(line, "%lx-%lx %c%c", &from, &to, &r, &w) != 4 || to <= reached) {
            continue;
        }
        if (from > reached) {
            break;
        }
        protection &= (r == 'r' ? PROT_READ : 0) | (w == 'w' ? PROT_WRITE : 0);
        reached = to;
    }
    if (maps) {
        fclose(maps);
    }
    return reached >= begin + bytes && (protection & PROT_READ) ? protection : -1;
}

/* The same pages once more. mremap with an old size of 0 duplicates a shared mapping; private
 * memory cannot be had twice and keeps the host's address. */
uintptr_t map_alias(void *p, size_t bytes, bool read_only)
{
    if (driver().options.alias == Alias::off || (uintptr_t)p % PAGE_BYTES) {
        return (uintptr_t)p;
    }
    void *alias = mremap(p, 0, bytes, MREMAP_MAYMOVE);
    if (alias == MAP_FAILED) {
        return (uintptr_t)p;
    }
    if (read_only) {
        mprotect(alias, bytes, PROT_READ);
    }
    return (uintptr_t)alias;
}

void unmap_alias(uintptr_t host, const Registration &r)
{
    if (r.alias != host) {
        munmap(reinterpret_cast<void *>(r.alias), r.bytes);
    }
}

int check_registration(uintptr_t p, size_t bytes, unsigned flags)
{
    const Options &o = driver().options;
    const unsigned known = REGISTER_PORTABLE | REGISTER_DEVICEMAP | REGISTER_READ_ONLY;

    if (!p || !bytes || (flags & ~(known | REGISTER_IOMEMORY)) || p + bytes < p) {
        return INVALID_VALUE;
    }
    if (flags & REGISTER_IOMEMORY || (flags & REGISTER_READ_ONLY && !o.read_only)) {
        return NOT_SUPPORTED;
    }
    if (o.align && (p % PAGE_BYTES || bytes % PAGE_BYTES)) {
        return INVALID_VALUE;
    }
    for (const auto &r : driver().registrations) {
        if (p < r.first + r.second.bytes && r.first < p + bytes) {
            return HOST_MEMORY_ALREADY_REGISTERED;
        }
    }
    const uint64_t used = registered_bytes();
    return used > o.register_limit || bytes > o.register_limit - used ? OUT_OF_MEMORY : SUCCESS;
}

using Copy = std::function<void()>;

/* Synchronous forms: on the default stream, done on return. */
int run_now(const Copy &copy)
{
    Stream *stream = find_stream(nullptr);
    enqueue(stream, copy);
    run_stream(stream);
    return SUCCESS;
}

int run_later(Stream *handle, const Copy &copy)
{
    Stream *stream = find_stream(handle);
    if (!stream) {
        return INVALID_HANDLE;
    }
    enqueue(stream, copy);
    return SUCCESS;
}

Copy copy_bytes(void *dst, const void *src, size_t bytes)
{
    return [=] { memcpy(dst, src, bytes); };
}

Copy fill_words(void *dst, unsigned value, size_t n)
{
    return [=] { std::fill_n(static_cast<uint32_t *>(dst), n, value); };
}

/* cuMemset of n words: NULL when they are not all device memory. */
void *words_at(DevicePtr dst, size_t n)
{
    return dst % 4 || n > SIZE_MAX / 4 ? nullptr : device_memory(dst, n * 4);
}

} /* namespace */

unsigned char *device_memory(DevicePtr address, size_t bytes)
{
    Driver &d = driver();
    uintptr_t begin = 0;

    if (within(d.allocations, address, bytes, &begin)) {
        return reinterpret_cast<unsigned char *>(address);
    }
    for (const auto &r : d.registrations) {
        const bool mapped = r.second.flags & REGISTER_DEVICEMAP;
        if (mapped && address >= r.second.alias && address - r.second.alias < r.second.bytes &&
            bytes <= r.second.bytes - (address - r.second.alias)) {
            return reinterpret_cast<unsigned char *>(address);
        }
    }
    return nullptr;
}

const Registration *registration_of_host(uintptr_t address, uintptr_t *ret_begin)
{
    return within(driver().registrations, address, 1, ret_begin)
               ? &driver().registrations.at(*ret_begin)
               : nullptr;
}

bool is_pinned(const void *p, size_t bytes)
{
    uintptr_t begin = 0;
    Driver &d = driver();
    return within(d.registrations, (uintptr_t)p, bytes, &begin) ||
           (within(d.allocations, (uintptr_t)p, bytes, &begin) && d.allocations.at(begin).host);
}

void end_memory_of(Context *context)
{
    Driver &d = driver();

    for (auto a = d.allocations.begin(); a != d.allocations.end();) {
        if (a->second.context == context) {
            free(reinterpret_cast<void *>(a->first));
            a = d.allocations.erase(a);
            d.freed_by_context++;
        } else {
            ++a;
        }
    }
    for (auto r = d.registrations.begin(); r != d.registrations.end();) {
        if (r->second.context == context) {
            unmap_alias(r->first, r->second);
            r = d.registrations.erase(r);
            d.freed_by_context++;
        } else {
            ++r;
        }
    }
}

void protect_host_aliases(bool hide)
{
    Driver &d = driver();
    if (d.options.alias != Alias::strict) {
        return;
    }
    for (const auto &r : d.registrations) {
        if (r.second.alias != r.first) {
            mprotect(reinterpret_cast<void *>(r.first), r.second.bytes,
                     hide ? PROT_NONE : r.second.protection);
        }
    }
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    Call call(__func__, Need::context);
    if (!call.error) {
        *total_bytes = driver().options.memory;
        *free_bytes = *total_bytes - allocated_bytes(current_context());
    }
    return call.error;
}

int cuMemAlloc_v2(DevicePtr *address, size_t bytes)
{
    Call call(__func__, Need::context, Capture::refused);
    uintptr_t p = 0;
    const int error = call.error ? call.error : allocate(bytes, false, &p);
    if (!error) {
        *address = p;
    }
    return error;
}

int cuMemFree_v2(DevicePtr address)
{
    Call call(__func__, Need::context, Capture::refused);
    return call.error || !address ? call.error : release(address, false);
}

int cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
    Call call(__func__, Need::context, Capture::refused);
    uintptr_t address = 0;
    const unsigned known = 7; /* portable, device-map, write-combined */
    const int error = call.error          ? call.error
                      : (flags & ~known) ? (int)INVALID_VALUE
                                          : allocate(bytes, true, &address);
    if (!error) {
        *p = reinterpret_cast<void *>(address);
    }
    return error;
}

int cuMemAllocHost_v2(void **p, size_t bytes)
{
    Call call(__func__, Need::context, Capture::refused);
    uintptr_t address = 0;
    const int error = call.error ? call.error : allocate(bytes, true, &address);
    if (!error) {
        *p = reinterpret_cast<void *>(address);
    }
    return error;
}

int cuMemFreeHost(void *p)
{
    Call call(__func__, Need::context, Capture::refused);
    return call.error ? call.error : release((uintptr_t)p, true);
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
    Call call(__func__, Need::context, Capture::refused);
    const int error = call.error ? call.error : check_registration((uintptr_t)p, bytes, flags);
    if (error) {
        return error;
    }
    const int protection = mapped_protection((uintptr_t)p, bytes);
    const bool read_only = flags & REGISTER_READ_ONLY;
    if (protection < 0 || (!(protection & PROT_WRITE) && !read_only)) {
        return INVALID_VALUE;
    }
    const uintptr_t alias = map_alias(p, bytes, read_only);
    driver().registrations[(uintptr_t)p] = {current_context(), bytes, flags, alias, protection};
    return SUCCESS;
}

int cuMemHostUnregister(void *p)
{
    Call call(__func__, Need::context, Capture::refused);
    Driver &d = driver();
    if (call.error) {
        return call.error;
    }
    const auto found = d.registrations.find((uintptr_t)p);
    if (found == d.registrations.end()) {
        return HOST_MEMORY_NOT_REGISTERED;
    }
    unmap_alias(found->first, found->second);
    d.registrations.erase(found);
    return SUCCESS;
}

int cuMemHostGetDevicePointer_v2(DevicePtr *address, void *p, unsigned flags)
{
    Call call(__func__, Need::context);
    uintptr_t begin = 0;
    if (call.error) {
        return call.error;
    }
    const Registration *r = registration_of_host((uintptr_t)p, &begin);
    if (flags || (!r && !is_pinned(p, 1)) || (r && !(r->flags & REGISTER_DEVICEMAP))) {
        return INVALID_VALUE;
    }
    *address = r ? r->alias + ((uintptr_t)p - begin) : (uintptr_t)p;
    return SUCCESS;
}

/* Where an address belongs: its range and, for registered memory, both addresses. */
struct Range {
    uintptr_t host, device;
    size_t bytes;
    Context *context;
    bool is_host;
};

static bool find_range(uintptr_t address, Range *ret)
{
    Driver &d = driver();
    uintptr_t begin = 0;

    if (within(d.allocations, address, 1, &begin)) {
        const Allocation &a = d.allocations.at(begin);
        *ret = {begin, begin, a.bytes, a.context, a.host};
        return true;
    }
    for (const auto &[host, r] : d.registrations) {
        if (address - host < r.bytes || address - r.alias < r.bytes) {
            *ret = {host, r.alias, r.bytes, r.context, true};
            return true;
        }
    }
    return false;
}

int cuPointerGetAttribute(void *data, int attribute, DevicePtr address)
{
    Call call(__func__, Need::context);
    Range r;
    if (call.error) {
        return call.error;
    }
    if (!find_range(address, &r)) {
        return INVALID_VALUE;
    }
    const bool by_host = address - r.host < r.bytes;
    const uintptr_t offset = address - (by_host ? r.host : r.device);
    switch (attribute) {
    case POINTER_CONTEXT: *static_cast<Context **>(data) = r.context; return SUCCESS;
    case POINTER_MEMORY_TYPE:
        *static_cast<unsigned *>(data) = r.is_host ? MEMORY_HOST : MEMORY_DEVICE;
        return SUCCESS;
    case POINTER_DEVICE_POINTER:
        *static_cast<DevicePtr *>(data) = r.device + offset;
        return SUCCESS;
    case POINTER_HOST_POINTER:
        if (!r.is_host) {
            return INVALID_VALUE;
        }
        *static_cast<uintptr_t *>(data) = r.host + offset;
        return SUCCESS;
    case POINTER_DEVICE_ORDINAL: *static_cast<int *>(data) = r.context->device; return SUCCESS;
    case POINTER_RANGE_START_ADDR: *static_cast<uintptr_t *>(data) = r.device; return SUCCESS;
    case POINTER_RANGE_SIZE: *static_cast<size_t *>(data) = r.bytes; return SUCCESS;
    default: return INVALID_VALUE;
    }
}

int cuMemcpyHtoD_v2(DevicePtr dst, const void *src, size_t bytes)
{
    Call call(__func__, Need::context, Capture::refused);
    void *to = call.error ? nullptr : device_memory(dst, bytes);
    return call.error ? call.error : !to ? (int)INVALID_VALUE : run_now(copy_bytes(to, src, bytes));
}

int cuMemcpyDtoH_v2(void *dst, DevicePtr src, size_t bytes)
{
    Call call(__func__, Need::context, Capture::refused);
    const void *from = call.error ? nullptr : device_memory(src, bytes);
    return call.error ? call.error
           : !from    ? (int)INVALID_VALUE
                      : run_now(copy_bytes(dst, from, bytes));
}

int cuMemcpyDtoD_v2(DevicePtr dst, DevicePtr src, size_t bytes)
{
    Call call(__func__, Need::context, Capture::refused);
    void *to = call.error ? nullptr : device_memory(dst, bytes);
    const void *from = call.error ? nullptr : device_memory(src, bytes);
    return call.error     ? call.error
           : !to || !from ? (int)INVALID_VALUE
                          : run_now(copy_bytes(to, from, bytes));
}

/* From pageable memory the driver copies before it returns; from pinned memory only later, so the
 * source must stay. */
int cuMemcpyHtoDAsync_v2(DevicePtr dst, const void *src, size_t bytes, Stream *stream)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    void *to = device_memory(dst, bytes);
    if (!to) {
        return INVALID_VALUE;
    }
    if (is_pinned(src, bytes)) {
        return run_later(stream, copy_bytes(to, src, bytes));
    }
    const char *from = static_cast<const char *>(src);
    const std::vector<char> staged(from, from + bytes);
    return run_later(stream, [=] { memcpy(to, staged.data(), bytes); });
}

/* To pageable memory the driver returns when the copy has been done. */
int cuMemcpyDtoHAsync_v2(void *dst, DevicePtr src, size_t bytes, Stream *handle)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    const void *from = device_memory(src, bytes);
    Stream *stream = find_stream(handle);
    if (!from || !stream) {
        return stream ? INVALID_VALUE : INVALID_HANDLE;
    }
    enqueue(stream, copy_bytes(dst, from, bytes));
    if (!is_pinned(dst, bytes) && !stream->capture) {
        run_stream(stream);
    }
    return SUCCESS;
}

int cuMemcpyDtoDAsync_v2(DevicePtr dst, DevicePtr src, size_t bytes, Stream *stream)
{
    Call call(__func__, Need::context);
    if (call.error) {
        return call.error;
    }
    void *to = device_memory(dst, bytes);
    const void *from = device_memory(src, bytes);
    return to && from ? run_later(stream, copy_bytes(to, from, bytes)) : (int)INVALID_VALUE;
}

int cuMemsetD8_v2(DevicePtr dst, unsigned char value, size_t n)
{
    Call call(__func__, Need::context, Capture::refused);
    void *to = call.error ? nullptr : device_memory(dst, n);
    return call.error ? call.error
           : !to      ? (int)INVALID_VALUE
                      : run_now([=] { memset(to, value, n); });
}

int cuMemsetD32_v2(DevicePtr dst, unsigned value, size_t n)
{
    Call call(__func__, Need::context, Capture::refused);
    void *to = call.error ? nullptr : words_at(dst, n);
    return call.error ? call.error : !to ? (int)INVALID_VALUE : run_now(fill_words(to, value, n));
}

int cuMemsetD8Async(DevicePtr dst, unsigned char value, size_t n, Stream *stream)
{
    Call call(__func__, Need::context);
    void *to = call.error ? nullptr : device_memory(dst, n);
    return call.error ? call.error
           : !to      ? (int)INVALID_VALUE
                      : run_later(stream, [=] { memset(to, value, n); });
}

int cuMemsetD32Async(DevicePtr dst, unsigned value, size_t n, Stream *stream)
{
    Call call(__func__, Need::context);
    void *to = call.error ? nullptr : words_at(dst, n);
    return call.error ? call.error
           : !to      ? (int)INVALID_VALUE
                      : run_later(stream, fill_words(to, value, n));
}

} /* namespace standin */
