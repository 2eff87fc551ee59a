/* SPDX-License-Identifier: Apache-2.0 */
/* .lpk files: what goes in comes out, what is broken is refused, what fails leaves nothing. */
#include "store/lpk_file.h"
#include "tests/lib/fault_loop.h"
#include "tests/lib/leak.h"
#include "tests/unit/load_tools.h"

#include <math.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* A tensor in a raw file, and where it gets packed. */
struct scene {
    struct tmpdir dir;
    char source[PATH_BYTES], packed[PATH_BYTES];
    struct lp_load_options options;
};

/* Values like weights: a narrow range of exponents, all else random. */
static void weights(uint8_t *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        const double u = (double)(next_random(&seed) >> 40) / (1 << 24);
        const float value = (float)((u - 0.5) * (double)((next_random(&seed) & 7) + 1));

        memcpy(data + i, &value, 4);
    }
    for (size_t i = bytes / 4 * 4; i < bytes; i++)
        data[i] = (uint8_t)next_random(&seed);
}

static void scene_init(struct scene *scene, uint32_t dtype, uint32_t ndim, const uint64_t *dims,
                       const void *data, size_t bytes)
{
    tmpdir_init(&scene->dir);
    tmpdir_write(&scene->dir, "source.bin", data, bytes);
    tmpdir_join(&scene->dir, "source.bin", scene->source, PATH_BYTES);
    tmpdir_join(&scene->dir, "out.lpk", scene->packed, PATH_BYTES);
    scene->options = (struct lp_load_options){.dtype = dtype, .ndim = ndim};
    memcpy(scene->options.dims, dims, ndim * sizeof(*dims));
}

static void scene_fini(struct scene *scene)
{
    tmpdir_fini(&scene->dir);
}

/* A table of 300 rows of 64 bf16, which is small enough to be broken byte by byte. */
static void scene_small(struct scene *scene)
{
    static const uint64_t dims[] = {300, 64};
    static uint8_t data[300 * 64 * 4];
    static uint8_t halves[300 * 64 * 2];

    weights(data, sizeof(data), 99);
    for (size_t i = 0; i < sizeof(halves) / 2; i++)
        memcpy(halves + 2 * i, data + 4 * i + 2, 2);
    scene_init(scene, LP_DTYPE_BF16, 2, dims, halves, sizeof(halves));
}

static int pack(const struct scene *scene, const struct lp_plan_params *params,
                struct lp_lpk_info *ret_info, struct lp_error *err)
{
    struct lp_load_file *source = NULL;
    struct lp_lpk_writer *writer = NULL;
    int rc;

    LP_TRY_GOTO(rc, lp_load_open(&source, scene->source, &scene->options, err), done);
    LP_TRY_GOTO(rc, lp_lpk_writer_open(&writer, scene->packed, err), done);
    LP_TRY_GOTO(rc, lp_lpk_writer_add(writer, source, 0, params, NULL, NULL, ret_info, err), done);
    LP_TRY_GOTO(rc, lp_lpk_writer_commit(writer, err), done);
    writer = NULL;

done:
    lp_lpk_writer_close(writer);
    lp_load_close(source);
    return rc;
}

/* Open, verify, compare with the source: the way a doubtful file is looked at. */
static int check(const struct scene *scene, struct lp_error *err)
{
    struct lp_load_file *source = NULL;
    struct lp_lpk_tensor *tensor = NULL;
    struct lp_lpk_file *file = NULL;
    int rc;

    LP_TRY_GOTO(rc, lp_load_open(&source, scene->source, &scene->options, err), done);
    LP_TRY_GOTO(rc, lp_lpk_open(&file, scene->packed, err), done);
    LP_TRY_GOTO(rc, lp_lpk_tensor_open(&tensor, file, 0, err), done);
    LP_TRY_GOTO(rc, lp_lpk_tensor_verify(tensor, NULL, err), done);
    rc = lp_lpk_tensor_compare(tensor, source, 0, NULL, err);

done:
    lp_lpk_tensor_close(tensor);
    lp_lpk_close(file);
    lp_load_close(source);
    return rc;
}

