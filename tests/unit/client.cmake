# SPDX-License-Identifier: Apache-2.0
# liblanepack, against "local:" and against a daemon on a private socket.
if(TARGET lp_testclient)
  foreach(name connect put read names structs life fail fault)
    lp_criterion_test(client_${name} test_client_${name}.c LIBS lp_testclient lp_client TIMEOUT 300)
  endforeach()

  # Device gathers, over the stand-in driver, which brings the kernels along; and without a driver.
  lp_criterion_test(client_cuda test_client_cuda.c LIBS lp_testclient lp_client ${CMAKE_DL_LIBS}
    TIMEOUT 300 ENV "LANEPACK_LIBCUDA=$<TARGET_FILE:cuda_standin>")
  if(TARGET unit_client_cuda)
    add_dependencies(unit_client_cuda cuda_standin)
  endif()
  lp_criterion_test(client_nogpu test_client_nogpu.c LIBS lp_testclient lp_client
    ENV "LANEPACK_LIBCUDA=/nonexistent/libcuda.so.1")
endif()
