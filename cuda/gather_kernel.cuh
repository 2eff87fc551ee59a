/* SPDX-License-Identifier: Apache-2.0 */
/* The gather kernels: rows[i] of a table go to out[i], straight from the mapped pool.
 *
 * A warp works alone. It looks up up to 32 pieces at once, a lane each (a piece is what one row
 * takes from one record), then fetches and decodes them one by one: while a record is decoded the
 * next one is on its way. All sectors of a record are asked for at once, in 16-byte copies from the
 * sector border below it, and each sector once.
 *
 * Nothing is believed: row numbers, index entries and records are checked, and what is wrong goes
 * to the status word (gather_args.h) while the other rows go on. */
#ifndef LP_CUDA_GATHER_KERNEL_CUH
#define LP_CUDA_GATHER_KERNEL_CUH

#include "cuda/counts_dev.cuh"

/* --- looking up ------------------------------------------------------------------------------- */

enum lp_gather_kind {
    LP_GATHER_NOTHING,
    LP_GATHER_RAW,
    LP_GATHER_CODED,
    LP_GATHER_DEFAULT,
    LP_GATHER_BAD
};

/* A piece, as its lane found it and all lanes read it; three loads of 16 bytes. */
struct alignas(16) lp_gather_item {
    uint64_t source;       /* device address: sector border below the record, or the default row */
    uint64_t out;          /* of the piece */
    uint32_t stored_bytes; /* of the record */
    uint32_t fetch_bytes;  /* from source on, whole sectors */
    uint32_t elements;     /* of the record */
    uint32_t first, last;  /* those that are wanted */
    uint32_t columns;      /* struct lp_gpu_record says what these are */
    uint32_t turn;
    uint16_t before; /* bytes from source to the record */
    uint16_t kind;   /* enum lp_gather_kind */
};
static_assert(sizeof(lp_gather_item) == LP_GATHER_ITEM_BYTES, "gather_plan.c reserves this much");

LP_DEVICE uint64_t lp_gather_divide(uint64_t n, const lp_gather_divisor &d)
{
    const uint64_t high = __umul64hi(n, d.magic);

    return (high + ((n - high) >> d.shift[0])) >> d.shift[1];
}

/* Where a packed record begins and how long it is. */
LP_DEVICE void lp_gather_find_packed(const lp_gather_table &t, uint64_t record, uint32_t &segment,
                                     uint64_t &offset, uint32_t &bytes)
{
    const unsigned char *const group = reinterpret_cast<const unsigned char *>(t.index_dev) +
                                       record / LP_FORMAT_GROUP_RECORDS * t.group_bytes;
    const uint64_t base = *reinterpret_cast<const uint64_t *>(group);
    const uint32_t i = (uint32_t)(record % LP_FORMAT_GROUP_RECORDS);
    uint32_t begin, units;

    if (t.index_entry_bytes == 2) {
        const uint16_t *const ends = reinterpret_cast<const uint16_t *>(group + 8);

        begin = i > 0 ? ends[i - 1] : 0;
        units = (ends[i] - begin) & 0xffff;
    } else {
        const uint32_t *const ends = reinterpret_cast<const uint32_t *>(group + 8);

        begin = i > 0 ? ends[i - 1] : 0;
        units = ends[i] - begin;
    }
    segment = (uint32_t)(base >> LP_FORMAT_BASE_SEGMENT_SHIFT);
    offset = (base & ((1ull << LP_FORMAT_BASE_SEGMENT_SHIFT) - 1)) +
             (uint64_t)begin * LP_FORMAT_INDEX_UNIT_BYTES;
    /* A length that does not fit is corrupt; it stays larger than any record. */
    bytes = units <= LP_FORMAT_RECORD_BYTES_MAX ? units * LP_FORMAT_INDEX_UNIT_BYTES : 0xffffffffu;
}

LP_DEVICE void lp_gather_find_slot(const lp_gather_table &t, uint64_t record, uint32_t raw_length,
                                   uint32_t &segment, uint64_t &offset, uint32_t &bytes)
{
    segment = t.n_segments > 1 ? (uint32_t)lp_gather_divide(record, t.records_per_segment) : 0;
    offset = (record - segment * t.records_per_segment.by) * t.stride;
    if (t.codec == LP_CODEC_RAW)
        bytes = raw_length;
    else if (t.index_entry_bytes == 1)
        bytes = reinterpret_cast<const uint8_t *>(t.index_dev)[record] * LP_FORMAT_SECTOR_BYTES;
    else
        bytes = reinterpret_cast<const uint16_t *>(t.index_dev)[record] * LP_FORMAT_SECTOR_BYTES;
}

