/* The embedding and its inverse, about a centre as `fit` writes it and without one, as a fraction of the machine's
 * fastest copy of the same bytes; whitened maps as a fraction of the multiply-adds it can do; gradients of a layer.
 *
 *   build/bench/bench_embed [MiB of input and output, default 256] [rounds, default 9] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/capball.h"
#include "support/peak.h"
#include "support/roofline.h"
#include "support/timing.h"

static const size_t dims[] = {2, 3, 4, 10, 16, 24, 48, 64, 128, 784, 1536};
enum { DIMS = sizeof dims / sizeof *dims };

typedef struct types {
  cpb_dtype in, out;
} types;

/* The fitted map of floats first. */
static const types pairs[] = {{CPB_F32, CPB_F32}, {CPB_F64, CPB_F64}, {CPB_F32, CPB_F64}, {CPB_F64, CPB_F32},
                              {CPB_F16, CPB_F32}, {CPB_U8, CPB_F32},  {CPB_I8, CPB_F32},  {CPB_F16, CPB_F64},
                              {CPB_U8, CPB_F64},  {CPB_I8, CPB_F64}};

typedef struct work {
  const cpb_map *map;
  cpb_view in;
  cpb_out out;
  const cpb_exec *exec;
} work;

static void embed(void *arg) {
  work *w = arg;
  cpb_map_embed(w->map, w->in, w->out, w->exec, NULL);
}

