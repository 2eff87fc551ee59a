/* SPDX-License-Identifier: Apache-2.0 */
/* Issue, group and land asynchronous copies. */
#include "simt_async_copy.hpp"

#include <cstdint>
#include <cstring>

#include "simt_block.hpp"

namespace simt {

void AsyncCopies::clear()
{
    count_ = groups_ = 0;
}

void AsyncCopies::issue(void *dst, const void *src, size_t bytes, size_t zero_bytes,
                        unsigned char fill)
{
    memset(dst, fill, bytes); /* undefined until the wait; this write is the lane's, TSan sees it */
    Untracked untracked;
    copies_[count_++] = {dst, src, (unsigned)bytes, (unsigned)zero_bytes, groups_};
    if (bytes >= 8) {
        poison(dst, bytes); /* ASan works on units of 8 bytes: a 4-byte target has the fill only */
    }
}

void AsyncCopies::commit()
{
    groups_++;
}

void AsyncCopies::land(const Copy &copy)
{
    char *dst = static_cast<char *>(copy.dst);
    const unsigned bytes = copy.bytes - copy.zero_bytes;

    unpoison(dst, copy.bytes);
    memcpy(dst, copy.src, bytes);
    memset(dst + bytes, 0, copy.zero_bytes);
}

void AsyncCopies::wait(unsigned keep)
{
    unsigned kept = 0;
    const unsigned n = count_;

    for (unsigned i = 0; i < n; i++) {
        const Copy copy = copies_[i];
        if (copy.group + keep < groups_) {
            land(copy); /* the lane's own access, TSan sees it */
        } else {
            Untracked untracked;
            copies_[kept++] = copy;
        }
    }
    Untracked untracked;
    count_ = kept;
}

void async_copy(void *dst, const void *src, size_t bytes, size_t zero_bytes)
{
    Lane &me = *self;
    Block &block = *me.block;

    if (bytes != 4 && bytes != 8 && bytes != 16) {
        block.fail(&me, nullptr, "cp.async of %zu bytes (4, 8 or 16 only)", bytes);
    }
    if (zero_bytes > bytes) {
        block.fail(&me, nullptr, "cp.async of %zu bytes, %zu of them zero", bytes, zero_bytes);
    }
    if ((uintptr_t)dst % bytes || (uintptr_t)src % bytes) {
        block.fail(&me, nullptr, "cp.async of %zu bytes at a misaligned address", bytes);
    }
    {
        Untracked untracked;
        if (!block.shared_memory().holds(dst, bytes)) {
            block.fail(&me, nullptr, "cp.async target is not in this block's shared memory");
        }
        if (me.copies.full()) {
            block.fail(&me, nullptr, "more than %u cp.async copies in flight in one thread",
                       AsyncCopies::MAX_IN_FLIGHT);
        }
        block.stats.async_bytes += bytes;
    }
    me.copies.issue(dst, src, bytes, zero_bytes, config().fill);
}

void async_commit()
{
    Untracked untracked;
    self->copies.commit();
}

void async_wait(unsigned keep)
{
    self->copies.wait(keep);
}

} /* namespace simt */
