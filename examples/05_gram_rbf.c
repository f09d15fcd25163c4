/* T8: a Mercer kernel is embedded in the sphere without any vectors: only k(x,x), k(x,y), k(y,y) are needed. Here
 * the RBF kernel exp(-|x-y|^2/2), embedded and restored. */
#include <capball/capball.h>
#include <capball/advanced/laws.h>
#include <math.h>
#include <stdio.h>

enum { N = 4 };

int main(void) {
  const double x[N] = {-1, 0, 0.5, 3}, s = 0.7;
  double gram[N][N], there[N][N], norm2[N], rise[N], last[N];
  for (int i = 0; i < N; i++) {
    norm2[i] = 1;                        /* k(x,x) */
    rise[i] = 2 * s * s / (s * s + 1);   /* 1 + y0 of a point of norm 1 */
    last[i] = (s * s - 1) / (s * s + 1); /* y0 */
    for (int j = 0; j < N; j++) gram[i][j] = there[i][j] = exp(-(x[i] - x[j]) * (x[i] - x[j]) / 2);
  }

  cpb_error error;
  cpb_out g = cpb_rows_out(there, CPB_F64, N, N);
  cpb_gram_side side = {.norm2 = norm2}, back = {.norm2 = rise, .along = last};
  cpb_status status = cpb_gram_embed(g, side, side, 1, s, CPB_PRODUCTS, NULL, &error);
  if (status == CPB_OK) {
    for (int i = 0; i < N; i++) {
      for (int j = 0; j < N; j++) printf(" %8.5f", there[i][j]);
      printf("\n");
      if (there[i][i] != 1) return 2; /* on the unit sphere */
    }
    status = cpb_gram_unembed(g, back, back, 1, s, CPB_PRODUCTS, NULL, &error);
  }
  if (status != CPB_OK) {
    fprintf(stderr, "%s: %s\n", cpb_status_name(status), error.text);
    return 1;
  }

  double worst = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) worst = fmax(worst, fabs(there[i][j] - gram[i][j]));
  printf("there and back: within 1e-14: %s\n", worst <= 1e-14 ? "yes" : "no");
  return worst > 1e-14;
}
