/* SPDX-License-Identifier: Apache-2.0 */
/* The shared memory of one block: variables with red zones, filled with a chosen byte. */
#ifndef LP_TESTS_SIMT_SHARED_HPP
#define LP_TESTS_SIMT_SHARED_HPP

#include <cstddef>
#include <vector>

namespace simt {

/* States: reset() starts a block with no variables; add() makes one; the next reset() ends all.
 * Owns its memory. A variable is known by the address of a static, one per declaration. */
class SharedMemory {
  public:
    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;

    void reset(size_t limit_bytes);
    void *find(const void *key) const;                   /* NULL: not made in this block yet */
    void *add(const void *key, size_t bytes, size_t align, unsigned char fill);
    size_t used_with(size_t bytes) const;                /* bytes a GPU would need, with one more */
    bool has_room(size_t bytes) const;                   /* for one more, red zones included */
    bool holds(const void *p, size_t bytes) const;       /* within one variable */
    bool empty() const { return variables_.empty(); }

  private:
    struct Variable {
        const void *key;
        size_t offset, bytes;
    };

    void release();

    std::vector<Variable> variables_;
    char *arena_ = nullptr;
    size_t arena_bytes_ = 0, next_offset_ = 0;
};

} /* namespace simt */

#endif
