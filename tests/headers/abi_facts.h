/* SPDX-License-Identifier: Apache-2.0 */
/* What every includer must agree on, whichever of two headers defined it: struct lp_error, and the
 * numbers of dtypes, codecs, layouts and accesses. */
#ifndef LP_TESTS_ABI_FACTS_H
#define LP_TESTS_ABI_FACTS_H

#include <stddef.h>

struct abi_facts {
    size_t error_bytes;
    size_t error_code_at;
    size_t error_text_at;
    int numbers[37]; /* the ends of the enums among them, so that none has more than the other */
};

#define ABI_FACTS                                                                                  \
    {                                                                                              \
        sizeof(struct lp_error), offsetof(struct lp_error, code), offsetof(struct lp_error, text), \
        {                                                                                          \
            LP_DTYPE_F64, LP_DTYPE_F32, LP_DTYPE_F16, LP_DTYPE_BF16, LP_DTYPE_F8_E4M3,             \
                LP_DTYPE_F8_E5M2, LP_DTYPE_I8, LP_DTYPE_U8, LP_DTYPE_I16, LP_DTYPE_U16,            \
                LP_DTYPE_I32, LP_DTYPE_U32, LP_DTYPE_I64, LP_DTYPE_U64, LP_DTYPE_BOOL,             \
                LP_DTYPE_F4_X2, LP_DTYPE_F6_E2M3_X4, LP_DTYPE_F6_E3M2_X4, LP_DTYPE_F8_E8M0,        \
                LP_DTYPE_F8_E4M3FNUZ, LP_DTYPE_F8_E5M2FNUZ, LP_DTYPE_C64, LP_DTYPE_END,            \
                LP_CODEC_AUTO, LP_CODEC_RAW, LP_CODEC_IBP, LP_CODEC_LANE, LP_CODEC_ZIP7,           \
                LP_CODEC_DICT, LP_CODEC_SPARSE, LP_CODEC_END, LP_LAYOUT_PACKED, LP_LAYOUT_SLOTTED, \
                LP_LAYOUT_END, LP_ACCESS_WHOLE, LP_ACCESS_ROWS, LP_ACCESS_END                      \
        }                                                                                          \
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
