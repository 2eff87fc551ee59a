/* SPDX-License-Identifier: Apache-2.0 */
#include "config/size.h"

#include <criterion/criterion.h>

static uint64_t bytes_of(const char *text)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_size size;

    cr_assert_eq(lp_conf_size_parse(text, &size, &err), 0, "%s", err.text);
    cr_assert_eq(size.percent, 0);
    return size.bytes;
}

/* All spellings of a unit mean the same power of 1024. */
Test(config_size, reads_every_spelling)
{
    cr_assert_eq(bytes_of("0"), 0);
    cr_assert_eq(bytes_of("1048576"), LP_MIB);
    cr_assert_eq(bytes_of("4096B"), 4096);
    cr_assert_eq(bytes_of("64K"), 64 * LP_KIB);
    cr_assert_eq(bytes_of("64Ki"), 64 * LP_KIB);
    cr_assert_eq(bytes_of("64KiB"), 64 * LP_KIB);
    cr_assert_eq(bytes_of("64G"), 64 * LP_GIB);
    cr_assert_eq(bytes_of("1Gi"), LP_GIB);
    cr_assert_eq(bytes_of("64GiB"), 64 * LP_GIB);
    cr_assert_eq(bytes_of("2T"), 2048 * LP_GIB);
    cr_assert_eq(bytes_of("18446744073709551615"), UINT64_MAX);
}

Test(config_size, reads_shares)
{
    struct lp_size size;

    cr_assert_eq(lp_conf_size_parse("80%", &size, NULL), 0);
    cr_assert_eq(size.percent, 80);
    cr_assert_eq(lp_conf_size_parse("100%", &size, NULL), 0);
    cr_assert_eq(lp_conf_size_parse("0%", &size, NULL), LP_ERANGE);
    cr_assert_eq(lp_conf_size_parse("101%", &size, NULL), LP_ERANGE);
    cr_assert_eq(size.percent, 100);
}

/* Anything else is refused, and the result stays untouched. */
Test(config_size, refuses_the_rest)
{
    static const char *const bad[] = {"",     " 1", "1 ",    "-1",   "1.5G", "G",   "1GB",
                                      "1gib", "1P", "1GiBB", "1iB",  "0x10", "1e3", "%",
                                      "1K%",  "+1", "1 GiB", "1Gib", "1KB"};
    struct lp_size size = {.bytes = 7};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(lp_conf_size_parse(bad[i], &size, NULL), LP_EINVAL, "'%s'", bad[i]);
    cr_assert_eq(lp_conf_size_parse("18446744073709551616", &size, NULL), LP_ERANGE);
    cr_assert_eq(lp_conf_size_parse("17179869184G", &size, NULL), LP_ERANGE);
    cr_assert_eq(size.bytes, 7);
}

Test(config_size, writes_what_it_reads)
{
    static const uint64_t sizes[] = {0,      1,          1023,          1024,
                                     LP_MIB, 3 * LP_GIB, 2048 * LP_GIB, UINT64_MAX};
    char text[24];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        cr_assert_eq(bytes_of(lp_conf_size_write(sizes[i], text)), sizes[i]);
    cr_assert_str_eq(lp_conf_size_write(64 * LP_GIB, text), "64GiB");
    cr_assert_str_eq(lp_conf_size_write(1536, text), "1536");
}
