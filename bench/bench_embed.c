/* The embedding and its inverse, about a centre as `fit` writes it and without one, as a fraction of the machine's
 * fastest copy of the same bytes, also on AVX2 where the machine has more; whitened maps as a fraction of the multiply-adds it
 * can do; gradients of a layer.
 *
 *   build/bench/bench_embed [MiB of input and output] [rounds of a pass] [passes]
 *
 * What is read and written is four times as large as the largest cache, 256 MiB at least: of less, a part stays in the cache,
 * and a copy of it is not limited by memory. */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capball/capball.h"
#include "capball/advanced/laws.h"
#include "support/peak.h"
#include "support/roofline.h"
#include "support/timing.h"

static const size_t dims[] = {2, 3, 4, 10, 16, 24, 48, 64, 128, 784, 1536};
enum { DIMS = sizeof dims / sizeof *dims };

typedef struct types {
  cpb_dtype in, out;
} types;

/* The fitted map of floats comes first. */
static const types pairs[] = {{CPB_F32, CPB_F32}, {CPB_F64, CPB_F64}, {CPB_F32, CPB_F64}, {CPB_F64, CPB_F32},
                              {CPB_F16, CPB_F32}, {CPB_U8, CPB_F32},  {CPB_I8, CPB_F32},  {CPB_F16, CPB_F64},
                              {CPB_U8, CPB_F64},  {CPB_I8, CPB_F64}};

typedef struct work {
  const cpb_map *map;
  cpb_view in;
  cpb_out out;
  const cpb_exec *exec;
} work;

/* Some rows have no image, which is not a failure here. */
static void must_run(cpb_status status) {
  if (status == CPB_OK || status == CPB_EROW) return;
  fprintf(stderr, "bench_embed: %s\n", cpb_status_name(status));
  exit(1);
}

static void embed(void *arg) {
  work *w = arg;
  must_run(cpb_map_embed(w->map, w->in, w->out, w->exec, NULL));
}

static void unembed(void *arg) {
  work *w = arg;
  must_run(cpb_map_unembed(w->map, w->in, w->out, w->exec, NULL));
}

static double noise(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (double)(*state >> 8) * 0x1p-23 - 1;
}

static void fill(void *rows, cpb_dtype dtype, size_t count) {
  uint32_t state = 1;
  for (size_t i = 0; i < count; i++) {
    double x = noise(&state);
    switch (dtype) {
    case CPB_F32: ((float *)rows)[i] = (float)x; break;
    case CPB_F64: ((double *)rows)[i] = x; break;
    case CPB_F16: ((uint16_t *)rows)[i] = (uint16_t)(0x3000 + (state >> 23)); break;
    default: ((uint8_t *)rows)[i] = (uint8_t)(state >> 25);
    }
  }
}

static cpb_map *new_map(size_t d, const double *center, const double *whiten) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = d;
  options.s = sqrt((double)d);
  options.center = center;
  options.whiten = whiten;
  cpb_map *map;
  if (cpb_map_new(&options, &map, NULL) != CPB_OK) exit(1);
  return map;
}

/* The best seconds of several loops, and of the copy of as many bytes before each, with the same number of tries. */
enum { LOOPS_MOST = 5, MOST_PAIRED = 256 };
typedef struct seconds {
  double copy[LOOPS_MOST], loop[LOOPS_MOST];
  /* embedding, then unembedding, about a centre: the speed of each round relative to the same map without one */
  float about[2][MOST_PAIRED];
  size_t paired;
} seconds;

/* The smaller of the two. */
static void keep(double *best, double now) {
  if (*best == 0 || now < *best) *best = now;
}

/* Alternates a copy and a loop. */
static void keep_rounds(bench_rival *rivals, size_t loops, int rounds, seconds *best) {
  bench_rounds(rivals, 2 * loops, rounds);
  for (size_t i = 0; i < loops; i++) {
    keep(&best->copy[i], rivals[2 * i].best);
    keep(&best->loop[i], rivals[2 * i + 1].best);
  }
}

/* The measurements of a map, in this order. */
enum { EMBED_ABOUT, EMBED, UNEMBED_ABOUT, UNEMBED, IN_PLACE };

/* Of one round. */
static void keep_pairs(const bench_rival *rivals, seconds *best) {
  if (best->paired == MOST_PAIRED) return;
  for (size_t i = 0; i < 2; i++)
    best->about[i][best->paired] =
        (float)(rivals[2 * (2 * i + EMBED) + 1].best / rivals[2 * (2 * i + EMBED_ABOUT) + 1].best);
  best->paired++;
}

