/* T12: gradients of the embedding, of its inverse and of log s, checked against closed forms and finite
 * differences in MPFR. Errors are normwise, relative to lambda|g| (|g|/lambda for the inverse), the exact stretch
 * of a conformal map. */
#include <stdbool.h>

#include "capball/capball.h"
#include "capball/advanced/laws.h"
#include "support/check.h"
#include "support/big.h"

enum { MOST = 784 };
static const size_t dimensions[] = {1, 2, 3, 10, 64, 100, MOST};
enum { DIMENSIONS = sizeof dimensions / sizeof *dimensions };

static big square(big a) { return big_mul(a, a); }
static big twice(big a) { return big_scale2(a, 1); }
static big negative(big a) { return big_sub(big_of(0), a); }

/* One row and its upstream gradient, exactly as the library sees them. */
typedef struct exact_row {
  size_t d;
  big s, x[MOST], y[MOST + 1], g[MOST + 1];
  big n, q, gnorm, ynorm; /* |x|^2, |x|^2+s^2, |g|, |y'| */
} exact_row;

static exact_row exact_at_x(const double *x, const double *g, size_t d, double s) {
  exact_row r = {.d = d, .s = big_of(s)};
  for (size_t i = 0; i < d; i++) r.x[i] = big_of(x[i]);
  for (size_t i = 0; i <= d; i++) r.g[i] = big_of(g[i]);
  r.n = big_dot(r.x, r.x, d);
  r.q = big_add(r.n, square(r.s));
  for (size_t i = 0; i < d; i++) r.y[i] = big_div(twice(big_mul(r.s, r.x[i])), r.q);
  r.y[d] = big_div(big_sub(square(r.s), r.n), r.q);
  r.gnorm = big_sqrt(big_dot(r.g, r.g, d + 1));
  r.ynorm = big_sqrt(big_dot(r.y, r.y, d));
  return r;
}

/* lambda|g| */
static big stretched(const exact_row *r) { return big_mul(big_div(twice(r->s), r->q), r->gnorm); }

/* gx = J^T g, with J written out from y' = 2s x/q, y0 = 2s^2/q - 1. */
static void gradient_of_embedding(const exact_row *r, big *gx) {
  big xg = big_dot(r->x, r->g, r->d), q2 = square(r->q);
  big along = big_div(big_scale2(big_add(big_mul(r->s, xg), big_mul(square(r->s), r->g[r->d])), 2), q2);
  for (size_t i = 0; i < r->d; i++)
    gx[i] = big_sub(big_div(twice(big_mul(r->s, r->g[i])), r->q), big_mul(along, r->x[i]));
}

/* L = <g,S(x)> from |x|^2 and <x,g'>. */
static big loss(big n, big xg, big g0, big s) {
  big s2 = square(s);
  return big_div(big_add(twice(big_mul(s, xg)), big_mul(big_sub(s2, n), g0)), big_add(n, s2));
}

/* (L(x+h e_i)-L(x-h e_i))/2h; x moves in |x|^2 and <x,g'> only. */
static big difference_of_embedding(const exact_row *r, size_t i, big xg, big h) {
  big cross = twice(big_mul(h, r->x[i])), bump = square(h), move = big_mul(h, r->g[i]);
  big up = loss(big_add(big_add(r->n, bump), cross), big_add(xg, move), r->g[r->d], r->s);
  big down = loss(big_sub(big_add(r->n, bump), cross), big_sub(xg, move), r->g[r->d], r->s);
  return big_div(big_sub(up, down), twice(h));
}

static void differences_of_embedding(const exact_row *r, big *gx) {
  big xg = big_dot(r->x, r->g, r->d), h = big_scale2(big_sqrt(r->q), -80);
  for (size_t i = 0; i < r->d; i++) gx[i] = difference_of_embedding(r, i, xg, h);
}

/* dL/dt by a central difference in s: s(1+h), s(1-h). */
static big difference_in_t(const exact_row *r) {
  big xg = big_dot(r->x, r->g, r->d), h = big_scale2(big_of(1), -80), move = big_mul(r->s, h);
  big up = loss(r->n, xg, r->g[r->d], big_add(r->s, move)),
      down = loss(r->n, xg, r->g[r->d], big_sub(r->s, move));
  return big_div(big_sub(up, down), twice(h));
}

/* dL/dt = <g,dy/dt>, dy/dt = (-y0 y', |y'|^2): for lengths at which a difference would need more bits. */
static big gradient_in_t(const exact_row *r) {
  big vertical = big_mul(square(r->ynorm), r->g[r->d]);
  return big_sub(vertical, big_mul(r->y[r->d], big_dot(r->y, r->g, r->d)));
}

/* |got - exact|/(u scale), normwise. */
static double vector_error(const double *got, const big *exact, size_t n, big scale, double u) {
  big sum = big_of(0);
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(got[i])) return NAN;
    sum = big_add(sum, square(big_sub(big_of(got[i]), exact[i])));
  }
  return mpfr_zero_p(sum) ? 0 : big_to_double(big_div(big_sqrt(sum), big_mul(scale, big_of(u))));
}

/* --- Typed rows ------------------------------------------------------------------------------------- */

typedef struct typed {
  cpb_dtype dtype;
  union {
    float f32[MOST + 1];
    double f64[MOST + 1];
  } to;
} typed;

