/* SPDX-License-Identifier: Apache-2.0 */
/* Savings against decode speed: small panels with the same axes, one for each set.
 *
 * Labels stand beside their marks. Each is put at the nearest place where it meets no mark, no
 * other label and no border, with a thin line to its mark when that is not close. */
#include "base/bytes.h"
#include "bench/codec_report.h"
#include "bench/svg.h"

#include <math.h>
#include <string.h>

#define PANELS_MAX 12u
#define COLUMNS 2u
#define PANEL_WIDTH 450.0
#define PANEL_HEIGHT 320.0
#define HEAD_HEIGHT 46.0
#define LEFT 44.0
#define RIGHT 10.0
#define TOP 30.0
#define BOTTOM 34.0
#define MARK 4.0
#define LABEL_HEIGHT 12.0
#define SAVING_MIN 0.005 /* what saves less has no place in a picture of savings */
#define SAME 2.5         /* pixels between marks in one place */
#define STEP 1.0         /* between places that are tried for a label */
#define LEADER_FROM 11.0 /* a label further away has a line to its mark */
#define POINTS_MAX 32u
#define BOXES_MAX (3u * POINTS_MAX)

struct point {
    char name[64]; /* empty: an earlier one in the same place has it in its own */
    double saving, gbps;
    bool ours;
};

/* All panels. */
struct axes {
    double saving_max; /* x: 0 .. */
    double low, high;  /* y: GB/s, each 1, 2 or 5 times a power of ten */
};

struct box {
    double x0, y0, x1, y1;
};

struct panel {
    FILE *file;
    const struct axes *axes;
    struct box plot; /* inside of the axes */
    struct point point[POINTS_MAX];
    uint32_t n_points;
    struct box taken[BOXES_MAX]; /* by marks and texts */
    uint32_t n_taken;
    struct box lines[2]; /* texts stay off them too, thin lines to marks may cross them */
};

static double x_of(const struct panel *panel, double saving)
{
    const double share = LP_MAX(saving, 0) / panel->axes->saving_max;

    return panel->plot.x0 + share * (panel->plot.x1 - panel->plot.x0);
}

static double y_of(const struct panel *panel, double gbps)
{
    const struct axes *const axes = panel->axes;
    const double inside = LP_MIN(LP_MAX(gbps, axes->low), axes->high);
    const double share = log(inside / axes->low) / log(axes->high / axes->low);

    return panel->plot.y1 - share * (panel->plot.y1 - panel->plot.y0);
}

/* The next of 1, 2, 5, 10, 20 ... and of 0.5, 0.2, 0.1 ... behind one of them. */
static double next_tick(double tick)
{
    const double lead = tick / pow(10, floor(log10(tick) + 1e-9));

    return tick * (lead > 1.5 && lead < 3 ? 2.5 : 2);
}

static double tick_below(double value)
{
    double tick = 1e-3;

    while (next_tick(tick) <= value)
        tick = next_tick(tick);
    return tick;
}

static bool meet(const struct box *a, const struct box *b)
{
    return a->x0 < b->x1 && b->x0 < a->x1 && a->y0 < b->y1 && b->y0 < a->y1;
}

static void take(struct panel *panel, struct box box)
{
    if (panel->n_taken < BOXES_MAX)
        panel->taken[panel->n_taken++] = box;
}

static bool is_free(const struct panel *panel, const struct box *box)
{
    const struct box *const plot = &panel->plot;

    for (uint32_t i = 0; i < panel->n_taken; i++) {
        if (meet(box, &panel->taken[i]))
            return false;
    }
    if (meet(box, &panel->lines[0]) || meet(box, &panel->lines[1]))
        return false;
    return box->x0 >= plot->x0 && box->x1 <= plot->x1 && box->y0 >= plot->y0 && box->y1 <= plot->y1;
}

/* Does a line from a mark to its label stay clear of everything else? It begins on the mark itself,
 * and perhaps on one that overlaps it. */
static bool is_line_free(const struct panel *panel, double x0, double y0, double x1, double y1)
{
    const double length = hypot(x1 - x0, y1 - y0);

    for (double at = 3 * MARK; at < length - 1; at += 2) {
        const double x = x0 + (x1 - x0) * at / length, y = y0 + (y1 - y0) * at / length;
        const struct box spot = {x - 0.5, y - 0.5, x + 0.5, y + 0.5};

        for (uint32_t i = 0; i < panel->n_taken; i++) {
            if (meet(&spot, &panel->taken[i]))
                return false;
        }
    }
    return true;
}