static size_t rows_in(size_t d, types of, size_t bytes) {
  return bytes / (d * cpb_dtype_size(of.in) + (d + 1) * cpb_dtype_size(of.out)) / 64 * 64 + 64;
}

/* Rows and results stay from one measurement to the next: clearing new memory takes as long as measuring. */
static void *keep_room(size_t which, size_t bytes) {
  static struct {
    void *memory;
    size_t bytes;
  } rooms[5];
  if (rooms[which].bytes < bytes) {
    if (rooms[which].bytes > 0) bench_release(rooms[which].memory, rooms[which].bytes);
    rooms[which].memory = bench_memory(bytes);
    rooms[which].bytes = bytes;
  }
  return rooms[which].memory;
}

static void measure(size_t d, types of, size_t bytes, int rounds, const cpb_exec *exec, seconds *best) {
  size_t in_size = cpb_dtype_size(of.in), out_size = cpb_dtype_size(of.out), n = rows_in(d, of, bytes);
  size_t in_room = n * (d + 1) * in_size, out_room = n * (d + 1) * out_size;
  void *x = keep_room(0, in_room), *y = keep_room(1, in_room), *from = keep_room(2, in_room);
  void *z = keep_room(3, out_room), *to = keep_room(4, out_room);
  fill(x, of.in, n * d);
  double *center = bench_memory(d * sizeof *center);
  for (size_t i = 0; i < d; i++) center[i] = (double)(float)(0.3 * sin((double)i)); /* as fit writes it */
  cpb_map *maps[2] = {new_map(d, center, NULL), new_map(d, NULL, NULL)};
  bool real = of.in == CPB_F32 || of.in == CPB_F64;
  if (real)
    must_run(cpb_map_embed(maps[1], cpb_rows(x, of.in, n, d), cpb_rows_out(y, of.in, n, d + 1), NULL, NULL));
  work forth[2], back[2];
  for (int i = 0; i < 2; i++) {
    forth[i] = (work){maps[i], cpb_rows(x, of.in, n, d), cpb_rows_out(z, of.out, n, d + 1), exec};
    back[i] = (work){maps[i], cpb_rows(y, of.in, n, d + 1), cpb_rows_out(z, of.out, n, d), exec};
  }
  work place = {maps[0], {y, of.in, n, d, d + 1}, {y, of.in, n, d + 1, d + 1}, exec};
  roofline_copy copy_forth = {from, to, n * d * in_size, out_room, exec},
                copy_back = {from, to, in_room, n * d * out_size, exec},
                copy_place = {from, to, in_room, in_room, exec};
  /* each after a copy, so that none finds data of the previous one in a cache */
  bench_rival rivals[] = {{"", roofline_run, &copy_forth, 0}, {"", embed, &forth[0], 0},
                          {"", roofline_run, &copy_forth, 0}, {"", embed, &forth[1], 0},
                          {"", roofline_run, &copy_back, 0},  {"", unembed, &back[0], 0},
                          {"", roofline_run, &copy_back, 0},  {"", unembed, &back[1], 0},
                          {"", roofline_run, &copy_place, 0}, {"", embed, &place, 0}};
  for (int round = 0; round < rounds; round++) {
    keep_rounds(rivals, !real ? EMBED + 1 : of.in == of.out ? IN_PLACE + 1 : UNEMBED + 1, 1, best);
    if (real) keep_pairs(rivals, best);
  }
  for (int i = 0; i < 2; i++) cpb_map_free(maps[i]);
  bench_release(center, d * sizeof *center);
}

static void print_head(types of, const char *what, size_t threads) {
  printf("%-4s %-4s %-17s %zu ", cpb_dtype_name(of.in), cpb_dtype_name(of.out), what, threads);
}

static void print_row(types of, const char *what, size_t threads, const seconds *best, size_t loop) {
  print_head(of, what, threads);
  for (size_t i = 0; i < DIMS; i++) printf(" %5.2f", best[i].copy[loop] / best[i].loop[loop]);
  printf("\n");
  fflush(stdout);
}

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Rows per second about a centre, relative to the same map without one: the median of all rounds. The best times of the two are
 * from different moments, between which the speed of memory changes by more than the centre costs. */
