/* SPDX-License-Identifier: Apache-2.0 */
/* A device: open, close, its memory and streams. Registration is gpu_register.c. */
#include "cuda/gpu.h"

#include "base/alloc.h"
#include "cuda/gpu_device.h"

#include <string.h>

int lp_gpu_count(struct lp_error *err)
{
    const struct lp_gpu_driver *const driver = lp_gpu_driver_get(err);

    return driver != NULL ? driver->n_devices : 0;
}

int lp_gpu_enter(const struct lp_gpu *gpu, struct lp_error *err)
{
    return lp_gpu_driver_check(gpu->driver, gpu->driver->context_push(gpu->context),
                               "cuCtxPushCurrent", err);
}

bool lp_gpu_enter_to_end(const struct lp_gpu *gpu)
{
    return lp_gpu_enter(gpu, NULL) == 0 || lp_gpu_enter(gpu, NULL) == 0;
}

void lp_gpu_leave(const struct lp_gpu *gpu)
{
    void *context;

    gpu->driver->context_pop(&context);
}

/* An attribute that the driver is too old to know has the cautious value. */
static int attribute(const struct lp_gpu *gpu, int number, int cautious, int *ret_value,
                     struct lp_error *err)
{
    const int result = gpu->driver->device_attribute(ret_value, number, gpu->device);

    if (result != LP_GPU_INVALID_VALUE)
        return lp_gpu_driver_check(gpu->driver, result, "cuDeviceGetAttribute", err);
    *ret_value = cautious;
    return 0;
}

static int read_attributes(struct lp_gpu *gpu, struct lp_error *err)
{
    struct lp_gpu_info *const info = &gpu->info;
    int major = 0, minor = 0, shared = 0, read_only = 0, tables = 0, rc;

    LP_TRY(rc, attribute(gpu, LP_GPU_ATTRIBUTE_COMPUTE_MAJOR, 0, &major, err));
    LP_TRY(rc, attribute(gpu, LP_GPU_ATTRIBUTE_COMPUTE_MINOR, 0, &minor, err));
    LP_TRY(rc, attribute(gpu, LP_GPU_ATTRIBUTE_MULTIPROCESSORS, 1, &info->multiprocessors, err));
    LP_TRY(rc, attribute(gpu, LP_GPU_ATTRIBUTE_SHARED_OPTIN_BYTES, 48 << 10, &shared, err));
    LP_TRY(rc, attribute(gpu, LP_GPU_ATTRIBUTE_READ_ONLY_REGISTER, 0, &read_only, err));
    LP_TRY(rc, attribute(gpu, LP_GPU_ATTRIBUTE_PAGEABLE_BY_HOST_TABLES, 0, &tables, err));
    if (info->multiprocessors < 1 || shared < 0)
        return lp_error_set(err, LP_EDEVICE, "device %d has %d multiprocessors", info->ordinal,
                            info->multiprocessors);
    info->compute = 10 * major + minor;
    info->shared_bytes = (uint32_t)shared;
    info->read_only_register = read_only != 0;
    info->host_page_tables = tables != 0;
    return 0;
}

static int read_info(struct lp_gpu *gpu, int ordinal, struct lp_error *err)
{
    struct lp_gpu_info *const info = &gpu->info;
    int rc;

    info->ordinal = ordinal;
    info->driver_version = gpu->driver->version;
    LP_TRY(rc, lp_gpu_driver_check(
                   gpu->driver,
                   gpu->driver->device_name(info->name, (int)sizeof(info->name), gpu->device),
                   "cuDeviceGetName", err));
    info->name[sizeof(info->name) - 1] = 0;
    return read_attributes(gpu, err);
}

static int load_kernels(struct lp_gpu *gpu, struct lp_error *err)
{
    int rc;

    if (lp_gpu_kernels_bytes == 0)
        return lp_error_set(err, LP_ENODEV, "built without kernels (there was no nvcc)");
    LP_TRY(rc, lp_gpu_enter(gpu, err));
    rc = lp_gpu_driver_check(gpu->driver, gpu->driver->module_load(&gpu->module, lp_gpu_kernels),
                             "cuModuleLoadData", err);
    lp_gpu_leave(gpu);
    return rc;
}

