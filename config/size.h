/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as people write them. */
#ifndef LP_CONFIG_SIZE_H
#define LP_CONFIG_SIZE_H

#include "base/error.h"

#include <stdint.h>

#define LP_KIB (UINT64_C(1) << 10)
#define LP_MIB (UINT64_C(1) << 20)
#define LP_GIB (UINT64_C(1) << 30)

/* A size in bytes, or a share of something that the reader knows. */
struct lp_size {
    uint64_t bytes;   /* when percent is 0 */
    uint32_t percent; /* 1 to 100; 0: it is a size */
};

/* Read "1048576", "512KiB", "64M", "64GiB", "64G", "1Gi", "2T" or, "80%". Units are powers of 1024
 * whatever their spelling (K, Ki, KiB; M, G, T likewise), B and none are bytes; a fraction is not
 * taken. LP_EINVAL names what is wrong; LP_ERANGE: beyond 64 bits, or a share not 1% to 100%. */
int lp_conf_size_parse(const char *text, struct lp_size *ret_size, struct lp_error *err);

/* Write bytes as the largest unit that divides it, "64GiB"; text has 24 bytes; returned. */
char *lp_conf_size_write(uint64_t bytes, char *text);

#endif
