/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files, and the same bytes as a size and as a flag's value. What is taken must come
 * out of the dump and be taken again. */
#include "base/alloc.h"
#include "config/config.h"
#include "tests/fuzz/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

static void require(int condition)
{
    if (!condition)
        abort();
}

static void dump_again(const struct lp_config *config)
{
    struct lp_config again;
    char *text;

    require(lp_conf_dump(config, &text, NULL) == 0);
    lp_conf_init(&again);
    require(lp_conf_load_text(&again, "dump", text, strlen(text), NULL) == 0);
    for (int id = 0; id < LP_CONF_OPTIONS; id++)
        require(strcmp(lp_conf_text(config, (enum lp_conf_id)id),
                       lp_conf_text(&again, (enum lp_conf_id)id)) == 0);
    lp_mem_free(text);
}

/* The same bytes as one value of each option. */
static void set_each(const char *text)
{
    struct lp_config config;
    struct lp_size size;

    (void)lp_conf_size_parse(text, &size, NULL);
    lp_conf_init(&config);
    for (int id = 0; id < LP_CONF_OPTIONS; id++) {
        struct lp_error err = LP_ERROR_INIT;
        const int rc =
            lp_conf_set(&config, lp_conf_key((enum lp_conf_id)id), text, LP_CONF_FROM_FLAG, &err);
        require(rc == 0 || err.text[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lp_error err = LP_ERROR_INIT;
    struct lp_config config;

    lp_conf_init(&config);
    if (lp_conf_load_text(&config, "fuzz", (const char *)data, size, &err) == 0)
        dump_again(&config);
    else
        require(err.text[0] != '\0');
    char *text = lp_mem_alloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    set_each(text);
    lp_mem_free(text);
    return 0;
}
