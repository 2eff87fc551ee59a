/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing blocks out to host threads. */
#include "simt_launch.hpp"
#include "simt_sanitizers.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace simt {
namespace {

struct Grid {
    dim3 grid, block;
    size_t dynamic_bytes;
    void (*call)(void *);
    void *arg;
    uint64_t total;
    std::atomic<uint64_t> next{0};
};

/* Blocks between launches: their stacks stay mapped, which short launches spend their time on.
 * ThreadSanitizer would take what a new one does for the work of the last. */
class Pool {
  public:
    std::unique_ptr<Block> take()
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        if (free_.empty()) {
            return std::unique_ptr<Block>(new Block);
        }
        std::unique_ptr<Block> block = std::move(free_.back());
        free_.pop_back();
        return block;
    }

    void give_back(std::unique_ptr<Block> block)
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        if (!SIMT_TSAN) {
            free_.push_back(std::move(block));
        }
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Block>> free_;
};

void run_blocks(Grid &g, Stats &ret_stats)
{
    static Pool pool;
    std::unique_ptr<Block> block = pool.take();
    const Config &c = config();

    block->stats = Stats{};
    block->prepare(g.grid, g.block, g.dynamic_bytes, g.call, g.arg);
    for (uint64_t i; (i = g.next.fetch_add(1, std::memory_order_relaxed)) < g.total;) {
        const uint64_t n = nth_block(c.order, c.seed, i, g.total);
        block->run({(unsigned)(n % g.grid.x), (unsigned)(n / g.grid.x % g.grid.y),
                    (unsigned)(n / g.grid.x / g.grid.y)});
    }
    block->finish();
    ret_stats = block->stats;
    pool.give_back(std::move(block));
}

uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

} /* namespace */

/* Random: i -> start + i * step with step prime to total, which visits each block once. */
uint64_t nth_block(Order order, uint64_t seed, uint64_t i, uint64_t total)
{
    if (order == Order::forward) {
        return i;
    }
    if (order == Order::reverse) {
        return total - 1 - i;
    }
    const uint64_t mixed = seed * 0x9E3779B97F4A7C15ull >> 16;
    uint64_t step = 1 + mixed % total;
    while (gcd(step, total) != 1) {
        step++;
    }
    return (uint64_t)((mixed + (unsigned __int128)i * step) % total);
}

void launch_grid(dim3 grid, dim3 block, size_t dynamic_bytes, void (*call)(void *), void *arg)
{
    const unsigned n = config().threads < 1 ? 1 : config().threads;
    const uint64_t total = (uint64_t)grid.x * grid.y * grid.z;
    Grid g{grid, block, dynamic_bytes, call, arg, total};
    std::vector<Stats> each(n);
    std::vector<std::thread> helpers;

    if (self || total == 0) {
        fprintf(stderr, "simt: %s\n", self ? "a kernel launches a kernel" : "an empty grid");
        abort();
    }
    for (unsigned t = 1; t < n; t++) {
        helpers.emplace_back(run_blocks, std::ref(g), std::ref(each[t]));
    }
    run_blocks(g, each[0]);
    for (std::thread &helper : helpers) {
        helper.join();
    }
    stats() = Stats{};
    for (const Stats &s : each) {
        stats().add(s);
    }
}

} /* namespace simt */
