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
  fprintf(to, "<tr%s><th scope=\"row\"><i style=\"background:%s\"></i>%s%s</th>",
          i == r->pick ? " class=\"pick\"" : "", colour_of(r, i), row->name,
          i == r->pick ? " (the pick)" : "");
  if (isnan(row->scale))
    fputs("<td></td>", to);
  else
    fprintf(to, "<td class=\"num\">%.5g</td>", row->scale);
  fprintf(to,
          "<td>%s</td><td>%s</td><td class=\"num\">%.1f&nbsp;%%</td><td class=\"num\">%llu</td><td "
          "class=\"num\">%zu</td></tr>\n",
          cpb_engine_name(row->index), row->ball ? "ball" : "point", 100 * row->recall,
          (unsigned long long)row->candidates_for_99, row->bytes);
}

static void print_table(const cpb_recommendation_facts *r, size_t first, size_t end, const char *title,
                        FILE *to) {
  fprintf(to,
          "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table><thead><tr><th "
          "scope=\"col\">transform</th><th scope=\"col\" class=\"num\">s</th><th scope=\"col\">index</th><th "
          "scope=\"col\">query</th><th scope=\"col\" class=\"num\">recall@%zu</th><th scope=\"col\" "
          "class=\"num\">candidates for 99&nbsp;%%</th><th scope=\"col\" class=\"num\">bytes per "
          "vector</th></tr></thead><tbody>\n",
          title, r->k);
  for (size_t i = first; i < end; i++) print_row(r, i, to);
  fputs("</tbody></table></div>\n", to);
}

/* ---- curves ---- */

enum { WIDTH = 940, HEIGHT = 400, LEFT = 74, RIGHT = 210, TOP = 18, BOTTOM = 52, LINE = 15 };

/* Shares are drawn by what they miss, 1 - recall, on a scale of tens: curves crowd at 100 %. */
static const double FINEST = 0.001;

typedef struct axes {
  double low, high; /* log2 of candidates */
  double worst;     /* miss at the bottom */
} axes;

/* As far as the curves have something to tell. */
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
            "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g %%</text>\n",
            LEFT, WIDTH - RIGHT, down(a, 1 - miss), down(a, 1 - miss), LEFT - 8, down(a, 1 - miss) + 4,
            100 * (1 - miss));
  for (double c = (double)r->k; log2(c) <= a.high; c *= a.high - a.low > 5 ? 4 : 2)
    fprintf(to, "<text class=\"note\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", across(a, c),
            HEIGHT - BOTTOM + 20, c);
  fprintf(
      to,
      "<text class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">candidates that are re-ranked</text>\n"
      "<text class=\"note\" transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">share of the "
      "true "
      "%zu found</text>\n",
      (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, (TOP + HEIGHT - BOTTOM) / 2, r->k);
  fprintf(to, "<line class=\"rule\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT,
          down(a, 0.99), down(a, 0.99));
}

/* The last point of a curve that is drawn. */
static double end_of(axes a, const cpb_recommendation_facts *r, size_t i) {
  double y = down(a, r->rows[i]->recall);
  for (size_t at = 0; at < r->curve_count && (double)r->candidates[at] <= exp2(a.high); at++)
    y = down(a, r->rows[i]->curve[at]);
  return y;
}

static void draw_curve(axes a, const cpb_recommendation_facts *r, size_t i, FILE *to) {
  const cpb_recommend_row *row = r->rows[i];
  fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s points=\"", colour_of(r, i),
          i == r->pick ? "3.5" : "1.8", row->ball ? " stroke-dasharray=\"7 4\"" : "");
  for (size_t at = 0; at < r->curve_count && (double)r->candidates[at] <= exp2(a.high); at++)
    fprintf(to, "%.1f,%.1f ", across(a, (double)r->candidates[at]), down(a, row->curve[at]));
  fputs("\"/>\n", to);
}

