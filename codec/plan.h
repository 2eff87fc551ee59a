/* SPDX-License-Identifier: Apache-2.0 */
/* The choice before packing: records, layout, codec and its metadata, from a sample. */
#ifndef LP_CODEC_PLAN_H
#define LP_CODEC_PLAN_H

#include "codec/sample.h"
#include "codec/table.h"

#ifndef LP_ACCESS_DEFINED
#define LP_ACCESS_DEFINED
/* How a tensor will be read, most of the time. whole: all of it, or runs of rows; what it takes in
 * memory counts. rows: single rows, each as likely as any other; the sectors count that a row's
 * records lie in. */
enum lp_access { LP_ACCESS_WHOLE = 1, LP_ACCESS_ROWS = 2, LP_ACCESS_END = 3 };
#endif

/* What the caller wants, and what it knows; 0 everywhere means "chosen". */
struct lp_plan_params {
    uint32_t codec;           /* enum lp_codec_id */
    uint32_t layout;          /* enum lp_layout; packed when 0 */
    uint32_t align_bytes;     /* packed only: 4 (default) or 32 */
    uint32_t access;          /* enum lp_access: what auto counts, whole when 0. rows: a record is
                                 one row, where its size was not asked for and rows have 16 KiB or
                                 less */
    uint32_t record_rows;     /* rows per record ... */
    uint32_t record_elements; /* ... or elements; not both */
    uint32_t ibp_word_bytes;  /* 4 or 8; 0: the better one */
    float ibp_threshold;      /* 0: chosen */
    bool ibp_exact;           /* the published choice of masks and no other */
    float zip7_sigma;         /* standard deviation that places the window; 0: counted */
    uint32_t column_period;   /* of lane: columns to try, elements until they repeat, ... */
    uint64_t column_span;     /* ... and until they get other bases; 0: never */
    uint64_t segment_bytes;   /* 0: LP_PLAN_SEGMENT_BYTES */
    double min_ratio;         /* logical / stored below which auto stores raw; 0: 1.0 */
    /* Where the sample's records lie in the tensor, borrowed for the plan. NULL: from its start on
     * when the sample is the whole tensor, else not known; lane then uses no columns that differ
     * from record to record. */
    const struct lp_sample *sample_layout;
};
#define LP_PLAN_SEGMENT_BYTES ((1ull << 30) - 65536)

/* The bytes of sample that a plan looks at, at most, whatever the tensor's size. */
#define LP_PLAN_SAMPLE_BYTES (8ull << 20)

/* What each codec would cost, for people and for the choice: bytes of the sample, payload, stored
 * with index and alignment (of slotted tables sectors), and cost, which decides. With access whole
 * that is what is stored. With access rows it is 32 bytes for each sector that reading every row
 * once, alone, touches: a row needs its records whole, and of codec raw its own bytes; the index
 * counts as it is stored, as a device has a copy of it and a CPU keeps most of it in its caches.
 *
 * Why whole is the default: short rows are grouped into records of 256 bytes to shrink at all,
 * which pays wherever tensors are read whole (a matrix [4096, 16] of a LoRA has rows of 32 bytes),
 * but rows gathered one by one then touch more than raw ones. Normal bf16, codec lane, index
 * included, by row bytes:
 *
 *   row bytes                     32     64    128    256    512   1024
 *   sectors of a raw row        1.00   2.00   4.00   8.00  16.00  32.00
 *   of a packed one, whole      6.27   2.33   3.67   6.33  11.65  22.29
 *   of a packed one, rows       1.69   2.33   3.67   6.33  11.65  22.29
 *
 * Who reads like that says so: auto then keeps rows apart, and takes raw where it moves less. */
struct lp_price {
    uint32_t codec;
    uint32_t ibp_word_bytes; /* for ibp: one price per word size */
    uint64_t payload_bytes, stored_bytes, cost_bytes, meta_bytes;
    int possible; /* 0: this codec can't take the tensor; note says why, else it may say how */
    char note[64];
};
#define LP_PRICES_MAX 8
struct lp_prices {
    uint32_t n;
    struct lp_price price[LP_PRICES_MAX];
    uint64_t sample_bytes;
    bool by_rows;        /* access rows: cost_bytes is what is moved */
    double entropy_bits; /* order-0 entropy of the exponent; < 0 where dtype is no float */
    double bound_saving; /* 1 - (R + entropy_bits) / W: share of raw bytes; 0 where none */
};

/* The record size (in elements) that a plan for this geometry will use: the sample must come in
 * these. */
int lp_codec_plan_record(const struct lp_geometry *geometry, const struct lp_plan_params *params,
                         uint32_t *ret_record_elements, struct lp_error *err);

/* Decide. sample borrows: sample_elements elements, whole records (the tensor's short last one may
 * end it), the whole tensor when it fits LP_PLAN_SAMPLE_BYTES, else records spread evenly over it.
 * params may be NULL; ret_prices may be NULL (then only what the choice needs is priced). A codec
 * that was asked for but can't take the tensor becomes raw, with the reason in ret_table->reason.
 * LP_EINVAL for parameters that make no sense, LP_ENOMEM. */
int lp_codec_plan(struct lp_table *ret_table, const struct lp_geometry *geometry,
                  const struct lp_plan_params *params, const void *sample, uint64_t sample_elements,
                  struct lp_prices *ret_prices, struct lp_error *err);

/* Order-0 entropy of the exponents of n < 2^32 elements, in bits, and the share of the raw bytes
 * that an ideal coder of them would save with all other bits kept; -1 and 0 where dtype is no float
 * or n is 0. LP_ENOMEM. */
int lp_codec_entropy(uint32_t dtype, const void *elements, uint64_t n, double *ret_bits,
                     double *ret_saving, struct lp_error *err);

#endif
