# SPDX-License-Identifier: Apache-2.0
lp_criterion_test(size test_size.c LIBS lp_config)
lp_criterion_test(config test_config.c LIBS lp_config)
if(TARGET unit_config)
  target_compile_definitions(unit_config PRIVATE
    LP_TEST_SHIPPED="${PROJECT_SOURCE_DIR}/config/lanepackd.json")
endif()
