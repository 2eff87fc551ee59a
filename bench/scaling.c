/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/scaling.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "bench/bench.h"

#include <string.h>
#include <time.h>

/* One thread's share: rows of the data, and a table of its own of them. */
struct share {
    struct lp_bench_pack pack;
    const uint8_t *elements; /* borrowed, as back */
    uint8_t *back;
    int rc;
};

struct team {
    struct share share[BENCH_THREADS_MAX];
    uint32_t n;
};

static double wall_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int team_init(struct team *ret_team, const struct lp_bench_data *data, uint32_t codec,
                     uint32_t n, struct lp_error *err)
{
    const struct lp_plan_params params = {.codec = codec};
    const uint64_t rows = data->geometry.n_rows / n;
    int rc = 0;

    memset(ret_team, 0, sizeof(*ret_team));
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        struct share *const share = &ret_team->share[i];
        const uint64_t at = i * rows * data->geometry.row_bytes;
        uint64_t dims[LP_FORMAT_DIMS_MAX];
        struct lp_geometry geometry;

        memcpy(dims, data->geometry.dims, sizeof(dims));
        dims[0] = i + 1 < n ? rows : data->geometry.n_rows - i * rows;
        share->elements = data->elements + at;
        share->back = data->back + at;
        rc =
            lp_codec_geometry_init(&geometry, data->geometry.dtype, data->geometry.ndim, dims, err);
        if (rc == 0)
            rc = lp_bench_pack_init(&share->pack, &geometry, &params, share->elements, err);
        if (rc == 0)
            ret_team->n = i + 1;
    }
    return rc;
}

static void team_fini(struct team *team)
{
    for (uint32_t i = 0; i < team->n; i++)
        lp_bench_pack_fini(&team->share[i].pack);
}

static void *encode_main(void *user)
{
    struct share *const share = user;

    share->rc = lp_bench_pack_run(&share->pack, share->elements, NULL);
    return NULL;
}

static void *decode_main(void *user)
{
    struct share *const share = user;

    share->rc = lp_codec_view_elements(&share->pack.view, 0, share->pack.table.geometry.n_elements,
                                       share->back, NULL);
    return NULL;
}

/* All shares at once, the first on the calling thread. */
static int run_team(struct team *team, void *(*work)(void *), double *ret_seconds)
{
    const double start = wall_seconds();
    pthread_t thread[BENCH_THREADS_MAX];
    uint32_t started = 1;
    int rc = 0;

    while (started < team->n &&
           lp_sys_thread_create(&thread[started], work, &team->share[started]) == 0)
        started++;
    (void)work(&team->share[0]);
    for (uint32_t i = 1; i < started; i++)
        (void)pthread_join(thread[i], NULL);
    *ret_seconds = wall_seconds() - start;
    for (uint32_t i = 0; i < started; i++)
        rc = team->share[i].rc < 0 ? team->share[i].rc : rc;
    return started < team->n ? LP_ENOMEM : rc;
}

/* One and many by turns, so that a busy moment meets both. */
static int compare(struct team *one, struct team *many, void *(*work)(void *), uint32_t runs,
                   double *ret_factor)
{
    double best_one = 0, best_many = 0;
    int rc;

    for (uint32_t i = 0; i <= runs; i++) {
        double seconds_one, seconds_many;

        LP_TRY(rc, run_team(one, work, &seconds_one));
        LP_TRY(rc, run_team(many, work, &seconds_many));
        best_one = i <= 1 ? seconds_one : LP_MIN(best_one, seconds_one);
        best_many = i <= 1 ? seconds_many : LP_MIN(best_many, seconds_many);
    }
    *ret_factor = best_many > 0 ? best_one / best_many : 0;
    return 0;
}

static int run_both(struct team *one, struct team *many, const struct lp_bench_data *data,
                    uint32_t runs, struct bench_scaling *scaling, struct lp_error *err)
{
    int rc = compare(one, many, encode_main, runs, &scaling->encode);

    memset(data->back, 0, data->geometry.logical_bytes);
    if (rc == 0)
        rc = compare(one, many, decode_main, runs, &scaling->decode);
    if (rc < 0)
        return lp_error_set(err, rc, "%u threads could not do their shares", (unsigned)many->n);
    if (memcmp(data->back, data->elements, data->geometry.logical_bytes) != 0)
        return lp_error_set(err, LP_EINTERNAL, "elements came back changed from %u threads",
                            (unsigned)many->n);
    return 0;
}

int bench_scaling(const struct lp_bench_data *data, uint32_t codec, uint32_t threads, uint32_t runs,
                  struct bench_scaling *ret_scaling, struct lp_error *err)
{
    struct bench_scaling scaling = {.threads = threads};
    struct team one, many = {.n = 0};
    int rc;

    if (threads < 2 || threads > BENCH_THREADS_MAX || data->geometry.n_rows < threads)
        return lp_error_set(err, LP_EINVAL, "%u threads for %llu rows", (unsigned)threads,
                            (unsigned long long)data->geometry.n_rows);
    rc = team_init(&one, data, codec, 1, err);
    if (rc == 0)
        rc = team_init(&many, data, codec, threads, err);
    if (rc == 0)
        rc = run_both(&one, &many, data, runs, &scaling, err);
    team_fini(&one);
    team_fini(&many);
    if (rc == 0)
        *ret_scaling = scaling;
    return rc;
}