/* The point of a label where its thin line ends: the nearest, in the middle of a side. */
static void label_end(const struct box *box, double x, double y, double *ret_x, double *ret_y)
{
    const bool above_or_below = x >= box->x0 && x <= box->x1;

    *ret_x = above_or_below ? x : x < box->x0 ? box->x0 - 1 : box->x1 + 1;
    *ret_y = above_or_below ? (y < box->y0 ? box->y0 : box->y1) : (box->y0 + box->y1) / 2;
}

/* Far is bad, and so is a line where none is needed; beside is better than above. */
static double label_cost(const struct box *box, double x, double y)
{
    double end_x, end_y;

    label_end(box, x, y, &end_x, &end_y);
    return hypot(end_x - x, end_y - y) + 0.15 * fabs(end_y - y) + (end_x < x ? 0.5 : 0);
}

/* Over something else is worst, but better than no label. */
static double line_cost(const struct panel *panel, const struct box *box, double x, double y)
{
    double end_x, end_y;

    label_end(box, x, y, &end_x, &end_y);
    return is_line_free(panel, x, y, end_x, end_y) ? 0 : 1000;
}

static void draw_label(struct panel *panel, const struct point *point, const struct box *box)
{
    const double x = x_of(panel, point->saving), y = y_of(panel, point->gbps);
    const enum svg_anchor anchor = x < box->x0 ? SVG_START : x > box->x1 ? SVG_END : SVG_MIDDLE;
    const double at = anchor == SVG_START ? box->x0
                      : anchor == SVG_END ? box->x1
                                          : (box->x0 + box->x1) / 2;
    double end_x, end_y;

    label_end(box, x, y, &end_x, &end_y);
    if (hypot(end_x - x, end_y - y) > LEADER_FROM)
        svg_line(panel->file, x, y, end_x, end_y, "leader");
    svg_text(panel->file, at, box->y1 - 2.5, anchor, point->ours ? "ours" : "peer", point->name);
    take(panel, (struct box){box->x0 - 3, box->y0, box->x1 + 3, box->y1});
}

/* The cheapest of all places in the plot. */
static void place_label(struct panel *panel, const struct point *point)
{
    const double x = x_of(panel, point->saving), y = y_of(panel, point->gbps);
    const double width = svg_text_width(point->name);
    const struct box *const plot = &panel->plot;
    struct box best = {0};
    double best_cost = INFINITY;

    for (double down = plot->y0 - y; down < plot->y1 - y; down += STEP) {
        for (double right = plot->x0 - x; right < plot->x1 - x; right += STEP) {
            const struct box box = {x + right, y + down, x + right + width,
                                    y + down + LABEL_HEIGHT};
            const double cost = label_cost(&box, x, y);

            if (cost >= best_cost || !is_free(panel, &box) ||
                cost + line_cost(panel, &box, x, y) >= best_cost)
                continue;
            best = box;
            best_cost = cost + line_cost(panel, &box, x, y);
        }
    }
    if (isfinite(best_cost))
        draw_label(panel, point, &best);
}

/* Marks that lie on each other share a label. */
static void join_names(struct panel *panel)
{
    for (uint32_t i = 0; i < panel->n_points; i++) {
        struct point *const point = &panel->point[i];

        for (uint32_t k = 0; k < i && point->name[0] != '\0'; k++) {
            struct point *const other = &panel->point[k];
            const size_t used = strlen(other->name);
            char name[sizeof(point->name)];

            if (used == 0 || other->ours != point->ours ||
                fabs(x_of(panel, point->saving) - x_of(panel, other->saving)) > SAME ||
                fabs(y_of(panel, point->gbps) - y_of(panel, other->gbps)) > SAME)
                continue;
            memcpy(name, point->name, sizeof(name));
            (void)snprintf(other->name + used, sizeof(other->name) - used, ", %.24s", name);
            point->name[0] = '\0';
        }
    }
}

