/* SPDX-License-Identifier: Apache-2.0 */
/* Bit and number intrinsics and cached loads. CUDA Math API, "Integer intrinsics", "Casting". */
#ifndef LP_TESTS_SIMT_BITS_HPP
#define LP_TESTS_SIMT_BITS_HPP

#include <cmath>
#include <cstdint>
#include <cstring>

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }

inline unsigned __brev(unsigned v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0F0F0F0Fu) | (v & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(v);
}

inline unsigned long long __brevll(unsigned long long v)
{
    return (unsigned long long)__brev((unsigned)v) << 32 | __brev((unsigned)(v >> 32));
}

/* Plain forms take the shift modulo 32, the c forms clamp it at 32. */
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift)
{
    return (unsigned)(((uint64_t)hi << 32 | lo) >> (shift & 31));
}

inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift)
{
    return (unsigned)((((uint64_t)hi << 32 | lo) << (shift & 31)) >> 32);
}

inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}

inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}

inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

/* Three bits of each selector nibble count; PTX prmt also has a sign bit there. */
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned from = selector >> (4 * i) & 7;
        result |= (unsigned)(bytes >> (8 * from) & 0xFF) << (8 * i);
    }
    return result;
}

namespace simt {

template <class To, class From> To bit_cast(From from)
{
    static_assert(sizeof(To) == sizeof(From), "a cast between types of one size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

} /* namespace simt */

inline float __uint_as_float(unsigned v) { return simt::bit_cast<float>(v); }
inline float __int_as_float(int v) { return simt::bit_cast<float>(v); }
inline unsigned __float_as_uint(float v) { return simt::bit_cast<unsigned>(v); }
inline int __float_as_int(float v) { return simt::bit_cast<int>(v); }
inline double __longlong_as_double(long long v) { return simt::bit_cast<double>(v); }
inline long long __double_as_longlong(double v) { return simt::bit_cast<long long>(v); }

/* Never contracted, here or under nvcc: what a sum that must agree bit for bit is written with. */
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }

/* Cache hints change no value. */
template <class T> inline T __ldg(const T *p) { return *p; }
template <class T> inline T __ldcs(const T *p) { return *p; }
template <class T> inline T __ldcg(const T *p) { return *p; }
template <class T> inline T __ldca(const T *p) { return *p; }
template <class T> inline void __stcs(T *p, T v) { *p = v; }
template <class T> inline void __stcg(T *p, T v) { *p = v; }

#endif
