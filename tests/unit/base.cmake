# SPDX-License-Identifier: Apache-2.0
lp_criterion_test(error test_error.c)
lp_criterion_test(alloc test_alloc.c)
lp_criterion_test(bytes test_bytes.c)
lp_criterion_test(fdpass test_fdpass.c)
lp_criterion_test(cpu test_cpu.c)
lp_criterion_test(log test_log.c)
lp_criterion_test(sys test_sys.c)
lp_criterion_test(fault_loop test_fault_loop.c)
