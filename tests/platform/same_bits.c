/* Computations of the core whose results must have the same bits on every machine: one line each, a name and the
 * FNV-1a of the result bytes. tools/platforms compares the lines of different compilers, processors and libraries. */
#include <capball/capball.h>
#include <capball/advanced/abid.h>
#include <capball/advanced/feed.h>
#include <capball/advanced/laws.h>
#include <capball/advanced/statistics.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/elementary.h"
#include "base/random.h"
#include "sphere/t7_hemisphere.h"
#include "sphere/choice.h"
#include "capball/advanced/estimator.h"
#include "sketch/sketch_train.h"

enum { N = 600, D = 12, CLOSE = 200 };

static double x64[N * D];
static float x32[N * D];
static uint8_t x8[N * D];
static double center[D];

static void make_data(void) {
  cpb_random random = {20261116};
  for (int i = 0; i < N * D; i++) {
    x64[i] = cpb_random_gauss(&random) * cpb_exp(3 * cpb_random_uniform(&random)) + 2;
    x32[i] = (float)x64[i];
    x8[i] = (uint8_t)cpb_random_below(&random, 256);
  }
  for (int j = 0; j < D; j++) center[j] = 2 + 0.1 * j;
}

static uint64_t sum;
static void begin(void) { sum = 0xcbf29ce484222325u; }
static void take(const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}
/* Numbers of so many bytes, the lowest first on every machine. */
static void take_numbers(const void *numbers, size_t count, size_t size) {
  const unsigned char *of = numbers;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < size; k++)
      take(of + i * size + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? k : size - 1 - k), 1);
}
static void take_number(double x) { take_numbers(&x, 1, sizeof x); }
static void take_count(uint64_t x) { take_numbers(&x, 1, sizeof x); }
static void end(const char *name) { printf("%-28s %016" PRIx64 "\n", name, sum); }

static void ok(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  printf("failed: %s\n", error->text);
  exit(1);
}

static void functions(void) {
  static const char *names[] = {"exp", "log", "sin", "cos", "tan"};
  double (*const function[])(double) = {cpb_exp, cpb_log, cpb_sin, cpb_cos, cpb_tan};
  for (int f = 0; f < 5; f++) {
    begin();
    for (int i = 0; i < N * D; i++) take_number(function[f](f == 1 ? x64[i] * x64[i] : x64[i]));
    end(names[f]);
  }
  begin();
  for (int i = 0; i < N * D - 1; i++) {
    take_number(cpb_hypot(x64[i], x64[i + 1]));
    take_number(cpb_pow(x64[i] * x64[i], x64[i + 1] / 8));
  }
  end("hypot and pow");
}

static void map_rows(const char *name, const cpb_map *map, cpb_view x, cpb_dtype to) {
  static double y[N * (D + 1)], back[N * D];
  cpb_error error;
  size_t size = cpb_dtype_size(to);
  begin();
  ok(cpb_map_embed(map, x, cpb_rows_out(y, to, N, D + 1), NULL, &error), &error);
  take_numbers(y, N * (D + 1), size);
  ok(cpb_map_unembed(map, cpb_rows(y, to, N, D + 1), cpb_rows_out(back, to, N, D), NULL, &error), &error);
  take_numbers(back, N * D, size);
  end(name);
}

static void maps(void) {
  cpb_map_options options;
  cpb_map *map;
  cpb_error error;
  double pole[D + 1] = {0.6};
  pole[D] = 0.8;
  for (int kind = 0; kind < 3; kind++) {
    cpb_map_options_init(&options, sizeof options);
    options.d = D;
    options.s = 7.5;
    if (kind > 0) options.center = center;
    if (kind > 1) options.pole = pole;
    ok(cpb_map_new(&options, &map, &error), &error);
    static const char *names[3][3] = {{"map f32", "map f64", "map u8"},
                                      {"map f32, centre", "map f64, centre", "map u8, centre"},
                                      {"map f32, pole", "map f64, pole", "map u8, pole"}};
    map_rows(names[kind][0], map, cpb_rows(x32, CPB_F32, N, D), CPB_F32);
    map_rows(names[kind][1], map, cpb_rows(x64, CPB_F64, N, D), CPB_F64);
    map_rows(names[kind][2], map, cpb_rows(x8, CPB_U8, N, D), CPB_F32);
    cpb_map_free(map);
  }
}