/* Find a record, of which elements [first, last) are wanted, and check its place, as
 * lp_codec_place() does. Of a table that is raw as a whole only these elements are fetched. */
LP_DEVICE void lp_gather_find(const lp_gather_table &t, uint64_t record, uint32_t first,
                              uint32_t last, lp_gather_item &item)
{
    const uint32_t n = record + 1 < t.n_records ? t.record_elements : t.last_elements;
    const uint32_t raw_length = (n * t.elem_bytes + t.align_bytes - 1) & ~(t.align_bytes - 1);
    uint32_t segment, bytes;
    uint64_t offset, end;
    bool good;

    if (t.codec != LP_CODEC_RAW && t.layout == LP_LAYOUT_PACKED)
        lp_gather_find_packed(t, record, segment, offset, bytes);
    else
        lp_gather_find_slot(t, record, raw_length, segment, offset, bytes);
    good = bytes > 0 && bytes <= raw_length && segment < t.n_segments &&
           (((uint32_t)offset | bytes) & (t.align_bytes - 1)) == 0;
    end = segment + 1 < t.n_segments ? t.segment_bytes : t.last_segment_bytes;
    good = good && offset + bytes <= end;
    if (!good) {
        item.kind = LP_GATHER_BAD;
        return;
    }
    const bool part = t.codec == LP_CODEC_RAW;
    const uint32_t skip = part ? first * t.elem_bytes : 0,
                   length = part ? (last - first) * t.elem_bytes : bytes;
    const uint64_t address =
        reinterpret_cast<const uint64_t *>(t.segments_dev)[segment] + offset + skip;

    item.kind = bytes == raw_length ? LP_GATHER_RAW : LP_GATHER_CODED;
    item.before = (uint16_t)(address & (LP_FORMAT_SECTOR_BYTES - 1));
    item.source = address - item.before;
    item.stored_bytes = length;
    item.fetch_bytes =
        (item.before + length + LP_FORMAT_SECTOR_BYTES - 1) & ~(LP_FORMAT_SECTOR_BYTES - 1);
    item.elements = part ? last - first : n;
    item.first = part ? 0 : first;
    item.last = part ? last - first : last;
}

/* Which columns the elements of a record from its first one on have. The last group of a table
 * turns into no other one. */
LP_DEVICE void lp_gather_find_columns(const lp_gather_columns &c, uint64_t first,
                                      lp_gather_item &item)
{
    const uint64_t phase = first - lp_gather_divide(first, c.period) * c.period.by;
    uint64_t group = 0, left = item.elements;

    if (c.span.by != 0) {
        group = lp_gather_divide(first, c.span);
        left = (group + 1) * c.span.by - first;
    }
    item.columns = (uint32_t)(group << 16 | phase);
    item.turn = left < item.elements ? (uint32_t)left : LP_GATHER_NO_TURN;
}

/* The number of output row i. A negative one becomes too large. */
LP_DEVICE uint64_t lp_gather_row(const lp_gather_args &a, uint64_t i)
{
    if (a.rows_dev == 0)
        return i;
    if (a.index_bytes == 4)
        return (uint64_t)(int64_t) reinterpret_cast<const int32_t *>(a.rows_dev)[i];
    return (uint64_t) reinterpret_cast<const int64_t *>(a.rows_dev)[i];
}

