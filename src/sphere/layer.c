/* T12 for batches: each row is measured once, then its gradient is written.
 *
 * Rows whose sums are in a wide middle range are used as they are. The others are measured again with powers of
 * two taken out of the row, of g and of s, which are restored by the last multiplication. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sphere/layer.h"
#include "loops/row_state.h"
#include "capball/advanced/laws.h"
#include "base/fail.h"
#include "sphere/layer_row.h"
#include "loops/vector.h"

typedef struct layer_job {
  const cpb_loops *loops;
  const cpb_layer_loops *layer; /* NULL: none */
  cpb_layer_law law;
  cpb_view row, g;
  cpb_out out;
  size_t d;
  double s;
  bool s_in_range;
  double *parts; /* parts of dL/dt, one per block; NULL: not requested */
  int real;      /* 0: row, g and out are all f32; 1: all f64; -1: no loop */
  bool keeps;    /* rows are cached as doubles between sums and gradient */
  bool stream;   /* non-temporal stores */
  size_t row_bytes, g_bytes, out_bytes;
  cpb_first_fault row_fault, g_fault, out_fault;
} layer_job;

const cpb_layer_loops *cpb_layer_loops_of(const cpb_loops *loops) {
  (void)loops; /* unused where there is only the plain table */
#if defined(CPB_WIDE_LOOPS)
  if (strcmp(loops->name, "avx2") == 0) return &cpb_layer_avx2;
  if (strncmp(loops->name, "avx512", 6) == 0 || strcmp(loops->name, "amx") == 0) return &cpb_layer_avx512;
#endif
#if defined(CPB_V128_LOOPS)
  if (strcmp(loops->name, "v128") == 0) return &cpb_layer_v128;
#endif
  return NULL;
}

typedef struct layer_measure {
  cpb_layer_sums sums;
  double g_norm2;
} layer_measure;

static void shift(double *to, const double *from, size_t count, int power) {
  for (size_t i = 0; i < count; i++) to[i] = ldexp(from[i], power);
}

static const double *shifted_chunk(const cpb_loops *loops, cpb_view view, size_t row, size_t offset,
                                   size_t count, int power, double *buffer) {
  const double *chunk = cpb_row_chunk(loops, view, row, offset, count, buffer);
  if (power == 0) return chunk;
  shift(buffer, chunk, count, -power);
  return buffer;
}

/* Coordinate d of a row, 0 if it has none. */
static double last_of(cpb_view view, size_t row, size_t d) {
  return view.cols > d ? cpb_view_at(view, row, d) : 0;
}

static layer_measure measure(const layer_job *job, size_t i, cpb_layer_powers taken) {
  double row_buffer[CPB_CHUNK], g_buffer[CPB_CHUNK], g_last = ldexp(last_of(job->g, i, job->d), -taken.g);
  layer_measure m = {.sums = {.row_last = last_of(job->row, i, job->d), .g_last = g_last}};
  for (size_t offset = 0; offset < job->d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(job->d, offset);
    const double *row = shifted_chunk(job->loops, job->row, i, offset, count, taken.row, row_buffer);
    const double *g = shifted_chunk(job->loops, job->g, i, offset, count, taken.g, g_buffer);
    m.sums.norm2 += job->loops->dot(row, row, count);
    m.sums.product += job->loops->dot(row, g, count);
    m.g_norm2 += job->loops->dot(g, g, count);
  }
  m.g_norm2 += g_last * g_last;
  return m;
}

/* Within these bounds no product of the laws leaves the range; NaN and inf are never within them. Conditions are joined by &:
 * one branch per row, not one per condition. */
static inline bool in_range(double norm2) { return (norm2 >= 1e-100) & (norm2 <= 1e100); }

static inline bool needs_no_care(const layer_job *job, const layer_measure *m) {
  bool from_x = job->law == CPB_FROM_X, north = m->sums.row_last >= 0;
  double norm2 = m->sums.norm2, least = from_x || north ? 1e-200 : 1e-100,
         more = from_x ? job->s * job->s : 0;
  bool row = (norm2 >= least) & (norm2 + more <= 1e100) & (from_x | (fabs(m->sums.row_last) <= 1e50));
  return row & job->s_in_range & in_range(m->g_norm2);
}

/* The exponent of the largest of the first `cols` elements; INT_MIN for 0. */
static int largest_exponent(const layer_job *job, cpb_view view, size_t i, size_t cols) {
  double buffer[CPB_CHUNK], largest = 0;
  for (size_t offset = 0; offset < cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(cols, offset);
    const double *chunk = cpb_row_chunk(job->loops, view, i, offset, count, buffer);
    for (size_t j = 0; j < count; j++) largest = fmax(largest, fabs(chunk[j]));
  }
  return largest == 0 ? INT_MIN : ilogb(largest);
}

