/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/objects.h"

#include "codec/shape.h"
#include "proto/message.h"

/* Around the list: version, id of 64 awkward bytes, keys. */
#define ITEMS_ENVELOPE_BYTES 640u

/* {"error":...} with its sentence, mostly plain text: an item that is refused for want of room. */
#define ITEMS_ERROR_BYTES 160u

static json_t *shape_json(const struct lp_store_info *info)
{
    json_t *shape = json_array();

    for (uint32_t i = 0; i < info->ndim; i++) {
        if (json_array_append_new(shape, json_integer((json_int_t)info->dims[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    }
    return shape;
}

json_t *lp_daemon_objects_info_json(const struct lp_store_info *info)
{
    char fingerprint[17];

    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:I, "
                     "s:b}",
                     "name", info->name, "dtype", lp_codec_dtype_info(info->dtype)->name, "shape",
                     shape_json(info), "codec", lp_codec_id_name(info->codec), "layout",
                     lp_codec_layout_name(info->layout), "version", (json_int_t)info->version,
                     "logical_bytes", (json_int_t)info->logical_bytes, "stored_bytes",
                     (json_int_t)info->stored_bytes, "wire_bytes", (json_int_t)info->wire_bytes,
                     "record_bytes", (json_int_t)info->record_bytes, "records",
                     (json_int_t)info->n_records, "raw_records", (json_int_t)info->raw_records,
                     "fingerprint", lp_proto_hex_write(info->fingerprint, fingerprint), "tag",
                     info->tag, "leases", (json_int_t)info->leases, "ephemeral", info->ephemeral);
}

json_t *lp_daemon_objects_extents_json(const struct lp_store_info *info)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < info->n_extents; i++) {
        const struct lp_shm_extent *extent = &info->extents[i];
        if (json_array_append_new(list, json_pack("[I, I, I]", (json_int_t)extent->chunk,
                                                  (json_int_t)extent->offset,
                                                  (json_int_t)extent->bytes)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* --- Lists --- */

void lp_daemon_items_init(struct lp_items *items, size_t n_items, size_t line_bytes)
{
    items->list = json_array();
    items->left = line_bytes - ITEMS_ENVELOPE_BYTES;
    items->to_come = n_items;
}

size_t lp_daemon_items_room(const struct lp_items *items)
{
    const size_t kept = items->to_come * ITEMS_ERROR_BYTES;

    return items->left > kept ? items->left - kept : 0;
}

/* Put without asking for room. */
static bool append_take(struct lp_items *items, json_t *item, size_t bytes)
{
    items->left -= bytes < items->left ? bytes : items->left;
    if (items->list == NULL || json_array_append_new(items->list, item) != 0) {
        json_decref(items->list);
        items->list = NULL;
        return false;
    }
    return true;
}

bool lp_daemon_items_put_take(struct lp_items *items, json_t *item)
{
    struct lp_error err = LP_ERROR_INIT;

    if (item == NULL)
        return append_take(items, NULL, 0);
    const size_t bytes = json_dumpb(item, NULL, 0, JSON_COMPACT) + 1;
    if (items->to_come > 0)
        items->to_come--;
    if (bytes <= lp_daemon_items_room(items))
        return append_take(items, item, bytes);
    json_decref(item);
    (void)lp_error_set(&err, LP_ESIZE, "no room left in this answer; ask for it again");
    lp_daemon_items_put_error(items, &err);
    return false;
}

void lp_daemon_items_put_error(struct lp_items *items, const struct lp_error *error)
{
    json_t *item = json_pack("{s:o}", "error", lp_proto_error_json(error));

    if (items->to_come > 0)
        items->to_come--;
    (void)append_take(items, item, item != NULL ? json_dumpb(item, NULL, 0, JSON_COMPACT) + 1 : 0);
}

json_t *lp_daemon_items_result_take(struct lp_items *items)
{
    json_t *list = items->list;

    items->list = NULL;
    return json_pack("{s:o}", "items", list);
}
