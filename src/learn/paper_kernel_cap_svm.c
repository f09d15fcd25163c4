/* T11, the paper's scheme where only a Mercer kernel is known. The centre is c = sum b_i phi_i, sum b = 1,
 * and all that is needed of the rows about it is g_ij = <phi_i-c, phi_j-c>. T8 takes it to the sphere,
 * |S_i-S_j|^2, and z = S+e has <z_i,z_j> = rise_i + rise_j - |S_i-S_j|^2/2 with rise_i = 1 + the last
 * coordinate of S_i, 2s^2/(g_ii+s^2). The point z* of the reduced hull nearest to 0, the plane <z*,z> = rho
 * and its ball are those of paper_cap_svm.c: z*'s last coordinate is sum a_i rise_i, the rest is
 * sum a_i (rise_i/s) (phi_i-c), and the centre moves by s/rho times that. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/laws.h"
#include "learn/paper_schemes.h"
#include "learn/smo.h"
#include "parallel/tell.h"

enum { ROUNDS = 50, SAMPLE = 1024 };

typedef struct embedded_rows {
  cpb_kernel_rows *rows;
  size_t n;
  double s;
  double *center;   /* b */
  double *along;    /* <c, phi_i> */
  double norm2;     /* <c,c> */
  double *dist2;    /* g_ii */
  double *rise;     /* of row i */
  double *diagonal; /* <z_i,z_i> */
  double *cap, *a;  /* of the SVM */
  double *scratch;
} embedded_rows;

/* Everything that depends on the centre; returns the mean distance from it. */
static double look_from_center(embedded_rows *e) {
  double sum = 0;
  cpb_kernel_rows_combine(e->rows, e->center, e->along, e->scratch);
  e->norm2 = e->rows->loops->dot(e->center, e->along, e->n);
  for (size_t i = 0; i < e->n; i++) {
    e->dist2[i] = fmax(0, (e->rows->diagonal[i] - e->along[i]) + (e->norm2 - e->along[i]));
    sum += sqrt(e->dist2[i]);
  }
  return sum / (double)e->n;
}

static void set_scale(embedded_rows *e, double s) {
  e->s = s;
  for (size_t i = 0; i < e->n; i++) {
    e->rise[i] = 2 * s * s / (e->dist2[i] + s * s);
    e->diagonal[i] = 2 * e->rise[i];
  }
}

/* <z_i,z_j> for all j. */
static void embedded_row(void *context, size_t i, double *to) {
  embedded_rows *e = context;
  cpb_kernel_rows_row(e->rows, i, to);
  for (size_t j = 0; j < e->n; j++) to[j] = (to[j] - e->along[i]) + (e->norm2 - e->along[j]);
  cpb_status status =
      cpb_gram_embed(cpb_rows_out(to, CPB_F64, 1, e->n), (cpb_gram_side){.norm2 = &e->dist2[i]},
                     (cpb_gram_side){.norm2 = e->dist2}, 1, e->s, CPB_DISTANCES2, NULL, NULL);
  assert(status == CPB_OK || status == CPB_EROW); /* EROW: the row is NaN, and the SVM does not move */
  (void)status;
  for (size_t j = 0; j < e->n; j++) to[j] = e->rise[i] + e->rise[j] - to[j] / 2;
}

/* One SVM and the ball of its plane. *moved is the distance the centre moved, NaN for a plane whose region is not
 * a ball. */
static cpb_status one_round(embedded_rows *e, cpb_paper_kernel_fit *fit, double *moved) {
  cpb_exec_part part;
  double round = (double)fit->rounds, *radius = &fit->radius;
  cpb_smo svm = {.n = e->n,
                 .row = embedded_row,
                 .context = e,
                 .diagonal = e->diagonal,
                 .cap = e->cap,
                 .gap = fit->gap,
                 .exec = cpb_exec_part_of(&part, e->rows->exec, round / ROUNDS, (round + 1) / ROUNDS),
                 .error = fit->error,
                 .a = e->a};
  cpb_status status = cpb_smo_solve(&svm);
  double rho = -svm.edge / 2, last = e->rows->loops->dot(e->a, e->rise, e->n);
  double rest2 = fmax(0, svm.norm2 - last * last) / (rho * rho), radius2 = rest2 - 1 + 2 * last / rho;
  *moved = NAN;
  if (status != CPB_OK || !(rho > 0 && radius2 > 0)) return status;
  double stay = 1 - last / rho;
  for (size_t i = 0; i < e->n; i++) e->center[i] = stay * e->center[i] + e->a[i] * e->rise[i] / rho;
  *radius = e->s * sqrt(radius2);
  *moved = e->s * sqrt(rest2);
  return CPB_OK;
}

/* Where the centre has converged it is the mean of the support weighted by a times rise. In this form, rows from
 * earlier steps have no part in it. */
static void write_center(const embedded_rows *e) {
  double sum = e->rows->loops->dot(e->a, e->rise, e->n);
  for (size_t i = 0; i < e->n; i++) e->center[i] = e->a[i] * e->rise[i] / sum;
}

static void begin(embedded_rows *e, const cpb_paper_kernel_fit *fit) {
  size_t step = e->n / SAMPLE + 1, count = (e->n - 1) / step + 1;
  for (size_t i = 0; i < e->n; i++) {
    e->cap[i] = fit->paper ? 1 : fit->cap[i];
    e->center[i] = i % step == 0 ? 1 / (double)count : 0;
  }
  cpb_smo_start(e->cap, e->n, e->a);
}

cpb_status cpb_paper_kernel_cap_svm(cpb_kernel_rows *rows, cpb_paper_kernel_fit *fit) {
  embedded_rows e = {.rows = rows, .n = rows->x.rows, .center = fit->center, .a = fit->a};
  double *numbers = malloc(6 * e.n * sizeof *numbers), moved = NAN;
  if (numbers == NULL) return CPB_ENOMEM;
  e.along = numbers;
  e.dist2 = numbers + e.n;
  e.rise = numbers + 2 * e.n;
  e.diagonal = numbers + 3 * e.n;
  e.cap = numbers + 4 * e.n;
  e.scratch = numbers + 5 * e.n;
  begin(&e, fit);
  fit->radius = 0;
  double s = look_from_center(&e);
  fit->settled = s == 0; /* all images are one point */
  cpb_status status = CPB_OK;
  for (fit->rounds = 0; status == CPB_OK && !fit->settled && fit->rounds < ROUNDS; fit->rounds++) {
    set_scale(&e, s);
    status = one_round(&e, fit, &moved);
    if (isnan(moved)) break;
    fit->settled = moved <= sqrt(fit->gap) * fit->radius;
    s = fit->radius;
    if (!fit->settled) look_from_center(&e);
  }
  if (status == CPB_OK && !isnan(moved)) write_center(&e);
  free(numbers);
  return status;
}
