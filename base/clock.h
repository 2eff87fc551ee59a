/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock, in nanoseconds. */
#ifndef LP_BASE_CLOCK_H
#define LP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define LP_NS_PER_MS UINT64_C(1000000)
#define LP_NS_PER_S UINT64_C(1000000000)

/* Nanoseconds since an unspecified start; never goes back, same for all processes of a boot. */
static inline uint64_t lp_clock_now_ns(void)
{
    struct timespec now;

    /* CLOCK_MONOTONIC with a valid address cannot fail on Linux. */
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * LP_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* now + timeout_ns, or UINT64_MAX ("never") where that does not fit or timeout is UINT64_MAX. */
static inline uint64_t lp_clock_deadline_ns(uint64_t timeout_ns)
{
    const uint64_t now = lp_clock_now_ns();

    return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

#endif
