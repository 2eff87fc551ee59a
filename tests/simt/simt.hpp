/* SPDX-License-Identifier: Apache-2.0 */
/* Fiber executor: runs the C++ of a CUDA kernel on the host, one fiber per CUDA thread.
 *
 * A kernel file includes cuda/gpu_port.h, which takes <cuda_runtime.h> under nvcc and this header
 * everywhere else; the kernel's text is the same. C++17, nothing beyond libc and pthread.
 *
 *   simt_cuda_types.hpp   the keywords and vector types of CUDA
 *   simt_config.hpp       lane order, seed, fill byte, limits; LANEPACK_SIMT_*; counters
 *   simt_sanitizers.hpp   what AddressSanitizer and ThreadSanitizer must be told
 *   simt_context.hpp      stacks and the switch from one fiber to the next
 *   simt_order.hpp        which of the runnable lanes goes next
 *   simt_shared.hpp       the shared memory of a block
 *   simt_async_copy.hpp   cp.async: issued now, landing at the wait
 *   simt_block.hpp        lanes, warps, collectives, barriers, failure reports
 *   simt_launch.hpp       a grid of blocks
 *   simt_device.hpp       shuffles, votes, barriers, cp.async as a kernel spells them
 *   simt_bits.hpp         bit and number intrinsics
 *   simt_atomics.hpp      atomics and fences
 *
 * What it finds:
 *   - each warp collective is a meeting of exactly the lanes that its mask names: a lane that is
 *     missing, has exited, sits at another collective or reads a lane outside the mask is reported
 *     with both source lines, where a GPU would give an undefined value;
 *   - lanes run from one meeting to the next in a chosen order (forward, reverse, seeded random),
 *     so a result that depends on the order shows as a wrong result;
 *   - shared memory starts as a chosen byte, and so does the target of cp.async until the wait;
 *     under ASan the target cannot even be read before;
 *   - under TSan each lane is a fiber, and only __syncwarp and __syncthreads order memory (shuffles
 *     and votes do not, as in CUDA): a race detector on lane level; under ASan stack switches are
 *     annotated and shared variables have red zones. */
#ifndef LP_TESTS_SIMT_HPP
#define LP_TESTS_SIMT_HPP

#include "simt_async_copy.hpp"
#include "simt_atomics.hpp"
#include "simt_bits.hpp"
#include "simt_block.hpp"
#include "simt_config.hpp"
#include "simt_cuda_types.hpp"
#include "simt_device.hpp"
#include "simt_launch.hpp"

#endif
