#include "recommend_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "growing_text.h"

void show_recommend_name(const cpb_recommend_row *row, char *to, size_t room) {
  if (isnan(row->scale))
    snprintf(to, room, "%s", row->name);
  else
    snprintf(to, room, "%s s = %.5g %s", row->name, row->scale, row->ball ? "ball" : "point");
}

/* One colour per transform: rows of one map share it, and differ by their dashes. */
static const char *colour_of(const cpb_recommendation_facts *r, size_t row) {
  static const char *const colours[] = {"#868e96", "#495057", "#c2255c", "#e8590c", "#f08c00",
                                        "#2f9e44", "#0c8599", "#1971c2", "#6741d9"};
  size_t per_index = r->count / CPB_ENGINES, at = 0;
  for (size_t i = row / per_index * per_index + 1; i <= row; i++) at += !r->rows[i]->ball;
  return colours[at % (sizeof colours / sizeof *colours)];
}

static void print_row(const cpb_recommendation_facts *r, size_t i, FILE *to) {
  const cpb_recommend_row *row = r->rows[i];
  fprintf(to, "<tr%s><td><i style=\"background:%s;height:10px\"></i>%s</td>",
          i == r->pick ? " style=\"font-weight:700\"" : "", colour_of(r, i), row->name);
  if (isnan(row->scale))
    fputs("<td></td>", to);
  else
    fprintf(to, "<td>%.5g</td>", row->scale);
  fprintf(to, "<td>%s</td><td>%s</td><td>%.1f %%</td><td>%llu</td><td>%zu</td></tr>\n",
          cpb_engine_name(row->index), row->ball ? "ball" : "point", 100 * row->recall,
          (unsigned long long)row->candidates_for_99, row->bytes);
}

static void print_table(const cpb_recommendation_facts *r, size_t first, size_t end, FILE *to) {
  fprintf(to,
          "<div class=\"wide\"><table><tr><th>transform</th><th>s</th><th>index</th><th>query</th>"
          "<th>recall@%zu</th><th>candidates for 99 %%</th><th>bytes</th></tr>\n",
          r->k);
  for (size_t i = first; i < end; i++) print_row(r, i, to);
  fputs("</table></div>\n", to);
}

/* ---- curves ---- */

enum { WIDTH = 900, HEIGHT = 380, LEFT = 56, RIGHT = 16, TOP = 16, BOTTOM = 44 };

typedef struct axes {
  double low, high; /* log2 of candidates */
  double floor;     /* share at the bottom */
} axes;

/* As far as the curves have something to tell. */
static axes axes_of(const cpb_recommendation_facts *r, size_t first, size_t end) {
  double most = 4 * (double)r->k, least = 1;
  for (size_t i = first; i < end; i++) {
    most = fmax(most, 1.3 * (double)r->rows[i]->candidates_for_99);
    least = fmin(least, r->rows[i]->recall);
  }
  return (axes){log2((double)r->k), log2(fmin(most, (double)r->base_rows)), fmin(floor(least * 5) / 5, 0.8)};
}

static double across(axes a, double candidates) {
  return LEFT + (log2(candidates) - a.low) / (a.high - a.low) * (WIDTH - LEFT - RIGHT);
}

static double down(axes a, double share) {
  return TOP + (1 - share) / (1 - a.floor) * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(axes a, const cpb_recommendation_facts *r, FILE *to) {
  for (int tenth = (int)lrint(10 * a.floor); tenth <= 10; tenth += 2)
    fprintf(to,
            "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"note\" "
            "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n",
            LEFT, WIDTH - RIGHT, down(a, tenth / 10.), down(a, tenth / 10.), LEFT - 8,
            down(a, tenth / 10.) + 4, 10 * tenth);
  for (double c = (double)r->k; log2(c) <= a.high; c *= a.high - a.low > 5 ? 4 : 2)
    fprintf(to, "<text class=\"note\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", across(a, c),
            HEIGHT - BOTTOM + 20, c);
  fprintf(to,
          "<text class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"end\">candidates that are re-ranked</text>\n",
          WIDTH - RIGHT, HEIGHT - 6);
  fprintf(to, "<line class=\"rule\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT,
          down(a, 0.99), down(a, 0.99));
}

static void draw_curve(axes a, const cpb_recommendation_facts *r, size_t i, FILE *to) {
  const cpb_recommend_row *row = r->rows[i];
  char name[96];
  show_recommend_name(row, name, sizeof name);
  fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s points=\"", colour_of(r, i),
          i == r->pick ? "3.5" : "1.8", row->ball ? " stroke-dasharray=\"7 4\"" : "");
  for (size_t at = 0; at < r->curve_count && (double)r->candidates[at] <= exp2(a.high); at++)
    fprintf(to, "%.1f,%.1f ", across(a, (double)r->candidates[at]), down(a, row->curve[at]));
  fprintf(to, "\"><title>%s</title></polyline>\n", name);
}

static void draw_index(const cpb_recommendation_facts *r, size_t first, size_t end, FILE *to) {
  axes a = axes_of(r, first, end);
  fprintf(to, "<svg class=\"pic\" viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH, HEIGHT);
  draw_axes(a, r, to);
  for (size_t i = first; i < end; i++) draw_curve(a, r, i, to);
  fputs("</svg>\n", to);
}

/* ---- the page ---- */

static void print_indexes(const cpb_recommendation_facts *r, FILE *to) {
  static const char *const titles[CPB_ENGINES] = {"Float index", "int8 index", "Sign bits"};
  size_t per_index = r->count / CPB_ENGINES;
  for (size_t engine = 0; engine < CPB_ENGINES; engine++) {
    fprintf(to, "<h2>%s</h2>\n", titles[engine]);
    draw_index(r, engine * per_index, (engine + 1) * per_index, to);
    print_table(r, engine * per_index, (engine + 1) * per_index, to);
  }
}

char *show_recommend_page(const cpb_recommendation_facts *r, const char *text, const char *name,
                          size_t *length) {
  show_text page;
  FILE *to = show_text_open(&page);
  if (to == NULL) return NULL;
  show_page_begin(to, "capball: what to do before the index");
  fputs("<h1>What to do to ", to);
  show_page_text(to, name);
  fputs(" before the index</h1>\n<p>", to);
  show_page_text(to, text);
  fprintf(to,
          "</p>\n<p>%zu rows, %zu queries, the %zu nearest by Euclidean distance. Mean norm about the mean "
          "%.6g; ball queries have r = %.6g, the median distance of the neighbour number %zu. Curves: share "
          "of the true neighbours among the first candidates; the dashed rule is 99 %%, dashed curves are "
          "ball queries, the thick one is the pick.</p>\n",
          r->base_rows, r->queries, r->k, r->norm_mean, r->radius, r->k);
  print_indexes(r, to);
  fputs("</main></body></html>\n", to);
  show_text_close(&page, to);
  *length = page.length;
  return page.bytes;
}
