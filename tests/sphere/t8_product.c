/* T8: products and distances of one space computed in the other, checked against explicit embedding in MPFR. */
#include <stdbool.h>

#include "capball/capball.h"
#include "capball/advanced/laws.h"
#include "sphere/products.h"
#include "support/check.h"
#include "support/big.h"

enum { D = 3, TRIES = 3000 };

/* Two points, their pole v = (u,w) = (sqrt(1-w^2) a, w), their images, and every product of them. */
typedef struct pair {
  double s, w;
  big S, W, u[D], x[D], y[D], xhat[D + 1], yhat[D + 1];
  big xx, yy, xy, xu, yu, dist2, dist2_hat, product_hat, rise_x, rise_y;
} pair;

static big square(big a) { return big_mul(a, a); }
static big dist2_of(const big *a, const big *b, size_t n) {
  big sum = big_of(0);
  for (size_t i = 0; i < n; i++) sum = big_add(sum, square(big_sub(a[i], b[i])));
  return sum;
}

/* S(x) = 2s H/|H|^2 - v, H = [x, (s-<x,u>)/w]: the definition. */
static void embed_exactly(const pair *p, const big *x, big *hat) {
  big last = big_div(big_sub(p->S, big_dot(x, p->u, D)), p->W);
  big factor = big_div(big_mul(big_of(2), p->S), big_add(big_dot(x, x, D), square(last)));
  for (int i = 0; i < D; i++) hat[i] = big_sub(big_mul(factor, x[i]), p->u[i]);
  hat[D] = big_sub(big_mul(factor, last), p->W);
}

static big rise_of(const pair *p, const big *hat) {
  big sum = big_of(0);
  for (int i = 0; i < D; i++) sum = big_add(sum, square(big_add(hat[i], p->u[i])));
  return big_scale2(big_add(sum, square(big_add(hat[D], p->W))), -1);
}

static pair make_pair(const double *x, const double *y, double s, const double *axis, double w) {
  pair p = {.s = s, .w = w, .S = big_of(s), .W = big_of(w)};
  big length2 = big_of(0), side = big_sqrt(big_sub(big_of(1), square(p.W)));
  for (int i = 0; i < D; i++) length2 = big_add(length2, square(big_of(axis[i])));
  for (int i = 0; i < D; i++) {
    p.u[i] = big_mul(side, big_div(big_of(axis[i]), big_sqrt(length2)));
    p.x[i] = big_of(x[i]);
    p.y[i] = big_of(y[i]);
  }
  embed_exactly(&p, p.x, p.xhat);
  embed_exactly(&p, p.y, p.yhat);
  p.xx = big_dot(p.x, p.x, D);
  p.yy = big_dot(p.y, p.y, D);
  p.xy = big_dot(p.x, p.y, D);
  p.xu = big_dot(p.x, p.u, D);
  p.yu = big_dot(p.y, p.u, D);
  p.dist2 = dist2_of(p.x, p.y, D);
  p.dist2_hat = dist2_of(p.xhat, p.yhat, D + 1);
  p.product_hat = big_dot(p.xhat, p.yhat, D + 1);
  p.rise_x = rise_of(&p, p.xhat);
  p.rise_y = rise_of(&p, p.yhat);
  return p;
}

static big norms(const pair *p) { return big_sqrt(big_mul(p->xx, p->yy)); }
static big lifted_dist2(const pair *p) { /* D */
  return big_add(p->dist2, square(big_div(big_sub(p->xu, p->yu), p->W)));
}
static big lifted_norm2(const pair *p, big xx, big xu) { /* Q */
  return big_add(xx, square(big_div(big_sub(p->S, xu), p->W)));
}
/* s^2/(rise_x rise_y), by which the products of the sphere grow under the inverse */
static big growth(const pair *p) { return big_div(square(p->S), big_mul(p->rise_x, p->rise_y)); }

/* The worst errors in u. */
typedef struct worst {
  double Q, D, dist2_hat, product_hat, dist2, product, product_data, dist2_pole, product_pole, rise;
} worst;