/* Stores the row in a dtype and rounds the caller's copy likewise. */
static cpb_view put(typed *to, cpb_dtype dtype, double *row, size_t n) {
  to->dtype = dtype;
  for (size_t i = 0; i < n; i++) {
    if (dtype == CPB_F32) row[i] = test_round_f32(row[i]), to->to.f32[i] = (float)row[i];
    if (dtype == CPB_F64) to->to.f64[i] = row[i];
  }
  return cpb_rows(&to->to, dtype, 1, n);
}
static cpb_out room(typed *to, cpb_dtype dtype, size_t n) {
  to->dtype = dtype;
  return cpb_rows_out(&to->to, dtype, 1, n);
}
static void get(const typed *from, double *row, size_t n) {
  for (size_t i = 0; i < n; i++) row[i] = from->dtype == CPB_F32 ? (double)from->to.f32[i] : from->to.f64[i];
}
static double unit(cpb_dtype dtype) { return dtype == CPB_F32 ? U32 : U64; }

/* A point with |x| = rho s (the few rho that matter first, then random), and a gradient that is
 * random, only vertical, only radial or only horizontal. */
static const double special_rho[] = {0, 1e-6, 1e-3, 0.5, 1 - 1e-9, 1, 1 + 1e-9, 2, 1e3, 1e6};
enum { SPECIAL = sizeof special_rho / sizeof *special_rho, ROWS = SPECIAL + 14 };

static void draw(test_rng *rng, size_t k, size_t d, double s, double *x, double *g) {
  double rho = k < SPECIAL ? special_rho[k] : test_log_uniform(rng, 1e-6, 1e6), size = exp(test_gauss(rng));
  test_direction(rng, d, x);
  for (size_t i = 0; i <= d; i++) {
    g[i] = size * test_gauss(rng);
    if (k % 5 == 1) g[i] = i == d ? size : 0;
    if (k % 5 == 2) g[i] = i == d ? 0 : size * x[i];
    if (k % 5 == 3 && i == d) g[i] = 0;
  }
  for (size_t i = 0; i < d; i++) x[i] *= rho * s;
}

static double draw_scale(test_rng *rng) { return test_log_uniform(rng, 1e-3, 1e3); }

static const char *name_of(cpb_dtype dtype) { return cpb_dtype_name(dtype); }

/* --- From x ----------------------------------------------------------------------------------------- */

typedef struct layer_worst {
  double closed, difference, t;
} layer_worst;

static void judge_backward(double *x, double *g, size_t d, double s, cpb_dtype in, cpb_dtype out,
                           layer_worst *worst) {
  typed tx, tg, tgx;
  cpb_error error;
  double gx[MOST], grad_t;
  cpb_view vx = put(&tx, in, x, d), vg = put(&tg, in, g, d + 1);
  test_status((int)cpb_layer_backward(vx, vg, s, room(&tgx, out, d), &grad_t, NULL, &error), CPB_OK,
              error.text);
  get(&tgx, gx, d);
  size_t mark = big_mark();
  exact_row r = exact_at_x(x, g, d, s);
  big closed[MOST], differences[MOST];
  gradient_of_embedding(&r, closed);
  differences_of_embedding(&r, differences);
  test_worst(&worst->closed, vector_error(gx, closed, d, stretched(&r), unit(out)));
  test_worst(&worst->difference, vector_error(gx, differences, d, stretched(&r), unit(out)));
  test_worst(&worst->t, big_error_in(grad_t, difference_in_t(&r), big_mul(r.ynorm, r.gnorm), U64));
  test_worst(&worst->t, big_error_in(grad_t, gradient_in_t(&r), big_mul(r.ynorm, r.gnorm), U64));
  big_release(mark);
}

static void backward_from_x(void **state) {
  (void)state;
  for (int type = 0; type < 3; type++) { /* f64 to f64, f32 to f32, f32 to f64 */
    cpb_dtype in = type == 0 ? CPB_F64 : CPB_F32, out = type == 1 ? CPB_F32 : CPB_F64;
    layer_worst worst = {0, 0, 0};
    test_rng rng = {12};
    for (size_t j = 0; j < DIMENSIONS; j++)
      for (size_t k = 0; k < ROWS; k++) {
        double x[MOST], g[MOST + 1], s = draw_scale(&rng);
        draw(&rng, k, dimensions[j], s, x, g);
        judge_backward(x, g, dimensions[j], s, in, out, &worst);
      }
    law_holds("T12", "gradient from x, closed form", name_of(out), worst.closed, 16);
    law_holds("T12", "gradient from x, finite differences", name_of(out), worst.difference, 16);
    law_holds("T12", "dL/dlog s from x, one row", "f64", worst.t, 16);
  }
}

/* --- From saved y ----------------------------------------------------------------------------------- */

/* The contract's formula at a y taken as data. */
static void gradient_at_y(const double *y, const exact_row *r, big *gx, big *lambda) {
  size_t d = r->d;
  big Y[MOST + 1], one = big_of(1);
  for (size_t i = 0; i <= d; i++) Y[i] = big_of(y[i]);
  big rise = y[d] >= 0 ? big_add(one, Y[d]) : big_div(big_dot(Y, Y, d), big_sub(one, Y[d]));
  *lambda = big_div(rise, r->s);
  big along = big_add(big_div(big_dot(Y, r->g, d), r->s), big_mul(*lambda, r->g[d]));
  for (size_t i = 0; i < d; i++) gx[i] = big_sub(big_mul(*lambda, r->g[i]), big_mul(Y[i], along));
}