/* Piece number i of the launch. */
LP_DEVICE lp_gather_item lp_gather_look_up(const lp_gather_args &a, uint64_t i)
{
    const lp_gather_table &t = a.table;
    const uint64_t position = lp_gather_divide(i, a.pieces), piece = i - position * a.pieces.by;
    const uint64_t row = lp_gather_row(a, position),
                   row_out = a.out_dev + position * a.row_elements * t.elem_bytes;
    lp_gather_item item = {0, row_out, 0, 0, 0, 0, 0, 0, 0, 0, LP_GATHER_NOTHING};

    if (row >= a.table_rows) {
        if (piece != 0)
            return item;
        if (a.default_row_dev == 0) {
            lp_gpu_report(a.status_dev, position + 1);
            return item;
        }
        item.source = a.default_row_dev;
        item.kind = LP_GATHER_DEFAULT;
        return item;
    }
    const uint64_t begin = row * a.row_elements, end = min(begin + a.row_elements, a.n_elements);
    const uint64_t record = lp_gather_divide(begin, t.per_record) + piece;
    const uint64_t record_begin = record * t.record_elements;
    const uint64_t from = max(begin, record_begin), to = min(end, record_begin + t.record_elements);

    if (from >= to)
        return item;
    lp_gather_find(t, record, (uint32_t)(from - record_begin), (uint32_t)(to - record_begin), item);
    item.out = row_out + (from - begin) * t.elem_bytes;
    if (item.kind == LP_GATHER_BAD)
        lp_gpu_report(a.status_dev, LP_GPU_STATUS_CORRUPT | (position + 1));
    else if (t.columns.pitch != 0)
        lp_gather_find_columns(t.columns, record_begin, item);
    return item;
}

/* --- fetching --------------------------------------------------------------------------------- */

/* Ask for all sectors that the record touches. */
LP_DEVICE void lp_gather_fetch(const lp_gather_item &item, unsigned char *stage, uint32_t lane)
{
    const unsigned char *const from =
        reinterpret_cast<const unsigned char *>(item.source) + 16 * lane;
    const uint32_t end = item.fetch_bytes, step = 16 * LP_GATHER_WARP;

    stage += 16 * lane;
    lp_gpu_copy_async(stage, from, 16 * lane, end);
    for (uint32_t at = step; at < end; at += step)
        lp_gpu_copy_async(stage + at, from + at, at + 16 * lane, end);
}

/* --- decoding --------------------------------------------------------------------------------- */

LP_DEVICE void lp_gather_copy_default(const lp_gather_args &a, const lp_gather_item &item,
                                      uint32_t lane)
{
    const unsigned char *const from = reinterpret_cast<const unsigned char *>(item.source);
    unsigned char *const out = reinterpret_cast<unsigned char *>(item.out);
    const uint64_t bytes = a.row_elements * a.table.elem_bytes;

    if (((item.source | item.out | bytes) & 3) == 0) {
        for (uint64_t i = lane; i < bytes / 4; i += LP_GATHER_WARP)
            reinterpret_cast<uint32_t *>(out)[i] = reinterpret_cast<const uint32_t *>(from)[i];
        return;
    }
    for (uint64_t i = lane; i < bytes; i += LP_GATHER_WARP)
        out[i] = from[i];
}

/* The decoders by codec: what a kernel passes to lp_gather_body(). SCRATCH: as gather_plan.c
 * reserves it. */
struct lp_gather_raw {
    static constexpr uint32_t SCRATCH = LP_GATHER_SCRATCH_NONE;
    LP_DEVICE bool decode(const lp_gpu_record &, const lp_gather_table &)
    {
        return false; /* codec raw has no coded records */
    }
};
struct lp_gather_ibp {
    static constexpr uint32_t SCRATCH = LP_GATHER_SCRATCH_NONE;
    LP_DEVICE bool decode(const lp_gpu_record &record, const lp_gather_table &table)
    {
        return lp_gpu_decode_ibp(record, table);
    }
};
template <class F, class L> struct lp_gather_lane {
    static constexpr uint32_t SCRATCH = LP_GATHER_SCRATCH_LANE_BYTES;
    LP_DEVICE bool decode(const lp_gpu_record &record, const lp_gather_table &table)
    {
        return lp_gpu_decode_lane<F, L>(record, table);
    }
};
template <uint32_t ELEM> struct lp_gather_dict_values {
    static constexpr uint32_t SCRATCH = LP_GATHER_SCRATCH_DICT_BYTES;
    LP_DEVICE bool decode(const lp_gpu_record &record, const lp_gather_table &table)
    {
        return lp_gpu_decode_dict<ELEM>(record, table);
    }
};
template <uint32_t ELEM> struct lp_gather_sparse_values {
    static constexpr uint32_t SCRATCH = LP_GATHER_SCRATCH_SPARSE_BYTES;
    LP_DEVICE bool decode(const lp_gpu_record &record, const lp_gather_table &table)
    {
        return lp_gpu_decode_sparse<ELEM, lp_sparse_kinds<ELEM>>(record, table);
    }
};
struct lp_gather_counts {
    static constexpr uint32_t SCRATCH = LP_GATHER_SCRATCH_SPARSE_BYTES;
    LP_DEVICE bool decode(const lp_gpu_record &record, const lp_gather_table &table)
    {
        return lp_gpu_decode_sparse<4, lp_sparse_counts_kinds>(record, table);
    }
};

