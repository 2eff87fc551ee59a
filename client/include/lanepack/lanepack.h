/* SPDX-License-Identifier: Apache-2.0 */
/* Lanepack: losslessly packed tensors in shared host memory, read row by row. This header is the
 * manual.
 *
 * A client connects to the node's daemon (or to a store of its own, path "local:"), puts tensors,
 * opens tensors and reads rows. Packed bytes are mapped, not copied; rows are decoded where they
 * are wanted: by this thread, by workers of the client, or by warps of a GPU.
 *
 * Rules that hold everywhere:
 *
 * - Results: 0 is good, a negative LP_E* code is a failure, a positive number is a count. ret_* is
 *   untouched on failure.
 * - Errors: the last argument, which may be NULL, gets the code and a sentence. A function names
 *   the codes that its caller may want to tell apart; any call may also give LP_EINVAL (arguments
 *   that make no sense), LP_ENOMEM or LP_EFORK, and one that asks the daemon LP_ECONN, LP_ETIMEDOUT
 *   or LP_EPROTO.
 * - Structs: struct_size first: set by lp_options_init() or to sizeof; fields that are 0 mean "the
 *   library decides". Header and library may differ in age: fields that a struct does not have yet
 *   are 0, and those that the library does not know must be 0, else LP_ENOTSUP. What is filled in
 *   ends where the shorter of the two does; struct_size then says where that is.
 * - Handles: opaque; usable from any thread. After fork() the child gets LP_EFORK until it connects
 *   anew; closing there is fine.
 * - Lost connections: the next call connects anew. What the old connection held (writers, and the
 *   leases of tensors while that daemon lives on) is LP_ESTALE from then on; tensors of a daemon
 *   that has ended are still read.
 * - Waiting: every call that waits ends at its deadline with LP_ETIMEDOUT.
 * - Manners: no signal handler, no log, no exit; no thread unless workers are asked for;
 *   descriptors are close-on-exec.
 * - Ownership words: borrows (for the call), copies, takes, returns new (and what frees it). */
#ifndef LANEPACK_LANEPACK_H
#define LANEPACK_LANEPACK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LP_API __attribute__((visibility("default")))
#else
#define LP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- errors ---------------------------------------------------------------------------------- */

#ifndef LP_ERROR_DEFINED
#define LP_ERROR_DEFINED
enum lp_error_code {
    LP_OK = 0,
    /* the call: fix it */
    LP_EINVAL = -1,
    LP_ERANGE = -2,
    LP_ESIZE = -3,
    LP_ENOTSUP = -4,
    LP_ENAME = -5,
    LP_EFORK = -6,
    /* this request: retry or drop it */
    LP_ENOENT = -20,
    LP_EEXIST = -21,
    LP_EPENDING = -22,
    LP_ENOSPC = -23,
    LP_EQUOTA = -24,
    LP_EBUSY = -25,
    LP_ETIMEDOUT = -26,
    LP_ECANCELED = -27,
    LP_ECORRUPT = -28,
    LP_EFINGERPRINT = -29,
    /* this connection: reconnect or give up */
    LP_ECONN = -40,
    LP_ESTALE = -41,
    LP_EPROTO = -42,
    LP_EVERSION = -43,
    LP_EPERM = -44,
    /* one pool or device: attach that one again */
    LP_EMAP = -60,
    LP_EREG = -61,
    LP_EREGLIMIT = -62,
    LP_ENODEV = -63,
    LP_EDEVICE = -64,
    /* the daemon or the host: report it */
    LP_ENOMEM = -80,
    LP_ELIMIT = -81,
    LP_EIO = -82,
    LP_EINTERNAL = -83
};

struct lp_error {
    uint32_t struct_size; /* bytes the caller has; 0: as this library was built */
    int32_t code;         /* 0 or LP_E* */
    char text[248];       /* what happened, always ended by 0 */
};
#endif

/* "LP_ERANGE"; static. */
LP_API const char *lp_error_name(int code);

