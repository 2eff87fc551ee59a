/* SPDX-License-Identifier: Apache-2.0 */
/* Places where a test can make an allocation or a risky system call fail.
 *
 * Each place asks lp_fault(site) first. Without a hook that is one load and one branch; with one,
 * the hook decides. tests/lib/fault.h holds the hook that fails the n-th call. */
#ifndef LP_BASE_FAULT_H
#define LP_BASE_FAULT_H

#include <stdbool.h>

enum lp_fault_site {
    LP_FAULT_ALLOC,
    LP_FAULT_MEMFD,
    LP_FAULT_FTRUNCATE,
    LP_FAULT_MMAP,
    LP_FAULT_MLOCK,
    LP_FAULT_SEAL,
    LP_FAULT_SEND,
    LP_FAULT_RECV,
    LP_FAULT_OPEN,
    LP_FAULT_READ,
    LP_FAULT_WRITE,
    LP_FAULT_THREAD,
    LP_FAULT_SITES /* how many there are; not a site */
};

/* Returns true when the call at site must fail. Any thread; must not ask lp_fault itself. */
typedef bool (*lp_fault_cb)(enum lp_fault_site site, void *user);

/* The hook in force, or NULL; read through lp_fault(), set through lp_fault_set_hook(). */
extern lp_fault_cb lp_fault_hook;

/* Ask the hook; called by lp_fault() only. */
bool lp_fault_ask(enum lp_fault_site site);

/* Install hook (NULL removes it). user borrows until the hook is replaced. Set it while no other
 * thread is inside Lanepack. */
void lp_fault_set_hook(lp_fault_cb hook, void *user);

/* True: the caller must fail exactly as the real call would. */
static inline bool lp_fault(enum lp_fault_site site)
{
    return __builtin_expect(__atomic_load_n(&lp_fault_hook, __ATOMIC_RELAXED) != 0, 0) &&
           lp_fault_ask(site);
}

#endif
