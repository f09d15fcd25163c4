#include "show/commands.h"

#include <stdlib.h>
#include <string.h>

#include "show/put_text.h"
#include "src/base/json_text.h"
#include "src/base/utf8.h"

/* What is not printable, and what is not UTF-8, as octal numbers for printf, which every shell has. */
static void put_by_printf(FILE *to, const char *word) {
  char piece[CPB_PIECE_ROOM];
  fputs("\"$(printf '", to);
  while (*word != 0) {
    const char *next = word;
    bool plain = cpb_printable_next(&next, piece) == (size_t)(next - word) && strchr("%\\'", *word) == NULL;
    if (plain) fputs(piece, to);
    for (const char *p = word; !plain && p < next; p++) fprintf(to, "\\%03o", (unsigned)(unsigned char)*p);
    word = next;
  }
  fputs("')\"", to);
}

static bool is_printable(const char *word) {
  char piece[CPB_PIECE_ROOM];
  bool printable = true;
  for (const char *next = word; *word != 0 && printable; word = next)
    printable = cpb_printable_next(&next, piece) == (size_t)(next - word);
  return printable;
}

static void put_quoted(FILE *to, const char *word) {
  const char *harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,+=@%:-";
  bool plain = *word != 0 && word[strspn(word, harmless)] == 0;
  if (plain) {
    fputs(word, to);
    return;
  }
  if (!is_printable(word)) {
    put_by_printf(to, word);
    return;
  }
  fputc('\'', to);
  for (; *word != 0; word++) *word == '\'' ? fputs("'\\''", to) : fputc(*word, to);
  fputc('\'', to);
}

void show_put_word(FILE *to, const char *word) {
  fputc(' ', to);
  put_quoted(to, word);
}

void show_put_operand(FILE *to, const char *path) {
  bool dashed = path[0] == '-' && path[1] != 0;
  fputs(dashed ? " ./" : " ", to);
  put_quoted(to, path);
}

void show_put_option(FILE *to, const show_option *option) {
  fprintf(to, " --%s", option->name);
  if (option->value != NULL) show_put_word(to, option->value);
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

static const char *read_from(const show_file *file, const char *converted) {
  return file->count > 0 ? converted : file->path;
}

static const char *base_of(const show_recommended *of) { return read_from(&of->base, "base_rows.npy"); }

static const char *queries_of(const show_recommended *of) {
  return of->queries.path == NULL ? base_of(of) : read_from(&of->queries, "query_rows.npy");
}

static void put_file(const show_file *file, FILE *to) {
  show_put_operand(to, file->path);
  for (size_t i = 0; i < file->count; i++) show_put_option(to, &file->options[i]);
}

static void put_convert(const show_file *file, const char *converted, FILE *to) {
  if (file->path == NULL || file->count == 0) return;
  fputs("capball convert", to);
  put_file(file, to);
  fprintf(to, " -o %s\n", converted);
}

static void put_fit(const show_recommended *of, FILE *to) {
  fputs("capball fit", to);
  if (is_sphere(of))
    put_number(to, "scale", of->scale);
  else
    fprintf(to, " --transform %s", cpb_transform_about(of->kind).name);
  put_file(&of->base, to);
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
  show_put_operand(to, base_of(of));
  fputs(" -o rows.npy\ncapball query -m map.json", to);
  show_put_operand(to, queries_of(of));
  if (of->radius > 0)
    put_number(to, "radius", of->radius);
  else
    fputs(" --point", to);
  fputs(" -o asked.npy\n", to);
  put_engine(of, to);
  fputs("capball rescore -m map.json", to);
  show_put_operand(to, queries_of(of));
  fprintf(to, " ids.npy --embedded rows.npy --asked asked.npy --approximate -k %zu -o nearest.npy\n", of->k);
}

/* Each of two queries requests half of the candidates. */
static void put_wrap(const show_recommended *of, FILE *to) {
  size_t half = of->candidates / 2 > of->k ? of->candidates / 2 : of->k;
  fputs("capball wrap", to);
  show_put_operand(to, base_of(of));
  show_put_operand(to, queries_of(of));
  fprintf(to, " -m map.json --metric %s --candidates %zu -k %zu", cpb_metric_name(of->metric),
          of->twice ? half : of->candidates, of->k);
  if (of->radius > 0)
    put_number(to, "radius", of->radius);
  else if (is_sphere(of))
    fputs(" --point", to);
  if (of->twice) fputs(" --twice", to);
  fputs(" -o nearest.npy --engine-command", to);
  show_put_word(to, engine_of(of));
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
  put_convert(&of->base, base_of(of), to);
  put_convert(&of->queries, queries_of(of), to);
  put_fit(of, to);
  if (goes_by_steps(of))
    put_steps(of, to);
  else
    put_wrap(of, to);
  return show_text_close(&text, to) ? text.bytes : NULL;
}