/* Every dtype under every codec, from nothing to a few thousand elements, there in both layouts. */
Test(store_lpk_file, every_dtype_comes_back)
{
    static const uint64_t lengths[] = {0, 31, 4097};
    struct lp_error err = LP_ERROR_INIT;
    uint8_t data[4097 * 8];
    struct scene scene;

    weights(data, sizeof(data), 7);
    for (uint32_t dtype = 1; dtype < LP_DTYPE_END; dtype++) {
        for (size_t l = 0; l < LP_ARRAY_LEN(lengths); l++) {
            scene_init(&scene, dtype, 1, &lengths[l], data, sizeof(data));
            for (uint32_t codec = LP_CODEC_AUTO; codec < LP_CODEC_END; codec++) {
                for (uint32_t layout = LP_LAYOUT_PACKED; layout < LP_LAYOUT_END; layout++) {
                    const struct lp_plan_params params = {.codec = codec, .layout = layout};
                    struct lp_lpk_info info;

                    if (layout != LP_LAYOUT_PACKED && lengths[l] < 4097)
                        continue;

                    cr_assert_eq(pack(&scene, &params, &info, &err), 0, "%s", err.text);
                    cr_assert_eq(check(&scene, &err), 0, "%s", err.text);
                    cr_assert_eq(info.geometry.dtype, dtype);
                    cr_assert_eq(info.geometry.n_elements, lengths[l]);
                    cr_assert_str_neq(info.reason, "");
                }
            }
            scene_fini(&scene);
        }
    }
    ASSERT_NO_LEAK();
}

/* Several segments, records across their ends, reads from anywhere. */
Test(store_lpk_file, many_segments_read_from_anywhere)
{
    enum { ROWS = 50021, COLS = 65 };
    static const uint64_t dims[] = {ROWS, COLS};
    const size_t bytes = (size_t)ROWS * COLS * 4;
    struct lp_error err = LP_ERROR_INIT;
    uint8_t *data = malloc(bytes), *back = malloc(bytes);
    uint64_t seed = 5;
    struct scene scene;

    weights(data, bytes, 3);
    scene_init(&scene, LP_DTYPE_F32, 2, dims, data, bytes);
    for (uint32_t codec = LP_CODEC_RAW; codec < LP_CODEC_END; codec++) {
        for (uint32_t layout = LP_LAYOUT_PACKED; layout < LP_LAYOUT_END; layout++) {
            const struct lp_plan_params params = {
                .codec = codec, .layout = layout, .segment_bytes = LP_FORMAT_SEGMENT_BYTES_MIN};
            struct lp_lpk_tensor *tensor;
            struct lp_lpk_file *file;

            cr_assert_eq(pack(&scene, &params, NULL, &err), 0, "%s", err.text);
            cr_assert_eq(check(&scene, &err), 0, "%s", err.text);
            cr_assert_eq(lp_lpk_open(&file, scene.packed, &err), 0, "%s", err.text);
            cr_assert_eq(lp_lpk_tensor_open(&tensor, file, 0, &err), 0, "%s", err.text);
            for (int i = 0; i < 40; i++) {
                const uint64_t first = next_random(&seed) % (ROWS * COLS);
                const uint64_t n = next_random(&seed) % (ROWS * COLS - first) >> (i % 20);

                cr_assert_eq(lp_lpk_tensor_read(tensor, first, n, back, &err), 0, "%s", err.text);
                cr_assert_eq(memcmp(back, data + first * 4, n * 4), 0);
            }
            cr_assert_eq(lp_lpk_tensor_read(tensor, 0, ROWS * COLS + 1, back, &err), LP_ERANGE);
            lp_lpk_tensor_close(tensor);
            lp_lpk_close(file);
        }
    }
    scene_fini(&scene);
    free(data);
    free(back);
    ASSERT_NO_LEAK();
}