static void judge_embedding(const pair *p, worst *e) {
  double xx = big_to_double(p->xx), yy = big_to_double(p->yy), xu = big_to_double(p->xu),
         yu = big_to_double(p->yu), w = p->w, s = p->s;
  double Qx = cpb_lift_norm2(xx, xu, w, s), Qy = cpb_lift_norm2(yy, yu, w, s);
  double lift = cpb_lift_dist2(big_to_double(p->dist2), xu, yu, w);
  big exactD = lifted_dist2(p), W = big_abs(p->W);
  /* <x,u> comes rounded: to Q that costs 1/|w|, to D the share of it that cancels */
  big lossD = big_div(big_mul(big_add(big_abs(p->xu), big_abs(p->yu)), big_sqrt(exactD)), W);
  test_worst(&e->Q,
             big_error_in(Qx, lifted_norm2(p, p->xx, p->xu), big_div(lifted_norm2(p, p->xx, p->xu), W), U64));
  test_worst(&e->D, big_error_in(lift, exactD, big_add(exactD, lossD), U64));
  /* the rest is checked for a correct D and Q */
  lift = big_to_double(exactD);
  Qx = big_to_double(lifted_norm2(p, p->xx, p->xu));
  Qy = big_to_double(lifted_norm2(p, p->yy, p->yu));
  test_worst(&e->dist2_hat,
             big_error_in(cpb_embedded_dist2(lift, Qx, Qy, s), p->dist2_hat, p->dist2_hat, U64));
  test_worst(&e->product_hat,
             big_error_in(cpb_embedded_product(lift, Qx, Qy, s), p->product_hat, big_of(1), U64));
}

static void judge_return_upright(const pair *p, worst *e) {
  double x0 = big_to_double(p->xhat[D]), y0 = big_to_double(p->yhat[D]);
  double rise_x = cpb_rise(x0, big_to_double(big_dot(p->xhat, p->xhat, D)));
  double rise_y = cpb_rise(y0, big_to_double(big_dot(p->yhat, p->yhat, D))),
         hat = big_to_double(p->product_hat);
  test_worst(&e->rise, big_error_in(rise_x, p->rise_x, p->rise_x, U64));
  test_worst(&e->dist2, big_error_in(cpb_original_dist2(big_to_double(p->dist2_hat), rise_x, rise_y, p->s),
                                     p->dist2, p->dist2, U64));
  double product = cpb_original_product(hat, x0, y0, rise_x, rise_y, p->s);
  test_worst(&e->product, big_error_in(product, p->xy, big_add(growth(p), norms(p)), U64));
  /* of the numbers as given it is right relative to itself */
  big given = big_sub(big_of(hat), big_mul(big_of(x0), big_of(y0)));
  given = big_div(big_mul(given, square(p->S)), big_mul(big_of(rise_x), big_of(rise_y)));
  test_worst(&e->product_data, big_error_in(product, given, given, U64));
}

static void judge_return(const pair *p, worst *e) {
  double x0 = big_to_double(p->xhat[D]), y0 = big_to_double(p->yhat[D]), rise_x = big_to_double(p->rise_x),
         w = p->w, s = p->s;
  double rise_y = big_to_double(p->rise_y), product_hat = big_to_double(p->product_hat);
  double dist2 = cpb_original_dist2_pole(big_to_double(p->dist2_hat), x0, y0, rise_x, rise_y, w, s);
  double product = cpb_original_product_pole(product_hat, x0, y0, rise_x, rise_y, w, s);
  assert_true(dist2 >= 0);
  big reach_x = big_div(big_mul(p->S, big_add(big_abs(p->xhat[D]), big_abs(p->W))), p->rise_x);
  big reach_y = big_div(big_mul(p->S, big_add(big_abs(p->yhat[D]), big_abs(p->W))), p->rise_y);
  big gap = big_abs(big_div(big_sub(p->xu, p->yu), p->W)), reach = big_add(reach_x, reach_y);
  /* the second-order term u^2 reach^2 is all that is left where x = y */
  big scale = big_add(lifted_dist2(p), big_mul(reach, big_add(gap, big_mul(big_of(U64), reach))));
  test_worst(&e->dist2_pole, big_error_in(dist2, p->dist2, scale, U64));
  test_worst(&e->product_pole, big_error_in(product, p->xy, growth(p), U64));
}

