# SPDX-License-Identifier: Apache-2.0
lp_program_test(tsan.base tsan_base.c)
