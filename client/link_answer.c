/* SPDX-License-Identifier: Apache-2.0 */
/* What answers of the daemon say, checked: they come from another process. */
#include "client/link_daemon.h"

bool lp_link_read_u64(const json_t *object, const char *key, uint64_t *ret)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *ret = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_dims(const json_t *shape, struct lp_tensor_info *info)
{
    const json_t *dim;
    size_t i;

    if (!json_is_array(shape) || json_array_size(shape) > LP_FORMAT_DIMS_MAX)
        return false;
    info->ndim = (uint32_t)json_array_size(shape);
    json_array_foreach(shape, i, dim)
    {
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return false;
        info->dims[i] = json_integer_value(dim);
    }
    return true;
}

/* An `info` of the protocol. *ret_name borrows from json. */
bool lp_link_read_info(const struct lp_link_daemon *link, const json_t *json,
                       struct lp_tensor_info *ret_info, const char **ret_name)
{
    struct lp_tensor_info info = {.struct_size = sizeof(info), .epoch = link->epoch};
    const char *dtype = json_string_value(json_object_get(json, "dtype"));
    const char *codec = json_string_value(json_object_get(json, "codec"));
    const char *layout = json_string_value(json_object_get(json, "layout"));
    const char *fingerprint = json_string_value(json_object_get(json, "fingerprint"));
    const char *name = json_string_value(json_object_get(json, "name"));
    struct lp_geometry geometry;
    uint64_t dims[LP_FORMAT_DIMS_MAX] = {0};

    if (dtype == NULL || codec == NULL || layout == NULL || fingerprint == NULL || name == NULL ||
        !read_dims(json_object_get(json, "shape"), &info) ||
        !lp_link_read_u64(json, "version", &info.version) ||
        !lp_link_read_u64(json, "stored_bytes", &info.stored_bytes) ||
        !lp_link_read_u64(json, "wire_bytes", &info.wire_bytes) ||
        !lp_link_read_u64(json, "record_bytes", &info.record_bytes) ||
        !lp_link_read_u64(json, "records", &info.n_records) ||
        !lp_link_read_u64(json, "raw_records", &info.raw_records) ||
        !lp_proto_hex_read(fingerprint, &info.fingerprint) || lp_codec_id_by_name(codec) <= 0 ||
        lp_codec_layout_by_name(layout) <= 0)
        return false;
    info.dtype = lp_codec_dtype_by_name(dtype);
    info.codec = (uint32_t)lp_codec_id_by_name(codec);
    info.layout = (uint32_t)lp_codec_layout_by_name(layout);
    for (uint32_t i = 0; i < info.ndim; i++)
        dims[i] = (uint64_t)info.dims[i];
    if (lp_codec_geometry_init(&geometry, info.dtype, info.ndim, dims, NULL) < 0)
        return false;
    info.n_rows = geometry.n_rows;
    info.row_bytes = geometry.row_bytes;
    info.logical_bytes = geometry.logical_bytes;
    *ret_info = info;
    *ret_name = name;
    return true;
}

int lp_link_protocol_error(const char *method, struct lp_error *err)
{
    return lp_error_set(err, LP_EPROTO, "%s: the daemon's answer is not that of docs/PROTOCOL.md",
                        method);
}

/* The error of one item: its code, or 0 when the item is none. */
int lp_link_item_error(const json_t *item, struct lp_error *err)
{
    struct lp_error error = LP_ERROR_INIT;

    if (!lp_proto_error_read(json_object_get(item, "error"), &error))
        return 0;
    return lp_error_set(err, error.code <= -1 && error.code >= -99 ? error.code : LP_EPROTO, "%s",
                        error.text);
}

/* The only item of a one-item request; its error is the call's. */
int lp_link_only_item(const char *method, const json_t *result, const json_t **ret_item,
                      struct lp_error *err)
{
    const json_t *items = json_object_get(result, "items");
    int rc;

    if (json_array_size(items) != 1)
        return lp_link_protocol_error(method, err);
    *ret_item = json_array_get(items, 0);
    rc = lp_link_item_error(*ret_item, err);
    return rc;
}
