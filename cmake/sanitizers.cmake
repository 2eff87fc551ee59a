# SPDX-License-Identifier: Apache-2.0
# LP_SANITIZE=address;undefined or =thread puts the whole tree under these sanitizers.
# LP_SANITIZER_ADDRESS is then TRUE where AddressSanitizer is among them.
set(LP_SANITIZER_ADDRESS FALSE)
if(LP_SANITIZE)
  string(REPLACE ";" "," lp_sanitize_list "${LP_SANITIZE}")
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${lp_sanitize_list}>"
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>"
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=undefined>")
  add_link_options(-fsanitize=${lp_sanitize_list})
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # gcc's data-flow warning misreads instrumented code (the plain builds keep it). It also
    # warns that ThreadSanitizer does not model fences; the accesses around ours are atomic.
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wno-maybe-uninitialized>")
    if("thread" IN_LIST LP_SANITIZE)
      add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wno-tsan>")
    endif()
  endif()
  if("address" IN_LIST LP_SANITIZE)
    set(LP_SANITIZER_ADDRESS TRUE)
  endif()
endif()
if(LP_FUZZ)
  # Coverage for libFuzzer in everything that a target reaches; targets themselves link the driver.
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=fuzzer-no-link>")
endif()
