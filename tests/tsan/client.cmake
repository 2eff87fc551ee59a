# SPDX-License-Identifier: Apache-2.0
if(TARGET lp_testclient)
  lp_program_test(tsan.client tsan_client.c LIBS lp_testclient lp_client)
endif()
