#define _POSIX_C_SOURCE 200809L
#include "engine_text.h"

#include <math.h>

#include "growing_text.h"

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
