/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/svg.h"

#include <string.h>

/* The widest usual letters of a sans-serif face are this much of its size, on average. */
#define LETTER_SHARE 0.58

static const char style[] =
    "<style>\n"
    "  .surface { fill: #ffffff }\n"
    "  text { font: 11px system-ui, 'Helvetica Neue', Arial, sans-serif; fill: #1c2127 }\n"
    "  text.title { font-weight: 600; font-size: 13px }\n"
    "  text.muted { fill: #59636e }\n"
    "  text.ours { fill: #0a58a8; font-weight: 600 }\n"
    "  line.grid { stroke: #e1e5e9 }\n"
    "  line.axis { stroke: #8b949e }\n"
    "  line.mark { stroke: #59636e; stroke-dasharray: 4 3 }\n"
    "  line.leader { stroke: #8b949e }\n"
    "  circle.ours { fill: #0a6bcb }\n"
    "  rect.peer { fill: #b5521b }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    .surface { fill: #14181d }\n"
    "    text { fill: #e4e7ea }\n"
    "    text.muted { fill: #9ea7b1 }\n"
    "    text.ours { fill: #7cc0ff }\n"
    "    line.grid { stroke: #2a3037 }\n"
    "    line.axis, line.leader { stroke: #6b747e }\n"
    "    line.mark { stroke: #9ea7b1 }\n"
    "    circle.ours { fill: #57a9ff }\n"
    "    rect.peer { fill: #f09a63 }\n"
    "  }\n"
    "</style>\n";

double svg_text_width(const char *text)
{
    return LETTER_SHARE * SVG_TEXT_PIXELS * (double)strlen(text);
}

static void escape(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *const entity = *text == '&'   ? "&amp;"
                                   : *text == '<' ? "&lt;"
                                   : *text == '>' ? "&gt;"
                                   : *text == '"' ? "&quot;"
                                                  : NULL;

        if (entity != NULL)
            (void)fputs(entity, file);
        else
            (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
}

void svg_begin(FILE *file, double width, double height, const char *title)
{
    (void)fprintf(file,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
                  width, height, width, height);
    escape(file, title);
    (void)fprintf(file, "</title>\n%s<rect class=\"surface\" width=\"%.0f\" height=\"%.0f\"/>\n",
                  style, width, height);
}

void svg_end(FILE *file)
{
    (void)fputs("</svg>\n", file);
}

void svg_text(FILE *file, double x, double y, enum svg_anchor anchor, const char *class_name,
              const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};

    (void)fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y,
                  anchors[anchor], class_name);
    escape(file, text);
    (void)fputs("</text>\n", file);
}

void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *class_name)
{
    (void)fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n",
                  x1, y1, x2, y2, class_name);
}

void svg_circle(FILE *file, double x, double y, double radius, const char *class_name)
{
    (void)fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"/>\n", x, y, radius,
                  class_name);
}

void svg_square(FILE *file, double x, double y, double half, const char *class_name)
{
    (void)fprintf(file,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n",
                  x - half, y - half, 2 * half, 2 * half, class_name);
}
