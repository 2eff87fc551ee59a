/* SPDX-License-Identifier: Apache-2.0 */
/* Variables are laid out in one mapping, RED_ZONE bytes apart, poisoned where no variable is. */
#include "simt_shared.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#include "simt_sanitizers.hpp"

namespace simt {

static const size_t RED_ZONE = 64, MAX_VARIABLES = 64;

SharedMemory::~SharedMemory()
{
    release();
}

void SharedMemory::release()
{
    if (arena_) {
        unpoison(arena_, arena_bytes_);
        munmap(arena_, arena_bytes_);
    }
    arena_ = nullptr;
}

void SharedMemory::reset(size_t limit_bytes)
{
    const size_t bytes = (limit_bytes + MAX_VARIABLES * (RED_ZONE + 128) + 4095) / 4096 * 4096;

    /* A fresh mapping makes TSan forget the last block's accesses: each block has its own. */
    if (SIMT_TSAN || bytes != arena_bytes_) {
        release();
    }
    if (!arena_) {
        void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            perror("simt: shared memory");
            abort();
        }
        arena_ = static_cast<char *>(p);
        arena_bytes_ = bytes;
    }
    poison(arena_, arena_bytes_);
    variables_.clear();
    next_offset_ = RED_ZONE;
}

void *SharedMemory::find(const void *key) const
{
    for (const Variable &v : variables_) {
        if (v.key == key) {
            return arena_ + v.offset;
        }
    }
    return nullptr;
}

void *SharedMemory::add(const void *key, size_t bytes, size_t align, unsigned char fill)
{
    const size_t offset = (next_offset_ + align - 1) / align * align;
    char *p = arena_ + offset;

    next_offset_ = offset + bytes + RED_ZONE;
    unpoison(p, bytes);
    memset(p, fill, bytes);
    variables_.push_back({key, offset, bytes});
    return p;
}

size_t SharedMemory::used_with(size_t bytes) const
{
    size_t used = bytes;
    for (const Variable &v : variables_) {
        used += (v.bytes + 15) / 16 * 16;
    }
    return used;
}

bool SharedMemory::has_room(size_t bytes) const
{
    return variables_.size() < MAX_VARIABLES && bytes <= arena_bytes_ &&
           next_offset_ + 128 + bytes + RED_ZONE <= arena_bytes_;
}

bool SharedMemory::holds(const void *p, size_t bytes) const
{
    const char *at = static_cast<const char *>(p);
    for (const Variable &v : variables_) {
        const char *begin = arena_ + v.offset;
        if (at >= begin && at + bytes <= begin + v.bytes) {
            return true;
        }
    }
    return false;
}

} /* namespace simt */
