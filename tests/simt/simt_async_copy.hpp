/* SPDX-License-Identifier: Apache-2.0 */
/* cp.async of one lane: the bytes land at the wait of the lane that issued them, never before. */
#ifndef LP_TESTS_SIMT_ASYNC_COPY_HPP
#define LP_TESTS_SIMT_ASYNC_COPY_HPP

#include <cstddef>

namespace simt {

/* The latest time the CUDA model allows, so that a read before it finds the fill byte. */
class AsyncCopies {
  public:
    static constexpr unsigned MAX_IN_FLIGHT = 128; /* per lane; far above what a kernel queues */

    void clear();
    bool full() const { return count_ == MAX_IN_FLIGHT; }
    unsigned in_flight() const { return count_; }
    void issue(void *dst, const void *src, size_t bytes, size_t zero_bytes, unsigned char fill);
    void commit();               /* what was issued since the last commit becomes one group */
    void wait(unsigned keep); /* all groups but the keep youngest land; uncommitted ones do not */

  private:
    struct Copy {
        void *dst;
        const void *src;
        unsigned bytes, zero_bytes, group;
    };

    static void land(const Copy &copy);

    Copy copies_[MAX_IN_FLIGHT];
    unsigned count_ = 0, groups_ = 0;
};

/* What a kernel calls; checks size, alignment, target and number first. Of the running lane. */
void async_copy(void *dst, const void *src, size_t bytes, size_t zero_bytes);
void async_commit();
void async_wait(unsigned keep);

} /* namespace simt */

#endif
