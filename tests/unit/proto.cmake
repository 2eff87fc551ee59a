# SPDX-License-Identifier: Apache-2.0
lp_criterion_test(message test_message.c LIBS lp_proto)
lp_criterion_test(method test_method.c LIBS lp_proto)
if(TARGET unit_method)
  target_compile_definitions(unit_method PRIVATE
    LP_TEST_PROTOCOL="${PROJECT_SOURCE_DIR}/docs/PROTOCOL.md")
endif()
