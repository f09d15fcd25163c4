/* The embedding and its inverse as a fraction of the machine's fastest copy of the same bytes.
 *
 *   build/bench/bench_embed [MiB of input, default 256] [rounds, default 9] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/capball.h"
#include "support/roofline.h"
#include "support/timing.h"

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

static float noise(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) * 0x1p-23f - 1;
}

/* ratio > 1: faster than the copy */
static double fraction(double bytes, double seconds, double copy_bytes, double copy_seconds) {
  return bytes / seconds / (copy_bytes / copy_seconds);
}

static void measure(size_t d, size_t input_bytes, int rounds, const cpb_exec *exec) {
  size_t n = input_bytes / 4 / d / 64 * 64, room = n * (d + 1) * 4;
  float *x = bench_memory(room), *y = bench_memory(room), *z = bench_memory(room);
  uint8_t *bytes = bench_memory(n * d);
  uint32_t state = 1;
  for (size_t i = 0; i < n * d; i++) {
    x[i] = noise(&state);
    bytes[i] = (uint8_t)(state >> 24);
  }
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = d;
  cpb_map *map;
  if (cpb_map_new(&options, &map, NULL) != CPB_OK) exit(1);
  cpb_view in_place_view = {z, CPB_F32, n, d, d + 1};
  cpb_out in_place_out = {z, CPB_F32, n, d + 1, d + 1};
  work forward = {map, cpb_rows(x, CPB_F32, n, d), cpb_rows_out(y, CPB_F32, n, d + 1), exec};
  work small = {map, cpb_rows(bytes, CPB_U8, n, d), cpb_rows_out(z, CPB_F32, n, d + 1), exec};
  work back = {map, cpb_rows(y, CPB_F32, n, d + 1), cpb_rows_out(z, CPB_F32, n, d), exec};
  work in_place = {map, in_place_view, in_place_out, exec};
  roofline_copy copy = {x, z, n * d * 4 + n * 2, exec};
  embed(&forward);
  bench_rival rivals[] = {{"copy", roofline_run, &copy, 0},
                          {"embed", embed, &forward, 0},
                          {"u8", embed, &small, 0},
                          {"unembed", unembed, &back, 0},
                          {"in place", embed, &in_place, 0}};
  bench_rounds(rivals, 5, rounds);
  double in_place_moved = (double)(n * 2 * (d + 1) * 4); /* the free place of a row is read as well */
  double copied = 2 * (double)copy.bytes, moved = (double)(n * (2 * d + 1) * 4),
         copy_seconds = rivals[0].best;
  printf("%5zu %8zu %3zu %9.1f %9.2f %9.2f %9.2f %11.2f\n", d, n, exec == NULL ? 1 : exec->threads,
         copied / copy_seconds * 1e-9, fraction(moved, rivals[1].best, copied, copy_seconds),
         fraction(moved, rivals[3].best, copied, copy_seconds),
         fraction(in_place_moved, rivals[4].best, copied, copy_seconds), rivals[1].best / rivals[2].best);
  fflush(stdout);
  cpb_map_free(map);
  bench_release(x, room);
  bench_release(y, room);
  bench_release(z, room);
  bench_release(bytes, n * d);
}

int main(int argc, char **argv) {
  size_t mib = argc > 1 ? (size_t)atoi(argv[1]) : 256;
  int rounds = argc > 2 ? atoi(argv[2]) : 9;
  static const size_t dims[] = {2, 3, 10, 24, 64, 128, 784, 1536};
  cpb_pool *pool;
  if (cpb_pool_new(2, &pool, NULL) != CPB_OK) return 1;
  bench_print_machine();
  printf("# f32, fraction of a non-temporal copy of the same bytes (1.00 = as fast as copying)\n");
  printf("#   d     rows thr copy GB/s     embed   unembed  in place  u8/f32 rows\n");
  for (size_t t = 1; t <= 2; t++)
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
      measure(dims[i], mib << 20, rounds, t == 1 ? NULL : cpb_pool_exec(pool));
  cpb_pool_free(pool);
  return 0;
}
