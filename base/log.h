/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines of programs: a level, a topic, one sentence in lower case with the exact cause.
 *
 * For the daemon and the tools; the client library never logs. Lines go to one sink, by default
 * standard error. Any thread may log; level and sink are set before other threads start. */
#ifndef LP_BASE_LOG_H
#define LP_BASE_LOG_H

#include <stdbool.h>

enum lp_log_level { LP_LOG_LEVEL_ERROR, LP_LOG_LEVEL_WARN, LP_LOG_LEVEL_INFO, LP_LOG_LEVEL_DEBUG };

/* topic and line borrow for the call; line has no newline. May be called by several threads. */
typedef void (*lp_log_cb)(enum lp_log_level level, const char *topic, const char *line, void *user);

/* Lines above level are dropped. Starts at info. */
void lp_log_set_level(enum lp_log_level level);

/* Restrict info and debug lines to the topics named in list ("pool,conn"); "all", the start, lifts
 * that. Errors and warnings always pass. Returns false, changing nothing, when list is longer than
 * 255 bytes. Any time. */
bool lp_log_set_topics(const char *list);

/* Send lines to sink; NULL brings back standard error. user borrows until the next call. */
void lp_log_set_sink(lp_log_cb sink, void *user);

/* "error", "warn", "info", "debug". */
const char *lp_log_level_name(enum lp_log_level level);

/* The level of that name; false when there is none, and *ret_level is then untouched. */
bool lp_log_level_parse(const char *name, enum lp_log_level *ret_level);

/* True when a line of this level would be written: for lines that are costly to make. */
bool lp_log_enabled(enum lp_log_level level);

/* Format and hand to the sink; through the macros below. Lines are cut at 1 KiB, and control
 * characters in them become '?'. */
void lp_log_write(enum lp_log_level level, const char *topic, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define LP_LOG_AT(level, topic, ...)                                                               \
    do {                                                                                           \
        if (lp_log_enabled(level))                                                                 \
            lp_log_write((level), (topic), __VA_ARGS__);                                           \
    } while (0)

/* LP_LOG_INFO("pool", "grown to %zu bytes", bytes); topic is the module, one word. */
#define LP_LOG_ERROR(topic, ...) LP_LOG_AT(LP_LOG_LEVEL_ERROR, topic, __VA_ARGS__)
#define LP_LOG_WARN(topic, ...) LP_LOG_AT(LP_LOG_LEVEL_WARN, topic, __VA_ARGS__)
#define LP_LOG_INFO(topic, ...) LP_LOG_AT(LP_LOG_LEVEL_INFO, topic, __VA_ARGS__)
#define LP_LOG_DEBUG(topic, ...) LP_LOG_AT(LP_LOG_LEVEL_DEBUG, topic, __VA_ARGS__)

#endif
