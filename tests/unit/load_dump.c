/* SPDX-License-Identifier: Apache-2.0 */
/* The loader as a program, for compare_numpy.py.
 *
 * load_dump [--raw DTYPE:OFFSET:DIM,DIM...] [--bf16] [--step ELEMENTS] FILE...
 *     for each tensor a line "name TAB dtype TAB dims TAB bytes", then its bytes, to standard
 * output load_dump --pack OUT.lpk [options as above] FILE packs, verifies, compares with the
 * source, and unpacks each tensor to OUT.lpk.<i>.npy */
#include "base/bytes.h"
#include "store/lpk_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct args {
    struct lp_load_options options;
    uint64_t step;
    const char *pack;
    char **files; /* the last n_files of argv */
    int n_files;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "load_dump: %s\n", what);
    exit(1);
}

static void must(int rc, const struct lp_error *err)
{
    if (rc < 0)
        die(err->text);
}

static void parse_raw(struct lp_load_options *options, char *text)
{
    const char *dtype = strtok(text, ":");
    const char *offset = strtok(NULL, ":");

    if (dtype == NULL || offset == NULL)
        die("--raw DTYPE:OFFSET:DIMS");
    options->dtype = lp_codec_dtype_by_name(dtype);
    options->offset = strtoull(offset, NULL, 10);
    for (char *dim = strtok(NULL, ","); dim != NULL; dim = strtok(NULL, ","))
        options->dims[options->ndim++] = strtoull(dim, NULL, 10);
}

static struct args parse(int argc, char **argv)
{
    struct args args = {.step = UINT64_MAX};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bf16") == 0)
            args.options.as_dtype = LP_DTYPE_BF16;
        else if (strcmp(argv[i], "--raw") == 0 && i + 1 < argc)
            parse_raw(&args.options, argv[++i]);
        else if (strcmp(argv[i], "--step") == 0 && i + 1 < argc)
            args.step = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--pack") == 0 && i + 1 < argc)
            args.pack = argv[++i];
        else {
            args.files = argv + i;
            args.n_files = argc - i;
            break;
        }
    }
    if (args.n_files == 0)
        die("which file?");
    return args;
}

static void dump(struct lp_load_file *file, uint32_t i, uint64_t step)
{
    const struct lp_load_tensor *tensor = lp_load_tensor(file, i);
    const struct lp_geometry *g = &tensor->geometry;
    const uint64_t most = LP_MIN(step, g->n_elements);
    uint8_t *buffer = malloc((size_t)(most * g->elem_bytes) + 1);
    struct lp_error err = LP_ERROR_INIT;

    if (buffer == NULL)
        die("no memory");
    printf("%s\t%s\t", tensor->name, lp_codec_dtype_info(g->dtype)->name);
    for (uint32_t d = 0; d < g->ndim; d++)
        printf("%s%llu", d > 0 ? "," : "", (unsigned long long)g->dims[d]);
    printf("\t%llu\n", (unsigned long long)g->logical_bytes);
    for (uint64_t first = 0; first < g->n_elements; first += most) {
        const uint64_t n = LP_MIN(most, g->n_elements - first);

        must(lp_load_read(file, i, first, n, buffer, &err), &err);
        if (fwrite(buffer, g->elem_bytes, n, stdout) != n)
            die("cannot write");
    }
    free(buffer);
}

static void pack(struct lp_load_file *file, const char *path)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_writer *writer;

    must(lp_lpk_writer_open(&writer, path, &err), &err);
    for (uint32_t i = 0; i < lp_load_count(file); i++)
        must(lp_lpk_writer_add(writer, file, i, NULL, NULL, NULL, NULL, &err), &err);
    must(lp_lpk_writer_commit(writer, &err), &err);
}

static void check_and_unpack(struct lp_load_file *source, const char *path)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_file *file;
    char out[4096];

    must(lp_lpk_open(&file, path, &err), &err);
    for (uint32_t i = 0; i < lp_lpk_count(file); i++) {
        struct lp_lpk_tensor *tensor;

        must(lp_lpk_tensor_open(&tensor, file, i, &err), &err);
        must(lp_lpk_tensor_verify(tensor, NULL, &err), &err);
        must(lp_lpk_tensor_compare(tensor, source, i, NULL, &err), &err);
        (void)snprintf(out, sizeof(out), "%s.%u.npy", path, i);
        must(lp_lpk_tensor_unpack(tensor, out, NULL, &err), &err);
        lp_lpk_tensor_close(tensor);
    }
    lp_lpk_close(file);
}

static void handle(const struct args *args, const char *path)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_load_file *file;

    must(lp_load_open(&file, path, &args->options, &err), &err);
    if (args->pack != NULL) {
        pack(file, args->pack);
        check_and_unpack(file, args->pack);
    } else {
        for (uint32_t i = 0; i < lp_load_count(file); i++)
            dump(file, i, args->step);
    }
    lp_load_close(file);
}

int main(int argc, char **argv)
{
    const struct args args = parse(argc, argv);

    for (int i = 0; i < args.n_files; i++)
        handle(&args, args.files[i]);
    return 0;
}
