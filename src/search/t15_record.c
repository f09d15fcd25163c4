#include "search/t15_record.h"

#include <math.h>
#include <string.h>

enum { MIDDLE = 128, MOST = 127 };

static const float zeros[CPB_FOLD_MOST + CPB_LANES];

/* ---- rows ---- */

static float rounded_up(double x) { return (float)(x * (1 + 0x1p-22) + 0x1p-140); }

/* As rest_of of byte_filter.c. */
static double coded_rest(const cpb_gridded *about, float step, size_t count) {
  return (double)step * (sqrt((double)about->rest) * 1.0002 + sqrt((double)count) * 4e-5);
}

void cpb_record_write(const cpb_fold *fold, size_t level, const float *numbers, const float *error,
                      cpb_record_before *before, void *record) {
  const cpb_loops *loops = fold->rows.loops;
  const float *y = numbers + cpb_fold_first(fold, level);
  const cpb_shift none = {1, zeros, zeros};
  size_t count = cpb_fold_count(fold, level);
  int8_t *codes = (int8_t *)record + sizeof(cpb_record);
  float reach, size2;
  cpb_gridded about;
  memset(record, 0, cpb_record_bytes(fold, level));
  loops->number(&y, NULL, 1, count, &none, &reach, &size2);
  cpb_record to = {.rho = y[count], .step = (reach > 1e-30f ? reach : 1e-30f) / MOST};
  loops->grid(&y, NULL, 1, count, &none, 1 / to.step, codes, CPB_BYTES_LINE, &about);
  double rest = coded_rest(&about, to.step, count);
  before->rest = sqrt(before->rest * before->rest + rest * rest) * (1 + 1e-14);
  to.rest = rounded_up(before->rest + (double)error[level]);
  to.squares = about.square * (2 * MIDDLE) + before->rho + MIDDLE;
  memcpy(record, &to, sizeof to);
}

/* ---- queries ---- */

static size_t room_of(const cpb_fold *fold, size_t level) {
  return cpb_record_bytes(fold, level) - sizeof(cpb_record);
}

size_t cpb_fold_asked_codes(const cpb_fold *fold) {
  size_t count = 0;
  for (size_t level = 1; level < fold->levels; level++) count += room_of(fold, level);
  return count;
}

/* The nearest integers; adding and subtracting 1.5 2^52 rounds. Returns the largest step that codes need. */
static double step_for(const double *y, size_t count, double most) {
  double reach = 1e-30;
  for (size_t k = 0; k < count; k++) reach = cpb_larger(reach, fabs(y[k]));
  return reach / most;
}

static double code_of(double y, double step, double *square, double *rest2) {
  const double to_whole = 0x1.8p52;
  double code = (y / step + to_whole) - to_whole, rest = y - step * code;
  *square += code * code;
  *rest2 += rest * rest;
  return code;
}

static double sum_of_squares(const float *y, size_t count) {
  double sum = 0;
  for (size_t k = 0; k < count; k++) sum += (double)y[k] * (double)y[k];
  return sum;
}

/* Level 0: as grid_query of byte_filter.c, with its centre. Returns the squared rounding residual. */
static double ask_first(const cpb_fold *fold, const cpb_byte_filter *filter, const float *numbers,
                        cpb_fold_asked *asked) {
  cpb_record_query *to = &asked->level[0];
  double y[CPB_BYTES_LINE] = {0}, square = 0, rest2 = 0;
  bool products = fold->rows.metric == CPB_IP;
  int32_t sum = 0;
  memset(asked->first, 0, sizeof asked->first);
  for (size_t k = 0; k < fold->columns; k++) {
    y[k] = (double)numbers[k] - (products ? 0 : (double)filter->center[k]);
    asked->constant += (double)filter->center[k] * (double)numbers[k];
  }
  to->step = step_for(y, fold->columns, MOST);
  for (size_t k = 0; k < fold->columns; k++) {
    asked->first[k] = (int8_t)code_of(y[k], to->step, &square, &rest2);
    sum += asked->first[k];
  }
  to->square = to->step * to->step * square;
  asked->start = -MIDDLE * sum;
  asked->rho = asked->first[fold->columns - 1];
  asked->center = (double)filter->center[fold->columns - 1];
  return rest2;
}

