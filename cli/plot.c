#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool ends_with(const char *path, const char *extension) {
  size_t length = strlen(path);
  return length > 4 && strcasecmp(path + length - 4, extension) == 0;
}

int cli_check_picture(const cli_job *job, const char *path) {
  if (ends_with(path, ".svg") || ends_with(path, ".png")) return CLI_OK;
  return cli_misuse(job, "--plot draws .svg or .png, got \"%s\"", path);
}

/* Exit code of gnuplot on a script, 127 when there is none. */
static int run_gnuplot(const char *script, const char *picture) {
  extern char **environ;
  char *arguments[] = {"gnuplot", (char *)(uintptr_t)script, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, picture, O_WRONLY | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int status = 0;
  bool started = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!started || waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int move_picture(const cli_job *job, const char *from, const char *path) {
  FILE *file = fopen(from, "rb");
  struct stat facts;
  if (file == NULL || fstat(fileno(file), &facts) != 0 || facts.st_size == 0) {
    if (file != NULL) fclose(file);
    return cli_fail(job, "gnuplot drew nothing");
  }
  size_t size = (size_t)facts.st_size;
  char *bytes = cli_alloc(size, 1);
  cpb_error error;
  int result = CLI_OK;
  if (fread(bytes, 1, size, file) != size)
    result = cli_fail(job, "cannot read %s: %s", from, strerror(errno));
  else if (cpb_write_whole(path, bytes, size, &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  fclose(file);
  free(bytes);
  return result;
}

static int draw(const cli_job *job, const char *path, const char *script, const char *picture, bool *drawn) {
  int code = run_gnuplot(script, picture);
  if (code == 127) return CLI_OK;
  if (code != 0) return cli_fail(job, "gnuplot failed with exit code %d", code);
  *drawn = true;
  return move_picture(job, picture, path);
}

int cli_plot(const cli_job *job, const char *path, void (*write)(const void *arg, FILE *to), const void *arg,
             bool *drawn) {
  char script[] = "/tmp/capball-plot-XXXXXX", picture[] = "/tmp/capball-plot-XXXXXX";
  int script_fd = mkstemp(script), picture_fd = mkstemp(picture), result = CLI_OK;
  FILE *file = script_fd >= 0 ? fdopen(script_fd, "w") : NULL;
  *drawn = false;
  if (file == NULL || picture_fd < 0) {
    result = cli_fail(job, "cannot make a temporary file: %s", strerror(errno));
  } else {
    fprintf(file, "set terminal %s size 720,460 font 'sans,11'\nset grid lc rgb '#dddddd'\n",
            ends_with(path, ".png") ? "pngcairo" : "svg");
    write(arg, file);
    result = fclose(file) == 0 ? draw(job, path, script, picture, drawn)
                               : cli_fail(job, "cannot write a temporary file: %s", strerror(errno));
  }
  if (picture_fd >= 0) close(picture_fd);
  if (script_fd >= 0) unlink(script);
  if (picture_fd >= 0) unlink(picture);
  return result;
}

int cli_plot_wanted(const cli_job *job, const char *path, void (*write)(const void *arg, FILE *to),
                    const void *arg) {
  bool drawn;
  int result = cli_plot(job, path, write, arg, &drawn);
  return result != CLI_OK || drawn ? result : cli_fail(job, "gnuplot is not here to draw %s", path);
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
