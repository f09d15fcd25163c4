#include "recommend_page.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "put_text.h"

void show_recommend_name(const cpb_recommend_row *row, char *to, size_t room) {
  if (isnan(row->scale))
    snprintf(to, room, "%s", row->name);
  else
    snprintf(to, room, "%s s = %.5g %s", row->name, row->scale, row->ball ? "ball" : "point");
}

/* ---- which rows are drawn ---- */

enum { DRAWN = 6 };

/* Raw rows, normalised rows, the best lift, and the best points and balls of the sphere; the pick is one of them or is
 * added. */
typedef struct drawn {
  size_t rows[DRAWN], count;
} drawn;

static int group_of(const cpb_recommend_row *row) {
  if (row->sphere) return row->ball ? 4 : 3;
  return row->kind == CPB_TRANSFORM_NONE ? 0 : row->kind == CPB_TRANSFORM_NORMALIZE ? 1 : 2;
}

static bool is_better(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  return a->candidates_for_99 != b->candidates_for_99 ? a->candidates_for_99 < b->candidates_for_99
                                                      : a->recall > b->recall;
}

static drawn choose(const cpb_recommendation_facts *r, size_t first, size_t end) {
  drawn d = {.count = 0};
  bool has_pick = r->pick < first || r->pick >= end;
  for (int group = 0; group < DRAWN - 1; group++) {
    size_t best = end;
    for (size_t i = first; i < end; i++)
      if (group_of(r->rows[i]) == group &&
          (best == end || i == r->pick || is_better(r->rows[i], r->rows[best])))
        best = best != end && best == r->pick ? best : i;
    if (best == end) continue;
    has_pick = has_pick || best == r->pick;
    d.rows[d.count++] = best;
  }
  if (!has_pick) d.rows[d.count++] = r->pick;
  return d;
}

static const char *colour_of(const cpb_recommendation_facts *r, const drawn *d, size_t row) {
  static const char *const colours[] = {"#868e96", "#a9822f", "#1971c2", "#2f9e44", "#c2255c"};
  for (size_t i = 0; i < d->count; i++)
    if (d->rows[i] == row) return colours[group_of(r->rows[row])];
  return NULL;
}

/* ---- the table ---- */

static void print_row(const cpb_recommendation_facts *r, const drawn *d, size_t i, FILE *to) {
  const cpb_recommend_row *row = r->rows[i];
  const char *colour = colour_of(r, d, i);
  char name[96];
  show_recommend_name(row, name, sizeof name);
  fprintf(to, "<tr%s><th scope=\"row\"><i %s%s\"></i>%s%s</th>", i == r->pick ? " class=\"pick\"" : "",
          colour == NULL ? "class=\"none" : "style=\"background:", colour == NULL ? "" : colour, name,
          i == r->pick ? " (the pick)" : "");
  fprintf(to,
          "<td class=\"num\">%llu&nbsp;<small>..%llu</small></td><td "
          "class=\"num\">%.1f&nbsp;%%&nbsp;<small>&#177;%.1f</small></td><td class=\"num "
          "more\">%zu</td></tr>\n",
          (unsigned long long)row->candidates_for_99, (unsigned long long)row->candidates_most,
          100 * row->recall, 100 * row->recall_error, row->bytes);
}

static void print_table(const cpb_recommendation_facts *r, const drawn *d, size_t first, size_t end,
                        const char *title, FILE *to) {
  fprintf(to,
          "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table><thead><tr><th "
          "scope=\"col\">transform</th><th scope=\"col\" class=\"num\">for 99&nbsp;%%</th><th "
          "scope=\"col\" class=\"num\">recall@%zu</th><th scope=\"col\" class=\"num "
          "more\">bytes</th></tr></thead><tbody>\n",
          title, r->k);
  for (size_t i = first; i < end; i++) print_row(r, d, i, to);
  fputs("</tbody></table></div>\n", to);
}

/* ---- curves ---- */

enum { WIDTH = 640, HEIGHT = 400, LEFT = 84, RIGHT = 20, TOP = 40, BOTTOM = 64 };

/* Shares are drawn by what they miss, 1 - recall, on a logarithmic scale: curves crowd at 100 %. */
static const double FINEST = 0.001;

typedef struct axes {
  double low, high; /* log2 of candidates */
  double worst;     /* miss at the bottom */
} axes;

