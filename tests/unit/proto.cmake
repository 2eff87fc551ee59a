# SPDX-License-Identifier: Apache-2.0
lp_criterion_test(message test_message.c LIBS lp_proto)
lp_criterion_test(method test_method.c LIBS lp_proto)