static void judge_saved(double *x, double *g, size_t d, double s, cpb_dtype in, cpb_dtype out,
                        layer_worst *worst) {
  typed ty, tg, tgx;
  cpb_error error;
  double y[MOST + 1], gx[MOST], grad_t;
  size_t mark = big_mark();
  cpb_view vg = put(&tg, in, g, d + 1);
  exact_row r = exact_at_x(x, g, d, s);
  for (size_t i = 0; i <= d; i++) y[i] = big_to_double(r.y[i]);
  cpb_view vy = put(&ty, in, y, d + 1);
  test_status((int)cpb_layer_backward_saved(vy, vg, s, room(&tgx, out, d), &grad_t, NULL, &error), CPB_OK,
              error.text);
  get(&tgx, gx, d);
  big at_y[MOST], at_x[MOST], lambda;
  gradient_at_y(y, &r, at_y, &lambda);
  gradient_of_embedding(&r, at_x);
  test_worst(&worst->closed, vector_error(gx, at_y, d, big_mul(lambda, r.gnorm), unit(out)));
  /* y was rounded to its own type: the gradient at x cannot be nearer than that */
  test_worst(&worst->difference, vector_error(gx, at_x, d, stretched(&r), unit(in)));
  test_worst(&worst->t, big_error_in(grad_t, difference_in_t(&r), big_mul(r.ynorm, r.gnorm), unit(in)));
  big_release(mark);
}

static void backward_from_saved_y(void **state) {
  (void)state;
  for (int type = 0; type < 3; type++) {
    cpb_dtype in = type == 0 ? CPB_F64 : CPB_F32, out = type == 1 ? CPB_F32 : CPB_F64;
    layer_worst worst = {0, 0, 0};
    test_rng rng = {1212};
    for (size_t j = 0; j < DIMENSIONS; j++)
      for (size_t k = 0; k < ROWS; k++) {
        double x[MOST], g[MOST + 1], s = draw_scale(&rng);
        draw(&rng, k, dimensions[j], s, x, g);
        judge_saved(x, g, dimensions[j], s, in, out, &worst);
      }
    law_holds("T12", "gradient from saved y, y as data", name_of(out), worst.closed, 16);
    law_holds("T12", "gradient from saved y, y rounded", name_of(in), worst.difference, 16);
    law_holds("T12", "dL/dlog s from saved y, one row", name_of(in), worst.t, 16);
  }
}

/* --- Of the inverse --------------------------------------------------------------------------------- */

/* L(y) = <g,S^-1(y/|y|)> = s<g,y'>/(|y|+y0) */
static big inverse_loss(big norm2, big yg, big y0, big s) {
  return big_div(big_mul(s, yg), big_add(big_sqrt(norm2), y0));
}

static void differences_of_inverse(const big *y, const big *g, size_t d, big s, big *gy) {
  big rest = big_dot(y, y, d), norm2 = big_add(rest, square(y[d])), yg = big_dot(y, g, d);
  big h = big_scale2(mpfr_zero_p(rest) ? big_of(1) : rest, -90); /* |y|+y0 changes on the scale |y'|^2 */
  for (size_t i = 0; i <= d; i++) {
    big cross = twice(big_mul(h, y[i])), away = big_add(norm2, square(h));
    big move = i < d ? big_mul(h, g[i]) : big_of(0), lift = i < d ? big_of(0) : h;
    big up = inverse_loss(big_add(away, cross), big_add(yg, move), big_add(y[d], lift), s);
    big down = inverse_loss(big_sub(away, cross), big_sub(yg, move), big_sub(y[d], lift), s);
    gy[i] = big_div(big_sub(up, down), twice(h));
  }
}

/* The north form s y'/(1+y0) differentiated, less its part along y: the same on every tangent. */
static void tangential_part_of_north_form(const exact_row *r, big *gy) {
  size_t d = r->d;
  big rise = big_add(big_of(1), r->y[d]), yg = big_dot(r->y, r->g, d);
  for (size_t i = 0; i < d; i++) gy[i] = big_div(big_mul(r->s, r->g[i]), rise);
  gy[d] = negative(big_div(big_mul(r->s, yg), square(rise)));
  big along = big_dot(r->y, gy, d + 1);
  for (size_t i = 0; i <= d; i++) gy[i] = big_sub(gy[i], big_mul(along, r->y[i]));
}

/* J^-T g = lambda^-2 J g for the conformal J, in terms of x: no cancellation however far south. */
static void gradient_of_inverse(const exact_row *r, big *gy) {
  big xg = big_dot(r->x, r->g, r->d), along = big_div(twice(xg), r->q), stretch = big_div(r->q, twice(r->s));
  for (size_t i = 0; i < r->d; i++) gy[i] = big_mul(stretch, big_sub(r->g[i], big_mul(along, r->x[i])));
  gy[r->d] = negative(xg);
}

