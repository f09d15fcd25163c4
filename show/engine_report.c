#include "engine_report.h"

#include <math.h>
#include <stdlib.h>

#include "put_text.h"
#include "page.h"

void show_engine_name(const cpb_engine_trial *trial, char *to, size_t room) {
  size_t used = (size_t)snprintf(to, room, "%s", trial->name);
  if (trial->kind != CPB_TRANSFORM_SPHERE || used >= room) return;
  used += (size_t)snprintf(to + used, room - used, " s = %.5g, ", trial->scale);
  if (used < room && trial->radius > 0)
    used += (size_t)snprintf(to + used, room - used, "ball %.4g", trial->radius);
  else if (used < room)
    used += (size_t)snprintf(to + used, room - used, "point");
  if (used < room && trial->twice) snprintf(to + used, room - used, ", twice");
}

static size_t count_close(const cpb_engine_facts *of) {
  size_t count = 0;
  for (size_t i = 0; i < of->count; i++) count += of->trials[i].close && i != of->pick;
  return count;
}

static void put_pick(const cpb_engine_facts *of, FILE *to) {
  const cpb_engine_trial *pick = &of->trials[of->pick];
  size_t close = count_close(of);
  fputs("Take ", to);
  if (pick->kind == CPB_TRANSFORM_NONE)
    fputs("the rows as they are", to);
  else
    fputs(pick->name, to);
  if (pick->kind == CPB_TRANSFORM_SPHERE)
    fprintf(to, " with s = %.6g (%.3g mean norms) and %s queries%s", pick->scale, pick->norms,
            pick->radius > 0 ? "ball" : "point", pick->twice ? ", asked twice" : "");
  fprintf(to, ". The criterion is %zu@%zu, the share of the true %zu among %zu candidates: %.1f %% (+-%.1f)",
          of->k, of->candidates, of->k, of->candidates, 100 * pick->choosing_rescored,
          100 * pick->choosing_error);
  if (close == 0)
    fputs("; nothing else is within the noise of the best.", to);
  else
    fprintf(to,
            "; %zu other%s within the noise of the best, and among these the highest %zu@%zu decides "
            "(%.1f %%), then the simplest.",
            close, close == 1 ? " is" : "s are", of->k, of->k, 100 * pick->choosing_recall);
}

static void put_check(const cpb_engine_facts *of, FILE *to) {
  const cpb_engine_trial *pick = &of->trials[of->pick], *raw = &of->trials[of->raw];
  fprintf(to,
          " On the other half of the queries, which had no part in the choice, it has %zu@%zu = %.1f %% and "
          "%zu@%zu = %.1f %% (+-%.1f; over seeds %.1f .. %.1f)",
          of->k, of->k, 100 * pick->recall, of->k, of->candidates, 100 * pick->rescored, 100 * pick->error,
          100 * of->low, 100 * of->high);
  if (of->pick == of->raw)
    fputs(". No transform helps here.", to);
  else
    fprintf(to, ", unchanged rows %.1f %% and %.1f %%%s.", 100 * raw->recall, 100 * raw->rescored,
            of->helps ? "" : "; the transform gains no more than its error");
}

char *show_engine_text(const cpb_engine_facts *of) {
  show_text text;
  FILE *to = show_text_open(&text);
  if (to == NULL) return NULL;
  put_pick(of, to);
  put_check(of, to);
  show_text_close(&text, to);
  return text.bytes;
}

char *show_engine_method(const cpb_engine_facts *of, cpb_metric metric) {
  show_text text;
  FILE *to = show_text_open(&text);
  if (to == NULL) return NULL;
  fprintf(to,
          "%zu rows, %zu queries, %zu candidates by %s; mean norm about the mean %.6g, median distance of "
          "neighbour %zu %.6g. The table has the figures of the half of the queries that chooses; +- is the "
          "noise of %zu@%zu, one standard error.",
          of->base_rows, of->queries, of->candidates, cpb_metric_name(metric), of->norm_mean, of->k,
          of->radius, of->k, of->candidates);
  if (of->first_rows > 0)
    fprintf(to,
            " Transforms that were 20 points behind in a first round on %zu rows, with fewer candidates, are "
            "not measured on all rows.",
            of->first_rows);
  show_text_close(&text, to);
  return text.bytes;
}

