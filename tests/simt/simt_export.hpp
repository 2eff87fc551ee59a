/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by name: what the stand-in driver's cuModuleGetFunction finds. */
#ifndef LP_TESTS_SIMT_EXPORT_HPP
#define LP_TESTS_SIMT_EXPORT_HPP

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "simt_launch.hpp"

namespace simt {

struct Param { /* one kernel parameter, as cuLaunchKernel's array points at it */
    size_t bytes;
    bool is_pointer;
};

struct Exported {
    const char *name;
    std::vector<Param> params;
    /* params: one pointer per parameter; read during the call only. */
    void (*launch)(dim3 grid, dim3 block, size_t dynamic_bytes, void **params);
};

/* Every kernel that this program or shared object exports; filled before main. */
std::vector<Exported> &exported_kernels();

template <auto Kernel> struct KernelEntry;
template <class... P, void (*Kernel)(P...)> struct KernelEntry<Kernel> {
    static void launch(dim3 grid, dim3 block, size_t dynamic_bytes, void **params)
    {
        launch_packed(Kernel, grid, block, dynamic_bytes, params,
                      std::index_sequence_for<P...>{});
    }
    static Exported describe(const char *name)
    {
        return {name, {Param{sizeof(P), std::is_pointer_v<P>}...}, &launch};
    }
};

struct ExportAtStart {
    explicit ExportAtStart(Exported kernel) { exported_kernels().push_back(std::move(kernel)); }
};

#define SIMT_EXPORT_KERNEL(kernel)                                                                 \
    static const ::simt::ExportAtStart kernel##_export(                                            \
        ::simt::KernelEntry<&kernel>::describe(#kernel));

} /* namespace simt */

#endif