/* major << 16 | minor << 8 | patch of the library in use. */
LP_API uint32_t lp_version(void);

/* --- tensors --------------------------------------------------------------------------------- */

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
    /* From here on: kept and given back as they are, never coded as floats. */
    LP_DTYPE_F4_X2 = 16,       /* an element is 1 byte of 2 values of 4 bits: dims, rows and sizes
                                  count such bytes; [n, 64] holds n * 128 values */
    LP_DTYPE_F6_E2M3_X4 = 17,  /* an element is 3 bytes of 4 values of 6 bits: [n, 32] holds n * 128
                                  values */
    LP_DTYPE_F6_E3M2_X4 = 18,  /* likewise */
    LP_DTYPE_F8_E8M0 = 19,     /* the scales of microscaling formats */
    LP_DTYPE_F8_E4M3FNUZ = 20, /* 1 byte each, another bias than F8_E4M3 and no infinities */
    LP_DTYPE_F8_E5M2FNUZ = 21,
    LP_DTYPE_C64 = 22, /* 8 bytes: real part, imaginary part, each a float of 4 */
    LP_DTYPE_END = 23
};

/* raw: as it is. ibp: invariant bit packing. lane: exponents by rank in a cascade. zip7: the
 * seven exponents in a row that are most frequent in 3 bits, for bf16. dict: few distinct values by
 * rank. sparse: where the elements that are not zero stand, and what they are. auto: the cheapest
 * on a sample. */
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

/* packed: records back to back, saves memory and link bytes. slotted: fixed places, saves link
 * bytes only. */
enum lp_layout { LP_LAYOUT_PACKED = 1, LP_LAYOUT_SLOTTED = 2, LP_LAYOUT_END = 3 };
#endif

#ifndef LP_ACCESS_DEFINED
#define LP_ACCESS_DEFINED
/* How a tensor will be read, most of the time, for codec auto. whole: all of it, or runs of rows;
 * the codec counts that stores least, and short rows share a record. rows: single rows, each as
 * likely as any other; a record is a row, and the codec counts of which rows touch the fewest
 * sectors of 32 bytes. Rows of less than some 100 bytes are then mostly raw. */
enum lp_access { LP_ACCESS_WHOLE = 1, LP_ACCESS_ROWS = 2, LP_ACCESS_END = 3 };
#endif

/* "bf16"; NULL for no dtype. "lane"; NULL for no codec. Static. */
LP_API const char *lp_dtype_name(uint32_t dtype);
LP_API const char *lp_codec_name(uint32_t codec);

/* A dense row-major tensor. A row is all that shares the first index. */
struct lp_shape {
    uint32_t struct_size, dtype, ndim, flags; /* flags 0 */
    int64_t dims[8];
};

struct lp_tensor_info {
    uint32_t struct_size, dtype, ndim, codec, layout, flags;
    int64_t dims[8];
    uint64_t n_rows, row_bytes;
    uint64_t logical_bytes; /* elements times their size */
    uint64_t stored_bytes;  /* what it takes in memory: capacity ratio = logical / stored */
    uint64_t wire_bytes; /* sectors moved when each record is read once: transfer ratio = logical /
                            wire */
    uint64_t record_bytes; /* raw size of the unit that is decoded at once */
    uint64_t n_records, raw_records;
    uint64_t version;     /* grows with each seal: tells two contents of a name apart */
    uint64_t epoch;       /* of the daemon that served it; 0 for local: */
    uint64_t fingerprint; /* of dtype, shape, codec, layout, record_bytes and tag */
};

/* --- clients --------------------------------------------------------------------------------- */

typedef struct lp_client lp_client; /* a connection, or a store of its own */
typedef struct lp_writer lp_writer; /* a tensor in the making */
typedef struct lp_tensor lp_tensor; /* an opened tensor, held by a lease */

