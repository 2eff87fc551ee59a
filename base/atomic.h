/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic access to plain integers, also those that two processes share.
 *
 * Fields stay plain uint32_t and uint64_t, so layouts are the same for every compiler and
 * language; the ordering is in the name of the access. For each width u32 and u64:
 *   lp_atomic_load_relaxed_uN(p)         lp_atomic_load_acquire_uN(p)
 *   lp_atomic_store_relaxed_uN(p, v)     lp_atomic_store_release_uN(p, v)
 *   lp_atomic_fetch_add_relaxed_uN(p, v) lp_atomic_fetch_add_uN(p, v)      old value; acq_rel
 *   lp_atomic_fetch_sub_uN(p, v)         lp_atomic_exchange_uN(p, v)       old value; acq_rel
 *   lp_atomic_compare_swap_uN(p, &expected, v)  true when *p was expected and is now v (acq_rel);
 *                                               else expected holds what was found (acquire)
 * Addresses must be naturally aligned. */
#ifndef LP_BASE_ATOMIC_H
#define LP_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define LP_ATOMIC_DEFINE(suffix, type)                                                             \
    static inline type lp_atomic_load_relaxed_##suffix(const type *p)                              \
    {                                                                                              \
        return __atomic_load_n(p, __ATOMIC_RELAXED);                                               \
    }                                                                                              \
    static inline type lp_atomic_load_acquire_##suffix(const type *p)                              \
    {                                                                                              \
        return __atomic_load_n(p, __ATOMIC_ACQUIRE);                                               \
    }                                                                                              \
    static inline void lp_atomic_store_relaxed_##suffix(type *p, type v)                           \
    {                                                                                              \
        __atomic_store_n(p, v, __ATOMIC_RELAXED);                                                  \
    }                                                                                              \
    static inline void lp_atomic_store_release_##suffix(type *p, type v)                           \
    {                                                                                              \
        __atomic_store_n(p, v, __ATOMIC_RELEASE);                                                  \
    }                                                                                              \
    static inline type lp_atomic_fetch_add_relaxed_##suffix(type *p, type v)                       \
    {                                                                                              \
        return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);                                         \
    }                                                                                              \
    static inline type lp_atomic_fetch_add_##suffix(type *p, type v)                               \
    {                                                                                              \
        return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);                                         \
    }                                                                                              \
    static inline type lp_atomic_fetch_sub_##suffix(type *p, type v)                               \
    {                                                                                              \
        return __atomic_fetch_sub(p, v, __ATOMIC_ACQ_REL);                                         \
    }                                                                                              \
    static inline type lp_atomic_exchange_##suffix(type *p, type v)                                \
    {                                                                                              \
        return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);                                        \
    }                                                                                              \
    static inline bool lp_atomic_compare_swap_##suffix(type *p, type *expected, type v)            \
    {                                                                                              \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_ACQ_REL,                \
                                           __ATOMIC_ACQUIRE);                                      \
    }

LP_ATOMIC_DEFINE(u32, uint32_t)
LP_ATOMIC_DEFINE(u64, uint64_t)

/* Fences, for readers that copy a range and then check that its version word has not moved. */
static inline void lp_atomic_fence_acquire(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static inline void lp_atomic_fence_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void lp_atomic_fence_full(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* A pointer of any type that readers follow without a lock; p points to it. */
#define LP_ATOMIC_LOAD_ACQUIRE_PTR(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define LP_ATOMIC_STORE_RELEASE_PTR(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
