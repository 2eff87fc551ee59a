/* SPDX-License-Identifier: Apache-2.0 */
/* A gather in the PTX executor: the same cases as under the fibers, and counts. */
#ifndef LP_TESTS_GATHER_PTX_HPP
#define LP_TESTS_GATHER_PTX_HPP

#include "gather_case.hpp"
#include "ptx.hpp"

/* Launches of one module; counts of the last one. */
class PtxRunner {
  public:
    explicit PtxRunner(const ptx::Module &m) : module(m)
    {
    }

    Launch launch()
    {
        return [this](const char *kernel, const lp_gather_args &args, const lp_gpu_shape &shape,
                      const std::vector<Range> &ranges) { run(kernel, args, shape, ranges); };
    }

    ptx::Counts counts;

  private:
    void run(const char *kernel, const lp_gather_args &args, const lp_gpu_shape &shape,
             const std::vector<Range> &ranges)
    {
        ptx::Machine machine(module);

        for (const Range &range : ranges) {
            unsigned char *const at = range.block->data();

            if (range.block->bytes == 0)
                continue;
            if (range.writable)
                machine.allow(range.name, static_cast<void *>(at), range.block->bytes);
            else
                machine.allow(range.name, static_cast<const void *>(at), range.block->bytes);
        }
        counts =
            machine.launch(kernel, {shape.blocks}, {shape.threads}, {args}, shape.shared_bytes);
    }

    ptx::Module module;
};

#endif
