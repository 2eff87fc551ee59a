/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffles, votes, barriers and cp.async, as a kernel spells them. CUDA C++ Programming Guide,
 * "Warp shuffle functions", "Warp vote functions", "Synchronization functions", "Pipeline". */
#ifndef LP_TESTS_SIMT_DEVICE_HPP
#define LP_TESTS_SIMT_DEVICE_HPP

#include <cstring>
#include <type_traits>

#include "simt_block.hpp"

namespace simt {

template <class T> uint64_t to_bits(T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles take 4- and 8-byte types");
    static_assert(std::is_arithmetic_v<T>, "CUDA shuffles take numbers");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T> T from_bits(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T> T shuffle(Op op, unsigned mask, T value, int arg, int width, Site site)
{
    return from_bits<T>(self->block->meet({op, mask, to_bits(value), arg, width, site}));
}

inline unsigned vote(Op op, unsigned mask, uint64_t value, Site site)
{
    return (unsigned)self->block->meet({op, mask, value, 0, 32, site});
}

} /* namespace simt */

template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, SIMT_SITE)
{
    return simt::shuffle(simt::Op::shfl, mask, value, lane, width, site);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_SITE)
{
    return simt::shuffle(simt::Op::shfl_up, mask, value, (int)delta, width, site);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_SITE)
{
    return simt::shuffle(simt::Op::shfl_down, mask, value, (int)delta, width, site);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, SIMT_SITE)
{
    return simt::shuffle(simt::Op::shfl_xor, mask, value, lane_mask, width, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_SITE)
{
    return simt::vote(simt::Op::ballot, mask, predicate != 0, site);
}

inline int __any_sync(unsigned mask, int predicate, SIMT_SITE)
{
    return (int)simt::vote(simt::Op::any, mask, predicate != 0, site);
}

inline int __all_sync(unsigned mask, int predicate, SIMT_SITE)
{
    return (int)simt::vote(simt::Op::all, mask, predicate != 0, site);
}

template <class T> inline unsigned __match_any_sync(unsigned mask, T value, SIMT_SITE)
{
    return simt::vote(simt::Op::match_any, mask, simt::to_bits(value), site);
}

/* sm_80 and later. Unsigned only: the signed forms of add, min and max are not used by ours. */
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, SIMT_SITE)
{
    return simt::vote(simt::Op::reduce_add, mask, value, site);
}

inline unsigned __reduce_min_sync(unsigned mask, unsigned value, SIMT_SITE)
{
    return simt::vote(simt::Op::reduce_min, mask, value, site);
}

inline unsigned __reduce_max_sync(unsigned mask, unsigned value, SIMT_SITE)
{
    return simt::vote(simt::Op::reduce_max, mask, value, site);
}

inline unsigned __reduce_and_sync(unsigned mask, unsigned value, SIMT_SITE)
{
    return simt::vote(simt::Op::reduce_and, mask, value, site);
}

inline unsigned __reduce_or_sync(unsigned mask, unsigned value, SIMT_SITE)
{
    return simt::vote(simt::Op::reduce_or, mask, value, site);
}

inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, SIMT_SITE)
{
    return simt::vote(simt::Op::reduce_xor, mask, value, site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_SITE)
{
    simt::Lane *me = simt::self;
    if (mask == 0xffffffffu) {
        mask = me->warp->present; /* the default also serves a short last warp */
    }
    me->block->meet({simt::Op::syncwarp, mask, 0, 0, 32, site});
}

inline void __syncthreads(SIMT_SITE)
{
    simt::self->block->barrier(site);
}

/* Right, and the least helpful answer: CUDA promises no more than the calling lane. */
inline unsigned __activemask()
{
    return 1u << simt::self->id;
}

/* Lets other lanes run: a spin loop without it never ends here. */
inline void __nanosleep(unsigned, SIMT_SITE)
{
    simt::self->block->yield(site);
}

inline void __pipeline_memcpy_async(void *dst, const void *src, size_t bytes, size_t zero_bytes = 0)
{
    simt::async_copy(dst, src, bytes, zero_bytes);
}

inline void __pipeline_commit()
{
    simt::async_commit();
}

inline void __pipeline_wait_prior(size_t keep)
{
    simt::async_wait((unsigned)keep);
}

#endif
