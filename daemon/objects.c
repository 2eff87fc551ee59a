/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/objects.h"

#include "base/bytes.h"
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

/* One of those to come is being put. */
static void begin_item(struct lp_items *items)
{
    if (items->to_come > 0)
        items->to_come--;
}

size_t lp_daemon_items_room(const struct lp_items *items)
{
    const size_t kept = items->to_come * ITEMS_ERROR_BYTES;

    return items->left > kept ? items->left - kept : 0;
}

/* With its comma; 0: item is NULL, or there was no memory to find out. */
static size_t bytes_of(const json_t *item)
{
    const size_t bytes = item != NULL ? json_dumpb(item, NULL, 0, JSON_COMPACT) : 0;

    return bytes > 0 ? bytes + 1 : 0;
}

/* Put without asking for room; the list goes when there is no memory for it. */
static void append_take(struct lp_items *items, json_t *item)
{
    const size_t bytes = bytes_of(item);

    items->left -= LP_MIN(bytes, items->left);
    if (bytes == 0 || items->list == NULL) {
        json_decref(item);
        json_decref(items->list);
        items->list = NULL;
    } else if (json_array_append_new(items->list, item) != 0) {
        json_decref(items->list);
        items->list = NULL;
    }
}

static json_t *error_item(int code, const char *text)
{
    struct lp_error err = LP_ERROR_INIT;

    (void)lp_error_set(&err, code, "%s", text);
    return json_pack("{s:o}", "error", lp_proto_error_json(&err));
}

bool lp_daemon_items_put_take(struct lp_items *items, json_t *item)
{
    begin_item(items);
    if (bytes_of(item) > lp_daemon_items_room(items)) {
        json_decref(item);
        append_take(items, error_item(LP_ESIZE, "no room left in this answer; ask for it again"));
        return false;
    }
    append_take(items, item);
    return items->list != NULL;
}

void lp_daemon_items_put_error(struct lp_items *items, const struct lp_error *error)
{
    json_t *item = error_item(error->code, error->text);

    begin_item(items);
    if (bytes_of(item) > lp_daemon_items_room(items)) {
        json_decref(item);
        item = error_item(error->code, lp_error_text(error->code));
    }
    append_take(items, item);
}

json_t *lp_daemon_items_result_take(struct lp_items *items)
{
    json_t *list = items->list;

    items->list = NULL;
    return json_pack("{s:o}", "items", list);
}