static cpb_layer_powers powers_to_take(const layer_job *job, size_t i) {
  int row = largest_exponent(job, job->row, i, job->d), g = largest_exponent(job, job->g, i, job->g.cols);
  int s = ilogb(job->s);
  bool north = job->law != CPB_FROM_X && last_of(job->row, i, job->d) >= 0;
  if (row == INT_MIN) row = job->law == CPB_FROM_X ? s : 0;
  if (north) row = 0;
  return (cpb_layer_powers){.row = row, .g = g == INT_MIN ? 0 : g, .s = s};
}

/* False when a number does not fit the output's type. */
static bool write_row(const layer_job *job, size_t i, const cpb_layer_answer *a, cpb_layer_powers taken) {
  double row_buffer[CPB_CHUNK], g_buffer[CPB_CHUNK], z[CPB_CHUNK], limit = cpb_out_limit(job->out.dtype);
  for (size_t offset = 0; offset < job->d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(job->d, offset);
    const double *row = shifted_chunk(job->loops, job->row, i, offset, count, taken.row, row_buffer);
    const double *g = shifted_chunk(job->loops, job->g, i, offset, count, taken.g, g_buffer);
    job->loops->axpby(a->row.toward_g, g, a->row.toward_row, row, z, count);
    if (a->power != 0) shift(z, z, count, a->power);
    if (!cpb_chunk_fits(z, count, limit)) return false;
    cpb_row_store(job->loops, job->out, i, offset, count, z);
  }
  if (job->out.cols == job->d) return true;
  double last = ldexp(a->row.last, a->power);
  cpb_out_set(job->out, i, job->d, last);
  return fabs(last) < limit;
}

/* Writes a row without a result as NaN; its part of dL/dt is 0. */
static double fail_row(layer_job *job, cpb_first_fault *of, size_t i, int fault) {
  cpb_record_fault(of, i, fault);
  cpb_row_fill_nan(job->out, i);
  return 0;
}

/* Handles one row separately: returns its part of dL/dt. */
static double row_alone(layer_job *job, size_t i) {
  cpb_layer_powers taken = {0, 0, 0};
  layer_measure m = measure(job, i, taken);
  if (!needs_no_care(job, &m)) {
    int row_fault = cpb_row_fault(job->loops, job->row, i), g_fault = cpb_row_fault(job->loops, job->g, i);
    cpb_record_fault(&job->g_fault, i, g_fault);
    if (row_fault != 0 || g_fault != 0) return fail_row(job, &job->row_fault, i, row_fault);
    taken = powers_to_take(job, i);
    m = measure(job, i, taken);
    if (job->law == CPB_OF_INVERSE && m.sums.row_last < 0 && m.sums.norm2 == 0)
      return fail_row(job, &job->row_fault, i, CPB_FAULT_POLE);
  }
  cpb_layer_answer a = cpb_layer_answer_of(job->law, &m.sums, job->s, taken);
  return write_row(job, i, &a, taken) ? a.row.t : fail_row(job, &job->out_fault, i, CPB_FAULT_RANGE);
}

/* Element d of a row of f32 or f64. */
static double number_at(const layer_job *job, const void *row) {
  return job->real == 0 ? (double)((const float *)row)[job->d] : ((const double *)row)[job->d];
}

/* The same numbers as `measure` without powers taken out, from the sums of a loop. */
static layer_measure measured(const layer_job *job, const cpb_layer_line *line) {
  double g_last = job->law != CPB_OF_INVERSE ? number_at(job, line->next_g) : 0;
  return (layer_measure){.sums = {.norm2 = line->sums[0],
                                  .product = line->sums[1],
                                  .row_last = job->law != CPB_FROM_X ? number_at(job, line->next_row) : 0,
                                  .g_last = g_last},
                         .g_norm2 = line->sums[2] + g_last * g_last};
}

/* True if no element can overflow the output's type: its square is at most twice the sum of squares. */
static bool fits(const layer_job *job, const cpb_layer_row *row, const layer_measure *m) {
  double g = row->toward_g, own = row->toward_row, last = row->last, most = job->real == 0 ? 1e76 : 1e300;
  return 2 * (g * g * m->g_norm2 + own * own * m->sums.norm2) + last * last < most;
}

static void write_carried(cpb_layer_carry *carry) {
  if (carry->bytes > 0) memcpy(carry->out, carry->last + sizeof carry->last - carry->bytes, carry->bytes);
  carry->bytes = 0;
}

