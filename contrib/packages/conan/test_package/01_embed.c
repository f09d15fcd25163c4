/* T1: maps points of the plane to the unit sphere and back. */
#include <capball/capball.h>
#include <math.h>
#include <stdio.h>

enum { N = 4, D = 2 };

int main(void) {
  const double x[N][D] = {{0, 0}, {3, 4}, {-30, 40}, {3e9, 4e9}};
  double y[N][D + 1], back[N][D];

  const double s = 5; /* points of this norm land on the equator */
  cpb_error error;
  cpb_status status = cpb_embed(cpb_rows(x, CPB_F64, N, D), cpb_rows_out(y, CPB_F64, N, D + 1), s, &error);
  if (status == CPB_OK)
    status = cpb_unembed(cpb_rows(y, CPB_F64, N, D + 1), cpb_rows_out(back, CPB_F64, N, D), s, &error);
  if (status != CPB_OK) {
    fprintf(stderr, "%s: %s\n", cpb_status_name(status), error.text);
    return 1;
  }

  int wrong = 0;
  for (size_t i = 0; i < N; i++) {
    printf("(%g, %g) -> (%.6g, %.6g, %.6g) -> (%g, %g)\n", x[i][0], x[i][1], y[i][0], y[i][1], y[i][2],
           back[i][0], back[i][1]);
    double length = sqrt(y[i][0] * y[i][0] + y[i][1] * y[i][1] + y[i][2] * y[i][2]);
    double lost = hypot(back[i][0] - x[i][0], back[i][1] - x[i][1]);
    wrong += fabs(length - 1) > 1e-15 || lost > 16 * 0x1p-53 * hypot(x[i][0], x[i][1]);
  }
  return wrong != 0;
}
