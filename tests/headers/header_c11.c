/* SPDX-License-Identifier: Apache-2.0 */
/* The public header comes first and alone; then its table of errors against errors.def. */
#include "lanepack/lanepack.h"
#include "tests/headers/abi_facts.h"

#define X(name, number, broke, text) _Static_assert(name == (number), #name);
#include "base/errors.def"
#undef X

const struct abi_facts abi_facts_public = ABI_FACTS;
