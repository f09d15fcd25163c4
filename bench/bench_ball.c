/* Enclosing ball and SVDD: compared with CGAL, cvxopt and libsvm if they are installed, growth in n and d, and the
 * labelled outlier sets. From the project's root:
 *   build/bench/bench_ball [quick]     quick: no million rows, no cvxopt, no outlier table
 * With BENCH_RIVAL=libcapball.so, of 0.2 or later, that library takes turns with this one. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capball/capball.h"
#include "support/timing.h"

typedef enum shape { GAUSS, CUBE, NEAR_SPHERE, COSPHERICAL, BLOBS } shape;
static const char *const shape_names[] = {"Gauss", "cube", "near-sphere", "cospherical", "three blobs"};

typedef struct table {
  size_t n, d;
  double *x;
} table;

static uint64_t state = 1;

static double uniform(void) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double gauss(void) { return sqrt(-2 * log(1 - uniform())) * cos(2 * acos(-1.0) * uniform()); }

static table make(shape kind, size_t n, size_t d) {
  table t = {n, d, malloc(n * d * sizeof(double))};
  if (t.x == NULL) exit(1);
  for (size_t i = 0; i < n; i++) {
    double *row = t.x + i * d, norm2 = 0;
    for (size_t j = 0; j < d; j++) {
      row[j] = kind == CUBE ? uniform() : gauss() + (kind == BLOBS && j % 3 == i % 3 ? 4 : 0);
      norm2 += row[j] * row[j];
    }
    double length = kind == NEAR_SPHERE ? 1 + 1e-3 * gauss() : 1;
    for (size_t j = 0; (kind == NEAR_SPHERE || kind == COSPHERICAL) && j < d; j++)
      row[j] *= length / sqrt(norm2);
  }
  return t;
}

static cpb_view view_of(const table *t) { return cpb_rows(t->x, CPB_F64, t->n, t->d); }

/* ---- other implementations, each a separate program ---- */

static char directory[] = "/tmp/capball-bench-XXXXXX";
static char data_file[64], cgal[64];

static void write_data(const table *t) {
  FILE *to = fopen(data_file, "wb");
  uint64_t dims[2] = {t->n, t->d};
  if (to == NULL || fwrite(dims, sizeof dims, 1, to) != 1 ||
      fwrite(t->x, t->d * sizeof(double), t->n, to) != t->n)
    exit(1);
  fclose(to);
}

/* The first number a command prints; 0 if it fails. */
static double seconds_of(const char *command) {
  double seconds = 0;
  fflush(stdout);
  FILE *from = popen(command, "r");
  if (from == NULL || fscanf(from, "%lf", &seconds) != 1) seconds = 0;
  if (from != NULL) pclose(from);
  return seconds;
}

static double by_cgal(void) {
  char command[256];
  snprintf(command, sizeof command, "%s %s 2>/dev/null", cgal, data_file);
  return seconds_of(command);
}

static double by_python(const char *which, double nu) {
  char command[256];
  snprintf(command, sizeof command,
           "OPENBLAS_CORETYPE=SKYLAKEX /usr/bin/python3 bench/rivals/svdd_rival.py %s %s %g 2>/dev/null",
           which, data_file, nu);
  return seconds_of(command);
}

static void build_cgal(void) {
  char command[256];
  snprintf(cgal, sizeof cgal, "%s/cgal", directory);
  snprintf(command, sizeof command,
           "c++ -O3 -DNDEBUG -march=native bench/rivals/ball_rival.cpp -o %s -lgmp -lmpfr 2>/dev/null", cgal);
  if (system(command) != 0) puts("CGAL (libcgal-dev) or c++ is not installed: no ratios to it");
}

static void print_ratio(const char *rival, double theirs, double ours) {
  if (theirs > 0)
    printf("  %s %.3g ms = %.3g x", rival, 1e3 * theirs, theirs / ours);
  else
    printf("  %s not installed", rival);
}

/* ---- an earlier library ---- */

typedef struct library {
  __typeof__(cpb_enclosing_ball) *ball;
  __typeof__(cpb_svdd) *svdd;
} library;

static const library own = {cpb_enclosing_ball, cpb_svdd};
static library earlier;
static double earlier_seconds; /* best of the last comparison */

