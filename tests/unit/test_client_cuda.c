/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers by a device behind lp_tensor_gather(), over the stand-in driver, which runs the product's
 * kernels on the CPU: the rows of the host, registrations counted and given back, and each call of
 * the driver failing once. LANEPACK_LIBCUDA names the driver; "none" as the suite's only test when
 * it can't be opened. */
#include "base/bytes.h"
#include "cuda/driver.h"
#include "cuda/gpu_device.h"
#include "cuda/gpu_launch.h"
#include "tests/lib/client_env.h"
#include "tests/lib/leak.h"
#include "tests/simt/standin.h"

#include <criterion/criterion.h>

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The stand-in has the kernels in itself and only looks whether an image is one, so this program
 * does not wait for nvcc. */
const unsigned char lp_gpu_kernels[] = "\177ELF";
const size_t lp_gpu_kernels_bytes = sizeof(lp_gpu_kernels);

#define N 200u
#define WORKSPACE (64u << 10)

static struct {
    int (*fail)(const char *function, unsigned nth, int error);
    uint64_t (*calls)(const char *function);
    int (*set)(const char *name, const char *value);
    int (*report_leaks)(void);
    void (*get_counts)(struct lp_standin_counts *counts);
} standin;

static void find(void *library, const char *name, void *to)
{
    void *const symbol = dlsym(library, name);

    CHECK(symbol != NULL, "no %s", name);
    memcpy(to, &symbol, sizeof(symbol));
}

static void need_standin(void)
{
    const char *path = getenv("LANEPACK_LIBCUDA");
    void *const library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    CHECK(library != NULL, "LANEPACK_LIBCUDA must name libcuda_standin.so");
    find(library, "lp_standin_fail", &standin.fail);
    find(library, "lp_standin_calls", &standin.calls);
    find(library, "lp_standin_set", &standin.set);
    find(library, "lp_standin_report_leaks", &standin.report_leaks);
    find(library, "lp_standin_get_counts", &standin.get_counts);
}

TestSuite(client_cuda, .init = need_standin);

static struct lp_standin_counts counts(void)
{
    struct lp_standin_counts now;

    standin.get_counts(&now);
    return now;
}

/* --- the device's side -------------------------------------------------------------------------
 */

/* What a caller brings: memory of the device, and a stream. */
struct device {
    struct lp_gpu *gpu;
    void *stream;
    uint64_t rows, out, status, workspace, default_row;
    uint64_t out_bytes;
};

static void must(int rc, const struct lp_error *err)
{
    CHECK(rc == 0, "%s", err->text);
}

static void device_init(struct device *device, uint64_t out_bytes)
{
    struct lp_error err = {.struct_size = sizeof(err)};

    memset(device, 0, sizeof(*device));
    device->out_bytes = out_bytes;
    must(lp_gpu_open(0, &device->gpu, &err), &err);
    must(lp_gpu_stream_open(device->gpu, &device->stream, &err), &err);
    must(lp_gpu_alloc(device->gpu, N * 8, &device->rows, &err), &err);
    must(lp_gpu_alloc(device->gpu, out_bytes, &device->out, &err), &err);
    must(lp_gpu_alloc(device->gpu, 8, &device->status, &err), &err);
    must(lp_gpu_alloc(device->gpu, WORKSPACE, &device->workspace, &err), &err);
    must(lp_gpu_alloc(device->gpu, 4096, &device->default_row, &err), &err);
}

static void device_fini(struct device *device)
{
    lp_gpu_free(device->gpu, device->rows);
    lp_gpu_free(device->gpu, device->out);
    lp_gpu_free(device->gpu, device->status);
    lp_gpu_free(device->gpu, device->workspace);
    lp_gpu_free(device->gpu, device->default_row);
    lp_gpu_stream_close(device->gpu, device->stream);
    lp_gpu_close(device->gpu);
}

