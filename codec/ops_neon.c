/* SPDX-License-Identifier: Apache-2.0 */
/* The NEON tier's row in the table. Every function is the tier's own; inside of them scalar's code
 * stays where vectors would take as many instructions:
 *
 *   exponent_histogram    of f64: an element is half a register, and its counter one load and store
 *   ibp_count, ibp_score  the same code, which is written with the compiler's vectors, and so is
 *                         NEON in the scalar tier, too
 *   lane of f64           places become exponents one by one, each a load from a table
 *   dict                  symbols are found, and values of 8 bytes taken, one by one: NEON has no
 *                         gathers
 */
#include "codec/ops_neon.h"

#include "codec/ops_dict.h"
#include "codec/ops_ibp.h"
#include "codec/ops_sparse.h"

void lp_codec_ops_neon_fill(struct lp_codec_ops *ops)
{
    ops->tier = "neon";
    ops->lane_decode = lp_codec_neon_lane_decode;
    ops->lane_encode = lp_codec_neon_lane_encode;
    ops->exponent_histogram = lp_codec_neon_exponent_histogram;
    ops->exponent_shift = lp_codec_neon_exponent_shift;
    lp_codec_neon_dict_fill(ops);
    lp_codec_neon_ibp_fill(ops);
    lp_codec_neon_sparse_fill(ops);
    lp_codec_neon_counts_fill(ops);
}
