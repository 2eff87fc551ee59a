/* SPDX-License-Identifier: Apache-2.0 */
/* The list itself: a function's static, so that it exists before the first kernel asks for it. */
#include "simt_export.hpp"

namespace simt {

std::vector<Exported> &exported_kernels()
{
    static std::vector<Exported> kernels;
    return kernels;
}

} /* namespace simt */
