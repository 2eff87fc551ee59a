# SPDX-License-Identifier: Apache-2.0
lp_program_test(tsan.store tsan_store.c LIBS lp_teststore lp_store)
