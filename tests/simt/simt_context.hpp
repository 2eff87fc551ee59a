/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks, and the switch from one fiber to the next. */
#ifndef LP_TESTS_SIMT_CONTEXT_HPP
#define LP_TESTS_SIMT_CONTEXT_HPP

#include <cstddef>

#include "simt_sanitizers.hpp"

/* A hand-written switch where there is one; swapcontext makes two system calls per switch and is
 * ten times slower. SIMT_UCONTEXT asks for it, to test the portable form. */
#if !defined(__x86_64__) || defined(SIMT_UCONTEXT)
#include <ucontext.h>
#define SIMT_USE_UCONTEXT 1
#else
#define SIMT_USE_UCONTEXT 0
#endif

namespace simt {

struct Context { /* a suspended execution */
#if SIMT_USE_UCONTEXT
    ucontext_t uc;
#else
    void *sp = nullptr;
#endif
    const void *stack_bottom = nullptr; /* for ASan; of a thread's own: learned at first entry */
    size_t stack_bytes = 0;
    void *fake_stack = nullptr;         /* ASan's, of use-after-return detection */
    void *tsan_fiber = nullptr;
};

/* Make a fiber that starts in entry on stack [bottom, bottom + bytes). entry must not return. */
void context_prepare(Context &context, char *bottom, size_t bytes, void (*entry)());

/* Suspend from and resume to. dying: from is never resumed. */
void context_switch(Context &from, Context &to, bool dying);

/* First thing a fiber does. first_from: the context that started the first fiber, else NULL. */
void context_entered(Context *first_from);

/* Equal stacks with a guard page below each (not under TSan, which maps them anew for each block).
 * Owns the memory. */
class Stacks {
  public:
    Stacks() = default;
    ~Stacks();
    Stacks(const Stacks &) = delete;
    Stacks &operator=(const Stacks &) = delete;

    void reserve(unsigned count, size_t bytes_each);
    void renew(); /* before a block: TSan must not connect frames that only share an address */
    char *bottom(unsigned i) const;
    size_t bytes() const { return bytes_; }

  private:
    void release();
    void map();

    char *base_ = nullptr;
    unsigned count_ = 0;
    size_t bytes_ = 0;
};

} /* namespace simt */

#endif
