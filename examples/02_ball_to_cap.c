/* T3: exact range search with an inner product alone. The points within r of a query are those with <p,y> >= b,
 * for the p and b of one cap: any index for cosine or inner product can search for them. */
#include <capball/capball.h>
#include <stdio.h>

enum { SIDE = 21, N = SIDE * SIDE };

int main(void) {
  double x[N][2], y[N][3];
  for (int i = 0; i < N; i++) {
    x[i][0] = i % SIDE;
    x[i][1] = i / SIDE; /* a grid of whole numbers, so that distances are exact */
  }

  cpb_error error;
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = 2;
  options.s = 10;
  cpb_map *map = NULL;
  cpb_status status = cpb_map_new(&options, &map, &error);
  if (status == CPB_OK)
    status = cpb_map_embed(map, cpb_rows(x, CPB_F64, N, 2), cpb_rows_out(y, CPB_F64, N, 3), NULL, &error);

  double query[2] = {7, 11}, p[3];
  cpb_region ball = {.kind = CPB_BALL, .d = 2, .c = query, .r = 4.5};
  cpb_cap cap = {.d = 2, .p = p};
  if (status == CPB_OK) status = cpb_map_cap(map, &ball, &cap, &error);
  cpb_map_free(map);
  if (status != CPB_OK) {
    fprintf(stderr, "%s: %s\n", cpb_status_name(status), error.text);
    return 1;
  }

  int found = 0, wrong = 0;
  for (int i = 0; i < N; i++) {
    int inside = p[0] * y[i][0] + p[1] * y[i][1] + p[2] * y[i][2] > cap.b;
    double dx = x[i][0] - query[0], dy = x[i][1] - query[1];
    wrong += inside != (dx * dx + dy * dy < ball.r * ball.r);
    found += inside;
  }
  printf("p = (%.6f, %.6f, %.6f), b = %.6f\n", p[0], p[1], p[2], cap.b);
  printf("%d of %d points within %g of (%g, %g), %d misjudged\n", found, N, ball.r, query[0], query[1],
         wrong);
  return wrong != 0 || found == 0;
}
