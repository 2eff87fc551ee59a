/* SPDX-License-Identifier: Apache-2.0 */
/* The table, and reading one value; files are in config_file.c. */
#include "config/config.h"

#include "base/bytes.h"
#include "base/nearest.h"

#include <ctype.h>
#include <string.h>

enum conf_type { CONF_SHARE, CONF_SIZE, CONF_COUNT, CONF_CHOICE, CONF_MODE, CONF_TEXT };

struct conf_option {
    const char *key;
    enum conf_type type;
    const char *value; /* the default */
    uint64_t min, max;
    const char *form, *help;
};

static const struct conf_option options[] = {
#define LP_OPTION(id, key, type, value, min, max, form, help)                                      \
    {key, CONF_##type, value, min, max, form, help},
#include "config/options.def"
};

static const char *const origin_names[] = {"default", "file", "environment", "flag"};

/* --- Reading one value --- */

static int out_of_bounds(const struct conf_option *option, const char *text, struct lp_error *err)
{
    char min[24], max[24];

    if (option->type != CONF_SIZE && option->type != CONF_SHARE)
        return lp_error_set(err, LP_ERANGE, "%s: '%.32s' is not %llu to %llu", option->key, text,
                            (unsigned long long)option->min, (unsigned long long)option->max);
    return lp_error_set(err, LP_ERANGE, "%s: '%.32s' is not %s to %s", option->key, text,
                        lp_conf_size_write(option->min, min), lp_conf_size_write(option->max, max));
}

static int read_size(const struct conf_option *option, const char *text, struct lp_size *ret_size,
                     struct lp_error *err)
{
    struct lp_size size;
    const int rc = lp_conf_size_parse(text, &size, err);

    if (rc < 0)
        return lp_error_wrap(err, rc, "%s", option->key);
    if (size.percent != 0 && option->type != CONF_SHARE)
        return lp_error_set(err, LP_EINVAL, "%s: '%.32s' is a share where a size belongs",
                            option->key, text);
    if (size.percent == 0 && (size.bytes < option->min || size.bytes > option->max))
        return out_of_bounds(option, text, err);
    *ret_size = size;
    return 0;
}

static int read_integer(const struct conf_option *option, const char *text, unsigned int base,
                        struct lp_size *ret_size, struct lp_error *err)
{
    uint64_t number = 0;
    const char *at = text;

    for (; *at >= '0' && *at < (char)('0' + base); at++) {
        if (!lp_mul_u64(number, base, &number) ||
            !lp_add_u64(number, (uint64_t)(*at - '0'), &number))
            return out_of_bounds(option, text, err);
    }
    if (at == text || *at != '\0')
        return lp_error_set(err, LP_EINVAL, "%s: '%.32s' is no %s number", option->key, text,
                            base == 8 ? "octal" : "whole");
    if (number < option->min || number > option->max)
        return base == 8 ? lp_error_set(err, LP_ERANGE, "%s: '%.32s' is not 0 to %llo", option->key,
                                        text, (unsigned long long)option->max)
                         : out_of_bounds(option, text, err);
    *ret_size = (struct lp_size){.bytes = number};
    return 0;
}

static int read_choice(const struct conf_option *option, const char *text, struct lp_size *ret_size,
                       struct lp_error *err)
{
    const char *at = option->form;

    for (uint64_t index = 0;; index++) {
        const size_t length = strcspn(at, "|");
        if (length == strlen(text) && memcmp(at, text, length) == 0) {
            *ret_size = (struct lp_size){.bytes = index};
            return 0;
        }
        if (at[length] == '\0')
            return lp_error_set(err, LP_EINVAL, "%s: '%.32s' is none of %s", option->key, text,
                                option->form);
        at += length + 1;
    }
}

static int read_text(const struct conf_option *option, const char *text, struct lp_error *err)
{
    const size_t length = strlen(text);

    if (length < option->min || length > option->max)
        return lp_error_set(err, LP_ERANGE, "%s: %zu bytes, not %llu to %llu", option->key, length,
                            (unsigned long long)option->min, (unsigned long long)option->max);
    for (size_t i = 0; i < length; i++) {
        if (iscntrl((unsigned char)text[i]))
            return lp_error_set(err, LP_EINVAL, "%s: a control character", option->key);
    }
    return 0;
}

static int read_value(const struct conf_option *option, const char *text,
                      struct lp_conf_value *ret_value, struct lp_error *err)
{
    struct lp_conf_value value = {0};
    int rc = 0;

    if (strlen(text) >= sizeof(value.text))
        return lp_error_set(err, LP_ERANGE, "%s: a value of %zu bytes", option->key, strlen(text));
    switch (option->type) {
    case CONF_SHARE:
    case CONF_SIZE:
        rc = read_size(option, text, &value.size, err);
        break;
    case CONF_COUNT:
        rc = read_integer(option, text, 10, &value.size, err);
        break;
    case CONF_MODE:
        rc = read_integer(option, text, 8, &value.size, err);
        break;
    case CONF_CHOICE:
        rc = read_choice(option, text, &value.size, err);
        break;
    case CONF_TEXT:
        rc = read_text(option, text, err);
        break;
    }
    if (rc < 0)
        return rc;
    memcpy(value.text, text, strlen(text) + 1);
    *ret_value = value;
    return 0;
}

/* --- Names --- */

/* The key as a flag or variable is spelt: dots and underscores become separator. */
static void spell(const char *key, char separator, bool upper, char *name)
{
    for (; *key != '\0'; key++) {
        if (*key == '.' || *key == '_')
            *name++ = separator;
        else
            *name++ = upper ? (char)toupper((unsigned char)*key) : *key;
    }
    *name = '\0';
}

const char *lp_conf_flag_key(const char *name, size_t name_bytes)
{
    char flag[64];

    for (size_t i = 0; i < LP_ARRAY_LEN(options); i++) {
        spell(options[i].key, '-', false, flag);
        if (strlen(flag) == name_bytes && memcmp(flag, name, name_bytes) == 0)
            return options[i].key;
    }
    return NULL;
}

int lp_conf_find(const char *key, enum lp_conf_id *ret_id, struct lp_error *err)
{
    struct lp_nearest nearest;

    for (size_t i = 0; i < LP_ARRAY_LEN(options); i++) {
        if (strcmp(options[i].key, key) == 0) {
            *ret_id = (enum lp_conf_id)i;
            return 0;
        }
    }
    lp_nearest_init(&nearest, key);
    for (size_t i = 0; i < LP_ARRAY_LEN(options); i++)
        lp_nearest_offer(&nearest, options[i].key);
    if (nearest.best == NULL)
        return lp_error_set(err, LP_ENAME, "unknown key '%.64s'", key);
    return lp_error_set(err, LP_ENAME, "unknown key '%.64s'; nearest is '%s'", key, nearest.best);
}

const char *lp_conf_key(enum lp_conf_id id)
{
    return options[id].key;
}

bool lp_conf_is_size(enum lp_conf_id id)
{
    return options[id].type == CONF_SIZE || options[id].type == CONF_SHARE;
}

const char *lp_conf_origin_name(enum lp_conf_origin origin)
{
    return origin_names[origin];
}

/* --- Setting and reading --- */

void lp_conf_init(struct lp_config *config)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(options); i++) {
        /* Defaults are ours; test_config.c reads each of them. */
        memset(&config->value[i], 0, sizeof(config->value[i]));
        (void)read_value(&options[i], options[i].value, &config->value[i], NULL);
    }
}

