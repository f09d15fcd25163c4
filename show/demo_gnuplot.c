/* One more picture where gnuplot is installed; the page is complete without it. */
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "gnuplot.h"

enum { WIDE = 960, HIGH = 420 };

/* Score minus threshold against distance, for all queries, each row in its own colour. */
static void write_script(const void *arg, FILE *to) {
  const demo *d = arg;
  const double reach = 60;
  fprintf(to,
          "set terminal svg size %d,%d dynamic font 'sans-serif,13' background '#ffffff'\n"
          "set xlabel 'distance to the query'\nset ylabel '<p,y> - b'\nset grid lc rgb '#e5e5e5'\nunset key\n"
          "set xrange [0:%g]\nset arrow from %g, graph 0 to %g, graph 1 nohead dt 2 lc rgb '#d9480f'\n"
          "set arrow from 0, 0 to %g, 0 nohead dt 2 lc rgb '#d9480f'\nset label 'r' at %g, graph 0.95\n"
          "plot '-' using 1:2:3 with points pt 7 ps 0.35 lc rgb variable\n",
          WIDE, HIGH, reach, d->range.r, d->range.r, reach, d->range.r + 1);
  for (size_t i = 0; i < DEMO_QUERIES; i++) {
    demo_question question;
    cpb_error error;
    const float *query = demo_queries()[i].rgb;
    if (!demo_ask(d, query, d->range.r, &question, &error)) continue;
    for (size_t row = 0; row < d->data.count; row++) {
      const float *rgb = d->data.colours[row].rgb;
      double distance = demo_distance(rgb, query);
      if (distance < reach)
        fprintf(to, "%.3f %.6f %u\n", distance, demo_engine_score(&d->ours, question.p, row) - question.b,
                (unsigned)rgb[0] << 16 | (unsigned)rgb[1] << 8 | (unsigned)rgb[2]);
    }
  }
  fputs("e\n", to);
}

/* The <svg> element alone, without what stands before it. */
bool demo_draw_by_gnuplot(const demo *d, FILE *to) {
  show_picture picture;
  bool drawn = show_gnuplot(write_script, d, "Score minus threshold against the distance to the query",
                            &picture) == SHOW_DRAWN;
  const char *svg = drawn ? strstr(picture.bytes, "\n<svg") : NULL;
  if (svg != NULL) fputs(svg + 1, to);
  free(picture.bytes);
  return svg != NULL;
}