static void judge_inverse(double *x, double *g, size_t d, double s, cpb_dtype in, cpb_dtype out,
                          layer_worst *worst) {
  typed ty, tg, tgy;
  cpb_error error;
  double y[MOST + 1], gy[MOST + 1], grad_t;
  g[d] = 0; /* g has d coordinates; |g| counts no more */
  size_t mark = big_mark();
  cpb_view vg = put(&tg, in, g, d);
  exact_row r = exact_at_x(x, g, d, s);
  for (size_t i = 0; i <= d; i++) y[i] = big_to_double(r.y[i]);
  cpb_view vy = put(&ty, in, y, d + 1);
  cpb_status status = cpb_layer_inverse_backward(vy, vg, s, room(&tgy, out, d + 1), &grad_t, NULL, &error);
  test_status((int)status, CPB_OK, error.text);
  get(&tgy, gy, d + 1);
  big given[MOST + 1], closed[MOST + 1], north[MOST + 1], differences[MOST + 1];
  for (size_t i = 0; i <= d; i++) given[i] = big_of(y[i]);
  big scale = big_div(big_mul(r.q, r.gnorm), twice(r.s)); /* |g|/lambda */
  gradient_of_inverse(&r, closed);
  tangential_part_of_north_form(&r, north);
  differences_of_inverse(given, r.g, d, r.s, differences);
  double u = unit(in) > unit(out) ? unit(in) : unit(out);
  test_worst(&worst->closed, vector_error(gy, closed, d + 1, scale, u));
  test_worst(&worst->closed, vector_error(gy, north, d + 1, scale, u));
  test_worst(&worst->difference, vector_error(gy, differences, d + 1, scale, u));
  test_worst(&worst->t,
             big_error_in(grad_t, big_dot(r.x, r.g, d), big_mul(big_sqrt(r.n), r.gnorm), unit(in)));
  big_release(mark);
}

static void backward_of_inverse(void **state) {
  (void)state;
  for (int type = 0; type < 3; type++) {
    cpb_dtype in = type == 0 ? CPB_F64 : CPB_F32, out = type == 1 ? CPB_F32 : CPB_F64;
    layer_worst worst = {0, 0, 0};
    test_rng rng = {121212};
    for (size_t j = 0; j < DIMENSIONS; j++)
      for (size_t k = 0; k < ROWS; k++) {
        double x[MOST], g[MOST + 1], s = draw_scale(&rng);
        draw(&rng, k, dimensions[j], s, x, g);
        if (k % 5 == 1) g[0] = 1; /* the vertical gradient has no part here */
        judge_inverse(x, g, dimensions[j], s, in, out, &worst);
      }
    law_holds("T12", "gradient of the inverse, closed form", name_of(in), worst.closed, 16);
    law_holds("T12", "gradient of the inverse, finite differences", name_of(in), worst.difference, 16);
    law_holds("T12", "dL/dlog s of the inverse, one row", name_of(in), worst.t, 16);
  }
}

/* S^-1(S(x)) = x, so the gradient must come back as it went in, however far south. */
static void gradients_survive_the_round_trip(void **state) {
  (void)state;
  enum { d = 10 };
  test_rng rng = {34};
  double worst = 0;
  for (int k = 0; k < 400; k++) {
    typed ty, tg, tgy, tx, back;
    cpb_error error;
    double x[d], y[d + 1], g[d + 1], returned[d], s = draw_scale(&rng);
    draw(&rng, 100, d, s, x, g);
    cpb_view vx = put(&tx, CPB_F32, x, d), vg = put(&tg, CPB_F32, g, d);
    size_t mark = big_mark();
    exact_row r = exact_at_x(x, g, d, s);
    for (int i = 0; i <= d; i++) y[i] = big_to_double(r.y[i]);
    cpb_view vy = put(&ty, CPB_F32, y, d + 1);
    cpb_out gy = room(&tgy, CPB_F32, d + 1);
    test_status((int)cpb_layer_inverse_backward(vy, vg, s, gy, NULL, NULL, &error), CPB_OK, error.text);
    test_status((int)cpb_layer_backward(vx, cpb_rows(gy.data, CPB_F32, 1, d + 1), s, room(&back, CPB_F32, d),
                                        NULL, NULL, &error),
                CPB_OK, error.text);
    get(&back, returned, d);
    test_worst(&worst, vector_error(returned, r.g, d, big_sqrt(big_dot(r.g, r.g, d)), U32));
    big_release(mark);
  }
  law_holds("T12", "gradient through S and S^-1", "f32", worst, 16);
}

/* --- The far ends of f64 ---------------------------------------------------------------------------- */

/* True when a result of this size and its parts can be represented in f64. */
static bool representable(big scale) { return mpfr_cmp_d(scale, 1e-280) > 0 && mpfr_cmp_d(scale, 1e300) < 0; }