static void record(const worst *e, bool upright) {
  const char *pole = upright ? "pole e" : "any pole";
  char what[64];
#define LAW(field, words, bound)                                                                             \
  snprintf(what, sizeof what, "%s, %s", words, pole);                                                        \
  law_holds("T8", what, "f64", e->field, bound)
  LAW(Q, "Qx times |w|", 16);
  LAW(D, "D up to the loss in <x,u>-<y,u>", 16);
  LAW(dist2_hat, "|x^-y^|^2", 16);
  LAW(product_hat, "<x^,y^> absolutely", 16);
  LAW(dist2_pole, "|x-y|^2 by the general form", 16);
  LAW(product_pole, "<x,y> by the general form", 16);
  if (!upright) return;
  LAW(rise, "1+y0", 16);
  LAW(dist2, "|x-y|^2 from the sphere", 16);
  LAW(product, "<x,y> from the sphere", 16);
  LAW(product_data, "<x,y> of the numbers as given", 16);
#undef LAW
}

static void judge(const double *x, const double *y, double s, const double *axis, double w, worst *e) {
  size_t mark = big_mark();
  pair p = make_pair(x, y, s, axis, w);
  judge_embedding(&p, e);
  judge_return(&p, e);
  if (w == 1) judge_return_upright(&p, e);
  big_release(mark);
}

/* Points of every kind: independent, near, equal, 0, opposite, and the special one S^-1(v) = su. */
static void draw(test_rng *rng, int kind, double s, double *x, double *y) {
  double length_x = s * test_log_uniform(rng, 1e-8, 1e8), length_y = s * test_log_uniform(rng, 1e-8, 1e8);
  double near = test_log_uniform(rng, 1e-14, 1e-1);
  test_direction(rng, D, x);
  test_direction(rng, D, y);
  for (int i = 0; i < D; i++) {
    x[i] *= kind == 5 ? s : length_x;
    y[i] = kind == 1 ? x[i] + near * length_x * y[i] : kind == 2 ? x[i] : kind == 4 ? -x[i] : length_y * y[i];
    if (kind == 3) x[i] = 0;
    if (kind == 5) y[i] = (1 + near) * x[i];
  }
}

static void identities_hold_under_the_pole_e(void **state) {
  (void)state;
  test_rng rng = {8};
  worst e = {0};
  for (int i = 0; i < TRIES; i++) {
    double s = test_log_uniform(&rng, 1e-8, 1e8), x[D], y[D], axis[D] = {1, 0, 0};
    draw(&rng, i % 6, s, x, y);
    judge(x, y, s, axis, 1, &e);
  }
  record(&e, true);
}

static void identities_hold_under_any_pole(void **state) {
  (void)state;
  test_rng rng = {88};
  worst e = {0};
  for (int i = 0; i < TRIES; i++) {
    double s = test_log_uniform(&rng, 1e-8, 1e8), x[D], y[D], axis[D];
    double w = i % 7 == 0 ? test_log_uniform(&rng, 1e-4, 1) : 0.05 + 0.95 * test_uniform(&rng);
    test_direction(&rng, D, axis);
    draw(&rng, i % 6, s, x, y);
    if (i % 13 == 0)
      for (int j = 0; j < D; j++) x[j] = s * sqrt(1 - w * w) * axis[j];
    judge(x, y, s, axis, i % 2 ? w : -w, &e);
  }
  record(&e, false);
}

