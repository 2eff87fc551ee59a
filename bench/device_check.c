/* SPDX-License-Identifier: Apache-2.0 */
/* What only a device can tell: do the kernels agree with the host decoder there, what does
 * registering cost, and what does a zero-copy gather bring beside a plain copy.
 *
 *     device_check [--small] [--json FILE]
 *
 * --small shrinks every size, for a run over the stand-in driver, where times mean nothing.
 * Ends with 0, 1 (something differs or fails), or 77 and "waived: no GPU (why)". The JSON has every
 * figure printed; null where this machine cannot tell, with the reason beside it. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "tests/simt/gpu_case.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 5
#define WORKSPACE_ALIGN 256u
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif

struct run {
    struct lp_gpu *gpu;
    void *stream;
    bool read_only;        /* sealed chunks can be registered */
    uint64_t table_bytes;  /* logical, of the tables that are timed */
    uint64_t gather_bytes; /* of output, per gather */
    uint64_t register_bytes;
    json_t *report;
    int failures;
};

static int die(const char *what, const struct lp_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err != NULL ? err->text : "failed");
    exit(1);
}

#define MUST(call, err)                                                                            \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            die(#call, (err));                                                                     \
    } while (0)

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* --- a table on the device, and a gather from it ---------------------------------------------- */

struct device_table {
    struct run *run;
    struct gpu_case c;
    struct lp_gpu_mapping *mapping;
    struct lp_gpu_table *table;
    struct lp_gpu_gather_params gather;
    int64_t *rows;
    uint64_t memory_dev;
};

static void table_open(struct device_table *t, struct run *run, uint32_t dtype, uint64_t rows,
                       uint64_t row_elements, const struct lp_plan_params *params,
                       enum gpu_case_kind kind)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_gpu_table_params described;
    uint64_t *segments;

    memset(t, 0, sizeof(*t));
    t->run = run;
    gpu_case_make(&t->c, dtype, rows, row_elements, params, kind, 0, run->read_only);
    MUST(lp_gpu_register(run->gpu, &t->c.key, t->c.chunk, t->c.chunk_bytes, run->read_only,
                         &t->mapping, &err),
         &err);
    segments = lp_mem_alloc_array((size_t)t->c.packed.table.n_segments + 1, sizeof(*segments));
    if (segments == NULL)
        die("segments", NULL);
    described = gpu_case_params(&t->c, lp_gpu_mapping_address(t->mapping), segments);
    MUST(lp_gpu_table_new(run->gpu, &described, &t->table, &err), &err);
    lp_mem_free(segments);
}

/* n rows at random, and memory on the device for them and their numbers. */
static void gather_open(struct device_table *t, uint64_t n)
{
    const struct lp_geometry *const g = &t->c.packed.table.geometry;
    const uint64_t out = lp_round_up_u64(n * g->row_bytes, WORKSPACE_ALIGN);
    const uint64_t numbers = lp_round_up_u64(n * 8, WORKSPACE_ALIGN);
    struct lp_error err = LP_ERROR_INIT;
    uint64_t seed = 5;

    t->rows = lp_mem_alloc_array(n, sizeof(*t->rows));
    if (t->rows == NULL)
        die("row numbers", NULL);
    for (uint64_t i = 0; i < n; i++)
        t->rows[i] = (int64_t)(samples_next(&seed) % g->n_rows);
    MUST(lp_gpu_alloc(t->run->gpu, out + numbers + 8, &t->memory_dev, &err), &err);
    MUST(lp_gpu_copy_in(t->run->gpu, t->memory_dev + out, t->rows, n * 8, &err), &err);
    t->gather = (struct lp_gpu_gather_params){
        .rows_dev = t->memory_dev + out,
        .index_bytes = 8,
        .n_rows = n,
        .row_elements = g->row_elements,
        .table_rows = g->n_rows,
        .out_dev = t->memory_dev,
        .out_bytes = n * g->row_bytes,
        .status_dev = t->memory_dev + out + numbers,
        .stream = t->run->stream,
    };
}

static void table_close(struct device_table *t)
{
    lp_gpu_free(t->run->gpu, t->memory_dev);
    lp_gpu_table_free(t->table);
    lp_gpu_unregister(t->mapping);
    lp_mem_free(t->rows);
    gpu_case_fini(&t->c);
}

static int enqueue_gather(void *user, struct lp_error *err)
{
    struct device_table *const t = user;

    return lp_gpu_gather(t->table, &t->gather, err);
}