/* Rows by number from a view, which stays right next to streamed reads. */
Test(store_lpk_file, view_gathers_rows)
{
    static const uint32_t rows[] = {299, 0, 7, 7, 150};
    const struct lp_view *view;
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_tensor *tensor;
    struct lp_lpk_file *file;
    uint8_t got[5 * 128], wanted[300 * 128];
    struct scene scene;

    scene_small(&scene);
    cr_assert_eq(pack(&scene, NULL, NULL, &err), 0, "%s", err.text);
    struct lp_load_file *source = must_open(scene.source, &scene.options);
    must_read(source, 0, 0, 300 * 64, wanted);
    lp_load_close(source);
    cr_assert_eq(lp_lpk_open(&file, scene.packed, &err), 0);
    cr_assert_eq(lp_lpk_tensor_open(&tensor, file, 0, &err), 0);
    cr_assert_eq(lp_lpk_tensor_view(tensor, &view, &err), 0, "%s", err.text);
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(lp_codec_view_gather(view, rows, 4, 5, got, sizeof(got), NULL, &err), 0, "%s",
                     err.text);
        for (int i = 0; i < 5; i++)
            cr_assert_eq(memcmp(got + i * 128, wanted + rows[i] * 128, 128), 0);
        cr_assert_eq(lp_lpk_tensor_read(tensor, 64, 64, got, &err), 0);
        cr_assert_eq(memcmp(got, wanted + 128, 128), 0);
        cr_assert_eq(lp_lpk_tensor_verify(tensor, NULL, &err), 0);
    }
    lp_lpk_tensor_close(tensor);
    lp_lpk_close(file);
    scene_fini(&scene);
    ASSERT_NO_LEAK();
}

/* Tensors of one source keep order and names; a second of a name is refused and spoils nothing. */
Test(store_lpk_file, lists_what_was_added)
{
    enum { N = 200 };
    struct lp_error err = LP_ERROR_INIT;
    char *text = malloc(N * 80), path[PATH_BYTES], packed[PATH_BYTES], name[16];
    struct lp_lpk_writer *writer;
    struct lp_lpk_file *file;
    struct tmpdir dir;
    size_t at = 1;

    text[0] = '{';
    for (int i = 0; i < N; i++)
        at += (size_t)sprintf(text + at,
                              "\"t%d\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[%d,%d]}%s",
                              i, i, i + 1, i < N - 1 ? "," : "}");
    tmpdir_init(&dir);
    safetensors_write(&dir, "many.safetensors", text, text, N, path);
    tmpdir_join(&dir, "out.lpk", packed, sizeof(packed));
    struct lp_load_file *source = must_open(path, NULL);
    cr_assert_eq(lp_lpk_writer_open(&writer, packed, &err), 0);
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(lp_lpk_writer_add(writer, source, i, NULL, NULL, NULL, NULL, &err), 0, "%s",
                     err.text);
        cr_assert_eq(lp_lpk_writer_add(writer, source, i / 2, NULL, NULL, NULL, NULL, &err),
                     LP_EEXIST);
        cr_assert_not_null(strstr(err.text, "'t"), "%s", err.text);
    }
    cr_assert_eq(lp_lpk_writer_add(writer, source, N, NULL, NULL, NULL, NULL, &err), LP_ERANGE);
    cr_assert_eq(lp_lpk_writer_commit(writer, &err), 0, "%s", err.text);

    cr_assert(lp_lpk_probe(packed));
    cr_assert(!lp_lpk_probe(path));
    cr_assert_eq(lp_lpk_open(&file, packed, &err), 0, "%s", err.text);
    cr_assert_eq(lp_lpk_count(file), N);
    for (uint32_t i = 0; i < N; i++) {
        (void)sprintf(name, "t%u", i);
        cr_assert_str_eq(lp_lpk_name(file, i), name);
        cr_assert_eq(lp_lpk_find(file, name), i);
    }
    cr_assert_null(lp_lpk_name(file, N));
    cr_assert_eq(lp_lpk_find(file, "t200"), -1);
    lp_lpk_close(file);
    lp_load_close(source);
    free(text);
    tmpdir_fini(&dir);
    ASSERT_NO_LEAK();
}

