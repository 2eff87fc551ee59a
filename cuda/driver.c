/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the driver library, once. */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static struct lp_gpu_driver the_driver;
static bool usable;
static struct lp_error why_not = LP_ERROR_INIT;

/* Every function, or the name of one that is missing. */
static const char *find_calls(struct lp_gpu_driver *driver, void *library)
{
    void *symbol;

    /* A function pointer has the size of an object pointer wherever dlsym() exists. */
#define X(member, name, params)                                                                    \
    symbol = dlsym(library, #name);                                                                \
    if (symbol == NULL)                                                                            \
        return #name;                                                                              \
    memcpy(&driver->member, &symbol, sizeof(symbol));
    LP_GPU_DRIVER_CALLS(X)
#undef X
    return NULL;
}

static int fail_init(int result, const struct lp_gpu_driver *driver)
{
    if (result == LP_GPU_STUB_LIBRARY)
        return lp_error_set(&why_not, LP_ENODEV,
                            "the driver library is the toolkit's stub, not a driver");
    if (result == LP_GPU_NO_DEVICE)
        return lp_error_set(&why_not, LP_ENODEV, "the driver finds no device");
    lp_gpu_driver_check(driver, result, "cuInit", &why_not);
    why_not.code = LP_ENODEV;
    return LP_ENODEV;
}

static int start(struct lp_gpu_driver *driver, const char *path)
{
    int result = driver->init(0);

    if (result != LP_GPU_SUCCESS)
        return fail_init(result, driver);
    if (driver->get_version(&driver->version) != LP_GPU_SUCCESS)
        driver->version = 0;
    result = driver->device_count(&driver->n_devices);
    if (result != LP_GPU_SUCCESS || driver->n_devices < 1)
        return lp_error_set(&why_not, LP_ENODEV, "no device: %s counts %d", path,
                            result == LP_GPU_SUCCESS ? driver->n_devices : 0);
    return 0;
}

static void open_driver(void)
{
    const char *const from_environment = getenv("LANEPACK_LIBCUDA");
    const char *const path = from_environment != NULL ? from_environment : "libcuda.so.1";
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *missing;

    if (library == NULL) {
        lp_error_set(&why_not, LP_ENODEV, "no driver: %s", dlerror());
        return;
    }
    missing = find_calls(&the_driver, library);
    if (missing != NULL)
        lp_error_set(&why_not, LP_ENODEV, "the driver %s is too old: it has no %s", path, missing);
    else
        usable = start(&the_driver, path) == 0;
    if (!usable)
        dlclose(library);
}

const struct lp_gpu_driver *lp_gpu_driver_get(struct lp_error *err)
{
    pthread_once(&opened, open_driver);
    if (usable)
        return &the_driver;
    lp_error_set(err, why_not.code, "%s", why_not.text);
    return NULL;
}

static int code_of(int result)
{
    switch (result) {
    case LP_GPU_SUCCESS:
        return 0;
    case LP_GPU_OUT_OF_MEMORY:
        return LP_ENOMEM;
    case LP_GPU_NO_DEVICE:
    case LP_GPU_INVALID_DEVICE:
    case LP_GPU_NO_BINARY_FOR_GPU:
        return LP_ENODEV;
    default:
        return LP_EDEVICE;
    }
}

int lp_gpu_driver_check(const struct lp_gpu_driver *driver, int result, const char *what,
                        struct lp_error *err)
{
    const char *name = NULL;

    if (result == LP_GPU_SUCCESS)
        return 0;
    if (driver->get_error_name(result, &name) != LP_GPU_SUCCESS || name == NULL)
        name = "unknown result";
    return lp_error_set(err, code_of(result), "%s: %s (%d)", what, name, result);
}
