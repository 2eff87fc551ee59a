/* SPDX-License-Identifier: Apache-2.0 */
/* Leaks as failures of the test that leaks.
 *
 * Under Criterion a leak found at exit is only printed and the program still ends with 0, so tests
 * that allocate end with ASSERT_NO_LEAK() inside their body. Empty without AddressSanitizer. */
#ifndef LP_TESTS_LEAK_H
#define LP_TESTS_LEAK_H

#if defined(__SANITIZE_ADDRESS__)
#define LP_TESTS_HAVE_LSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LP_TESTS_HAVE_LSAN 1
#endif
#endif

#ifdef LP_TESTS_HAVE_LSAN
#include <sanitizer/lsan_interface.h>

#define ASSERT_NO_LEAK()                                                                           \
    cr_assert_eq(__lsan_do_recoverable_leak_check(), 0, "leaked; the report is above")
#else
#define ASSERT_NO_LEAK() ((void)0)
#endif

#endif