/* Data in which no record shrinks is stored raw, at no cost but the stated header. */
Test(store_lpk_file, random_bits_are_stored_raw)
{
    enum { ROWS = 5000, COLS = 256 };
    static const uint64_t dims[] = {ROWS, COLS};
    const struct lp_plan_params lane = {.codec = LP_CODEC_LANE};
    const size_t bytes = (size_t)ROWS * COLS * 4;
    struct lp_error err = LP_ERROR_INIT;
    uint8_t *data = malloc(bytes);
    struct lp_lpk_info info;
    struct scene scene;
    uint64_t seed = 11;

    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t bits = next_random(&seed);
        memcpy(data + i, &bits, 8);
    }
    scene_init(&scene, LP_DTYPE_F32, 2, dims, data, bytes);
    for (int asked = 0; asked < 2; asked++) {
        cr_assert_eq(pack(&scene, asked ? &lane : NULL, &info, &err), 0, "%s", err.text);
        cr_assert_eq(check(&scene, &err), 0, "%s", err.text);
        cr_assert_eq(info.codec, LP_CODEC_RAW);
        cr_assert_leq(info.stored_bytes, bytes + bytes / 250 + 64);
    }
    scene_fini(&scene);
    free(data);
}

/* A mantissa is kept as it is, so only the check tells that one has changed. */
Test(store_lpk_file, what_is_damaged_is_not_unpacked)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_tensor *tensor;
    struct lp_lpk_file *file;
    const struct lp_view *view = NULL;
    struct lp_lpk_info info;
    struct scene scene;
    char out[PATH_BYTES];

    scene_small(&scene);
    tmpdir_join(&scene.dir, "out.npy", out, PATH_BYTES);
    cr_assert_eq(pack(&scene, NULL, &info, &err), 0, "%s", err.text);
    FILE *stream = fopen(scene.packed, "r+b");
    (void)fseek(stream, (long)(info.file_offset + info.file_bytes) - 8000, SEEK_SET);
    const int was = fgetc(stream);
    (void)fseek(stream, -1, SEEK_CUR);
    (void)fputc(was ^ 1, stream);
    (void)fclose(stream);
    cr_assert_eq(lp_lpk_open(&file, scene.packed, &err), 0, "%s", err.text);
    cr_assert_eq(lp_lpk_tensor_open(&tensor, file, 0, &err), 0, "%s", err.text);
    cr_assert_eq(lp_lpk_tensor_unpack(tensor, out, NULL, &err), LP_ECORRUPT);
    cr_assert(strstr(err.text, "check ") != NULL, "%s", err.text);
    cr_assert_neq(access(out, F_OK), 0);
    cr_assert_eq(lp_lpk_tensor_view(tensor, &view, &err), LP_ECORRUPT);
    cr_assert_null(view);
    lp_lpk_tensor_close(tensor);
    lp_lpk_close(file);
    scene_fini(&scene);
    ASSERT_NO_LEAK();
}

/* A flipped bit anywhere is refused, or lies in padding and changes no element. */
Test(store_lpk_file, every_flipped_byte_is_noticed)
{
    struct lp_error err = LP_ERROR_INIT;
    struct scene scene;
    size_t silent = 0;

    scene_small(&scene);
    cr_assert_eq(pack(&scene, NULL, NULL, &err), 0, "%s", err.text);
    FILE *file = fopen(scene.packed, "r+b");
    (void)fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    for (long at = 0; at < size; at += at < 1024 || at > size - 128 ? 1 : 37) {
        (void)fseek(file, at, SEEK_SET);
        const int was = fgetc(file);
        (void)fseek(file, at, SEEK_SET);
        (void)fputc(was ^ (1 << (at % 8)), file);
        (void)fflush(file);
        const int rc = check(&scene, &err);
        silent += rc == 0;
        cr_assert(rc == 0 || rc == LP_ECORRUPT || rc == LP_EVERSION, "byte %ld: %d %s", at, rc,
                  err.text);
        (void)fseek(file, at, SEEK_SET);
        (void)fputc(was, file);
        (void)fflush(file);
    }
    (void)fclose(file);
    cr_assert_lt(silent, 64, "%zu flips made no difference", silent);
    scene_fini(&scene);
    ASSERT_NO_LEAK();
}

