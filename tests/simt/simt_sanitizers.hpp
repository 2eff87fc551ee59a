/* SPDX-License-Identifier: Apache-2.0 */
/* What AddressSanitizer and ThreadSanitizer must be told about fibers; nothing in other builds. */
#ifndef LP_TESTS_SIMT_SANITIZERS_HPP
#define LP_TESTS_SIMT_SANITIZERS_HPP

#include <cstddef>

/* gcc says __SANITIZE_*, clang says __has_feature. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIMT_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(SIMT_TSAN)
#define SIMT_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(SIMT_ASAN)
#define SIMT_ASAN 1
#endif
#ifndef SIMT_TSAN
#define SIMT_TSAN 0
#endif
#ifndef SIMT_ASAN
#define SIMT_ASAN 0
#endif

#if SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if SIMT_TSAN
extern "C" {
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_set_fiber_name(void *fiber, const char *name);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

namespace simt {

/* The executor's own books are shared between lanes on purpose: TSan looks away while one lives. */
struct Untracked {
    Untracked() { begin(); }
    ~Untracked() { end(); }
    Untracked(const Untracked &) = delete;
    Untracked &operator=(const Untracked &) = delete;

#if SIMT_TSAN
    static void begin()
    {
        AnnotateIgnoreReadsBegin("", 0);
        AnnotateIgnoreWritesBegin("", 0);
    }
    static void end()
    {
        AnnotateIgnoreWritesEnd("", 0);
        AnnotateIgnoreReadsEnd("", 0);
    }
#else
    static void begin() {}
    static void end() {}
#endif
};

/* What was done before a release of a token happens before what follows its acquire. */
inline void order_release([[maybe_unused]] void *token)
{
#if SIMT_TSAN
    __tsan_release(token);
#endif
}

inline void order_acquire([[maybe_unused]] void *token)
{
#if SIMT_TSAN
    __tsan_acquire(token);
#endif
}

/* From poison to unpoison every access to these bytes is reported by ASan (whole 8-byte units). */
inline void poison([[maybe_unused]] const void *p, [[maybe_unused]] size_t bytes)
{
#if SIMT_ASAN
    ASAN_POISON_MEMORY_REGION(p, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void *p, [[maybe_unused]] size_t bytes)
{
#if SIMT_ASAN
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
#endif
}

} /* namespace simt */

#endif
