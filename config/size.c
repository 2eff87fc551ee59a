/* SPDX-License-Identifier: Apache-2.0 */
/* Digits, then one unit, then nothing. */
#include "config/size.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char unit_letters[] = "KMGT";

static bool read_digits(const char **at, uint64_t *ret_number)
{
    uint64_t number = 0;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (!lp_mul_u64(number, 10, &number) ||
            !lp_add_u64(number, (uint64_t)(**at - '0'), &number))
            return false;
    }
    *ret_number = number;
    return true;
}

/* Bits to shift by for a unit such as "", "B", "K", "Ki" or "KiB"; -1: no such unit. */
static int unit_shift(const char *unit)
{
    if (unit[0] == '\0' || strcmp(unit, "B") == 0)
        return 0;
    const char *letter = strchr(unit_letters, unit[0]);
    if (letter == NULL)
        return -1;
    if (unit[1] != '\0' && strcmp(unit + 1, "i") != 0 && strcmp(unit + 1, "iB") != 0)
        return -1;
    return 10 * (int)(letter - unit_letters + 1);
}

int lp_conf_size_parse(const char *text, struct lp_size *ret_size, struct lp_error *err)
{
    const char *at = text;
    uint64_t number;

    if (*at < '0' || *at > '9')
        return lp_error_set(err, LP_EINVAL, "'%.32s' is no size: it begins with no digit", text);
    if (!read_digits(&at, &number))
        return lp_error_set(err, LP_ERANGE, "'%.32s' is beyond 64 bits", text);
    if (strcmp(at, "%") == 0) {
        if (number < 1 || number > 100)
            return lp_error_set(err, LP_ERANGE, "'%.32s' is not 1%% to 100%%", text);
        *ret_size = (struct lp_size){.percent = (uint32_t)number};
        return 0;
    }
    const int shift = unit_shift(at);
    if (shift < 0)
        return lp_error_set(err, LP_EINVAL,
                            "'%.32s' has unknown unit '%.8s'; KiB MiB GiB TiB are known", text, at);
    uint64_t bytes;
    if (!lp_mul_u64(number, UINT64_C(1) << shift, &bytes))
        return lp_error_set(err, LP_ERANGE, "'%.32s' is beyond 64 bits", text);
    *ret_size = (struct lp_size){.bytes = bytes};
    return 0;
}

char *lp_conf_size_write(uint64_t bytes, char *text)
{
    int unit = 0;

    while (unit < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    if (unit == 0)
        (void)snprintf(text, 24, "%llu", (unsigned long long)bytes);
    else
        (void)snprintf(text, 24, "%llu%ciB", (unsigned long long)bytes, unit_letters[unit - 1]);
    return text;
}
