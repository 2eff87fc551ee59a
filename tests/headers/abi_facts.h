/* SPDX-License-Identifier: Apache-2.0 */
/* What every includer of struct lp_error must agree on, whichever header defined it. */
#ifndef LP_TESTS_ABI_FACTS_H
#define LP_TESTS_ABI_FACTS_H

#include <stddef.h>

struct abi_facts {
    size_t error_bytes;
    size_t error_code_at;
    size_t error_text_at;
};

#define ABI_FACTS                                                                                  \
    {                                                                                              \
        sizeof(struct lp_error), offsetof(struct lp_error, code), offsetof(struct lp_error, text)  \
    }

#ifdef __cplusplus
extern "C" {
#endif
extern const struct abi_facts abi_facts_public;
extern const struct abi_facts abi_facts_cxx;
#ifdef __cplusplus
}
#endif

#endif
