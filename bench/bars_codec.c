/* SPDX-License-Identifier: Apache-2.0 */
/* Every number here is a promise of the codec layer; how each is measured stands in
 * docs/BENCHMARKS.md. */
#include "bench/bars_codec.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

#define NORMAL_PHASES 16u
#define NORMAL_ELEMENTS (UINT64_C(1) << 20)
#define LANE_BITS_MOST 10.72
#define LANE_BITS_MEAN 10.66
#define ZIP7_BITS_MOST 11.26

/* Shares of the order-0 bound. */
#define DENSE_SHARE 0.98
#define DENSE_SHARE_F16 0.97
#define HEAVY_TAIL_SHARE 0.97 /* generated: tails that reach the last levels */
#define OWN_BOUND_TENSORS_MAX 16u
#define KEYS_SHARE_LYING 1.01
#define KEYS_SHARE_TURNED 1.03

#define EXTRA_BYTES_PER_RECORD 6.0
#define LANE_OVER_IBP 1.25
#define SPARSE_SHARE 0.75 /* of the best stored ratio known */
#define SPARSE_SECTORS 1.6

/* Smaller records are fetched one by one: lanepack-bench gather has their speed. */
#define SPEED_RECORD_BYTES 1024u

/* Shares of memcpy on the same buffers, and multiples of peers. */
#define DECODE_SHARE 0.7
#define ENCODE_SHARE 0.35
#define ENCODE_SHARE_BY_RECORD 0.18
#define ANALYSIS_SHARE 0.25
#define DECODE_OVER_ZIPNN 8.0
#define ENCODE_OVER_ZIPNN 6.0
#define ENCODE_OVER_ZIPNN_BY_RECORD 3.0
#define DECODE_OVER_PEERS 5.0
#define IBP_DECODE_GBPS 4.0
#define SCALING_PER_THREAD 0.9

/* Raw bytes per stored byte, index included, of the best of four simple ways to keep the set: bit
 * invariance, a bitmap, a bitmap of two levels, positions, each with the values behind it. */
static const struct {
    const char *part; /* of the file's name */
    double ratio;
} sparse_sets[] = {{"cora", 212}, {"coauthor", 186}, {"pubmed", 13.4}};

static double saving(const struct tensor_figures *figures, uint32_t codec)
{
    return lp_bench_saving(&figures->row[codec]);
}

static double stored_ratio(const struct lp_bench_figures *figures)
{
    return (double)figures->logical_bytes / (double)LP_MAX(figures->stored_bytes, 1);
}

static const char *dtype_name(const struct tensor_figures *figures)
{
    return lp_codec_dtype_info(figures->geometry.dtype)->name;
}

/* --- bits per value -------------------------------------------------------------------------- */

struct phases {
    uint32_t codec;
    double most, sum;
};

/* Every scale of the bell curve is one of 16 up to a power of two. */
static int add_phase(struct phases *phases, const struct lp_geometry *geometry,
                     const uint8_t *elements, struct lp_error *err)
{
    const struct lp_plan_params params = {.codec = phases->codec};
    struct lp_bench_figures figures = {0};
    double bits;
    int rc;

    LP_TRY(rc, lp_bench_codec_sizes(&figures, geometry, &params, elements, err));
    bits = 16 * (1 - lp_bench_saving(&figures));
    phases->most = LP_MAX(phases->most, bits);
    phases->sum += bits;
    return 0;
}

static int measure_phases(struct phases *lane, struct phases *zip7, bool with_zip7,
                          uint8_t *elements, struct lp_error *err)
{
    const uint64_t dims[1] = {NORMAL_ELEMENTS};
    struct lp_geometry geometry;
    int rc;

    LP_TRY(rc, lp_codec_geometry_init(&geometry, LP_DTYPE_BF16, 1, dims, err));
    for (uint32_t phase = 0; phase < NORMAL_PHASES; phase++) {
        bench_fill_normal(LP_DTYPE_BF16, NORMAL_ELEMENTS, (double)phase / NORMAL_PHASES, 0,
                          elements);
        LP_TRY(rc, add_phase(lane, &geometry, elements, err));
        if (with_zip7)
            LP_TRY(rc, add_phase(zip7, &geometry, elements, err));
    }
    return 0;
}