static void extreme_case(test_rng *rng, double s, double length, double size, layer_worst worst[3]) {
  enum { d = 3 };
  double x[d], g[d + 1], gx[d], y[d + 1], gy[d + 1], t;
  cpb_error error;
  size_t mark = big_mark();
  test_direction(rng, d, x);
  test_direction(rng, d + 1, g);
  for (int i = 0; i < d; i++) x[i] *= length;
  for (int i = 0; i <= d; i++) g[i] *= size;
  exact_row r = exact_at_x(x, g, d, s);
  big closed[d + 1], scale = stretched(&r), t_scale = big_mul(r.ynorm, r.gnorm);
  for (int i = 0; i <= d; i++) y[i] = big_to_double(r.y[i]);
  bool has_y = length == 0 || mpfr_cmp_d(r.ynorm, 1e-290) > 0; /* y' itself is not subnormal */
  cpb_view vx = cpb_rows(x, CPB_F64, 1, d), vg = cpb_rows(g, CPB_F64, 1, d + 1),
           vy = cpb_rows(y, CPB_F64, 1, d + 1);
  if (representable(scale)) {
    gradient_of_embedding(&r, closed);
    test_status((int)cpb_layer_backward(vx, vg, s, cpb_rows_out(gx, CPB_F64, 1, d), &t, NULL, &error), CPB_OK,
                error.text);
    test_worst(&worst[0].closed, vector_error(gx, closed, d, scale, U64));
    if (representable(t_scale)) test_worst(&worst[0].t, big_error_in(t, gradient_in_t(&r), t_scale, U64));
    test_status((int)cpb_layer_backward_saved(vy, vg, s, cpb_rows_out(gx, CPB_F64, 1, d), &t, NULL, &error),
                CPB_OK, error.text);
    if (has_y) test_worst(&worst[1].closed, vector_error(gx, closed, d, scale, U64));
    if (has_y && representable(t_scale))
      test_worst(&worst[1].t, big_error_in(t, gradient_in_t(&r), t_scale, U64));
  }
  r.gnorm = big_sqrt(big_dot(r.g, r.g, d));
  scale = big_div(big_mul(r.q, r.gnorm), twice(r.s));
  t_scale = big_mul(big_sqrt(r.n), r.gnorm);
  if (representable(scale) && has_y) {
    gradient_of_inverse(&r, closed);
    vg = cpb_rows(g, CPB_F64, 1, d);
    test_status(
        (int)cpb_layer_inverse_backward(vy, vg, s, cpb_rows_out(gy, CPB_F64, 1, d + 1), &t, NULL, &error),
        CPB_OK, error.text);
    test_worst(&worst[2].closed, vector_error(gy, closed, d + 1, scale, U64));
    if (representable(t_scale)) test_worst(&worst[2].t, big_error_in(t, big_dot(r.x, r.g, d), t_scale, U64));
  }
  big_release(mark);
}

static void the_far_ends_of_f64(void **state) {
  (void)state;
  const double edges[] = {1e-300, 1e-260, 1e-200, 1e-160, 1e-100, 1e-60, 1e-49, 1e-20,
                          1,      1e49,   1e60,   1e100,  1e160,  1e200, 1e300};
  enum { EDGES = sizeof edges / sizeof *edges };
  layer_worst worst[3] = {{0}};
  test_rng rng = {56};
  for (size_t i = 0; i < EDGES * EDGES; i++) extreme_case(&rng, edges[i % EDGES], 0, edges[i / EDGES], worst);
  for (size_t i = 0; i < EDGES * EDGES * EDGES; i++)
    extreme_case(&rng, edges[i % EDGES], edges[i / EDGES % EDGES], edges[i / EDGES / EDGES], worst);
  law_holds("T12", "gradient from x, x s g in 1e-300..1e300", "f64", worst[0].closed, 16);
  law_holds("T12", "gradient from saved y, x s g in 1e-300..1e300", "f64", worst[1].closed, 16);
  law_holds("T12", "gradient of the inverse, x s g in 1e-300..1e300", "f64", worst[2].closed, 16);
  law_holds("T12", "dL/dlog s from x, x s g in 1e-300..1e300", "f64", worst[0].t, 16);
  law_holds("T12", "dL/dlog s from saved y, x s g in 1e-300..1e300", "f64", worst[1].t, 16);
  law_holds("T12", "dL/dlog s of the inverse, x s g in 1e-300..1e300", "f64", worst[2].t, 16);
}

/* --- Batches ---------------------------------------------------------------------------------------- */

enum { N = 1700, BD = 70, ROW = BD + 1, STRIDE = 75 };

typedef struct batch {
  double x[N * STRIDE], y[N * STRIDE], g[N * STRIDE];
  double out[N * STRIDE], other[N * STRIDE];
} batch;

static batch *make_batch(void) {
  batch *b = malloc(sizeof *b);
  assert_non_null(b);
  test_rng rng = {78};
  for (size_t i = 0; i < N; i++) {
    double *x = b->x + i * STRIDE, *y = b->y + i * STRIDE, *g = b->g + i * STRIDE, n = 0;
    draw(&rng, 50 + i, BD, 1.5, x, g);
    for (size_t k = 0; k < BD; k++) n += x[k] * x[k];
    for (size_t k = 0; k < BD; k++) y[k] = 3 * x[k] / (n + 2.25);
    y[BD] = (2.25 - n) / (n + 2.25);
  }
  return b;
}

static cpb_view strided(const double *data, size_t cols) {
  return (cpb_view){data, CPB_F64, N, cols, STRIDE};
}

