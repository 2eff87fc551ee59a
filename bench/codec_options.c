/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/codec_options.h"

#include "base/bytes.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_DEFAULT 7u
#define RUNS_CI 3u
#define RUNS_MAX 31u

/* Timed data has some times the last-level cache, within reason. Peers are far from memory's speed,
 * so less does for them. */
#define CACHES 4u
#define TIMED_BYTES_MAX (UINT64_C(1) << 30)
#define TIMED_BYTES_CI (UINT64_C(128) << 20)
#define PEER_BYTES (UINT64_C(32) << 20)
#define PEER_BYTES_CI (UINT64_C(8) << 20)

static const char usage[] =
    "usage: lanepack-bench codec [FILE...] [options]\n"
    "  FILE             .npy, .npz or .safetensors\n"
    "  --data DIR       every such file in DIR; with neither the folder in LANEPACK_BENCH_DATA,\n"
    "                   else --generated\n"
    "  --generated      seeded data of many kinds, made here\n"
    "  --as WHAT        f32 tensors as: native, bf16 (rounded to nearest even), both\n"
    "  --no-speed       sizes only\n"
    "  --no-peers       no compressors of others\n"
    "  --python FILE    the Python that has the peers' modules\n"
    "  --runs N         medians of N runs (7)\n"
    "  --bytes N        time tensors repeated to N bytes (4 times the last-level cache)\n"
    "  --bars           also print every bar with figure and verdict (--as both, and without\n"
    "                   FILEs generated data too); ends with 1 when one is missed\n"
    "  --ci             with --bars: only generated data is timed, and a timing is missed only\n"
    "                   below half of its bar\n"
    "  --json           figures as JSON on standard output\n"
    "  --markdown FILE  tables as in docs/BENCHMARKS.md\n"
    "  --svg FILE       savings against decode speed\n"
    "Of a file with several tensors the largest is timed. LANEPACK_BENCH_PEERS names a folder\n"
    "where peers may be: libraries in it or its lib/, Python as bin/python3.\n";

static const struct option longs[] = {{"data", required_argument, NULL, 'd'},
                                      {"generated", no_argument, NULL, 'g'},
                                      {"as", required_argument, NULL, 'a'},
                                      {"no-speed", no_argument, NULL, 's'},
                                      {"no-peers", no_argument, NULL, 'p'},
                                      {"python", required_argument, NULL, 'y'},
                                      {"runs", required_argument, NULL, 'r'},
                                      {"bytes", required_argument, NULL, 'n'},
                                      {"bars", no_argument, NULL, 'b'},
                                      {"ci", no_argument, NULL, 'c'},
                                      {"json", no_argument, NULL, 'j'},
                                      {"markdown", required_argument, NULL, 'm'},
                                      {"svg", required_argument, NULL, 'v'},
                                      {"help", no_argument, NULL, 'h'},
                                      {0}};

static bool take_cast(struct codec_options *options, const char *word)
{
    static const char *const words[] = {"native", "bf16", "both"};

    for (size_t i = 0; i < LP_ARRAY_LEN(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            options->cast = (enum codec_cast)i;
            return true;
        }
    }
    return false;
}

static bool take_runs(struct codec_options *options, const char *word)
{
    char *end;
    const unsigned long runs = strtoul(word, &end, 10);

    options->runs = (uint32_t)runs;
    return *end == '\0' && runs >= 1 && runs <= RUNS_MAX;
}

static bool take_bytes(struct codec_options *options, const char *word)
{
    char *end;

    options->bytes = strtoull(word, &end, 10);
    return *end == '\0' && options->bytes >= 1 && options->bytes <= TIMED_BYTES_MAX;
}

/* One option into its field; false: the usage. */
static bool take(struct codec_options *options, int c, bool *ret_cast_given)
{
    switch (c) {
    case 'd':
        options->data = optarg;
        return true;
    case 'g':
        return options->generated = true;
    case 'a':
        return (*ret_cast_given = true) && take_cast(options, optarg);
    case 's':
        options->speed = false;
        return true;
    case 'p':
        options->peers = false;
        return true;
    case 'y':
        options->places.python = optarg;
        return true;
    case 'r':
        return take_runs(options, optarg);
    case 'n':
        return take_bytes(options, optarg);
    case 'b':
        return options->bars = true;
    case 'c':
        return options->ci = true;
    case 'j':
        return options->json = true;
    case 'm':
        options->markdown = optarg;
        return true;
    case 'v':
        options->svg = optarg;
        return true;
    default:
        return false;
    }
}

int codec_options_parse(int argc, char **argv, struct codec_options *ret_options)
{
    struct codec_options options = {.speed = true, .peers = true};
    bool good = true, cast_given = false;
    int c;

    options.places.folder = getenv("LANEPACK_BENCH_PEERS");
    while (good && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
        good = take(&options, c, &cast_given);
    if (!good || (options.ci && !options.bars)) {
        (void)fputs(usage, stderr);
        return BENCH_USAGE;
    }
    options.files = argv + optind;
    options.n_files = argc - optind;
    if (options.data == NULL && options.n_files == 0)
        options.data = getenv("LANEPACK_BENCH_DATA");
    if (options.n_files == 0 && (options.bars || options.data == NULL))
        options.generated = true;
    if (options.bars && !cast_given)
        options.cast = CAST_BOTH;
    if (options.runs == 0)
        options.runs = options.ci ? RUNS_CI : RUNS_DEFAULT;
    *ret_options = options;
    return 0;
}

struct measure_speed codec_options_speed(const struct codec_options *options)
{
    const uint64_t caches = LP_MIN(CACHES * lp_bench_llc_bytes(), TIMED_BYTES_MAX);
    const uint64_t usual = options->ci ? LP_MIN(caches, TIMED_BYTES_CI) : caches;

    return (struct measure_speed){.min_bytes = options->bytes > 0 ? options->bytes : usual,
                                  .peer_bytes = !options->peers ? 0
                                                : options->ci   ? PEER_BYTES_CI
                                                                : PEER_BYTES,
                                  .runs = options->runs,
                                  .places = options->places};
}
