/* Threads belong to the caller, and their number does not change a single bit of the result. */
#include <capball/capball.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20000, D = 24 };

static cpb_status embed(const float *x, float *y, const cpb_exec *exec, cpb_error *error) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = D;
  options.s = 3;
  cpb_map *map = NULL;
  cpb_status status = cpb_map_new(&options, &map, error);
  if (status == CPB_OK)
    status = cpb_map_embed(map, cpb_rows(x, CPB_F32, N, D), cpb_rows_out(y, CPB_F32, N, D + 1), exec, error);
  cpb_map_free(map);
  return status;
}

int main(void) {
  const size_t bytes = sizeof(float) * N * (D + 1);
  float *x = malloc(sizeof(float) * N * D), *alone = malloc(bytes), *together = malloc(bytes);
  if (x == NULL || alone == NULL || together == NULL) return 1;
  uint32_t state = 1;
  for (size_t i = 0; i < (size_t)N * D; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] = (float)(state >> 8) * 0x1p-24f - 0.5f;
  }

  cpb_error error;
  cpb_pool *pool = NULL;
  cpb_status status = cpb_pool_new(4, &pool, &error);
  if (status == CPB_OK) status = embed(x, alone, NULL, &error);
  if (status == CPB_OK) status = embed(x, together, cpb_pool_exec(pool), &error);
  cpb_pool_free(pool);

  int wrong = 1;
  if (status == CPB_OK) {
    wrong = memcmp(alone, together, bytes) != 0;
    printf("%d rows by one thread and by four: %s\n", N, wrong ? "different" : "the same bits");
  } else
    fprintf(stderr, "%s: %s\n", cpb_status_name(status), error.text);
  free(x);
  free(alone);
  free(together);
  return wrong;
}