/* Names beside the ends of their curves, in the order of the ends, each on a line of its own. */
static void draw_names(axes a, const cpb_recommendation_facts *r, size_t first, size_t end, FILE *to) {
  size_t order[64], count = end - first < 64 ? end - first : 64;
  for (size_t i = 0; i < count; i++) {
    size_t at = i;
    while (at > 0 && end_of(a, r, order[at - 1]) > end_of(a, r, first + i)) order[at] = order[at - 1], at--;
    order[at] = first + i;
  }
  double free_from = TOP;
  for (size_t i = 0; i < count; i++) {
    double end_y = end_of(a, r, order[i]);
    double last_room = HEIGHT - BOTTOM + 6 - (double)(count - 1 - i) * LINE;
    double y = fmin(fmax(end_y, free_from), last_room);
    char name[96];
    show_recommend_name(r->rows[order[i]], name, sizeof name);
    fprintf(to,
            "<path stroke=\"%s\" stroke-width=\"1\" d=\"M%d %.1fL%d %.1f\"/><text class=\"note\" x=\"%d\" "
            "y=\"%.1f\"%s>%s</text>\n",
            colour_of(r, order[i]), WIDTH - RIGHT + 2, end_y, WIDTH - RIGHT + 16, y, WIDTH - RIGHT + 20,
            y + 4, order[i] == r->pick ? " font-weight=\"700\"" : "", name);
    free_from = y + LINE;
  }
}

static void draw_index(const cpb_recommendation_facts *r, size_t first, size_t end, const char *title,
                       FILE *to) {
  axes a = axes_of(r, first, end);
  fprintf(to,
          "<figure class=\"plot\" tabindex=\"0\"><svg class=\"pic\" viewBox=\"0 0 %d %d\" "
          "role=\"img\"><title>%s: share of the true neighbours over candidates; the table below has the "
          "numbers</title>\n",
          WIDTH, HEIGHT, title);
  draw_axes(a, r, to);
  for (size_t i = first; i < end; i++) draw_curve(a, r, i, to);
  draw_names(a, r, first, end, to);
  fputs("</svg></figure>\n", to);
}

/* ---- the page ---- */

static void print_indexes(const cpb_recommendation_facts *r, FILE *to) {
  static const char *const titles[CPB_ENGINES] = {"Float index", "int8 index", "Sign bits"};
  size_t per_index = r->count / CPB_ENGINES;
  for (size_t engine = 0; engine < CPB_ENGINES; engine++) {
    fprintf(to, "<h2>%s</h2>\n", titles[engine]);
    draw_index(r, engine * per_index, (engine + 1) * per_index, titles[engine], to);
    print_table(r, engine * per_index, (engine + 1) * per_index, titles[engine], to);
  }
}

static void print_commands(const char *commands, FILE *to) {
  fputs("<h2>To carry it out</h2>\n", to);
  if (*commands == 0) {
    fputs("<p>The rows go into the index as they are, by cosine.</p>\n", to);
    return;
  }
  fputs("<p>rows.npy go into the index, asked.npy are its queries, ids.npy its answers.</p>\n<pre "
        "class=\"formula\" "
        "tabindex=\"0\">",
        to);
  show_page_text(to, commands);
  fputs("</pre>\n", to);
}

char *show_recommend_page(const cpb_recommendation_facts *r, const char *text, const char *commands,
                          const char *name, size_t *length) {
  show_text page;
  FILE *to = show_text_open(&page);
  if (to == NULL) return NULL;
  show_page_begin(to, "capball: how to index these rows");
  fputs("<h1>How to index ", to);
  show_page_text(to, name);
  fputs("</h1>\n<p>", to);
  show_page_text(to, text);
  fprintf(
      to,
      "</p>\n<p>%zu rows, %zu queries, the %zu nearest by Euclidean distance. Mean norm about the mean "
      "%.6g; ball queries have r = %.6g, the median distance of the neighbour number %zu. Curves: share "
      "of the true neighbours among the first candidates, on a scale of what is missed; the dashed rule is "
      "99 %%, dashed curves are ball queries, the thick one is the pick.</p>\n",
      r->base_rows, r->queries, r->k, r->norm_mean, r->radius, r->k);
  print_commands(commands, to);
  print_indexes(r, to);
  show_page_end(to);
  show_text_close(&page, to);
  *length = page.length;
  return page.bytes;
}
