#include "show/commands.h"

#include <stdlib.h>
#include <string.h>

#include "show/growing_text.h"
#include "src/base/json_text.h"

void show_put_word(FILE *to, const char *word) {
  const char *harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,+=@%:-";
  bool plain = *word != 0 && word[strspn(word, harmless)] == 0;
  if (plain) {
    fputs(word, to);
    return;
  }
  fputc('\'', to);
  for (; *word != 0; word++) *word == '\'' ? fputs("'\\''", to) : fputc(*word, to);
  fputc('\'', to);
}

static void put_path(FILE *to, const char *path) {
  fputc(' ', to);
  show_put_word(to, path);
}

static void put_number(FILE *to, const char *option, double value) {
  char digits[CPB_JSON_NUMBER_ROOM];
  cpb_print_fewest(digits, value);
  fprintf(to, " --%s %s", option, digits);
}

static bool is_sphere(const show_recommended *of) { return of->kind == CPB_TRANSFORM_SPHERE; }

/* Whether distances can be computed from the transformed rows alone, after one query. */
static bool goes_by_steps(const show_recommended *of) {
  return of->kind != CPB_TRANSFORM_NONE && of->kind != CPB_TRANSFORM_NORMALIZE && !of->twice;
}

static void put_fit(const show_recommended *of, FILE *to) {
  fputs("capball fit", to);
  if (is_sphere(of))
    put_number(to, "scale", of->scale);
  else
    fprintf(to, " --transform %s", cpb_transform_about(of->kind).name);
  put_path(to, of->base);
  fputs(" -o map.json\n", to);
}

static const char *engine_of(const show_recommended *of) {
  return of->engine_command != NULL ? of->engine_command
                                    : "capball knn {base} {queries} --metric {metric} -k {k} -o {ids} -q";
}

/* The engine's command with the names of the files in it. */
static void put_engine(const show_recommended *of, FILE *to) {
  char count[32];
  snprintf(count, sizeof count, "%zu", of->candidates);
  const char *words[][2] = {{"{base}", "rows.npy"},
                            {"{queries}", "asked.npy"},
                            {"{ids}", "ids.npy"},
                            {"{k}", count},
                            {"{metric}", cpb_metric_name(of->metric)},
                            {"{seed}", "0"},
                            {"{times}", "times.txt"}};
  for (const char *at = engine_of(of); *at != 0;) {
    size_t i = 0;
    while (i < sizeof words / sizeof *words && strncmp(at, words[i][0], strlen(words[i][0])) != 0) i++;
    if (i == sizeof words / sizeof *words)
      fputc(*at++, to);
    else {
      fputs(words[i][1], to);
      at += strlen(words[i][0]);
    }
  }
  fputc('\n', to);
}

static void put_steps(const show_recommended *of, FILE *to) {
  fputs("capball embed -m map.json", to);
  put_path(to, of->base);
  fputs(" -o rows.npy\ncapball query -m map.json", to);
  put_path(to, of->queries);
  if (of->radius > 0)
    put_number(to, "radius", of->radius);
  else
    fputs(" --point", to);
  fputs(" -o asked.npy\n", to);
  put_engine(of, to);
  fputs("capball rescore -m map.json", to);
  put_path(to, of->queries);
  fprintf(to, " ids.npy --embedded rows.npy --asked asked.npy --approximate -k %zu -o nearest.npy\n", of->k);
}

/* Each of two queries requests half of the candidates. */
static void put_wrap(const show_recommended *of, FILE *to) {
  size_t half = of->candidates / 2 > of->k ? of->candidates / 2 : of->k;
  fputs("capball wrap", to);
  put_path(to, of->base);
  put_path(to, of->queries);
  fprintf(to, " -m map.json --metric %s --candidates %zu -k %zu", cpb_metric_name(of->metric),
          of->twice ? half : of->candidates, of->k);
  if (of->radius > 0)
    put_number(to, "radius", of->radius);
  else if (is_sphere(of))
    fputs(" --point", to);
  if (of->twice) fputs(" --twice", to);
  fputs(" -o nearest.npy --engine-command", to);
  put_path(to, engine_of(of));
  fputc('\n', to);
}

show_recommended show_recommended_of(const cpb_recommendation_facts *r) {
  const cpb_recommend_row *pick = r->rows[r->pick];
  uint64_t candidates = pick->candidates_for_99 > r->k ? pick->candidates_for_99 : r->k;
  return (show_recommended){.kind = pick->kind,
                            .scale = pick->scale,
                            .radius = pick->ball ? r->radius : 0,
                            .metric = pick->metric,
                            .k = r->k,
                            .candidates = (size_t)candidates};
}

char *show_commands(const show_recommended *of) {
  show_text text;
  FILE *to = show_text_open(&text);
  if (to == NULL) return NULL;
  if (of->first != NULL) fputs(of->first, to);
  put_fit(of, to);
  if (goes_by_steps(of))
    put_steps(of, to);
  else
    put_wrap(of, to);
  show_text_close(&text, to);
  return text.bytes;
}