template <class Codec>
LP_DEVICE void lp_gather_put(const lp_gather_args &a, const lp_gather_item &item, uint64_t i,
                             const unsigned char *stage, unsigned char *scratch, uint32_t lane)
{
    const lp_gpu_record record = {stage + item.before,
                                  item.stored_bytes,
                                  item.elements,
                                  item.first,
                                  item.last,
                                  reinterpret_cast<unsigned char *>(item.out),
                                  lane,
                                  scratch,
                                  item.columns,
                                  item.turn};
    const uint32_t kind = item.kind;

    if (kind == LP_GATHER_CODED) {
        if (!Codec::decode(record, a.table) && lane == 0)
            lp_gpu_report(a.status_dev,
                          LP_GPU_STATUS_CORRUPT | (lp_gather_divide(i, a.pieces) + 1));
    } else if (kind == LP_GATHER_RAW) {
        const uint32_t bytes = record.elements * a.table.elem_bytes;

        lp_gpu_copy_record(record, a.table.elem_bytes);
        if (bytes < record.stored_bytes &&
            !lp_gpu_zero_bytes(record.bytes, bytes, record.stored_bytes, lane) && lane == 0)
            lp_gpu_report(a.status_dev,
                          LP_GPU_STATUS_CORRUPT | (lp_gather_divide(i, a.pieces) + 1));
    } else if (kind == LP_GATHER_DEFAULT) {
        lp_gather_copy_default(a, item, lane);
    }
}

/* --- the kernel's body ------------------------------------------------------------------------ */

template <class Codec> LP_DEVICE void lp_gather_body(const lp_gather_args &a)
{
    LP_DYNAMIC_SHARED(unsigned char, shared);
    const uint32_t lane = threadIdx.x & (LP_GATHER_WARP - 1), warp = threadIdx.x / LP_GATHER_WARP;
    const uint32_t warps = blockDim.x / LP_GATHER_WARP;
    unsigned char *const mine = shared + lp_gpu_keep(warp * a.warp_bytes);
    lp_gather_item *const items = reinterpret_cast<lp_gather_item *>(mine + Codec::SCRATCH);
    const uint32_t stages = Codec::SCRATCH + LP_GATHER_ITEMS * LP_GATHER_ITEM_BYTES;
    const uint32_t both = lp_gpu_keep(2 * stages + (a.n_stages - 1) * a.stage_bytes);
    const uint64_t n_items = a.n_rows * a.pieces.by;
    const uint64_t stride = (uint64_t)gridDim.x * warps * a.items_per_warp;

    for (uint64_t first = ((uint64_t)blockIdx.x * warps + warp) * a.items_per_warp; first < n_items;
         first += stride) {
        const uint32_t count =
            lp_gpu_keep((uint32_t)min((uint64_t)a.items_per_warp, n_items - first));
        const uint32_t ahead = lp_gpu_keep(a.n_stages > 1 ? count : 0),
                       behind = lp_gpu_keep(count - ahead);
        uint32_t at = stages; /* of the stage that is decoded; the other one begins at both - at */

        if (lane < count)
            items[lane] = lp_gather_look_up(a, first + lane);
        __syncwarp();
        lp_gather_fetch(items[0], mine + at, lane);
        __pipeline_commit();
        for (uint32_t k = 0; k < count;) {
            const lp_gather_item &item = items[k++];

            /* An empty group follows where nothing is fetched ahead, so that one wait fits both. */
            if (k < ahead)
                lp_gather_fetch(items[k], mine + (both - at), lane);
            __pipeline_commit();
            __pipeline_wait_prior(1);
            __syncwarp();
            lp_gather_put<Codec>(a, item, first + k - 1, mine + at, mine, lane);
            __syncwarp();
            if (k < behind) {
                lp_gather_fetch(items[k], mine + at, lane);
                __pipeline_commit();
            }
            at = both - at;
        }
    }
}

#endif