int bars_codec_normal(struct bars *bars, struct lp_error *err)
{
    static const char what[] = "bits per value, Gaussian bf16, 16 scales";
    const int zip7_id = lp_codec_id_by_name("zip7");
    struct phases lane = {.codec = LP_CODEC_LANE}, zip7 = {.codec = (uint32_t)zip7_id};
    uint8_t *const elements = lp_bench_map(2 * NORMAL_ELEMENTS);
    int rc;

    if (elements == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a bell curve");
    rc = measure_phases(&lane, &zip7, zip7_id > 0, elements, err);
    lp_bench_unmap(elements, 2 * NORMAL_ELEMENTS);
    LP_TRY(rc, rc);
    bars_add(bars, BAR_RATIO, lane.most, BAR_AT_MOST, LANE_BITS_MOST, "%s, most: lane", what);
    bars_add(bars, BAR_RATIO, lane.sum / NORMAL_PHASES, BAR_AT_MOST, LANE_BITS_MEAN,
             "%s, mean: lane", what);
    if (zip7_id > 0)
        bars_add(bars, BAR_RATIO, zip7.most, BAR_AT_MOST, ZIP7_BITS_MOST, "%s, most: zip7", what);
    else
        bars_waive(bars, "not built", "%s, most: zip7", what);
    return 0;
}

/* --- savings --------------------------------------------------------------------------------- */

static void add_not_below_ibp(struct bars *bars, const char *name,
                              const struct tensor_figures *figures)
{
    bars_add(bars, BAR_RATIO,
             100 * (saving(figures, LP_CODEC_AUTO) - saving(figures, LP_CODEC_IBP)), BAR_AT_LEAST,
             0, "%s %s: auto less the better ibp, points", name, dtype_name(figures));
}

static void add_lane_over_ibp(struct bars *bars, const char *name,
                              const struct tensor_figures *figures)
{
    /* Where ibp saves nothing, the figure is not infinite. */
    const double ibp = LP_MAX(saving(figures, LP_CODEC_IBP), 0.001);
    const double lane = saving(figures, LP_CODEC_LANE);

    if (figures->geometry.dtype != LP_DTYPE_BF16 && figures->geometry.dtype != LP_DTYPE_F16)
        return;
    if (LANE_OVER_IBP * ibp >= figures->bound_saving)
        bars_waive(bars, "that much is above the bound", "%s %s: lane saving / better ibp", name,
                   dtype_name(figures));
    else
        bars_add(bars, BAR_RATIO, lane / ibp, BAR_AT_LEAST, LANE_OVER_IBP,
                 "%s %s: lane saving / better ibp", name, dtype_name(figures));
}

static void add_dense(struct bars *bars, const char *name, double share,
                      const struct tensor_figures *figures)
{
    bars_add(bars, BAR_RATIO, saving(figures, LP_CODEC_AUTO) / figures->bound_saving, BAR_AT_LEAST,
             share, "%s %s: auto saving / bound", name, dtype_name(figures));
    bars_add(bars, BAR_RATIO, measure_extra_bytes(&figures->row[LP_CODEC_AUTO]), BAR_AT_MOST,
             EXTRA_BYTES_PER_RECORD, "%s %s: index and alignment, bytes per record", name,
             dtype_name(figures));
    add_not_below_ibp(bars, name, figures);
    add_lane_over_ibp(bars, name, figures);
}

static void add_sparse(struct bars *bars, const char *file, const struct tensor_figures *all)
{
    const struct lp_bench_figures *const chosen = &all->row[LP_CODEC_AUTO];
    const double ratio = stored_ratio(chosen);

    for (size_t i = 0; i < LP_ARRAY_LEN(sparse_sets); i++) {
        if (strstr(file, sparse_sets[i].part) == NULL)
            continue;
        bars_add(bars, BAR_RATIO, ratio, BAR_AT_LEAST, SPARSE_SHARE * sparse_sets[i].ratio,
                 "%s %s: auto stored ratio, index included", file, dtype_name(all));
        bars_add(bars, BAR_RATIO,
                 (double)all->row[LP_CODEC_IBP].wire_bytes / (double)LP_MAX(chosen->wire_bytes, 1),
                 BAR_AT_LEAST, SPARSE_SECTORS, "%s %s: sectors of ibp / those of auto", file,
                 dtype_name(all));
    }
    add_not_below_ibp(bars, file, all);
}

/* A file of many small tensors has its bound over all elements: what each of them alone would
 * leave to an ideal coder has no room for its table of counts. Where they are large, each tensor's
 * own bound is asked too. */
void bars_codec_file(struct bars *bars, const char *file, const struct tensor_figures *all,
                     uint32_t n_tensors)
{
    const double share = all->geometry.dtype == LP_DTYPE_F16 ? DENSE_SHARE_F16 : DENSE_SHARE;

    if (!all->is_float || all->bound_saving <= 0)
        return;
    if (all->sparse) {
        add_sparse(bars, file, all);
        return;
    }
    add_dense(bars, file, share, all);
    if (n_tensors > 1 && n_tensors <= OWN_BOUND_TENSORS_MAX)
        bars_add(bars, BAR_RATIO, saving(all, LP_CODEC_AUTO) / all->own_bound_saving, BAR_AT_LEAST,
                 share, "%s %s: auto saving / each tensor's own bound", file, dtype_name(all));
}

void bars_codec_keys(struct bars *bars, const char *file, const struct tensor_figures *lying,
                     const struct tensor_figures *turned)
{
    bars_add(bars, BAR_RATIO, saving(lying, LP_CODEC_AUTO) / lying->own_bound_saving, BAR_AT_LEAST,
             KEYS_SHARE_LYING, "%s: keys as they lie, auto saving / bound", file);
    bars_add(bars, BAR_RATIO, saving(turned, LP_CODEC_AUTO) / turned->own_bound_saving,
             BAR_AT_LEAST, KEYS_SHARE_TURNED,
             "%s: keys as [tokens, heads x head_dim], auto saving / bound", file);
}

void bars_codec_kind(struct bars *bars, const struct bench_kind *kind,
                     const struct tensor_figures *tensor)
{
    if (kind->is == KIND_DENSE || kind->is == KIND_TAILED)
        add_dense(bars, kind->name, kind->is == KIND_TAILED ? HEAVY_TAIL_SHARE : DENSE_SHARE,
                  tensor);
    else if (kind->is == KIND_NOISE)
        bars_add(bars, BAR_RATIO, stored_ratio(&tensor->row[LP_CODEC_AUTO]), BAR_AT_LEAST, 0.996,
                 "%s %s: auto stored ratio", kind->name, dtype_name(tensor));
    else
        add_not_below_ibp(bars, kind->name, tensor);
}

/* --- speeds ---------------------------------------------------------------------------------- */

static const struct peer_figures *find_peer(const struct tensor_figures *tensor, const char *name)
{
    for (uint32_t i = 0; i < tensor->n_peers; i++) {
        if (strcmp(tensor->peer[i].name, name) == 0)
            return &tensor->peer[i];
    }
    return NULL;
}

static double peer_gbps(const struct peer_figures *peer, bool encode)
{
    return lp_bench_gbps(peer->raw_bytes, encode ? peer->encode_seconds : peer->decode_seconds);
}

static void add_over_zipnn(struct bars *bars, const struct tensor_figures *tensor, bool by_record)
{
    const struct lp_bench_figures *const lane = &tensor->row[LP_CODEC_LANE];
    const struct peer_figures *const zipnn = find_peer(tensor, "ZipNN");

    if (zipnn == NULL || zipnn->state != PEER_MEASURED) {
        const char *const why = zipnn != NULL ? zipnn->why : "ZipNN is not here";

        bars_waive(bars, why, "%s: lane decode / ZipNN", tensor->name);
        bars_waive(bars, why, "%s: lane encode / ZipNN", tensor->name);
        return;
    }
    bars_add(bars, BAR_TIMING, lane->decode_gbps / peer_gbps(zipnn, false), BAR_AT_LEAST,
             DECODE_OVER_ZIPNN, "%s: lane decode / ZipNN", tensor->name);
    bars_add(bars, BAR_TIMING, lane->encode_gbps / peer_gbps(zipnn, true), BAR_AT_LEAST,
             by_record ? ENCODE_OVER_ZIPNN_BY_RECORD : ENCODE_OVER_ZIPNN, "%s: lane encode / ZipNN",
             tensor->name);
}

/* The fastest other peer that saves at least half of what lane saves. */
static void add_over_peers(struct bars *bars, const struct tensor_figures *tensor)
{
    const struct lp_bench_figures *const lane = &tensor->row[LP_CODEC_LANE];
    const struct peer_figures *best = NULL;

    for (uint32_t i = 0; i < tensor->n_peers; i++) {
        const struct peer_figures *const peer = &tensor->peer[i];

        if (peer->state != PEER_MEASURED || strcmp(peer->name, "ZipNN") == 0 ||
            bench_peer_saving(peer) < lp_bench_saving(lane) / 2)
            continue;
        if (best == NULL || peer_gbps(peer, false) > peer_gbps(best, false))
            best = peer;
    }
    if (best != NULL)
        bars_add(bars, BAR_TIMING, lane->decode_gbps / peer_gbps(best, false), BAR_AT_LEAST,
                 DECODE_OVER_PEERS, "%s: lane decode / %s", tensor->name, best->name);
    else
        bars_waive(bars, "none here saves half as much", "%s: lane decode / fastest other peer",
                   tensor->name);
}

void bars_codec_speed(struct bars *bars, const struct tensor_figures *tensor)
{
    const struct lp_bench_figures *const lane = &tensor->row[LP_CODEC_LANE];
    const struct lp_bench_figures *const ibp = &tensor->row[LP_CODEC_IBP];
    const bool by_record = strstr(lane->timed_how, "by record") != NULL;
    char why[96];

    if (tensor->geometry.dtype != LP_DTYPE_BF16 || tensor->sparse ||
        strncmp(lane->timed_how, "lane", 4) != 0)
        return;
    if (lane->logical_bytes / LP_MAX(lane->records, 1) < SPEED_RECORD_BYTES) {
        (void)snprintf(why, sizeof(why),
                       "records of %llu bytes, whose gather counts; decode %.2f x",
                       (unsigned long long)(lane->logical_bytes / LP_MAX(lane->records, 1)),
                       lane->decode_gbps / lane->memcpy_gbps);
        bars_waive(bars, why, "%s: lane speeds / memcpy", tensor->name);
        return;
    }
    bars_add(bars, BAR_TIMING, lane->decode_gbps / lane->memcpy_gbps, BAR_AT_LEAST, DECODE_SHARE,
             "%s: lane decode / memcpy", tensor->name);
    bars_add(bars, BAR_TIMING, lane->encode_gbps / lane->memcpy_gbps, BAR_AT_LEAST,
             by_record ? ENCODE_SHARE_BY_RECORD : ENCODE_SHARE, "%s: encode of %s / memcpy",
             tensor->name, lane->timed_how);
    bars_add(bars, BAR_TIMING, tensor->analysis_gbps / lane->memcpy_gbps, BAR_AT_LEAST,
             ANALYSIS_SHARE, "%s: analysis / memcpy", tensor->name);
    if (strncmp(ibp->timed_how, "ibp", 3) == 0)
        bars_add(bars, BAR_TIMING, ibp->decode_gbps, BAR_AT_LEAST, IBP_DECODE_GBPS,
                 "%s: ibp decode, GB/s", tensor->name);
    if (tensor->n_peers > 0) {
        add_over_zipnn(bars, tensor, by_record);
        add_over_peers(bars, tensor);
    }
}

void bars_codec_scaling(struct bars *bars, const char *name, const struct bench_scaling *scaling)
{
    const double bound = SCALING_PER_THREAD * scaling->threads;

    bars_add(bars, BAR_TIMING, scaling->encode, BAR_AT_LEAST, bound,
             "%s: lane encode, %u threads over one", name, (unsigned)scaling->threads);
    bars_add(bars, BAR_TIMING, scaling->decode, BAR_AT_LEAST, bound,
             "%s: lane decode, %u threads over one", name, (unsigned)scaling->threads);
}
