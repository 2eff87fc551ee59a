# SPDX-License-Identifier: Apache-2.0
# The bench is no product, but what it measures must run and come back right.
if(NOT TARGET lp_load)
  return()
endif()
lp_add_test(bench.gather COMMAND lanepack-bench gather --max-bytes 8388608 --rows 2000 --runs 1)
lp_criterion_test(bench_bars test_bench_bars.c "${PROJECT_SOURCE_DIR}/bench/bars.c"
  LIBS PkgConfig::JANSSON m)
lp_add_test(bench.codec TIMEOUT 300
  COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/bench_codec.py" $<TARGET_FILE:lanepack-bench>)
