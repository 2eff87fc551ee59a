/* SPDX-License-Identifier: Apache-2.0 */
/* One level, one list of topics, one sink. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LOG_LINE_BYTES 1024
#define LOG_TOPICS_BYTES 256

static const char *const level_names[] = {"error", "warn", "info", "debug"};

/* One write per line, so that lines of several threads do not mix. */
static void stderr_sink(enum lp_log_level level, const char *topic, const char *line, void *user)
{
    (void)user;
    (void)fprintf(stderr, "%s %s: %s\n", lp_log_level_name(level), topic, line);
}

static unsigned int current_level = LP_LOG_LEVEL_INFO;
static lp_log_cb current_sink = stderr_sink;
static void *current_user;

/* Empty: all topics. A reload may change it while other threads log. */
static pthread_mutex_t topics_lock = PTHREAD_MUTEX_INITIALIZER;
static char current_topics[LOG_TOPICS_BYTES];

void lp_log_set_level(enum lp_log_level level)
{
    __atomic_store_n(&current_level, (unsigned int)level, __ATOMIC_RELAXED);
}

void lp_log_set_sink(lp_log_cb sink, void *user)
{
    current_sink = sink != NULL ? sink : stderr_sink;
    current_user = user;
}

const char *lp_log_level_name(enum lp_log_level level)
{
    return level_names[level];
}

bool lp_log_level_parse(const char *name, enum lp_log_level *ret_level)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *ret_level = (enum lp_log_level)i;
            return true;
        }
    }
    return false;
}

bool lp_log_enabled(enum lp_log_level level)
{
    return (unsigned int)level <= __atomic_load_n(&current_level, __ATOMIC_RELAXED);
}

bool lp_log_set_topics(const char *list)
{
    const char *kept = strcmp(list, "all") == 0 ? "" : list;

    if (strlen(kept) >= sizeof(current_topics))
        return false;
    (void)pthread_mutex_lock(&topics_lock);
    memcpy(current_topics, kept, strlen(kept) + 1);
    (void)pthread_mutex_unlock(&topics_lock);
    return true;
}

static bool list_has(const char *list, const char *word)
{
    while (*list != '\0') {
        const size_t length = strcspn(list, ",");
        if (strlen(word) == length && memcmp(list, word, length) == 0)
            return true;
        list += length + (list[length] == ',' ? 1 : 0);
    }
    return false;
}

static bool topic_passes(enum lp_log_level level, const char *topic)
{
    if (level <= LP_LOG_LEVEL_WARN)
        return true;
    (void)pthread_mutex_lock(&topics_lock);
    const bool passes = current_topics[0] == '\0' || list_has(current_topics, topic);
    (void)pthread_mutex_unlock(&topics_lock);
    return passes;
}

/* A line can hold words of clients: these must not make lines of their own, nor move the cursor of
 * who reads them. */
static void mask_controls(char *line)
{
    for (char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
}

void lp_log_write(enum lp_log_level level, const char *topic, const char *fmt, ...)
{
    char line[LOG_LINE_BYTES];
    va_list args;

    if (!topic_passes(level, topic))
        return;
    va_start(args, fmt);
    const int length = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (length < 0)
        return;
    mask_controls(line);
    current_sink(level, topic, line, current_user);
}