static void regions(void) {
  cpb_error error;
  double p[D + 1], c[D];
  begin();
  for (int i = 0; i + 1 < N; i++) {
    cpb_region ball = {.kind = CPB_BALL, .d = D, .c = x64 + i * D, .r = 1 + fabs(x64[i])};
    cpb_cap cap = {.d = D, .p = p};
    cpb_region back = {.c = c};
    ok(cpb_cap_from_region(&ball, 5, &cap, &error), &error);
    take_numbers(p, sizeof p / sizeof *p, sizeof *p);
    take_number(cap.b);
    ok(cpb_region_from_cap(&cap, 5, &back, &error), &error);
    take_numbers(c, sizeof c / sizeof *c, sizeof *c);
    take_number(back.r);
  }
  end("balls and caps");
  begin();
  for (int i = 1; i < 1000; i++) take_number(cpb_hemisphere_scale(3, i * 0.003));
  end("hemisphere");
}

static void balls(void) {
  cpb_error error;
  cpb_ball_report report = {.size = sizeof report};
  cpb_svdd_report soft = {.size = sizeof soft};
  cpb_svdd_options options;
  double c[D];
  static double multipliers[N];
  for (int method = 0; method < 2; method++) {
    cpb_ball_options ball;
    cpb_ball_options_init(&ball, sizeof ball);
    ball.method = (cpb_ball_method)method;
    begin();
    ok(cpb_enclosing_ball(cpb_rows(x64, CPB_F64, N, D), &ball, &(cpb_ball_out){c, NULL, NULL}, &report, NULL,
                          &error),
       &error);
    take_numbers(c, sizeof c / sizeof *c, sizeof *c);
    take_number(report.radius);
    take_number(report.lower_bound);
    end(method == 0 ? "enclosing ball" : "enclosing ball by caps");
  }
  for (int method = 0; method < 2; method++) {
    cpb_svdd_options_init(&options, sizeof options);
    options.method = (cpb_svdd_method)method;
    begin();
    ok(cpb_svdd(cpb_rows(x32, CPB_F32, CLOSE, D), &options, c, multipliers, &soft, NULL, &error), &error);
    take_numbers(c, sizeof c / sizeof *c, sizeof *c);
    take_numbers(multipliers, CLOSE, sizeof *multipliers);
    take_number(soft.radius);
    take_number(soft.lower_bound);
    end(method == 0 ? "svdd" : "svdd by caps");
  }
}

static void scales(void) {
  cpb_error error;
  cpb_view rows = cpb_rows(x64, CPB_F64, N, D);
  cpb_abid_curve *curve;
  cpb_abid_maximum maxima[8];
  size_t found;
  begin();
  ok(cpb_abid_curve_new(rows, center, 0, &curve, NULL, &error), &error);
  double unit = cpb_abid_curve_mean_norm(curve), abid;
  for (int i = 1; i < 50; i++) {
    ok(cpb_abid_curve_at(curve, unit * i / 10, CPB_PAIRS_ALL, &abid, NULL, &error), &error);
    take_number(abid);
  }
  ok(cpb_abid_curve_maxima(curve, unit / 10, unit * 10, CPB_PAIRS_ALL, maxima, 8, &found, &error), &error);
  for (size_t i = 0; i < found && i < 8; i++) take_number(maxima[i].s), take_number(maxima[i].abid);
  cpb_abid_curve_free(curve);
  end("abid curve");
  for (int goal = CPB_GOAL_SPREAD; goal <= CPB_GOAL_RECALL; goal++) {
    cpb_goal_options options;
    cpb_choice *choice;
    cpb_goal_options_init(&options, sizeof options);
    options.goal = (cpb_goal)goal;
    options.queries = 100;
    begin();
    ok(cpb_choose_scale(rows, center, &options, &choice, NULL, &error), &error);
    take_number(cpb_choice_facts_of(choice)->s);
    take_number(cpb_choice_facts_of(choice)->value);
    cpb_choice_free(choice);
    end(goal == CPB_GOAL_SPREAD ? "goal spread" : "goal recall");
  }
}

static void states(void) {
  cpb_error error;
  cpb_statistics_options options;
  cpb_statistics *s;
  cpb_covariance *c;
  void *bytes;
  size_t count;
  cpb_statistics_options_init(&options, sizeof options);
  options.d = D;
  options.dtype = CPB_F32;
  options.sample = 50;
  ok(cpb_statistics_new(&options, &s, &error), &error);
  for (int pass = 1; pass <= 2; pass++) {
    begin();
    ok(cpb_statistics_update(s, cpb_rows(x32, CPB_F32, N, D), 0, &error), &error);
    ok(cpb_statistics_serialize(s, &bytes, &count, &error), &error);
    take(bytes, count);
    cpb_free(bytes);
    end(pass == 1 ? "statistics, pass 1" : "statistics, pass 2");
    if (pass == 1) ok(cpb_statistics_begin_norms(s, &error), &error);
  }
  cpb_statistics_free(s);
  begin();
  ok(cpb_covariance_new(D, &c, &error), &error);
  ok(cpb_covariance_update(c, cpb_rows(x64, CPB_F64, N, D), NULL, &error), &error);
  ok(cpb_covariance_serialize(c, &bytes, &count, NULL, &error), &error);
  take(bytes, count);
  cpb_free(bytes);
  cpb_covariance_free(c);
  end("covariance");
}