static double ask_level(const cpb_fold *fold, size_t level, const float *numbers, int16_t *codes,
                        cpb_record_query *to) {
  double y[CPB_FOLD_MOST], square = 0, rest2 = 0;
  size_t count = cpb_fold_count(fold, level), first = cpb_fold_first(fold, level);
  for (size_t k = 0; k < count; k++) y[k] = (double)numbers[first + k];
  to->step = step_for(y, count, CPB_FINE_MOST);
  to->codes = codes;
  memset(codes, 0, room_of(fold, level) * sizeof *codes);
  for (size_t k = 0; k < count; k++) codes[k] = (int16_t)code_of(y[k], to->step, &square, &rest2);
  to->square = to->step * to->step * square;
  return rest2;
}

void cpb_fold_ask(const cpb_fold *fold, const cpb_byte_filter *filter, const float *numbers,
                  const float *error, double grain, int16_t *codes, cpb_fold_asked *asked) {
  bool products = fold->rows.metric == CPB_IP;
  double rest2 = 0, seen2 = 0, center_size = filter->center_size;
  *asked = (cpb_fold_asked){.fold = fold};
  for (size_t level = 0; level < fold->levels; level++) {
    cpb_record_query *to = &asked->level[level];
    size_t first = cpb_fold_first(fold, level), count = cpb_fold_count(fold, level);
    rest2 +=
        level == 0 ? ask_first(fold, filter, numbers, asked) : ask_level(fold, level, numbers, codes, to);
    if (level > 0) codes += room_of(fold, level);
    seen2 += sum_of_squares(numbers + first, count);
    to->rho = (double)numbers[first + count];
    double length = sqrt(seen2 + to->rho * to->rho), off = (double)error[level];
    to->rest = sqrt(rest2) * (1 + 1e-11) + 1e-15 * (2 * length + center_size) + off + (products ? 0 : grain);
    to->length = length * (1 + 1e-11 + 0x1p-13) + off;
    if (level == 0) asked->loose = center_size * (1e-11 * length + 1.01 * off);
    asked->loose = cpb_larger(asked->loose, center_size * (1e-11 * length + 1.01 * off));
  }
  if (products) asked->loose += grain;
}

/* ---- bounds ---- */

static bool are_products(const cpb_fold_asked *asked) { return asked->fold->rows.metric == CPB_IP; }

/* Keys are floats of rounded factors, products and a sum; what is lost is far less than what codes lose. */
static const double LOST = 0x1p-20, TINY = 1e-35;

void cpb_fold_key_factors(const cpb_fold_asked *asked, const cpb_byte_filter_run *run, float *of_sum,
                          float *of_term) {
  bool products = are_products(asked);
  *of_sum = (float)((products ? -1 : -2) * run->step * asked->level[0].step);
  *of_term = products ? 0 : (float)(run->step * run->step);
}

static double slack_of(const cpb_fold_asked *asked, const cpb_byte_filter_run *run) {
  double square = asked->level[0].square;
  return are_products(asked) ? LOST * run->length * sqrt(square) + TINY
                             : LOST * (run->length * run->length + square) + TINY;
}

/* The largest s of a row with this residual and length. */
static double most_of(const cpb_fold_asked *asked, size_t level, double rest, double length, double bound) {
  const cpb_record_query *of = &asked->level[level];
  if (are_products(asked))
    return bound + (rest * of->length + length * of->rest + asked->loose) * (1 + 1e-14) + fabs(bound) * 1e-14;
  double reach = bound + rest + of->rest;
  return reach > 0 ? reach * reach * (1 + 1e-14) : 0;
}

/* What is added to a key; products are less than the constant and rounding. */
static double added(const cpb_fold_asked *asked) {
  return are_products(asked) ? -asked->constant : asked->level[0].square;
}

void cpb_fold_begin(const cpb_fold_asked *asked, const cpb_byte_filter_run *run, float key,
                    cpb_fold_passed *row) {
  row->s = (double)key + added(asked);
  row->slack = slack_of(asked, run);
  row->length = run->length;
}