struct lp_connect_options {
    uint32_t struct_size, flags; /* flags 0 */
    uint32_t workers;            /* threads for gathers with threads > 1, at most 1024; 0: none */
    const char *path;            /* borrows: socket, or "local:", or NULL: LANEPACK_SOCKET, then
                                    $XDG_RUNTIME_DIR/lanepack/control.sock if it exists, then
                                    /run/lanepack/control.sock */
    const char *name_space;      /* borrows; NULL: "default" */
    const char *app;     /* borrows; who this is, for people who read the daemon's status; NULL: the
                            program's name */
    uint64_t timeout_ns; /* of connect and of each call; 0: 5 s */
    uint64_t local_bytes; /* "local:": size of the store, in chunks of 32 MiB; 0: 256 MiB */
};

struct lp_client_info {
    uint32_t struct_size, protocol;
    uint64_t epoch; /* 0 for local: */
    uint64_t pool_bytes, chunk_bytes;
    uint32_t n_pools, ready; /* ready: the pool is resident */
    char capability[12]; /* how a GPU of this process reaches the pool: "pinned" once it registered
                            a chunk, else "none" */
    char server[60];     /* "lanepackd 0.1.0", or "local" */
};

/* Set struct_size and the defaults (all else 0). options: any struct of this header, or NULL; for a
 * struct lp_gather lp_gather_init(), whose device stands in the header that it was compiled with.
 */
LP_API void lp_options_init(void *options, uint32_t struct_size);

/* Connect. options may be NULL. Returns new; lp_client_close() ends it. LP_ECONN (nothing listens
 * there), LP_ETIMEDOUT, LP_EVERSION (both ranges are named), LP_EPERM, LP_ENAME (the namespace),
 * LP_ELIMIT (no thread for a worker; "local:": over the memory budget, need and have are named),
 * LP_ENOMEM. */
LP_API int lp_client_connect(const struct lp_connect_options *options, lp_client **ret_client,
                             struct lp_error *err);

/* Close; NULL is fine. Tensors may be closed before or after: mapped bytes stay until the last is.
 * Joins workers. */
LP_API void lp_client_close(lp_client *client);

LP_API int lp_client_get_info(lp_client *client, struct lp_client_info *ret_info,
                              struct lp_error *err);

/* One control request (docs/PROTOCOL.md) with parameters as JSON text; NULL: {}. *ret_json returns
 * new: the result as text, lp_free() frees it. Requests that carry descriptors are refused with
 * LP_ENOTSUP, and so is every request on "local:". */
LP_API int lp_client_call(lp_client *client, const char *method, const char *params_json,
                          char **ret_json, struct lp_error *err);
LP_API void lp_free(void *memory);

/* --- putting --------------------------------------------------------------------------------- */

enum lp_put_flag {
    LP_PUT_IF_ABSENT = 1u, /* a name that exists is no error, and nothing is written */
    LP_PUT_REPLACE = 2u, /* a name that exists gets a new version; open readers keep the old one */
    LP_PUT_EPHEMERAL = 4u, /* gone with this connection */
    LP_PUT_VERIFY = 8u,    /* decode and compare before sealing */
    LP_PUT_IBP_EXACT = 16u /* codec ibp chooses its masks as published: one threshold for all */
};

struct lp_put_options {
    uint32_t struct_size, flags;           /* enum lp_put_flag */
    uint32_t codec, layout;                /* 0: auto, packed */
    uint32_t align_bytes;                  /* 4 or 32; 0: 4, and 32 for slotted */
    uint32_t record_rows, record_elements; /* 0: chosen; not both */
    uint64_t deadline_ns; /* of each request that it makes; 0: the client's timeout, and for the
                             seal 10 ns a stored byte on top */
    const char *tag; /* borrows; model revision or the like, part of the fingerprint; NULL: none */
    const void *sample; /* borrows, for lp_writer_open(): whole records, spread over the
                           tensor, to choose the codec from; NULL: none */
    uint64_t sample_elements;
    uint64_t sample_run_elements; /* the sample is runs of whole records, of so many elements each,
                                     the first at the tensor's start, the last at its end, run k of
                                     n at record floor(k * records / (n - 1)) of those that a run
                                     may begin with; 0: not so. Some columns need to know */
    uint64_t column_span; /* codec lane: columns to try instead of those that the shape suggests. */
    uint32_t column_period; /* They repeat after so many elements (0: as the shape says), with other
                               bases after each span (0: never, else a multiple of the period) */
    uint32_t access;        /* enum lp_access; 0: whole */
};

