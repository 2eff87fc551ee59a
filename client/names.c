/* SPDX-License-Identifier: Apache-2.0 */
#include "client/names.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/shape.h"
#include "lanepack/lanepack.h"

#include <string.h>

/* No struct of any version is longer: what says so is not set. */
#define STRUCT_BYTES_MAX 4096u

void lp_names_copy_struct(void *dst, const void *src, size_t src_bytes)
{
    uint32_t dst_bytes;

    memcpy(&dst_bytes, dst, sizeof(dst_bytes));
    if (dst_bytes > src_bytes)
        dst_bytes = (uint32_t)src_bytes;
    memcpy(dst, src, dst_bytes);
    memcpy(dst, &dst_bytes, sizeof(dst_bytes));
}

static int check_struct_size(uint32_t struct_size, uint32_t least_bytes, const char *type,
                             struct lp_error *err)
{
    /* A border that cuts a pointer is none that a compiler made. */
    if (struct_size >= least_bytes && struct_size <= STRUCT_BYTES_MAX &&
        struct_size % sizeof(void *) == 0)
        return 0;
    return lp_error_set(err, LP_EINVAL, "%s.struct_size is %u: set it to the size of the struct",
                        type, struct_size);
}

int lp_names_read_struct(void *dst, uint32_t dst_bytes, uint32_t least_bytes, const void *src,
                         const char *type, struct lp_error *err)
{
    const uint8_t *const bytes = src;
    uint32_t struct_size;
    int rc;

    memcpy(&struct_size, src, sizeof(struct_size));
    LP_TRY(rc, check_struct_size(struct_size, least_bytes, type, err));
    for (uint32_t i = dst_bytes; i < struct_size; i++)
        if (bytes[i] != 0)
            return lp_error_set(err, LP_ENOTSUP,
                                "%s has %u bytes, this library knows %u, and byte %u is not 0: "
                                "the header is newer than the library",
                                type, struct_size, dst_bytes, i);
    struct_size = LP_MIN(struct_size, dst_bytes);
    memmove(dst, src, struct_size);
    memset((uint8_t *)dst + struct_size, 0, dst_bytes - struct_size);
    memcpy(dst, &dst_bytes, sizeof(dst_bytes));
    return 0;
}

const char *lp_names_label(const char *name, char label[LP_NAMES_LABEL_BYTES])
{
    size_t n = LP_NAMES_LABEL_BYTES - 4;

    if (name == NULL)
        name = "";
    if (strlen(name) < LP_NAMES_LABEL_BYTES) {
        memcpy(label, name, strlen(name) + 1);
    } else {
        while (n != 0 && ((unsigned char)name[n] & 0xc0u) == 0x80u) /* not into a character */
            n--;
        memcpy(label, name, n);
        memcpy(label + n, "...", 4);
    }
    for (char *at = label; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20u || *at == 0x7f)
            *at = '?';
    return label;
}

uint32_t lp_version(void)
{
    return LP_VERSION_MAJOR << 16 | LP_VERSION_MINOR << 8 | LP_VERSION_PATCH;
}

const char *lp_dtype_name(uint32_t dtype)
{
    const struct lp_dtype_info *info = lp_codec_dtype_info(dtype);

    return info != NULL ? info->name : NULL;
}

const char *lp_codec_name(uint32_t codec)
{
    return lp_codec_id_name(codec);
}

void lp_options_init(void *options, uint32_t struct_size)
{
    if (options == NULL || struct_size < sizeof(struct_size))
        return;
    memset(options, 0, struct_size);
    memcpy(options, &struct_size, sizeof(struct_size));
    if (struct_size == sizeof(struct lp_gather))
        ((struct lp_gather *)options)->device = -1;
}

void lp_free(void *memory)
{
    lp_mem_free(memory);
}

LP_STATIC_ASSERT(sizeof(struct lp_gather) != sizeof(struct lp_put_options) &&
                     sizeof(struct lp_gather) != sizeof(struct lp_connect_options) &&
                     sizeof(struct lp_gather) != sizeof(struct lp_shape) &&
                     sizeof(struct lp_gather) != sizeof(struct lp_client_info) &&
                     sizeof(struct lp_gather) != sizeof(struct lp_register_info) &&
                     sizeof(struct lp_gather) != sizeof(struct lp_error) &&
                     sizeof(struct lp_gather) != sizeof(struct lp_tensor_info),
                 "lp_options_init() knows lp_gather by its size");