float cpb_fold_most(const cpb_fold_asked *asked, const cpb_byte_filter_run *run, double bound) {
  double most = most_of(asked, 0, run->rest, run->length, bound) + slack_of(asked, run) - added(asked);
  most += fabs(most) * 0x1p-22 + fabs(added(asked)) * 0x1p-50 + TINY;
  return most < 0x1p120 ? (float)(most > -0x1p120 ? most : -0x1p120) : INFINITY;
}

/* s without the rho of level 0; those of further levels are not added to it. */
static void drop_rho(const cpb_fold_asked *asked, double step, int32_t squares, cpb_fold_passed *row) {
  double of_row = step * ((squares & (2 * MIDDLE - 1)) - MIDDLE), g = asked->level[0].step;
  if (are_products(asked))
    row->s += of_row * g * asked->rho + asked->center * asked->level[0].rho;
  else
    row->s -= (of_row - g * asked->rho) * (of_row - g * asked->rho);
}

static double with_rho(const cpb_fold_asked *asked, size_t level, double rho, double s) {
  double of_query = asked->level[level].rho;
  return s + (are_products(asked) ? -rho * of_query : (rho - of_query) * (rho - of_query));
}

static double length_of(const cpb_fold_asked *asked, const cpb_fold_passed *row, double rho) {
  return are_products(asked) ? sqrt(row->length * row->length + rho * rho) * (1 + 1e-14) : 0;
}

/* Without branches that depend on the row, as it cannot be foreseen which rows pass. */
static inline bool pass_row(const cpb_fold_asked *asked, size_t level, bool products, double step,
                            const void *record, int32_t product, double bound, cpb_fold_passed *row) {
  const cpb_record_query *of = &asked->level[level];
  cpb_record head;
  memcpy(&head, record, sizeof head);
  double h = (double)head.step, rho = (double)head.rho, square = h * h * (head.squares >> 8);
  double both = h * of->step * product;
  if (level == 1) drop_rho(asked, step, head.squares, row);
  row->s += products ? -both : square + of->square - 2 * both;
  row->slack += 1e-13 * (square + of->square + rho * rho + of->rho * of->rho + fabs(row->s));
  if (products) row->length = sqrt(row->length * row->length + square) * (1 + 1e-14);
  double most = most_of(asked, level, (double)head.rest, length_of(asked, row, rho), bound);
  return !(with_rho(asked, level, rho, row->s) - row->slack > most);
}

size_t cpb_fold_pass(const cpb_fold_asked *asked, size_t level, const void *const *records,
                     const double *steps, double bound, cpb_fold_passed *rows, size_t count) {
  const int8_t *codes[CPB_FOLD_ROWS_AT_ONCE];
  int32_t products[CPB_FOLD_ROWS_AT_ONCE];
  size_t kept = 0;
  if (count == 0) return 0;
  for (size_t i = 0; i < count; i++) codes[i] = (const int8_t *)records[i] + sizeof(cpb_record);
  asked->fold->rows.loops->fine_products(codes, count, asked->level[level].codes, room_of(asked->fold, level),
                                         products);
  for (size_t i = 0; i < count; i++) {
    cpb_fold_passed row = rows[i];
    bool passes = are_products(asked)
                      ? pass_row(asked, level, true, steps[i], records[i], products[i], bound, &row)
                      : pass_row(asked, level, false, steps[i], records[i], products[i], bound, &row);
    rows[kept] = row;
    kept += passes;
  }
  return kept;
}

double cpb_fold_nearest(const cpb_fold_asked *asked, size_t level, double rest, const void *record,
                        const cpb_fold_passed *row) {
  const cpb_record_query *of = &asked->level[level];
  double s = row->s, length = row->length, nearest;
  if (level > 0) {
    cpb_record head;
    memcpy(&head, record, sizeof head);
    rest = (double)head.rest;
    s = with_rho(asked, level, (double)head.rho, s);
    length = length_of(asked, row, (double)head.rho);
  }
  s -= row->slack;
  if (are_products(asked))
    nearest = s - (rest * of->length + length * of->rest + asked->loose) * (1 + 1e-14);
  else
    nearest = sqrt(cpb_larger(s, 0)) - rest - of->rest;
  return isnan(nearest) ? -INFINITY : nearest - fabs(nearest) * 1e-14;
}