/* |x|, |y| and s each over 1e-150 .. 1e150: the squares still fit, their products do not. */
static void nothing_overflows_on_the_way(void **state) {
  (void)state;
  test_rng rng = {888};
  worst e = {0};
  double axis[D] = {0, 1, 0};
  const double edges[] = {1e-150, 1e-100, 1e-40, 1, 1e40, 1e100, 1e150};
  for (size_t i = 0; i < 7 * 7 * 7; i++) {
    double s = edges[i % 7], a = edges[i / 7 % 7], b = edges[i / 49], x[D], y[D];
    test_direction(&rng, D, x);
    test_direction(&rng, D, y);
    for (int j = 0; j < D; j++) {
      x[j] *= a;
      y[j] *= b;
    }
    size_t mark = big_mark();
    pair p = make_pair(x, y, s, axis, 1);
    if (big_to_double(p.dist2_hat) > 1e-300)
      judge_embedding(&p, &e); /* below, the answer itself is subnormal */
    if (big_to_double(p.rise_x) > 1e-300 && big_to_double(p.rise_y) > 1e-300 &&
        big_to_double(p.dist2_hat) > 1e-300)
      test_worst(&e.dist2,
                 big_error_in(cpb_original_dist2(big_to_double(p.dist2_hat), big_to_double(p.rise_x),
                                                 big_to_double(p.rise_y), s),
                              p.dist2, p.dist2, U64));
    big_release(mark);
  }
  law_holds("T8", "|x^-y^|^2, lengths 1e-150..1e150", "f64", e.dist2_hat, 16);
  law_holds("T8", "<x^,y^>, lengths 1e-150..1e150", "f64", e.product_hat, 16);
  law_holds("T8", "|x-y|^2, lengths 1e-150..1e150", "f64", e.dist2, 16);
}

static void single_values(void **state) {
  (void)state;
  assert_true(cpb_lift_norm2(3, 0, 1, 2) == 7);
  assert_true(cpb_lift_dist2(3, 5, 5, 0.5) == 3);
  assert_true(cpb_embedded_dist2(0, 1, 1, 1) == 0);
  assert_true(cpb_embedded_product(0, 1e300, 1e-300, 1e-160) == 1);
  assert_true(cpb_embedded_dist2(4, 2, 2, 1) == 4); /* x = -y on the equator */
  assert_true(cpb_embedded_product(4, 2, 2, 1) == -1);
  assert_true(isnan(cpb_embedded_dist2(1, INFINITY, 1, 1)));
  assert_true(isnan(cpb_embedded_dist2(NAN, 1, 1, 1)));
  assert_true(cpb_rise(1, 0) == 2 && cpb_rise(-1, 0) == 0 && cpb_rise(0, 1) == 1);
  assert_true(isinf(cpb_original_dist2(1, 0, 1, 1)));
  assert_true(cpb_original_product(0, 0, 0, 1, 1, 1) == 0);
}

/* --- Gram blocks ------------------------------------------------------------------------------------ */

enum { ROWS = 150, COLS = 601, STRIDE = 610 };

typedef struct gram_data {
  double norm2_x[ROWS], along_x[ROWS], norm2_y[COLS], along_y[COLS];
  double g[ROWS * STRIDE];
} gram_data;

static gram_data *make_gram(bool for_embedding, double w) {
  gram_data *data = malloc(sizeof *data);
  test_rng rng = {8888};
  double(*x)[D] = malloc(sizeof(double[ROWS + COLS][D]));
  assert_true(data != NULL && x != NULL);
  for (size_t i = 0; i < ROWS + COLS; i++) {
    test_direction(&rng, D, x[i]);
    double norm2 = 0, length = for_embedding ? test_log_uniform(&rng, 1e-2, 1e2) : 1, u1 = sqrt(1 - w * w);
    for (int k = 0; k < D; k++) {
      x[i][k] *= length;
      norm2 += x[i][k] * x[i][k];
    }
    double along = for_embedding ? x[i][0] * u1 : x[i][D - 1];
    if (!for_embedding) norm2 = 1 + x[i][0] * u1 + x[i][D - 1] * w;
    if (i < ROWS) data->norm2_x[i] = norm2, data->along_x[i] = along;
    if (i >= ROWS) data->norm2_y[i - ROWS] = norm2, data->along_y[i - ROWS] = along;
  }
  for (size_t i = 0; i < ROWS * STRIDE; i++) {
    data->g[i] = -77;
    for (int k = 0; i % STRIDE < COLS && k < D; k++)
      data->g[i] = (k ? data->g[i] : 0) + x[i / STRIDE][k] * x[ROWS + i % STRIDE][k];
  }
  free(x);
  return data;
}

