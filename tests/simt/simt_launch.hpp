/* SPDX-License-Identifier: Apache-2.0 */
/* A grid of blocks: the parameters bound by value, the blocks run by one or more host threads. */
#ifndef LP_TESTS_SIMT_LAUNCH_HPP
#define LP_TESTS_SIMT_LAUNCH_HPP

#include <tuple>
#include <type_traits>
#include <utility>

#include "simt_block.hpp"

namespace simt {

/* Run call(arg) in every thread of the grid; returns when the last has ended. Sets stats(). */
void launch_grid(dim3 grid, dim3 block, size_t dynamic_bytes, void (*call)(void *), void *arg);

/* What kernel<<<grid, block, dynamic_bytes>>>(args...) is under nvcc, and then a wait. */
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t dynamic_bytes, A &&...args)
{
    std::tuple<std::decay_t<P>...> bound(static_cast<P>(args)...);
    auto call = [&] { std::apply(kernel, bound); };
    using Call = decltype(call);
    launch_grid(grid, block, dynamic_bytes, [](void *p) { (*static_cast<Call *>(p))(); }, &call);
}

/* The same from the array of pointers to parameters that cuLaunchKernel takes. */
template <class... P, size_t... I>
void launch_packed(void (*kernel)(P...), dim3 grid, dim3 block, size_t dynamic_bytes, void **params,
                   std::index_sequence<I...>)
{
    launch(kernel, grid, block, dynamic_bytes,
           *static_cast<std::remove_cv_t<std::remove_reference_t<P>> *>(params[I])...);
}

template <class T> T &shared(const void *key)
{
    return *static_cast<T *>(self->block->shared_variable(key, sizeof(T), alignof(T)));
}

} /* namespace simt */

#define threadIdx (::simt::self->tid)
#define blockIdx (::simt::self->block->index)
#define blockDim (::simt::self->block->dim)
#define gridDim (::simt::self->block->grid)

#endif
