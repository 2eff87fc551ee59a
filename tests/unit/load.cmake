# SPDX-License-Identifier: Apache-2.0
# The loader and the file writers (target lp_load).
foreach(name load_files load_npy load_npz load_safetensors load_raw load_fortran load_real
        outfile save_npy lpk_file lpk_memory)
  lp_criterion_test(${name} test_${name}.c LIBS lp_load PkgConfig::LIBZIP TIMEOUT 300)
  if(TARGET unit_${name})
    target_compile_definitions(unit_${name} PRIVATE LP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
endforeach()
lp_criterion_test(progress test_progress.c)

# What numpy reads, the loader must give, byte for byte.
add_executable(load_dump load_dump.c)
target_link_libraries(load_dump PRIVATE lp_load lp_base lp_warnings)
lp_add_test(unit.load_numpy TIMEOUT 300
  COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/compare_numpy.py" $<TARGET_FILE:load_dump>
  ENV "LANEPACK_SOURCE=${PROJECT_SOURCE_DIR}")
