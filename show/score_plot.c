#include "score_plot.h"

#include <math.h>

enum { BINS = 60 };

static void print_bins(FILE *script, const size_t *bins, double low, double width) {
  for (size_t k = 0; k < BINS; k++) fprintf(script, "%.9g %zu\n", low + ((double)k + 0.5) * width, bins[k]);
  fputs("e\n", script);
}

void show_score_script(const void *arg, FILE *script) {
  const show_score_histogram *histogram = arg;
  const double *scores = histogram->scores, *labels = histogram->labels;
  size_t n = histogram->count;
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
  double edge = histogram->edge;
  if (!isnan(edge))
    fprintf(script,
            "set arrow from %.9g, graph 0 to %.9g, graph 1.03 nohead dt 2 lc rgb '#d9480f'\n"
            "set label 'outside' at %.9g, graph 1.03 right offset -1,0\n"
            "set label 'inside' at %.9g, graph 1.03 offset 1,0\n",
            edge, edge, edge, edge);
  fprintf(script,
          "set xlabel 'score r^2 - |x-c|^2: the lower, the stranger'\nset ylabel 'rows (root scale)'\n"
          "set nonlinear y via sqrt(y) inverse y**2\nset ytics out\n"
          "set style fill solid 0.5\nset offsets graph 0.02, graph 0.02, 0, 0\nset yrange [0:*]\n"
          "set key outside right top\n"
          "plot '-' with boxes lc rgb '#2f6fb5' title '%s'%s\n",
          labels == NULL ? "rows" : "ordinary rows",
          labels == NULL ? "" : ", '-' with boxes fs pattern 2 lc rgb '#b02a00' title 'outliers'");
  print_bins(script, bins[0], low, width);
  if (labels != NULL) print_bins(script, bins[1], low, width);
}