static void *as_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* A gather of n rows with everything on the device; without numbers all rows. */
static struct lp_gather device_gather(const struct device *device, const void *rows,
                                      uint32_t index_bytes, uint64_t n)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct lp_gather gather;

    lp_options_init(&gather, sizeof(gather));
    if (rows != NULL) {
        must(lp_gpu_copy_in(device->gpu, device->rows, rows, n * index_bytes, &err), &err);
        gather.rows = as_pointer(device->rows);
    }
    gather.index_bytes = index_bytes;
    gather.n_rows = n;
    gather.dst = as_pointer(device->out);
    gather.dst_bytes = device->out_bytes;
    gather.device = 0;
    gather.stream = device->stream;
    gather.status_dev = as_pointer(device->status);
    return gather;
}

/* Wait, and fetch what came out; returns the status word. */
static uint64_t fetch(const struct device *device, uint8_t *back, uint64_t bytes)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    uint64_t status;

    must(lp_gpu_stream_wait(device->gpu, device->stream, &err), &err);
    must(lp_gpu_copy_out(device->gpu, back, device->out, bytes, &err), &err);
    must(lp_gpu_copy_out(device->gpu, &status, device->status, 8, &err), &err);
    return status;
}

static void random_rows(int64_t *wide, int32_t *narrow, uint64_t n_rows)
{
    uint64_t state = 11;

    for (size_t i = 0; i < N; i++) {
        wide[i] = (int64_t)(samples_next(&state) % n_rows);
        if (i % 5 == 1)
            wide[i] = wide[i - 1];
        narrow[i] = (int32_t)wide[i];
    }
}

static void assert_rows(const struct client_tensor *tensor, const int64_t *rows, size_t n,
                        const uint8_t *back)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(memcmp(back + i * tensor->row_bytes,
                            tensor->data + (uint64_t)rows[i] * tensor->row_bytes,
                            tensor->row_bytes),
                     0, "row %lld at %zu", (long long)rows[i], i);
}

/* --- what works --------------------------------------------------------------------------------
 */

static void gather_every_way(lp_tensor *reader, const struct client_tensor *tensor)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    uint8_t *back = malloc(tensor->bytes + N * tensor->row_bytes);
    struct device device;
    int64_t wide[N];
    int32_t narrow[N];

    random_rows(wide, narrow, tensor->n_rows);
    device_init(&device, LP_MAX(tensor->bytes, N * tensor->row_bytes));
    for (int k = 0; k < 5; k++) { /* 64 and 32 bits, on the device and on the host; all rows */
        const bool is_wide = k % 2 == 0;
        struct lp_gather gather = device_gather(&device,
                                                k == 4    ? NULL
                                                : is_wide ? (const void *)wide
                                                          : (const void *)narrow,
                                                is_wide ? 8 : 4, k == 4 ? tensor->n_rows : N);

        if (k == 2 || k == 3) {
            gather.rows = is_wide ? (const void *)wide : (const void *)narrow;
            gather.index_space = 1;
            gather.workspace = as_pointer(device.workspace);
            gather.workspace_bytes = WORKSPACE;
            gather.status_dev = k == 2 ? NULL : gather.status_dev; /* then checked on the host */
        }
        cr_assert_eq(lp_tensor_gather(reader, &gather, &err), 0, "%d: %s", k, err.text);
        const uint64_t bytes = k == 4 ? tensor->bytes : N * tensor->row_bytes;
        cr_assert_eq(fetch(&device, back, bytes), 0);
        if (k == 4)
            cr_assert_eq(memcmp(back, tensor->data, tensor->bytes), 0);
        else
            assert_rows(tensor, wide, N, back);
    }
    device_fini(&device);
    free(back);
}

/* Every codec, both layouts and word sizes of 1 to 8 bytes: the device gives the rows of the host.
 */
