/* SPDX-License-Identifier: Apache-2.0 */
/* What libFuzzer and replay.c call, once for each input. */
#ifndef LP_TESTS_FUZZ_TARGET_H
#define LP_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* data borrows. Returns 0; a finding is a crash, an abort or a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