/* A file cut anywhere is refused. */
Test(store_lpk_file, every_cut_is_refused)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_file *file = NULL;
    struct scene scene;

    scene_small(&scene);
    cr_assert_eq(pack(&scene, NULL, NULL, &err), 0, "%s", err.text);
    FILE *packed = fopen(scene.packed, "rb");
    (void)fseek(packed, 0, SEEK_END);
    const long size = ftell(packed);
    (void)fclose(packed);
    for (long kept = size - 1; kept >= 0; kept -= kept > 512 ? 61 : 1) {
        cr_assert_eq(truncate(scene.packed, kept), 0);
        cr_assert_eq(lp_lpk_open(&file, scene.packed, &err), LP_ECORRUPT, "cut to %ld", kept);
        cr_assert_not_null(strstr(err.text, "out.lpk"), "%s", err.text);
    }
    scene_fini(&scene);
    ASSERT_NO_LEAK();
}

/* A file that shrinks while it is open is an error with a code, not a signal. */
Test(store_lpk_file, survives_a_file_that_shrinks)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_lpk_tensor *tensor;
    const struct lp_view *view;
    struct lp_lpk_file *file;
    uint8_t back[300 * 128];
    struct scene scene;

    scene_small(&scene);
    cr_assert_eq(pack(&scene, NULL, NULL, &err), 0);
    cr_assert_eq(lp_lpk_open(&file, scene.packed, &err), 0);
    cr_assert_eq(lp_lpk_tensor_open(&tensor, file, 0, &err), 0);
    cr_assert_eq(lp_lpk_tensor_read(tensor, 0, 300 * 64, back, &err), 0);
    cr_assert_eq(truncate(scene.packed, 2000), 0);
    cr_assert_eq(lp_lpk_tensor_read(tensor, 0, 300 * 64, back, &err), LP_ECORRUPT);
    cr_assert_not_null(strstr(err.text, "tensor 'source'"), "%s", err.text);
    cr_assert_eq(lp_lpk_tensor_verify(tensor, NULL, &err), LP_ECORRUPT);
    cr_assert_eq(lp_lpk_tensor_view(tensor, &view, &err), LP_ECORRUPT);
    lp_lpk_tensor_close(tensor);
    cr_assert_eq(truncate(scene.packed, 100), 0);
    cr_assert_eq(lp_lpk_tensor_open(&tensor, file, 0, &err), LP_ECORRUPT);
    lp_lpk_close(file);
    scene_fini(&scene);
    ASSERT_NO_LEAK();
}

/* Against a source that differs in one element, or in shape, it says so. */
Test(store_lpk_file, compare_finds_the_difference)
{
    struct lp_error err = LP_ERROR_INIT;
    struct scene scene;

    scene_small(&scene);
    cr_assert_eq(pack(&scene, NULL, NULL, &err), 0);
    FILE *source = fopen(scene.source, "r+b");
    (void)fseek(source, 2 * 12345 + 1, SEEK_SET);
    (void)fputc(0x7B, source);
    (void)fclose(source);
    cr_assert_eq(check(&scene, &err), LP_ECORRUPT);
    cr_assert_not_null(strstr(err.text, "element 12345 "), "%s", err.text);
    scene.options.dims[0] = 64;
    scene.options.dims[1] = 300;
    cr_assert_eq(check(&scene, &err), LP_EFINGERPRINT, "%s", err.text);
    scene_fini(&scene);
}

