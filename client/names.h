/* SPDX-License-Identifier: Apache-2.0 */
/* Small things of the ABI: structs that grow, names of numbers. */
#ifndef LP_CLIENT_NAMES_H
#define LP_CLIENT_NAMES_H

#include "base/error.h"

#include <stddef.h>

/* Fill a caller's struct whose first field is its struct_size: as many bytes as both sides know;
 * struct_size says how many. */
void lp_names_copy_struct(void *dst, const void *src, size_t src_bytes);

/* Read a caller's struct whose first field is its struct_size, as its own header has it: fields
 * that it does not have are 0 in dst. dst_bytes: of this library; least_bytes: up to the last field
 * that can't be left out. src may be dst. LP_EINVAL: it is shorter than that, or no struct can be
 * so long; LP_ENOTSUP: longer than this library's, and not 0 there. Untouched on failure. */
int lp_names_read_struct(void *dst, uint32_t dst_bytes, uint32_t least_bytes, const void *src,
                         const char *type, struct lp_error *err);

/* Bytes of a struct up to a field, that field included. */
#define LP_NAMES_UP_TO(type, field)                                                                \
    ((uint32_t)(offsetof(type, field) + sizeof(((type *)NULL)->field)))

/* A name as errors show it: itself, or its start and "..." where it is longer, so that room is left
 * for the cause; control characters are "?". NULL is "". label is filled in and returned. */
#define LP_NAMES_LABEL_BYTES 96
const char *lp_names_label(const char *name, char label[LP_NAMES_LABEL_BYTES]);

#endif
