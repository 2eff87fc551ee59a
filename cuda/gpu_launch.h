/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers: C in, an enqueued kernel out. They take stream, workspace and sizes; they never
 * allocate, never wait, and what they enqueue can be captured in a graph.
 *
 * A table is described to the device once (lp_gpu_table_new), then gathered from any number of
 * times. Source: docs/FORMAT.md; the kernels are cuda/gather_kernel.cuh. */
#ifndef LP_CUDA_GPU_LAUNCH_H
#define LP_CUDA_GPU_LAUNCH_H

#include "codec/format.h"
#include "cuda/gpu.h"
#include "cuda/gpu_status.h"

/* A checked table as the codec layer knows it, field by field: this layer knows codec/format.h
 * only. All pointers borrow for the call. */
struct lp_gpu_table_params {
    uint32_t codec, layout, dtype; /* enums of codec/format.h */
    uint32_t elem_bytes, record_elements, last_elements;
    uint32_t align_bytes, stride;
    uint32_t index_entry_bytes;
    uint64_t n_records, n_elements;
    uint64_t segment_bytes, last_segment_bytes, records_per_segment;
    uint32_t n_segments;
    const uint64_t *segments_dev; /* n_segments device addresses, on 32-byte borders; the
                                     sector behind each segment's end is readable */
    const void *index;            /* index_bytes, copied to the device ... */
    uint64_t index_bytes;
    uint64_t index_dev; /* ... or, where this is not 0, read at that address */

    /* Codec lane, zip7 as one of its tables, and values of codec sparse that are kept so. */
    uint32_t lane_levels, lane_base_bytes, lane_exponent_bits;
    uint32_t lane_mantissa_bits, lane_trailing_bits;
    uint32_t lane_sign_bits;    /* 1: it is kept */
    uint64_t lane_fixed;        /* else: the sign bit, in place, where it is always 1 */
    const uint8_t *lane_widths; /* lane_levels */
    const uint16_t *lane_ranks; /* one per symbol */
    /* Bases by column, NULL: none. lane_column_groups groups, lane_column_pitch numbers of 1 byte,
     * or 2 where exponents have more than 8 bits, from one to the next; behind a group's period are
     * its first columns again, at least 14 of them. */
    const void *lane_columns;
    uint32_t lane_column_period, lane_column_pitch, lane_column_groups;
    uint64_t lane_column_span; /* 0: one group */

    uint32_t ibp_word_bytes, ibp_words;
    uint32_t ibp_groups;                  /* 0: one set of masks for all records */
    const uint64_t *ibp_mask, *ibp_value; /* ibp_words each, one set after the other */

    /* Codec dict, and values of codec sparse that are kept so, or whose symbols are. */
    uint32_t dict_levels, dict_n_values;
    const uint8_t *dict_widths; /* dict_levels */
    const void *dict_values;    /* dict_n_values elements */

    uint32_t sparse_values;      /* docs/FORMAT.md, section 8 */
    uint64_t sparse_one;         /* the one value */
    const float *counts_columns; /* scales of counts, record_elements */
};

struct lp_gpu_table;

/* Copies index, segment addresses and metadata to the device; done on return. *ret_table is new,
 * lp_gpu_table_free() ends it; the chunks behind segments_dev must stay registered until then.
 * LP_EINVAL: fields that contradict each other; LP_ENOTSUP: one record is larger than this device's
 * shared memory; LP_ENOMEM; LP_EDEVICE. */
int lp_gpu_table_new(struct lp_gpu *gpu, const struct lp_gpu_table_params *params,
                     struct lp_gpu_table **ret_table, struct lp_error *err);

/* Device work on it must be finished. NULL is fine. */
void lp_gpu_table_free(struct lp_gpu_table *table);

/* A new index of the same size replaces the old one, ordered by stream. index borrows until the
 * stream has passed it. */
int lp_gpu_table_refresh(struct lp_gpu_table *table, const void *index, uint64_t index_bytes,
                         void *stream, struct lp_error *err);

/* One gather. Addresses are the device's; 0 means none. */
struct lp_gpu_gather_params {
    uint64_t rows_dev;     /* n_rows row numbers, int32 or int64, on their own border ... */
    const void *rows;      /* ... or in host memory: copied to the workspace. Neither: all rows */
    uint32_t index_bytes;  /* 4 or 8 */
    uint64_t n_rows;       /* of the output */
    uint64_t row_elements; /* of the tensor */
    uint64_t table_rows;   /* row numbers are below */
    uint64_t out_dev, out_bytes; /* row-major, no gaps, on a border of an element's size */
    uint64_t default_row_dev;    /* stands in for row numbers out of range ... */
    const void *default_row;     /* ... or in host memory: copied to the workspace */
    uint64_t status_dev;         /* 8 bytes, set to 0 and then as cuda/gpu_status.h says */
    uint64_t workspace_dev, workspace_bytes;
    void *stream;
};

/* Bytes of workspace that lp_gpu_gather() needs for it: 0 when rows and default row lie on the
 * device. */
uint64_t lp_gpu_gather_workspace(const struct lp_gpu_table *table,
                                 const struct lp_gpu_gather_params *gather);

/* Enqueue. The stream borrows out, rows, default row, status and workspace until it has passed;
 * host memory given for rows and default row must stay as long, too.
 *
 * A row number out of range leaves its row of the output untouched unless there is a default row,
 * and is told through status_dev only; so is a corrupt record.
 * 0; LP_ESIZE: out or workspace is too small; LP_EINVAL: a border or a size is wrong; LP_EDEVICE.
 */
int lp_gpu_gather(struct lp_gpu_table *table, const struct lp_gpu_gather_params *gather,
                  struct lp_error *err);

/* Turn a status word, read back by the caller, into 0, LP_ERANGE or LP_ECORRUPT with a sentence. */
int lp_gpu_gather_status(uint64_t word, struct lp_error *err);

#endif
