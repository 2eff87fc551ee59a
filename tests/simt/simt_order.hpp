/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the runnable lanes, warps and blocks goes next. */
#ifndef LP_TESTS_SIMT_ORDER_HPP
#define LP_TESTS_SIMT_ORDER_HPP

#include <cstdint>

#include "simt_config.hpp"

namespace simt {

class Chooser {
  public:
    Chooser() = default;
    Chooser(Order order, uint64_t seed) : order_(order), state_(seed) {}

    /* The number of one set bit of candidates, which is not 0. */
    unsigned pick(unsigned candidates)
    {
        if (order_ == Order::forward) {
            return (unsigned)__builtin_ctz(candidates);
        }
        if (order_ == Order::reverse) {
            return 31u - (unsigned)__builtin_clz(candidates);
        }
        unsigned skip = (unsigned)(next() % (unsigned)__builtin_popcount(candidates));
        for (; skip; skip--) {
            candidates &= candidates - 1;
        }
        return (unsigned)__builtin_ctz(candidates);
    }

  private:
    /* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
    uint64_t next()
    {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }

    Order order_ = Order::forward;
    uint64_t state_ = 0;
};

/* The i-th block to run of total; a permutation for each order and seed. */
uint64_t nth_block(Order order, uint64_t seed, uint64_t i, uint64_t total);

} /* namespace simt */

#endif
