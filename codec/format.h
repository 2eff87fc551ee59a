/* SPDX-License-Identifier: Apache-2.0 */
/* Wire structs and constants of docs/FORMAT.md: the home of magic numbers. Safe in C, C++ and CUDA.
 */
#ifndef LP_CODEC_FORMAT_H
#define LP_CODEC_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define LP_FORMAT_VERSION 1u
#define LP_FORMAT_TABLE_MAGIC "LPTABLE" /* with its final zero: 8 bytes */
#define LP_FORMAT_FILE_MAGIC "LANEPACK" /* 8 bytes, no final zero */
#define LP_FORMAT_DIMS_MAX 8u
#define LP_FORMAT_NAME_MAX 512u
#define LP_FORMAT_TENSORS_MAX (1u << 20)
#define LP_FORMAT_LOGICAL_LIMIT (1ull << 62) /* logical bytes stay below */
#define LP_FORMAT_RECORD_BYTES_MAX 65536u    /* raw size of a record */
#define LP_FORMAT_RECORD_BYTES_NARROW 8192u  /* up to here index entries have 16 bits */
#define LP_FORMAT_STRIDE_NARROW 8160u        /* up to here slotted lengths have 8 bits */
#define LP_FORMAT_SECTOR_BYTES 32u
#define LP_FORMAT_GROUP_RECORDS 32u      /* records per index group */
#define LP_FORMAT_GROUP_BYTES_NARROW 72u /* base + 32 * uint16 */
#define LP_FORMAT_GROUP_BYTES_WIDE 136u  /* base + 32 * uint32 */
#define LP_FORMAT_INDEX_UNIT_BYTES 4u    /* unit of end[] */
#define LP_FORMAT_BASE_SEGMENT_SHIFT 40u /* base: segment above, byte in it below */
#define LP_FORMAT_SEGMENT_BYTES_MIN (4ull << 20)
#define LP_FORMAT_SEGMENT_BYTES_MAX (1ull << 40)
#define LP_FORMAT_SEGMENTS_MAX (1u << 24)
#define LP_FORMAT_SECTION_ALIGN 8u
#define LP_FORMAT_DATA_ALIGN 64u
#define LP_FORMAT_LANE_LEVELS_MAX 5u
#define LP_FORMAT_LANE_WIDTH_MAX 3u
#define LP_FORMAT_LANE_SYMBOLS_MAX 35u   /* 5 levels of 7 */
#define LP_FORMAT_LANE_META_FIXED 24u    /* bytes before the ranks */
#define LP_FORMAT_LANE_BYTE_FIELD_MIN 3u /* bits of the field of i8 and u8 */
#define LP_FORMAT_LANE_BYTE_FIELD_MAX 6u
#define LP_FORMAT_LANE_COLUMNS_MAX 65536u    /* bases of columns in a table */
#define LP_FORMAT_IBP_META_FIXED 16u         /* bytes before the masks */
#define LP_FORMAT_IBP_GROUPS_MAX 16u         /* of records, each with its own masks */
#define LP_FORMAT_SPARSE_META_FIXED 8u       /* bytes before what the values need */
#define LP_FORMAT_SPARSE_ELEMENTS_MAX 32768u /* of a record; a multiple of 64 */
#define LP_FORMAT_SPARSE_COUNT_MASK 0x7fffu  /* head of a record: its non-zero elements ... */
#define LP_FORMAT_SPARSE_PLAIN 0x8000u       /* ... and whether they are as they are */
#define LP_FORMAT_SPARSE_COUNTS 128u         /* values of the metadata: counts */
#define LP_FORMAT_COUNTS_ROW_BYTES 4u        /* of a record of counts: the row's scale */
#define LP_FORMAT_COUNTS_SYMBOL_BYTES 4u
#define LP_FORMAT_COUNTS_EXPONENT_MIN 77u /* of a scale: its bits 23 to 30; bit 31 is 0 */
#define LP_FORMAT_COUNTS_EXPONENT_MAX 177u
#define LP_FORMAT_COUNTS_RESIDUAL_BITS 4u /* of a symbol, its lowest; the count - 1 above */
#define LP_FORMAT_COUNTS_RESIDUAL_BIAS 8u
#define LP_FORMAT_COUNTS_SYMBOLS (1u << 20) /* symbols from here on are elements as they are */

#define LP_FORMAT_DICT_LEVELS_MAX 5u
#define LP_FORMAT_DICT_WIDTH_MAX 8u
#define LP_FORMAT_DICT_META_FIXED 16u /* bytes before the values */
#define LP_FORMAT_ZIP7_META_BYTES 8u
#define LP_FORMAT_ZIP7_FIRST_MAX 249u /* the last exponent where a window can begin */