static void load_earlier(const char *path) {
  void *from = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  *(void **)&earlier.ball = from == NULL ? NULL : dlsym(from, "cpb_enclosing_ball");
  *(void **)&earlier.svdd = from == NULL ? NULL : dlsym(from, "cpb_svdd");
  if (earlier.ball == NULL || earlier.svdd == NULL) {
    fprintf(stderr, "bench_ball: %s\n", dlerror());
    exit(1);
  }
  printf("x as fast: the time of %s, divided by that of this library\n", path);
}

static void print_earlier(double theirs, double ours) {
  if (earlier.ball != NULL) printf("  %.2f x as fast", theirs / ours);
}

/* Two libraries take more turns, as a few percent are of interest, in the order ABBA. */
static int turns_of(int rounds) { return earlier.ball == NULL ? rounds : 8 * rounds; }
static const library *whose_turn(int turn) {
  return earlier.ball != NULL && (turn % 4 == 1 || turn % 4 == 2) ? &earlier : &own;
}

/* ---- enclosing ball ---- */

static cpb_ball_report ball_by(const library *by, const table *t, double gap, double *center) {
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  cpb_ball_report report = {.size = sizeof report};
  cpb_ball_out out = {.center = center};
  options.gap = gap;
  if (by->ball(view_of(t), &options, &out, &report, NULL, NULL) != CPB_OK) exit(1);
  return report;
}

static cpb_ball_report best_ball(const table *t, double gap) {
  cpb_ball_report best = {.seconds = INFINITY};
  double *center = malloc(t->d * sizeof *center);
  earlier_seconds = INFINITY;
  for (int turn = 0; turn < turns_of(5); turn++) {
    cpb_ball_report report = ball_by(whose_turn(turn), t, gap, center);
    if (whose_turn(turn) == &earlier)
      earlier_seconds = fmin(earlier_seconds, report.seconds);
    else if (report.seconds < best.seconds)
      best = report;
  }
  free(center);
  return best;
}

static void ball_against_cgal(size_t many) {
  puts("\nenclosing ball, gap 1e-12, one thread, f64, best of 5; CGAL: Min_sphere_of_spheres_d, solve alone, "
       "best of 3");
  for (shape kind = GAUSS; kind <= COSPHERICAL; kind++)
    for (size_t d = 3; d <= 10; d += 7) {
      table t = make(kind, kind == COSPHERICAL ? many / 10 : many, d);
      cpb_ball_report report = best_ball(&t, 1e-12);
      write_data(&t);
      printf("%-12s n %-8zu d %-4zu %8.2f ms  gap %.1e  %zu reads", shape_names[kind], t.n, d,
             1e3 * report.seconds, report.gap, report.passes);
      print_earlier(earlier_seconds, report.seconds);
      print_ratio("CGAL", by_cgal(), report.seconds);
      putchar('\n');
      free(t.x);
    }
}

/* The cost of reading memory alone: the sum of all numbers. */
static double seconds_of_reading(const table *t) {
  double lane[16] = {0}, began = bench_now();
  for (size_t i = 0; i + 16 <= t->n * t->d; i += 16)
    for (size_t j = 0; j < 16; j++) lane[j] += t->x[i + j];
  double seconds = bench_now() - began;
  for (size_t j = 1; j < 16; j++) lane[0] += lane[j];
  return isnan(lane[0]) ? NAN : seconds;
}

/* The three alternate, because 8 MB stay in the cache and 800 MB depend on what else uses the memory. */
static void growth_in_d(size_t n) {
  enum { DIMS = 3, TURNS = 3 };
  table t[DIMS];
  cpb_ball_report best[DIMS];
  double reading[DIMS], theirs[DIMS], first = 0;
  for (size_t k = 0, d = 10; k < DIMS; k++, d *= 10) {
    t[k] = make(GAUSS, n, d);
    best[k].seconds = reading[k] = theirs[k] = INFINITY;
  }
  for (int turn = 0; turn < TURNS; turn++)
    for (size_t k = 0; k < DIMS; k++) {
      cpb_ball_report report = best_ball(&t[k], 1e-12);
      if (report.seconds < best[k].seconds) best[k] = report;
      theirs[k] = fmin(theirs[k], earlier_seconds);
      for (int round = 0; round < 3; round++) reading[k] = fmin(reading[k], seconds_of_reading(&t[k]));
    }
  for (size_t k = 0; k < DIMS; k++) {
    double numbers = (double)(n * t[k].d), each = 1e9 * best[k].seconds / numbers;
    if (k == 0) first = each;
    printf(
        "n %-8zu d %-5zu %8.2f ms  %.3f ns per number = %.2f x the first, %zu reads of %.0f MB = %.2f x as "
        "many plain sums, %zu support vectors",
        n, t[k].d, 1e3 * best[k].seconds, each, each / first, best[k].passes, 8e-6 * numbers,
        best[k].seconds / ((double)best[k].passes * reading[k]), best[k].support);
    print_earlier(theirs[k], best[k].seconds);
    putchar('\n');
    free(t[k].x);
  }
}

