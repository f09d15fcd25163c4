/* One more picture where gnuplot is installed; the page is complete without it. */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo.h"

enum { WIDE = 960, HIGH = 420 };

/* Score minus threshold against distance, for all queries, each row in its own colour. */
static void write_script(const demo *d, FILE *to) {
  const double reach = 60;
  fprintf(to,
          "set terminal svg size %d,%d dynamic font 'sans-serif,13' background '#fbfaf7'\n"
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

/* Runs gnuplot on a script, its output into a file; false if there is no gnuplot or it failed. */
static bool run_gnuplot(const char *script, const char *picture) {
  extern char **environ;
  char *arguments[] = {"gnuplot", (char *)(uintptr_t)script, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, picture, O_WRONLY | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int status = -1;
  bool started = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return started && waitpid(child, &status, 0) == child && status == 0;
}

/* The <svg> element of a file, without what stands before it. */
static bool copy_picture(const char *path, FILE *to) {
  FILE *from = fopen(path, "r");
  if (from == NULL) return false;
  char line[4096];
  bool inside = false;
  while (fgets(line, sizeof line, from) != NULL) {
    if (!inside) inside = strncmp(line, "<svg", 4) == 0;
    if (inside) fputs(line, to);
  }
  fclose(from);
  return inside;
}

bool demo_draw_by_gnuplot(const demo *d, FILE *to) {
  char script[] = "/tmp/capball-plot-XXXXXX", picture[] = "/tmp/capball-plot-XXXXXX";
  int script_fd = mkstemp(script), picture_fd = mkstemp(picture);
  FILE *file = script_fd >= 0 ? fdopen(script_fd, "w") : NULL;
  bool drawn = false;
  if (file != NULL && picture_fd >= 0) {
    write_script(d, file);
    drawn = fclose(file) == 0 && run_gnuplot(script, picture) && copy_picture(picture, to);
  }
  if (picture_fd >= 0) close(picture_fd);
  if (script_fd >= 0) unlink(script);
  if (picture_fd >= 0) unlink(picture);
  return drawn;
}
