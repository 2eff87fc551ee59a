/* SPDX-License-Identifier: Apache-2.0 */
/* For nvcc: the demo kernel, right and with each seeded defect, as PTX. */
#include "demo_kernel.cuh"

namespace demo {

#define INSTANCE(defect)                                                                           \
    template __global__ void unpack_kernel<defect>(const uint32_t *, const uint32_t *, uint32_t *, \
                                                   uint32_t, uint32_t *);
INSTANCE(0)
INSTANCE(1)
INSTANCE(2)
INSTANCE(3)
INSTANCE(4)
INSTANCE(5)
INSTANCE(6)
INSTANCE(7)
INSTANCE(8)
INSTANCE(9)
INSTANCE(10)
INSTANCE(11)
INSTANCE(12)
INSTANCE(13)
INSTANCE(14)

} /* namespace demo */
