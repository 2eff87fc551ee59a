/* SPDX-License-Identifier: Apache-2.0 */
/* What the gather kernels are told: one plain struct, filled by gpu_launch.c and passed by value.
 *
 * Safe in C and CUDA, no CUDA types; device addresses are 64-bit numbers. Layout matters only
 * within one build: host code and kernels are built together. */
#ifndef LP_CUDA_GATHER_ARGS_H
#define LP_CUDA_GATHER_ARGS_H

#include "codec/format.h"
#include "cuda/gpu_status.h"

#define LP_GATHER_WARP 32u
#define LP_GATHER_ITEMS 32u /* pieces that a warp looks up at once, at most */
#define LP_GATHER_ITEM_BYTES 48u
/* Shared memory of a warp for its codec, before the pieces. */
#define LP_GATHER_SCRATCH_NONE 0u
#define LP_GATHER_SCRATCH_LANE_BYTES 64u /* 32 exponents, and what a read of 8 reaches behind */
#define LP_GATHER_SCRATCH_DICT_BYTES 80u /* 32 codes, and eight behind them */
#define LP_GATHER_SCRATCH_SPARSE_BYTES (LP_GATHER_SCRATCH_DICT_BYTES + 1024u) /* and 512 places */
#define LP_GATHER_DICT_CODES 256u /* of a level, in the values on the device */
#define LP_GATHER_ITEM_STAGES 2u  /* records of a warp in shared memory: decoded, and on its way */
/* Readable behind a staged record. A record of one step is decoded before its size is checked: its
 * levels say where they end, and however wrong they are, no more than 15 bits and a raw exponent
 * per element, so 256 elements end within this. */
#define LP_GATHER_SLACK_BYTES 704u
#define LP_GATHER_COLUMNS_SLACK_BYTES 8u /* readable behind the columns: lanes load whole words */

/* Division by a number that is known before the launch: a call to a division routine would cost
 * each kernel registers. Granlund and Montgomery, "Division by Invariant Integers using
 * Multiplication", figure 4.1, for 64 bits. */
struct lp_gather_divisor {
    uint64_t by;
    uint64_t magic;
    uint32_t shift[2];
};

/* One level of the cascade (docs/FORMAT.md, section 5). Exponents by code, code 0 being 0: byte
 * code % 4 of low[code / 4], and of high where an exponent has more than 8 bits. */
struct lp_gather_level {
    uint32_t width; /* 1 to 3; 0 behind the last level */
    uint32_t low[2], high[2];
};

/* How an element of codec lane splits (docs/FORMAT.md, section 5): what the joins want that were
 * not compiled for one dtype. Masks are of the R other bits of each element in eight bytes: those
 * of one element of 8 bytes, of two of 4, and so on. */
struct lp_gather_split {
    uint64_t mantissa_mask, sign_mask; /* sign_mask: 0 where the sign is not stored */
    uint64_t fixed;                    /* sign bits that are always 1, in the elements */
    uint32_t bytes, planes;            /* R = 8 * bytes + planes */
    uint32_t trailing_bits, mantissa_bits;
    uint32_t sign_shift; /* of the stored sign, up to the top of the element */
};

/* Bases of exponents by column (docs/FORMAT.md, section 5), numbers of 1 or 2 bytes at meta_dev.
 * They repeat a group's first columns behind its last one, so that eight neighbours are read in one
 * piece. */
struct lp_gather_columns {
    struct lp_gather_divisor period;     /* at least 8: of a shorter one some multiple */
    struct lp_gather_divisor span;       /* by 0: one group */
    uint32_t period_magic, period_shift; /* q / period = q * magic >> 32 >> shift, for q < 2^18 */
    uint32_t step;                       /* 256 modulo period */
    uint32_t pitch;                      /* numbers from one group to the next; 0: no columns */
};

#define LP_GATHER_NO_TURN 0xffffffffu /* a record's columns are all of one group */

/* What codec dict wants to know, beside its values. */
struct lp_gather_dict {
    uint32_t n_levels;
    uint32_t widths;    /* four bits each, the first level lowest */
    uint32_t index_max; /* level << 8 | code of the last value */
};

/* What codec sparse wants to know; values of other codecs are told as theirs. */
struct lp_gather_sparse {
    uint64_t one;    /* where all values are the same */
    uint32_t values; /* docs/FORMAT.md, section 8 */
};

/* One 32-bit part of an ibp word, in the order of the bit string (high part of a 64-bit word
 * first). Two loads of 16 bytes. */
struct lp_gather_ibp_part {
    uint32_t value;       /* V */
    uint32_t keep;        /* ~M */
    uint32_t packed_bits; /* popcount(~M) */
    uint32_t move[5];     /* bits that go up by 1, 2, 4, 8, 16 when gaps are opened */
};

/* A table, and all of it: what lp_gpu_plan_table() makes of a struct lp_gpu_table_params. */
struct lp_gather_table {
    uint64_t index_dev;    /* the index section; 0 for codec raw */
    uint64_t segments_dev; /* n_segments device addresses of 8 bytes */
    uint64_t meta_dev;     /* ibp: struct lp_gather_ibp_part, one per 4 bytes of a record, for
                              each group of records once;
                              lane with columns: their bases; dict values by level << 8 | code, and
                              behind them, for sparse counts, the scales of the columns */
    uint64_t n_records;
    uint64_t segment_bytes, last_segment_bytes;
    struct lp_gather_divisor records_per_segment; /* raw and slotted */
    struct lp_gather_divisor per_record;          /* record_elements */
    uint32_t n_segments;
    uint32_t codec, layout, dtype;
    uint32_t record_elements, last_elements;
    uint32_t elem_bytes, align_bytes;
    uint32_t stride; /* raw and slotted */
    uint32_t index_entry_bytes, group_bytes;
    uint32_t ibp_word_bytes, ibp_parts; /* parts of one set of masks */
    uint32_t ibp_groups;                /* 0: one set, and no group in a record's head */
    uint32_t n_levels, base_bytes, exponent_mask;
    struct lp_gather_level level[LP_FORMAT_LANE_LEVELS_MAX];
    struct lp_gather_split split;
    struct lp_gather_columns columns;
    struct lp_gather_dict dict;
    struct lp_gather_sparse sparse;
};

/* One launch. Rows are runs of row_elements elements of the table. */
struct lp_gather_args {
    struct lp_gather_table table;
    uint64_t rows_dev;     /* row numbers; 0: 0, 1, 2, ... */
    uint64_t n_rows;       /* of the output */
    uint64_t table_rows;   /* row numbers are below */
    uint64_t row_elements; /* the last row may be cut short by the table's end */
    uint64_t n_elements;   /* of the table */
    uint64_t out_dev;
    uint64_t default_row_dev;        /* 0: none */
    uint64_t status_dev;             /* 8 bytes, aligned: cuda/gpu_status.h; 0: nobody asks */
    struct lp_gather_divisor pieces; /* records that a row can touch, at most */
    uint32_t index_bytes;            /* 4 or 8: int32 or int64 */
    uint32_t items_per_warp;         /* 1 to LP_GATHER_ITEMS */
    uint32_t stage_bytes; /* room for one record with sector borders and slack, times 16 */
    uint32_t n_stages;    /* 2, or 1 where two do not fit: then nothing is fetched ahead */
    uint32_t warp_bytes;  /* of shared memory: scratch, items and stages */
};

#endif