Test(client_cuda, gathers_as_the_host_does)
{
    static const struct {
        uint32_t dtype, codec, layout;
        int64_t rows, columns;
    } cases[] = {
        {LP_DTYPE_F32, LP_CODEC_RAW, LP_LAYOUT_PACKED, 300, 64},
        {LP_DTYPE_F32, LP_CODEC_IBP, LP_LAYOUT_PACKED, 300, 64},
        {LP_DTYPE_F32, LP_CODEC_LANE, LP_LAYOUT_PACKED, 300, 64},
        {LP_DTYPE_F32, LP_CODEC_LANE, LP_LAYOUT_SLOTTED, 300, 64},
        {LP_DTYPE_BF16, LP_CODEC_LANE, LP_LAYOUT_PACKED, 250, 100},
        {LP_DTYPE_F64, LP_CODEC_IBP, LP_LAYOUT_SLOTTED, 100, 32},
        {LP_DTYPE_U8, LP_CODEC_RAW, LP_LAYOUT_PACKED, 500, 0},
    };
    struct client_env env;

    client_env_daemon(&env, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        const struct lp_put_options options = {.struct_size = sizeof(options),
                                               .flags = LP_PUT_REPLACE,
                                               .codec = cases[i].codec,
                                               .layout = cases[i].layout};
        struct client_tensor tensor;

        client_tensor_init(&tensor, cases[i].dtype, cases[i].rows, cases[i].columns, SAMPLES_NORMAL,
                           i);
        must(lp_client_put(env.client, "t", &tensor.shape, tensor.data, &options, &err), &err);
        lp_tensor *reader = client_open(env.client, "t");
        gather_every_way(reader, &tensor);
        lp_tensor_close(reader);
        client_tensor_fini(&tensor);
    }
    client_env_fini(&env);
    cr_assert_eq(standin.report_leaks(), 0);
}

/* Several segments, each in a chunk of its own; the device's address of a chunk is not the host's.
 */
Test(client_cuda, reads_segments_at_the_devices_addresses)
{
    struct lp_register_info info = {.struct_size = sizeof(info)};
    struct lp_client_info client = {.struct_size = sizeof(client)};
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct client_env env;
    struct device device;
    int64_t wide[N];
    int32_t narrow[N];

    cr_assert_eq(standin.set("ALIAS", "1"), 0);
    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 20000, 256, SAMPLES_RANDOM, 1);
    tensor.codec = LP_CODEC_RAW;
    client_put(env.client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env.client, "t");
    must(lp_tensor_register(reader, 0, &info, &err), &err);
    cr_assert_eq(info.chunks, 3);
    cr_assert_eq(info.bytes, 3 * (8 << 20));
    cr_assert_str_eq(info.capability, "pinned");
    cr_assert_eq(counts().registrations, 3);
    cr_assert_eq(counts().aliased, 3);
    cr_assert_eq(lp_client_get_info(env.client, &client, &err), 0);
    cr_assert_str_eq(client.capability, "pinned");
    uint8_t *back = malloc(N * tensor.row_bytes);
    random_rows(wide, narrow, tensor.n_rows);
    device_init(&device, N * tensor.row_bytes);
    const struct lp_gather gather = device_gather(&device, narrow, 4, N);
    must(lp_tensor_gather(reader, &gather, &err), &err);
    cr_assert_eq(fetch(&device, back, N * tensor.row_bytes), 0);
    assert_rows(&tensor, wide, N, back);
    device_fini(&device);
    lp_tensor_close(reader);
    cr_assert_eq(counts().registrations, 0);
    free(back);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    cr_assert_eq(standin.report_leaks(), 0);
}

/* A bad row number: told by the status word, checked here without one, replaced by a default row.
 */
