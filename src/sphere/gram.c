/* T8 for blocks of a Gram matrix, in place, row by row. */
#include <math.h>

#include "loops/row_state.h"
#include "capball/advanced/laws.h"
#include "base/fail.h"
#include "sphere/products.h"

typedef struct gram_job {
  const cpb_loops *loops;
  cpb_out g;
  cpb_gram_side x, y;
  double w, s;
  cpb_gram_result result;
  /* z = the results for the elements [offset, offset+count) of a row, from their g */
  void (*answer)(const struct gram_job *job, size_t row, size_t offset, size_t count, const double *g,
                 double *z);
  bool rises;
} gram_job;

static double along(cpb_gram_side side, size_t i) { return side.along == NULL ? 0 : side.along[i]; }

static double at_least_0(double value) { return value < 0 ? 0 : value; }

static void embed_elements(const gram_job *job, size_t row, size_t offset, size_t count, const double *g,
                           double *z) {
  double w = job->w, s = job->s, xx = job->x.norm2[row], xu = along(job->x, row);
  double Qx = cpb_lift_norm2(xx, xu, w, s);
  for (size_t i = 0; i < count; i++) {
    double yy = job->y.norm2[offset + i], yu = along(job->y, offset + i);
    double Qy = cpb_lift_norm2(yy, yu, w, s);
    double D = cpb_lift_dist2(at_least_0((xx - g[i]) + (yy - g[i])), xu, yu, w);
    z[i] =
        job->result == CPB_PRODUCTS ? cpb_embedded_product(D, Qx, Qy, s) : cpb_embedded_dist2(D, Qx, Qy, s);
  }
}

static void unembed_elements(const gram_job *job, size_t row, size_t offset, size_t count, const double *g,
                             double *z) {
  double w = job->w, s = job->s, x0 = job->x.along[row], rise_x = job->x.norm2[row];
  bool upright = fabs(w) == 1; /* then u = 0, and the last coordinates need no separate treatment */
  for (size_t i = 0; i < count; i++) {
    double y0 = job->y.along[offset + i], rise_y = job->y.norm2[offset + i], dist2 = at_least_0(2 - 2 * g[i]);
    if (job->result == CPB_PRODUCTS)
      z[i] = upright ? cpb_original_product(g[i], x0, y0, rise_x, rise_y, s)
                     : cpb_original_product_pole(g[i], x0, y0, rise_x, rise_y, w, s);
    else
      z[i] = upright ? cpb_original_dist2(dist2, rise_x, rise_y, s)
                     : cpb_original_dist2_pole(dist2, x0, y0, rise_x, rise_y, w, s);
  }
}

static int number_fault(double value) {
  return isnan(value) ? CPB_FAULT_NAN : isinf(value) ? CPB_FAULT_INFINITE : 0;
}

static int known_fault(const gram_job *job, size_t row) {
  int fault = number_fault(job->x.norm2[row]);
  if (fault == 0) fault = number_fault(along(job->x, row));
  if (fault == 0) fault = cpb_row_fault(job->loops, cpb_view_of(job->g), row);
  if (fault == 0 && job->rises && !(job->x.norm2[row] > 0)) fault = CPB_FAULT_POLE;
  return fault;
}

static int answer_row(void *arg, size_t row) {
  const gram_job *job = arg;
  int fault = known_fault(job, row);
  double buffer[CPB_CHUNK], z[CPB_CHUNK], limit = cpb_out_limit(job->g.dtype);
  for (size_t offset = 0; fault == 0 && offset < job->g.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(job->g.cols, offset);
    const double *g = cpb_row_chunk(job->loops, cpb_view_of(job->g), row, offset, count, buffer);
    job->answer(job, row, offset, count, g, z);
    if (cpb_chunk_fits(z, count, limit))
      cpb_row_store(job->loops, job->g, row, offset, count, z);
    else
      fault = CPB_FAULT_RANGE;
  }
  if (fault != 0) cpb_row_fill_nan(job->g, row);
  return fault;
}

