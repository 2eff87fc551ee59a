# SPDX-License-Identifier: Apache-2.0
# lp_add_layer(NAME SOURCES files... [LIBS libraries...] [PRIVATE_LIBS libraries...])
#
# One folder of the tree as the static library lp_NAME: position independent, hidden by default,
# warnings on, includes written from the root. LIBS are seen by whoever links the layer,
# PRIVATE_LIBS by the layer alone.
function(lp_add_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS;PRIVATE_LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lp_add_layer(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(lp_${name} STATIC ${arg_SOURCES})
  target_include_directories(lp_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(lp_${name} PUBLIC ${arg_LIBS} PRIVATE lp_warnings ${arg_PRIVATE_LIBS})
endfunction()
