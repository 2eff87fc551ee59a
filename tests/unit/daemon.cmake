# SPDX-License-Identifier: Apache-2.0
lp_criterion_test(deadline test_deadline.c LIBS lp_daemon)
lp_criterion_test(sendq test_sendq.c LIBS lp_daemon)
lp_criterion_test(sizing test_sizing.c LIBS lp_daemon)
lp_criterion_test(objects test_objects.c LIBS lp_daemon)
