#include "ball_plot.h"

#include <math.h>
#include <stdlib.h>

#include "alloc.h"
#include "gnuplot.h"
#include "strange.h"

enum { PLOTTED = 20000, TURN = 360 };

/* Rows above the limit are thinned out where there are many; those below are all shown. */
static void write_rows(const show_ball *ball, const double *x, double limit, bool above, FILE *script) {
  size_t n = ball->rows.rows, step = above ? n / PLOTTED + 1 : 1;
  for (size_t i = 0; i < n; i += step)
    if ((ball->scores[i] >= limit) == above) fprintf(script, "%.9g %.9g\n", x[2 * i], x[2 * i + 1]);
  fputs("e\n", script);
}

static void write_edge(const cpb_model_options *model, FILE *script) {
  const double *W = model->whiten, *c = model->center, turn = 2 * acos(-1.0);
  double r = sqrt(fmax(0, model->radius * model->radius - model->threshold));
  for (int k = 0; k <= TURN; k++) {
    double u = r * cos(turn * k / TURN), v = r * sin(turn * k / TURN);
    if (W != NULL) {
      u /= W[0];
      v = (v - W[2] * u) / W[3];
    }
    fprintf(script, "%.9g %.9g\n", c[0] + u, c[1] + v);
  }
  fprintf(script, "e\n%.9g %.9g\ne\n", c[0], c[1]);
}

static void write_axes(const cpb_model_options *model, FILE *script) {
  char room[32];
  for (size_t column = 0; column < 2; column++) {
    fprintf(script, "set %clabel ", column == 0 ? 'x' : 'y');
    show_gnuplot_text(script, show_column_name(model, column, room, sizeof room));
    fputs(" noenhanced\n", script);
  }
}

/* Circles inside, larger triangles outside: distinct without colour. Where the edge says nothing, triangles are the
 * strangest hundredth. */
void show_ball_script(const void *arg, FILE *script) {
  const show_ball *ball = arg;
  cpb_model_options model = {.size = sizeof model};
  cpb_model_describe(ball->model, &model);
  bool edge = !isnan(show_edge(&model)) || isnan(show_hundredth(&model));
  double limit = edge ? model.threshold : show_hundredth(&model);
  size_t n = ball->rows.rows, below = 0;
  double *x = show_alloc(n, 2 * sizeof *x);
  cpb_view_widen(ball->rows, x);
  for (size_t i = 0; i < n; i++) below += ball->scores[i] < limit;
  write_axes(&model, script);
  fprintf(script,
          "set size ratio %d\nset key outside right top\nplot '-' with points pt 7 ps %g lc rgb "
          "'#2f6fb5' title '%s (%zu)', ",
          model.whiten == NULL ? -1 : 1, n < 500 ? 0.6 : 0.35, edge ? "inside" : "others", n - below);
  if (below > 0)
    fprintf(script, "'-' with points pt 8 ps 0.9 lw 1.5 lc rgb '#b02a00' title '%s (%zu)', ",
            edge ? "outside" : "the strangest 1 %", below);
  fputs("'-' with lines lw 2 lc rgb '#444444' title 'edge', '-' with points pt 2 lc rgb '#444444' title "
        "'centre'\n",
        script);
  write_rows(ball, x, limit, true, script);
  if (below > 0) write_rows(ball, x, limit, false, script);
  write_edge(&model, script);
  free(x);
}
