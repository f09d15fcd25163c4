/* Scores: one sign everywhere, >= 0 is inside. A cap, its region and the region's complement agree. */
#include <capball/capball.h>
#include <stdio.h>

enum { N = 5 };

int main(void) {
  const float x[N][1] = {{-3}, {0}, {1.5f}, {2.5f}, {40}};
  double y[N][2], on_sphere[N], in_space[N], outside[N];
  double c[1] = {2}, p[2];
  const double s = 1;

  cpb_error error;
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = 1;
  options.s = s;
  cpb_map *map = NULL;
  cpb_region ball = {.kind = CPB_BALL, .d = 1, .c = c, .r = 1};
  cpb_cap cap = {.d = 1, .p = p};
  cpb_status status = cpb_map_new(&options, &map, &error);
  if (status == CPB_OK)
    status = cpb_map_embed(map, cpb_rows(x, CPB_F32, N, 1), cpb_rows_out(y, CPB_F64, N, 2), NULL, &error);
  cpb_map_free(map);
  if (status == CPB_OK) status = cpb_cap_from_region(&ball, s, &cap, &error);
  if (status == CPB_OK)
    status = cpb_cap_scores(&cap, cpb_rows(y, CPB_F64, N, 2), cpb_rows_out(on_sphere, CPB_F64, N, 1), NULL,
                            &error);
  if (status == CPB_OK)
    status = cpb_region_scores(&ball, cpb_rows(x, CPB_F32, N, 1), cpb_rows_out(in_space, CPB_F64, N, 1), NULL,
                               &error);
  ball.kind = CPB_COMPLEMENT;
  if (status == CPB_OK)
    status = cpb_region_scores(&ball, cpb_rows(x, CPB_F32, N, 1), cpb_rows_out(outside, CPB_F64, N, 1), NULL,
                               &error);
  if (status != CPB_OK) {
    fprintf(stderr, "%s: %s\n", cpb_status_name(status), error.text);
    return 1;
  }

  int wrong = 0;
  for (int i = 0; i < N; i++) {
    printf("x = %4g  cap %+.4f  ball %+9.2f  complement %+9.2f\n", (double)x[i][0], on_sphere[i], in_space[i],
           outside[i]);
    wrong += (on_sphere[i] >= 0) != (in_space[i] >= 0) || outside[i] != -in_space[i];
  }
  return wrong != 0;
}