static cpb_status run_law(int law, const batch *b, double *out, double *t, const cpb_exec *exec,
                          cpb_error *error) {
  cpb_out gx = {out, CPB_F64, N, law == 2 ? ROW : BD, STRIDE};
  if (law == 0) return cpb_layer_backward(strided(b->x, BD), strided(b->g, ROW), 1.5, gx, t, exec, error);
  if (law == 1)
    return cpb_layer_backward_saved(strided(b->y, ROW), strided(b->g, ROW), 1.5, gx, t, exec, error);
  return cpb_layer_inverse_backward(strided(b->y, ROW), strided(b->g, BD), 1.5, gx, t, exec, error);
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
  (void)state;
  batch *b = make_batch();
  cpb_error error;
  for (int law = 0; law < 3; law++) {
    double t, other_t;
    memset(b->out, 0x55, sizeof b->out);
    test_status((int)run_law(law, b, b->out, &t, NULL, &error), CPB_OK, error.text);
    for (size_t threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
      cpb_pool *pool;
      test_status((int)cpb_pool_new(threads, &pool, &error), CPB_OK, error.text);
      memset(b->other, 0x55, sizeof b->other);
      test_status((int)run_law(law, b, b->other, &other_t, cpb_pool_exec(pool), &error), CPB_OK, error.text);
      assert_memory_equal(b->out, b->other, sizeof b->out); /* and nothing between the rows is touched */
      assert_memory_equal(&t, &other_t, sizeof t);
      test_status((int)run_law(law, b, b->other, NULL, cpb_pool_exec(pool), &error), CPB_OK, error.text);
      assert_memory_equal(b->out, b->other, sizeof b->out);
      cpb_pool_free(pool);
    }
  }
  free(b);
}

static void dldt_is_summed_over_the_batch(void **state) {
  (void)state;
  batch *b = make_batch();
  cpb_error error;
  for (int law = 0; law < 3; law++) {
    double t;
    test_status((int)run_law(law, b, b->out, &t, NULL, &error), CPB_OK, error.text);
    size_t mark = big_mark();
    big sum = big_of(0), sizes = big_of(0);
    for (size_t i = 0; i < N; i++) {
      size_t inner = big_mark();
      double g[ROW];
      memcpy(g, b->g + i * STRIDE, sizeof g);
      if (law == 2) g[BD] = 0;
      exact_row r = exact_at_x(b->x + i * STRIDE, g, BD, 1.5);
      big part = law == 2 ? big_dot(r.x, r.g, BD) : difference_in_t(&r);
      big size = big_mul(law == 2 ? big_sqrt(r.n) : r.ynorm, r.gnorm);
      mpfr_add(sum, sum, part, MPFR_RNDN);
      mpfr_add(sizes, sizes, size, MPFR_RNDN);
      big_release(inner);
    }
    law_holds("T12", "dL/dlog s, a batch", "f64", big_error_in(t, sum, sizes, U64), 16);
    big_release(mark);
  }
  free(b);
}

/* A plain sum of this many equal terms drifts by hundreds of u. */
static void dldt_does_not_drift_in_a_long_batch(void **state) {
  (void)state;
  if (TEST_SANITIZED) skip(); /* figures, from code that the other tests run as well */
  enum { LONG = 300000 };
  double *x = malloc(LONG * sizeof *x), *g = malloc(2 * LONG * sizeof *g), *gx = malloc(LONG * sizeof *gx), t;
  cpb_error error;
  assert_true(x != NULL && g != NULL && gx != NULL);
  for (size_t i = 0; i < LONG; i++) {
    x[i] = 0.7;
    g[2 * i] = 0.3;
    g[2 * i + 1] = 1.1;
  }
  test_status((int)cpb_layer_backward(cpb_rows(x, CPB_F64, LONG, 1), cpb_rows(g, CPB_F64, LONG, 2), 1.3,
                                      cpb_rows_out(gx, CPB_F64, LONG, 1), &t, NULL, &error),
              CPB_OK, error.text);
  size_t mark = big_mark();
  exact_row r = exact_at_x(x, g, 1, 1.3);
  big exact = big_mul(big_of(LONG), gradient_in_t(&r)),
      size = big_mul(big_of(LONG), big_mul(r.ynorm, r.gnorm));
  law_holds("T12", "dL/dlog s, 300000 equal rows", "f64", big_error_in(t, exact, size, U64), 16);
  big_release(mark);
  free(x);
  free(g);
  free(gx);
}

/* A batch large enough for non-temporal stores has the bits of small ones, including faulty rows and their
 * neighbours. */
static void large_batches_are_small_ones(void **state) {
  (void)state;
  enum { d = 20, LARGE = 450000, SMALL = 1000 };
  size_t cols = d + 1;
  float *y = malloc(LARGE * cols * sizeof *y), *g = malloc(LARGE * d * sizeof *g);
  float *wanted = malloc(LARGE * cols * sizeof *wanted), *got = malloc(LARGE * cols * sizeof *got);
  test_rng rng = {35};
  for (size_t i = 0; i < LARGE * cols; i++) y[i] = (float)((double)test_below(&rng, 2000) / 1000 - 1);
  for (size_t i = 0; i < LARGE * d; i++) g[i] = (float)((double)test_below(&rng, 2000) / 1000 - 1);
  for (size_t i = 0; i < 100; i++) y[test_below(&rng, LARGE * cols)] = i % 2 ? NAN : 1e30f;
  cpb_status whole =
      cpb_layer_inverse_backward(cpb_rows(y, CPB_F32, LARGE, cols), cpb_rows(g, CPB_F32, LARGE, d), 1.5,
                                 cpb_rows_out(got, CPB_F32, LARGE, cols), NULL, NULL, NULL);
  cpb_status parts = CPB_OK;
  for (size_t i = 0; i < LARGE; i += SMALL) {
    cpb_status part = cpb_layer_inverse_backward(
        cpb_rows(y + i * cols, CPB_F32, SMALL, cols), cpb_rows(g + i * d, CPB_F32, SMALL, d), 1.5,
        cpb_rows_out(wanted + i * cols, CPB_F32, SMALL, cols), NULL, NULL, NULL);
    if (part != CPB_OK) parts = part;
  }
  assert_int_equal(whole, CPB_EROW);
  assert_int_equal(parts, CPB_EROW);
  assert_memory_equal(got, wanted, LARGE * cols * sizeof *got);
  free(y), free(g), free(wanted), free(got);
}