static int open_device(struct lp_gpu *gpu, int ordinal, struct lp_error *err)
{
    const struct lp_gpu_driver *const driver = gpu->driver;
    int rc;

    if (ordinal < 0 || ordinal >= driver->n_devices)
        return lp_error_set(err, LP_ENODEV, "no device %d, there are %d", ordinal,
                            driver->n_devices);
    LP_TRY(rc, lp_gpu_driver_check(driver, driver->device_get(&gpu->device, ordinal), "cuDeviceGet",
                                   err));
    LP_TRY(rc, lp_gpu_driver_check(driver, driver->context_retain(&gpu->context, gpu->device),
                                   "cuDevicePrimaryCtxRetain", err));
    rc = read_info(gpu, ordinal, err);
    if (rc == 0)
        rc = load_kernels(gpu, err);
    if (rc < 0)
        driver->context_release(gpu->device);
    return rc;
}

int lp_gpu_open(int ordinal, struct lp_gpu **ret_gpu, struct lp_error *err)
{
    const struct lp_gpu_driver *const driver = lp_gpu_driver_get(err);
    struct lp_gpu *gpu;
    int rc;

    if (driver == NULL)
        return LP_ENODEV;
    gpu = lp_mem_zalloc(sizeof(*gpu));
    if (gpu == NULL)
        return lp_error_set(err, LP_ENOMEM, "device %d", ordinal);
    gpu->driver = driver;
    LP_TRY_GOTO(rc, open_device(gpu, ordinal, err), free_gpu);
    if (pthread_mutex_init(&gpu->lock, NULL) != 0) {
        rc = lp_error_set(err, LP_ENOMEM, "lock of device %d", ordinal);
        goto close_device;
    }
    gpu->users = 1;
    *ret_gpu = gpu;
    return 0;

close_device:
    if (lp_gpu_enter_to_end(gpu)) {
        driver->module_unload(gpu->module);
        lp_gpu_leave(gpu);
    }
    driver->context_release(gpu->device);
free_gpu:
    lp_mem_free(gpu);
    return rc;
}

void lp_gpu_ref(struct lp_gpu *gpu)
{
    pthread_mutex_lock(&gpu->lock);
    gpu->users++;
    pthread_mutex_unlock(&gpu->lock);
}

void lp_gpu_unref(struct lp_gpu *gpu)
{
    bool last;

    pthread_mutex_lock(&gpu->lock);
    last = --gpu->users == 0;
    pthread_mutex_unlock(&gpu->lock);
    if (!last)
        return;
    if (lp_gpu_enter_to_end(gpu)) {
        gpu->driver->module_unload(gpu->module);
        lp_gpu_leave(gpu);
    }
    gpu->driver->context_release(gpu->device);
    pthread_mutex_destroy(&gpu->lock);
    lp_mem_free(gpu);
}

void lp_gpu_close(struct lp_gpu *gpu)
{
    if (gpu != NULL)
        lp_gpu_unref(gpu);
}

void lp_gpu_get_info(const struct lp_gpu *gpu, struct lp_gpu_info *ret_info)
{
    *ret_info = gpu->info;
}

/* --- memory and streams: each call between enter and leave ------------------------------------ */

/* Run one driver call in the device's context. */
#define IN_CONTEXT(gpu, rc, call, what, err)                                                       \
    do {                                                                                           \
        LP_TRY(rc, lp_gpu_enter((gpu), (err)));                                                    \
        (rc) = lp_gpu_driver_check((gpu)->driver, (gpu)->driver->call, (what), (err));             \
        lp_gpu_leave(gpu);                                                                         \
    } while (0)

int lp_gpu_alloc(struct lp_gpu *gpu, uint64_t bytes, uint64_t *ret_address, struct lp_error *err)
{
    int rc;

    IN_CONTEXT(gpu, rc, memory_alloc(ret_address, bytes), "cuMemAlloc", err);
    return rc;
}