static double at_least_0(double value) { return value < 0 ? 0 : value; }

static double expected_embedded(const gram_data *d, size_t i, size_t j, double g, double w, double s,
                                cpb_gram_result result) {
  double Qx = cpb_lift_norm2(d->norm2_x[i], d->along_x[i], w, s);
  double Qy = cpb_lift_norm2(d->norm2_y[j], d->along_y[j], w, s);
  double dist2 = at_least_0((d->norm2_x[i] - g) + (d->norm2_y[j] - g));
  double lift = cpb_lift_dist2(dist2, d->along_x[i], d->along_y[j], w);
  return result == CPB_PRODUCTS ? cpb_embedded_product(lift, Qx, Qy, s) : cpb_embedded_dist2(lift, Qx, Qy, s);
}

static double expected_original(const gram_data *d, size_t i, size_t j, double g, double w, double s,
                                cpb_gram_result result) {
  double rx = d->norm2_x[i], ry = d->norm2_y[j], x0 = d->along_x[i], y0 = d->along_y[j];
  double hat = at_least_0(2 - 2 * g);
  if (result == CPB_PRODUCTS)
    return w == 1 ? cpb_original_product(g, x0, y0, rx, ry, s)
                  : cpb_original_product_pole(g, x0, y0, rx, ry, w, s);
  return w == 1 ? cpb_original_dist2(hat, rx, ry, s) : cpb_original_dist2_pole(hat, x0, y0, rx, ry, w, s);
}

static void gram_agrees(bool embed, cpb_dtype dtype, double w, cpb_gram_result result, size_t threads) {
  gram_data *data = make_gram(embed, w);
  void *block = malloc(sizeof data->g);
  assert_non_null(block);
  cpb_pool *pool;
  cpb_error error;
  test_status((int)cpb_pool_new(threads, &pool, &error), CPB_OK, error.text);
  cpb_out g = {block, dtype, ROWS, COLS, STRIDE};
  for (size_t i = 0; i < ROWS * STRIDE; i++) {
    if (dtype == CPB_F32) data->g[i] = test_round_f32(data->g[i]), ((float *)block)[i] = (float)data->g[i];
    if (dtype == CPB_F64) ((double *)block)[i] = data->g[i];
  }
  cpb_gram_side x = {data->norm2_x, data->along_x}, y = {data->norm2_y, data->along_y};
  cpb_status status = embed ? cpb_gram_embed(g, x, y, w, 1.5, result, cpb_pool_exec(pool), &error)
                            : cpb_gram_unembed(g, x, y, w, 1.5, result, cpb_pool_exec(pool), &error);
  test_status((int)status, CPB_OK, error.text);
  for (size_t i = 0; i < ROWS * STRIDE; i++) {
    size_t row = i / STRIDE, column = i % STRIDE;
    double wanted = data->g[i], got = dtype == CPB_F32 ? (double)((float *)block)[i] : ((double *)block)[i];
    if (column < COLS)
      wanted = (embed ? expected_embedded : expected_original)(data, row, column, data->g[i], w, 1.5, result);
    if (dtype == CPB_F32) wanted = test_round_f32(wanted);
    if (got != wanted) fail_msg("row %zu column %zu: %.17g instead of %.17g", row, column, got, wanted);
  }
  cpb_pool_free(pool);
  free(block);
  free(data);
}

