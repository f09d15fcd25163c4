/* Built by older_caller.sh against headers whose structs have lost their last member: an older caller. The library
 * must read and write no more than the caller's structs hold, and use its defaults for the rest. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "capball/capball.h"
#include "capball/advanced/statistics.h"

static int wrong;
#define MUST(claim) ((claim) ? (void)0 : (void)(wrong++, printf("line %d: %s\n", __LINE__, #claim)))

/* Guard bytes behind a struct. */
#define GUARDED(type, name)                                                                                  \
  struct {                                                                                                   \
    type it;                                                                                                 \
    unsigned char behind[64];                                                                                \
  } name;                                                                                                    \
  memset(&name, 0xa5, sizeof name)

static int untouched(const unsigned char *behind) {
  for (size_t i = 0; i < 64; i++)
    if (behind[i] != 0xa5) return 0;
  return 1;
}

static const double x[8] = {1, 0, -1, 0, 0, 1, 0, -1};

static void a_ball(void) {
  double center[2], multipliers[3];
  uint64_t rows[3];
  GUARDED(cpb_ball_options, options);
  GUARDED(cpb_ball_report, report);
  cpb_error error;
  cpb_ball_out out = {center, rows, multipliers};
  cpb_ball_options_init(&options.it, sizeof options.it);
  report.it = (cpb_ball_report){.size = sizeof report.it};
  MUST(untouched(options.behind) && untouched(report.behind));
  MUST(options.it.gap == 1e-9 && options.it.size == sizeof options.it);
  MUST(cpb_enclosing_ball(cpb_rows(x, CPB_F64, 4, 2), &options.it, &out, &report.it, NULL, &error) == CPB_OK);
  MUST(fabs(report.it.radius - 1) < 1e-9 && report.it.size == sizeof report.it);
  MUST(untouched(options.behind) && untouched(report.behind));
}

static void a_map(void) {
  GUARDED(cpb_map_options, options);
  GUARDED(cpb_map_options, told);
  GUARDED(cpb_exec, exec);
  double y[12];
  cpb_map *map = NULL;
  cpb_error error;
  cpb_map_options_init(&options.it, sizeof options.it);
  cpb_map_options_init(&told.it, sizeof told.it);
  cpb_exec_init(&exec.it, sizeof exec.it);
  options.it.d = 2;
  options.it.s = 3;
  MUST(cpb_map_new(&options.it, &map, &error) == CPB_OK);
  cpb_map_describe(map, &told.it);
  MUST(told.it.s == 3 && told.it.size == sizeof told.it);
  MUST(cpb_map_embed(map, cpb_rows(x, CPB_F64, 4, 2), cpb_rows_out(y, CPB_F64, 4, 3), &exec.it, &error) ==
       CPB_OK);
  MUST(fabs(y[0] - 0.6) < 1e-15 && fabs(y[2] - 0.8) < 1e-15);
  MUST(untouched(options.behind) && untouched(told.behind) && untouched(exec.behind));
  cpb_map_free(map);
}

static void statistics(void) {
  GUARDED(cpb_statistics_options, options);
  GUARDED(cpb_statistics_result, result);
  cpb_statistics *of = NULL;
  cpb_error error;
  cpb_statistics_options_init(&options.it, sizeof options.it);
  result.it = (cpb_statistics_result){.size = sizeof result.it};
  options.it.d = 2;
  options.it.dtype = CPB_F64;
  MUST(cpb_statistics_new(&options.it, &of, &error) == CPB_OK);
  MUST(cpb_statistics_update(of, cpb_rows(x, CPB_F64, 4, 2), 0, &error) == CPB_OK);
  MUST(cpb_statistics_finish(of, &result.it, &error) == CPB_OK);
  MUST(result.it.rows == 4 && result.it.mean[0] == 0 && result.it.mean[1] == 0);
  MUST(untouched(options.behind) && untouched(result.behind));
  cpb_statistics_free(of);
}

/* A caller newer than the library, or one that did not set the size, gets an error. */
static void sizes_that_cannot_be(void) {
  struct {
    cpb_ball_options it;
    char more[64];
  } options;
  double center[2];
  cpb_ball_out out = {.center = center};
  cpb_error error;
  cpb_ball_options_init(&options.it, sizeof options);
  MUST(cpb_enclosing_ball(cpb_rows(x, CPB_F64, 4, 2), &options.it, &out, NULL, NULL, &error) == CPB_EINVAL);
  MUST(error.reason == CPB_WHY_SIZE_NEWER && strcmp(error.argument, "cpb_ball_options") == 0);
  options.it.size = 0;
  MUST(cpb_enclosing_ball(cpb_rows(x, CPB_F64, 4, 2), &options.it, &out, NULL, NULL, &error) == CPB_EINVAL);
  MUST(error.reason == CPB_WHY_SIZE_NONE);
}

int main(void) {
  a_ball();
  a_map();
  statistics();
  sizes_that_cannot_be();
  printf("%zu %zu %zu %zu %zu %zu\n", sizeof(cpb_ball_options), sizeof(cpb_ball_report),
         sizeof(cpb_map_options), sizeof(cpb_exec), sizeof(cpb_statistics_options),
         sizeof(cpb_statistics_result));
  return wrong != 0;
}
