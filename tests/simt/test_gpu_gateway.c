/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway, registration and launchers over the stand-in driver: what works, and what is left
 * behind when any call of the driver fails.
 *
 *     LANEPACK_LIBCUDA=libcuda_standin.so test_gpu_gateway all
 *     test_gpu_gateway nodevice       there is no usable driver: LP_ENODEV and a sentence */
#include "base/alloc.h"
#include "base/bytes.h"
#include "cuda/driver.h"
#include "tests/simt/gpu_case.h"
#include "tests/simt/standin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold (%s)\n", __FILE__, __LINE__, #condition,      \
                    now);                                                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char *now = "start"; /* what is tested, for messages */

static struct {
    int (*fail)(const char *function, unsigned nth, int error);
    uint64_t (*calls)(const char *function);
    int (*set)(const char *name, const char *value);
    void (*reset)(void);
    int (*report_leaks)(void);
    void (*get_counts)(struct lp_standin_counts *counts);
} standin;

static void find(void *library, const char *name, void *to)
{
    void *const symbol = dlsym(library, name);

    CHECK(symbol != NULL);
    memcpy(to, &symbol, sizeof(symbol));
}

static void find_standin(void)
{
    void *const library = dlopen(getenv("LANEPACK_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);

    CHECK(library != NULL);
    find(library, "lp_standin_fail", &standin.fail);
    find(library, "lp_standin_calls", &standin.calls);
    find(library, "lp_standin_set", &standin.set);
    find(library, "lp_standin_reset", &standin.reset);
    find(library, "lp_standin_report_leaks", &standin.report_leaks);
    find(library, "lp_standin_get_counts", &standin.get_counts);
}

/* --- one whole use, from open to close ------------------------------------------------------- */

enum { N_ROWS = 40 };

struct use {
    const struct gpu_case *c;
    struct lp_gpu *gpu;
    struct lp_gpu_mapping *mapping;
    struct lp_gpu_table *table;
    void *stream;
    uint64_t out_dev, status_dev, workspace_dev;
    uint64_t out_bytes;
    unsigned char *got;
    uint64_t status;
};

static void fill_rows(int64_t *rows, uint64_t table_rows)
{
    uint64_t seed = 3;

    for (int i = 0; i < N_ROWS; i++)
        rows[i] = (int64_t)(samples_next(&seed) % table_rows);
}

static int alloc_all(struct use *u, struct lp_error *err)
{
    int rc;

    LP_TRY(rc, lp_gpu_stream_open(u->gpu, &u->stream, err));
    LP_TRY(rc, lp_gpu_alloc(u->gpu, u->out_bytes, &u->out_dev, err));
    LP_TRY(rc, lp_gpu_alloc(u->gpu, 8, &u->status_dev, err));
    return lp_gpu_alloc(u->gpu, 4096, &u->workspace_dev, err);
}

static int run_gather(struct use *u, const int64_t *rows, const void *default_row,
                      struct lp_error *err)
{
    const struct lp_geometry *const g = &u->c->packed.table.geometry;
    const struct lp_gpu_gather_params gather = {
        .rows = rows,
        .index_bytes = 8,
        .n_rows = N_ROWS,
        .row_elements = g->row_elements,
        .table_rows = g->n_rows,
        .out_dev = u->out_dev,
        .out_bytes = u->out_bytes,
        .default_row = default_row,
        .status_dev = u->status_dev,
        .workspace_dev = u->workspace_dev,
        .workspace_bytes = 4096,
        .stream = u->stream,
    };
    int rc;

    LP_TRY(rc, lp_gpu_gather(u->table, &gather, err));
    LP_TRY(rc, lp_gpu_stream_wait(u->gpu, u->stream, err));
    LP_TRY(rc, lp_gpu_copy_out(u->gpu, u->got, u->out_dev, u->out_bytes, err));
    LP_TRY(rc, lp_gpu_copy_out(u->gpu, &u->status, u->status_dev, 8, err));
    return lp_gpu_gather_status(u->status, err);
}

static int use_begin(struct use *u, bool read_only, struct lp_error *err)
{
    uint64_t segments[64];
    struct lp_gpu_table_params params;
    int rc;

    LP_TRY(rc, lp_gpu_open(0, &u->gpu, err));
    LP_TRY(rc, lp_gpu_register(u->gpu, &u->c->key, u->c->chunk, u->c->chunk_bytes, read_only,
                               &u->mapping, err));
    params = gpu_case_params(u->c, lp_gpu_mapping_address(u->mapping), segments);
    LP_TRY(rc, lp_gpu_table_new(u->gpu, &params, &u->table, err));
    return alloc_all(u, err);
}

static void use_end(struct use *u)
{
    if (u->gpu != NULL) {
        lp_gpu_stream_close(u->gpu, u->stream);
        lp_gpu_free(u->gpu, u->out_dev);
        lp_gpu_free(u->gpu, u->status_dev);
        lp_gpu_free(u->gpu, u->workspace_dev);
    }
    lp_gpu_table_free(u->table);
    lp_gpu_close(u->gpu); /* before the mapping, which keeps what it needs */
    lp_gpu_unregister(u->mapping);
    lp_mem_free(u->got);
}

static int use_all(const struct gpu_case *c, bool read_only, struct lp_error *err)
{
    const struct lp_geometry *const g = &c->packed.table.geometry;
    struct use u = {.c = c, .out_bytes = N_ROWS * g->row_bytes};
    int64_t rows[N_ROWS];
    unsigned char *want;
    int rc;

    fill_rows(rows, g->n_rows);
    u.got = lp_mem_zalloc(u.out_bytes);
    want = lp_mem_alloc(u.out_bytes);
    CHECK(u.got != NULL && want != NULL);
    CHECK(lp_codec_view_gather(&c->packed.view, rows, 8, N_ROWS, want, u.out_bytes, NULL, NULL) ==
          0);
    rc = use_begin(&u, read_only, err);
    if (rc == 0)
        rc = run_gather(&u, rows, NULL, err);
    if (rc == 0)
        CHECK(memcmp(u.got, want, u.out_bytes) == 0);
    use_end(&u);
    lp_mem_free(want);
    return rc;
}

static bool is_typed(int code)
{
    return code == LP_ENOMEM || code == LP_ENODEV || code == LP_EDEVICE || code == LP_EREG ||
           code == LP_EREGLIMIT;
}

/* Calls that end something: there is nothing to report to when they fail, and where a real driver
 * refuses them the context is lost anyway. */
static bool is_ending(const char *name)
{
    static const char *const endings[] = {
        "cuDevicePrimaryCtxRelease_v2", "cuCtxPopCurrent_v2", "cuModuleUnload",    "cuMemFree_v2",
        "cuMemHostUnregister",          "cuStreamDestroy_v2", "cuEventDestroy_v2",
    };

    for (size_t i = 0; i < LP_ARRAY_LEN(endings); i++) {
        if (strcmp(endings[i], name) == 0)
            return true;
    }
    return false;
}

/* Fail the first, second, ... call of one function until the whole use passes. */
static unsigned fail_each(const struct gpu_case *c, const char *name)
{
    for (unsigned nth = 1;; nth++) {
        struct lp_error err = LP_ERROR_INIT;
        int rc;

        standin.reset();
        CHECK(standin.fail(name, nth, 0) == 0);
        rc = use_all(c, true, &err);
        if (standin.calls(name) < nth) {
            CHECK(rc == 0);
            standin.reset();
            return nth - 1;
        }
        if (rc != 0) {
            CHECK(is_typed(rc) && err.code == rc && err.text[0] != 0);
        }
        CHECK(standin.report_leaks() == 0);
    }
}

static void test_faults(const struct gpu_case *c)
{
    static const char *const names[] = {
#define X(member, symbol, params) #symbol,
        LP_GPU_DRIVER_CALLS(X)
#undef X
    };
    unsigned failed = 0;

    for (size_t i = 0; i < LP_ARRAY_LEN(names); i++) {
        now = names[i];
        if (!is_ending(names[i]))
            failed += fail_each(c, names[i]);
    }
    printf("%u failing calls of the driver: typed errors, nothing left\n", failed);
    CHECK(failed > 30);
}

/* --- single promises -------------------------------------------------------------------------- */

static void test_works(const struct gpu_case *c)
{
    struct lp_error err = LP_ERROR_INIT;

    now = "a whole use";
    if (use_all(c, true, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    CHECK(standin.report_leaks() == 0);
}

/* Bad row numbers are told by the status word, or replaced by the default row. */
static void test_bad_rows(const struct gpu_case *c)
{
    const struct lp_geometry *const g = &c->packed.table.geometry;
    struct use u = {.c = c, .out_bytes = N_ROWS * g->row_bytes};
    struct lp_error err = LP_ERROR_INIT;
    unsigned char *const row = lp_mem_alloc(g->row_bytes);
    int64_t rows[N_ROWS];

    now = "bad rows";
    memset(row, 0x3c, g->row_bytes);
    fill_rows(rows, g->n_rows);
    rows[11] = (int64_t)g->n_rows;
    rows[7] = -1;
    u.got = lp_mem_zalloc(u.out_bytes);
    CHECK(use_begin(&u, true, &err) == 0);
    CHECK(run_gather(&u, rows, NULL, &err) == LP_ERANGE && u.status == 8);
    CHECK(strstr(err.text, "position 7") != NULL);
    CHECK(run_gather(&u, rows, row, &err) == 0 && u.status == 0);
    CHECK(memcmp(u.got + 7 * g->row_bytes, row, g->row_bytes) == 0);
    CHECK(memcmp(u.got + 11 * g->row_bytes, row, g->row_bytes) == 0);
    use_end(&u);
    lp_mem_free(row);
    CHECK(standin.report_leaks() == 0);
}

/* A corrupt index entry is told, too, and read nowhere. */
static void test_corrupt(const struct gpu_case *c)
{
    const struct lp_table *const t = &c->packed.table;
    struct use u = {.c = c, .out_bytes = N_ROWS * t->geometry.row_bytes};
    struct lp_error err = LP_ERROR_INIT;
    uint8_t *const index = lp_mem_alloc(t->index_bytes);
    int64_t rows[N_ROWS];

    now = "a corrupt index";
    fill_rows(rows, t->geometry.n_rows);
    u.got = lp_mem_zalloc(u.out_bytes);
    CHECK(use_begin(&u, true, &err) == 0);
    memset(index, 0xff, t->index_bytes);
    CHECK(lp_gpu_table_refresh(u.table, index, t->index_bytes - 1, u.stream, &err) == LP_EINVAL);
    CHECK(lp_gpu_table_refresh(u.table, index, t->index_bytes, u.stream, &err) == 0);
    CHECK(run_gather(&u, rows, NULL, &err) == LP_ECORRUPT);
    CHECK(strstr(err.text, "row 0") != NULL);
    use_end(&u);
    lp_mem_free(index);
    CHECK(standin.report_leaks() == 0);
}

static void test_sizes(const struct gpu_case *c)
{
    const struct lp_geometry *const g = &c->packed.table.geometry;
    struct use u = {.c = c, .out_bytes = N_ROWS * g->row_bytes};
    struct lp_error err = LP_ERROR_INIT;
    int64_t rows[N_ROWS];
    struct lp_gpu_gather_params gather = {.rows = rows,
                                          .index_bytes = 8,
                                          .n_rows = N_ROWS,
                                          .row_elements = g->row_elements,
                                          .table_rows = g->n_rows};

    now = "sizes";
    fill_rows(rows, g->n_rows);
    CHECK(use_begin(&u, true, &err) == 0);
    gather.out_dev = u.out_dev;
    gather.out_bytes = u.out_bytes - 1;
    CHECK(lp_gpu_gather(u.table, &gather, &err) == LP_ESIZE);
    gather.out_bytes = u.out_bytes;
    CHECK(lp_gpu_gather_workspace(u.table, &gather) == 8 * N_ROWS);
    CHECK(lp_gpu_gather(u.table, &gather, &err) == LP_ESIZE);
    gather.workspace_dev = u.workspace_dev + 8;
    gather.workspace_bytes = 4088;
    CHECK(lp_gpu_gather(u.table, &gather, &err) == LP_EINVAL);
    gather.index_bytes = 2;
    CHECK(lp_gpu_gather(u.table, &gather, &err) == LP_EINVAL);
    gather.index_bytes = 8;
    gather.n_rows = UINT64_MAX;
    CHECK(lp_gpu_gather(u.table, &gather, &err) == LP_ESIZE);
    use_end(&u);
    CHECK(standin.report_leaks() == 0);
}

/* One chunk is registered once, by what it is; the device outlives its owner while it is needed. */
static void test_registry(const struct gpu_case *c)
{
    struct lp_gpu_chunk_key other = c->key;
    struct lp_gpu_mapping *first, *second, *third = NULL;
    struct lp_error err = LP_ERROR_INIT;
    uint64_t chunks, bytes;
    struct lp_gpu *gpu;

    now = "the registry";
    CHECK(lp_gpu_open(0, &gpu, &err) == 0);
    CHECK(lp_gpu_register(gpu, &c->key, c->chunk, c->chunk_bytes, true, &first, &err) == 0);
    CHECK(lp_gpu_register(gpu, &c->key, c->chunk, c->chunk_bytes, true, &second, &err) == 0);
    CHECK(first == second && standin.calls("cuMemHostRegister_v2") > 0);
    lp_gpu_get_registered(gpu, &chunks, &bytes);
    CHECK(chunks == 1 && bytes == c->chunk_bytes && lp_gpu_mapping_pieces(first) == 1);
    CHECK(lp_gpu_register(gpu, &c->key, c->chunk, 4096 + c->chunk_bytes, true, &third, &err) ==
          LP_EINVAL);
    other.epoch = 2;
    CHECK(lp_gpu_register(gpu, &other, (char *)c->chunk + 1, 4096, true, &third, &err) ==
          LP_EINVAL);
    CHECK(third == NULL);
    lp_gpu_unregister(second);
    lp_gpu_get_registered(gpu, &chunks, &bytes);
    CHECK(chunks == 1);
    lp_gpu_close(gpu);
    lp_gpu_unregister(first);
    lp_gpu_unregister(NULL);
    lp_gpu_close(NULL);
    CHECK(standin.report_leaks() == 0);
}

static void test_alias(const struct gpu_case *c)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_gpu_mapping *mapping;
    struct lp_gpu *gpu;

    now = "an alias that differs";
    CHECK(lp_gpu_open(0, &gpu, &err) == 0);
    CHECK(lp_gpu_register(gpu, &c->key, c->chunk, c->chunk_bytes, true, &mapping, &err) == 0);
    CHECK(lp_gpu_mapping_address(mapping) != (uint64_t)(uintptr_t)c->chunk);
    lp_gpu_unregister(mapping);
    lp_gpu_close(gpu);
    CHECK(use_all(c, true, &err) == 0);
    CHECK(standin.report_leaks() == 0);
}

/* A sealed map cannot be registered for writing, nor read-only where the device cannot. */
static void test_read_only(const struct gpu_case *c)
{
    struct lp_error err = LP_ERROR_INIT;

    now = "read-only";
    CHECK(use_all(c, false, &err) == LP_EREG);
    CHECK(standin.report_leaks() == 0);
    CHECK(standin.set("READ_ONLY", "0") == 0);
    CHECK(use_all(c, true, &err) == LP_EREG);
    CHECK(strstr(err.text, "read-only") != NULL);
    CHECK(standin.set("READ_ONLY", "1") == 0);
    CHECK(standin.report_leaks() == 0);
}

/* Refused as a whole, taken in halves where these follow each other; else nothing is left. */
static void test_halves(void)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_gpu_mapping *mapping = NULL;
    struct lp_standin_counts counts;
    struct gpu_case big;
    struct lp_gpu *gpu;

    now = "halves";
    gpu_case_make(&big, LP_DTYPE_BF16, 64, 256, NULL, GPU_CASE_NORMAL, 64ull << 20, true);
    CHECK(standin.set("ALIAS", "0") == 0);
    CHECK(lp_gpu_open(0, &gpu, &err) == 0);
    standin.fail("cuMemHostRegister_v2", 1, 2);
    CHECK(lp_gpu_register(gpu, &big.key, big.chunk, big.chunk_bytes, true, &mapping, &err) == 0);
    CHECK(lp_gpu_mapping_pieces(mapping) == 2);
    lp_gpu_unregister(mapping);
    CHECK(standin.set("ALIAS", "1") == 0);
    standin.fail("cuMemHostRegister_v2", 1, 2);
    CHECK(lp_gpu_register(gpu, &big.key, big.chunk, big.chunk_bytes, true, &mapping, &err) ==
          LP_EREG);
    CHECK(standin.set("REGISTER_LIMIT", "40000000") == 0);
    CHECK(standin.set("ALIAS", "0") == 0);
    CHECK(lp_gpu_register(gpu, &big.key, big.chunk, big.chunk_bytes, true, &mapping, &err) ==
          LP_EREGLIMIT);
    standin.get_counts(&counts);
    CHECK(counts.registrations == 0);
    CHECK(standin.set("REGISTER_LIMIT", "1000000000000") == 0);
    lp_gpu_close(gpu);
    gpu_case_fini(&big);
    CHECK(standin.report_leaks() == 0);
}

static int nothing_to_use(void)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_gpu *gpu = NULL;

    CHECK(lp_gpu_open(0, &gpu, &err) == LP_ENODEV && gpu == NULL && err.text[0] != 0);
    printf("no device: %s\n", err.text);
    CHECK(lp_gpu_count(&err) == 0 || strstr(err.text, "kernels") != NULL);
    return 0;
}

static bool kernels_are_there(void)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_gpu *gpu;

    if (lp_gpu_open(0, &gpu, &err) == 0) {
        lp_gpu_close(gpu);
        return true;
    }
    if (strstr(err.text, "without kernels") == NULL)
        fprintf(stderr, "%s\n", err.text);
    return strstr(err.text, "without kernels") == NULL;
}

int main(int argc, char **argv)
{
    struct gpu_case c;

    if (argc > 1 && strcmp(argv[1], "nodevice") == 0)
        return nothing_to_use();
    find_standin();
    if (!kernels_are_there()) {
        printf("waived: built without kernels (no nvcc)\n");
        return 77;
    }
    gpu_case_make(&c, LP_DTYPE_BF16, 300, 256, NULL, GPU_CASE_NORMAL, 0, true);
    test_works(&c);
    CHECK(standin.set("ALIAS", "1") == 0);
    test_alias(&c);
    test_bad_rows(&c);
    test_corrupt(&c);
    test_sizes(&c);
    test_registry(&c);
    test_read_only(&c);
    test_faults(&c);
    test_halves();
    gpu_case_fini(&c);
    return 0;
}