Test(client_cuda, tells_bad_rows)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct client_env env;
    struct device device;
    uint8_t back[N * 64 * 4], zeros[64 * 4] = {0};
    int64_t wide[N];
    int32_t narrow[N];

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 300, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env.client, "t");
    device_init(&device, sizeof(back));
    random_rows(wide, narrow, 300);
    wide[77] = narrow[77] = -1;
    struct lp_gather gather = device_gather(&device, narrow, 4, N);
    must(lp_tensor_gather(reader, &gather, &err), &err);
    cr_assert_eq(fetch(&device, back, sizeof(back)), 78);
    assert_rows(&tensor, wide, 77, back);
    must(lp_gpu_copy_in(device.gpu, device.default_row, zeros, sizeof(zeros), &err), &err);
    gather.default_row = as_pointer(device.default_row);
    must(lp_tensor_gather(reader, &gather, &err), &err);
    cr_assert_eq(fetch(&device, back, sizeof(back)), 0);
    cr_assert_eq(memcmp(back + 77 * sizeof(zeros), zeros, sizeof(zeros)), 0);
    assert_rows(&tensor, wide + 78, N - 78, back + 78 * sizeof(zeros));

    gather.default_row = NULL;
    gather.status_dev = NULL;
    cr_assert_eq(lp_tensor_gather(reader, &gather, &err), LP_EINVAL, "%s", err.text);
    gather.index_space = 1;
    gather.rows = narrow;
    gather.workspace = as_pointer(device.workspace);
    gather.workspace_bytes = WORKSPACE;
    cr_assert_eq(lp_tensor_gather(reader, &gather, &err), LP_ERANGE, "%s", err.text);
    cr_assert_not_null(strstr(err.text, "77"), "%s", err.text);
    gather.default_row = zeros;
    must(lp_tensor_gather(reader, &gather, &err), &err);
    must(lp_gpu_stream_wait(device.gpu, device.stream, &err), &err);
    gather.workspace_bytes = 8;
    cr_assert_eq(lp_tensor_gather(reader, &gather, &err), LP_ESIZE, "%s", err.text);
    gather.workspace_bytes = WORKSPACE;
    gather.dst_bytes = N * 64 * 4 - 1;
    cr_assert_eq(lp_tensor_gather(reader, &gather, &err), LP_ESIZE, "%s", err.text);
    device_fini(&device);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    cr_assert_eq(standin.report_leaks(), 0);
}

/* --- registration ------------------------------------------------------------------------------
 */

/* A chunk is registered once for all tensors of a client in it, and given back with the last. */
Test(client_cuda, counts_registrations)
{
    struct lp_register_info info = {.struct_size = sizeof(info)};
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct client_env env;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 300, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "one", &tensor, 0);
    client_put(env.client, "two", &tensor, 0);
    lp_tensor *one = client_open(env.client, "one");
    lp_tensor *two = client_open(env.client, "two");
    must(lp_tensor_register(one, 0, &info, &err), &err);
    cr_assert_eq(info.chunks, 1);
    must(lp_tensor_register(one, 0, &info, &err), &err);
    cr_assert_eq(info.chunks, 0); /* by this call, none */
    must(lp_tensor_register(two, 0, &info, &err), &err);
    cr_assert_eq(info.chunks, 0);
    cr_assert_eq(counts().registrations, 1);
    cr_assert_eq(lp_tensor_unregister(one, 0), 0);
    cr_assert_eq(lp_tensor_unregister(one, 0), 0);
    cr_assert_eq(lp_tensor_unregister(one, 5), 0);
    cr_assert_eq(counts().registrations, 1);
    lp_tensor_close(two);
    cr_assert_eq(counts().registrations, 0);
    must(lp_tensor_register(one, 0, NULL, &err), &err);
    lp_client_close(env.client); /* the tensor keeps it */
    env.client = NULL;
    cr_assert_eq(counts().registrations, 1);
    client_check(one, &tensor);
    lp_tensor_close(one);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    cr_assert_eq(standin.report_leaks(), 0);
}

/* What a device can't do is told by its kind; the host reads on. */
Test(client_cuda, tells_what_devices_refuse)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct lp_register_info info = {.struct_size = 0};
    struct client_tensor tensor;
    struct client_env env;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 300, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env.client, "t");
    cr_assert_eq(lp_tensor_register(reader, 9, NULL, &err), LP_ENODEV, "%s", err.text);
    cr_assert_eq(lp_tensor_register(reader, 0, &info, &err), LP_EINVAL);
    cr_assert_eq(standin.set("REGISTER_LIMIT", "4194304"), 0);
    cr_assert_eq(lp_tensor_register(reader, 0, NULL, &err), LP_EREGLIMIT, "%s", err.text);
    client_check(reader, &tensor);
    cr_assert_eq(standin.set("REGISTER_LIMIT", "1073741824"), 0);
    must(lp_tensor_register(reader, 0, NULL, &err), &err);
    lp_tensor_close(reader);
    lp_client_close(env.client);
    cr_assert_eq(standin.set("READ_ONLY", "0"), 0); /* asked once when a device is opened */
    env.client = client_connect(&env.daemon, 0, 0);
    reader = client_open(env.client, "t");
    cr_assert_eq(lp_tensor_register(reader, 0, NULL, &err), LP_EREG, "%s", err.text);
    client_check(reader, &tensor);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    cr_assert_eq(standin.report_leaks(), 0);
}

