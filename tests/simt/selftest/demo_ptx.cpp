/* SPDX-License-Identifier: Apache-2.0 */
/* Runs nvcc's PTX of the demo kernel, compares it with the reference and prints exact counts.
 *
 *   demo_ptx FILE.ptx [values] [defect]     exit 0 right, 1 wrong, 3 a rule broken, 77 no PTX */
#include "demo_format.hpp"
#include "ptx.hpp"

#include <cstdlib>

namespace {

uint32_t *device_copy(const std::vector<uint32_t> &v)
{
    uint32_t *p = static_cast<uint32_t *>(aligned_alloc(32, (v.size() * 4 + 31) / 32 * 32));
    memcpy(p, v.data(), v.size() * 4);
    return p;
}

} /* namespace */

int main(int argc, char **argv)
try {
    if (argc < 2) {
        printf("skipped: no PTX, nvcc is not installed\n");
        return 77;
    }
    const ptx::Module module = ptx::Module::load(argv[1]);
    const uint32_t n = argc > 2 ? (uint32_t)strtoul(argv[2], nullptr, 0) : 20003;
    const int defect = argc > 3 ? atoi(argv[3]) : 0;
    const std::vector<uint32_t> values = demo::sample_values(n);
    const demo::Packed packed = demo::pack(values);
    uint32_t *words = device_copy(packed.words), *offsets = device_copy(packed.offsets);
    uint32_t *out = device_copy(std::vector<uint32_t>(n, 0xEEEEEEEE)), escapes = 0, wrong = 0;

    ptx::Machine machine(module);
    const int pool = machine.allow("words", static_cast<const void *>(words),
                                   packed.words.size() * 4);
    machine.allow("offsets", static_cast<const void *>(offsets), packed.offsets.size() * 4);
    machine.allow("out", out, n * 4ull);
    machine.allow("escapes", &escapes, 4);
    const ptx::Counts c =
        machine.launch(module.find("unpack_kernelILi" + std::to_string(defect) + "E"), {6}, {128},
                       {words, offsets, out, n, &escapes});
    for (uint32_t i = 0; i < n; i++) {
        wrong += out[i] != values[i];
    }
    /* Each tile starts on a 16-byte border, so a border sector may serve two tiles: not more. */
    const bool sectors = c.buffers[(size_t)pool].most_reads_of_a_sector() <= 2 &&
                         c.buffers[(size_t)pool].distinct_sectors_read() ==
                             (packed.words.size() * 4 + 31) / 32;
    printf("%u values, %u wrong, escapes %u of %u, sectors %s\n", n, wrong, escapes,
           demo::count_escapes(values), sectors ? "right" : "WRONG");
    printf("%.3f warp instructions per output byte\n", (double)c.warp_instructions / (n * 4.0));
    c.print(stdout);
    free(words);
    free(offsets);
    free(out);
    return wrong || escapes != demo::count_escapes(values) || !sectors;
} catch (const ptx::Error &e) {
    printf("%s\n", e.what());
    return 3;
}
