/* T12: the embedding as a layer. Gradient descent on x and on t = log s brings S(x) to a target. */
#include <capball/capball.h>
#include <capball/advanced/laws.h>
#include <math.h>
#include <stdio.h>

enum { D = 2 };

/* y = S(x) at scale s. */
static cpb_status forward(const double *x, double s, double *y, cpb_error *error) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = D;
  options.s = s;
  cpb_map *map = NULL;
  cpb_status status = cpb_map_new(&options, &map, error);
  if (status == CPB_OK)
    status = cpb_map_embed(map, cpb_rows(x, CPB_F64, 1, D), cpb_rows_out(y, CPB_F64, 1, D + 1), NULL, error);
  cpb_map_free(map);
  return status;
}

int main(void) {
  const double target[D + 1] = {2.0 / 3, -2.0 / 3, 1.0 / 3}, step = 0.5;
  double x[D] = {2, 0}, t = 0, y[D + 1], g[D + 1], gx[D], grad_t, loss = INFINITY;

  cpb_error error;
  cpb_status status = CPB_OK;
  for (int round = 0; round <= 100 && status == CPB_OK; round++) {
    status = forward(x, exp(t), y, &error);
    if (status != CPB_OK) break;
    loss = 0; /* |y - target|^2 / 2, so that the upstream gradient is the difference */
    for (int i = 0; i <= D; i++) {
      g[i] = y[i] - target[i];
      loss += g[i] * g[i] / 2;
    }
    if (round % 25 == 0) printf("round %3d  loss %.1e  s = %.4f\n", round, loss, exp(t));
    status = cpb_layer_backward_saved(cpb_rows(y, CPB_F64, 1, D + 1), cpb_rows(g, CPB_F64, 1, D + 1), exp(t),
                                      cpb_rows_out(gx, CPB_F64, 1, D), &grad_t, NULL, &error);
    for (int i = 0; i < D; i++) x[i] -= step * gx[i];
    t -= step * grad_t;
  }
  if (status != CPB_OK) {
    fprintf(stderr, "%s: %s\n", cpb_status_name(status), error.text);
    return 1;
  }
  return loss > 1e-12;
}
