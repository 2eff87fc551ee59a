/* SPDX-License-Identifier: Apache-2.0 */
#include "base/atomic.h"
#include "base/bytes.h"

#include <criterion/criterion.h>

/* The least significant byte comes first, at any address. */
Test(base_bytes, loads_and_stores_are_little_endian)
{
    uint8_t bytes[12] = {0};

    lp_store_u16(bytes + 1, 0x0102);
    cr_assert(bytes[1] == 0x02 && bytes[2] == 0x01);
    cr_assert_eq(lp_load_u16(bytes + 1), 0x0102);
    lp_store_u32(bytes + 1, UINT32_C(0x01020304));
    cr_assert(bytes[1] == 0x04 && bytes[4] == 0x01);
    cr_assert_eq(lp_load_u32(bytes + 1), UINT32_C(0x01020304));
    lp_store_u64(bytes + 3, UINT64_C(0x0102030405060708));
    cr_assert(bytes[3] == 0x08 && bytes[10] == 0x01);
    cr_assert_eq(lp_load_u64(bytes + 3), UINT64_C(0x0102030405060708));
}

/* Overflow is noticed and leaves the result alone. */
Test(base_bytes, checked_arithmetic)
{
    uint64_t v = 7;

    cr_assert(lp_add_u64(UINT64_MAX - 1, 1, &v));
    cr_assert_eq(v, UINT64_MAX);
    v = 7;
    cr_assert_not(lp_add_u64(UINT64_MAX, 1, &v));
    cr_assert_not(lp_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &v));
    cr_assert_eq(v, 7);
    cr_assert(lp_mul_u64(UINT64_C(1) << 32, 5, &v));
    cr_assert_eq(v, UINT64_C(5) << 32);
}

/* Rounding up, and 0 where the next multiple does not fit. */
Test(base_bytes, round_up)
{
    cr_assert_eq(lp_round_up_u64(0, 64), 0);
    cr_assert_eq(lp_round_up_u64(1, 64), 64);
    cr_assert_eq(lp_round_up_u64(64, 64), 64);
    cr_assert_eq(lp_round_up_u64(65, 64), 128);
    cr_assert_eq(lp_round_up_u64(UINT64_MAX, 4096), 0);
}

/* A step that does not fit moves nothing; what fits up to the last byte is given. */
Test(base_bytes, cursor_never_passes_its_end)
{
    const uint8_t bytes[7] = {1, 2, 3, 4, 5, 6, 7};
    struct lp_cursor cursor;
    const uint8_t *p = NULL;
    uint64_t u64 = 9;
    uint32_t u32 = 9;
    uint16_t u16 = 9;
    uint8_t u8 = 9;

    lp_cursor_init(&cursor, bytes, sizeof(bytes));
    cr_assert_not(lp_cursor_u64(&cursor, &u64));
    cr_assert(u64 == 9 && cursor.pos == 0);
    cr_assert(lp_cursor_u32(&cursor, &u32));
    cr_assert_eq(u32, UINT32_C(0x04030201));
    cr_assert_not(lp_cursor_take(&cursor, SIZE_MAX, &p));
    cr_assert(p == NULL && cursor.pos == 4);
    cr_assert(lp_cursor_u16(&cursor, &u16));
    cr_assert_eq(u16, 0x0605);
    cr_assert_not(lp_cursor_u16(&cursor, &u16));
    cr_assert_eq(lp_cursor_left(&cursor), 1);
    cr_assert(lp_cursor_u8(&cursor, &u8));
    cr_assert_eq(u8, 7);
    cr_assert_not(lp_cursor_u8(&cursor, &u8));
    cr_assert_not(lp_cursor_skip(&cursor, 1));
    cr_assert(lp_cursor_skip(&cursor, 0));
    cr_assert_not(lp_cursor_seek(&cursor, sizeof(bytes) + 1));
    cr_assert(lp_cursor_seek(&cursor, sizeof(bytes)));
}

/* compare_swap tells what it found; fetch functions return the old value. */
Test(base_atomic, returns_what_the_header_says)
{
    uint64_t word = 5;
    uint64_t expected = 4;

    cr_assert_not(lp_atomic_compare_swap_u64(&word, &expected, 6));
    cr_assert_eq(expected, 5);
    cr_assert(lp_atomic_compare_swap_u64(&word, &expected, 6));
    cr_assert_eq(lp_atomic_fetch_add_u64(&word, 2), 6);
    cr_assert_eq(lp_atomic_fetch_sub_u64(&word, 1), 8);
    cr_assert_eq(lp_atomic_exchange_u64(&word, 1), 7);
    cr_assert_eq(lp_atomic_load_acquire_u64(&word), 1);
}
