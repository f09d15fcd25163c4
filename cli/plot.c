#include "plot.h"
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/letters.h"
#include "show/gnuplot.h"

static bool ends_with(const char *path, const char *extension) {
  size_t length = strlen(path);
  return length > 4 && cpb_same_letters(path + length - 4, extension);
}

int cli_check_picture(const cli_job *job, const char *path) {
  if (ends_with(path, ".svg") || ends_with(path, ".png")) return CLI_OK;
  return cli_misuse(job, "--plot writes .svg or .png, got \"%s\"", path);
}

typedef struct drawing {
  const char *path, *title;
  void (*write)(const void *arg, FILE *to);
  const void *arg;
} drawing;

static void write_script(const void *arg, FILE *to) {
  const drawing *d = arg;
  fprintf(to,
          "set terminal %s size 720,460 font 'sans,11' background '#ffffff'\nset grid lc rgb '#dddddd'\nset "
          "title ",
          ends_with(d->path, ".png") ? "pngcairo" : "svg");
  show_gnuplot_text(to, d->title);
  fputs(" noenhanced\n", to);
  d->write(d->arg, to);
}

int cli_plot(const cli_job *job, const char *title, void (*write)(const void *arg, FILE *to), const void *arg,
             bool *drawn) {
  const char *path = job->options.plot;
  drawing d = {path, title, write, arg};
  show_picture picture;
  show_drawn how = show_gnuplot(write_script, &d, title, &picture);
  *drawn = how == SHOW_DRAWN;
  if (how == SHOW_NO_GNUPLOT) return CLI_OK;
  if (how == SHOW_NOT_DRAWN) return cli_fail(job, "%s", picture.why);
  return cli_write_text(job, path, picture.bytes, picture.length);
}

int cli_plot_wanted(const cli_job *job, const char *title, void (*write)(const void *arg, FILE *to),
                    const void *arg) {
  bool drawn;
  int result = cli_plot(job, title, write, arg, &drawn);
  return result != CLI_OK || drawn
             ? result
             : cli_fail(job, "gnuplot is not installed; it is needed for %s", job->options.plot);
}

void cli_draw_bars(const cli_job *job, const cpb_curve_point *points, size_t count, const char *label) {
  enum { WIDTH = 50 };
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < count; i++) {
    low = fmin(low, points[i].value);
    high = fmax(high, points[i].value);
  }
  if (job->options.quiet || count == 0) return;
  fprintf(stderr, "%10s %10s\n", "s", label);
  for (size_t i = 0; i < count; i++) {
    int bar = high > low ? (int)lrint((points[i].value - low) / (high - low) * WIDTH) : WIDTH;
    fprintf(stderr, "%10.4g %10.4f ", points[i].s, points[i].value);
    for (int k = 0; k < bar; k++) fputc('#', stderr);
    fputc('\n', stderr);
  }
}
