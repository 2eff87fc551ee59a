# SPDX-License-Identifier: Apache-2.0
# The loader and the file writers (target lp_load).
foreach(name load_files load_npy load_safetensors load_raw load_fortran outfile save_npy)
  lp_criterion_test(${name} test_${name}.c LIBS lp_load TIMEOUT 300)
  if(TARGET unit_${name})
    target_compile_definitions(unit_${name} PRIVATE LP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
endforeach()
lp_criterion_test(progress test_progress.c)
