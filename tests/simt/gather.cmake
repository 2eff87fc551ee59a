# SPDX-License-Identifier: Apache-2.0
# The product's kernels in the executors: results against the host decoder, counts against a budget.

# entry.cu as C++ of the host, for whoever links lp_simt.
set(lp_entry "${PROJECT_SOURCE_DIR}/cuda/entry.cu")
set_source_files_properties("${lp_entry}" PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-x;c++")

add_library(lp_gather_case STATIC gather_case.cpp)
target_link_libraries(lp_gather_case PUBLIC lp_cuda lp_testcodec PRIVATE lp_warnings)

add_executable(test_gather test_gather.cpp "${lp_entry}")
target_link_libraries(test_gather PRIVATE lp_gather_case lp_simt lp_warnings)
lp_add_test(simt.gather_forward COMMAND test_gather ENV LANEPACK_SIMT_ORDER=forward TIMEOUT 300)
lp_add_test(simt.gather_reverse COMMAND test_gather ENV LANEPACK_SIMT_ORDER=reverse TIMEOUT 300)
foreach(seed RANGE 1 4)
  math(EXPR part "${seed} - 1")
  lp_add_test(simt.gather_random_${seed} COMMAND test_gather ${part} 4 TIMEOUT 300
    ENV LANEPACK_SIMT_ORDER=random LANEPACK_SIMT_SEED=${seed} LANEPACK_SIMT_FILL=${seed})
endforeach()
