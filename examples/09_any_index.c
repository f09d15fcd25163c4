/* Euclidean neighbours from an index that only computes inner products; here it is a plain array. */
#include <capball/capball.h>
#include <stdio.h>

enum { N = 6, D = 2 };

typedef struct array {
  float y[N][D + 1];
} array;

static double score(const array *a, const double *p, uint64_t id) {
  double sum = 0;
  for (int k = 0; k <= D; k++) sum += p[k] * (double)a->y[id][k];
  return sum;
}

/* The `count` best rows, by insertion. */
static cpb_status search(void *self, const double *p, size_t count, uint64_t *ids, double *scores,
                         size_t *found, cpb_error *error) {
  (void)error;
  *found = 0;
  for (uint64_t id = 0; id < N; id++) {
    double s = score(self, p, id);
    size_t at = *found < count ? (*found)++ : count;
    for (; at > 0 && scores[at - 1] < s; at--)
      if (at < count) ids[at] = ids[at - 1], scores[at] = scores[at - 1];
    if (at < count) ids[at] = id, scores[at] = s;
  }
  return CPB_OK;
}

static cpb_status row(void *self, uint64_t id, double *y, cpb_error *error) {
  (void)error;
  for (int k = 0; k <= D; k++) y[k] = (double)((const array *)self)->y[id][k];
  return CPB_OK;
}

int main(void) {
  const float x[N][D] = {{0, 0}, {3, 4}, {6, 8}, {1, 1}, {2, 2}, {9, 0}}, q[1][D] = {{5, 5}};
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  cpb_map *map = NULL;
  array a;
  cpb_external index = {.self = &a, .rows = N, .search = search, .row = row};
  cpb_external_options asking;
  cpb_external_options_init(&asking, sizeof asking);
  cpb_external_report report = {0, false};
  cpb_hit hits[2] = {{0, 0}, {0, 0}};
  cpb_error error = {.text = ""};
  options.d = D;
  options.s = 5;
  asking.first = 2;
  if (cpb_map_new(&options, &map, &error) == CPB_OK &&
      cpb_map_embed(map, cpb_rows(x, CPB_F32, N, D), cpb_rows_out(a.y, CPB_F32, N, D + 1), NULL, &error) ==
          CPB_OK &&
      cpb_external_knn(map, &index, cpb_rows(q, CPB_F32, 1, D), 2, &asking, hits, &report, &error) == CPB_OK)
    for (int i = 0; i < 2; i++) printf("row %d at %.4f\n", (int)hits[i].id, hits[i].value);
  printf("%s%s after %d of %d rows\n", error.text, report.proven ? "proven" : "open", (int)report.looked, N);
  cpb_map_free(map);
  return !(report.proven && hits[0].id == 1 && hits[1].id == 2);
}
