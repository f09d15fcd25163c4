#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_plot_begin(cli_plot *plot, const cli_job *job) {
  *plot = (cli_plot){.job = job, .path = "/tmp/capball-plot-XXXXXX"};
  int file = mkstemp(plot->path);
  if (file < 0) return cli_fail(job, "no temporary file for the picture");
  close(file);
  char command[128];
  snprintf(command, sizeof command, "command -v gnuplot >/dev/null && exec gnuplot >%s 2>/dev/null",
           plot->path);
  fflush(stdout);
  plot->script = popen(command, "w");
  if (plot->script == NULL) {
    unlink(plot->path);
    return cli_fail(job, "gnuplot does not start");
  }
  fprintf(plot->script, "set terminal svg size 800,500 dynamic font 'sans-serif,13' background '#fbfaf7'\n"
                        "set grid lc rgb '#e5e5e5'\n");
  return CLI_OK;
}

static char *read_picture(const char *path, size_t *size) {
  FILE *from = fopen(path, "rb");
  if (from == NULL) return NULL;
  fseek(from, 0, SEEK_END);
  long length = ftell(from);
  rewind(from);
  char *bytes = cli_alloc((size_t)length + 1, 1);
  *size = fread(bytes, 1, (size_t)length, from);
  fclose(from);
  return bytes;
}

int cli_plot_end(cli_plot *plot, const char *path) {
  int status = pclose(plot->script), result = CLI_OK;
  size_t size = 0;
  char *picture = read_picture(plot->path, &size);
  cpb_error error;
  unlink(plot->path);
  if (status != 0 || size == 0)
    result = cli_fail(plot->job, "gnuplot drew no picture: is it installed?");
  else if (cpb_write_whole(path, picture, size, &error) != CPB_OK)
    result = cli_fail(plot->job, "%s", error.text);
  free(picture);
  return result;
}

enum { BINS = 60 };

static void print_bins(FILE *script, const size_t *bins, double low, double width) {
  for (size_t k = 0; k < BINS; k++) fprintf(script, "%.9g %zu\n", low + ((double)k + 0.5) * width, bins[k]);
  fputs("e\n", script);
}

void cli_plot_histogram(FILE *script, const double *scores, const double *labels, size_t n) {
  size_t bins[2][BINS] = {{0}};
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    low = fmin(low, scores[i]);
    high = fmax(high, scores[i]);
  }
  double width = high > low ? (high - low) / BINS : 1;
  for (size_t i = 0; i < n; i++) {
    size_t k = (size_t)((scores[i] - low) / width);
    bins[labels != NULL && labels[i] != 0][k < BINS ? k : BINS - 1]++;
  }
  fprintf(script,
          "set xlabel 'score r^2 - |x-c|^2 (inside from 0 on)'\nset ylabel 'rows'\nset style fill solid 0.5\n"
          "set arrow from 0, graph 0 to 0, graph 1 nohead dt 2 lc rgb '#d9480f'\n"
          "plot '-' with boxes lc rgb '#2f6fb5' title '%s'%s\n",
          labels == NULL ? "rows" : "ordinary rows",
          labels == NULL ? "" : ", '-' with boxes lc rgb '#d9480f' title 'outliers'");
  print_bins(script, bins[0], low, width);
  if (labels != NULL) print_bins(script, bins[1], low, width);
}
