/* SPDX-License-Identifier: Apache-2.0 */
/* The thread's floating-point mode, which belongs to the program around: set to nearest, nothing
 * flushed, no traps, and put back as it was, flags included.
 *
 *     const struct lp_rounding mode = lp_rounding_set();
 *     compute(...);
 *     lp_rounding_restore(&mode);
 *
 * Compilers know nothing of modes, so what computes must be a function that is not inlined and
 * writes to memory. Where a mode can be read without the library, it is: fegetround() may look at
 * the x87 unit alone, and misses who has changed only the other one. */
#ifndef LP_CODEC_ROUNDING_H
#define LP_CODEC_ROUNDING_H

#include <stdint.h>

#if defined(__x86_64__)

#define LP_ROUNDING_DEFAULT 0x1f80u /* of MXCSR: all exceptions masked, no flag set */
struct lp_rounding {
    uint32_t mxcsr;
};

static inline struct lp_rounding lp_rounding_set(void)
{
    const uint32_t nearest = LP_ROUNDING_DEFAULT;
    struct lp_rounding mode;

    __asm__ volatile("stmxcsr %0" : "=m"(mode.mxcsr) : : "memory");
    __asm__ volatile("ldmxcsr %0" : : "m"(nearest) : "memory");
    return mode;
}

static inline void lp_rounding_restore(const struct lp_rounding *mode)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(mode->mxcsr) : "memory");
}

#elif defined(__aarch64__)

struct lp_rounding {
    uint64_t control, status;
};

static inline struct lp_rounding lp_rounding_set(void)
{
    struct lp_rounding mode;

    __asm__ volatile("mrs %0, fpcr" : "=r"(mode.control) : : "memory");
    __asm__ volatile("mrs %0, fpsr" : "=r"(mode.status) : : "memory");
    if (mode.control != 0)
        __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)) : "memory");
    return mode;
}

static inline void lp_rounding_restore(const struct lp_rounding *mode)
{
    if (mode->control != 0)
        __asm__ volatile("msr fpcr, %0" : : "r"(mode->control) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(mode->status) : "memory");
}

#else

#include <fenv.h>

struct lp_rounding {
    fenv_t env;
};

static inline struct lp_rounding lp_rounding_set(void)
{
    struct lp_rounding mode;

    (void)fegetenv(&mode.env);
    (void)fesetenv(FE_DFL_ENV);
    return mode;
}

static inline void lp_rounding_restore(const struct lp_rounding *mode)
{
    (void)fesetenv(&mode->env);
}

#endif

#endif