/* Whatever fails while packing: its code, no file, nothing leaked, and the next try works. */
Test(store_lpk_file, packing_survives_every_fault)
{
    static const struct {
        enum lp_fault_site site;
        int code;
    } rows[] = {{LP_FAULT_ALLOC, LP_ENOMEM}, {LP_FAULT_READ, LP_EIO}, {LP_FAULT_WRITE, LP_ENOSPC}};
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    struct scene scene;

    scene_small(&scene);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        FAULT_LOOP(&loop, rows[i].site) {
            (void)unlink(scene.packed);
            const int rc = pack(&scene, NULL, NULL, &err);

            cr_assert(rc == 0 || (fault_loop_hit(&loop) && (rc == rows[i].code || rc == LP_EIO)),
                      "%d %s", rc, err.text);
            cr_assert_eq(access(scene.packed, F_OK) == 0, rc == 0);
        }
        cr_assert_gt(loop.nth, 1);
        cr_assert_eq(check(&scene, &err), 0, "%s", err.text);
    }
    scene_fini(&scene);
    ASSERT_NO_LEAK();
}

/* Likewise while reading. */
Test(store_lpk_file, reading_survives_every_fault)
{
    static const struct {
        enum lp_fault_site site;
        int code;
    } rows[] = {{LP_FAULT_ALLOC, LP_ENOMEM},
                {LP_FAULT_READ, LP_EIO},
                {LP_FAULT_OPEN, LP_ELIMIT},
                {LP_FAULT_MMAP, LP_EMAP}};
    struct lp_error err = LP_ERROR_INIT;
    struct fault_loop loop;
    struct scene scene;

    scene_small(&scene);
    cr_assert_eq(pack(&scene, NULL, NULL, &err), 0);
    for (size_t i = 0; i < LP_ARRAY_LEN(rows); i++) {
        FAULT_LOOP(&loop, rows[i].site) {
            const int rc = check(&scene, &err);

            cr_assert_eq(rc, fault_loop_hit(&loop) ? rows[i].code : 0, "%d %s", rc, err.text);
        }
        cr_assert_gt(loop.nth, 1);
    }
    scene_fini(&scene);
    ASSERT_NO_LEAK();
}

/* A disk that fills up while packing, or while unpacking: LP_ENOSPC, and it is empty again. */
Test(store_lpk_file, reports_a_full_disk)
{
    static const uint64_t dims[] = {4096, 64};
    struct lp_error err = LP_ERROR_INIT;
    uint8_t *data = malloc(4096 * 64 * 4);
    struct lp_lpk_tensor *tensor;
    struct lp_lpk_file *file;
    char disk[PATH_BYTES], out[PATH_BYTES + 16];
    struct scene scene;

    weights(data, 4096 * 64 * 4, 1);
    scene_init(&scene, LP_DTYPE_F32, 2, dims, data, 4096 * 64 * 4);
    free(data);
    tmpdir_join(&scene.dir, "disk", disk, sizeof(disk));
    (void)mkdir(disk, 0700);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("lanepack-test", disk, "tmpfs", 0, "size=256k") != 0) {
        scene_fini(&scene);
        cr_skip("waived: no right to mount a small tmpfs");
    }
    cr_assert_eq(pack(&scene, NULL, NULL, &err), 0, "%s", err.text);
    cr_assert_eq(lp_lpk_open(&file, scene.packed, &err), 0);
    cr_assert_eq(lp_lpk_tensor_open(&tensor, file, 0, &err), 0);
    (void)snprintf(out, sizeof(out), "%s/back.npy", disk);
    cr_assert_eq(lp_lpk_tensor_unpack(tensor, out, NULL, &err), LP_ENOSPC, "%s", err.text);
    cr_assert_neq(access(out, F_OK), 0);
    lp_lpk_tensor_close(tensor);
    lp_lpk_close(file);
    (void)snprintf(scene.packed, sizeof(scene.packed), "%.200s/out.lpk", disk);
    cr_assert_eq(pack(&scene, NULL, NULL, &err), LP_ENOSPC, "%s", err.text);
    cr_assert_not_null(strstr(err.text, "out.lpk"), "%s", err.text);
    cr_assert_eq(rmdir(disk), -1);
    cr_assert_eq(umount(disk), 0);
    scene_fini(&scene);
    ASSERT_NO_LEAK();
}
