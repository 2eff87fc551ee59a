/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the demo kernel under the fiber executor and compares it with the scalar reference.
 *
 *   demo_fiber [values] [defect] [repeats]     exit 0 right, 1 wrong values, 2 usage */
#include "demo_kernel.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace {

using Unpack = void (*)(const uint32_t *, const uint32_t *, uint32_t *, uint32_t, uint32_t *);
constexpr int DEFECTS = demo::NO_BARRIER_BEFORE_TOTAL + 1, BLOCKS = 6;

template <int DEFECT>
void run_kernel(const uint32_t *words, const uint32_t *offsets, uint32_t *out, uint32_t n,
                uint32_t *escapes)
{
    LP_LAUNCH(demo::unpack_kernel<DEFECT>, BLOCKS, demo::WARPS * 32, 0, 0, words, offsets, out, n,
              escapes);
}

template <int... D> Unpack kernel_of(int defect, std::integer_sequence<int, D...>)
{
    static const Unpack table[] = {run_kernel<D>...};
    return table[defect];
}

/* Exact sizes, so that ASan sees the first byte past the end; aligned as device memory is. */
uint32_t *device_buffer(size_t words)
{
    return static_cast<uint32_t *>(aligned_alloc(16, (words * 4 + 15) / 16 * 16));
}

} /* namespace */

int main(int argc, char **argv)
{
    const uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], nullptr, 0) : 100003;
    const int defect = argc > 2 ? atoi(argv[2]) : 0, repeats = argc > 3 ? atoi(argv[3]) : 1;
    if (n == 0 || defect < 0 || defect >= DEFECTS || repeats < 1) {
        fprintf(stderr, "usage: demo_fiber [values] [defect 0..%d] [repeats]\n", DEFECTS - 1);
        return 2;
    }
    const std::vector<uint32_t> values = demo::sample_values(n);
    const demo::Packed packed = demo::pack(values);
    if (demo::unpack_scalar(packed) != values) {
        fprintf(stderr, "the reference itself is wrong\n");
        return 2;
    }
    uint32_t *words = device_buffer(packed.words.size());
    uint32_t *offsets = device_buffer(packed.offsets.size());
    uint32_t *out = device_buffer(n);
    memcpy(words, packed.words.data(), packed.words.size() * 4);
    memcpy(offsets, packed.offsets.data(), packed.offsets.size() * 4);

    const Unpack unpack = kernel_of(defect, std::make_integer_sequence<int, DEFECTS>{});
    uint32_t escapes = 0, wrong = 0;
    double best = 1e9;
    for (int r = 0; r < repeats; r++) {
        memset(out, 0xEE, n * 4ull);
        escapes = 0;
        const clock_t begin = clock(); /* CPU time: the machine may be shared */
        unpack(words, offsets, out, n, &escapes);
        best = std::min(best, (double)(clock() - begin) / CLOCKS_PER_SEC);
    }
    for (uint32_t i = 0; i < n; i++) {
        wrong += out[i] != values[i];
    }
    const uint32_t want = demo::count_escapes(values);
    printf("%u values, %u wrong, escapes %u of %u, %.2f MB/s\n", n, wrong, escapes, want,
           n * 4 / best / 1e6);
    free(words);
    free(offsets);
    free(out);
    return wrong || escapes != want;
}
