# SPDX-License-Identifier: Apache-2.0
set(lp_store_libs lp_teststore lp_testcodec lp_store)

lp_criterion_test(extent test_extent.c LIBS ${lp_store_libs})
lp_criterion_test(idmap test_idmap.c LIBS ${lp_store_libs})
lp_criterion_test(index test_index.c LIBS ${lp_store_libs})
lp_criterion_test(procfile test_procfile.c LIBS ${lp_store_libs})
lp_criterion_test(cgroup test_cgroup.c LIBS ${lp_store_libs})
lp_criterion_test(budget test_budget.c LIBS ${lp_store_libs})
lp_criterion_test(chunk test_chunk.c LIBS ${lp_store_libs})
lp_criterion_test(pool test_pool.c LIBS ${lp_store_libs})
lp_criterion_test(store test_store.c LIBS ${lp_store_libs})
lp_criterion_test(seal test_seal.c LIBS ${lp_store_libs})
lp_criterion_test(store_fault test_store_fault.c LIBS ${lp_store_libs})
lp_criterion_test(store_model test_store_model.c LIBS ${lp_store_libs})

# One program for two limits of the host, each waived by itself where it cannot be set.
add_executable(unit_store_limits test_store_limits.c)
target_link_libraries(unit_store_limits PRIVATE ${lp_store_libs} lp_warnings)
lp_add_test(unit.store_limits_group COMMAND unit_store_limits group)
lp_add_test(unit.store_limits_memlock COMMAND unit_store_limits memlock)
