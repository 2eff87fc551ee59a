/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: a pinned number, a sentence, and the way it came.
 *
 * Functions return 0, a negative code of errors.def, or a positive count. Where more than one
 * thing can fail, `struct lp_error *err` is the last argument and may be NULL. The place that
 * notices a failure sets it, each level on the way up may wrap it with what it was doing, and
 * whoever deals with it reports it once. */
#ifndef LP_BASE_ERROR_H
#define LP_BASE_ERROR_H

#include <stdint.h>

/* The public header defines both of these literally; tests/headers keeps the two alike. */
#ifndef LP_ERROR_DEFINED
#define LP_ERROR_DEFINED

enum lp_error_code {
    LP_OK = 0,
#define X(name, number, broke, text) name = (number),
#include "base/errors.def"
#undef X
};

struct lp_error {
    uint32_t struct_size; /* bytes the caller has; 0: as this library was built */
    int32_t code;         /* 0 or LP_E* */
    char text[248];       /* what happened, always ended by 0 */
};

#endif /* LP_ERROR_DEFINED */

/* A cleared error for a declaration: struct lp_error err = LP_ERROR_INIT; */
#define LP_ERROR_INIT                                                                              \
    {                                                                                              \
        .struct_size = (uint32_t)sizeof(struct lp_error)                                           \
    }

/* Part of the public ABI: exported even where everything else is hidden. */
#define LP_ERROR_EXPORT __attribute__((visibility("default")))

/* Set code and sentence. err borrows, may be NULL; arguments may point into err->text.
 * Returns code, so that a caller writes `return lp_error_set(err, LP_ERANGE, ...)`. */
int lp_error_set(struct lp_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As lp_error_set, and appends ": " and the system's text for errnum. Returns code. */
int lp_error_set_errno(struct lp_error *err, int code, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Put what the caller was doing before the sentence that err has: "context: old text". The code
 * becomes rc; where err had no sentence, that of the code stands in. Returns rc. */
int lp_error_wrap(struct lp_error *err, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Code 0 and an empty sentence; struct_size stays. NULL is fine. */
void lp_error_clear(struct lp_error *err);

/* "LP_ERANGE"; "LP_OK" for 0 and positive counts; "LP_E?" for a number that no code has. */
LP_ERROR_EXPORT const char *lp_error_name(int code);

/* A few words for the code, without the details that only an lp_error has. Never NULL. */
const char *lp_error_text(int code);

/* Evaluate expr into rc and return it from the calling function when it is negative. */
#define LP_TRY(rc, expr)                                                                           \
    do {                                                                                           \
        (rc) = (expr);                                                                             \
        if ((rc) < 0)                                                                              \
            return (rc);                                                                           \
    } while (0)

/* Evaluate expr into rc and jump to label when it is negative. */
#define LP_TRY_GOTO(rc, expr, label)                                                               \
    do {                                                                                           \
        (rc) = (expr);                                                                             \
        if ((rc) < 0)                                                                              \
            goto label;                                                                            \
    } while (0)

#endif