static void unembed(void *arg) {
  work *w = arg;
  cpb_map_unembed(w->map, w->in, w->out, w->exec, NULL);
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

/* What a table has of one d: about a centre and without one, forth and back; > 1 is faster than the copy. */
typedef struct fractions {
  double embed[2], unembed[2], in_place;
} fractions;

static fractions measure(size_t d, types of, size_t bytes, int rounds, const cpb_exec *exec) {
  size_t in_size = cpb_dtype_size(of.in), out_size = cpb_dtype_size(of.out);
  size_t n = bytes / (d * in_size + (d + 1) * out_size) / 64 * 64 + 64;
  size_t in_room = n * (d + 1) * in_size, out_room = n * (d + 1) * out_size;
  void *x = bench_memory(in_room), *y = bench_memory(in_room), *z = bench_memory(out_room);
  double moved = (double)(n * d * in_size + n * (d + 1) * out_size);
  size_t half = (size_t)moved / 2;
  void *from = bench_memory(half), *to = bench_memory(half);
  fill(x, of.in, n * d);
  double *center = bench_memory(d * sizeof *center);
  for (size_t i = 0; i < d; i++) center[i] = 0.3 * sin((double)i);
  cpb_map *maps[2] = {new_map(d, center, NULL), new_map(d, NULL, NULL)};
  bool real = of.in == CPB_F32 || of.in == CPB_F64;
  if (real) cpb_map_embed(maps[1], cpb_rows(x, of.in, n, d), cpb_rows_out(y, of.in, n, d + 1), NULL, NULL);
  work forth[2], back[2];
  for (int i = 0; i < 2; i++) {
    forth[i] = (work){maps[i], cpb_rows(x, of.in, n, d), cpb_rows_out(z, of.out, n, d + 1), exec};
    back[i] = (work){maps[i], cpb_rows(y, of.in, n, d + 1), cpb_rows_out(z, of.out, n, d), exec};
  }
  work place = {maps[0], {y, of.in, n, d, d + 1}, {y, of.in, n, d + 1, d + 1}, exec};
  roofline_copy copy = {from, to, half, exec, NULL};
  bench_rival rivals[] = {{"copy", roofline_run, &copy, 0}, {"", embed, &forth[0], 0},
                          {"", embed, &forth[1], 0},        {"", unembed, &back[0], 0},
                          {"", unembed, &back[1], 0},       {"", embed, &place, 0}};
  bench_rounds(rivals, real ? of.in == of.out ? 6 : 5 : 3, rounds);
  double rate = 2 * (double)half / rivals[0].best;
  double returned = (double)(n * (d + 1) * in_size + n * d * out_size);
  double place_moved = (double)(2 * n * (d + 1) * in_size);
  fractions f = {{moved / rivals[1].best / rate, moved / rivals[2].best / rate},
                 {returned / rivals[3].best / rate, returned / rivals[4].best / rate},
                 place_moved / rivals[5].best / rate};
  for (int i = 0; i < 2; i++) cpb_map_free(maps[i]);
  bench_release(x, in_room), bench_release(y, in_room), bench_release(z, out_room);
  bench_release(from, half), bench_release(to, half), bench_release(center, d * sizeof *center);
  return f;
}

static void print_row(types of, const char *what, size_t threads, const fractions *f, size_t offset) {
  printf("%-4s %-4s %-17s %zu ", cpb_dtype_name(of.in), cpb_dtype_name(of.out), what, threads);
  for (size_t i = 0; i < DIMS; i++) printf(" %5.2f", *(const double *)((const char *)&f[i] + offset));
  printf("\n");
  fflush(stdout);
}

static void table(types of, size_t bytes, int rounds, const cpb_exec *exec, size_t threads) {
  fractions f[DIMS];
  bool real = of.in == CPB_F32 || of.in == CPB_F64;
  for (size_t i = 0; i < DIMS; i++) f[i] = measure(dims[i], of, bytes, rounds, exec);
  print_row(of, "embed, centre", threads, f, offsetof(fractions, embed[0]));
  if (real) print_row(of, "unembed, centre", threads, f, offsetof(fractions, unembed[0]));
  if (of.in == of.out) print_row(of, "in place, centre", threads, f, offsetof(fractions, in_place));
  print_row(of, "embed", threads, f, offsetof(fractions, embed[1]));
  if (real) print_row(of, "unembed", threads, f, offsetof(fractions, unembed[1]));
}

static void whitened(size_t d, int rounds) {
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
  double peak = peak_operations() / 2 / rivals[0].best, operations = 2.0 * (double)(n * d * d);
  printf("%6zu %9.2f %9.2f\n", d, operations / rivals[1].best / peak, operations / rivals[2].best / peak);
  fflush(stdout);
  cpb_map_free(map);
  bench_release(x, room), bench_release(y, room), bench_release(W, d * d * sizeof *W);
  bench_release(center, d * sizeof *center);
}

typedef struct layer_work {
  cpb_view row, g;
  cpb_out out;
  double t;
} layer_work;

static void backward(void *arg) {
  layer_work *w = arg;
  cpb_layer_backward(w->row, w->g, 1.5, w->out, &w->t, NULL, NULL);
}

static void backward_saved(void *arg) {
  layer_work *w = arg;
  cpb_layer_backward_saved(w->row, w->g, 1.5, w->out, &w->t, NULL, NULL);
}

static void inverse_backward(void *arg) {
  layer_work *w = arg;
  cpb_layer_inverse_backward(w->row, w->g, 1.5, w->out, &w->t, NULL, NULL);
}

static void layer(size_t d, cpb_dtype dtype, size_t bytes, int rounds) {
  size_t size = cpb_dtype_size(dtype), n = bytes / size / (3 * d + 2) / 64 * 64 + 64,
         room = n * (d + 1) * size;
  void *x = bench_memory(room), *y = bench_memory(room), *g = bench_memory(room), *out = bench_memory(room);
  fill(x, dtype, n * d), fill(g, dtype, n * (d + 1));
  cpb_map *map = new_map(d, NULL, NULL);
  work forward = {map, cpb_rows(x, dtype, n, d), cpb_rows_out(y, dtype, n, d + 1), NULL};
  embed(&forward);
  cpb_view narrow_g = cpb_rows(g, dtype, n, d), wide_g = cpb_rows(g, dtype, n, d + 1);
  layer_work from_x = {cpb_rows(x, dtype, n, d), wide_g, cpb_rows_out(out, dtype, n, d), 0};
  layer_work from_y = {cpb_rows(y, dtype, n, d + 1), wide_g, cpb_rows_out(out, dtype, n, d), 0};
  layer_work inverse = {cpb_rows(y, dtype, n, d + 1), narrow_g, cpb_rows_out(out, dtype, n, d + 1), 0};
  size_t half = n * d * size;
  roofline_copy copy = {x, out, half, NULL, NULL}, join = {x, out, half, NULL, g};
  bench_rival rivals[] = {{"copy", roofline_run, &copy, 0}, {"", roofline_run, &join, 0},
                          {"", embed, &forward, 0},         {"", backward, &from_x, 0},
                          {"", backward_saved, &from_y, 0}, {"", inverse_backward, &inverse, 0}};
  bench_rounds(rivals, 6, rounds);
  double rate = 2 * (double)half / rivals[0].best, row = (double)(n * size);
  printf("%-4s %6zu %9.2f %9.2f %9.2f %9.2f %9.2f\n", cpb_dtype_name(dtype), d,
         row * (double)(2 * d + 1) / rivals[2].best / rate, row * (double)(3 * d + 1) / rivals[3].best / rate,
         row * (double)(3 * d + 2) / rivals[4].best / rate, row * (double)(3 * d + 2) / rivals[5].best / rate,
         3 * (double)half / rivals[1].best / rate);
  fflush(stdout);
  cpb_map_free(map);
  bench_release(x, room), bench_release(y, room), bench_release(g, room), bench_release(out, room);
}

int main(int argc, char **argv) {
  size_t bytes = (argc > 1 ? (size_t)atoi(argv[1]) : 256) << 20;
  int rounds = argc > 2 ? atoi(argv[2]) : 9;
  cpb_pool *pool;
  if (cpb_pool_new(2, &pool, NULL) != CPB_OK) return 1;
  bench_print_machine();
  printf("# fraction of a non-temporal copy of the same bytes (1.00 = as fast as copying)\n");
  printf("#in  out                 threads");
  for (size_t i = 0; i < DIMS; i++) printf(" %5zu", dims[i]);
  printf("\n");
  for (size_t threads = 1; threads <= 2; threads++)
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
      table(pairs[i], bytes, rounds, threads == 1 ? NULL : cpb_pool_exec(pool), threads);
  printf("# a layer, one thread, fraction of the copy of the bytes it must move; join: two reads to one "
         "write, and nothing"
         " else\n");
  printf("#         d   forward    from x    from y   inverse      join\n");
  for (size_t i = 7; i < DIMS - 1; i++)
    for (cpb_dtype dtype = CPB_F32; dtype <= CPB_F64; dtype++) layer(dims[i], dtype, bytes, rounds);
  if (peak_operations() > 0) {
    printf("# whitened f64, one thread, fraction of the multiply-adds of doubles\n");
    printf("#    d     embed   unembed\n");
    whitened(128, rounds);
    whitened(784, rounds);
  }
  cpb_pool_free(pool);
  return 0;
}