/* Sums row i, if there is one. */
static void sum_next(const layer_job *job, cpb_layer_line *line, size_t i, bool is) {
  line->next_row = is ? (const char *)job->row.data + i * job->row_bytes : NULL;
  line->next_g = is ? (const char *)job->g.data + i * job->g_bytes : NULL;
}

/* Prepares to write row i, which has been summed, or handles it separately. Returns its part of dL/dt. */
static double write_next(layer_job *job, cpb_layer_line *line, size_t i) {
  layer_measure m = measured(job, line);
  cpb_layer_row row = cpb_layer_row_of(job->law, &m.sums, job->s);
  bool regular = needs_no_care(job, &m), small = fits(job, &row, &m), alone = !(regular & small);
  line->out = alone ? NULL : (char *)job->out.data + i * job->out_bytes;
  line->row = (const char *)job->row.data + i * job->row_bytes;
  line->g = (const char *)job->g.data + i * job->g_bytes;
  line->toward_g = row.toward_g;
  line->toward_row = row.toward_row;
  line->last = row.last;
  return alone ? row_alone(job, i) : row.t;
}

/* Writes and sums one row of every range; those that were handled separately are not written. */
static void do_lines(const layer_job *job, cpb_layer_line *lines, size_t count) {
  cpb_layer_loop *loop = job->keeps ? job->layer->kept : job->layer->real[job->real];
  size_t written = 0;
  for (size_t r = 0; r < count; r++) {
    written += lines[r].out != NULL;
    if (lines[r].out == NULL && lines[r].carry != NULL) write_carried(lines[r].carry);
  }
  size_t together = written % count == 0 ? count : 1;
  for (size_t r = 0; r < count; r += together) loop(lines + r, together, job->d);
}

enum { RANGES = 2, CACHED_BYTES = 4096, STREAMED_BYTES = 8192 };

/* Processes `count` ranges of `rows` rows at the same time, which keeps memory busy: a row is written while the next one is
 * summed. */
static void do_ranges(layer_job *job, size_t first, size_t rows, size_t count, double *t) {
  cpb_layer_carry carry[RANGES] = {0};
  cpb_layer_line lines[RANGES];
  double kept[RANGES * 2 * CPB_LAYER_KEPT + CPB_LANES];
  for (size_t r = 0; r < count; r++)
    lines[r] = (cpb_layer_line){.has_last = job->out.cols > job->d,
                                .kept = kept + r * 2 * CPB_LAYER_KEPT,
                                .carry = job->stream ? &carry[r] : NULL};
  for (size_t k = 0; k <= rows; k++) {
    for (size_t r = 0; r < count; r++) sum_next(job, &lines[r], first + r * rows + k, k < rows);
    do_lines(job, lines, count);
    for (size_t r = 0; r < count && k < rows; r++)
      t[r * rows + k] = write_next(job, &lines[r], first + r * rows + k);
  }
  for (size_t r = 0; r < count; r++) write_carried(&carry[r]);
}

/* Two ranges at a time if both fit in the first-level cache. */
static void do_rows(layer_job *job, size_t first, size_t rows, double *t) {
  bool ranged = job->d * cpb_dtype_size(job->out.dtype) <= (job->stream ? STREAMED_BYTES : CACHED_BYTES);
  size_t each = ranged ? rows / RANGES : 0, done = each * RANGES;
  if (job->real < 0)
    for (size_t k = 0; k < rows; k++) t[k] = row_alone(job, first + k);
  else {
    if (each > 0) do_ranges(job, first, each, RANGES, t);
    if (done < rows) do_ranges(job, first + done, rows - done, 1, t + done);
  }
}

/* The parts of dL/dt are added in row order. */
static void do_block(void *arg, size_t block, size_t first, size_t count) {
  enum { MOST = 1024 };
  layer_job *job = arg;
  cpb_twofold part = {0, 0};
  double t[MOST];
  for (size_t done = 0; done < count; done += MOST) {
    size_t rows = count - done < MOST ? count - done : MOST;
    do_rows(job, first + done, rows, t);
    for (size_t k = 0; k < rows; k++) cpb_twofold_add(&part, t[k]);
  }
  if (job->stream) job->layer->fence();
  if (job->parts != NULL) job->parts[block] = cpb_twofold_value(part);
}

/* The first faulty row of all three; within one row, its own fault comes before that of g. */
static cpb_status report(const layer_job *job, const char *row, const char *out, cpb_error *error) {
  const cpb_first_fault *faults[] = {&job->row_fault, &job->g_fault, &job->out_fault};
  const char *names[] = {row, "g", out};
  int first = 0;
  for (int i = 1; i < 3; i++)
    if (~atomic_load(&faults[i]->key) / 8 < ~atomic_load(&faults[first]->key) / 8) first = i;
  return cpb_first_fault_report(faults[first], names[first], error);
}