int lp_conf_set(struct lp_config *config, const char *key, const char *text,
                enum lp_conf_origin origin, struct lp_error *err)
{
    struct lp_conf_value value;
    enum lp_conf_id id;
    int rc;

    LP_TRY(rc, lp_conf_find(key, &id, err));
    LP_TRY(rc, read_value(&options[id], text, &value, err));
    value.origin = origin;
    if (config->value[id].origin <= origin)
        config->value[id] = value;
    return 0;
}

/* True when name (what follows LANEPACK_) begins with a section of the table: a misspelt option
 * rather than a variable of another program. */
static bool is_in_section(const char *name)
{
    for (size_t i = 0; i < LP_ARRAY_LEN(options); i++) {
        const char *key = options[i].key;
        size_t n = 0;
        while (key[n] != '.' && toupper((unsigned char)key[n]) == name[n])
            n++;
        if (key[n] == '.' && name[n] == '_')
            return true;
    }
    return false;
}

static const char *variable_key(const char *name, size_t name_bytes)
{
    char variable[64];

    for (size_t i = 0; i < LP_ARRAY_LEN(options); i++) {
        spell(options[i].key, '_', true, variable);
        if (strlen(variable) == name_bytes && memcmp(variable, name, name_bytes) == 0)
            return options[i].key;
    }
    return NULL;
}

