/* SPDX-License-Identifier: Apache-2.0 */
/* How the executor runs (order, seed, fill, limits) and what it counted. */
#ifndef LP_TESTS_SIMT_CONFIG_HPP
#define LP_TESTS_SIMT_CONFIG_HPP

#include <cstddef>
#include <cstdint>

#include "simt_sanitizers.hpp"

namespace simt {

enum class Order { forward, reverse, random };

/* First filled from the environment, where a value that cannot be read ends the program:
 *   LANEPACK_SIMT_ORDER=forward|reverse|random   LANEPACK_SIMT_SEED=N   LANEPACK_SIMT_FILL=BYTE
 *   LANEPACK_SIMT_THREADS=N   LANEPACK_SIMT_EXIT_ON_FAILURE=0|1 */
struct Config {
    Order order = Order::forward;
    uint64_t seed = 1;                 /* of Order::random */
    unsigned threads = 1;              /* host threads; each runs whole blocks */
    unsigned char fill = 0xA5; /* of shared memory and of cp.async targets before the wait */
    size_t shared_limit_bytes = 227 << 10; /* static + dynamic, per block; sm_90's limit */
    size_t stack_bytes = SIMT_ASAN ? 256 << 10 : 64 << 10; /* of one lane; ASan pads frames */
    bool exit_on_failure = false;      /* status 3 instead of abort(), for expected failures */
    bool same_site = true; /* the lanes of a collective must come from one source line */
};

struct Stats { /* of the last launch, all blocks together */
    uint64_t switches = 0, shuffles = 0, votes = 0, syncwarps = 0, syncthreads = 0;
    uint64_t async_bytes = 0, blocks = 0;
    uint64_t shared_bytes = 0; /* the most that one block used */

    void add(const Stats &other);
};

/* Both may be changed between launches, never during one. */
Config &config();
Stats &stats();

} /* namespace simt */

#endif
