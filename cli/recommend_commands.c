#include "recommend_commands.h"
#include "json_print.h"
#include "show/growing_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct naming {
  FILE *to;
  const char *base, *queries, *format;
} naming;

/* As one word of a shell. */
static void put_word(FILE *to, const char *word) {
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

/* A file that is read as the recommendation read it. */
static void put_input(const naming *n, const char *path) {
  fputc(' ', n->to);
  put_word(n->to, path);
  if (n->format != NULL) fprintf(n->to, " --format %s", n->format);
}

static void by_transform(const naming *n, const char *transform) {
  fprintf(n->to, "capball embed --transform %s", transform);
  put_input(n, n->base);
  fprintf(n->to, " -o rows.npy\ncapball embed --transform %s --as query --base ", transform);
  put_word(n->to, n->base);
  put_input(n, n->queries);
  fputs(" -o asked.npy\n", n->to);
}

/* The engine's answer to asked.npy is ids.npy; what it finds is put in order by distance. */
static void by_sphere(const naming *n, const cpb_recommendation_facts *r) {
  const cpb_recommend_row *pick = r->rows[r->pick];
  bool ball = pick->ball && r->radius > 0;
  char digits[CLI_NUMBER_ROOM];
  fprintf(n->to, "capball fit --scale %s", cli_digits(pick->scale, digits));
  put_input(n, n->base);
  fputs(" -o map.json\ncapball embed -m map.json", n->to);
  put_input(n, n->base);
  fputs(" -o rows.npy\ncapball query -m map.json", n->to);
  put_input(n, n->queries);
  if (ball)
    fprintf(n->to, " --radius %s", cli_digits(r->radius, digits));
  else
    fputs(" --point", n->to);
  fputs(" -o asked.npy\ncapball rescore -m map.json", n->to);
  put_input(n, n->queries);
  fputs(" ids.npy --embedded rows.npy", n->to);
  if (ball) fprintf(n->to, " --radius %s", cli_digits(r->radius, digits));
  fprintf(n->to, " -k %zu -o nearest.npy\n", r->k);
}

char *cli_recommend_commands(const cli_job *job, const cpb_recommendation_facts *r) {
  const char *base = job->operands[0], *queries = job->options.queries;
  const cpb_recommend_row *pick = r->rows[r->pick];
  show_text text;
  naming n = {.to = show_text_open(&text),
              .base = strcmp(base, "-") == 0 ? "BASE" : base,
              .queries = queries == NULL || strcmp(queries, "-") == 0 ? "QUERIES" : queries,
              .format = job->options.format};
  if (n.to == NULL) return NULL;
  if (pick->sphere)
    by_sphere(&n, r);
  else if (pick->kind != CPB_TRANSFORM_NONE)
    by_transform(&n, pick->name);
  show_text_close(&text, n.to);
  return text.bytes;
}