static void searches(void) {
  cpb_error error;
  for (int metric = 0; metric < CPB_METRICS; metric++) {
    cpb_search_options options;
    cpb_search *search;
    cpb_search_options_init(&options, sizeof options);
    options.metric = (cpb_metric)metric;
    options.k = 5;
    begin();
    ok(cpb_search_new(cpb_rows(x32, CPB_F32, CLOSE, D), &options, &search, &error), &error);
    ok(cpb_search_feed(search, cpb_rows(x32, CPB_F32, N, D), 0, NULL, &error), &error);
    for (size_t query = 0; query < CLOSE; query++) {
      const cpb_hit *hits;
      size_t count;
      ok(cpb_search_hits(search, query, &hits, &count, &error), &error);
      for (size_t i = 0; i < count; i++) take_count(hits[i].id), take_number(hits[i].value);
    }
    cpb_search_free(search);
    end(metric == CPB_L2 ? "search l2" : metric == CPB_IP ? "search ip" : "search cosine");
  }
}

static void transforms(void) {
  cpb_error error;
  static double y[N * (D + 2)];
  begin();
  for (int kind = 0; kind < CPB_TRANSFORMS; kind++) {
    cpb_transform_options options;
    cpb_transform *transform;
    cpb_transform_options_init(&options, sizeof options);
    options.kind = (cpb_transform_kind)kind;
    options.d = D;
    options.max_norm = 1e4;
    ok(cpb_transform_new(&options, &transform, &error), &error);
    size_t cols = cpb_transform_cols(transform);
    ok(cpb_transform_apply(transform, CPB_ROLE_BASE, cpb_rows(x64, CPB_F64, N, D),
                           cpb_rows_out(y, CPB_F64, N, cols), NULL, &error),
       &error);
    take_numbers(y, N * cols, sizeof *y);
    cpb_transform_free(transform);
  }
  end("transforms");
}

static void sketches(void) {
  cpb_error error;
  cpb_sketch_training training;
  cpb_sketch *sketch;
  cpb_sketch_options made = {.size = sizeof made};
  static uint8_t codes[N * 6];
  cpb_sketch_training_init(&training, sizeof training);
  training.bits = 32;
  training.s = 20;
  training.center = center;
  training.seed = 5;
  begin();
  ok(cpb_sketch_train(cpb_rows(x32, CPB_F32, N, D), &training, &sketch, NULL, NULL, &error), &error);
  cpb_sketch_describe(sketch, &made);
  take_numbers(made.normals, made.directions * (D + 1), sizeof(double));
  end("sketch training");
  begin();
  ok(cpb_sketch_encode(sketch, cpb_rows(x32, CPB_F32, N, D), codes, NULL, &error), &error);
  take(codes, sizeof codes);
  end("sketch codes");
  cpb_sketch_free(sketch);
}

static void estimates(void) {
  cpb_error error;
  cpb_sketch_training training;
  cpb_sketch *sketch;
  cpb_estimator *estimator;
  cpb_sketch_options made = {.size = sizeof made};
  static uint8_t codes[N * 10];
  static double numbers[3 * N];
  cpb_sketch_training_init(&training, sizeof training);
  training.bits = 64;
  training.form = CPB_FORM_TURNED;
  training.s = 20;
  training.center = center;
  begin();
  ok(cpb_sketch_train(cpb_rows(x32, CPB_F32, N, D), &training, &sketch, NULL, NULL, &error), &error);
  ok(cpb_sketch_encode(sketch, cpb_rows(x32, CPB_F32, N, D), codes, NULL, &error), &error);
  take(codes, sizeof codes);
  end("codes with factors");
  begin();
  cpb_sketch_describe(sketch, &made);
  ok(cpb_estimator_new(sketch, cpb_rows(codes, CPB_U8, N, made.code_bytes), &estimator, &error), &error);
  ok(cpb_estimator_bounds(estimator, cpb_rows(x32, CPB_F32, 1, D), CPB_BOUND_CERTAIN, 0, numbers, numbers + N,
                          numbers + 2 * N, &error),
     &error);
  take_numbers(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers);
  end("bounds of estimates");
  cpb_estimator_free(estimator);
  cpb_sketch_free(sketch);
}

int main(void) {
  make_data();
  begin();
  take_numbers(x64, sizeof x64 / sizeof *x64, sizeof *x64);
  end("random numbers");
  functions();
  maps();
  regions();
  balls();
  scales();
  states();
  searches();
  transforms();
  sketches();
  estimates();
  return 0;
}