/* Does the device give what the host decodes? */
static bool agrees(struct device_table *t)
{
    const uint64_t bytes = t->gather.out_bytes;
    unsigned char *const want = lp_mem_alloc(bytes), *const got = lp_mem_alloc(bytes);
    struct lp_error err = LP_ERROR_INIT;
    uint64_t status = 0;
    bool good;

    if (want == NULL || got == NULL)
        die("rows", NULL);
    MUST(lp_codec_view_gather(&t->c.packed.view, t->rows, 8, t->gather.n_rows, want, bytes, NULL,
                              &err),
         &err);
    MUST(enqueue_gather(t, &err), &err);
    MUST(lp_gpu_stream_wait(t->run->gpu, t->run->stream, &err), &err);
    MUST(lp_gpu_copy_out(t->run->gpu, got, t->gather.out_dev, bytes, &err), &err);
    MUST(lp_gpu_copy_out(t->run->gpu, &status, t->gather.status_dev, 8, &err), &err);
    good = status == 0 && memcmp(want, got, bytes) == 0;
    lp_mem_free(want);
    lp_mem_free(got);
    return good;
}

/* --- kernels against the host decoder --------------------------------------------------------- */

static const struct {
    uint32_t codec, word_bytes, layout;
    const char *name;
} choices[] = {
    {LP_CODEC_RAW, 0, LP_LAYOUT_PACKED, "raw"},
    {LP_CODEC_IBP, 4, LP_LAYOUT_PACKED, "ibp4 packed"},
    {LP_CODEC_IBP, 8, LP_LAYOUT_SLOTTED, "ibp8 slotted"},
    {LP_CODEC_LANE, 0, LP_LAYOUT_PACKED, "lane packed"},
    {LP_CODEC_LANE, 0, LP_LAYOUT_SLOTTED, "lane slotted"},
    {LP_CODEC_ZIP7, 0, LP_LAYOUT_PACKED, "zip7"},
    {LP_CODEC_DICT, 0, LP_LAYOUT_PACKED, "dict packed"},
    {LP_CODEC_SPARSE, 0, LP_LAYOUT_PACKED, "sparse packed"},
    {LP_CODEC_SPARSE, 0, LP_LAYOUT_SLOTTED, "sparse slotted"},
};

/* What a codec is made for: elements as gpu_case_make() says. */
static enum gpu_case_kind kind_for(uint32_t codec)
{
    if (codec == LP_CODEC_DICT)
        return GPU_CASE_FEW;
    return codec == LP_CODEC_SPARSE ? GPU_CASE_SPARSE : GPU_CASE_NORMAL;
}

/* Codecs that a dtype does not have would be packed raw, and tell nothing. */
static bool takes(uint32_t codec, uint32_t dtype)
{
    switch ((enum lp_codec_id)codec) {
    case LP_CODEC_LANE:
        return lp_codec_dtype_is_int8(dtype) || lp_codec_dtype_info(dtype)->exponent_bits != 0;
    case LP_CODEC_ZIP7:
        return dtype == LP_DTYPE_BF16;
    case LP_CODEC_DICT:
    case LP_CODEC_SPARSE:
        return lp_codec_dtype_info(dtype)->bytes != 3;
    case LP_CODEC_AUTO:
    case LP_CODEC_RAW:
    case LP_CODEC_IBP:
    case LP_CODEC_END:
        break;
    }
    return true;
}

/* Rows that are records, groups, tiles and neither. */
static const struct {
    uint64_t rows, row_elements;
    uint32_t record_elements;
} shapes[] = {{500, 256, 0},    {3000, 8, 0},  {40, 4096, 0},
              {20, 9000, 4096}, {300, 100, 0}, {70, 96, 1000}};

static void check_one(struct run *run, uint32_t dtype, size_t choice, size_t shape, unsigned *n)
{
    const struct lp_plan_params params = {.codec = choices[choice].codec,
                                          .layout = choices[choice].layout,
                                          .ibp_word_bytes = choices[choice].word_bytes,
                                          .record_elements = shapes[shape].record_elements};
    struct device_table t;

    table_open(&t, run, dtype, shapes[shape].rows, shapes[shape].row_elements, &params,
               kind_for(params.codec));
    gather_open(&t, 64);
    if (!agrees(&t)) {
        printf("DIFFERS: %s %s, %llu rows of %llu\n", lp_codec_dtype_info(dtype)->name,
               choices[choice].name, (unsigned long long)shapes[shape].rows,
               (unsigned long long)shapes[shape].row_elements);
        run->failures++;
    }
    table_close(&t);
    ++*n;
}