enum { WIDTH = 640, LEFT = 12, RIGHT = 24, TOP = 30, LINE = 44 };

/* Trials in the order of the criterion; those of a first round come last. */
typedef struct ranked {
  const cpb_engine_facts *f;
  size_t order[128], count, of_all; /* of_all: those with all rows */
} ranked;

static bool comes_before(const cpb_engine_facts *f, size_t a, size_t b) {
  const cpb_engine_trial *x = &f->trials[a], *y = &f->trials[b];
  if ((x->rows == f->base_rows) != (y->rows == f->base_rows)) return x->rows == f->base_rows;
  if (x->choosing_rescored != y->choosing_rescored) return x->choosing_rescored > y->choosing_rescored;
  return x->choosing_recall > y->choosing_recall;
}

static ranked rank(const cpb_engine_facts *f) {
  ranked all = {.f = f};
  for (size_t i = 0; i < f->count && i < sizeof all.order / sizeof *all.order; i++) {
    size_t at = all.count++;
    for (; at > 0 && comes_before(f, i, all.order[at - 1]); at--) all.order[at] = all.order[at - 1];
    all.order[at] = i;
    all.of_all += f->trials[i].rows == f->base_rows;
  }
  return all;
}

/* ---- the picture ---- */

static double across(double least, double share) {
  return LEFT + (share - least) / (1 - least) * (WIDTH - LEFT - RIGHT);
}

static bool is_of_a_kind(const cpb_engine_trial *a, const cpb_engine_trial *b) {
  return a->kind == b->kind && (a->radius > 0) == (b->radius > 0) && a->twice == b->twice;
}

/* The pick, and the best of every kind of transform and query. */
static bool is_shown(const ranked *all, size_t place) {
  const cpb_engine_trial *trials = all->f->trials, *own = &trials[all->order[place]];
  if (place >= all->of_all || all->order[place] == all->f->pick) return place < all->of_all;
  for (size_t i = 0; i < place; i++)
    if (is_of_a_kind(&trials[all->order[i]], own)) return false;
  return !is_of_a_kind(own, &trials[all->f->pick]);
}

static double least_share(const ranked *all) {
  double least = 0.9;
  for (size_t i = 0; i < all->of_all; i++)
    if (is_shown(all, i)) least = fmin(least, all->f->trials[all->order[i]].choosing_recall);
  return floor(10 * least) / 10;
}

static void draw_axis(double least, size_t lines, FILE *to) {
  double step = least < 0.5 ? 0.25 : least < 0.8 ? 0.1 : 0.05;
  for (double share = 1; share >= least - 1e-9; share -= step)
    fprintf(to,
            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%zu\"/><text class=\"note\" "
            "x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.0f&#160;%%</text>\n",
            across(least, share), across(least, share), TOP - 6, TOP + lines * LINE, across(least, share),
            TOP - 12,
            share > 0.99               ? "end"
            : share < least + step / 2 ? "start"
                                       : "middle",
            100 * share);
}

/* The name above its line: share among the first k, share among the candidates, and the noise of that. */
static void draw_trial(const ranked *all, size_t i, double least, size_t line, FILE *to) {
  const cpb_engine_trial *t = &all->f->trials[i];
  char name[96];
  size_t y = TOP + line * LINE + 34;
  double from = across(least, fmax(least, t->choosing_rescored - t->choosing_error)),
         end = across(least, fmin(1, t->choosing_rescored + t->choosing_error));
  show_engine_name(t, name, sizeof name);
  fprintf(to, "<text class=\"note%s\" x=\"%d\" y=\"%zu\">%s%s</text>\n", i == all->f->pick ? " pick" : "",
          LEFT, y - 12, name, i == all->f->pick ? " (the pick)" : "");
  fprintf(to, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%zu\" y2=\"%zu\"/>\n",
          across(least, t->choosing_recall), across(least, t->choosing_rescored), y, y);
  fprintf(to, "<line class=\"whisker\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%zu\" y2=\"%zu\"/>\n", from, end, y, y);
  fprintf(to, "<circle class=\"before\" cx=\"%.1f\" cy=\"%zu\" r=\"5\"/>\n",
          across(least, t->choosing_recall), y);
  fprintf(to, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%zu\" r=\"5\"/>\n", i == all->f->pick ? "in" : "bar",
          across(least, t->choosing_rescored), y);
}

