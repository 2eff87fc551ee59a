/* SPDX-License-Identifier: Apache-2.0 */
/* Are there counts? A pair of values of a row, or of ratios of two rows, has a ratio of two small
 * numbers then. A look at a few of them keeps the rest of learning away from other tables. */
#include "base/bytes.h"
#include "codec/counts_study.h"

#define GATE_ROWS 64u
#define GATE_OTHERS 32u
#define GATE_NEIGHBOURS 8u /* of a row */
#define GATE_TESTS_MIN 16u
#define GATE_TESTS_MAX 256u
/* Random ratios pass about once in a hundred times, those of short texts nearly always. */
#define GATE_PARTS 64u
#define GATE_COUNT_MAX 256u

static bool is_small_ratio(float a, float b)
{
    const float ratio = a > b ? a / b : b / a;

    for (uint32_t part = 1; part <= GATE_PARTS; part++) {
        const uint32_t count = lp_codec_counts_whole(ratio * (float)part);

        if (count != 0 && count <= GATE_COUNT_MAX)
            return true;
    }
    return false;
}

struct gate {
    uint32_t tests, hits;
};

static void test_ratio(struct gate *gate, float a, float b)
{
    gate->tests++;
    gate->hits += is_small_ratio(a, b);
}

static bool gate_opens(const struct gate *gate)
{
    return gate->tests >= GATE_TESTS_MIN && 2 * gate->hits >= gate->tests;
}

/* Neighbours in a row are counts times the same factor, if columns have none. */
bool lp_codec_counts_rows_pass(const struct lp_counts_study *study)
{
    const uint32_t step = study->n_rows / GATE_ROWS + 1;
    struct gate gate = {0};

    for (uint32_t r = 0; r < study->n_rows && gate.tests < GATE_TESTS_MAX; r += step) {
        const uint32_t end =
            LP_MIN(study->row_start[r + 1], study->row_start[r] + GATE_NEIGHBOURS + 1);

        for (uint32_t i = study->row_start[r] + 1; i < end; i++)
            test_ratio(&gate, study->value[i - 1], study->value[i]);
    }
    return gate_opens(&gate);
}

/* One row divided by another: neighbours have the same two rows, and columns are gone. line has the
 * first row, and zeros. */
static void test_rows(const struct lp_counts_study *study, const float *line, uint32_t other,
                      struct gate *gate)
{
    float last = 0;

    for (uint32_t i = study->row_start[other]; i < study->row_start[other + 1]; i++) {
        const float first = line[study->column[i]];
        float ratio;

        if (first == 0)
            continue;
        ratio = study->value[i] / first;
        if (last != 0)
            test_ratio(gate, ratio, last);
        last = ratio;
    }
}

bool lp_codec_counts_pairs_pass(const struct lp_counts_study *study)
{
    const uint32_t n = study->n_rows, step = n / GATE_ROWS + 1, far = n / GATE_OTHERS + 1;
    float *const line = study->scales;
    struct gate gate = {0};

    for (uint32_t r = 0; r < n && gate.tests < GATE_TESTS_MAX; r += step) {
        for (uint32_t i = study->row_start[r]; i < study->row_start[r + 1]; i++)
            line[study->column[i]] = study->value[i];
        for (uint32_t other = 0; other < n && gate.tests < GATE_TESTS_MAX; other += far)
            if (other != r)
                test_rows(study, line, other, &gate);
        for (uint32_t i = study->row_start[r]; i < study->row_start[r + 1]; i++)
            line[study->column[i]] = 0;
    }
    return gate_opens(&gate);
}
