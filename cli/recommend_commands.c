#include "recommend_commands.h"
#include "json_print.h"
#include "show/growing_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct naming {
  FILE *to;
  cli_names names;
} naming;

/* Quotes a word for the shell. */
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

/* An input file with the same options as for the recommendation. */
static void put_input(const naming *n, const char *path) {
  fputc(' ', n->to);
  put_word(n->to, path);
  if (n->names.format != NULL) fprintf(n->to, " --format %s", n->names.format);
}

static void put_fit(const naming *n, const cpb_recommend_row *pick) {
  char digits[CPB_JSON_NUMBER_ROOM];
  if (pick->sphere)
    fprintf(n->to, "capball fit --scale %s", cli_digits(pick->scale, digits));
  else
    fprintf(n->to, "capball fit --transform %s", pick->name);
  put_input(n, n->names.base);
  fputs(" -o map.json\n", n->to);
}

/* The engine's answer to asked.npy is ids.npy, which is sorted by distance if the rows determine it. */
static void put_commands(const naming *n, const cpb_recommendation_facts *r) {
  const cpb_recommend_row *pick = r->rows[r->pick];
  bool ball = pick->sphere && pick->ball && r->radius > 0;
  char digits[CPB_JSON_NUMBER_ROOM];
  put_fit(n, pick);
  fputs("capball embed -m map.json", n->to);
  put_input(n, n->names.base);
  fputs(" -o rows.npy\ncapball query -m map.json", n->to);
  put_input(n, n->names.queries);
  if (ball)
    fprintf(n->to, " --radius %s", cli_digits(r->radius, digits));
  else
    fputs(" --point", n->to);
  fputs(" -o asked.npy\n", n->to);
  if (!pick->sphere && pick->kind == CPB_TRANSFORM_NORMALIZE) return;
  fputs("capball rescore -m map.json", n->to);
  put_input(n, n->names.queries);
  fputs(" ids.npy --embedded rows.npy", n->to);
  if (ball) fprintf(n->to, " --radius %s", cli_digits(r->radius, digits));
  fprintf(n->to, " -k %zu -o nearest.npy\n", r->k);
}

char *cli_recommend_commands(const cli_names *names, const cpb_recommendation_facts *r) {
  const cpb_recommend_row *pick = r->rows[r->pick];
  show_text text;
  naming n = {.to = show_text_open(&text), .names = *names};
  if (n.to == NULL) return NULL;
  if (pick->sphere || pick->kind != CPB_TRANSFORM_NONE) put_commands(&n, r);
  show_text_close(&text, n.to);
  return text.bytes;
}
