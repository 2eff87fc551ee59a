/* SPDX-License-Identifier: Apache-2.0 */
/* Elements out of an open tensor file: straight, through the cast, or from a tile. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/sample.h"
#include "store/load_impl.h"

#include <string.h>

/* Bytes of a run of a sample. Longer for a Fortran tensor, where each run touches every column. */
#define RUN_BYTES_FORTRAN (UINT32_C(1) << 20)

static uint32_t file_elem_bytes(const struct lp_load_tensor *tensor)
{
    return lp_codec_dtype_info(tensor->file_dtype)->bytes;
}

static bool is_cast(const struct lp_load_tensor *tensor)
{
    return tensor->geometry.dtype != tensor->file_dtype;
}

void lp_load_cast_bf16(uint8_t *dst, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = lp_load_u32(src + 4 * i);
        const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
        const uint32_t quiet = (bits >> 16) | 0x40u;
        const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;

        lp_store_u16(dst + 2 * i, (uint16_t)(nan ? quiet : rounded));
    }
}

uint8_t *lp_load_window_scratch(struct lp_load_file *file)
{
    if (file->window.data == NULL)
        file->window.data = lp_mem_alloc(LP_LOAD_WINDOW_BYTES);
    file->window.bytes = 0;
    return file->window.data;
}

/* n elements as they are in memory to dst, cast where the tensor is. */
static void deliver(const struct lp_load_tensor *tensor, uint8_t *dst, const uint8_t *src, size_t n)
{
    if (is_cast(tensor))
        lp_load_cast_bf16(dst, src, n);
    else
        memcpy(dst, src, n * tensor->geometry.elem_bytes);
}

/* C order, no cast: the bytes are what is wanted. */
static int read_straight(struct lp_load_file *file, const struct lp_load_tensor *tensor,
                         uint64_t first, uint64_t n, uint8_t *dst, struct lp_error *err)
{
    const uint32_t each = tensor->geometry.elem_bytes;

    return lp_load_fetch(file, tensor->file_offset + first * each, dst, (size_t)(n * each), err);
}

/* C order, through the window. */
static int read_cast(struct lp_load_file *file, const struct lp_load_tensor *tensor, uint64_t first,
                     uint64_t n, uint8_t *dst, struct lp_error *err)
{
    const uint32_t each = file_elem_bytes(tensor);
    uint8_t *window = lp_load_window_scratch(file);
    int rc;

    if (window == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a window of %u bytes",
                            LP_LOAD_WINDOW_BYTES);
    while (n > 0) {
        const size_t now = (size_t)LP_MIN(n, LP_LOAD_WINDOW_BYTES / each);

        LP_TRY(rc,
               lp_load_fetch(file, tensor->file_offset + first * each, window, now * each, err));
        deliver(tensor, dst, window, now);
        dst += now * tensor->geometry.elem_bytes;
        first += now;
        n -= now;
    }
    return 0;
}

/* Fortran order: tile by tile. */
static int read_tiled(struct lp_load_file *file, uint32_t i, uint64_t first, uint64_t n,
                      uint8_t *dst, struct lp_error *err)
{
    const struct lp_load_tensor *tensor = &file->tensors[i];
    const struct lp_load_tile *tile = &file->tile;
    int rc;

    while (n > 0) {
        if (tile->n_elements == 0 || tile->tensor != i || first < tile->first_element ||
            first - tile->first_element >= tile->n_elements)
            LP_TRY(rc, lp_load_tile_fill(file, i, first, n, err));
        const uint64_t skip = first - tile->first_element;
        const size_t now = (size_t)LP_MIN(n, tile->n_elements - skip);

        deliver(tensor, dst, tile->data + skip * file_elem_bytes(tensor), now);
        dst += now * tensor->geometry.elem_bytes;
        first += now;
        n -= now;
    }
    return 0;
}

static int read_any(struct lp_load_file *file, uint32_t i, uint64_t first, uint64_t n, uint8_t *dst,
                    struct lp_error *err)
{
    const struct lp_load_tensor *tensor = &file->tensors[i];

    if (tensor->fortran_order)
        return read_tiled(file, i, first, n, dst, err);
    if (is_cast(tensor))
        return read_cast(file, tensor, first, n, dst, err);
    return read_straight(file, tensor, first, n, dst, err);
}

int lp_load_read(struct lp_load_file *file, uint32_t i, uint64_t first_element, uint64_t n_elements,
                 void *dst, struct lp_error *err)
{
    int rc;

    if (i >= file->n_tensors)
        return lp_error_set(err, LP_ERANGE, "%s: tensor %u of %u", file->label, i, file->n_tensors);
    const struct lp_load_tensor *tensor = &file->tensors[i];
    const uint64_t all = tensor->geometry.n_elements;
    if (first_element > all || n_elements > all - first_element)
        return lp_error_set(err, LP_ERANGE, "%s: tensor '%.*s' has %llu elements", file->label,
                            LP_LOAD_NAME_SHOWN, tensor->name, (unsigned long long)all);
    rc = file->npz != NULL ? lp_load_npz_select(file, i, err) : 0;
    if (rc == 0)
        rc = read_any(file, i, first_element, n_elements, dst, err);
    if (rc < 0)
        return lp_error_wrap(err, rc, "%s: tensor '%.*s'", file->label, LP_LOAD_NAME_SHOWN,
                             tensor->name);
    return 0;
}

static struct lp_sample sample_of(const struct lp_load_tensor *tensor, uint32_t record_elements,
                                  uint64_t limit_bytes)
{
    return lp_codec_sample(&tensor->geometry, record_elements, limit_bytes,
                           tensor->fortran_order ? RUN_BYTES_FORTRAN : LP_SAMPLE_RUN_BYTES);
}

uint64_t lp_load_sample_elements(const struct lp_load_file *file, uint32_t i,
                                 uint32_t record_elements, uint64_t limit_bytes)
{
    return sample_of(&file->tensors[i], record_elements, limit_bytes).n_elements;
}

struct lp_sample lp_load_sample_layout(const struct lp_load_file *file, uint32_t i,
                                       uint32_t record_elements, uint64_t limit_bytes)
{
    return sample_of(&file->tensors[i], record_elements, limit_bytes);
}

int lp_load_sample(struct lp_load_file *file, uint32_t i, uint32_t record_elements,
                   uint64_t limit_bytes, void *dst, struct lp_error *err)
{
    const struct lp_load_tensor *tensor = &file->tensors[i];
    const struct lp_sample sample = sample_of(tensor, record_elements, limit_bytes);
    const uint64_t run_elements = lp_codec_sample_run_elements(&sample);
    uint8_t *at = dst;
    int rc;

    for (uint64_t k = 0; k < sample.n_runs; k++) {
        LP_TRY(rc,
               lp_load_read(file, i, lp_codec_sample_run_first(&sample, k), run_elements, at, err));
        at += run_elements * tensor->geometry.elem_bytes;
    }
    return 0;
}
