/* SPDX-License-Identifier: Apache-2.0 */
/* Reading LANEPACK_SIMT_* and adding up counters. */
#include "simt_config.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace simt {
namespace {

[[noreturn]] void refuse(const char *name, const char *text, const char *expected)
{
    fprintf(stderr, "simt: %s=%s: expected %s\n", name, text, expected);
    exit(2);
}

uint64_t number_or(const char *name, uint64_t fallback, uint64_t max)
{
    const char *text = getenv(name);
    if (!text) {
        return fallback;
    }
    char *end = nullptr;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 0);
    if (errno || end == text || *end || *text == '-' || value > max) {
        refuse(name, text, "a number in range");
    }
    return value;
}

Order order_or(const char *name, Order fallback)
{
    const char *text = getenv(name);
    if (!text) {
        return fallback;
    }
    if (!strcmp(text, "forward")) {
        return Order::forward;
    }
    if (!strcmp(text, "reverse")) {
        return Order::reverse;
    }
    if (!strcmp(text, "random")) {
        return Order::random;
    }
    refuse(name, text, "forward, reverse or random");
}

Config from_environment()
{
    Config c;
    c.order = order_or("LANEPACK_SIMT_ORDER", c.order);
    c.seed = number_or("LANEPACK_SIMT_SEED", c.seed, UINT64_MAX);
    c.fill = (unsigned char)number_or("LANEPACK_SIMT_FILL", c.fill, 255);
    c.threads = (unsigned)number_or("LANEPACK_SIMT_THREADS", c.threads, 256);
    c.exit_on_failure = number_or("LANEPACK_SIMT_EXIT_ON_FAILURE", 0, 1) != 0;
    return c;
}

} /* namespace */

void Stats::add(const Stats &other)
{
    switches += other.switches;
    shuffles += other.shuffles;
    votes += other.votes;
    syncwarps += other.syncwarps;
    syncthreads += other.syncthreads;
    async_bytes += other.async_bytes;
    blocks += other.blocks;
    if (shared_bytes < other.shared_bytes) {
        shared_bytes = other.shared_bytes;
    }
}

Config &config()
{
    static Config the_config = from_environment();
    return the_config;
}

Stats &stats()
{
    static Stats the_stats;
    return the_stats;
}

} /* namespace simt */
