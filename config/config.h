/* SPDX-License-Identifier: Apache-2.0 */
/* Options as data: one table (options.def), four places that a value can come from. What an option
 * means is its user's business.
 *
 * Precedence: flag > environment > file > default. A later call overrides an earlier one of the
 * same or a lower place, so the order of loading does not matter. Whatever is unknown or out of
 * bounds is refused with the key, the place and the nearest known key, and changes nothing.
 *
 * The file is one JSON object; the parts of a key are nested objects. Values of SHARE and SIZE are
 * strings or integers, of COUNT integers, of all others strings; a key twice is refused. */
#ifndef LP_CONFIG_CONFIG_H
#define LP_CONFIG_CONFIG_H

#include "base/error.h"
#include "config/size.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LP_CONF_FILE "/etc/lanepack/lanepackd.json" /* read when there and none is named */
#define LP_CONF_FILE_BYTES_MAX (1u << 20)
#define LP_CONF_TEXT_BYTES 256 /* room for any value as text */

enum lp_conf_id {
#define LP_OPTION(id, key, type, value, min, max, form, help) LP_CONF_##id,
#include "config/options.def"
    LP_CONF_OPTIONS /* how many there are; not an option */
};

enum lp_conf_origin {
    LP_CONF_DEFAULT,
    LP_CONF_FROM_FILE,
    LP_CONF_FROM_ENVIRONMENT,
    LP_CONF_FROM_FLAG
};

/* One value, read and checked. */
struct lp_conf_value {
    enum lp_conf_origin origin;
    char text[LP_CONF_TEXT_BYTES]; /* as it was given */
    struct lp_size size; /* SHARE, SIZE; COUNT and MODE as bytes; CHOICE: index in its form */
};

struct lp_config {
    struct lp_conf_value value[LP_CONF_OPTIONS];
};

/* All defaults. */
void lp_conf_init(struct lp_config *config);

/* Set an option by its key; text borrows. LP_ENAME: no such key (the nearest is named); LP_EINVAL,
 * LP_ERANGE: what is wrong with the value. */
int lp_conf_set(struct lp_config *config, const char *key, const char *text,
                enum lp_conf_origin origin, struct lp_error *err);

/* Load a file. All of it is checked before anything of it counts. LP_ENOENT: not there; LP_EIO;
 * LP_EINVAL, LP_ENAME, LP_ERANGE as above, with the file's name. */
int lp_conf_load_file(struct lp_config *config, const char *path, struct lp_error *err);

/* As a file that holds these bytes; name is for messages. */
int lp_conf_load_text(struct lp_config *config, const char *name, const char *text, size_t bytes,
                      struct lp_error *err);

/* Load NAME=VALUE entries that begin with LANEPACK_ and a section of the table (LANEPACK_POOL_...);
 * environment ends with NULL and borrows. Others, such as LANEPACK_SOCKET, are not ours to judge.
 */
int lp_conf_load_environment(struct lp_config *config, const char *const *environment,
                             struct lp_error *err);

/* The key of a flag's name ("pool-size" gives "pool.size"); static, or NULL: no option. name ends
 * after name_bytes or with its zero. */
const char *lp_conf_flag_key(const char *name, size_t name_bytes);

/* What is in force. lp_conf_text() borrows from config. */
const char *lp_conf_text(const struct lp_config *config, enum lp_conf_id id);
uint64_t lp_conf_number(const struct lp_config *config, enum lp_conf_id id);
struct lp_size lp_conf_size(const struct lp_config *config, enum lp_conf_id id);
bool lp_conf_is_default(const struct lp_config *config, enum lp_conf_id id);

/* The key of an option; static. */
const char *lp_conf_key(enum lp_conf_id id);

/* True for options whose value is a size in bytes, which a file may give as an integer. */
bool lp_conf_is_size(enum lp_conf_id id);

/* Find an option by its key. LP_ENAME, with the nearest key. */
int lp_conf_find(const char *key, enum lp_conf_id *ret_id, struct lp_error *err);

/* "default", "file", "environment" or "flag". */
const char *lp_conf_origin_name(enum lp_conf_origin origin);

/* A value as it stands in the file. Returns new, or NULL when there is no memory. */
json_t *lp_conf_value_json(const struct lp_config *config, enum lp_conf_id id);

/* All values in force as a file, newline included. *ret_text returns new; lp_mem_free() frees it.
 * LP_ENOMEM. */
int lp_conf_dump(const struct lp_config *config, char **ret_text, struct lp_error *err);

/* One paragraph per option: flag, default, help. */
void lp_conf_help(FILE *out);

#endif