static void draw(const ranked *all, FILE *to) {
  size_t lines = 0, line = 0;
  double least = least_share(all);
  for (size_t i = 0; i < all->count; i++) lines += is_shown(all, i);
  fprintf(to,
          "<figure class=\"plot\"><svg class=\"pic\" viewBox=\"0 0 %d %zu\" role=\"img\"><title>Shares of "
          "the true neighbours by transform; the table has the numbers</title>\n",
          WIDTH, TOP + lines * LINE + 12);
  draw_axis(least, lines, to);
  for (size_t i = 0; i < all->count; i++)
    if (is_shown(all, i)) draw_trial(all, all->order[i], least, line++, to);
  fprintf(
      to,
      "</svg></figure>\n<p>Filled: share of the true %zu among %zu candidates, the criterion, with its "
      "noise. Open: among the first %zu. In the table ~ marks what is within the noise of the best.</p>\n",
      all->f->k, all->f->candidates, all->f->k);
}

/* ---- the table ---- */

/* Engines that report no times leave their columns out. */
static bool has_costs(const cpb_engine_facts *f) {
  for (size_t i = 0; i < f->count; i++)
    if (f->trials[i].cost.build > 0 || f->trials[i].cost.query > 0 || f->trials[i].cost.bytes > 0)
      return true;
  return false;
}

static void print_cost(double value, FILE *to) {
  if (value > 0)
    fprintf(to, "<td class=\"num more\">%.3g</td>", value);
  else
    fputs("<td class=\"num more\"></td>", to);
}

static void print_trial(const ranked *all, size_t i, FILE *to) {
  const cpb_engine_trial *t = &all->f->trials[i];
  char name[96];
  show_engine_name(t, name, sizeof name);
  fprintf(to, "<tr%s><th scope=\"row\">%s%s%s</th>", i == all->f->pick ? " class=\"pick\"" : "", name,
          i == all->f->pick ? " (the pick)"
          : t->close        ? " ~"
                            : "",
          t->rows != all->f->base_rows ? " (first round)" : "");
  fprintf(to,
          "<td class=\"num\">%.1f&nbsp;%%&nbsp;<small>&#177;%.1f</small></td><td "
          "class=\"num\">%.1f&nbsp;%%</td>",
          100 * t->choosing_rescored, 100 * t->choosing_error, 100 * t->choosing_recall);
  if (has_costs(all->f)) {
    print_cost(t->cost.build, to);
    print_cost(1000 * t->cost.query / (double)all->f->queries, to);
    print_cost(t->cost.bytes / 1e6, to);
  }
  fputs("</tr>\n", to);
}

static void print_table(const ranked *all, FILE *to) {
  fprintf(to,
          "<h2>All measurements</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"all "
          "measurements\"><table><thead><tr><th scope=\"col\">transform</th><th scope=\"col\" "
          "class=\"num\">%zu@%zu</th><th scope=\"col\" class=\"num\">%zu@%zu</th>",
          all->f->k, all->f->candidates, all->f->k, all->f->k);
  if (has_costs(all->f))
    fputs("<th scope=\"col\" class=\"num more\">build s</th><th scope=\"col\" class=\"num more\">ask ms</th>"
          "<th scope=\"col\" class=\"num more\">MB</th>",
          to);
  fputs("</tr></thead><tbody>\n", to);
  for (size_t i = 0; i < all->count; i++) print_trial(all, all->order[i], to);
  fputs("</tbody></table></div>\n", to);
}

char *show_engine_page(const cpb_engine_facts *f, const show_advice *advice, size_t *length) {
  show_text page;
  FILE *to = show_text_open(&page);
  if (to == NULL) return NULL;
  ranked all = rank(f);
  show_advice_begin(to, advice);
  fputs("<h2>Every transform on this engine</h2>\n", to);
  draw(&all, to);
  print_table(&all, to);
  show_page_end(to);
  show_text_close(&page, to);
  *length = page.length;
  return page.bytes;
}