static cpb_status check(const layer_job *job, const char *row, const char *out, cpb_error *error) {
  size_t d = job->d, row_cols = d + (job->law != CPB_FROM_X), g_cols = d + (job->law != CPB_OF_INVERSE);
  size_t out_cols = d + (job->law == CPB_OF_INVERSE);
  cpb_status status = cpb_check_scale(job->s, error);
  if (status == CPB_OK && d == 0) status = cpb_fail_no_columns(error, row);
  if (status == CPB_OK) status = cpb_check_view(job->row, row, row_cols, error);
  if (status == CPB_OK) status = cpb_check_view(job->g, "g", g_cols, error);
  if (status == CPB_OK && job->g.rows != job->row.rows)
    status = cpb_fail_rows(error, "g", job->g.rows, job->row.rows);
  if (status == CPB_OK) status = cpb_check_out(job->out, out, job->row.rows, out_cols, error);
  if (status == CPB_OK) status = cpb_check_apart(job->row, row, job->out, out, error);
  if (status == CPB_OK) status = cpb_check_apart(job->g, "g", job->out, out, error);
  return status;
}

/* Loops exist for rows of one float type; output too large for a cache is written with non-temporal stores. */
static void choose_loops(layer_job *job) {
  enum { LARGE = 32 << 20 };
  cpb_dtype real = job->out.dtype;
  bool same = job->row.dtype == real && job->g.dtype == real && job->layer != NULL;
  job->real = same && real == CPB_F32 ? 0 : same && real == CPB_F64 ? 1 : -1;
  job->row_bytes = job->row.stride * cpb_dtype_size(job->row.dtype);
  job->g_bytes = job->g.stride * cpb_dtype_size(job->g.dtype);
  job->out_bytes = job->out.stride * cpb_dtype_size(real);
  job->keeps = job->real == 0 && job->layer->kept != NULL && job->d <= CPB_LAYER_KEPT;
  job->stream = job->real >= 0 && job->out.stride == job->out.cols && job->out.rows * job->out_bytes >= LARGE;
}

static cpb_status run(layer_job *job, const char *row, const char *out, double *grad_t, const cpb_exec *exec,
                      cpb_error *error) {
  cpb_status status = check(job, row, out, error);
  if (status != CPB_OK) return status;
  cpb_blocks blocks = {job->row.rows, cpb_blocks_rows(job->d), do_block, job};
  size_t count = cpb_blocks_count(&blocks);
  if (grad_t != NULL && count != 0) {
    job->parts = calloc(count, sizeof *job->parts);
    if (job->parts == NULL) return cpb_fail_memory(error, "%zu partial sums", count);
  }
  job->loops = cpb_loops_here();
  job->layer = cpb_layer_loops_of(job->loops);
  job->s_in_range = in_range(job->s * job->s);
  choose_loops(job);
  cpb_blocks_run(&blocks, exec);
  cpb_twofold total = {0, 0};
  for (size_t i = 0; grad_t != NULL && i < count; i++) cpb_twofold_add(&total, job->parts[i]);
  if (grad_t != NULL) *grad_t = cpb_twofold_value(total);
  free(job->parts);
  return report(job, row, out, error);
}

cpb_status cpb_layer_backward(cpb_view x, cpb_view g, double s, cpb_out gx, double *grad_t,
                              const cpb_exec *exec, cpb_error *error) {
  layer_job job = {.law = CPB_FROM_X, .row = x, .g = g, .out = gx, .d = x.cols, .s = s};
  return run(&job, "x", "gx", grad_t, exec, error);
}

cpb_status cpb_layer_backward_saved(cpb_view y, cpb_view g, double s, cpb_out gx, double *grad_t,
                                    const cpb_exec *exec, cpb_error *error) {
  layer_job job = {.law = CPB_FROM_Y, .row = y, .g = g, .out = gx, .d = gx.cols, .s = s};
  return run(&job, "y", "gx", grad_t, exec, error);
}

cpb_status cpb_layer_inverse_backward(cpb_view y, cpb_view g, double s, cpb_out gy, double *grad_t,
                                      const cpb_exec *exec, cpb_error *error) {
  layer_job job = {.law = CPB_OF_INVERSE, .row = y, .g = g, .out = gy, .d = g.cols, .s = s};
  return run(&job, "y", "gy", grad_t, exec, error);
}