/* Pack data and store it under name (UTF-8, 1 to 512 bytes, no control characters). data borrows,
 * row-major. options may be NULL. LP_EEXIST, LP_EPENDING (somebody else is putting it), LP_ENOSPC
 * (need and have are named), LP_EBUSY (the daemon has no chunk ready to write in), LP_ENAME,
 * LP_ESTALE, LP_ECORRUPT (LP_PUT_VERIFY: it would not come back as it was). */
LP_API int lp_client_put(lp_client *client, const char *name, const struct lp_shape *shape,
                         const void *data, const struct lp_put_options *options,
                         struct lp_error *err);

/* The same as a stream, for tensors larger than memory: open, append rows in order until all are
 * in, seal. The codec is chosen from options->sample where it is given, else from the first rows
 * appended (up to 8 MiB are held back for that). One thread at a time per writer. Nobody sees the
 * tensor before the seal. More rows than the shape has: LP_ESIZE, and nothing of them is taken.
 * After any other failed append its rows are lost: later calls repeat its code, only giving up is
 * left. */
LP_API int lp_writer_open(lp_client *client, const char *name, const struct lp_shape *shape,
                          const struct lp_put_options *options, lp_writer **ret_writer,
                          struct lp_error *err);
LP_API int lp_writer_append(lp_writer *writer, const void *rows, uint64_t n_rows,
                            struct lp_error *err);

/* The same by elements in row-major order, for rows that are too large to have one in memory. */
LP_API int lp_writer_append_elements(lp_writer *writer, const void *elements, uint64_t n_elements,
                                     struct lp_error *err);

/* Seal, or give up; the writer is gone in any case. ret_info may be NULL. LP_ESIZE: rows are
 * missing. After LP_ETIMEDOUT the daemon may still carry the seal out: ask for the name. */
LP_API int lp_writer_seal_take(lp_writer *writer, struct lp_tensor_info *ret_info,
                               struct lp_error *err);
LP_API void lp_writer_abort_take(lp_writer *writer);

/* --- finding and reading --------------------------------------------------------------------- */

/* Open n tensors: map what is not mapped yet, check it, hold a lease. names borrows. ret_tensors[i]
 * returns new or NULL, ret_codes[i] (may be NULL when n is 1) says why: LP_ENOENT, LP_EPENDING,
 * LP_EMAP, LP_ECORRUPT, LP_EVERSION. 0 when all are open, else the first failure's code. Where the
 * call fails as a whole (a name that is none, no connection) both stay untouched: clear them
 * before. lp_tensor_close() ends each. */
LP_API int lp_client_open(lp_client *client, const char *const *names, size_t n,
                          lp_tensor **ret_tensors, int *ret_codes, struct lp_error *err);
LP_API int lp_client_exists(lp_client *client, const char *const *names, size_t n,
                            uint8_t *ret_hits, struct lp_error *err);

/* Remove; names that do not exist are not counted and no error. Open readers keep their bytes. */
LP_API int lp_client_remove(lp_client *client, const char *const *names, size_t n,
                            uint64_t *ret_removed, struct lp_error *err);

/* Call back for each tensor whose name begins with prefix (NULL: all), in name order. A non-zero
 * answer ends the listing and is returned. */
typedef int (*lp_list_cb)(void *user, const char *name, const struct lp_tensor_info *info);
LP_API int lp_client_list(lp_client *client, const char *prefix, lp_list_cb callback, void *user,
                          struct lp_error *err);

LP_API int lp_tensor_get_info(const lp_tensor *tensor, struct lp_tensor_info *ret_info);