static void faulty_rows_are_nan_and_the_others_done(void **state) {
  (void)state;
  batch *b = make_batch();
  cpb_error error;
  cpb_pool *pool;
  test_status((int)cpb_pool_new(3, &pool, &error), CPB_OK, error.text);
  for (int law = 0; law < 3; law++) {
    double clean_t, t, *row = law == 0 ? b->x : b->y, kept[3];
    test_status((int)run_law(law, b, b->out, &clean_t, NULL, &error), CPB_OK, error.text);
    double *bad[3] = {row + 1200 * STRIDE + 5, b->g + 900 * STRIDE, row + 1699 * STRIDE + BD - 1};
    const double faults[3] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
      kept[i] = *bad[i];
      *bad[i] = faults[i];
    }
    test_status((int)run_law(law, b, b->other, &t, cpb_pool_exec(pool), &error), CPB_EROW,
                "no row was named");
    assert_int_equal(error.row, 900);
    assert_string_equal(error.text, "g row 900 holds inf");
    assert_true(isfinite(t) && t != clean_t);
    size_t cols = law == 2 ? ROW : BD;
    for (size_t i = 0; i < N; i++)
      for (size_t k = 0; k < cols; k++) {
        double got = b->other[i * STRIDE + k];
        assert_true(i == 900 || i == 1200 || i == 1699 ? isnan(got) : got == b->out[i * STRIDE + k]);
      }
    for (int i = 0; i < 3; i++) *bad[i] = kept[i];
  }
  cpb_pool_free(pool);
  free(b);
}

static void poles_and_overflow(void **state) {
  (void)state;
  cpb_error error;
  double south[3] = {0, 0, -1}, g[3] = {1, 2, 3}, gx[3], t;
  cpb_view y = cpb_rows(south, CPB_F64, 1, 3), g3 = cpb_rows(g, CPB_F64, 1, 3),
           g2 = cpb_rows(g, CPB_F64, 1, 2);
  test_status((int)cpb_layer_backward_saved(y, g3, 1, cpb_rows_out(gx, CPB_F64, 1, 2), &t, NULL, &error),
              CPB_OK, error.text);
  assert_true(gx[0] == 0 && gx[1] == 0 && t == 0); /* the limit for x to infinity */
  test_status((int)cpb_layer_inverse_backward(y, g2, 1, cpb_rows_out(gx, CPB_F64, 1, 3), &t, NULL, &error),
              CPB_EROW, "no row was named");
  assert_non_null(strstr(error.text, "y row 0 is the pole"));
  assert_true(isnan(gx[0]) && isnan(gx[2]) && t == 0);

  double x[2] = {0, 0};
  float narrow[2];
  cpb_view origin = cpb_rows(x, CPB_F64, 1, 2);
  test_status(
      (int)cpb_layer_backward(origin, g3, 1e-60, cpb_rows_out(narrow, CPB_F32, 1, 2), &t, NULL, &error),
      CPB_EROW, "no row was named");
  assert_string_equal(error.text, "gx row 0 has a result too large for the output's type");
  assert_true(isnan((double)narrow[0]) && isnan((double)narrow[1]));

  double zero[3] = {0, 0, 0};
  cpb_view no_gradient = cpb_rows(zero, CPB_F64, 1, 3);
  test_status(
      (int)cpb_layer_backward(origin, no_gradient, 1, cpb_rows_out(gx, CPB_F64, 1, 2), &t, NULL, &error),
      CPB_OK, error.text);
  assert_true(gx[0] == 0 && gx[1] == 0 && t == 0);
  test_status((int)cpb_layer_backward(origin, g3, 2, cpb_rows_out(gx, CPB_F64, 1, 2), &t, NULL, &error),
              CPB_OK, error.text);
  assert_true(gx[0] == 1 && gx[1] == 2 && t == 0); /* lambda = 2/s at the centre */
}

static void other_dtypes_are_read(void **state) {
  (void)state;
  cpb_error error;
  const uint8_t bytes[3] = {3, 0, 255};
  const int8_t signs[4] = {-1, 2, 127, -128};
  const uint16_t halves[4] = {0xbc00, 0x4000, 0x57f0, 0xd800}; /* -1, 2, 127, -128 */
  double x[3] = {3, 0, 255}, g[4] = {-1, 2, 127, -128}, wanted[3], got[3], wanted_t, t;
  test_status((int)cpb_layer_backward(cpb_rows(x, CPB_F64, 1, 3), cpb_rows(g, CPB_F64, 1, 4), 9,
                                      cpb_rows_out(wanted, CPB_F64, 1, 3), &wanted_t, NULL, &error),
              CPB_OK, error.text);
  for (int i = 0; i < 2; i++) {
    cpb_view view = i ? cpb_rows(halves, CPB_F16, 1, 4) : cpb_rows(signs, CPB_I8, 1, 4);
    test_status((int)cpb_layer_backward(cpb_rows(bytes, CPB_U8, 1, 3), view, 9,
                                        cpb_rows_out(got, CPB_F64, 1, 3), &t, NULL, &error),
                CPB_OK, error.text);
    assert_memory_equal(got, wanted, sizeof got);
    assert_true(t == wanted_t);
  }
}

