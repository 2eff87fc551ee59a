# SPDX-License-Identifier: Apache-2.0
# device_check: what bench/device.sh runs on a machine with a GPU; here a test over the stand-in.
if(TARGET lp_gpu_case)
  add_executable(device_check device_check.c)
  target_link_libraries(device_check PRIVATE lp_gpu_case lp_warnings PkgConfig::JANSSON)
  lp_add_test(bench.device_standin COMMAND device_check --small --json device_standin.json
    ENV LANEPACK_LIBCUDA=$<TARGET_FILE:cuda_standin> TIMEOUT 300)
  lp_add_test(bench.device_none COMMAND device_check ENV LANEPACK_LIBCUDA=/nonexistent/libcuda.so.1)
  set_tests_properties(bench.device_none PROPERTIES
    PASS_REGULAR_EXPRESSION "waived: no GPU" SKIP_RETURN_CODE -1)
  add_dependencies(device_check cuda_standin)
endif()