static void print_cost(types of, const char *what, size_t threads, seconds *best, size_t i) {
  print_head(of, what, threads);
  for (size_t k = 0; k < DIMS; k++) {
    qsort(best[k].about[i], best[k].paired, sizeof(float), by_size);
    printf(" %5.2f", (double)best[k].about[i][best[k].paired / 2]);
  }
  printf("\n");
}

/* Rows per second, relative to floats. */
static void print_beside(types of, size_t threads, const seconds *best, const seconds *floats, size_t bytes) {
  print_head(of, "rows, of f32's", threads);
  for (size_t i = 0; i < DIMS; i++)
    printf(" %5.2f", (double)rows_in(dims[i], of, bytes) / best[i].loop[EMBED_ABOUT] /
                         ((double)rows_in(dims[i], pairs[0], bytes) / floats[i].loop[EMBED_ABOUT]));
  printf("\n");
}

static void print_table(types of, size_t threads, seconds *best) {
  bool real = of.in == CPB_F32 || of.in == CPB_F64;
  print_row(of, "embed, centre", threads, best, EMBED_ABOUT);
  if (real) print_row(of, "unembed, centre", threads, best, UNEMBED_ABOUT);
  if (of.in == of.out) print_row(of, "in place, centre", threads, best, IN_PLACE);
  print_row(of, "embed", threads, best, EMBED);
  if (real) print_row(of, "unembed", threads, best, UNEMBED);
  if (of.in == CPB_F32 && of.out == CPB_F32) {
    print_cost(of, "of bare, embed", threads, best, 0);
    print_cost(of, "of bare, unembed", threads, best, 1);
  }
}

static void print_dims(void) {
  printf("#in  out                 threads");
  for (size_t i = 0; i < DIMS; i++) printf(" %5zu", dims[i]);
  printf("\n");
}

enum { PAIRS = sizeof pairs / sizeof *pairs };

static void print_tables(seconds table[PAIRS][DIMS], size_t threads, size_t bytes) {
  for (size_t i = 0; i < PAIRS; i++) {
    print_table(pairs[i], threads, table[i]);
    if (pairs[i].out == CPB_F32 && pairs[i].in > CPB_F64)
      print_beside(pairs[i], threads, table[i], table[0], bytes);
  }
}

static const size_t whitened_dims[] = {128, 784};
enum { WHITENED_DIMS = sizeof whitened_dims / sizeof *whitened_dims };

/* The best seconds for this many multiply-adds, and for as many of peak_run(). */
typedef struct whitened_seconds {
  double peak, embed, unembed, operations;
} whitened_seconds;

static void measure_whitened(size_t d, int rounds, whitened_seconds *best) {
  size_t n = ((size_t)1 << 31) / d / d / 96 * 96 + 96, room = n * (d + 1) * sizeof(double);
  double *x = bench_memory(room), *y = bench_memory(room), *W = bench_memory(d * d * sizeof *W);
  double *center = bench_memory(d * sizeof *center);
  fill(x, CPB_F64, n * d);
  uint32_t state = 2;
  for (size_t i = 0; i < d * d; i++)
    W[i] = (i % (d + 1) == 0 ? 2 : 0) + 0.1 * noise(&state) / sqrt((double)d);
  cpb_map *map = new_map(d, center, W);
  float result;
  work forth = {map, cpb_rows(x, CPB_F64, n, d), cpb_rows_out(y, CPB_F64, n, d + 1), NULL};
  work back = {map, cpb_rows(y, CPB_F64, n, d + 1), cpb_rows_out(x, CPB_F64, n, d), NULL};
  bench_rival rivals[] = {{"peak", peak_run, &result, 0}, {"", embed, &forth, 0}, {"", unembed, &back, 0}};
  bench_rounds(rivals, 3, rounds);
  best->operations = 2.0 * (double)(n * d * d);
  keep(&best->peak, rivals[0].best);
  keep(&best->embed, rivals[1].best);
  keep(&best->unembed, rivals[2].best);
  cpb_map_free(map);
  bench_release(x, room), bench_release(y, room), bench_release(W, d * d * sizeof *W);
  bench_release(center, d * sizeof *center);
}

static void print_whitened(size_t d, const whitened_seconds *best) {
  double peak = peak_operations() / 2 / best->peak;
  printf("%6zu %9.2f %9.2f\n", d, best->operations / best->embed / peak,
         best->operations / best->unembed / peak);
}

