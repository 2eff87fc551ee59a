/* SPDX-License-Identifier: Apache-2.0 */
/* docs/PROTOCOL.md, "config.*". */
#include "daemon/daemon.h"
#include "daemon/handlers.h"

static json_t *option_json(const struct lp_config *config, enum lp_conf_id id)
{
    return json_pack("{s:s, s:o, s:s}", "key", lp_conf_key(id), "value",
                     lp_conf_value_json(config, id), "origin",
                     lp_conf_origin_name(config->value[id].origin));
}

static int append_named(const struct lp_config *config, const json_t *keys, json_t *items,
                        struct lp_error *err)
{
    enum lp_conf_id id;
    int rc;

    for (size_t i = 0; i < json_array_size(keys); i++) {
        LP_TRY(rc, lp_conf_find(json_string_value(json_array_get(keys, i)), &id, err));
        if (json_array_append_new(items, option_json(config, id)) != 0)
            return lp_error_set(err, LP_ENOMEM, "no memory for the answer");
    }
    return 0;
}

static int append_all(const struct lp_config *config, json_t *items, struct lp_error *err)
{
    for (int id = 0; id < LP_CONF_OPTIONS; id++) {
        if (json_array_append_new(items, option_json(config, (enum lp_conf_id)id)) != 0)
            return lp_error_set(err, LP_ENOMEM, "no memory for the answer");
    }
    return 0;
}

int lp_daemon_method_config_get(struct lp_request *request, json_t **ret_result,
                                struct lp_error *err)
{
    const struct lp_config *config = request->conn->daemon->config;
    const json_t *keys = json_object_get(request->params, "keys");
    json_t *items = json_array();

    const int rc =
        keys != NULL ? append_named(config, keys, items, err) : append_all(config, items, err);
    if (rc < 0) {
        json_decref(items);
        return rc;
    }
    *ret_result = json_pack("{s:o}", "items", items);
    return 0;
}
