/* SPDX-License-Identifier: Apache-2.0 */
/* Small things of the ABI: structs that grow, names of numbers. */
#ifndef LP_CLIENT_NAMES_H
#define LP_CLIENT_NAMES_H

#include <stddef.h>

/* Fill a caller's struct whose first field is its struct_size: as many bytes as both sides know;
 * struct_size says how many. */
void lp_names_copy_struct(void *dst, const void *src, size_t src_bytes);

#endif
