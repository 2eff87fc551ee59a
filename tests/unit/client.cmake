# SPDX-License-Identifier: Apache-2.0
# liblanepack, against "local:" and against a daemon on a private socket.
if(TARGET lp_testclient)
  foreach(name connect put read names life fail fault)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/test_client_${name}.c")
      lp_criterion_test(client_${name} test_client_${name}.c LIBS lp_testclient lp_client)
    endif()
  endforeach()
endif()

# A link of its own: chunks as no honest daemon hands them out.
if(TARGET lp_client)
  lp_criterion_test(session test_session.c LIBS lp_client)
endif()
