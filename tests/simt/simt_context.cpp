/* SPDX-License-Identifier: Apache-2.0 */
/* The switch itself, with what the sanitizers want to hear around it. */
#include "simt_context.hpp"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace simt {

#if !SIMT_USE_UCONTEXT
/* Save the callee-saved registers on the old stack and take them from the new one. */
__attribute__((naked, noinline)) static void switch_stack(void ** /*save*/, void * /*to*/)
{
    asm volatile("pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
                 "movq %rsp,(%rdi)\n movq %rsi,%rsp\n"
                 "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}
#endif

void context_prepare(Context &context, char *bottom, size_t bytes, void (*entry)())
{
    context = Context{};
    context.stack_bottom = bottom;
    context.stack_bytes = bytes;
    unpoison(bottom, bytes); /* frames of the last fiber here ended without returning */
#if SIMT_USE_UCONTEXT
    getcontext(&context.uc);
    context.uc.uc_stack.ss_sp = bottom;
    context.uc.uc_stack.ss_size = bytes;
    context.uc.uc_link = nullptr;
    makecontext(&context.uc, entry, 0);
#else
    void **sp = reinterpret_cast<void **>(bottom + bytes);
    *--sp = nullptr; /* entry finds rsp = 8 mod 16, as after a call; ends backtraces */
    *--sp = reinterpret_cast<void *>(entry);
    for (int saved = 0; saved < 6; saved++) {
        *--sp = nullptr;
    }
    context.sp = sp;
#endif
}

void context_switch(Context &from, Context &to, [[maybe_unused]] bool dying)
{
#if SIMT_ASAN
    __sanitizer_start_switch_fiber(dying ? nullptr : &from.fake_stack, to.stack_bottom,
                                   to.stack_bytes);
#endif
#if SIMT_TSAN
    void *fiber = to.tsan_fiber;
    if (dying) {
        Untracked::end(); /* a fiber must not end inside an ignored region */
    }
    __tsan_switch_to_fiber(fiber, 1 /* the switch itself orders nothing */);
#endif
#if SIMT_USE_UCONTEXT
    swapcontext(&from.uc, &to.uc);
#else
    switch_stack(&from.sp, to.sp);
#endif
#if SIMT_ASAN
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void context_entered([[maybe_unused]] Context *first_from)
{
#if SIMT_ASAN
    __sanitizer_finish_switch_fiber(nullptr, first_from ? &first_from->stack_bottom : nullptr,
                                    first_from ? &first_from->stack_bytes : nullptr);
#endif
}

static const size_t GUARD_BYTES = 4096;

Stacks::~Stacks()
{
    release();
}

void Stacks::release()
{
    if (base_) {
        munmap(base_, count_ * (bytes_ + GUARD_BYTES));
    }
    base_ = nullptr;
}

void Stacks::reserve(unsigned count, size_t bytes_each)
{
    if (base_ && count <= count_ && bytes_each == bytes_) {
        return;
    }
    release();
    count_ = count;
    bytes_ = bytes_each;
    map();
}

void Stacks::map()
{
    const size_t stride = bytes_ + GUARD_BYTES;
    void *p = mmap(nullptr, stride * count_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        perror("simt: stacks");
        abort();
    }
    base_ = static_cast<char *>(p);
    for (unsigned i = 0; i < count_ && !SIMT_TSAN; i++) {
        mprotect(base_ + i * stride, GUARD_BYTES, PROT_NONE);
    }
}

void Stacks::renew()
{
    if (SIMT_TSAN) {
        munmap(base_, count_ * (bytes_ + GUARD_BYTES));
        map();
    }
}

char *Stacks::bottom(unsigned i) const
{
    return base_ + i * (bytes_ + GUARD_BYTES) + GUARD_BYTES;
}

} /* namespace simt */
