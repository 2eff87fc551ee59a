# SPDX-License-Identifier: Apache-2.0
# Vectors and real data that are not part of the tree; tests that need them are waived without.
set(LP_DATA "${PROJECT_SOURCE_DIR}/../shared/data" CACHE PATH "Real data and published vectors")
set(lp_codec_libs lp_testcodec lp_codec)

lp_criterion_test(shape test_shape.c LIBS ${lp_codec_libs})
lp_criterion_test(table test_table.c LIBS ${lp_codec_libs})
lp_criterion_test(codec_ibp test_codec_ibp.c LIBS ${lp_codec_libs})
lp_criterion_test(ibp_learn test_ibp_learn.c LIBS ${lp_codec_libs})
lp_criterion_test(ibp_groups test_ibp_groups.c LIBS ${lp_codec_libs})
lp_criterion_test(codec_lane test_codec_lane.c LIBS ${lp_codec_libs} m)
lp_criterion_test(lane_columns test_lane_columns.c LIBS ${lp_codec_libs})
lp_criterion_test(codec_zip7 test_codec_zip7.c LIBS ${lp_codec_libs} m)
lp_criterion_test(codec_dict test_codec_dict.c LIBS ${lp_codec_libs})
lp_criterion_test(codec_sparse test_codec_sparse.c LIBS ${lp_codec_libs})
lp_criterion_test(codec_counts test_codec_counts.c LIBS ${lp_codec_libs} m)
lp_criterion_test(codec_ops test_codec_ops.c LIBS ${lp_codec_libs})
lp_criterion_test(packer test_packer.c LIBS ${lp_codec_libs})
lp_criterion_test(view test_view.c LIBS ${lp_codec_libs})
lp_criterion_test(lpk test_lpk.c LIBS ${lp_codec_libs})
lp_criterion_test(plan test_plan.c LIBS ${lp_codec_libs})
lp_criterion_test(sample test_sample.c LIBS ${lp_codec_libs})
# Criterion itself leaks 48 bytes when tests as long as these end side by side.
lp_criterion_test(traps test_traps.c LIBS ${lp_codec_libs} TIMEOUT 600 ENV CRITERION_JOBS=1)
lp_criterion_test(huge test_huge.c LIBS ${lp_codec_libs} TIMEOUT 1200)
lp_criterion_test(analysis test_analysis.c LIBS ${lp_codec_libs} m)

# Each published vector is read, so a skipped run says so: exit 77.
lp_program_test(unit.ibp_vectors test_ibp_vectors.c LIBS ${lp_codec_libs} PkgConfig::JANSSON
  ENV "LANEPACK_DATA=${LP_DATA}")
