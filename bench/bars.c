/* SPDX-License-Identifier: Apache-2.0 */
/* The bars of the codec layer that stand on figures. */
#include "bench/bars.h"

#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NORMAL_PHASES 16u
#define NORMAL_ELEMENTS (UINT64_C(1) << 20)

/* Share of the order-0 bound that lane must save, and of what the better ibp saves. */
#define BOUND_SHARE 0.96
#define BOUND_SHARE_ONE_SIGN 0.85 /* features >= 0, whose sign is free for ibp */
#define IBP_FACTOR 1.25

/* Shares of memcpy on the same buffers. */
#define DECODE_SHARE 0.7
#define ENCODE_TABLE_SHARE 0.35
#define ENCODE_RECORD_SHARE 0.18
#define ANALYSIS_SHARE 0.25
#define IBP_DECODE_GBPS 4.0
#define PEER_FACTOR 5.0
/* Speeds are judged where a record is a tile; the rows of an embedding table are judged by their
 * gather. */
#define RECORD_BYTES_MIN 4096u

static struct bar *add(struct bars *bars, const char *what, double figure, double bound)
{
    struct bar *const bar = &bars->bar[LP_MIN(bars->n, LP_ARRAY_LEN(bars->bar) - 1)];

    memset(bar, 0, sizeof(*bar));
    (void)snprintf(bar->what, sizeof(bar->what), "%s", what);
    bar->figure = figure;
    bar->bound = bound;
    bars->n = (uint32_t)(bar - bars->bar) + 1;
    return bar;
}

void bars_add(struct bars *bars, const char *what, double figure, bool at_most, double bound)
{
    struct bar *const bar = add(bars, what, figure, bound);

    bar->at_most = at_most;
    bar->verdict = (at_most ? figure <= bound : figure >= bound) ? BAR_PASSED : BAR_MISSED;
}

void bars_waive(struct bars *bars, const char *what, double figure, double bound,
                const char *why_waived)
{
    struct bar *const bar = add(bars, what, figure, bound);

    bar->verdict = BAR_WAIVED;
    bar->why_waived = why_waived;
}