void lp_gpu_free(struct lp_gpu *gpu, uint64_t address)
{
    if (address == 0 || !lp_gpu_enter_to_end(gpu))
        return;
    gpu->driver->memory_free(address);
    lp_gpu_leave(gpu);
}

int lp_gpu_copy_in(struct lp_gpu *gpu, uint64_t to, const void *from, uint64_t bytes,
                   struct lp_error *err)
{
    int rc;

    IN_CONTEXT(gpu, rc, copy_to_device(to, from, bytes), "cuMemcpyHtoD", err);
    return rc;
}

int lp_gpu_copy_out(struct lp_gpu *gpu, void *to, uint64_t from, uint64_t bytes,
                    struct lp_error *err)
{
    int rc;

    IN_CONTEXT(gpu, rc, copy_to_host(to, from, bytes), "cuMemcpyDtoH", err);
    return rc;
}

int lp_gpu_copy_in_async(struct lp_gpu *gpu, uint64_t to, const void *from, uint64_t bytes,
                         void *stream, struct lp_error *err)
{
    int rc;

    IN_CONTEXT(gpu, rc, copy_to_device_async(to, from, bytes, stream), "cuMemcpyHtoDAsync", err);
    return rc;
}

int lp_gpu_stream_open(struct lp_gpu *gpu, void **ret_stream, struct lp_error *err)
{
    int rc;

    IN_CONTEXT(gpu, rc, stream_create(ret_stream, 1 /* does not wait for the default stream */),
               "cuStreamCreate", err);
    return rc;
}

void lp_gpu_stream_close(struct lp_gpu *gpu, void *stream)
{
    if (stream == NULL || !lp_gpu_enter_to_end(gpu))
        return;
    gpu->driver->stream_destroy(stream);
    lp_gpu_leave(gpu);
}

int lp_gpu_stream_wait(struct lp_gpu *gpu, void *stream, struct lp_error *err)
{
    int rc;

    IN_CONTEXT(gpu, rc, stream_synchronize(stream), "cuStreamSynchronize", err);
    return rc;
}

/* begin, work, end; the context is current. */
static int time_between(const struct lp_gpu *gpu, void *stream, void *const event[2],
                        int (*work)(void *user, struct lp_error *err), void *user, float *ret_ms,
                        struct lp_error *err)
{
    const struct lp_gpu_driver *const driver = gpu->driver;
    int rc;

    LP_TRY(rc, lp_gpu_driver_check(driver, driver->event_record(event[0], stream), "cuEventRecord",
                                   err));
    LP_TRY(rc, work(user, err));
    LP_TRY(rc, lp_gpu_driver_check(driver, driver->event_record(event[1], stream), "cuEventRecord",
                                   err));
    LP_TRY(rc, lp_gpu_driver_check(driver, driver->event_synchronize(event[1]),
                                   "cuEventSynchronize", err));
    return lp_gpu_driver_check(driver, driver->event_elapsed(ret_ms, event[0], event[1]),
                               "cuEventElapsedTime", err);
}

int lp_gpu_time(struct lp_gpu *gpu, void *stream, int (*work)(void *user, struct lp_error *err),
                void *user, float *ret_milliseconds, struct lp_error *err)
{
    const struct lp_gpu_driver *const driver = gpu->driver;
    void *event[2] = {NULL, NULL};
    int rc;

    LP_TRY(rc, lp_gpu_enter(gpu, err));
    for (int i = 0; i < 2; i++)
        LP_TRY_GOTO(
            rc,
            lp_gpu_driver_check(driver, driver->event_create(&event[i], 0), "cuEventCreate", err),
            destroy);
    rc = time_between(gpu, stream, event, work, user, ret_milliseconds, err);
destroy:
    for (int i = 0; i < 2; i++) {
        if (event[i] != NULL)
            driver->event_destroy(event[i]);
    }
    lp_gpu_leave(gpu);
    return rc;
}
