/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in driver against its own promises: order, strictness, faults, aliases, leaks.
 *
 *   standin_test libcuda_standin_demo.so [case]     exit 0 all checks hold, 1 not, 2 usage */
#include "demo_format.hpp"
#include "standin.h"
#include "standin_abi.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

struct Api { /* every exported function, by dlsym, as the product's gateway has them */
#define X(function, parameters) decltype(&standin::function) function;
    STANDIN_FUNCTIONS(X)
#undef X
    decltype(&lp_standin_get_counts) get_counts;
    decltype(&lp_standin_report_leaks) report_leaks;
    decltype(&lp_standin_fail) fail;
    decltype(&lp_standin_calls) calls;
    decltype(&lp_standin_set) set;
    decltype(&lp_standin_reset) reset;
} api;

unsigned failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("FAILED at line %d: %s\n", __LINE__, #condition);                               \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

template <class F> void symbol(void *library, const char *name, F *ret)
{
    void *p = dlsym(library, name);
    if (!p) {
        printf("FAILED: no symbol %s\n", name);
        exit(1);
    }
    memcpy(ret, &p, sizeof p);
}

void open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("FAILED: %s\n", dlerror());
        exit(1);
    }
#define X(function, parameters) symbol(library, #function, &api.function);
    STANDIN_FUNCTIONS(X)
#undef X
    symbol(library, "lp_standin_get_counts", &api.get_counts);
    symbol(library, "lp_standin_report_leaks", &api.report_leaks);
    symbol(library, "lp_standin_fail", &api.fail);
    symbol(library, "lp_standin_calls", &api.calls);
    symbol(library, "lp_standin_set", &api.set);
    symbol(library, "lp_standin_reset", &api.reset);
}

const char PTX[] =
    ".version 8.0\n.target sm_80\n.entry demo_unpack(\n) {}\n.entry demo_add(\n) {}\n";

struct AddArgs {
    uint64_t in, out;
    uint32_t n, add;
};

struct Session { /* a current context and a module; gone again at the end of a case */
    standin::Context *context = nullptr;
    standin::ModuleHandle *module = nullptr;
    standin::Function *add = nullptr, *unpack = nullptr;