static void ball_growth(size_t many) {
  puts("\nenclosing ball, growth: the whole time, all reads and the solution, per number of the data, Gauss, "
       "gap "
       "1e-12");
  double first = 0;
  for (size_t n = many / 100; n <= many; n *= 10) {
    table t = make(GAUSS, n, 10);
    cpb_ball_report report = best_ball(&t, 1e-12);
    double each = 1e9 * report.seconds / (double)(n * t.d);
    if (first == 0) first = each;
    printf("n %-8zu d 10    %8.2f ms  %.3f ns per number = %.2f x the first, %zu reads", n,
           1e3 * report.seconds, each, each / first, report.passes);
    print_earlier(earlier_seconds, report.seconds);
    putchar('\n');
    free(t.x);
  }
  growth_in_d(many / 10);
  table t = make(GAUSS, many, 100);
  cpb_ball_report report = best_ball(&t, 1e-12);
  printf("n %-8zu d 100   %8.2f ms  gap %.1e  %zu reads", t.n, 1e3 * report.seconds, report.gap,
         report.passes);
  print_earlier(earlier_seconds, report.seconds);
  putchar('\n');
  free(t.x);
}

/* ---- SVDD ---- */

static cpb_svdd_report svdd_by(const library *by, const table *t, cpb_svdd_method method, double gap,
                               double *center) {
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_svdd_report report = {.size = sizeof report};
  options.gap = gap;
  options.method = method;
  if (by->svdd(view_of(t), &options, center, NULL, &report, NULL, NULL) != CPB_OK) exit(1);
  return report;
}

static cpb_svdd_report best_svdd(const table *t, cpb_svdd_method method, double gap, double *center,
                                 int rounds) {
  cpb_svdd_report best = {.seconds = INFINITY};
  earlier_seconds = INFINITY;
  for (int turn = 0; turn < turns_of(rounds); turn++) {
    cpb_svdd_report report = svdd_by(whose_turn(turn), t, method, gap, center);
    if (whose_turn(turn) == &earlier)
      earlier_seconds = fmin(earlier_seconds, report.seconds);
    else if (report.seconds < best.seconds)
      best = report;
  }
  return best;
}

typedef struct ranked {
  double dist2;
  size_t row;
} ranked;

static int by_distance(const void *a, const void *b) {
  double x = ((const ranked *)a)->dist2, y = ((const ranked *)b)->dist2;
  return (x > y) - (x < y);
}

static void ranks(const table *t, const double *center, double *rank) {
  ranked *all = malloc(t->n * sizeof *all);
  for (size_t i = 0; i < t->n; i++) {
    double sum = 0;
    for (size_t j = 0; j < t->d; j++)
      sum += (t->x[i * t->d + j] - center[j]) * (t->x[i * t->d + j] - center[j]);
    all[i] = (ranked){sum, i};
  }
  qsort(all, t->n, sizeof *all, by_distance);
  for (size_t i = 0; i < t->n; i++) rank[all[i].row] = (double)i;
  free(all);
}

static double spearman(const table *t, const double *c1, const double *c2) {
  double *r1 = malloc(t->n * sizeof *r1), *r2 = malloc(t->n * sizeof *r2), sum = 0, n = (double)t->n;
  ranks(t, c1, r1);
  ranks(t, c2, r2);
  for (size_t i = 0; i < t->n; i++) sum += (r1[i] - r2[i]) * (r1[i] - r2[i]);
  free(r1);
  free(r2);
  return 1 - 6 * sum / (n * (n * n - 1));
}

