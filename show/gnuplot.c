#include "gnuplot.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "put_text.h"
#include "page.h"
#include "src/base/utf8.h"
#include "src/base/system_file.h"
#include "src/base/system_process.h"
#include "strange.h"

enum { SCRIPT, PICTURE, WORDS, FILES };

/* Files without names: nothing is left behind, however this process ends. */
typedef struct scratch {
  FILE *files[FILES];
} scratch;

static show_drawn fail(show_picture *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));
static show_drawn fail(show_picture *picture, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(picture->why, sizeof picture->why, format, list);
  va_end(list);
  return SHOW_NOT_DRAWN;
}

static bool open_scratch(scratch *files) {
  *files = (scratch){0};
  for (int i = 0; i < FILES; i++)
    if ((files->files[i] = cpb_sys_scratch_file()) == NULL) return false;
  return true;
}

static void close_scratch(scratch *files) {
  for (int i = 0; i < FILES; i++)
    if (files->files[i] != NULL) fclose(files->files[i]);
}

/* Exit code of gnuplot, 127 when there is none. */
static int run(const scratch *files) {
  static const char *const arguments[] = {"gnuplot", "-", NULL};
  return cpb_sys_run(arguments, files->files[SCRIPT], files->files[PICTURE], files->files[WORDS]);
}

/* All of a file, with a 0 behind it. */
static char *read_all(FILE *file, size_t *length) {
  long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (size < 0) return NULL;
  rewind(file);
  char *bytes = show_alloc((size_t)size + 1, 1);
  *length = fread(bytes, 1, (size_t)size, file);
  return bytes;
}

/* gnuplot points at the place with lines of blanks and carets; what it says is its last line with words. */
static show_drawn fail_in_its_words(const scratch *files, int code, show_picture *picture) {
  size_t length = 0;
  char *words = read_all(files->files[WORDS], &length), *said = NULL, *rest = words;
  for (char *line; words != NULL && (line = strtok_r(rest, "\r\n", &rest)) != NULL;)
    if (line[strspn(line, " ^\t")] != 0) said = line + strspn(line, " \t");
  if (said != NULL)
    fail(picture, "gnuplot failed: %s", said);
  else
    fail(picture, code != 0 ? "gnuplot failed with exit code %d" : "gnuplot drew nothing", code);
  free(words);
  return SHOW_NOT_DRAWN;
}

static show_drawn draw(const scratch *files, show_picture *picture) {
  int code = run(files);
  if (code == 127) return SHOW_NO_GNUPLOT;
  picture->bytes = code == 0 ? read_all(files->files[PICTURE], &picture->length) : NULL;
  if (picture->length > 0) return SHOW_DRAWN;
  free(picture->bytes);
  picture->bytes = NULL;
  return fail_in_its_words(files, code, picture);
}

void show_gnuplot_text(FILE *script, const char *text) {
  char piece[CPB_PIECE_ROOM];
  fputc('\'', script);
  while (cpb_printable_next(&text, piece) > 0) fputs(*piece == '\'' ? "''" : piece, script);
  fputc('\'', script);
}

/* The picture again with our title in the place of "Gnuplot"; as it is where it has none, or without memory. */
static void entitle(show_picture *picture, const char *title) {
  static const char theirs[] = "<title>Gnuplot</title>";
  char *at = strstr(picture->bytes, theirs); /* a 0 stands behind it; PNG has one early */
  show_text text;
  FILE *to = at == NULL ? NULL : show_text_open(&text);
  if (to == NULL) return;
  fwrite(picture->bytes, 1, (size_t)(at - picture->bytes), to);
  fputs("<title>", to);
  show_put_html(to, title);
  fputs("</title>", to);
  fputs(at + strlen(theirs), to);
  if (!show_text_close(&text, to)) return;
  free(picture->bytes);
  picture->bytes = text.bytes;
  picture->length = text.length;
}

show_drawn show_gnuplot(void (*write)(const void *arg, FILE *to), const void *arg, const char *title,
                        show_picture *picture) {
  *picture = (show_picture){0};
  scratch files;
  show_drawn drawn;
  if (!open_scratch(&files)) {
    drawn = fail(picture, "cannot make a temporary file: %s", strerror(errno));
  } else {
    write(arg, files.files[SCRIPT]);
    bool whole = fflush(files.files[SCRIPT]) == 0 && ferror(files.files[SCRIPT]) == 0;
    if (whole) rewind(files.files[SCRIPT]);
    drawn =
        whole ? draw(&files, picture) : fail(picture, "cannot write a temporary file: %s", strerror(errno));
  }
  close_scratch(&files);
  if (drawn == SHOW_DRAWN) entitle(picture, title);
  return drawn;
}

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