static const char *label(char *buffer, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static const char *label(char *buffer, size_t bytes, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(buffer, bytes, format, arguments);
    va_end(arguments);
    return buffer;
}

/* Mostly zeros: what a bitmap and a dictionary are for, not a code of exponents. */
static bool is_sparse(const struct tensor_figures *all)
{
    uint64_t n = 0;

    for (uint32_t e = 0; e < LP_LANE_EXPONENTS_MAX; e++)
        n += all->hist[e];
    return all->hist[0] > n / 2;
}

void bars_add_file(struct bars *bars, const char *file, const struct tensor_figures *all)
{
    const double lane = lp_bench_saving(&all->row[ROW_LANE]);
    const double ibp = LP_MAX(lp_bench_saving(&all->row[ROW_IBP]), 1e-9);
    const double share = strstr(file, "reddit") != NULL ? BOUND_SHARE_ONE_SIGN : BOUND_SHARE;
    const char *const dtype = lp_codec_dtype_info(all->geometry.dtype)->name;
    char what[112];

    if (!all->is_float || all->bound_saving <= 0)
        return;
    bars_add(bars, label(what, sizeof(what), "%s %s: auto less ibp, points", file, dtype),
             100 * (lp_bench_saving(&all->row[ROW_AUTO]) - ibp), false, 0);
    (void)label(what, sizeof(what), "%s %s: lane saving / bound", file, dtype);
    if (is_sparse(all))
        bars_waive(bars, what, lane / all->bound_saving, share, "sparse");
    else
        bars_add(bars, what, lane / all->bound_saving, false, share);
    if (all->geometry.dtype != LP_DTYPE_BF16)
        return;
    (void)label(what, sizeof(what), "%s %s: lane saving / better ibp", file, dtype);
    if (IBP_FACTOR * ibp > all->bound_saving)
        bars_waive(bars, what, lane / ibp, IBP_FACTOR, "more than the bound");
    else
        bars_add(bars, what, lane / ibp, false, IBP_FACTOR);
}

/* The fastest peer that saves at least half of what lane saves. */
static void add_peers(struct bars *bars, const struct tensor_figures *tensor)
{
    const struct lp_bench_figures *const lane = &tensor->row[ROW_LANE];
    const struct peer_figures *best = NULL;
    char what[112];

    for (uint32_t i = 0; i < tensor->n_peers; i++) {
        const struct peer_figures *const peer = &tensor->peer[i];

        if (!peer->present ||
            1 - (double)peer->stored_bytes / (double)peer->raw_bytes < lp_bench_saving(lane) / 2)
            continue;
        if (best == NULL || peer->decode_seconds < best->decode_seconds)
            best = peer;
    }
    if (best != NULL)
        bars_add(bars, label(what, sizeof(what), "%s: lane decode / %s", tensor->name, best->name),
                 lane->decode_gbps / lp_bench_gbps(best->raw_bytes, best->decode_seconds), false,
                 PEER_FACTOR);
    else
        bars_waive(bars, label(what, sizeof(what), "%s: lane decode / peers", tensor->name), 0,
                   PEER_FACTOR, "no peer saves half as much");
}

void bars_add_speeds(struct bars *bars, const struct tensor_figures *tensor)
{
    const struct lp_bench_figures *const lane = &tensor->row[ROW_LANE];
    const struct lp_bench_figures *const ibp = &tensor->row[ROW_IBP];
    const bool by_record = strstr(lane->how, "by record") != NULL;
    char what[112];

    if (tensor->geometry.dtype != LP_DTYPE_BF16 || strncmp(lane->how, "lane", 4) != 0 ||
        lane->logical_bytes / LP_MAX(lane->records, 1) < RECORD_BYTES_MIN)
        return;
    bars_add(bars, label(what, sizeof(what), "%s: lane decode / memcpy", tensor->name),
             lane->decode_gbps / lane->memcpy_gbps, false, DECODE_SHARE);
    bars_add(bars,
             label(what, sizeof(what), "%s: lane encode by %s / memcpy", tensor->name,
                   by_record ? "record" : "table"),
             lane->encode_gbps / lane->memcpy_gbps, false,
             by_record ? ENCODE_RECORD_SHARE : ENCODE_TABLE_SHARE);
    bars_add(bars, label(what, sizeof(what), "%s: analysis / memcpy", tensor->name),
             tensor->analysis_gbps / lane->memcpy_gbps, false, ANALYSIS_SHARE);
    if (strncmp(ibp->how, "ibp", 3) == 0)
        bars_add(bars, label(what, sizeof(what), "%s: ibp decode GB/s", tensor->name),
                 ibp->decode_gbps, false, IBP_DECODE_GBPS);
    if (tensor->n_peers > 0)
        add_peers(bars, tensor);
}

/* Bits per value of one scale; every scale of the bell curve is one of 16 up to a power of two. */
static int normal_bits(uint32_t phase, uint8_t *elements, double *ret_bits, struct lp_error *err)
{
    const uint64_t dims[1] = {NORMAL_ELEMENTS};
    struct tensor_figures *figures;
    struct lp_geometry geometry;
    static struct tensor_figures room;
    int rc;

    figures = &room;
    bench_fill_normal(LP_DTYPE_BF16, NORMAL_ELEMENTS, phase / 16.0, 0, elements);
    LP_TRY(rc, lp_codec_geometry_init(&geometry, LP_DTYPE_BF16, 1, dims, err));
    LP_TRY(rc, measure_sizes(figures, "normal", &geometry, elements, err));
    *ret_bits = 16 * (1 - lp_bench_saving(&figures->row[ROW_LANE]));
    return 0;
}

int bars_add_normal(struct bars *bars, struct lp_error *err)
{
    uint8_t *const elements = lp_bench_map(2 * NORMAL_ELEMENTS);
    double worst = 0, sum = 0;
    int rc = 0;

    if (elements == NULL)
        return lp_error_set(err, LP_ENOMEM, "no memory for a bell curve");
    for (uint32_t phase = 0; rc == 0 && phase < NORMAL_PHASES; phase++) {
        double bits = 0;

        rc = normal_bits(phase, elements, &bits, err);
        worst = LP_MAX(worst, bits);
        sum += bits;
    }
    lp_bench_unmap(elements, 2 * NORMAL_ELEMENTS);
    LP_TRY(rc, rc);
    bars_add(bars, "bell curve bf16, 16 scales: most bits per value", worst, true, 10.72);
    bars_add(bars, "bell curve bf16, 16 scales: mean bits per value", sum / NORMAL_PHASES, true,
             10.66);
    return 0;
}

const char *bars_verdict_name(enum bar_verdict verdict)
{
    static const char *const names[] = {"passed", "MISSED", "waived"};

    return names[verdict];
}

uint32_t bars_print(const struct bars *bars)
{
    uint32_t missed = 0;

    for (uint32_t i = 0; i < bars->n; i++) {
        const struct bar *const bar = &bars->bar[i];

        (void)printf("%-72s %8.3f %s %-6.3f %s%s%s\n", bar->what, bar->figure,
                     bar->at_most ? "<=" : ">=", bar->bound, bars_verdict_name(bar->verdict),
                     bar->why_waived != NULL ? ": " : "",
                     bar->why_waived != NULL ? bar->why_waived : "");
        missed += bar->verdict == BAR_MISSED;
    }
    return missed;
}
