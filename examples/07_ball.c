/* A ball around points: the smallest one, then one that leaves a share of them outside. */
#include <capball/capball.h>
#include <math.h>
#include <stdio.h>

enum { N = 5 };

int main(void) {
  const double x[N][2] = {{0, 0}, {4, 0}, {2, 2}, {2, 1}, {9, 9}};
  double center[2], soft[2], multipliers[N];
  cpb_view rows = cpb_rows(x, CPB_F64, N, 2);
  cpb_ball_report ball = {.size = sizeof ball};
  cpb_ball_out out = {.center = center};
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_svdd_report svdd = {.size = sizeof svdd};
  cpb_error error;
  options.nu = 0.6;

  if (cpb_enclosing_ball(rows, NULL, &out, &ball, NULL, &error) != CPB_OK ||
      cpb_svdd(rows, &options, soft, multipliers, &svdd, NULL, &error) != CPB_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  printf("smallest  (%.4f, %.4f)  radius %.4f  lower bound %.4f\n", center[0], center[1], ball.radius,
         ball.lower_bound);
  printf("soft      (%.4f, %.4f)  radius %.4f  objective %.4f  lower bound %.4f\n", soft[0], soft[1],
         svdd.radius, svdd.objective, svdd.lower_bound);
  for (int i = 0; i < N; i++)
    printf("(%g,%g)  a = %.4f  %s\n", x[i][0], x[i][1], multipliers[i],
           hypot(x[i][0] - soft[0], x[i][1] - soft[1]) > svdd.radius * (1 + 1e-9) ? "outside" : "inside");
  return !(ball.converged && svdd.converged && ball.radius > svdd.radius);
}