typedef struct layer_work {
  cpb_view row, g;
  cpb_out out;
  double t;
} layer_work;

static void backward(void *arg) {
  layer_work *w = arg;
  must_run(cpb_layer_backward(w->row, w->g, 1.5, w->out, &w->t, NULL, NULL));
}

static void backward_saved(void *arg) {
  layer_work *w = arg;
  must_run(cpb_layer_backward_saved(w->row, w->g, 1.5, w->out, &w->t, NULL, NULL));
}

static void inverse_backward(void *arg) {
  layer_work *w = arg;
  must_run(cpb_layer_inverse_backward(w->row, w->g, 1.5, w->out, &w->t, NULL, NULL));
}

/* Forward, and backward from x, from y and of the inverse, each after a copy of as many bytes. */
enum { LAYER_LOOPS = 4 };

static void measure_layer(size_t d, cpb_dtype dtype, size_t bytes, int rounds, seconds *best) {
  size_t size = cpb_dtype_size(dtype), n = bytes / size / (3 * d + 2) / 64 * 64 + 64,
         room = n * (d + 1) * size;
  void *x = bench_memory(room), *y = bench_memory(room), *g = bench_memory(room), *out = bench_memory(room);
  void *from = bench_memory(2 * room);
  fill(x, dtype, n * d), fill(g, dtype, n * (d + 1));
  cpb_map *map = new_map(d, NULL, NULL);
  work forward = {map, cpb_rows(x, dtype, n, d), cpb_rows_out(y, dtype, n, d + 1), NULL};
  embed(&forward);
  cpb_view narrow_g = cpb_rows(g, dtype, n, d), wide_g = cpb_rows(g, dtype, n, d + 1);
  layer_work from_x = {cpb_rows(x, dtype, n, d), wide_g, cpb_rows_out(out, dtype, n, d), 0};
  layer_work from_y = {cpb_rows(y, dtype, n, d + 1), wide_g, cpb_rows_out(out, dtype, n, d), 0};
  layer_work inverse = {cpb_rows(y, dtype, n, d + 1), narrow_g, cpb_rows_out(out, dtype, n, d + 1), 0};
  size_t row = n * d * size;
  roofline_copy copies[LAYER_LOOPS] = {{from, out, row, room, NULL},
                                       {from, out, row + room, row, NULL},
                                       {from, out, 2 * room, row, NULL},
                                       {from, out, row + room, room, NULL}};
  bench_rival rivals[] = {{"", roofline_run, &copies[0], 0}, {"", embed, &forward, 0},
                          {"", roofline_run, &copies[1], 0}, {"", backward, &from_x, 0},
                          {"", roofline_run, &copies[2], 0}, {"", backward_saved, &from_y, 0},
                          {"", roofline_run, &copies[3], 0}, {"", inverse_backward, &inverse, 0}};
  keep_rounds(rivals, LAYER_LOOPS, rounds, best);
  cpb_map_free(map);
  bench_release(x, room), bench_release(y, room), bench_release(g, room), bench_release(out, room);
  bench_release(from, 2 * room);
}

static void print_layer(size_t d, cpb_dtype dtype, const seconds *best) {
  printf("%-4s %6zu", cpb_dtype_name(dtype), d);
  for (size_t i = 0; i < LAYER_LOOPS; i++) printf(" %9.2f", best->copy[i] / best->loop[i]);
  printf("\n");
}

/* More rounds for the fitted map of floats: the cost of a centre is a small difference. */
enum { FITTED_ROUNDS = 2 };
enum { THREADS = 2, LAYER_FIRST = 7, LAYER_END = DIMS - 1, REALS = 2 };

/* The ways that the table is measured: one thread, two, and one on AVX2. */
enum { ONE_THREAD, TWO_THREADS, ON_AVX2, WAYS };

/* Everything is measured in several passes, minutes apart, and the best is kept: other load on the machine slows
 * computing more than copying. */
typedef struct results {
  seconds table[WAYS][PAIRS][DIMS];
  seconds layer[LAYER_END][REALS];
  whitened_seconds whitened[WHITENED_DIMS];
} results;

/* The instruction set of a way; `own` is what the caller asked for, or NULL. */
static void choose_isa(size_t way, const char *own) {
  if (way == ON_AVX2)
    setenv("CPB_ISA", "avx2", 1);
  else if (own != NULL)
    setenv("CPB_ISA", own, 1);
  else
    unsetenv("CPB_ISA");
}

