/* SPDX-License-Identifier: Apache-2.0 */
/* Elements in, stored records, index and checks out, as a stream: no allocation per record, memory
 * of one group.
 *
 * init -> append ... -> finish -> (emit the head) ; fini at any point. The table comes from
 * lp_codec_plan() and gets its final sizes at finish. When no record shrank, finish says so with
 * LP_PACKER_ALL_RAW: the caller plans again with codec raw (docs/FORMAT.md: such a table is stored
 * raw). */
#ifndef LP_CODEC_PACKER_H
#define LP_CODEC_PACKER_H

#include "codec/hash.h"
#include "codec/table.h"

/* Where the data goes. Called with ascending offsets from the start of the data (segment *
 * segment_bytes + offset in it), never across a segment's end. */
struct lp_packer_sink {
    void *user;
    /* Memory for bytes at data_offset, valid until commit. */
    int (*reserve)(void *user, uint64_t data_offset, uint32_t bytes, uint8_t **ret_dst,
                   struct lp_error *err);
    /* They are final. */
    int (*commit)(void *user, uint64_t data_offset, const uint8_t *dst, uint32_t bytes,
                  struct lp_error *err);
};

struct lp_packer {
    struct lp_table *table; /* borrowed, until fini */
    struct lp_packer_sink sink;
    uint8_t *index, *checks; /* borrowed: table->index_bytes, table->checks_bytes */
    uint64_t next_record, next_element;
    uint64_t payload_bytes, wire_bytes, raw_records;
    uint32_t segment;
    uint64_t segment_used;
    struct lp_hasher *hasher; /* owned: of the block of checks that is open */
    uint8_t *pending;         /* owned: elements that wait for a full record; behind them: */
    uint8_t *scratch;         /* room for one record, and */
    uint8_t *group;           /* the records of the group that is open, coded */
    uint32_t pending_elements;
    uint32_t group_records, group_bytes;
    uint32_t lengths[LP_FORMAT_GROUP_RECORDS]; /* stored, of the group's records */
};

#define LP_PACKER_ALL_RAW 1

int lp_codec_packer_init(struct lp_packer *ret_packer, struct lp_table *table, uint8_t *index,
                         uint8_t *checks, const struct lp_packer_sink *sink, struct lp_error *err);

/* Any number of elements, in order; in all exactly the tensor's. src borrows for the call.
 * LP_ESIZE: more than the tensor has. */
int lp_codec_packer_append(struct lp_packer *packer, const void *src, uint64_t n_elements,
                           struct lp_error *err);

/* All elements are in: fills the table's data_bytes, payload_bytes, wire_bytes, raw_records,
 * n_segments. 0 or LP_PACKER_ALL_RAW; LP_ESIZE: elements are missing. */
int lp_codec_packer_finish(struct lp_packer *packer, struct lp_error *err);
void lp_codec_packer_fini(struct lp_packer *packer);

#endif
