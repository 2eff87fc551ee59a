/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as SVG: one self-contained file, readable on light and dark pages. Only classes carry
 * colours: ink, muted, grid, ours, peer, surface. Coordinates in pixels, y downwards. */
#ifndef LP_BENCH_SVG_H
#define LP_BENCH_SVG_H

#include <stdio.h>

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* Of svg_text(); a width estimated a little too large, so that what is placed by it never meets. */
#define SVG_TEXT_PIXELS 11.0
double svg_text_width(const char *text);

/* title is what a reader without eyes gets. */
void svg_begin(FILE *file, double width, double height, const char *title);
void svg_end(FILE *file);

/* Text has its baseline at y; it is escaped here. */
void svg_text(FILE *file, double x, double y, enum svg_anchor anchor, const char *class_name,
              const char *text);
void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *class_name);
void svg_circle(FILE *file, double x, double y, double radius, const char *class_name);
void svg_square(FILE *file, double x, double y, double half, const char *class_name);

#endif