static void check_kernels(struct run *run)
{
    unsigned n = 0;

    for (uint32_t dtype = LP_DTYPE_F64; dtype < LP_DTYPE_END; dtype++) {
        for (size_t c = 0; c < LP_ARRAY_LEN(choices); c++) {
            if (!takes(choices[c].codec, dtype))
                continue;
            for (size_t s = 0; s < LP_ARRAY_LEN(shapes); s++)
                check_one(run, dtype, c, s, &n);
        }
    }
    printf("%u tables gathered, %d differ from the host decoder\n", n, run->failures);
    json_object_set_new(run->report, "tables_checked", json_integer(n));
    json_object_set_new(run->report, "tables_that_differ", json_integer(run->failures));
}

/* --- registration --------------------------------------------------------------------------- */

/* Question 1: is a mapping of a sealed memfd registered read-only? */
static void ask_read_only(struct run *run)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_gpu_mapping *mapping = NULL;
    struct gpu_case c;

    gpu_case_make(&c, LP_DTYPE_BF16, 64, 256, NULL, GPU_CASE_NORMAL, 0, true);
    run->read_only =
        lp_gpu_register(run->gpu, &c.key, c.chunk, c.chunk_bytes, true, &mapping, &err) == 0;
    lp_gpu_unregister(mapping);
    gpu_case_fini(&c);
    printf("a sealed memfd registers read-only: %s%s\n",
           run->read_only ? "yes" : "no: ", run->read_only ? "" : err.text);
    json_object_set_new(run->report, "sealed_memfd_registers_read_only",
                        json_boolean(run->read_only));
    if (!run->read_only)
        json_object_set_new(run->report, "read_only_refusal", json_string(err.text));
}

/* Resident shared memory of these pages; NULL with errno. */
static void *resident(unsigned flags, uint64_t bytes)
{
    const int fd = memfd_create("device_check", MFD_CLOEXEC | flags);
    void *memory = MAP_FAILED;
    int saved;

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, (off_t)bytes) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    saved = errno;
    close(fd);
    errno = saved;
    return memory != MAP_FAILED ? memory : NULL;
}

/* Question 2: what does registering cost? */
static void ask_cost(struct run *run, const char *key, unsigned flags)
{
    const struct lp_gpu_chunk_key chunk = {0, 0, 0, flags};
    const double gib = (double)run->register_bytes / (double)(1u << 30);
    struct lp_error err = LP_ERROR_INIT;
    struct lp_gpu_mapping *mapping;
    double begin, middle, end;
    void *const memory = resident(flags, run->register_bytes);

    if (memory == NULL) {
        printf("registering, %s: cannot tell: %s\n", key, strerror(errno));
        json_object_set_new(run->report, key,
                            json_pack("{sn,ss}", "register_s_per_gib", "why", strerror(errno)));
        return;
    }
    memset(memory, 1, run->register_bytes);
    begin = seconds();
    MUST(lp_gpu_register(run->gpu, &chunk, memory, run->register_bytes, false, &mapping, &err),
         &err);
    middle = seconds();
    json_object_set_new(run->report, key,
                        json_pack("{sf,si}", "register_s_per_gib", (middle - begin) / gib, "pieces",
                                  (int)lp_gpu_mapping_pieces(mapping)));
    begin = seconds();
    lp_gpu_unregister(mapping);
    end = seconds();
    json_object_set_new(json_object_get(run->report, key), "unregister_s_per_gib",
                        json_real((end - begin) / gib));
    printf(
        "registering, %s: %.3f s/GiB\n", key,
        json_real_value(json_object_get(json_object_get(run->report, key), "register_s_per_gib")));
    munmap(memory, run->register_bytes);
}

/* --- times ----------------------------------------------------------------------------------- */

/* Median of a few runs, in GB/s of `bytes`, after one that warms up. */
static double rate(struct run *run, int (*work)(void *user, struct lp_error *err), void *user,
                   uint64_t bytes)
{
    struct lp_error err = LP_ERROR_INIT;
    float ms[REPEATS + 1];

    for (int i = 0; i <= REPEATS; i++)
        MUST(lp_gpu_time(run->gpu, run->stream, work, user, &ms[i], &err), &err);
    qsort(ms + 1, REPEATS, sizeof(ms[0]), by_value);
    return (double)bytes / ((double)ms[1 + REPEATS / 2] * 1e6);
}

/* As many bytes as a gather puts out, in one piece. */
static int enqueue_copy(void *user, struct lp_error *err)
{
    struct device_table *const t = user;
    const uint64_t bytes = LP_MIN(t->gather.out_bytes, t->c.chunk_bytes);

    return lp_gpu_copy_in_async(t->run->gpu, t->gather.out_dev, t->c.chunk, bytes, t->run->stream,
                                err);
}

