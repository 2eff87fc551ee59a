/* SPDX-License-Identifier: Apache-2.0 */
/* A packed table's head, checked and unfolded: all that encoding or decoding a record needs, but
 * the bytes.
 *
 * A table is made by lp_codec_plan() (when packing) or by lp_codec_table_parse() (when reading), is
 * then only read, by any number of threads, and ends with lp_codec_table_fini(). Source:
 * docs/FORMAT.md, section 2. */
#ifndef LP_CODEC_TABLE_H
#define LP_CODEC_TABLE_H

#include "codec/dict.h"
#include "codec/hash.h"
#include "codec/lane.h"
#include "codec/shape.h"
#include "codec/sparse.h"

/* Bytes that must be readable behind the source of any decode, and writable behind the destination
 * of any encode: the fast tiers load and store whole vectors. What lies there is never used.
 * Destinations of decodes need none. */
#define LP_CODEC_SLACK_BYTES 64u

/* A set of masks of codec ibp, one per word of a full record; low word_bytes used. */
struct lp_ibp_masks {
    uint64_t *mask, *value;
    uint32_t *mask_32, *value_32; /* the low 32 bits once more, for vectors */
    uint8_t *packed_bits;         /* bits of a packed word, 8 * word_bytes - popcount(mask[j]) */
    uint8_t *moves; /* how bits close up, as codec/ibp_moves.h has it; only where a tier needs it */
};

/* Codec ibp; source docs/FORMAT.md, section 4. */
struct lp_ibp {
    uint32_t word_bytes;      /* 4 or 8 */
    uint32_t n_words;         /* of a full record */
    uint32_t threshold_bits;  /* float32, 0: none */
    uint32_t n_groups;        /* of records, each with a set of masks; 0: one set for all */
    struct lp_ibp_masks *set; /* owned, one block that begins here: the sets, then their arrays; all
                                 masks lie one behind the other, and so do all values */
};

struct lp_table {
    struct lp_geometry geometry;
    uint32_t codec, layout;
    uint32_t record_elements;
    uint32_t record_bytes; /* raw size of a full record */
    uint32_t align_bytes, check_records;
    uint64_t n_records;
    uint32_t last_elements; /* of the last record; 0 without records */
    uint64_t segment_bytes;
    uint32_t n_segments;                            /* known once packed; 0 before */
    uint64_t last_segment_bytes;                    /* of the last segment; known once packed */
    uint64_t records_per_segment;                   /* raw and slotted; 0 else */
    uint32_t stride;                                /* raw and slotted; 0 else */
    uint32_t index_entry_bytes;                     /* packed 2 or 4, slotted 1 or 2, raw 0 */
    uint32_t group_bytes;                           /* of the index, packed only; 0 else */
    uint64_t meta_bytes, index_bytes, checks_bytes; /* without padding */
    uint64_t meta_offset, index_offset, checks_offset,
        head_bytes; /* from the start of the table; data begins at head_bytes */
    uint64_t data_bytes, payload_bytes, wire_bytes, raw_records; /* known once packed */
    struct lp_ibp ibp;                                           /* codec ibp */
    struct lp_lane lane;                                         /* codecs lane and zip7 */
    struct lp_dict dict;                                         /* codec dict */
    struct lp_sparse sparse;                                     /* codec sparse */
    char reason[96]; /* why this codec, as a sentence; empty when parsed */
};

/* From geometry, codec, layout, record_elements, align_bytes, check_records, segment_bytes and
 * meta_bytes (which the caller has set) to every size and offset that is known before packing.
 * LP_EINVAL: a field is outside of what the format allows; LP_ESIZE: too many records or bytes. */
int lp_codec_table_derive(struct lp_table *table, struct lp_error *err);

/* Sets data_bytes and with it n_segments and last_segment_bytes. False when it needs too many
 * segments. */
bool lp_codec_table_set_data_bytes(struct lp_table *table, uint64_t data_bytes);

/* Parse and check a head: magic, version, header hash, every field and every sum of fields, section
 * hashes, metadata, and every index entry against the segments. head borrows for the call and is
 * 8-byte aligned, head_bytes >= the table's own head (more is fine). On success the table owns its
 * own memory. LP_EVERSION, LP_ECORRUPT (names the field), LP_ENOMEM. */
int lp_codec_table_parse(struct lp_table *ret_table, const void *head, uint64_t head_bytes,
                         struct lp_error *err);

/* Only the fixed 192 bytes, checked as far as they go: enough to know how many bytes head and data
 * have. LP_EVERSION, LP_ECORRUPT. */
int lp_codec_table_peek(const void *header, uint64_t *ret_head_bytes, uint64_t *ret_data_bytes,
                        struct lp_error *err);

/* Ends a table; NULL and zeroed ones are fine. */
void lp_codec_table_fini(struct lp_table *table);

/* Write header, metadata and padding of a packed table; index and checks stand in head already, at
 * their offsets. head has table->head_bytes. */
void lp_codec_table_emit(const struct lp_table *table, void *head);

/* The codec's parameters in words ("2,2,3 by columns of 64"); empty where it has none worth a word.
 * Cut to text_bytes; LP_TABLE_HOW_BYTES hold all (lanepack.h says that number too). */
#define LP_TABLE_HOW_BYTES 96u
void lp_codec_table_describe(const struct lp_table *table, char *text, size_t text_bytes);

/* Number of elements of record r: record_elements, but for a shorter last one. */
uint32_t lp_codec_table_record_elements(const struct lp_table *table, uint64_t record);

/* Bytes of segment i (all but the last span the whole pitch), and stored bytes as docs/FORMAT.md,
 * section 9 counts them. */
uint64_t lp_codec_table_segment_bytes(const struct lp_table *table, uint32_t segment);
uint64_t lp_codec_table_stored_bytes(const struct lp_table *table);

/* Where record r < n_records lies; index is the index section, as mapped (8-byte aligned, each
 * entry is read once). Returns false when the length is not allowed or the place is outside of the
 * segment: the index is corrupt. */
struct lp_place {
    uint32_t segment;
    uint32_t stored_bytes;
    uint64_t offset; /* in the segment */
};
bool lp_codec_table_place(const struct lp_table *table, const uint8_t *index, uint64_t record,
                          struct lp_place *ret_place);

#endif
