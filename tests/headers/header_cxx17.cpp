/* SPDX-License-Identifier: Apache-2.0 */
/* The public header comes first and alone, as C++. */
#include "lanepack/lanepack.h"
#include "tests/headers/abi_facts.h"

const struct abi_facts abi_facts_cxx = ABI_FACTS;
