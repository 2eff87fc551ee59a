/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

struct seen {
    int lines;
    enum lp_log_level level;
    char topic[32];
    char line[2000];
};

static void remember(enum lp_log_level level, const char *topic, const char *line, void *user)
{
    struct seen *seen = user;

    seen->lines++;
    seen->level = level;
    (void)snprintf(seen->topic, sizeof(seen->topic), "%s", topic);
    (void)snprintf(seen->line, sizeof(seen->line), "%s", line);
}

/* The sink gets level, topic and the formatted line. */
Test(base_log, sink_gets_the_line)
{
    struct seen seen = {0};

    lp_log_set_sink(remember, &seen);
    LP_LOG_WARN("pool", "%d of %d locked", 3, 4);
    cr_assert_eq(seen.lines, 1);
    cr_assert_eq(seen.level, LP_LOG_LEVEL_WARN);
    cr_assert_str_eq(seen.topic, "pool");
    cr_assert_str_eq(seen.line, "3 of 4 locked");
}

/* Words of a client make no lines of their own. */
Test(base_log, control_characters_are_masked)
{
    struct seen seen = {0};

    lp_log_set_sink(remember, &seen);
    LP_LOG_WARN("conn", "client %s closed", "a\nerror pool: lost\x1b[2J\x7f\r\t\xc3\xa9");
    cr_assert_eq(seen.lines, 1);
    cr_assert_str_eq(seen.line, "client a?error pool: lost?[2J???\xc3\xa9 closed");
}

/* Lines above the level are dropped. */
Test(base_log, level_drops_lines)
{
    struct seen seen = {0};

    lp_log_set_sink(remember, &seen);
    LP_LOG_DEBUG("pool", "x");
    cr_assert_eq(seen.lines, 0);
    lp_log_set_level(LP_LOG_LEVEL_DEBUG);
    LP_LOG_DEBUG("pool", "x");
    cr_assert_eq(seen.lines, 1);
    lp_log_set_level(LP_LOG_LEVEL_ERROR);
    LP_LOG_WARN("pool", "x");
    cr_assert_eq(seen.lines, 1);
}

/* Topics narrow info lines by whole words; warnings pass anyway. */
Test(base_log, topics_narrow_info)
{
    struct seen seen = {0};

    lp_log_set_sink(remember, &seen);
    cr_assert(lp_log_set_topics("pool,conn"));
    LP_LOG_INFO("conn", "x");
    LP_LOG_INFO("con", "x");
    LP_LOG_INFO("pool,conn", "x");
    LP_LOG_INFO("jobs", "x");
    cr_assert_eq(seen.lines, 1);
    LP_LOG_WARN("jobs", "x");
    cr_assert_eq(seen.lines, 2);
    cr_assert(lp_log_set_topics("all"));
    LP_LOG_INFO("jobs", "x");
    cr_assert_eq(seen.lines, 3);
}

/* A list that does not fit is refused and the old one stays. */
Test(base_log, long_topic_list_is_refused)
{
    struct seen seen = {0};
    char list[300];

    memset(list, 'x', sizeof(list));
    list[sizeof(list) - 1] = '\0';
    lp_log_set_sink(remember, &seen);
    cr_assert_not(lp_log_set_topics(list));
    LP_LOG_INFO("jobs", "x");
    cr_assert_eq(seen.lines, 1);
}

/* Long lines are cut, never overrun. */
Test(base_log, long_line_is_cut)
{
    struct seen seen = {0};

    lp_log_set_sink(remember, &seen);
    LP_LOG_INFO("pool", "%01999d", 0);
    cr_assert_eq(strlen(seen.line), 1023);
}

/* Names and levels are the same table both ways. */
Test(base_log, level_names_round_trip)
{
    enum lp_log_level level = LP_LOG_LEVEL_ERROR;

    cr_assert(lp_log_level_parse("debug", &level));
    cr_assert_eq(level, LP_LOG_LEVEL_DEBUG);
    cr_assert_not(lp_log_level_parse("trace", &level));
    cr_assert_eq(level, LP_LOG_LEVEL_DEBUG);
    cr_assert_str_eq(lp_log_level_name(level), "debug");
}