static void gram_blocks_agree_with_the_single_functions(void **state) {
  (void)state;
  const size_t threads[] = {1, 2, 3, 8};
  for (int i = 0; i < 64; i += TEST_SANITIZED ? 5 : 1)
    gram_agrees(i & 1, i & 2 ? CPB_F32 : CPB_F64, i & 4 ? 1 : 0.6, i & 8 ? CPB_PRODUCTS : CPB_DISTANCES2,
                threads[i >> 4]);
}

static void gram_of_no_rows_and_of_one(void **state) {
  (void)state;
  cpb_error error;
  double xx = 4, g = 2, yy = 1;
  cpb_gram_side none = {NULL, NULL}, x = {&xx, NULL}, y = {&yy, NULL};
  test_status(
      (int)cpb_gram_embed(cpb_rows_out(NULL, CPB_F64, 0, 0), none, none, 1, 1, CPB_PRODUCTS, NULL, &error),
      CPB_OK, error.text);
  test_status(
      (int)cpb_gram_embed(cpb_rows_out(NULL, CPB_F64, 0, 1), none, y, 1, 1, CPB_PRODUCTS, NULL, &error),
      CPB_OK, error.text);
  test_status((int)cpb_gram_embed(cpb_rows_out(&g, CPB_F64, 1, 1), x, y, 1, 1, CPB_DISTANCES2, NULL, &error),
              CPB_OK, error.text);
  assert_true(g == 4 * 1.0 / (5 * 2)); /* x = 2, y = 1 on the line */
}

static void faulty_rows_are_nan_and_the_others_done(void **state) {
  (void)state;
  cpb_error error;
  double norm2[4] = {1, 2, NAN, 3}, columns[3] = {1, 1, 2}, nothing[3] = {0, 0, 0};
  double last[4] = {0, 0, 0, 0};
  cpb_gram_side x = {norm2, NULL}, y = {columns, NULL};
  double g[12] = {0, 0, 0, 0, INFINITY, 0, 0, 0, 0, 0, 0, 0};
  test_status((int)cpb_gram_embed(cpb_rows_out(g, CPB_F64, 4, 3), x, y, 1, 1, CPB_PRODUCTS, NULL, &error),
              CPB_EROW, "no row was named");
  assert_int_equal(error.row, 1);
  assert_string_equal(error.text, "g row 1 holds inf");
  for (int i = 0; i < 12; i++) assert_true(isnan(g[i]) == (i / 3 == 1 || i / 3 == 2));

  double back[12] = {0, 0, 0, NAN, 0, 0, 0, 0, 0, 0, 0, 0}, rises[4] = {1, 1, 1, 0};
  cpb_gram_side rise_x = {rises, last}, rise_y = {columns, nothing};
  test_status((int)cpb_gram_unembed(cpb_rows_out(back, CPB_F64, 4, 3), rise_x, rise_y, 1, 1, CPB_DISTANCES2,
                                    NULL, &error),
              CPB_EROW, "no row was named");
  assert_string_equal(error.text, "g row 1 holds NaN");
  for (int i = 0; i < 12; i++) assert_true(isnan(back[i]) == (i / 3 == 1 || i / 3 == 3));

  double pole[3] = {0, 0, 0};
  cpb_gram_side at_pole = {rises + 3, last};
  test_status((int)cpb_gram_unembed(cpb_rows_out(pole, CPB_F64, 1, 3), at_pole, rise_y, 1, 1, CPB_DISTANCES2,
                                    NULL, &error),
              CPB_EROW, "no row was named");
  assert_non_null(strstr(error.text, "pole"));

  float small[3] = {0, 0, 0};
  test_status((int)cpb_gram_unembed(cpb_rows_out(small, CPB_F32, 1, 3), rise_x, rise_y, 1, 1e30,
                                    CPB_DISTANCES2, NULL, &error),
              CPB_EROW, "no row was named");
  assert_non_null(strstr(error.text, "too large"));
  assert_true(isnan(small[0]) && isnan(small[2]));
}

