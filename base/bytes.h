/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes and sizes: little-endian access at any address, arithmetic that notices overflow, and a
 * cursor that never reads past its end. Plain enough to be read as C++ too. */
#ifndef LP_BASE_BYTES_H
#define LP_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define LP_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define LP_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define LP_ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* Both evaluate the smaller or larger argument twice: no side effects in there. */
#define LP_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LP_MAX(a, b) ((a) > (b) ? (a) : (b))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LP_LE16(v) (v)
#define LP_LE32(v) (v)
#define LP_LE64(v) (v)
#else
#define LP_LE16(v) __builtin_bswap16(v)
#define LP_LE32(v) __builtin_bswap32(v)
#define LP_LE64(v) __builtin_bswap64(v)
#endif

/* Little-endian loads and stores at any alignment. p borrows; the bytes must be there. */
static inline uint16_t lp_load_u16(const void *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof(v));
    return LP_LE16(v);
}

static inline uint32_t lp_load_u32(const void *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return LP_LE32(v);
}

static inline uint64_t lp_load_u64(const void *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return LP_LE64(v);
}

static inline void lp_store_u16(void *p, uint16_t v)
{
    v = LP_LE16(v);
    memcpy(p, &v, sizeof(v));
}

static inline void lp_store_u32(void *p, uint32_t v)
{
    v = LP_LE32(v);
    memcpy(p, &v, sizeof(v));
}

static inline void lp_store_u64(void *p, uint64_t v)
{
    v = LP_LE64(v);
    memcpy(p, &v, sizeof(v));
}

/* The same by size: n_bytes is 1, 2, 4 or 8. Free where it is a constant. */
static inline uint64_t lp_load_uint(const void *p, uint32_t n_bytes)
{
    switch (n_bytes) {
    case 8:
        return lp_load_u64(p);
    case 4:
        return lp_load_u32(p);
    case 2:
        return lp_load_u16(p);
    default:
        return *(const uint8_t *)p;
    }
}

static inline void lp_store_uint(void *p, uint32_t n_bytes, uint64_t v)
{
    switch (n_bytes) {
    case 8:
        lp_store_u64(p, v);
        break;
    case 4:
        lp_store_u32(p, (uint32_t)v);
        break;
    case 2:
        lp_store_u16(p, (uint16_t)v);
        break;
    default:
        *(uint8_t *)p = (uint8_t)v;
    }
}

/* Sum and product; false on overflow, and *ret is then untouched. */
static inline bool lp_add_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    uint64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *ret = sum;
    return true;
}

static inline bool lp_mul_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    uint64_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *ret = product;
    return true;
}

/* The next multiple of power_of_two that is >= v; 0 when that does not fit (and for v = 0). */
static inline uint64_t lp_round_up_u64(uint64_t v, uint64_t power_of_two)
{
    return (v + (power_of_two - 1)) & ~(power_of_two - 1);
}

/* A reader over bytes that may be hostile. Every step checks its room: it returns false and moves
 * nothing when the bytes are not there, and *ret is then untouched. */
struct lp_cursor {
    const uint8_t *data; /* borrows */
    size_t size;
    size_t pos; /* <= size */
};

static inline void lp_cursor_init(struct lp_cursor *cursor, const void *data, size_t size)
{
    cursor->data = (const uint8_t *)data;
    cursor->size = size;
    cursor->pos = 0;
}

static inline size_t lp_cursor_left(const struct lp_cursor *cursor)
{
    return cursor->size - cursor->pos;
}

/* Hand out the next n bytes. *ret_bytes borrows from the cursor's data. */
static inline bool lp_cursor_take(struct lp_cursor *cursor, size_t n, const uint8_t **ret_bytes)
{
    if (n > lp_cursor_left(cursor))
        return false;
    *ret_bytes = cursor->data + cursor->pos;
    cursor->pos += n;
    return true;
}

static inline bool lp_cursor_skip(struct lp_cursor *cursor, size_t n)
{
    const uint8_t *skipped;

    return lp_cursor_take(cursor, n, &skipped);
}

/* Go to an offset from the start; false when it lies past the end. */
static inline bool lp_cursor_seek(struct lp_cursor *cursor, size_t pos)
{
    if (pos > cursor->size)
        return false;
    cursor->pos = pos;
    return true;
}

static inline bool lp_cursor_u8(struct lp_cursor *cursor, uint8_t *ret)
{
    const uint8_t *p;

    if (!lp_cursor_take(cursor, sizeof(*ret), &p))
        return false;
    *ret = *p;
    return true;
}

static inline bool lp_cursor_u16(struct lp_cursor *cursor, uint16_t *ret)
{
    const uint8_t *p;

    if (!lp_cursor_take(cursor, sizeof(*ret), &p))
        return false;
    *ret = lp_load_u16(p);
    return true;
}

static inline bool lp_cursor_u32(struct lp_cursor *cursor, uint32_t *ret)
{
    const uint8_t *p;

    if (!lp_cursor_take(cursor, sizeof(*ret), &p))
        return false;
    *ret = lp_load_u32(p);
    return true;
}

static inline bool lp_cursor_u64(struct lp_cursor *cursor, uint64_t *ret)
{
    const uint8_t *p;

    if (!lp_cursor_take(cursor, sizeof(*ret), &p))
        return false;
    *ret = lp_load_u64(p);
    return true;
}

#endif
