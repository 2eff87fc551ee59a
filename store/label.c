/* SPDX-License-Identifier: Apache-2.0 */
#include "store/label.h"

#include <stdio.h>
#include <string.h>

void lp_label_set(char label[LP_LABEL_BYTES], const char *path)
{
    const size_t n = strlen(path);

    if (n < LP_LABEL_BYTES) {
        memcpy(label, path, n + 1);
        return;
    }
    const char *tail = path + n - (LP_LABEL_BYTES - 4);
    while (((unsigned char)*tail & 0xC0u) == 0x80u) /* not into the middle of a character */
        tail++;
    (void)snprintf(label, LP_LABEL_BYTES, "...%s", tail);
}
