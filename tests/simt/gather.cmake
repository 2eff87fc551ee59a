# SPDX-License-Identifier: Apache-2.0
# The product's kernels in the executors: results against the host decoder, counts against a budget.

# entry.cu as C++ of the host, for whoever links lp_simt.
set(lp_entry "${PROJECT_SOURCE_DIR}/cuda/entry.cu")
set_source_files_properties("${lp_entry}" PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-x;c++")

# From the codec's table to the device's; the client has it, and here is no client.
set(lp_gpu_table "${PROJECT_SOURCE_DIR}/client/gpu_table.c")

add_library(lp_gather_case STATIC gather_case.cpp gather_counts.cpp gather_specs.cpp
  "${lp_gpu_table}")
target_link_libraries(lp_gather_case PUBLIC lp_cuda lp_testcodec PRIVATE lp_warnings)

add_executable(test_gather test_gather.cpp "${lp_entry}")
target_link_libraries(test_gather PRIVATE lp_gather_case lp_simt lp_warnings)
# Under sanitizers forward and reverse order take half of the tables each.
if(LP_SANITIZE)
  set(lp_forward_args 0 2)
  set(lp_reverse_args 1 2)
endif()
lp_add_test(simt.gather_forward COMMAND test_gather ${lp_forward_args} TIMEOUT 300
  ENV LANEPACK_SIMT_ORDER=forward)
lp_add_test(simt.gather_reverse COMMAND test_gather ${lp_reverse_args} TIMEOUT 300
  ENV LANEPACK_SIMT_ORDER=reverse)
foreach(seed RANGE 1 4)
  math(EXPR part "${seed} - 1")
  lp_add_test(simt.gather_random_${seed} COMMAND test_gather ${part} 4 TIMEOUT 300
    ENV LANEPACK_SIMT_ORDER=random LANEPACK_SIMT_SEED=${seed} LANEPACK_SIMT_FILL=${seed})
endforeach()
foreach(part RANGE 3)
  lp_add_test(simt.gather_bits_${part} COMMAND test_gather bits ${part} 4 TIMEOUT 300)
endforeach()
lp_add_test(simt.gather_golden COMMAND test_gather golden "${PROJECT_SOURCE_DIR}/tests/golden")

# From the PTX: results in four shares, and the budget.
lp_ptx_file(lp_gather_ptx "${lp_entry}" 80)
add_executable(test_gather_ptx test_gather_ptx.cpp)
target_link_libraries(test_gather_ptx PRIVATE lp_gather_case lp_ptx lp_warnings)
add_executable(test_gather_budget test_gather_budget.cpp)
target_link_libraries(test_gather_budget PRIVATE lp_gather_case lp_ptx lp_warnings)
set(lp_budget_args "")
if(LP_NVCC)
  # What ptxas says of registers and memory, for one target; that nothing spills on any target the
  # build itself checks (cuda/CMakeLists.txt).
  execute_process(COMMAND "${LP_NVCC}" --version OUTPUT_VARIABLE lp_nvcc_version)
  string(REGEX REPLACE ".*, (V[0-9.]+).*" "\\1" lp_nvcc_version "${lp_nvcc_version}")
  set(lp_ptxas_log "${CMAKE_CURRENT_BINARY_DIR}/ptxas.log")
  set(lp_ptxas_run "exec \"$0\" -std=c++17 -O3 -arch=sm_90 -I \"$1\" -Xptxas -v -cubin \"$2\" \
-MD -MT \"$3\" -MF \"$3.d\" -o ptxas.cubin 2>\"$3\"")
  add_custom_command(OUTPUT "${lp_ptxas_log}"
    COMMAND sh -c "${lp_ptxas_run}" "${LP_NVCC}" "${PROJECT_SOURCE_DIR}" "${lp_entry}"
            "${lp_ptxas_log}"
    DEPENDS "${lp_entry}" DEPFILE "${lp_ptxas_log}.d" VERBATIM COMMENT "ptxas -v of the kernels")
  add_custom_target(lp_gather_ptx_files ALL DEPENDS "${lp_gather_ptx}" "${lp_ptxas_log}")
  set(lp_budget_args "${CMAKE_CURRENT_SOURCE_DIR}/budget.csv" "${lp_nvcc_version}"
    "${lp_ptxas_log}")
endif()
# Without nvcc each of these has no argument, says so and is skipped. Sanitizers would see nothing
# of the kernel here, which is data to this executor.
if(NOT LP_SANITIZE)
  if(LP_NVCC)
    set(lp_golden_args golden "${PROJECT_SOURCE_DIR}/tests/golden")
  endif()
  foreach(part RANGE 3)
    if(LP_NVCC)
      set(lp_part_args ${part} 4)
    endif()
    lp_add_test(simt.gather_ptx_${part} COMMAND test_gather_ptx ${lp_gather_ptx} ${lp_part_args}
      TIMEOUT 300)
  endforeach()
  lp_add_test(simt.gather_ptx_golden COMMAND test_gather_ptx ${lp_gather_ptx} ${lp_golden_args}
    TIMEOUT 600)
  lp_add_test(simt.gather_budget COMMAND test_gather_budget ${lp_gather_ptx} ${lp_budget_args}
    TIMEOUT 300)
endif()

# Each lane is a fiber to ThreadSanitizer, and only barriers order them: it sees races of lanes. All
# of the tables take an hour, so every run has two shares of 48, and ctest -C long -L long has all.
if("thread" IN_LIST LP_SANITIZE)
  foreach(part 1 5)
    lp_add_test(tsan.gather_${part} COMMAND test_gather ${part} 48 TIMEOUT 600
      ENV LANEPACK_SIMT_ORDER=random LANEPACK_SIMT_SEED=7)
  endforeach()
  lp_add_test(tsan.gather_golden COMMAND test_gather golden "${PROJECT_SOURCE_DIR}/tests/golden"
    TIMEOUT 600)
  foreach(part RANGE 47)
    add_test(NAME tsan.gather_all_${part} CONFIGURATIONS long COMMAND test_gather ${part} 48)
    set_tests_properties(tsan.gather_all_${part} PROPERTIES TIMEOUT 1800 LABELS long
      ENVIRONMENT "LANEPACK_SIMT_ORDER=random;LANEPACK_SIMT_SEED=7")
  endforeach()
  add_dependencies(lp_tsan_programs test_gather)
endif()

# The gateway over the stand-in driver.
add_library(lp_gpu_case STATIC gpu_case.c "${lp_gpu_table}")
target_link_libraries(lp_gpu_case PUBLIC lp_cuda lp_testcodec PRIVATE lp_warnings)
add_executable(test_gpu_gateway test_gpu_gateway.c)
target_link_libraries(test_gpu_gateway PRIVATE lp_gpu_case lp_warnings ${CMAKE_DL_LIBS})
add_dependencies(test_gpu_gateway cuda_standin)
lp_add_test(simt.gpu_gateway COMMAND test_gpu_gateway all
  ENV LANEPACK_LIBCUDA=$<TARGET_FILE:cuda_standin> TIMEOUT 300)
# Each way of having no device, in a process of its own: the probe is made once.
lp_add_test(simt.gpu_none_library COMMAND test_gpu_gateway nodevice
  ENV LANEPACK_LIBCUDA=/nonexistent/libcuda.so.1)
lp_add_test(simt.gpu_none_symbols COMMAND test_gpu_gateway nodevice ENV LANEPACK_LIBCUDA=libm.so.6)
lp_add_test(simt.gpu_none_stub COMMAND test_gpu_gateway nodevice
  ENV LANEPACK_LIBCUDA=$<TARGET_FILE:cuda_standin> LANEPACK_STANDIN_STUB=1)
lp_add_test(simt.gpu_none_devices COMMAND test_gpu_gateway nodevice
  ENV LANEPACK_LIBCUDA=$<TARGET_FILE:cuda_standin> LANEPACK_STANDIN_DEVICES=0)
foreach(call cuInit cuDeviceGetCount)
  lp_add_test(simt.gpu_none_${call} COMMAND test_gpu_gateway nodevice
    ENV LANEPACK_LIBCUDA=$<TARGET_FILE:cuda_standin> LANEPACK_STANDIN_FAIL=${call}:1)
endforeach()
