/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of codec/ops_neon_gaps.h, which the compiler works out. */
#include "codec/ops_neon_gaps.h"

/* Bits of b that are set below bit end. */
#define BELOW(b, end) ((uint8_t)__builtin_popcount((b) & ((1u << (end)) - 1)))

#define OPEN_AT(b, i) (((b) >> (i)&1) != 0 ? BELOW(b, i) : LP_NEON_NONE)

/* Bits before the one that has k set ones below it, of 8. */
#define CLOSE_AT(b, k)                                                                             \
    ((BELOW(b, 1) <= (k)) + (BELOW(b, 2) <= (k)) + (BELOW(b, 3) <= (k)) + (BELOW(b, 4) <= (k)) +   \
     (BELOW(b, 5) <= (k)) + (BELOW(b, 6) <= (k)) + (BELOW(b, 7) <= (k)) + (BELOW(b, 8) <= (k)))

#define OPEN(b)                                                                                    \
    {                                                                                              \
        OPEN_AT(b, 0), OPEN_AT(b, 1), OPEN_AT(b, 2), OPEN_AT(b, 3), OPEN_AT(b, 4), OPEN_AT(b, 5),  \
            OPEN_AT(b, 6), OPEN_AT(b, 7)                                                           \
    }
#define CLOSE(b)                                                                                   \
    {                                                                                              \
        CLOSE_AT(b, 0), CLOSE_AT(b, 1), CLOSE_AT(b, 2), CLOSE_AT(b, 3), CLOSE_AT(b, 4),            \
            CLOSE_AT(b, 5), CLOSE_AT(b, 6), CLOSE_AT(b, 7)                                         \
    }

/* The four bytes of element e of a register; of none, none. */
#define BYTE(e, i) (e) > 3 ? LP_NEON_NONE : 4 * ((e)&3) + (i)
#define BYTES(e) BYTE(e, 0), BYTE(e, 1), BYTE(e, 2), BYTE(e, 3)
#define OPEN_4(b)                                                                                  \
    {                                                                                              \
        BYTES(OPEN_AT(b, 0)), BYTES(OPEN_AT(b, 1)), BYTES(OPEN_AT(b, 2)), BYTES(OPEN_AT(b, 3))     \
    }
#define CLOSE_4(b)                                                                                 \
    {                                                                                              \
        BYTES(CLOSE_AT(b, 0)), BYTES(CLOSE_AT(b, 1)), BYTES(CLOSE_AT(b, 2)), BYTES(CLOSE_AT(b, 3)) \
    }

#define ROWS_4(row, b) row(b), row((b) + 1), row((b) + 2), row((b) + 3)
#define ROWS_16(row, b)                                                                            \
    ROWS_4(row, b), ROWS_4(row, (b) + 4), ROWS_4(row, (b) + 8), ROWS_4(row, (b) + 12)
#define ROWS_64(row, b)                                                                            \
    ROWS_16(row, b), ROWS_16(row, (b) + 16), ROWS_16(row, (b) + 32), ROWS_16(row, (b) + 48)

const struct lp_neon_gaps lp_codec_neon_gaps = {
    .open = {ROWS_64(OPEN, 0), ROWS_64(OPEN, 64), ROWS_64(OPEN, 128), ROWS_64(OPEN, 192)},
    .close = {ROWS_64(CLOSE, 0), ROWS_64(CLOSE, 64), ROWS_64(CLOSE, 128), ROWS_64(CLOSE, 192)},
    .open_4 = {ROWS_16(OPEN_4, 0)},
    .close_4 = {ROWS_16(CLOSE_4, 0)},
};
