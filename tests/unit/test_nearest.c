/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <criterion/criterion.h>

static const char *nearest_of(const char *word)
{
    static const char *const known[] = {"pool.size", "pool.chunk", "control.socket", "log.level"};
    struct lp_nearest nearest;

    lp_nearest_init(&nearest, word);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        lp_nearest_offer(&nearest, known[i]);
    return nearest.best;
}

/* A letter more, less, changed or swapped still finds the word that was meant. */
Test(base_nearest, finds_the_word_that_was_meant)
{
    cr_assert_str_eq(nearest_of("pool.sizes"), "pool.size");
    cr_assert_str_eq(nearest_of("pol.size"), "pool.size");
    cr_assert_str_eq(nearest_of("pool.chnuk"), "pool.chunk");
    cr_assert_str_eq(nearest_of("log.levle"), "log.level");
    cr_assert_str_eq(nearest_of("pool.size"), "pool.size");
}

/* Nothing is proposed for a word that resembles none, an empty one included. */
Test(base_nearest, proposes_nothing_far_away)
{
    cr_assert_null(nearest_of("zzzzzzzzzzzz"));
    cr_assert_null(nearest_of(""));
}

/* Words longer than the search looks at are cut, not read past. */
Test(base_nearest, takes_words_of_any_length)
{
    char word[5000];

    for (size_t i = 0; i < sizeof(word) - 1; i++)
        word[i] = 'p';
    word[sizeof(word) - 1] = '\0';
    cr_assert_null(nearest_of(word));
}
