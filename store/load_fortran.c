/* SPDX-License-Identifier: Apache-2.0 */
/* Fortran order, where the first index runs fastest in the file, re-ordered in tiles.
 *
 * A tile is a box of the tensor that is a run of row-major order: some leading indices fixed, a
 * range of the next one (the axis), all of those behind it. Its elements are walked in the order
 * of the file, so reads go forward: for each combination of the trailing indices, a run along the
 * axis. Columns that lie close together in the file come in one read of a whole window. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "store/load_impl.h"

#include <string.h>

#define GAP_BYTES 4096u     /* up to here reading through a gap is cheaper than another call */
#define STRIDE_BYTES 16384u /* from here on each element of a run is read alone */

struct box {
    const struct lp_geometry *geometry;
    uint64_t file_offset; /* of the tensor */
    uint32_t each;        /* bytes of an element in the file */
    uint32_t axis;
    uint64_t first;                           /* row-major number of its first element */
    uint64_t along;                           /* length along the axis */
    uint64_t trailing;                        /* elements behind the axis, for each step on it */
    uint64_t file_stride[LP_FORMAT_DIMS_MAX]; /* in elements */
    uint64_t tile_stride[LP_FORMAT_DIMS_MAX]; /* in elements; from the axis on */
    uint64_t start;                           /* element in the file where the box begins */
    uint64_t end_offset;                      /* byte in the file behind its last element */
    bool alone;                               /* a run's elements lie far apart */
    bool dense;                               /* runs lie close together */
};

/* The first axis behind which a tile has room for everything. */
static void box_axis(struct box *box, uint64_t room)
{
    const struct lp_geometry *g = box->geometry;
    uint64_t behind = 1;
    uint32_t axis = g->ndim - 1;

    box->tile_stride[axis] = 1;
    while (axis > 0 && behind * g->dims[axis] <= room) {
        behind *= g->dims[axis];
        axis--;
        box->tile_stride[axis] = behind;
    }
    box->axis = axis;
    box->trailing = behind;
}

static void box_file_strides(struct box *box)
{
    uint64_t stride = 1;

    for (uint32_t d = 0; d < box->geometry->ndim; d++) {
        box->file_stride[d] = stride;
        stride *= box->geometry->dims[d];
    }
}

/* Where the box begins in the file: the coordinates of its first element, times the strides. */
static void box_start(struct box *box)
{
    const struct lp_geometry *g = box->geometry;
    uint64_t rest = box->first;

    box->start = 0;
    for (uint32_t d = g->ndim; d-- > 0;) {
        box->start += rest % g->dims[d] * box->file_stride[d];
        rest /= g->dims[d];
    }
}

/* How long along the axis: to the end of the wish, of the axis, or of the tile's room. */
static void box_length(struct box *box, uint64_t wanted_end, uint64_t room)
{
    const uint64_t dim = box->geometry->dims[box->axis];
    const uint64_t at = box->first / box->trailing % dim;
    const uint64_t wanted = (wanted_end - box->first + box->trailing - 1) / box->trailing;

    box->along = LP_MIN(LP_MIN(wanted, dim - at), room / box->trailing);
}

static void box_extent(struct box *box)
{
    const struct lp_geometry *g = box->geometry;
    uint64_t last = box->start + (box->along - 1) * box->file_stride[box->axis];
    uint64_t gap = UINT64_MAX;

    for (uint32_t d = box->axis + 1; d < g->ndim; d++)
        last += (g->dims[d] - 1) * box->file_stride[d];
    if (box->axis + 1 < g->ndim)
        gap = box->file_stride[box->axis + 1] - box->along * box->file_stride[box->axis];
    box->end_offset = box->file_offset + (last + 1) * box->each;
    box->alone = box->file_stride[box->axis] > STRIDE_BYTES / box->each;
    box->dense = !box->alone && gap <= GAP_BYTES / box->each;
}

/* room: elements that a tile holds. wanted_end: row-major number behind the last one of interest.
 */
static void box_init(struct box *box, const struct lp_load_tensor *tensor, uint64_t first,
                     uint64_t wanted_end, uint64_t room)
{
    *box = (struct box){.geometry = &tensor->geometry,
                        .file_offset = tensor->file_offset,
                        .each = lp_codec_dtype_info(tensor->file_dtype)->bytes};
    box_axis(box, room);
    box_file_strides(box);
    box->first = first / box->trailing * box->trailing;
    box_start(box);
    box_length(box, wanted_end, room);
    box_extent(box);
}

/* bytes from offset on, in the window; refilled as far as ahead (a byte of the file) where that
 * is not in it yet. */
