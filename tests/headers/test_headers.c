/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "codec/format.h"
#include "codec/plan.h"
#include "tests/headers/abi_facts.h"

#include <criterion/criterion.h>

#include <string.h>

/* The public header, as C11 and as C++17, lays struct lp_error out as the library does. */
Test(headers, struct_lp_error_is_the_same_everywhere)
{
    const struct abi_facts inside = ABI_FACTS;

    cr_assert_eq(abi_facts_public.error_bytes, inside.error_bytes);
    cr_assert_eq(abi_facts_public.error_code_at, inside.error_code_at);
    cr_assert_eq(abi_facts_public.error_text_at, inside.error_text_at);
    cr_assert_eq(abi_facts_cxx.error_bytes, inside.error_bytes);
    cr_assert_eq(abi_facts_cxx.error_code_at, inside.error_code_at);
    cr_assert_eq(abi_facts_cxx.error_text_at, inside.error_text_at);
}

/* dtypes, codecs and layouts have the same numbers in the public header as in the format, and both
 * know the same ones. */
Test(headers, enums_are_the_same_everywhere)
{
    const struct abi_facts inside = ABI_FACTS;

    cr_assert_eq(memcmp(abi_facts_public.numbers, inside.numbers, sizeof(inside.numbers)), 0);
    cr_assert_eq(memcmp(abi_facts_cxx.numbers, inside.numbers, sizeof(inside.numbers)), 0);
}
