#include "capball/advanced/flow.h"
#include "score_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "put_text.h"
#include "page.h"

/* ---- both ---- */

/* A row by its id, else by its number. */
static const char *row_name(const show_scores *s, size_t row, char *to, size_t room) {
  const char *id = cpb_reader_id(s->reader, row);
  if (id != NULL && *id != 0) return id;
  snprintf(to, room, "%" PRIu64, cpb_reader_row(s->reader, row));
  return to;
}

static bool edge_matters(const show_scores *s) { return !isnan(show_edge(s->facts)); }

/* Of the model: without one, outliers are the rows outside of its ball. */
static bool has_threshold(const show_scores *s) { return s->facts->threshold != 0; }

static bool has_p(const show_scores *s) { return s->facts->calibrated > 0; }

static bool has_reasons(const show_scores *s) { return s->top > 0 && s->strange[0].reason_count > 0; }

/* ---- on a terminal ---- */

static int id_width(const show_scores *s) {
  char buffer[24];
  int width = 3;
  for (size_t i = 0; i < s->top; i++) {
    int shown = show_put_text(NULL, row_name(s, s->strange[i].row, buffer, sizeof buffer));
    if (shown > width) width = shown;
  }
  return width < 32 ? width : 32;
}

static void print_share(double share, FILE *to) {
  if (isnan(share))
    fprintf(to, "%8s", "");
  else
    fprintf(to, " %5.1f %%", 100 * share);
}

void show_score_table(const show_scores *s, FILE *to) {
  int width = id_width(s);
  char buffer[24];
  fprintf(to, "rank  %-*s %12s  %6s%s%s\n", width, "row", "score", "share",
          has_threshold(s) ? "  outlier" : "",
          has_reasons(s) ? "  strange by (+ above, - below the centre)" : "");
  for (size_t i = 0; i < s->top; i++) {
    const show_strange *row = &s->strange[i];
    fprintf(to, "%4zu  ", i + 1);
    int shown = show_put_text(to, row_name(s, row->row, buffer, sizeof buffer));
    fprintf(to, "%*s %12.6g ", shown < width ? width - shown : 0, "", row->score);
    print_share(row->rank, to);
    if (has_threshold(s)) fprintf(to, "  %-7s", row->outlier ? "yes" : "no");
    if (row->reason_count > 0) fputs("  ", to);
    show_reasons(s->facts, row, to);
    fputc('\n', to);
  }
}

/* ---- how all rows score ---- */

enum { WIDTH = 720, HEIGHT = 300, LEFT = 64, RIGHT = 16, TOP = 34, BOTTOM = 52, BINS = 48 };

typedef struct histogram {
  double low, width;
  size_t bins[2][BINS], most; /* ordinary rows, outliers */
} histogram;

static histogram count_bins(const show_scores *s) {
  histogram h = {.low = INFINITY};
  double high = -INFINITY;
  for (size_t i = 0; i < s->count; i++) {
    h.low = fmin(h.low, s->scores[i]);
    high = fmax(high, s->scores[i]);
  }
  h.width = high > h.low ? (high - h.low) / BINS : 1;
  for (size_t i = 0; i < s->count; i++) {
    size_t k = (size_t)((s->scores[i] - h.low) / h.width);
    size_t *bin = &h.bins[s->labels != NULL && s->labels[i] != 0][k < BINS ? k : BINS - 1];
    if (++*bin > h.most) h.most = *bin;
  }
  return h;
}

static double across(const histogram *h, double score) {
  return LEFT + (score - h->low) / (BINS * h->width) * (WIDTH - LEFT - RIGHT);
}

/* Few outliers are to be seen beside many rows: bars are as high as the root of their counts. */
static double height_of(const histogram *h, size_t count) {
  return sqrt((double)count / (double)h->most) * (HEIGHT - TOP - BOTTOM);
}

static void draw_bars(const histogram *h, int kind, const char *class, FILE *to) {
  double step = (WIDTH - LEFT - RIGHT) / (double)BINS;
  for (size_t k = 0; k < BINS; k++) {
    if (h->bins[kind][k] == 0) continue;
    double height = height_of(h, h->bins[kind][k]), x = LEFT + (double)k * step + (kind == 1 ? step / 4 : 0);
    fprintf(to, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, x + 0.5,
            HEIGHT - BOTTOM - height, step / (kind == 1 ? 2 : 1) - 1, height);
  }
}

/* 1, 2 or 5 times a power of ten: about a fifth of the range. */
static double round_step(double range) {
  double step = 1;
  while (step * 50 <= range) step *= 10;
  while (step > range) step /= 10;
  double parts = range / step;
  return parts > 25 ? 10 * step : parts > 10 ? 5 * step : parts > 5 ? 2 * step : parts > 2 ? step : step / 2;
}