/* As far as the curves differ. */
static axes axes_of(const cpb_recommendation_facts *r, size_t first, size_t end) {
  double most = 4 * (double)r->k, least = 1;
  for (size_t i = first; i < end; i++) {
    most = fmax(most, 1.3 * (double)r->rows[i]->candidates_for_99);
    least = fmin(least, r->rows[i]->recall);
  }
  return (axes){log2((double)r->k), log2(fmin(most, (double)r->base_rows)), 1 - least > 0.1 ? 1 : 0.1};
}

static double across(axes a, double candidates) {
  return LEFT + (log2(candidates) - a.low) / fmax(a.high - a.low, 1e-9) * (WIDTH - LEFT - RIGHT);
}

static double down(axes a, double share) {
  double miss = fmin(fmax(1 - share, FINEST), a.worst);
  return TOP + log(miss / FINEST) / log(a.worst / FINEST) * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(axes a, const cpb_recommendation_facts *r, FILE *to) {
  for (double miss = FINEST; miss < 1.5 * a.worst; miss *= 10)
    fprintf(to,
            "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"note\" "
            "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g&#160;%%</text>\n",
            LEFT, WIDTH - RIGHT, down(a, 1 - miss), down(a, 1 - miss), LEFT - 8, down(a, 1 - miss) + 5,
            100 * (1 - miss));
  double step = a.high - a.low > 8 ? 16 : a.high - a.low > 4 ? 4 : 2;
  for (double c = (double)r->k; log2(c) <= a.high; c *= step)
    fprintf(to, "<text class=\"note\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", across(a, c),
            HEIGHT - BOTTOM + 24, c);
  fprintf(to, "<text class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">candidates</text>\n",
          (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
  fprintf(to, "<line class=\"rule\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT,
          down(a, 0.99), down(a, 0.99));
}

static void draw_curve(axes a, const cpb_recommendation_facts *r, const drawn *d, size_t i, FILE *to) {
  const cpb_recommend_row *row = r->rows[i];
  fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s points=\"", colour_of(r, d, i),
          i == r->pick ? "4" : "2", row->ball ? " stroke-dasharray=\"7 4\"" : "");
  for (size_t at = 0; at < r->curve_count && (double)r->candidates[at] <= exp2(a.high); at++)
    fprintf(to, "%.1f,%.1f ", across(a, (double)r->candidates[at]), down(a, row->curve[at]));
  fputs("\"/>\n", to);
}

/* ---- names on the curves ---- */

enum { PLACES = 48, LETTER = 11, TALL = 20, GAP = 6, FREE = 30, SAMPLE = 26 };

typedef struct box {
  double left, right, top, bottom;
} box;

static double height_at(axes a, const cpb_recommendation_facts *r, size_t row, double x) {
  size_t at = 1;
  while (at + 1 < r->curve_count && across(a, (double)r->candidates[at]) < x) at++;
  double x0 = across(a, (double)r->candidates[at - 1]), x1 = across(a, (double)r->candidates[at]);
  double y0 = down(a, r->rows[row]->curve[at - 1]), y1 = down(a, r->rows[row]->curve[at]);
  return y0 + (y1 - y0) * (x1 > x0 ? fmin(1, fmax(0, (x - x0) / (x1 - x0))) : 0);
}

/* Curves rise, so the space above a point and to its left is free of its own curve, and so is that below and to its
 * right. */
static box box_at(axes a, const cpb_recommendation_facts *r, size_t row, double x, double wide, bool below) {
  double y = height_at(a, r, row, x);
  return below ? (box){x + GAP, x + GAP + wide, y + GAP, y + GAP + TALL}
               : (box){x - wide, x, y - GAP - TALL, y - GAP};
}

/* The distance of a box from the other curves and from the names that are placed; negative: they overlap. */
static double space_around(axes a, const cpb_recommendation_facts *r, const drawn *d, size_t own, box of,
                           const box *placed, size_t count) {
  double space = fmin(FREE, fmin(WIDTH - of.right, HEIGHT - BOTTOM - of.bottom));
  for (size_t i = 0; i < d->count; i++)
    for (double x = of.left; d->rows[i] != own && x <= of.right; x += LETTER) {
      double y = height_at(a, r, d->rows[i], x), apart = fabs(y - height_at(a, r, own, x)) - GAP;
      space = fmin(space, fmin(apart, fmax(of.top - y, y - of.bottom)));
    }
  for (size_t i = 0; i < count; i++)
    space = fmin(space, fmax(fmax(of.left - placed[i].right, placed[i].left - of.right),
                             fmax(of.top - placed[i].bottom, placed[i].top - of.bottom)));
  return space;
}

/* Where the curve is farthest from the others. */
static box place_name(axes a, const cpb_recommendation_facts *r, const drawn *d, size_t row, double wide,
                      const box *placed, size_t count) {
  double best = -INFINITY;
  box found = {0};
  for (int place = 0; place <= 2 * PLACES + 1; place++) {
    bool below = place > PLACES;
    double from = LEFT + (below ? 0 : wide),
           x = from + (WIDTH - RIGHT - LEFT - wide) * (place % (PLACES + 1)) / PLACES;
    box here = box_at(a, r, row, x, wide, below);
    double space = space_around(a, r, d, row, here, placed, count);
    if (!(space > best)) continue;
    best = space;
    found = here;
  }
  return found;
}

/* A piece of the line, and its name. */
static void draw_names(axes a, const cpb_recommendation_facts *r, const drawn *d, FILE *to) {
  box placed[DRAWN];
  for (size_t i = 0; i < d->count; i++) {
    const cpb_recommend_row *row = r->rows[d->rows[i]];
    char name[96];
    show_recommend_name(row, name, sizeof name);
    placed[i] = place_name(a, r, d, d->rows[i], (double)strlen(name) * LETTER + SAMPLE, placed, i);
    double y = placed[i].bottom - 4;
    fprintf(to,
            "<line stroke=\"%s\" stroke-width=\"%s\"%s x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" "
            "y2=\"%.1f\"/><text class=\"note%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            colour_of(r, d, d->rows[i]), d->rows[i] == r->pick ? "4" : "2",
            row->ball ? " stroke-dasharray=\"7 4\"" : "", placed[i].left, placed[i].left + SAMPLE - 6, y - 4,
            y - 4, d->rows[i] == r->pick ? " pick" : "", placed[i].left + SAMPLE, y, name);
  }
}

static void draw_index(const cpb_recommendation_facts *r, const drawn *d, size_t first, size_t end,
                       const char *title, FILE *to) {
  axes a = axes_of(r, first, end);
  fprintf(to,
          "<figure class=\"plot\"><svg class=\"pic\" viewBox=\"0 0 %d %d\" role=\"img\"><title>%s: share of "
          "the true neighbours over candidates; the table below has the numbers</title>\n",
          WIDTH, HEIGHT, title);
  draw_axes(a, r, to);
  for (size_t i = 0; i < d->count; i++) draw_curve(a, r, d, d->rows[i], to);
  draw_names(a, r, d, to);
  fputs("</svg></figure>\n", to);
}

/* ---- the page ---- */

static void print_index(const cpb_recommendation_facts *r, size_t engine, FILE *to) {
  static const char *const titles[CPB_ENGINES] = {"Float index", "int8 index", "Sign bits"};
  size_t per_index = r->count / CPB_ENGINES, first = engine * per_index, end = first + per_index;
  drawn d = choose(r, first, end);
  fprintf(to, "<h2>%s</h2>\n", titles[engine]);
  draw_index(r, &d, first, end, titles[engine], to);
  print_table(r, &d, first, end, titles[engine], to);
}

char *show_recommend_page(const cpb_recommendation_facts *r, const show_advice *advice, size_t *length) {
  show_text page;
  FILE *to = show_text_open(&page);
  if (to == NULL) return NULL;
  show_advice_begin(to, advice);
  fprintf(to,
          "<h2>What was measured</h2>\n<p>%zu rows, %zu queries, the %zu nearest by Euclidean distance. Mean "
          "norm "
          "about the mean %.6g; ball queries have r = %.6g, the median distance of neighbour %zu. Curves: "
          "share of "
          "the true neighbours among the first candidates, on a scale of what is missed; the dashed rule is "
          "99 %%, dashed curves are ball queries, the thick one is the pick. Of the sphere only the best "
          "scale is "
          "drawn. The tables have the number of candidates for 99 %%, the criterion, and the noise of both "
          "figures: one standard error over the queries.</p>\n",
          r->base_rows, r->queries, r->k, r->norm_mean, r->radius, r->k);
  size_t asked = (size_t)r->rows[r->pick]->index;
  print_index(r, asked, to);
  for (size_t engine = 0; engine < CPB_ENGINES; engine++)
    if (engine != asked) print_index(r, engine, to);
  show_page_end(to);
  show_text_close(&page, to);
  *length = page.length;
  return page.bytes;
}
