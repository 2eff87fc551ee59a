# SPDX-License-Identifier: Apache-2.0
# lp_warnings: an interface target with the warnings that our own code is clean of, gcc and clang.
add_library(lp_warnings INTERFACE)

set(lp_warnings_all -Wall -Wextra -Wshadow -Wpointer-arith -Wwrite-strings -Wvla -Wundef)
set(lp_warnings_c -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition)

target_compile_options(lp_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:${lp_warnings_all}>"
  "$<$<COMPILE_LANGUAGE:C>:${lp_warnings_c}>")
if(LP_WERROR)
  target_compile_options(lp_warnings INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>")
endif()
