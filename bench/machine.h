/* SPDX-License-Identifier: Apache-2.0 */
/* What figures depend on, in neutral words: the processor, never the machine's name. */
#ifndef LP_BENCH_MACHINE_H
#define LP_BENCH_MACHINE_H

#include <stdint.h>

struct bench_machine {
    char cpu[160];   /* "x86_64, AMD EPYC (family 25, model 17)" */
    uint32_t n_cpus; /* that this process may use */
    uint64_t llc_bytes;
    char tiers[64]; /* that this CPU can run, weakest first */
    char tier[16];  /* in use */
};

void bench_machine_look(struct bench_machine *ret_machine);

#endif
