/* SPDX-License-Identifier: Apache-2.0 */
/* The gather kernels' PTX, as nvcc emitted it, against the host decoder.
 *
 *     test_gather_ptx [FILE.ptx [PART PARTS]]
 *     test_gather_ptx FILE.ptx golden FOLDER */
#include "gather_ptx.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char **argv)
try {
    if (argc < 2) {
        printf("waived: no PTX (no nvcc in this build)\n");
        return 77;
    }
    PtxRunner runner(ptx::Module::load(argv[1]));
    if (argc > 3 && strcmp(argv[2], "golden") == 0) {
        const unsigned tables = check_golden(argv[3], runner.launch());

        printf("%u stored tables from PTX: as the host decodes them\n", tables);
        return tables == 0;
    }
    const size_t parts = argc > 3 ? strtoul(argv[3], nullptr, 10) : 1;
    const size_t part = argc > 3 ? strtoul(argv[2], nullptr, 10) : 0;
    const std::vector<TableSpec> specs = all_specs();
    uint64_t bytes = 0;
    size_t n = 0;

    for (size_t i = part; parts != 0 && i < specs.size(); i += parts, n++) {
        const GatherTable table(specs[i]);
        const uint32_t elem = table.geometry().elem_bytes;
        Gather g;

        g.rows = random_rows(specs[i].dims[0], 4, specs[i].seed, 0);
        g.index_bytes = specs[i].seed % 2 != 0 ? 4 : 8;
        bytes += check_gather(table, g, runner.launch(), specs[i].text());
        g.rows = random_rows(specs[i].dims[0], 5, specs[i].seed + 1, 4);
        g.with_default = specs[i].seed % 3 == 0;
        g.out_offset = elem * (1 + (uint32_t)specs[i].seed % 5);
        bytes += check_gather(table, g, runner.launch(), specs[i].text() + ", bad rows");
    }
    printf("%zu tables, %.1f MB of rows from PTX: as the host decodes them\n", n,
           (double)bytes / 1e6);
    return 0;
} catch (const std::exception &e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
}
