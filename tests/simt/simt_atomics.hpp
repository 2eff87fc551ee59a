/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics and fences. CUDA C++ Programming Guide, "Atomic functions", "Memory fence functions". */
#ifndef LP_TESTS_SIMT_ATOMICS_HPP
#define LP_TESTS_SIMT_ATOMICS_HPP

#include <cstdint>
#include <type_traits>

namespace simt {

template <class T> struct Plain { using type = T; };

/* Keeps the value's type out of deduction, so atomicAdd(&counter, 1) works as with overloads. */
template <class T> using Value = typename Plain<T>::type;

template <class T> constexpr void check_atomic()
{
    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "integer atomics of 32 and 64 bits");
}

template <class T, class F> inline T atomic_update(T *p, F next)
{
    check_atomic<T>();
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, next(old), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
    return old;
}

inline unsigned fence_word = 0;

/* A read-modify-write on one word, because TSan does not know fences: any two are ordered. */
inline void fence()
{
    __atomic_fetch_add(&fence_word, 0u, __ATOMIC_SEQ_CST);
}

} /* namespace simt */

template <class T> inline T atomicAdd(T *p, simt::Value<T> v)
{
    simt::check_atomic<T>();
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

inline float atomicAdd(float *p, float v)
{
    uint32_t *word = reinterpret_cast<uint32_t *>(p);
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), next;
    float sum;
    do {
        __builtin_memcpy(&sum, &old, sizeof sum);
        sum += v;
        __builtin_memcpy(&next, &sum, sizeof next);
    } while (!__atomic_compare_exchange_n(word, &old, next, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    __builtin_memcpy(&sum, &old, sizeof sum);
    return sum;
}

template <class T> inline T atomicSub(T *p, simt::Value<T> v)
{
    simt::check_atomic<T>();
    return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED);
}

template <class T> inline T atomicAnd(T *p, simt::Value<T> v)
{
    simt::check_atomic<T>();
    return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);
}

template <class T> inline T atomicOr(T *p, simt::Value<T> v)
{
    simt::check_atomic<T>();
    return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}

template <class T> inline T atomicXor(T *p, simt::Value<T> v)
{
    simt::check_atomic<T>();
    return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);
}

template <class T> inline T atomicExch(T *p, simt::Value<T> v)
{
    simt::check_atomic<T>();
    return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);
}

template <class T> inline T atomicMin(T *p, simt::Value<T> v)
{
    return simt::atomic_update(p, [v](T old) { return v < old ? v : old; });
}

template <class T> inline T atomicMax(T *p, simt::Value<T> v)
{
    return simt::atomic_update(p, [v](T old) { return v > old ? v : old; });
}

template <class T> inline T atomicCAS(T *p, simt::Value<T> compare, simt::Value<T> v)
{
    simt::check_atomic<T>();
    T old = compare;
    __atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return old;
}

inline void __threadfence() { simt::fence(); }
inline void __threadfence_block() { simt::fence(); }
inline void __threadfence_system() { simt::fence(); }

#endif
