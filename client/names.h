/* SPDX-License-Identifier: Apache-2.0 */
/* Small things of the ABI: structs that grow, names of numbers. */
#ifndef LP_CLIENT_NAMES_H
#define LP_CLIENT_NAMES_H

#include <stddef.h>

/* Fill a caller's struct whose first field is its struct_size: as many bytes as both sides know;
 * struct_size says how many. */
void lp_names_copy_struct(void *dst, const void *src, size_t src_bytes);

/* A name as errors show it: itself, or its start and "..." where it is longer, so that room is left
 * for the cause; control characters are "?". NULL is "". label is filled in and returned. */
#define LP_NAMES_LABEL_BYTES 96
const char *lp_names_label(const char *name, char label[LP_NAMES_LABEL_BYTES]);

#endif