/* A child of fork() closes what it inherited without touching the device. */
Test(client_cuda, child_leaves_the_device_alone)
{
    struct lp_error err = {.struct_size = sizeof(err)};
    struct client_tensor tensor;
    struct client_env env;
    int status;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 300, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    lp_tensor *reader = client_open(env.client, "t");
    must(lp_tensor_register(reader, 0, NULL, &err), &err);
    const pid_t child = fork();
    if (child == 0) {
        const uint64_t released = standin.calls("cuMemHostUnregister");

        lp_tensor_close(reader);
        lp_client_close(env.client);
        _exit(standin.calls("cuMemHostUnregister") == released ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    client_check(reader, &tensor);
    lp_tensor_close(reader);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    cr_assert_eq(standin.report_leaks(), 0);
}

/* --- failures ----------------------------------------------------------------------------------
 */

/* What is used again and again: the tensor in memory, and a gather with all on the device. */
struct use {
    const struct client_tensor *tensor;
    const struct device *device;
    struct lp_gather gather;
};

/* Open the tensor, gather by the device, close. */
static int use_all(lp_client *client, const struct use *use, struct lp_error *err)
{
    lp_tensor *reader = client_open(client, "t");
    int rc;

    rc = lp_tensor_gather(reader, &use->gather, err);
    if (rc == 0)
        (void)lp_gpu_stream_wait(use->device->gpu, use->device->stream, NULL);
    client_check(reader, use->tensor);
    lp_tensor_close(reader);
    return rc;
}

static bool is_typed(int code)
{
    return code == LP_ENOMEM || code == LP_ENODEV || code == LP_EDEVICE || code == LP_EREG ||
           code == LP_EREGLIMIT;
}

/* Fail the first, second, ... call of one function of the driver until the whole use passes.
 * Returns how many were made to fail. */
static unsigned fail_each(const struct client_env *env, const struct use *use, const char *name)
{
    for (unsigned nth = 1;; nth++) {
        struct lp_error err = {.struct_size = sizeof(err)};
        lp_client *client = client_connect(&env->daemon, 0, 0);
        int rc;

        CHECK(standin.fail(name, nth, 0) == 0, "no %s", name);
        rc = use_all(client, use, &err);
        const bool came = standin.calls(name) >= nth;
        CHECK(standin.fail(name, 0, 0) == 0, "no %s", name);
        if (rc != 0) {
            CHECK(came && err.code == rc && is_typed(rc), "%s: %d %s", name, rc, err.text);
            CHECK(use_all(client, use, &err) == 0, "%s: %s", name, err.text);
        }
        lp_client_close(client);
        CHECK(counts().registrations == 0, "%s: a registration is left", name);
        if (!came)
            return nth - 1;
    }
}

Test(client_cuda, each_call_of_the_driver_may_fail)
{
    static const char *const names[] = {"cuDeviceGet",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuModuleLoadData",
                                        "cuMemHostRegister_v2",
                                        "cuMemHostGetDevicePointer_v2",
                                        "cuModuleGetFunction",
                                        "cuMemAlloc_v2",
                                        "cuMemcpyHtoD_v2",
                                        "cuLaunchKernel",
                                        "cuCtxPushCurrent_v2",
                                        "cuDeviceGetAttribute"};
    struct client_tensor tensor;
    struct client_env env;
    struct device device;
    struct use use = {&tensor, &device, {0}};
    int64_t wide[N];
    int32_t narrow[N];
    unsigned failed = 0;

    client_env_daemon(&env, NULL);
    client_tensor_init(&tensor, LP_DTYPE_F32, 300, 64, SAMPLES_NORMAL, 1);
    client_put(env.client, "t", &tensor, 0);
    random_rows(wide, narrow, tensor.n_rows);
    device_init(&device, N * tensor.row_bytes);
    use.gather = device_gather(&device, narrow, 4, N);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        failed += fail_each(&env, &use, names[i]);
    cr_assert_gt(failed, 12);
    device_fini(&device);
    client_tensor_fini(&tensor);
    client_env_fini(&env);
    cr_assert_eq(standin.report_leaks(), 0);
}
