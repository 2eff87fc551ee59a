# SPDX-License-Identifier: Apache-2.0
# The bench is no product, but what it measures must run and come back right.
if(NOT TARGET lp_load)
  return()
endif()
lp_add_test(bench.gather COMMAND lanepack-bench gather --max-bytes 8388608 --rows 2000 --runs 1)
