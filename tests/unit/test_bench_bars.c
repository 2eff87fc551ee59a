/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bars.h"
#include "tests/lib/leak.h"

#include <criterion/criterion.h>
#include <jansson.h>

#include <math.h>
#include <string.h>

/* A bar is reached on its border and missed behind it, in either sense; what is no number misses.
 */
Test(bench_bars, verdict_follows_the_figure)
{
    for (int kind = BAR_RATIO; kind <= BAR_TIMING; kind++) {
        cr_assert_eq(bars_verdict(2, 2, BAR_AT_LEAST, kind, false), BAR_PASSED);
        cr_assert_eq(bars_verdict(1.99, 2, BAR_AT_LEAST, kind, false), BAR_MISSED);
        cr_assert_eq(bars_verdict(2, 2, BAR_AT_MOST, kind, false), BAR_PASSED);
        cr_assert_eq(bars_verdict(2.01, 2, BAR_AT_MOST, kind, false), BAR_MISSED);
        cr_assert_eq(bars_verdict(NAN, 2, BAR_AT_LEAST, kind, true), BAR_MISSED);
        cr_assert_eq(bars_verdict(NAN, 2, BAR_AT_MOST, kind, true), BAR_MISSED);
        cr_assert_eq(bars_verdict(INFINITY, 2, BAR_AT_MOST, kind, true), BAR_MISSED);
    }
}

/* Leniently a timing may lose half of its bar, a ratio nothing. */
Test(bench_bars, lenience_is_for_timings_alone)
{
    cr_assert_eq(bars_verdict(1, 2, BAR_AT_LEAST, BAR_TIMING, true), BAR_PASSED);
    cr_assert_eq(bars_verdict(0.99, 2, BAR_AT_LEAST, BAR_TIMING, true), BAR_MISSED);
    cr_assert_eq(bars_verdict(4, 2, BAR_AT_MOST, BAR_TIMING, true), BAR_PASSED);
    cr_assert_eq(bars_verdict(4.01, 2, BAR_AT_MOST, BAR_TIMING, true), BAR_MISSED);
    cr_assert_eq(bars_verdict(1.99, 2, BAR_AT_LEAST, BAR_RATIO, true), BAR_MISSED);
    cr_assert_eq(bars_verdict(2.01, 2, BAR_AT_MOST, BAR_RATIO, true), BAR_MISSED);
}

/* One planted miss among many bars is counted, printed, and ends the run badly. */
Test(bench_bars, one_miss_fails_the_run)
{
    struct bars bars = {0};
    char *text = NULL;
    size_t n_text = 0;
    FILE *file;

    for (int i = 0; i < 100; i++)
        bars_add(&bars, BAR_RATIO, 1, BAR_AT_LEAST, 0.5, "bar %d", i);
    bars_waive(&bars, "no such peer", "peer");
    cr_assert_not(bars_missed(&bars));
    bars_add(&bars, BAR_RATIO, 0.4, BAR_AT_LEAST, 0.5, "planted");
    cr_assert(bars_missed(&bars));
    cr_assert_eq(bars_count(&bars, BAR_PASSED), 100);
    cr_assert_eq(bars_count(&bars, BAR_MISSED), 1);
    cr_assert_eq(bars_count(&bars, BAR_WAIVED), 1);
    file = open_memstream(&text, &n_text);
    bars_print(&bars, file);
    (void)fclose(file);
    cr_assert_not_null(strstr(text, "FAIL        0.400 >= 0.500    planted\n"));
    cr_assert_not_null(strstr(text, "peer: no such peer\n"));
    cr_assert_not_null(strstr(text, "bars: 100 passed, 1 failed, 1 waived\n"));
    free(text);
    bars_fini(&bars);
    ASSERT_NO_LEAK();
}

/* Every verdict has its fields in JSON, a figure that is no number among them. */
Test(bench_bars, json_tells_every_verdict)
{
    struct bars bars = {0};
    json_t *array;

    bars_add(&bars, BAR_TIMING, NAN, BAR_AT_MOST, 6, "nan");
    bars_waive(&bars, "why", "waived");
    array = bars_json(&bars);
    cr_assert_eq(json_array_size(array), 2);
    cr_assert(json_is_null(json_object_get(json_array_get(array, 0), "figure")));
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(array, 0), "verdict")),
                     "FAIL");
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(array, 0), "kind")),
                     "timing");
    cr_assert_str_eq(json_string_value(json_object_get(json_array_get(array, 1), "why")), "why");
    json_decref(array);
    bars_fini(&bars);
}
