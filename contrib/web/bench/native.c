/* Times of the native library in this process; CPB_ISA selects the loops. Prints seconds per call, best of the rounds:
 *   native WHAT ROWS COLS ROUNDS      WHAT: embed, search, abid */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capball/advanced/abid.h"
#include "capball/search.h"

enum { K = 10, QUERIES = 100, SCALES = 8 };

typedef struct job {
  cpb_view x, queries;
  cpb_map *map;
  float *y;
  cpb_hit *hits;
  double s[SCALES], abid[SCALES];
} job;

/* Time of this processor, which other programs do not affect much. */
static double now(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* The numbers of web/bench/run.mjs. */
static float *numbers(size_t count) {
  float *x = malloc(count * sizeof *x);
  uint32_t state = 1;
  for (size_t i = 0; x != NULL && i < count; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] = (float)(state >> 8) / 16777216.0f - 0.5f;
  }
  return x;
}

static cpb_status run(const char *what, job *j) {
  if (strcmp(what, "embed") == 0)
    return cpb_map_embed(j->map, j->x, cpb_rows_out(j->y, CPB_F32, j->x.rows, j->x.cols + 1), NULL, NULL);
  if (strcmp(what, "search") == 0) return cpb_knn(j->x, j->queries, K, CPB_L2, j->hits, NULL, NULL);
  cpb_abid_scales scales = {j->s, SCALES, j->abid, NULL};
  double original;
  cpb_status status = cpb_abid_original(j->x, NULL, CPB_PAIRS_ALL, &original, NULL, NULL);
  return status != CPB_OK ? status : cpb_abid_embedded(j->x, NULL, CPB_PAIRS_ALL, scales, NULL, NULL);
}

int main(int count, char **words) {
  if (count != 5) return 2;
  size_t rows = strtoul(words[2], NULL, 10), cols = strtoul(words[3], NULL, 10);
  job j = {.x = cpb_rows(numbers(rows * cols), CPB_F32, rows, cols)};
  j.queries = cpb_rows(j.x.data, CPB_F32, QUERIES, cols);
  j.y = malloc(rows * (cols + 1) * sizeof *j.y);
  j.hits = malloc((size_t)QUERIES * K * sizeof *j.hits);
  for (int i = 0; i < SCALES; i++) j.s[i] = 0.25 * (i + 1);
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = cols;
  options.s = 1;
  if (j.x.data == NULL || j.y == NULL || j.hits == NULL || cpb_map_new(&options, &j.map, NULL) != CPB_OK)
    return 1;
  double best = 1e300;
  for (long i = strtol(words[4], NULL, 10); i > 0; i--) {
    double start = now();
    if (run(words[1], &j) != CPB_OK) return 1;
    double seconds = now() - start;
    if (seconds < best) best = seconds;
  }
  printf("%.9g\n", best);
}
