/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-in driver: libcuda_standin.so exports the part of the CUDA driver API that we use, and runs
 * launched kernels under the fiber executor. The real host code opens it in place of libcuda.so.1.
 *
 * This header is the remote control for tests, C11 and C++; the functions are exported beside the
 * driver's, so a test that has the library by dlopen() finds them by dlsym().
 *
 * What it is strict about, where a real driver may be lenient:
 *   - work on a stream runs at the latest moment allowed: when something waits for it. A result
 *     that is read too early is not there, and memory that was freed too early is freed;
 *   - host memory is registered page by page, its mapping must exist, and a read-only mapping needs
 *     CU_MEMHOSTREGISTER_READ_ONLY; overlaps, unknown flags and empty ranges are refused;
 *   - device memory is exact in size and filled with garbage; copies must stay within it;
 *   - a function called without cuInit, without a current context or from a host callback fails;
 *   - during stream capture everything that allocates, frees or waits fails.
 *
 * Environment, read at the first call (a value that cannot be read ends the program):
 *   LANEPACK_STANDIN_FAIL=NAME:N[:CODE][,...]   the N-th call of NAME fails, with CODE or its own
 *   LANEPACK_STANDIN_ALIAS=0|1|strict       1: registered memory has another address on the device
 *              (a second mapping of the same pages, for shared mappings), and a launch with a
 *              parameter that holds the host address fails; strict: the host address is also made
 *              inaccessible while kernels run, which other threads must then not use
 *   LANEPACK_STANDIN_READ_ONLY=1|0          0: the device cannot register read-only memory
 *   LANEPACK_STANDIN_ALIGN=1|0              0: any alignment and size may be registered
 *   LANEPACK_STANDIN_ASYNC=deferred|eager   eager: work runs when it is enqueued
 *   LANEPACK_STANDIN_DEVICES=N              0 to 8; 0: cuInit says no device
 *   LANEPACK_STANDIN_SM=80                  compute capability, times ten
 *   LANEPACK_STANDIN_MEMORY=BYTES           of device memory, for each device
 *   LANEPACK_STANDIN_REGISTER_LIMIT=BYTES   of registered host memory; beyond it: out of memory
 *   LANEPACK_STANDIN_STUB=0|1               1: cuInit fails as the toolkit's stub library does */
#ifndef LP_TESTS_STANDIN_H
#define LP_TESTS_STANDIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is alive now, and what happened. Live things at the end of a test are leaks. */
struct lp_standin_counts {
    uint64_t contexts;          /* retains of primary contexts not released */
    uint64_t allocations, allocated_bytes;         /* cuMemAlloc, cuMemAllocHost */
    uint64_t registrations, registered_bytes;
    uint64_t aliased;           /* of the registrations: those with another device address */
    uint64_t modules, streams, events, graphs;
    uint64_t queued;            /* operations enqueued and not run yet */
    uint64_t launches;          /* kernels run so far */
    uint64_t freed_by_context;  /* things that were alive when their context ended: leaks */
};

void lp_standin_get_counts(struct lp_standin_counts *ret_counts);

/* Things alive or freed_by_context, each with a line on stderr. 0: nothing leaked. */
int lp_standin_report_leaks(void);

/* The nth call of function from now on fails with error (0: the function's usual one). nth 0 takes
 * a fault back. Returns 0, or -1 when the library has no such function. */
int lp_standin_fail(const char *function, unsigned nth, int error);

/* Calls of function so far, or since the last lp_standin_fail() for it; failed ones count. */
uint64_t lp_standin_calls(const char *function);

/* Set an option as the environment would: name without LANEPACK_STANDIN_. Returns 0, or -1 when
 * name or value is unknown. */
int lp_standin_set(const char *name, const char *value);

/* Forget faults, call counts, sticky errors and freed_by_context; live things stay. */
void lp_standin_reset(void);

#ifdef __cplusplus
}
#endif

#endif