static void wants(cpb_status got, cpb_status wanted, const cpb_error *error, const char *sentence) {
  test_status((int)got, (int)wanted, error->text);
  if (strstr(error->text, sentence) == NULL) fail_msg("\"%s\" does not say \"%s\"", error->text, sentence);
}

static void gram_refuses(void **state) {
  (void)state;
  cpb_error e;
  double g[4] = {0, 0, 0, 0}, one[2] = {1, 1}, bad[2] = {1, NAN};
  cpb_out out = cpb_rows_out(g, CPB_F64, 2, 2), narrow = out, bytes = out;
  cpb_gram_side x = {one, one}, no = {NULL, NULL}, nan_norm = {bad, one}, nan_along = {one, bad},
                self = {g, one};
  narrow.stride = 1;
  bytes.dtype = CPB_U8;
  wants(cpb_gram_embed(out, x, x, 1, -1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e, "got -1");
  wants(cpb_gram_embed(out, x, x, 0, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e, "got 0");
  wants(cpb_gram_embed(out, x, x, NAN, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e, "nan");
  wants(cpb_gram_embed(out, x, x, 1.5, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e, "got 1.5");
  wants(cpb_gram_embed(out, x, x, 1, 1, (cpb_gram_result)7, NULL, &e), CPB_EINVAL, &e, "got 7");
  wants(cpb_gram_embed(out, no, x, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e, "x.norm2 must hold 2");
  wants(cpb_gram_unembed(out, x, (cpb_gram_side){one, NULL}, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e,
        "y.along must hold 2");
  wants(cpb_gram_embed(out, x, nan_norm, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e, "y.norm2[1]");
  wants(cpb_gram_embed(out, x, nan_along, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e, "y.along[1]");
  wants(cpb_gram_unembed(out, x, (cpb_gram_side){g, one}, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_ESHAPE, &e,
        "overlap");
  wants(cpb_gram_embed(out, self, x, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_ESHAPE, &e, "x.norm2 and g overlap");
  wants(cpb_gram_embed(narrow, x, x, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_ESHAPE, &e, "stride 1");
  wants(cpb_gram_embed(bytes, x, x, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_EDTYPE, &e, "u8");
  double zero[2] = {1, 0}, below[2] = {1, -2};
  wants(cpb_gram_embed(out, (cpb_gram_side){below, one}, x, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e,
        "x.norm2[1] must be >= 0, got -2");
  wants(cpb_gram_unembed(out, x, (cpb_gram_side){below, one}, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e,
        "y.norm2[1] must be >= 0, got -2");
  wants(cpb_gram_unembed(out, x, (cpb_gram_side){zero, one}, 1, 1, CPB_PRODUCTS, NULL, &e), CPB_EINVAL, &e,
        "y.norm2[1]");
  assert_int_equal(cpb_gram_embed(out, x, x, 1, -1, CPB_PRODUCTS, NULL, NULL), CPB_EINVAL);
}

/* --- Mercer kernels --------------------------------------------------------------------------------- */

enum { POINTS = 40, PLANE = 5 };

/* The smallest pivot of Cholesky's method on a shifted matrix: > 0 iff it is positive definite. */
static double smallest_pivot(double *a, size_t n, double shift) {
  double smallest = INFINITY;
  for (size_t j = 0; j < n; j++) {
    double pivot = a[j * n + j] + shift;
    for (size_t k = 0; k < j; k++) pivot -= a[j * n + k] * a[j * n + k];
    if (pivot < smallest) smallest = pivot;
    if (!(pivot > 0)) return pivot;
    for (size_t i = j + 1; i < n; i++) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = sum / sqrt(pivot);
    }
  }
  return smallest;
}

static void draw_points(double x[POINTS][PLANE]) {
  test_rng rng = {88888};
  for (int i = 0; i < POINTS; i++)
    for (int k = 0; k < PLANE; k++) x[i][k] = test_gauss(&rng);
}

static void an_rbf_kernel_is_embedded_implicitly(void **state) {
  (void)state;
  double x[POINTS][PLANE], g[POINTS * POINTS], ones[POINTS];
  cpb_error error;
  draw_points(x);
  for (int i = 0; i < POINTS; i++) {
    ones[i] = 1; /* k(x,x) */
    for (int j = 0; j < POINTS; j++) {
      double dist2 = 0;
      for (int k = 0; k < PLANE; k++) dist2 += (x[i][k] - x[j][k]) * (x[i][k] - x[j][k]);
      g[i * POINTS + j] = exp(-dist2 / 2);
    }
  }
  cpb_gram_side side = {ones, NULL};
  test_status((int)cpb_gram_embed(cpb_rows_out(g, CPB_F64, POINTS, POINTS), side, side, 1, 0.7, CPB_PRODUCTS,
                                  NULL, &error),
              CPB_OK, error.text);
  for (int i = 0; i < POINTS; i++) {
    assert_true(g[i * POINTS + i] == 1);
    for (int j = 0; j < POINTS; j++) assert_true(g[i * POINTS + j] == g[j * POINTS + i]);
  }
  assert_true(smallest_pivot(g, POINTS, 1e-13) > 0);
}

static void the_linear_kernel_equals_the_explicit_embedding(void **state) {
  (void)state;
  double x[POINTS][PLANE], g[POINTS * POINTS], norm2[POINTS], s = 1.3, worst_error = 0;
  cpb_error error;
  draw_points(x);
  for (int i = 0; i < POINTS; i++)
    for (int j = 0; j < POINTS; j++) {
      g[i * POINTS + j] = 0;
      for (int k = 0; k < PLANE; k++) g[i * POINTS + j] += x[i][k] * x[j][k];
      if (i == j) norm2[i] = g[i * POINTS + i];
    }
  cpb_gram_side side = {norm2, NULL};
  test_status((int)cpb_gram_embed(cpb_rows_out(g, CPB_F64, POINTS, POINTS), side, side, 1, s, CPB_PRODUCTS,
                                  NULL, &error),
              CPB_OK, error.text);
  for (int i = 0; i < POINTS; i++)
    for (int j = 0; j < POINTS; j++) {
      size_t mark = big_mark();
      big S = big_of(s), nx = big_of(0), ny = big_of(0), xy = big_of(0);
      for (int k = 0; k < PLANE; k++) {
        nx = big_add(nx, square(big_of(x[i][k])));
        ny = big_add(ny, square(big_of(x[j][k])));
        xy = big_add(xy, big_mul(big_of(x[i][k]), big_of(x[j][k])));
      }
      big top = big_add(big_mul(big_scale2(square(S), 2), xy),
                        big_mul(big_sub(square(S), nx), big_sub(square(S), ny)));
      big exact = big_div(top, big_mul(big_add(nx, square(S)), big_add(ny, square(S))));
      test_worst(&worst_error, big_error_in(g[i * POINTS + j], exact, big_of(1), U64));
      big_release(mark);
    }
  law_holds("T8", "<x^,y^> of a Gram matrix", "f64", worst_error, 16);
}

static int free_arena(void **state) {
  (void)state;

  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(identities_hold_under_the_pole_e),
      cmocka_unit_test(identities_hold_under_any_pole),
      cmocka_unit_test(nothing_overflows_on_the_way),
      cmocka_unit_test(single_values),
      cmocka_unit_test(gram_blocks_agree_with_the_single_functions),
      cmocka_unit_test(gram_of_no_rows_and_of_one),
      cmocka_unit_test(faulty_rows_are_nan_and_the_others_done),
      cmocka_unit_test(gram_refuses),
      cmocka_unit_test(an_rbf_kernel_is_embedded_implicitly),
      cmocka_unit_test(the_linear_kernel_equals_the_explicit_embedding),
  };
  return cmocka_run_group_tests(tests, NULL, free_arena);
}
