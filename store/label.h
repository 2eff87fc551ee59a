/* SPDX-License-Identifier: Apache-2.0 */
/* A path as errors show it. */
#ifndef LP_STORE_LABEL_H
#define LP_STORE_LABEL_H

#define LP_LABEL_BYTES 96 /* with the ending 0; a sentence has 248 in all */

/* The path, or "..." and its end where it is longer: the end says more than the beginning. */
void lp_label_set(char label[LP_LABEL_BYTES], const char *path);

#endif
