/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

/* The number, the formatted sentence and the returned code belong together. */
Test(base_error, set_stores_code_and_sentence)
{
    struct lp_error err = LP_ERROR_INIT;

    cr_assert_eq(lp_error_set(&err, LP_ERANGE, "row %d of %d", 7, 5), LP_ERANGE);
    cr_assert_eq(err.code, LP_ERANGE);
    cr_assert_str_eq(err.text, "row 7 of 5");
}

/* Callers that do not care pass NULL and still get the code. */
Test(base_error, null_error_is_accepted_everywhere)
{
    cr_assert_eq(lp_error_set(NULL, LP_EIO, "x"), LP_EIO);
    cr_assert_eq(lp_error_set_errno(NULL, LP_EIO, ENOENT, "x"), LP_EIO);
    cr_assert_eq(lp_error_wrap(NULL, LP_EIO, "x"), LP_EIO);
    lp_error_clear(NULL);
}

/* The system's text follows the sentence. */
Test(base_error, set_errno_appends_the_reason)
{
    struct lp_error err = LP_ERROR_INIT;

    lp_error_set_errno(&err, LP_ENOENT, ENOENT, "open %s", "a.npy");
    cr_assert_str_eq(err.text, "open a.npy: No such file or directory");
}

/* Each level puts its context in front of what was said below. */
Test(base_error, wrap_prefixes_context)
{
    struct lp_error err = LP_ERROR_INIT;

    lp_error_set(&err, LP_ECORRUPT, "byte 12");
    cr_assert_eq(lp_error_wrap(&err, LP_ECORRUPT, "header of %s", "t"), LP_ECORRUPT);
    lp_error_wrap(&err, LP_ECORRUPT, "file f");
    cr_assert_str_eq(err.text, "file f: header of t: byte 12");
}

/* Where nothing was said below, the code's own words stand in. */
Test(base_error, wrap_of_silence_uses_the_table)
{
    struct lp_error err = LP_ERROR_INIT;

    lp_error_wrap(&err, LP_ENOMEM, "index");
    cr_assert_eq(err.code, LP_ENOMEM);
    cr_assert_str_eq(err.text, "index: out of memory");
}

/* A sentence may be built from the one it replaces. */
Test(base_error, arguments_may_alias_the_text)
{
    struct lp_error err = LP_ERROR_INIT;

    lp_error_set(&err, LP_EIO, "old");
    lp_error_set(&err, LP_EIO, "<%s>", err.text);
    cr_assert_str_eq(err.text, "<old>");
}

/* Long sentences are cut and stay ended by 0. */
Test(base_error, long_text_is_cut)
{
    struct lp_error err = LP_ERROR_INIT;
    char text[1000];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    lp_error_set(&err, LP_EIO, "%s", text);
    cr_assert_eq(strlen(err.text), sizeof(err.text) - 1);
    lp_error_wrap(&err, LP_EIO, "front");
    cr_assert_eq(strlen(err.text), sizeof(err.text) - 1);
    cr_assert_eq(strncmp(err.text, "front: xxx", 10), 0);
}

/* Nothing is written past the size that an older caller has. */
Test(base_error, short_struct_gets_what_fits)
{
    struct lp_error err;

    memset(&err, 0x55, sizeof(err));
    err.struct_size = 12;
    lp_error_set(&err, LP_EIO, "abcdefgh");
    cr_assert_eq(err.code, LP_EIO);
    cr_assert_str_eq(err.text, "abc");
    cr_assert_eq(err.text[4], 0x55);

    err.struct_size = 8;
    err.text[0] = 0x55;
    lp_error_wrap(&err, LP_EPERM, "abcdefgh");
    cr_assert_eq(err.code, LP_EPERM);
    cr_assert_eq(err.text[0], 0x55);
}

/* Clearing keeps the size and empties the rest. */
Test(base_error, clear_empties)
{
    struct lp_error err = LP_ERROR_INIT;

    lp_error_set(&err, LP_EIO, "x");
    lp_error_clear(&err);
    cr_assert_eq(err.code, 0);
    cr_assert_str_eq(err.text, "");
    cr_assert_eq(err.struct_size, sizeof(err));
}

/* Each row of the table has a number of its own within the range of what broke. */
Test(base_error, numbers_are_unique_and_in_their_range)
{
    static const struct {
        int code, low, high;
    } rows[] = {
#define CALL -19, -1
#define REQUEST -39, -20
#define CONNECTION -59, -40
#define DEVICE -79, -60
#define HOST -99, -80
#define X(name, number, broke, text) {name, broke},
#include "base/errors.def"
#undef X
    };
    const size_t n = sizeof(rows) / sizeof(rows[0]);

    for (size_t i = 0; i < n; i++) {
        cr_expect(rows[i].code >= rows[i].low && rows[i].code <= rows[i].high, "%d", rows[i].code);
        for (size_t j = i + 1; j < n; j++)
            cr_expect_neq(rows[i].code, rows[j].code);
    }
}

/* Names and texts come from the table; unknown numbers have stand-ins, never NULL. */
Test(base_error, names_and_texts)
{
    cr_assert_str_eq(lp_error_name(LP_EFINGERPRINT), "LP_EFINGERPRINT");
    cr_assert_str_eq(lp_error_name(0), "LP_OK");
    cr_assert_str_eq(lp_error_name(3), "LP_OK");
    cr_assert_str_eq(lp_error_name(-1000), "LP_E?");
    cr_assert_str_eq(lp_error_text(LP_ENOMEM), "out of memory");
    cr_assert_str_eq(lp_error_text(-1000), "unknown error");
}

static int try_return(int code)
{
    int rc;

    LP_TRY(rc, code);
    return rc + 100;
}

static int try_goto(int code)
{
    int rc;

    LP_TRY_GOTO(rc, code, fail);
    return rc + 100;
fail:
    return rc * 2;
}

/* The two macros leave on negative results only. */
Test(base_error, try_macros_leave_on_negative)
{
    cr_assert_eq(try_return(-3), -3);
    cr_assert_eq(try_return(5), 105);
    cr_assert_eq(try_goto(-3), -6);
    cr_assert_eq(try_goto(0), 100);
}
