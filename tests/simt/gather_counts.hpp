/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of codec sparse whose values are counts, with parameters that are given: what a learner
 * finds in so few rows may be something else. */
#ifndef LP_TESTS_GATHER_COUNTS_HPP
#define LP_TESTS_GATHER_COUNTS_HPP

#include "gather_case.hpp"

/* Makes elements that suit and packs them: counts times a factor of the record and one of the
 * column, a few units off, and some that are no such product. In every fourth record one value has
 * no symbol at all, so that it keeps its values as they are. spec has the layout, and how many
 * elements are not zero. As packed_make(); data gets the elements. */
int make_counts(packed *ret, const TableSpec &spec, const lp_geometry &geometry,
                unsigned char *data, lp_error *err);

#endif