static void paper_setting(bool quick) {
  puts("\nthe paper's setting, 5000 x 10, nu 0.1, one thread; Spearman of the scores with exact SVDD");
  for (shape kind = GAUSS; kind <= BLOBS; kind += BLOBS - GAUSS) {
    table t = make(kind, 5000, 10);
    double exact[10], hard[10], paper[10];
    cpb_svdd_report coarse = best_svdd(&t, CPB_SVDD_EXACT, 1e-6, exact, 9);
    double theirs = earlier_seconds;
    cpb_svdd_report fine = best_svdd(&t, CPB_SVDD_EXACT, 1e-9, exact, 9);
    double theirs_fine = earlier_seconds;
    cpb_svdd_report svm = best_svdd(&t, CPB_SVDD_CAP_SVM, 1e-9, hard, 3);
    cpb_svdd_report old = best_svdd(&t, CPB_SVDD_CAP_SVM_PAPER, 1e-9, paper, 3);
    printf("%-12s exact %.2f ms (gap %.0e), %.2f ms (gap %.0e); cap-svm %.1f ms, Spearman %.5f; "
           "cap-svm-paper %.1f ms, "
           "Spearman %.5f\n",
           shape_names[kind], 1e3 * coarse.seconds, coarse.gap, 1e3 * fine.seconds, fine.gap,
           1e3 * svm.seconds, spearman(&t, exact, hard), 1e3 * old.seconds, spearman(&t, exact, paper));
    if (earlier.svdd != NULL) {
      printf("%-12s", "");
      print_earlier(theirs, coarse.seconds);
      printf(", gap %.0e", fine.gap);
      print_earlier(theirs_fine, fine.seconds);
      putchar('\n');
    }
    write_data(&t);
    printf("%-12s against exact at gap 1e-6 (OPENBLAS_CORETYPE=SKYLAKEX for the rivals):", "");
    print_ratio("libsvm's OneClassSVM, rbf", by_python("libsvm", 0.1), coarse.seconds);
    if (!quick && kind == GAUSS) print_ratio("cvxopt's QP", by_python("cvxopt", 0.1), coarse.seconds);
    putchar('\n');
    free(t.x);
  }
}

static void svdd_growth(size_t many) {
  puts("\nSVDD, nu 0.1, gap 1e-6, one thread, f64");
  static const size_t dims[] = {10, 10, 10, 128};
  const size_t counts[] = {many / 100, many / 10, many, many};
  for (size_t k = 0; k < 4; k++) {
    table t = make(GAUSS, counts[k], dims[k]);
    double center[128];
    cpb_svdd_report report = best_svdd(&t, CPB_SVDD_EXACT, 1e-6, center, 3);
    printf("n %-8zu d %-4zu %8.2f ms  gap %.1e  %zu reads  %.3f ns per number", t.n, t.d,
           1e3 * report.seconds, report.gap, report.iterations, 1e9 * report.seconds / (double)(t.n * t.d));
    print_earlier(earlier_seconds, report.seconds);
    putchar('\n');
    free(t.x);
  }
}

static void outlier_table(void) {
  puts("\noutlier sets: AUC of the ball, of libsvm; into docs/explanation/outliers.md");
  fflush(stdout);
  if (access("../shared/data", R_OK) != 0)
    puts("../shared/data does not exist");
  else if (system("PATH=\"build:$PATH\" OPENBLAS_CORETYPE=SKYLAKEX /usr/bin/python3 "
                  "bench/rivals/outlier_table.py "
                  "../shared/data docs/explanation/outliers.md") != 0)
    puts("no table");
}

int main(int argc, char **argv) {
  bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
  size_t many = quick ? 100000 : 1000000;
  bench_print_machine();
  printf("command: build/bench/bench_ball%s\n", quick ? " quick" : "");
  if (getenv("BENCH_RIVAL") != NULL) load_earlier(getenv("BENCH_RIVAL"));
  if (mkdtemp(directory) == NULL) return 1;
  snprintf(data_file, sizeof data_file, "%s/data", directory);
  build_cgal();
  ball_against_cgal(many);
  ball_growth(many);
  svdd_growth(many);
  paper_setting(quick);
  unlink(data_file);
  unlink(cgal);
  rmdir(directory);
  if (!quick) outlier_table();
  return 0;
}