    Session()
    {
        CHECK(api.cuInit(0) == standin::SUCCESS);
        CHECK(api.cuDevicePrimaryCtxRetain(&context, 0) == standin::SUCCESS);
        CHECK(api.cuCtxSetCurrent(context) == standin::SUCCESS);
        CHECK(api.cuModuleLoadData(&module, PTX) == standin::SUCCESS);
        CHECK(api.cuModuleGetFunction(&add, module, "demo_add") == standin::SUCCESS);
        CHECK(api.cuModuleGetFunction(&unpack, module, "demo_unpack") == standin::SUCCESS);
    }
    ~Session()
    {
        CHECK(api.cuModuleUnload(module) == standin::SUCCESS);
        CHECK(api.cuDevicePrimaryCtxRelease_v2(0) == standin::SUCCESS);
        CHECK(api.cuCtxSetCurrent(nullptr) == standin::SUCCESS);
        CHECK(api.report_leaks() == 0);
        api.reset();
    }
    int launch_add(uint64_t in, uint64_t out, uint32_t n, uint32_t what, standin::Stream *stream)
    {
        AddArgs args = {in, out, n, what};
        void *params[] = {&args};
        return api.cuLaunchKernel(add, (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream, params, nullptr);
    }
};

standin::DevicePtr device_words(const uint32_t *words, size_t n)
{
    standin::DevicePtr p = 0;
    CHECK(api.cuMemAlloc_v2(&p, n * 4) == standin::SUCCESS);
    if (words) {
        CHECK(api.cuMemcpyHtoD_v2(p, words, n * 4) == standin::SUCCESS);
    }
    return p;
}

/* A whole use: device memory, copies, the demo kernel, the right values back. */
void case_unpack()
{
    Session s;
    const std::vector<uint32_t> values = demo::sample_values(5003);
    const demo::Packed packed = demo::pack(values);
    std::vector<uint32_t> got(values.size());
    uint32_t n = packed.n, escapes = 0;
    standin::DevicePtr words = device_words(packed.words.data(), packed.words.size());
    standin::DevicePtr offsets = device_words(packed.offsets.data(), packed.offsets.size());
    standin::DevicePtr out = device_words(nullptr, n), count = device_words(&escapes, 1);
    void *params[] = {&words, &offsets, &out, &n, &count};

    CHECK(api.cuLaunchKernel(s.unpack, 3, 1, 1, 128, 1, 1, 0, nullptr, params, nullptr) == 0);
    CHECK(api.cuMemcpyDtoH_v2(got.data(), out, n * 4) == 0);
    CHECK(api.cuMemcpyDtoH_v2(&escapes, count, 4) == 0);
    CHECK(got == values && escapes == demo::count_escapes(values));
    for (const standin::DevicePtr p : {words, offsets, out, count}) {
        CHECK(api.cuMemFree_v2(p) == 0);
    }
}

/* Nothing runs before something waits; streams keep their order; events carry it across. */
void case_order()
{
    Session s;
    standin::Stream *a = nullptr, *b = nullptr;
    standin::Event *event = nullptr;
    uint32_t word = 5, got = 0, *pinned = nullptr;
    const standin::DevicePtr x = device_words(&word, 1), y = device_words(nullptr, 1);
    struct lp_standin_counts before, counts;

    api.get_counts(&before);
    CHECK(api.cuStreamCreate(&a, standin::STREAM_NON_BLOCKING) == 0);
    CHECK(api.cuStreamCreate(&b, standin::STREAM_NON_BLOCKING) == 0);
    CHECK(api.cuEventCreate(&event, standin::EVENT_DISABLE_TIMING) == 0);
    CHECK(api.cuMemAllocHost_v2((void **)&pinned, 4) == 0);
    *pinned = 0;
    CHECK(s.launch_add(x, y, 1, 10, a) == 0);
    CHECK(api.cuEventRecord(event, a) == 0);
    CHECK(api.cuStreamWaitEvent(b, event, 0) == 0);
    CHECK(s.launch_add(y, x, 1, 100, b) == 0);
    CHECK(api.cuMemcpyDtoHAsync_v2(pinned, x, 4, b) == 0);
    api.get_counts(&counts);
    CHECK(counts.queued == 5 && counts.launches == before.launches && *pinned == 0);
    CHECK(api.cuStreamQuery(a) == standin::NOT_READY);
    CHECK(api.cuStreamSynchronize(b) == 0 && *pinned == 115);
    CHECK(api.cuMemcpyDtoH_v2(&got, y, 4) == 0 && got == 15);
    CHECK(api.cuEventDestroy_v2(event) == 0 && api.cuEventQuery(event) == standin::INVALID_HANDLE);
    CHECK(api.cuStreamDestroy_v2(a) == 0 && api.cuStreamDestroy_v2(b) == 0);
    CHECK(api.cuStreamSynchronize(a) == standin::INVALID_HANDLE);
    CHECK(api.cuMemFreeHost(pinned) == 0);
    CHECK(api.cuMemFree_v2(x) == 0 && api.cuMemFree_v2(y) == 0);
    CHECK(api.cuMemFree_v2(x) == standin::INVALID_VALUE);
}

/* Registration: what is refused, and that the device sees the same bytes at another address. */
void case_register(bool strict)
{
    Session s;
    const size_t bytes = 4 * 4096;
    const int fd = memfd_create("pool", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    uint32_t *rw = (uint32_t *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint32_t *ro = (uint32_t *)mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    const unsigned map = standin::REGISTER_PORTABLE | standin::REGISTER_DEVICEMAP;
    const unsigned ro_map = map | standin::REGISTER_READ_ONLY;
    standin::DevicePtr alias = 0;
    const standin::DevicePtr out = device_words(nullptr, 1024);
    std::vector<uint32_t> got(1024);
    struct lp_standin_counts counts;

    CHECK(api.set("ALIAS", strict ? "strict" : "1") == 0);
    for (uint32_t i = 0; i < bytes / 4; i++) {
        rw[i] = i;
    }
    CHECK(api.cuMemHostRegister_v2(ro, 0, ro_map) == standin::INVALID_VALUE);
    CHECK(api.cuMemHostRegister_v2(ro + 1, 4096, ro_map) == standin::INVALID_VALUE);
    CHECK(api.cuMemHostRegister_v2(ro, bytes, map) == standin::INVALID_VALUE); /* not writable */
    CHECK(api.cuMemHostRegister_v2(ro, bytes, ro_map | 64) == standin::INVALID_VALUE);
    CHECK(api.set("READ_ONLY", "0") == 0);
    CHECK(api.cuMemHostRegister_v2(ro, bytes, ro_map) == standin::NOT_SUPPORTED);
    CHECK(api.set("READ_ONLY", "1") == 0);
    CHECK(api.set("REGISTER_LIMIT", "8192") == 0);
    CHECK(api.cuMemHostRegister_v2(ro, bytes, ro_map) == standin::OUT_OF_MEMORY);
    CHECK(api.set("REGISTER_LIMIT", "1000000000") == 0);
    CHECK(api.cuMemHostRegister_v2(ro, bytes, ro_map) == 0);
    CHECK(api.cuMemHostRegister_v2((char *)ro + 4096, 4096, ro_map) ==
          standin::HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(api.cuMemHostGetDevicePointer_v2(&alias, ro + 8, 0) == 0 && alias != (uintptr_t)(ro + 8));
    CHECK(api.cuMemHostGetDevicePointer_v2(&alias, rw, 0) == standin::INVALID_VALUE);
    api.get_counts(&counts);
    CHECK(counts.registrations == 1 && counts.aliased == 1 && counts.registered_bytes == bytes);

    CHECK(s.launch_add(alias, out, 1024, 7, nullptr) == 0);
    CHECK(api.cuMemcpyDtoH_v2(got.data(), out, 4096) == 0 && got[0] == 15 && got[1023] == 1038);
    CHECK(ro[5] == 5); /* accessible again, also in strict mode */
    CHECK(s.launch_add((uintptr_t)ro, out, 1024, 7, nullptr) == standin::ILLEGAL_ADDRESS);
    CHECK(api.cuCtxSynchronize() == standin::ILLEGAL_ADDRESS); /* it sticks */
    api.reset();
    CHECK(api.cuMemHostUnregister(ro + 1024) == standin::HOST_MEMORY_NOT_REGISTERED);
    CHECK(api.cuMemHostUnregister(ro) == 0);
    CHECK(api.cuMemHostUnregister(ro) == standin::HOST_MEMORY_NOT_REGISTERED);
    CHECK(munmap(ro, bytes) == 0);
    CHECK(api.cuMemHostRegister_v2(ro, bytes, ro_map) == standin::INVALID_VALUE); /* not mapped */
    CHECK(api.set("ALIAS", "0") == 0);
    CHECK(api.cuMemFree_v2(out) == 0);
    munmap(rw, bytes);
    close(fd);
}

/* Faults strike once, at the call asked for; what is not released is reported. */
void case_faults()
{
    standin::DevicePtr p = 0;
    struct lp_standin_counts counts;
    {
        Session s;
        CHECK(api.fail("cuMemAlloc", 1, 0) == -1); /* no such function: the v2 one is meant */
        CHECK(api.fail("cuMemAlloc_v2", 2, 0) == 0);
        CHECK(api.cuMemAlloc_v2(&p, 16) == 0 && api.cuMemFree_v2(p) == 0);
        CHECK(api.cuMemAlloc_v2(&p, 16) == standin::OUT_OF_MEMORY);
        CHECK(api.cuMemAlloc_v2(&p, 16) == 0 && api.calls("cuMemAlloc_v2") == 3);
        CHECK(api.cuMemcpyHtoD_v2(p, "0123456789abcdefg", 17) == standin::INVALID_VALUE);
        CHECK(api.fail("cuMemFree_v2", 1, 999) == 0 && api.cuMemFree_v2(p) == 999);
        CHECK(api.set("MEMORY", "32") == 0);
        standin::DevicePtr q = 0;
        CHECK(api.cuMemAlloc_v2(&q, 17) == standin::OUT_OF_MEMORY);
        CHECK(api.cuMemAlloc_v2(&q, 16) == 0 && api.cuMemFree_v2(q) == 0);
        CHECK(api.set("MEMORY", "1000000000") == 0);
        CHECK(api.fail("cuLaunchKernel", 1, standin::LAUNCH_FAILED) == 0);
        CHECK(s.launch_add(p, p, 4, 1, nullptr) == standin::LAUNCH_FAILED);
        CHECK(api.cuMemFree_v2(p) == standin::LAUNCH_FAILED); /* it sticks */
        api.reset();
        api.get_counts(&counts);
        CHECK(counts.allocations == 1 && counts.allocated_bytes == 16);
        CHECK(api.cuMemFree_v2(p) == 0);
        CHECK(api.cuMemAlloc_v2(&p, 16) == 0); /* left to the context */
        CHECK(api.cuModuleUnload(s.module) == 0 && api.cuDevicePrimaryCtxRelease_v2(0) == 0);
        api.get_counts(&counts);
        CHECK(counts.freed_by_context == 1 && api.report_leaks() == 1);
        CHECK(api.cuMemAlloc_v2(&p, 16) == standin::INVALID_CONTEXT);
        api.reset();
        CHECK(api.cuDevicePrimaryCtxRetain(&s.context, 0) == 0);
        CHECK(api.cuModuleLoadData(&s.module, PTX) == 0);
    }
    CHECK(api.cuMemAlloc_v2(&p, 16) == standin::INVALID_CONTEXT);
}

/* A captured launch runs at each graph launch; waiting and allocating break a capture. */
void case_capture()
{
    Session s;
    standin::Stream *stream = nullptr;
    standin::Graph *graph = nullptr;
    standin::GraphExec *exec = nullptr;
    uint32_t word = 1, got = 0;
    const standin::DevicePtr x = device_words(&word, 1);
    standin::DevicePtr p = 0;

    CHECK(api.cuStreamCreate(&stream, standin::STREAM_NON_BLOCKING) == 0);
    CHECK(api.cuStreamBeginCapture_v2(stream, 0) == 0);
    CHECK(s.launch_add(x, x, 1, 2, stream) == 0);
    CHECK(api.cuStreamEndCapture(stream, &graph) == 0);
    CHECK(api.cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
    CHECK(api.cuGraphLaunch(exec, stream) == 0 && api.cuGraphLaunch(exec, stream) == 0);
    CHECK(api.cuStreamSynchronize(stream) == 0);
    CHECK(api.cuMemcpyDtoH_v2(&got, x, 4) == 0 && got == 5);
    CHECK(api.cuGraphExecDestroy(exec) == 0 && api.cuGraphDestroy(graph) == 0);
    CHECK(api.cuStreamBeginCapture_v2(stream, 0) == 0);
    CHECK(api.cuMemAlloc_v2(&p, 4) == standin::STREAM_CAPTURE_UNSUPPORTED);
    CHECK(api.cuStreamEndCapture(stream, &graph) == standin::STREAM_CAPTURE_INVALIDATED);
    CHECK(api.cuStreamDestroy_v2(stream) == 0 && api.cuMemFree_v2(x) == 0);
}

void call_from_callback(void *ret_error)
{
    *static_cast<int *>(ret_error) = api.cuCtxSynchronize();
}

/* What a caller may get wrong, and the answer. */
void case_misuse()
{
    const char *name = nullptr;
    CHECK(api.cuGetErrorName(712, &name) == 0 &&
          !strcmp(name, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"));
    CHECK(api.cuGetErrorString(123456, &name) == standin::INVALID_VALUE && !name);
    Session s;
    standin::ModuleHandle *module = nullptr;
    standin::Function *function = nullptr;
    uint32_t word = 0;
    const standin::DevicePtr x = device_words(&word, 1);
    void *params[] = {nullptr, nullptr, nullptr, nullptr, nullptr};
    const void *host = &word;
    int error = 0;

    CHECK(api.cuModuleLoadData(&module, "no image") == standin::INVALID_IMAGE);
    CHECK(api.cuModuleGetFunction(&function, s.module, "nope") == standin::NOT_FOUND);
    CHECK(api.cuLaunchKernel(s.add, 1, 1, 1, 1025, 1, 1, 0, nullptr, params, nullptr) ==
          standin::INVALID_VALUE);
    CHECK(api.cuLaunchKernel(s.add, 1, 1, 1, 32, 1, 1, 100000, nullptr, params, nullptr) ==
          standin::INVALID_VALUE);
    CHECK(api.cuLaunchHostFunc(nullptr, call_from_callback, &error) == 0);
    CHECK(api.cuCtxSynchronize() == 0 && error == standin::NOT_PERMITTED);
    CHECK(api.cuMemFree_v2(x) == 0);
    uint32_t n = 0;
    void *pageable[] = {&host, &host, &host, &n, &host};
    CHECK(api.cuLaunchKernel(s.unpack, 1, 1, 1, 128, 1, 1, 0, nullptr, pageable, nullptr) ==
          standin::ILLEGAL_ADDRESS);
    api.reset();
}

} /* namespace */

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: standin_test LIBRARY\n");
        return 2;
    }
    open_library(argv[1]);
    standin::DevicePtr p = 0;
    CHECK(api.cuMemAlloc_v2(&p, 16) == standin::NOT_INITIALIZED);
    case_unpack();
    case_order();
    case_register(false);
    case_register(true);
    case_faults();
    case_capture();
    case_misuse();
    printf("standin: %u checks failed\n", failures);
    return failures != 0;
}