/* The same three enums stand in the public header, which must compile alone. */
#ifndef LP_DTYPES_DEFINED
#define LP_DTYPES_DEFINED
enum lp_dtype {
    LP_DTYPE_F64 = 1,
    LP_DTYPE_F32 = 2,
    LP_DTYPE_F16 = 3,
    LP_DTYPE_BF16 = 4,
    LP_DTYPE_F8_E4M3 = 5,
    LP_DTYPE_F8_E5M2 = 6,
    LP_DTYPE_I8 = 7,
    LP_DTYPE_U8 = 8,
    LP_DTYPE_I16 = 9,
    LP_DTYPE_U16 = 10,
    LP_DTYPE_I32 = 11,
    LP_DTYPE_U32 = 12,
    LP_DTYPE_I64 = 13,
    LP_DTYPE_U64 = 14,
    LP_DTYPE_BOOL = 15,
    LP_DTYPE_F4_X2 = 16,      /* an element is one byte of two values */
    LP_DTYPE_F6_E2M3_X4 = 17, /* an element is three bytes of four values */
    LP_DTYPE_F6_E3M2_X4 = 18, /* likewise */
    LP_DTYPE_F8_E8M0 = 19,
    LP_DTYPE_F8_E4M3FNUZ = 20,
    LP_DTYPE_F8_E5M2FNUZ = 21,
    LP_DTYPE_C64 = 22,
    LP_DTYPE_END = 23
};

enum lp_codec_id {
    LP_CODEC_AUTO = 0,
    LP_CODEC_RAW = 1,
    LP_CODEC_IBP = 2,
    LP_CODEC_LANE = 3,
    LP_CODEC_ZIP7 = 4,
    LP_CODEC_DICT = 5,
    LP_CODEC_SPARSE = 6,
    LP_CODEC_END = 7
};
enum lp_layout { LP_LAYOUT_PACKED = 1, LP_LAYOUT_SLOTTED = 2, LP_LAYOUT_END = 3 };
#endif

enum lp_lane_window {
    LP_LANE_WINDOW_TABLE = 0,
    LP_LANE_WINDOW_RECORD = 1,
    LP_LANE_WINDOW_COLUMNS = 2
};
enum lp_lane_sign { LP_LANE_SIGN_STORED = 0, LP_LANE_SIGN_ZERO = 1, LP_LANE_SIGN_ONE = 2 };

/* Section 2. All fields little-endian; multi-byte fields are naturally aligned. */
struct lp_format_header {
    uint8_t magic[8];
    uint16_t version;
    uint16_t header_bytes;
    uint32_t flags;
    uint8_t dtype;
    uint8_t codec;
    uint8_t layout;
    uint8_t ndim;
    uint32_t record_elements;
    uint64_t dims[LP_FORMAT_DIMS_MAX];
    uint32_t align_bytes;
    uint32_t check_records;
    uint64_t segment_bytes;
    uint64_t meta_bytes;
    uint64_t index_bytes;
    uint64_t checks_bytes;
    uint64_t data_bytes;
    uint64_t payload_bytes;
    uint64_t wire_bytes;
    uint64_t raw_records;
    uint64_t meta_hash;
    uint64_t index_hash;
    uint64_t checks_hash;
    uint64_t header_hash;
};

/* Section 10. */
struct lp_format_file_header {
    uint8_t magic[8];
    uint16_t version;
    uint16_t header_bytes;
    uint32_t n_tensors;
    uint64_t directory_offset;
    uint64_t directory_bytes;
    uint64_t file_bytes;
    uint64_t directory_hash;
    uint64_t zero;
    uint64_t header_hash;
};

#if defined(__cplusplus)
#define LP_FORMAT_ASSERT(condition) static_assert(condition, #condition)
#else
#define LP_FORMAT_ASSERT(condition) _Static_assert(condition, #condition)
#endif

LP_FORMAT_ASSERT(sizeof(struct lp_format_header) == 192);
LP_FORMAT_ASSERT(offsetof(struct lp_format_header, dims) == 24);
LP_FORMAT_ASSERT(offsetof(struct lp_format_header, segment_bytes) == 96);
LP_FORMAT_ASSERT(offsetof(struct lp_format_header, data_bytes) == 128);
LP_FORMAT_ASSERT(offsetof(struct lp_format_header, header_hash) == 184);
LP_FORMAT_ASSERT(sizeof(struct lp_format_file_header) == 64);

#endif
