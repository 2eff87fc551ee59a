# SPDX-License-Identifier: Apache-2.0
# lp_warnings: an interface target with the warnings that our own code is clean of, gcc and clang.
add_library(lp_warnings INTERFACE)

set(lp_warnings_all -Wall -Wextra -Wshadow -Wpointer-arith -Wwrite-strings -Wvla -Wundef)
set(lp_warnings_c -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition)

target_compile_options(lp_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:${lp_warnings_all}>"
  "$<$<COMPILE_LANGUAGE:C>:${lp_warnings_c}>")
# gcc's optimiser does not see that lp_error_set() never returns 0, so it takes every result behind
# LP_TRY for maybe unset. clang, valgrind and the sanitizers do look.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(lp_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
if(LP_WERROR)
  target_compile_options(lp_warnings INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>")
endif()