static int refuse_variable(const char *name, size_t name_bytes, struct lp_error *err)
{
    char variables[LP_CONF_OPTIONS][64];
    struct lp_nearest nearest;
    char word[64];

    (void)snprintf(word, sizeof(word), "%.*s", (int)LP_MIN(name_bytes, (size_t)63), name);
    lp_nearest_init(&nearest, word);
    for (size_t i = 0; i < LP_ARRAY_LEN(options); i++) {
        spell(options[i].key, '_', true, variables[i]);
        lp_nearest_offer(&nearest, variables[i]);
    }
    if (nearest.best == NULL)
        return lp_error_set(err, LP_ENAME, "environment: unknown variable LANEPACK_%s", word);
    return lp_error_set(err, LP_ENAME,
                        "environment: unknown variable LANEPACK_%s; nearest is LANEPACK_%s", word,
                        nearest.best);
}

int lp_conf_load_environment(struct lp_config *config, const char *const *environment,
                             struct lp_error *err)
{
    static const char prefix[] = "LANEPACK_";
    struct lp_config loaded = *config;
    int rc;

    for (; *environment != NULL; environment++) {
        const char *equals = strchr(*environment, '=');
        if (equals == NULL || strncmp(*environment, prefix, sizeof(prefix) - 1) != 0)
            continue;
        const char *name = *environment + sizeof(prefix) - 1;
        const size_t name_bytes = equals > name ? (size_t)(equals - name) : 0;
        const char *key = variable_key(name, name_bytes);
        if (key == NULL && !is_in_section(name))
            continue;
        if (key == NULL)
            return refuse_variable(name, name_bytes, err);
        rc = lp_conf_set(&loaded, key, equals + 1, LP_CONF_FROM_ENVIRONMENT, err);
        if (rc < 0)
            return lp_error_wrap(err, rc, "environment");
    }
    *config = loaded;
    return 0;
}

const char *lp_conf_text(const struct lp_config *config, enum lp_conf_id id)
{
    return config->value[id].text;
}

uint64_t lp_conf_number(const struct lp_config *config, enum lp_conf_id id)
{
    return config->value[id].size.bytes;
}

struct lp_size lp_conf_size(const struct lp_config *config, enum lp_conf_id id)
{
    return config->value[id].size;
}

bool lp_conf_is_default(const struct lp_config *config, enum lp_conf_id id)
{
    return config->value[id].origin == LP_CONF_DEFAULT;
}

json_t *lp_conf_value_json(const struct lp_config *config, enum lp_conf_id id)
{
    const struct lp_conf_value *value = &config->value[id];

    if (options[id].type == CONF_COUNT)
        return json_integer((json_int_t)value->size.bytes);
    return json_string(value->text);
}

/* Words of help in lines of at most 78 columns, each behind six spaces. */
static void print_wrapped(FILE *out, const char *help)
{
    size_t column = 0;

    while (*help != '\0') {
        const size_t word = strcspn(help, " ");
        if (column > 0 && column + 1 + word > 78) {
            (void)fputc('\n', out);
            column = 0;
        }
        (void)fprintf(out, "%s%.*s", column == 0 ? "      " : " ", (int)word, help);
        column += word + (column == 0 ? 6 : 1);
        help += word;
        help += strspn(help, " ");
    }
    (void)fputc('\n', out);
}

void lp_conf_help(FILE *out)
{
    char flag[64];

    for (size_t i = 0; i < LP_ARRAY_LEN(options); i++) {
        spell(options[i].key, '-', false, flag);
        (void)fprintf(out, "  --%s=%s  (%s)\n", flag, options[i].form,
                      options[i].value[0] != '\0' ? options[i].value : "none");
        print_wrapped(out, options[i].help);
    }
}