static void wants(cpb_status got, cpb_status wanted, const cpb_error *error, const char *sentence) {
  test_status((int)got, (int)wanted, error->text);
  if (strstr(error->text, sentence) == NULL) fail_msg("\"%s\" does not say \"%s\"", error->text, sentence);
}

static void it_refuses(void **state) {
  (void)state;
  cpb_error e;
  double memory[64] = {0}, t = 7;
  cpb_view x = cpb_rows(memory, CPB_F64, 2, 3), g = cpb_rows(memory + 16, CPB_F64, 2, 4), y = g;
  cpb_view short_x = x, one_row = g, no_x = x, ints = x;
  cpb_out gx = cpb_rows_out(memory + 32, CPB_F64, 2, 3), gy = cpb_rows_out(memory + 32, CPB_F64, 2, 4),
          bad = gx;
  short_x.stride = 2;
  one_row.rows = 1;
  no_x.data = NULL;
  ints.dtype = CPB_I32;
  wants(cpb_layer_backward(x, g, 0, gx, &t, NULL, &e), CPB_EINVAL, &e, "scale s must be > 0");
  wants(cpb_layer_backward(x, g, -1, gx, &t, NULL, &e), CPB_EINVAL, &e, "got -1");
  wants(cpb_layer_backward_saved(y, g, NAN, gx, &t, NULL, &e), CPB_EINVAL, &e, "nan");
  wants(cpb_layer_inverse_backward(y, x, INFINITY, gy, &t, NULL, &e), CPB_EINVAL, &e, "inf");
  wants(cpb_layer_backward(x, x, 1, gx, &t, NULL, &e), CPB_ESHAPE, &e, "g has 3 columns, wanted 4");
  wants(cpb_layer_backward(x, one_row, 1, gx, &t, NULL, &e), CPB_ESHAPE, &e, "g has 1 rows, wanted 2");
  wants(cpb_layer_backward(short_x, g, 1, gx, &t, NULL, &e), CPB_ESHAPE, &e, "x has stride 2");
  wants(cpb_layer_backward(no_x, g, 1, gx, &t, NULL, &e), CPB_EINVAL, &e, "x has 2 rows but no data");
  wants(cpb_layer_backward(ints, g, 1, gx, &t, NULL, &e), CPB_EDTYPE, &e, "i32");
  wants(cpb_layer_backward_saved(x, g, 1, gx, &t, NULL, &e), CPB_ESHAPE, &e, "y has 3 columns, wanted 4");
  wants(cpb_layer_inverse_backward(y, x, 1, gx, &t, NULL, &e), CPB_ESHAPE, &e, "gy has 3 columns, wanted 4");
  wants(cpb_layer_backward(cpb_rows(memory, CPB_F64, 2, 0), cpb_rows(memory, CPB_F64, 2, 1), 1,
                           cpb_rows_out(memory + 32, CPB_F64, 2, 0), &t, NULL, &e),
        CPB_ESHAPE, &e, "0 columns");
  bad.dtype = CPB_F16;
  wants(cpb_layer_backward(x, g, 1, bad, &t, NULL, &e), CPB_EDTYPE, &e, "f16");
  bad = gx;
  bad.data = memory + 4;
  wants(cpb_layer_backward(x, g, 1, bad, &t, NULL, &e), CPB_ESHAPE, &e, "x and gx overlap");
  bad.data = memory + 18;
  wants(cpb_layer_backward(x, g, 1, bad, &t, NULL, &e), CPB_ESHAPE, &e, "g and gx overlap");
  assert_int_equal(cpb_layer_backward(x, g, 0, gx, NULL, NULL, NULL), CPB_EINVAL);
  assert_true(t == 7);
  x.rows = g.rows = gx.rows = 0;
  test_status((int)cpb_layer_backward(x, g, 1, gx, &t, NULL, &e), CPB_OK, e.text);
  assert_true(t == 0);
}

static int free_arena(void **state) {
  (void)state;

  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(backward_from_x),
      cmocka_unit_test(backward_from_saved_y),
      cmocka_unit_test(backward_of_inverse),
      cmocka_unit_test(gradients_survive_the_round_trip),
      cmocka_unit_test(the_far_ends_of_f64),
      cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(dldt_is_summed_over_the_batch),
      cmocka_unit_test(dldt_does_not_drift_in_a_long_batch),
      cmocka_unit_test(large_batches_are_small_ones),
      cmocka_unit_test(faulty_rows_are_nan_and_the_others_done),
      cmocka_unit_test(poles_and_overflow),
      cmocka_unit_test(other_dtypes_are_read),
      cmocka_unit_test(it_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, free_arena);
}