static cpb_status check_not_below_0(const double *norm2, size_t n, const char *name, cpb_error *error) {
  for (size_t i = 0; i < n; i++)
    if (norm2[i] < 0) return cpb_fail_domain(error, name, norm2[i], "%s[%zu] must be >= 0", name, i);
  return CPB_OK;
}

/* A bad number of y affects every row, so it is rejected at once instead of being the fault of a row. */
static cpb_status check_columns(const gram_job *job, cpb_error *error) {
  for (size_t j = 0; j < job->g.cols; j++) {
    double norm2 = job->y.norm2[j], rest = along(job->y, j);
    if (job->rises && !(norm2 > 0 && norm2 < INFINITY))
      return cpb_fail_domain(error, "y.norm2", norm2, "y.norm2[%zu], a rise 1+<y^,v>, must be > 0 and finite",
                             j);
    if (!isfinite(norm2)) return cpb_fail_domain(error, "y.norm2", norm2, "y.norm2[%zu] must be finite", j);
    if (!isfinite(rest)) return cpb_fail_domain(error, "y.along", rest, "y.along[%zu] must be finite", j);
  }
  return CPB_OK;
}

static cpb_status check_numbers(const gram_job *job, const double *numbers, size_t n, const char *name,
                                bool needed, cpb_error *error) {
  if (numbers == NULL && needed && n != 0)
    return cpb_fail(error, CPB_WHY_MISSING, name, "%s must hold %zu numbers, got NULL", name, n);
  return numbers == NULL ? CPB_OK
                         : cpb_check_apart(cpb_rows(numbers, CPB_F64, 1, n), name, job->g, "g", error);
}

static cpb_status check(const gram_job *job, cpb_error *error) {
  cpb_status status = cpb_check_out(job->g, "g", job->g.rows, job->g.cols, error);
  if (status == CPB_OK) status = cpb_check_scale(job->s, error);
  if (status == CPB_OK && !(fabs(job->w) <= 1 && job->w != 0))
    status = cpb_fail_domain(error, "pole", job->w,
                             "last coordinate w of the pole must lie in [-1,1] and not be 0");
  if (status == CPB_OK && job->result != CPB_PRODUCTS && job->result != CPB_DISTANCES2)
    status = cpb_fail_domain(error, "result", (double)job->result,
                             "result must be CPB_PRODUCTS or CPB_DISTANCES2");
  if (status == CPB_OK) status = check_numbers(job, job->x.norm2, job->g.rows, "x.norm2", true, error);
  if (status == CPB_OK) status = check_numbers(job, job->x.along, job->g.rows, "x.along", job->rises, error);
  if (status == CPB_OK) status = check_numbers(job, job->y.norm2, job->g.cols, "y.norm2", true, error);
  if (status == CPB_OK) status = check_numbers(job, job->y.along, job->g.cols, "y.along", job->rises, error);
  if (status == CPB_OK) status = check_not_below_0(job->x.norm2, job->g.rows, "x.norm2", error);
  if (status == CPB_OK) status = check_not_below_0(job->y.norm2, job->g.cols, "y.norm2", error);
  return status == CPB_OK ? check_columns(job, error) : status;
}

static cpb_status run(gram_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = check(job, error);
  if (status != CPB_OK) return status;
  job->loops = cpb_loops_here();
  return cpb_rows_run(job->g.rows, job->g.cols, answer_row, job, "g", exec, error);
}

cpb_status cpb_gram_embed(cpb_out g, cpb_gram_side x, cpb_gram_side y, double w, double s,
                          cpb_gram_result result, const cpb_exec *exec, cpb_error *error) {
  gram_job job = {.g = g, .x = x, .y = y, .w = w, .s = s, .result = result, .answer = embed_elements};
  return run(&job, exec, error);
}

cpb_status cpb_gram_unembed(cpb_out g, cpb_gram_side x, cpb_gram_side y, double w, double s,
                            cpb_gram_result result, const cpb_exec *exec, cpb_error *error) {
  gram_job job = {
      .g = g, .x = x, .y = y, .w = w, .s = s, .result = result, .answer = unembed_elements, .rises = true};
  return run(&job, exec, error);
}