/* Whole numbers of rows, at their roots. */
static void draw_counts(const histogram *h, FILE *to) {
  double before = -1;
  for (int k = 0; k <= 4; k++) {
    double rows = rint(k * k / 16.0 * (double)h->most);
    if (rows == before) continue;
    before = rows;
    double y = HEIGHT - BOTTOM - sqrt(rows / (double)h->most) * (HEIGHT - TOP - BOTTOM);
    fprintf(to,
            "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"note\" x=\"%d\" "
            "y=\"%.1f\" text-anchor=\"end\">%.0f</text>\n",
            LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4, rows);
  }
}

static void draw_axes(const histogram *h, FILE *to) {
  double range = BINS * h->width, step = round_step(range);
  draw_counts(h, to);
  for (double k = ceil(h->low / step); range > 0 && isfinite(step) && k * step <= h->low + range; k++)
    fprintf(to, "<text class=\"note\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
            across(h, k * step), HEIGHT - BOTTOM + 18, k * step + 0.0);
  fprintf(to,
          "<text class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">score r&#178; - |W(x-c)|&#178;: the "
          "lower, the stranger</text>\n"
          "<text class=\"note\" transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">rows (root "
          "scale)</text>\n",
          (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, (TOP + HEIGHT - BOTTOM) / 2);
}

static void draw_histogram(const show_scores *s, FILE *to) {
  histogram h = count_bins(s);
  fprintf(to,
          "<figure class=\"plot\"><svg class=\"pic\" viewBox=\"0 0 %d %d\" role=\"img\" "
          "aria-labelledby=\"how-title "
          "how-text\">\n<title id=\"how-title\">How many rows score what</title>\n<desc id=\"how-text\">%zu "
          "rows, %zu of "
          "them inside, scores from %.4g to %.4g.</desc>\n",
          WIDTH, HEIGHT, s->count, s->inside, h.low, h.low + BINS * h.width);
  draw_axes(&h, to);
  draw_bars(&h, 0, "bar", to);
  draw_bars(&h, 1, "bar odd", to);
  double edge = show_edge(s->facts), x = across(&h, edge);
  if (h.low < edge && h.low + BINS * h.width > edge)
    fprintf(
        to,
        "<line class=\"rule\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text class=\"note\" x=\"%.1f\" "
        "y=\"%d\" text-anchor=\"end\">outside &#8592;</text>\n",
        x, x, TOP - 8, HEIGHT - BOTTOM, x - 4, TOP - 4);
  fprintf(to,
          "<rect class=\"bar\" x=\"%d\" y=\"8\" width=\"12\" height=\"12\"/><text class=\"note\" x=\"%d\" "
          "y=\"18\">%s</text>\n",
          LEFT, LEFT + 18, s->labels == NULL ? "rows" : "ordinary rows");
  if (s->labels != NULL)
    fprintf(to,
            "<rect class=\"bar odd\" x=\"%d\" y=\"8\" width=\"6\" height=\"12\"/><text class=\"note\" "
            "x=\"%d\" y=\"18\">outliers</text>\n",
            LEFT + 130, LEFT + 142);
  fputs("</svg></figure>\n", to);
}

/* ---- the page ---- */

static void print_reasons(const show_scores *s, const show_strange *row, FILE *to) {
  char buffer[32];
  for (size_t k = 0; k < SHOW_REASONS; k++) {
    const show_reason *r = &row->reasons[k];
    fputs("<td class=\"why\">", to);
    if (k < row->reason_count) {
      show_put_html(to, show_column_name(s->facts, r->column, buffer, sizeof buffer));
      fprintf(to, " <span class=\"num\">%.0f&nbsp;%%</span><br><small>%.*g, %s the centre&#8217;s %.*g; ",
              100 * r->share, show_digits(r->value), r->value, r->value < r->center ? "below" : "above",
              show_digits(r->center), r->center);
      show_range(r, to);
      fputs("</small>", to);
    }
    fputs("</td>", to);
  }
}

static void print_row(const show_scores *s, size_t i, FILE *to) {
  const show_strange *row = &s->strange[i];
  char buffer[24];
  fprintf(to, "<tr><td class=\"num\">%zu</td><th scope=\"row\">", i + 1);
  show_put_html(to, row_name(s, row->row, buffer, sizeof buffer));
  fprintf(to, "</th><td class=\"num\">%.6g</td>", row->score);
  if (has_p(s)) fprintf(to, "<td class=\"num\">%.3g</td>", cpb_model_p_value(s->scored_by, row->score));
  if (s->labels != NULL) fprintf(to, "<td>%s</td>", s->labels[row->row] != 0 ? "outlier" : "ordinary");
  if (has_reasons(s)) print_reasons(s, row, to);
  fputs("<td class=\"num more\">", to);
  if (!isnan(row->rank)) fprintf(to, "%.1f&nbsp;%%", 100 * row->rank);
  fputs("</td>", to);
  if (edge_matters(s)) fprintf(to, "<td class=\"more\">%s</td>", row->outlier ? "outside" : "inside");
  fputs("</tr>\n", to);
}

static void print_table(const show_scores *s, FILE *to) {
  fprintf(to, "<h2 id=\"rows\">The %zu strangest rows</h2>\n", s->top);
  if (has_reasons(s))
    fputs(
        "<p>A row is strange by the columns that add most to its squared distance from the centre; the "
        "number beside a column is its part of that distance, above 100&nbsp;% where other columns lower it. "
        "Ordinary: with these numbers in this column alone the row would be so; nearest: no number of this "
        "column is enough, and this one brings the row nearest. "
        "Share: of the training rows, those that score no more.</p>\n",
        to);
  if (has_p(s))
    fputs("<p>Rows are in the order of p: for a new row the share of ordinary rows that the fit has not seen "
          "and "
          "that score no more. Rows of the fit itself have no valid p.</p>\n",
          to);
  fputs("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"rows\"><table><thead><tr><th "
        "scope=\"col\" class=\"num\" aria-label=\"rank\">#</th><th scope=\"col\">row</th><th scope=\"col\" "
        "class=\"num\">score</th>",
        to);
  if (has_p(s)) fputs("<th scope=\"col\" class=\"num\">p</th>", to);
  if (s->labels != NULL) fputs("<th scope=\"col\">label</th>", to);
  if (has_reasons(s)) fprintf(to, "<th scope=\"col\" colspan=\"%d\">strange by</th>", SHOW_REASONS);
  fputs("<th scope=\"col\" class=\"num more\">share</th>", to);
  if (edge_matters(s)) fputs("<th scope=\"col\" class=\"more\">ball</th>", to);
  fputs("</tr></thead><tbody>\n", to);
  for (size_t i = 0; i < s->top; i++) print_row(s, i, to);
  fputs("</tbody></table></div>\n", to);
}

static size_t stranger_than(const show_scores *s, double score) {
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++) count += s->scores[i] < score;
  return count;
}

/* "The strangest is r17: weight +61 %, income +22 %." */
static void print_strangest(const show_scores *s, FILE *to) {
  char buffer[24];
  if (s->top == 0) return;
  fputs("<p>The strangest is <b>", to);
  show_put_html(to, row_name(s, s->strange[0].row, buffer, sizeof buffer));
  fputs("</b>", to);
  if (has_reasons(s) && s->strange[0].reason_count > 0) {
    show_text reasons;
    FILE *text = show_text_open(&reasons);
    if (text != NULL) show_reasons(s->facts, &s->strange[0], text);
    if (text != NULL && show_text_close(&reasons, text)) {
      fputs(", by ", to);
      show_put_html(to, reasons.bytes);
      free(reasons.bytes);
    }
  }
  fputs(".</p>\n", to);
}

static void print_summary(const show_scores *s, FILE *to) {
  const cpb_model_options *m = s->facts;
  fprintf(to, "<div class=\"sums\"><div class=\"sum\"><b>%zu</b> rows</div>", s->count);
  if (!isnan(show_hundredth(m)))
    fprintf(to,
            "<div class=\"sum\"><b>%zu</b> as strange as the strangest 1&nbsp;%% of the training rows</div>",
            stranger_than(s, show_hundredth(m)));
  if (edge_matters(s))
    fprintf(to, "<div class=\"sum\"><b>%zu</b> %s</div>", s->count - s->inside,
            has_threshold(s) ? "outliers by the model&#8217;s threshold" : "outside the ball");
  if (s->ranking != NULL)
    fprintf(to, "<div class=\"sum\"><b>%.3f</b> AUC, %zu labelled outliers</div>", s->ranking->auc,
            s->ranking->outliers);
  fputs("</div>\n", to);
}

static void print_model(const show_scores *s, FILE *to) {
  const cpb_model_options *m = s->facts;
  fputs("<h2>The ball</h2>\n<p>", to);
  show_put_html(to, s->model);
  fprintf(to, ": radius %.6g, ", m->radius);
  if (m->nu > 0)
    fprintf(to, "nu = %g: at most about %.0f&nbsp;%% of the %" PRIu64 " training rows lie outside", m->nu,
            100 * m->nu, m->rows);
  else
    fprintf(to, "around all %" PRIu64 " training rows", m->rows);
  fprintf(to, "%s", m->whiten != NULL ? ", distances in standardised or whitened columns" : "");
  if (has_threshold(s)) fprintf(to, ". Outliers are rows with a score below %.6g", m->threshold);
  fputs(".</p>\n", to);
  fputs("<h2>The same again</h2>\n<pre class=\"formula\" tabindex=\"0\">", to);
  show_put_html(to, s->again);
  fputs("</pre>\n", to);
}

char *show_score_page(const show_scores *s, size_t *length) {
  show_text page;
  FILE *to = show_text_open(&page);
  if (to == NULL) return NULL;
  show_page_begin(to, "capball: the strangest rows");
  fputs("<h1>The strangest rows of ", to);
  show_put_html(to, s->data);
  fputs("</h1>\n", to);
  print_strangest(s, to);
  print_summary(s, to);
  draw_histogram(s, to);
  print_table(s, to);
  print_model(s, to);
  show_page_end(to);
  show_text_close(&page, to);
  *length = page.length;
  return page.bytes;
}
