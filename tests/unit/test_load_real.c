/* SPDX-License-Identifier: Apache-2.0 */
/* Real files, where they are: the data folder beside the checkout, and what Debian packages. The
 * comparison with numpy's reading is in compare_numpy.py. */
#include "tests/unit/load_tools.h"

#include <unistd.h>

/* A file of the data folder, or a waiver. */
static void data_file(const char *name, char *path, size_t room)
{
    const char *places[] = {getenv("LANEPACK_DATA"), LP_SOURCE_DIR "/shared/data",
                            LP_SOURCE_DIR "/../shared/data"};

    for (size_t i = 0; i < LP_ARRAY_LEN(places); i++) {
        if (places[i] == NULL)
            continue;
        (void)snprintf(path, room, "%s/%s", places[i], name);
        if (access(path, R_OK) == 0)
            return;
    }
    cr_skip("waived: no data folder");
}

/* Elements [first, first + n) of tensor i are the bytes at their place in the file. */
static void bytes_are(const char *path, struct lp_load_file *file, uint32_t i)
{
    const struct lp_load_tensor *tensor = lp_load_tensor(file, i);
    const size_t bytes = (size_t)tensor->file_bytes;
    uint8_t *got = malloc(bytes), *wanted = malloc(bytes);
    FILE *stream = fopen(path, "rb");

    cr_assert_not_null(stream);
    (void)fseek(stream, (long)tensor->file_offset, SEEK_SET);
    cr_assert_eq(fread(wanted, 1, bytes, stream), bytes);
    (void)fclose(stream);
    must_read(file, i, 0, tensor->geometry.n_elements, got);
    cr_assert_eq(memcmp(got, wanted, bytes), 0);
    free(got);
    free(wanted);
}

/* 384 tensors of float16 behind a header of 35,033 bytes: all of them at odd addresses. */
Test(load_real, many_tensors_at_odd_addresses)
{
    char path[512];

    data_file("lora_analog_f16.safetensors", path, sizeof(path));
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_eq(lp_load_count(file), 384);
    for (uint32_t i = 0; i < 384; i++) {
        const struct lp_load_tensor *tensor = lp_load_tensor(file, i);

        cr_assert_eq(tensor->geometry.dtype, LP_DTYPE_F16);
        cr_assert_eq(tensor->file_offset % 2, 1);
        bytes_are(path, file, i);
    }
    lp_load_close(file);
}

/* Key and value cache of a language model: bf16, three dimensions. */
Test(load_real, key_value_cache)
{
    char path[512];

    data_file("kv_smollm2_3x2048_bf16.safetensors", path, sizeof(path));
    struct lp_load_file *file = must_open(path, NULL);
    cr_assert_eq(lp_load_count(file), 6);
    const int64_t i = lp_load_find(file, "layers.12.v");
    cr_assert_geq(i, 0);
    const struct lp_load_tensor *tensor = lp_load_tensor(file, (uint32_t)i);
    cr_assert_eq(tensor->geometry.dtype, LP_DTYPE_BF16);
    cr_assert_eq(tensor->geometry.ndim, 3);
    cr_assert_eq(tensor->geometry.dims[1], 2048);
    bytes_are(path, file, (uint32_t)i);
    lp_load_close(file);
}

/* Word vectors as numpy writes them. */
Test(load_real, word_vectors)
{
    char path[512];

    data_file("emb_glove100_24k_f32.npy", path, sizeof(path));
    struct lp_load_file *file = must_open(path, NULL);
    const struct lp_load_tensor *tensor = lp_load_tensor(file, 0);
    cr_assert_str_eq(tensor->name, "emb_glove100_24k_f32");
    cr_assert_eq(tensor->geometry.dims[0], 24576);
    cr_assert_eq(tensor->geometry.dims[1], 100);
    bytes_are(path, file, 0);
    lp_load_close(file);
}

/* Features of graph nodes as numpy.savez_compressed() writes them: mostly zeros, so that 15 and 56
 * MB come out of some hundred KB. The values are counts; compare_numpy.py has their bits. */
Test(load_real, graph_features)
{
    static const struct {
        const char *name;
        uint64_t dims[2];
        float most;
    } rows[] = {{"gnn_cora_f32.npz", {2708, 1433}, 1},
                {"gnn_coauthor_cs_2048_f32.npz", {2048, 6805}, 1000}};
    char path[512];

    for (size_t r = 0; r < LP_ARRAY_LEN(rows); r++) {
        float row[6805];
        double sum = 0;

        data_file(rows[r].name, path, sizeof(path));
        struct lp_load_file *file = must_open(path, NULL);
        const int64_t i = lp_load_find(file, "feat");
        cr_assert_eq(i, 0);
        cr_assert_eq(lp_load_count(file), 1);
        cr_assert_eq(memcmp(lp_load_tensor(file, 0)->geometry.dims, rows[r].dims, 16), 0);
        for (uint64_t k = 0; k < rows[r].dims[0]; k++) {
            must_read(file, 0, k * rows[r].dims[1], rows[r].dims[1], row);
            for (uint64_t c = 0; c < rows[r].dims[1]; c++) {
                cr_assert(row[c] >= 0 && row[c] <= rows[r].most);
                sum += row[c];
            }
        }
        cr_assert_gt(sum, 10000);
        lp_load_close(file);
    }
}

/* The word table of python3-jieba: raw float32 at offset 29. */
Test(load_real, word_table_at_an_odd_offset)
{
    const char *path = "/usr/lib/python3/dist-packages/jieba/lac_small/model_baseline/word_emb";
    const struct lp_load_options options = {
        .dtype = LP_DTYPE_F32, .ndim = 2, .dims = {20941, 128}, .offset = 29};

    if (access(path, R_OK) != 0)
        cr_skip("waived: python3-jieba is not installed");
    struct lp_load_file *file = must_open(path, &options);
    bytes_are(path, file, 0);
    lp_load_close(file);
}