static int window_get(struct lp_load_file *file, uint64_t offset, size_t bytes, uint64_t ahead,
                      const uint8_t **ret, struct lp_error *err)
{
    struct lp_load_window *window = &file->window;
    int rc;

    if (offset < window->offset || offset + bytes > window->offset + window->bytes) {
        const size_t fill = (size_t)LP_MIN(ahead - offset, LP_LOAD_WINDOW_BYTES);

        window->bytes = 0;
        LP_TRY(rc, lp_load_fetch(file, offset, window->data, LP_MAX(fill, bytes), err));
        window->offset = offset;
        window->bytes = LP_MAX(fill, bytes);
    }
    *ret = window->data + (offset - window->offset);
    return 0;
}

/* n elements from src, each src_step bytes apart, to dst, each dst_step bytes apart. */
static void scatter(uint8_t *dst, size_t dst_step, const uint8_t *src, size_t src_step, size_t n,
                    uint32_t each)
{
#define SCATTER(bytes)                                                                             \
    case bytes:                                                                                    \
        for (size_t i = 0; i < n; i++)                                                             \
            memcpy(dst + i * dst_step, src + i * src_step, bytes);                                 \
        break
    switch (each) {
        SCATTER(1);
        SCATTER(2);
        SCATTER(4);
        SCATTER(8);
    default: /* no dtype of a .npy file has another size */
        break;
    }
#undef SCATTER
}

/* One run along the axis, from element `from` of the file, to dst in the tile. */
static int run_read(struct lp_load_file *file, const struct box *box, uint64_t from, uint8_t *dst,
                    struct lp_error *err)
{
    const size_t src_step = (size_t)(box->file_stride[box->axis] * box->each);
    const size_t dst_step = (size_t)(box->tile_stride[box->axis] * box->each);
    const uint64_t most = box->alone ? 1 : (LP_LOAD_WINDOW_BYTES - box->each) / src_step + 1;
    const uint8_t *src;
    int rc;

    for (uint64_t i = 0; i < box->along;) {
        const size_t n = (size_t)LP_MIN(most, box->along - i);
        const size_t bytes = (n - 1) * src_step + box->each;
        const uint64_t offset =
            box->file_offset + (from + i * box->file_stride[box->axis]) * box->each;

        LP_TRY(rc, window_get(file, offset, bytes, box->dense ? box->end_offset : offset + bytes,
                              &src, err));
        scatter(dst + i * dst_step, dst_step, src, src_step, n, box->each);
        i += n;
    }
    return 0;
}

/* All runs, trailing indices counted up in the order of the file. */
static int box_read(struct lp_load_file *file, const struct box *box, uint8_t *tile,
                    struct lp_error *err)
{
    const struct lp_geometry *g = box->geometry;
    uint64_t index[LP_FORMAT_DIMS_MAX] = {0};
    int rc;

    for (uint64_t run = 0; run < box->trailing; run++) {
        uint64_t from = box->start, to = 0;

        for (uint32_t d = box->axis + 1; d < g->ndim; d++) {
            from += index[d] * box->file_stride[d];
            to += index[d] * box->tile_stride[d];
        }
        LP_TRY(rc, run_read(file, box, from, tile + to * box->each, err));
        for (uint32_t d = box->axis + 1; d < g->ndim && ++index[d] == g->dims[d]; d++)
            index[d] = 0;
    }
    return 0;
}

static int buffers_make(struct lp_load_file *file, struct lp_error *err)
{
    if (file->tile.data == NULL)
        file->tile.data = lp_mem_alloc(LP_LOAD_TILE_BYTES);
    if (file->tile.data == NULL || lp_load_window_scratch(file) == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a tile of %u bytes",
                            LP_LOAD_TILE_BYTES + LP_LOAD_WINDOW_BYTES);
    return 0;
}

int lp_load_tile_fill(struct lp_load_file *file, uint32_t i, uint64_t first, uint64_t n,
                      struct lp_error *err)
{
    const struct lp_load_tensor *tensor = &file->tensors[i];
    struct lp_load_tile *tile = &file->tile;
    /* Who goes on where the last tile ended, or starts from the front, will want the rest too. */
    const bool onward = first == 0 || (tile->n_elements != 0 && tile->tensor == i &&
                                       first == tile->first_element + tile->n_elements);
    const uint64_t end = onward ? tensor->geometry.n_elements : first + n;
    struct box box;
    int rc;

    LP_TRY(rc, buffers_make(file, err));
    box_init(&box, tensor, first, end,
             LP_LOAD_TILE_BYTES / lp_codec_dtype_info(tensor->file_dtype)->bytes);
    tile->n_elements = 0;
    LP_TRY(rc, box_read(file, &box, tile->data, err));
    tile->tensor = i;
    tile->first_element = box.first;
    tile->n_elements = box.along * box.trailing;
    return 0;
}