/* How the codec was tuned to this tensor, for people ("2,2,2,3 by table" of lane, "" of raw): cut
 * to text_bytes, of which 96 hold all, and ended by 0. From the tensor's own head, without a
 * request. The words may change from version to version. LP_EINVAL. */
LP_API int lp_tensor_describe(const lp_tensor *tensor, char *ret_text, size_t text_bytes);

/* A read of rows. */
struct lp_gather {
    uint32_t struct_size, flags;       /* flags 0 */
    uint32_t index_bytes, index_space; /* 4 or 8 (0: 8); space 0: rows and default_row lie where dst
                                          does, 1: in host memory */
    const void *rows; /* signed row numbers, repeats allowed; NULL: all, in order */
    uint64_t n_rows;
    void *dst;                   /* row-major, no gaps */
    uint64_t dst_bytes;          /* >= n_rows * row_bytes */
    int32_t device;              /* -1: the CPU; else a CUDA device number */
    uint32_t threads, out_dtype; /* threads: that share the work, this one counted, as many as there
                                    are workers; 0 or 1: this one alone. out_dtype 0: as stored */
    void *stream;                /* device: CUstream; NULL: the default stream */
    void *workspace; /* device, index_space 1: device memory on a border of 256 bytes ... */
    uint64_t workspace_bytes; /* ... n_rows * index_bytes, rounded up to 256, and row_bytes more
                                 where there is a default_row */
    const void *default_row;  /* stands in for bad row numbers; NULL: they are LP_ERANGE */
    uint64_t *status_dev; /* device: 0 when all is well, else the first bad position + 1, and 2^63
                             on top where its record is corrupt; needed where rows are in device
                             memory */
};

/* struct_size, device -1, all else 0. */
static inline void lp_gather_init(struct lp_gather *gather)
{
    lp_options_init(gather, (uint32_t)sizeof(*gather));
    gather->device = -1;
}

/* Decode rows, bit for bit. rows borrows, dst as lp_gather says.
 *
 * device -1: done on return; no system call and no request on this thread (with workers: futexes).
 * Else: enqueued on gather->stream, which borrows rows, dst and workspace until it has run; the
 * first one registers the tensor and waits for that (lp_tensor_register() and its codes). Any
 * thread. 0, or LP_ERANGE (a row number is too large and default_row is NULL; dst untouched),
 * LP_ESIZE (dst or workspace too small; dst untouched), LP_ECORRUPT (a record breaks the format;
 * dst unspecified), LP_ENODEV (no GPU; says why), LP_ENOTSUP (out_dtype), LP_ESTALE, LP_EFORK. On a
 * device a bad row number or record is told by status_dev; rows in host memory without one are
 * checked before. Source: docs/FORMAT.md, section 2.1. */
LP_API int lp_tensor_gather(lp_tensor *tensor, const struct lp_gather *gather,
                            struct lp_error *err);

/* The same with 64-bit row numbers on this thread. */
LP_API int lp_tensor_read(lp_tensor *tensor, const uint64_t *rows, size_t n_rows, void *dst,
                          size_t dst_bytes, struct lp_error *err);

struct lp_register_info {
    uint32_t struct_size, chunks;
    uint64_t bytes, nanoseconds; /* registered by this call, and how long it took */
    char capability[16];         /* "pinned" */
};

/* Register the tensor's chunks with a device in this process, before the first device gather needs
 * it. LP_ENODEV, LP_EREG, LP_EREGLIMIT, LP_ENOTSUP (a record is larger than the device's shared
 * memory), LP_EDEVICE, LP_ESTALE; LP_EINVAL for the CPU. */
LP_API int lp_tensor_register(lp_tensor *tensor, int device, struct lp_register_info *ret_info,
                              struct lp_error *err);
LP_API int lp_tensor_unregister(lp_tensor *tensor, int device); /* idempotent */

/* Give the lease back; NULL is fine. Device work on the tensor must be finished. */
LP_API void lp_tensor_close(lp_tensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