static void draw_points(struct panel *panel)
{
    join_names(panel);
    for (uint32_t i = 0; i < panel->n_points; i++) {
        const struct point *const point = &panel->point[i];
        const double x = x_of(panel, point->saving), y = y_of(panel, point->gbps);

        take(panel, (struct box){x - MARK - 2, y - MARK - 1, x + MARK + 2, y + MARK + 1});
    }
    for (uint32_t i = 0; i < panel->n_points; i++) {
        if (panel->point[i].name[0] != '\0')
            place_label(panel, &panel->point[i]);
    }
    for (uint32_t i = 0; i < panel->n_points; i++) {
        const struct point *const point = &panel->point[i];
        const double x = x_of(panel, point->saving), y = y_of(panel, point->gbps);

        if (point->ours)
            svg_circle(panel->file, x, y, MARK, "ours");
        else
            svg_square(panel->file, x, y, MARK - 0.5, "peer");
    }
}

static void draw_axes(struct panel *panel)
{
    const struct box *const plot = &panel->plot;
    const struct axes *const axes = panel->axes;
    char text[32];

    for (double saving = 0; saving <= axes->saving_max + 1e-9; saving += 0.1) {
        const double x = x_of(panel, saving);

        (void)snprintf(text, sizeof(text), "%.0f", 100 * saving);
        svg_line(panel->file, x, plot->y0, x, plot->y1, "grid");
        svg_text(panel->file, x, plot->y1 + 14, SVG_MIDDLE, "muted", text);
    }
    for (double tick = axes->low; tick < 1.01 * axes->high; tick = next_tick(tick)) {
        const double y = y_of(panel, tick);

        (void)snprintf(text, sizeof(text), "%.3g", tick);
        svg_line(panel->file, plot->x0, y, plot->x1, y, "grid");
        svg_text(panel->file, plot->x0 - 5, y + 4, SVG_END, "muted", text);
    }
    svg_line(panel->file, plot->x0, plot->y1, plot->x1, plot->y1, "axis");
    svg_line(panel->file, plot->x0, plot->y0, plot->x0, plot->y1, "axis");
    svg_text(panel->file, plot->x1, plot->y1 + 28, SVG_END, "muted", "saved, % of the raw bytes");
}

/* Lines that no codec passes: the bound, and memcpy. Their texts are in nobody's way. */
static void draw_marks(struct panel *panel, const struct tensor_figures *tensor)
{
    const struct box *const plot = &panel->plot;
    const double x = x_of(panel, tensor->bound_saving);
    const double y = y_of(panel, tensor->row[LP_CODEC_AUTO].memcpy_gbps);
    char text[48];
    double width, at;
    bool left;

    svg_line(panel->file, x, plot->y0, x, plot->y1, "mark");
    svg_line(panel->file, plot->x0, y, plot->x1, y, "mark");
    panel->lines[0] = (struct box){x - 2, plot->y0, x + 2, plot->y1};
    panel->lines[1] = (struct box){plot->x0, y - 2, plot->x1, y + 2};
    (void)snprintf(text, sizeof(text), "order-0 bound %.1f", 100 * tensor->bound_saving);
    width = svg_text_width(text);
    left = x - 4 - width > plot->x0;
    at = left ? x - 4 - width : x + 5;
    svg_text(panel->file, left ? x - 4 : at, plot->y1 - 6, left ? SVG_END : SVG_START, "muted",
             text);
    take(panel, (struct box){at, plot->y1 - 17, at + width, plot->y1 - 2});
    (void)snprintf(text, sizeof(text), "memcpy %.1f", tensor->row[LP_CODEC_AUTO].memcpy_gbps);
    width = svg_text_width(text);
    /* Not at the border: what saves nearly nothing has its mark there. */
    at = plot->x0 + 50;
    at = x > at - 3 && x < at + width + 3 ? x + 5 : at;
    svg_text(panel->file, at, y - 4, SVG_START, "muted", text);
    take(panel, (struct box){at, y - 15, at + width, y + 1});
}

static void add_point(struct panel *panel, const char *name, double saving, double gbps, bool ours)
{
    if (saving >= SAVING_MIN && panel->n_points < POINTS_MAX)
        panel->point[panel->n_points++] =
            (struct point){.saving = saving, .gbps = gbps, .ours = ours};
    else
        return;
    (void)snprintf(panel->point[panel->n_points - 1].name, sizeof(panel->point[0].name), "%s",
                   name);
}

