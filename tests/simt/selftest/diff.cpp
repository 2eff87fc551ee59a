/* SPDX-License-Identifier: Apache-2.0 */
/* The same kernels in the fiber executor and in the PTX executor must agree, word for word.
 *
 *   simt_diff FILE.ptx     exit 0 agree, 1 differ, 77 without a file (no nvcc) */
#include "diff_kernels.cuh"
#include "ptx.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Tally {
    uint32_t compared = 0, differ = 0;

    void compare(const void *a, const void *b, size_t bytes)
    {
        const uint32_t *x = static_cast<const uint32_t *>(a);
        const uint32_t *y = static_cast<const uint32_t *>(b);
        for (size_t i = 0; i < bytes / 4; i++, compared++) {
            differ += x[i] != y[i];
        }
    }
};

std::vector<uint32_t> inputs(uint64_t seed, uint32_t n)
{
    std::vector<uint32_t> in(n);
    uint64_t s = seed * 0x9E3779B97F4A7C15ull;

    for (uint32_t &x : in) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        x = (uint32_t)(s >> 32) >> (s % 40 < 32 ? s % 32 : 0); /* all magnitudes, many small */
    }
    return in;
}

void compare_kernels(const ptx::Module &module, uint64_t seed, Tally &tally)
{
    const uint32_t n = 1024 + 4 * (uint32_t)seed, blocks = (n + 127) / 128;
    const std::vector<uint32_t> values = inputs(seed, n);
    std::vector<uint32_t> fiber(n, 1), ptx(n, 2);
    DiffCounters fiber_counters = {0, ~0ull, 0, {}, 0, 0}, ptx_counters = fiber_counters;
    uint32_t *in = static_cast<uint32_t *>(aligned_alloc(32, (n * 4 + 31) / 32 * 32));
    ptx::Machine machine(module);

    memcpy(in, values.data(), n * 4);
    machine.allow("in", static_cast<const uint32_t *>(in), n * 4);
    machine.allow("out", ptx.data(), n * 4);
    machine.allow("counters", &ptx_counters, sizeof ptx_counters);

    LP_LAUNCH(diff_ops, blocks, 128, 0, 0, in, fiber.data(), n);
    machine.launch("diff_ops", {blocks}, {128}, {in, ptx.data(), n});
    tally.compare(fiber.data(), ptx.data(), n * 4);

    LP_LAUNCH(diff_warp, blocks, 128, 512, 0, in, fiber.data(), n, &fiber_counters);
    machine.launch("diff_warp", {blocks}, {128}, {in, ptx.data(), n, &ptx_counters}, 512);
    tally.compare(fiber.data(), ptx.data(), n * 4);
    tally.compare(&fiber_counters, &ptx_counters, sizeof fiber_counters);
    free(in);
}

} /* namespace */

int main(int argc, char **argv)
try {
    Tally tally;

    if (argc < 2) {
        printf("skipped: no PTX, nvcc is not installed\n");
        return 77;
    }
    const ptx::Module module = ptx::Module::load(argv[1]);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        compare_kernels(module, seed, tally);
    }
    printf("%u results compared, %u differ\n", tally.compared, tally.differ);
    return tally.differ != 0;
} catch (const ptx::Error &e) {
    printf("%s\n", e.what());
    return 1;
}