static void time_gather(struct run *run, uint64_t row_bytes, uint32_t codec, json_t *row)
{
    const struct lp_plan_params params = {.codec = codec};
    const char *const name = codec == LP_CODEC_RAW ? "raw" : "lane";
    const uint64_t n = run->gather_bytes / row_bytes;
    struct device_table t;
    uint64_t sectors;
    double gather, bytes;

    table_open(&t, run, LP_DTYPE_BF16, run->table_bytes / row_bytes, row_bytes / 2, &params,
               GPU_CASE_NORMAL);
    gather_open(&t, n);
    if (!agrees(&t)) {
        printf("DIFFERS: rows of %llu bytes, %s\n", (unsigned long long)row_bytes, name);
        run->failures++;
    }
    sectors = lp_codec_view_sectors(&t.c.packed.view, t.rows, 8, n);
    bytes = (double)t.gather.out_bytes;
    gather = rate(run, enqueue_gather, &t, t.gather.out_bytes);
    printf("  %s: %.2f GB/s useful, %.2f GB/s on the link by the host's sectors\n", name, gather,
           gather * 32.0 * (double)sectors / bytes);
    json_object_set_new(row, name,
                        json_pack("{sf,sI,sf}", "useful_gb_per_s", gather, "host_sectors",
                                  (json_int_t)sectors, "link_gb_per_s",
                                  gather * 32.0 * (double)sectors / bytes));
    if (codec == LP_CODEC_RAW)
        json_object_set_new(
            row, "copy_gb_per_s",
            json_real(rate(run, enqueue_copy, &t, LP_MIN(t.gather.out_bytes, t.c.chunk_bytes))));
    table_close(&t);
}

/* Question 3, and the host's half of question 4. */
static void time_rows(struct run *run)
{
    static const uint64_t row_bytes[] = {32, 128, 512, 8192};
    json_t *const all = json_array();

    for (size_t i = 0; i < LP_ARRAY_LEN(row_bytes); i++) {
        json_t *const row = json_pack("{sI}", "row_bytes", (json_int_t)row_bytes[i]);

        printf("rows of %llu bytes, bf16:\n", (unsigned long long)row_bytes[i]);
        time_gather(run, row_bytes[i], LP_CODEC_LANE, row);
        time_gather(run, row_bytes[i], LP_CODEC_RAW, row);
        printf("  plain copy: %.2f GB/s\n", json_real_value(json_object_get(row, "copy_gb_per_s")));
        json_array_append_new(all, row);
    }
    json_object_set_new(run->report, "rows", all);
}

/* --- the run --------------------------------------------------------------------------------- */

static void report_device(struct run *run)
{
    struct lp_gpu_info info;

    lp_gpu_get_info(run->gpu, &info);
    printf("%s, sm_%d, %d multiprocessors, driver %d\n", info.name, (int)info.compute,
           (int)info.multiprocessors, (int)info.driver_version);
    run->report = json_pack("{ss,si,si,si,sb,sb}", "device", info.name, "compute",
                            (int)info.compute, "multiprocessors", (int)info.multiprocessors,
                            "driver", (int)info.driver_version, "read_only_attribute",
                            info.read_only_register, "host_page_tables", info.host_page_tables);
}

static int run_all(struct run *run)
{
    struct lp_error err = LP_ERROR_INIT;

    MUST(lp_gpu_stream_open(run->gpu, &run->stream, &err), &err);
    report_device(run);
    ask_read_only(run);
    check_kernels(run);
    ask_cost(run, "pages_4_kib", 0);
    ask_cost(run, "pages_2_mib", MFD_HUGETLB | MFD_HUGE_2MB);
    time_rows(run);
    lp_gpu_stream_close(run->gpu, run->stream);
    return run->failures != 0;
}

static int write_report(const struct run *run, const char *path)
{
    if (path != NULL && json_dump_file(run->report, path, JSON_INDENT(2)) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct run run = {
        .table_bytes = 256ull << 20, .gather_bytes = 256ull << 20, .register_bytes = 1ull << 30};
    const char *path = NULL;
    struct lp_error err = LP_ERROR_INIT;
    int rc;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) {
            run.table_bytes = 256u << 10;
            run.gather_bytes = 32u << 10;
            run.register_bytes = 4u << 20;
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            path = argv[++i];
        } else {
            fprintf(stderr, "usage: device_check [--small] [--json FILE]\n");
            return 2;
        }
    }
    rc = lp_gpu_open(0, &run.gpu, &err);
    if (rc == LP_ENODEV) {
        printf("waived: no GPU (%s)\n", err.text);
        return 77;
    }
    if (rc < 0)
        die("device 0", &err);
    rc = run_all(&run);
    lp_gpu_close(run.gpu);
    if (write_report(&run, path) != 0)
        rc = 1;
    json_decref(run.report);
    return rc;
}