/* Ours first: they get the best places for their labels. */
static void collect(struct panel *panel, const struct tensor_figures *tensor)
{
    for (uint32_t codec = LP_CODEC_RAW + 1; codec < MEASURE_ROWS; codec++) {
        const struct lp_bench_figures *const row = &tensor->row[codec];

        if (codec_row_counts(tensor, codec))
            add_point(panel, lp_codec_id_name(codec), lp_bench_saving(row), row->decode_gbps, true);
    }
    for (uint32_t i = 0; i < tensor->n_peers; i++) {
        const struct peer_figures *const peer = &tensor->peer[i];

        if (peer->state == PEER_MEASURED)
            add_point(panel, peer->name, bench_peer_saving(peer),
                      lp_bench_gbps(peer->raw_bytes, peer->decode_seconds), false);
    }
}

static bool is_plotted(const struct codec_result *result)
{
    const struct tensor_figures *const tensor = &result->figures;

    return tensor->timed && tensor->is_float && !tensor->sparse && tensor->geometry.elem_bytes == 2;
}

static void widen(struct axes *axes, const struct codec_result *result)
{
    struct panel panel = {.n_points = 0};

    collect(&panel, &result->figures);
    add_point(&panel, "", result->figures.bound_saving,
              result->figures.row[LP_CODEC_AUTO].memcpy_gbps, true);
    for (uint32_t i = 0; i < panel.n_points; i++) {
        const double saving = ceil(10 * panel.point[i].saving + 0.3) / 10;
        const double gbps = LP_MAX(panel.point[i].gbps, 1e-3);

        axes->saving_max = LP_MAX(axes->saving_max, saving);
        axes->low = LP_MIN(axes->low, tick_below(gbps / 1.3));
        axes->high = LP_MAX(axes->high, next_tick(tick_below(1.3 * gbps)));
    }
}

static void draw_panel(FILE *file, const struct axes *axes, uint32_t at,
                       const struct codec_result *result)
{
    const double x = at % COLUMNS * PANEL_WIDTH, y = HEAD_HEIGHT + at / COLUMNS * PANEL_HEIGHT;
    struct panel panel = {
        .file = file,
        .axes = axes,
        .plot = {x + LEFT, y + TOP, x + PANEL_WIDTH - RIGHT, y + PANEL_HEIGHT - BOTTOM}};
    char title[96];

    (void)snprintf(title, sizeof(title), "%s, %s", result->title,
                   lp_codec_dtype_info(result->figures.geometry.dtype)->name);
    draw_axes(&panel);
    draw_marks(&panel, &result->figures);
    svg_text(file, panel.plot.x0, panel.plot.y0 - 10, SVG_START, "title", title);
    svg_text(file, panel.plot.x1, panel.plot.y0 - 10, SVG_END, "muted", "decode, GB/s");
    collect(&panel, &result->figures);
    draw_points(&panel);
}

uint32_t codec_plot(const struct codec_results *results, FILE *file)
{
    static const char title[] = "Savings against decode speed, one thread";
    struct axes axes = {0.1, 1, 10};
    uint32_t n = 0, drawn = 0;

    for (uint32_t i = 0; i < results->n && n < PANELS_MAX; i++) {
        if (is_plotted(&results->result[i])) {
            widen(&axes, &results->result[i]);
            n++;
        }
    }
    svg_begin(file, LP_MIN(n, COLUMNS) * PANEL_WIDTH + (n == 0) * PANEL_WIDTH,
              HEAD_HEIGHT + (n + COLUMNS - 1) / COLUMNS * PANEL_HEIGHT, title);
    svg_text(file, LEFT, 24, SVG_START, "title", title);
    svg_circle(file, LEFT + 5, 38, MARK, "ours");
    svg_text(file, LEFT + 14, 42, SVG_START, "muted", "Lanepack");
    svg_square(file, LEFT + 85, 38, MARK - 0.5, "peer");
    svg_text(file, LEFT + 94, 42, SVG_START, "muted",
             "others, in pieces of 1 MiB; left out: what saves less than 0.5 %");
    for (uint32_t i = 0; i < results->n && drawn < n; i++) {
        if (is_plotted(&results->result[i]))
            draw_panel(file, &axes, drawn++, &results->result[i]);
    }
    svg_end(file);
    return n;
}