/* Whether AVX2 is there, and not the best that is. */
static bool has_avx2_beside(const char *own) {
  const char *best = cpb_isa_name();
  choose_isa(ON_AVX2, own);
  bool beside = strcmp(cpb_isa_name(), "avx2") == 0 && strcmp(best, "avx2") != 0;
  choose_isa(ONE_THREAD, own);
  return beside;
}

static void pass(size_t bytes, int rounds, const cpb_exec *exec, const char *own, results *best) {
  for (size_t way = 0; way < (has_avx2_beside(own) ? WAYS : ON_AVX2); way++) {
    choose_isa(way, own);
    for (size_t i = 0; i < PAIRS; i++)
      for (size_t k = 0; k < DIMS; k++)
        measure(dims[k], pairs[i], bytes, i == 0 ? FITTED_ROUNDS * rounds : rounds,
                way == TWO_THREADS ? exec : NULL, &best->table[way][i][k]);
  }
  choose_isa(ONE_THREAD, own);
  for (size_t k = LAYER_FIRST; k < LAYER_END; k++)
    for (size_t real = 0; real < REALS; real++)
      measure_layer(dims[k], real == 0 ? CPB_F32 : CPB_F64, bytes, rounds, &best->layer[k][real]);
  for (size_t k = 0; peak_operations() > 0 && k < WHITENED_DIMS; k++)
    measure_whitened(whitened_dims[k], rounds, &best->whitened[k]);
}

/* Passes of about half an hour, two at least. */
enum { CACHES = 4, MIB_LEAST = 256, ROUNDS = 4, PASSES_LEAST = 2, MIB_OF_PASSES = 2048 };

static size_t default_mib(void) {
  size_t mib = CACHES * (bench_cache_bytes() >> 20);
  return mib > MIB_LEAST ? mib : MIB_LEAST;
}

static int default_passes(size_t mib) {
  size_t passes = MIB_OF_PASSES / mib;
  return (int)(passes > PASSES_LEAST ? passes : PASSES_LEAST);
}

int main(int argc, char **argv) {
  size_t mib = argc > 1 && atoi(argv[1]) > 0 ? (size_t)atoi(argv[1]) : default_mib(), bytes = mib << 20;
  int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS, passes = argc > 3 ? atoi(argv[3]) : default_passes(mib);
  static results best;
  const char *asked = getenv("CPB_ISA");
  char *own = asked == NULL ? NULL : strdup(asked); /* the environment will be changed */
  cpb_pool *pool;
  if (cpb_pool_new(THREADS, &pool, NULL) != CPB_OK) return 1;
  for (int i = 0; i < passes; i++) {
    if (isatty(STDERR_FILENO)) fprintf(stderr, "pass %d of %d\r", i + 1, passes);
    pass(bytes, rounds, cpb_pool_exec(pool), own, &best);
  }
  bench_print_machine();
  printf("# %zu MiB of input and output, the largest cache has %zu MiB; the best of %d rounds\n", mib,
         bench_cache_bytes() >> 20, rounds * passes);
  printf(
      "# fraction of a non-temporal copy that reads and writes as many bytes (1.00 = as fast as copying)\n");
  printf("# of bare: rows per second about a centre beside the same map without it; rows, of f32's: beside "
         "f32\n");
  for (size_t way = 0; way < (has_avx2_beside(own) ? WAYS : ON_AVX2); way++) {
    if (way == ON_AVX2) printf("# avx2\n");
    if (way != TWO_THREADS) print_dims();
    print_tables(best.table[way], way == TWO_THREADS ? 2 : 1, bytes);
  }
  printf("# a layer, one thread, fraction of the copy that reads and writes as many bytes\n");
  printf("#         d   forward    from x    from y   inverse\n");
  for (size_t k = LAYER_FIRST; k < LAYER_END; k++)
    for (size_t real = 0; real < REALS; real++)
      print_layer(dims[k], real == 0 ? CPB_F32 : CPB_F64, &best.layer[k][real]);
  if (peak_operations() > 0) {
    printf("# whitened f64, one thread, fraction of the multiply-adds of doubles\n");
    printf("#    d     embed   unembed\n");
    for (size_t k = 0; k < WHITENED_DIMS; k++) print_whitened(whitened_dims[k], &best.whitened[k]);
  }
  cpb_pool_free(pool);
  free(own);
  return 0;
}
