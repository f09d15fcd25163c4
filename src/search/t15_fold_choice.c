/* The directions of a fold, and how many of them: from a sample of the rows. */
#include <math.h>
#include <string.h>

#include "base/best.h"
#include "base/memory.h"
#include "loops/matrix.h"
#include "search/t15_record.h"

enum {
  ENOUGH = 512,         /* rows of a sample; of fewer, nothing is concluded */
  NUMBERS = 1 << 21,    /* of a sample, at most */
  SHORT = 48,           /* columns; shorter rows are not folded */
  LEARNED = 127,        /* directions that are learned, at most, .. */
  MULTIPLIED = 1 << 16, /* .. and their numbers, with which every row is multiplied when it is added */
  DENSE = 512,          /* columns up to which the covariance is computed */
  ROUNDS = 4,           /* of orthogonal iteration by covariances, .. */
  LONG_ROUNDS = 2,      /* .. and by the rows themselves */
  QUERIES = 16          /* rows of the sample whose neighbours are looked for */
};

/* What one query costs for each row, in nanoseconds: a byte that is scanned; a row that is read at a further level, and each of
 * its cache lines; a row that is measured in double, or of integers if it is of bytes, and each of its bytes. */
static const double SCANNED = 0.055, PASSED = 18, PASSED_LINE = 4, MEASURED = 90, MEASURED_BYTE = 0.15,
                    WHOLE = 50, WHOLE_BYTE = 0.05;
/* How much less a fold must cost than codes of all columns, and how many bytes its codes may have for each number. */
static const double WORTHWHILE = 0.8, BYTES_MOST = 1.1;

typedef struct choice {
  const cpb_float_filter *numbers;
  size_t rows, d, learned;
  double measured;       /* what a measured row costs */
  cpb_matrix z;          /* rows x d: the sample */
  cpb_matrix directions; /* learned x d */
  cpb_matrix along;      /* rows x learned */
  double *size2, *rest2; /* |z|^2, and what the directions so far leave of it */
  double *reach;         /* the largest number of a row along the directions so far */
  double *apart2;        /* QUERIES x rows: squared distances along the directions so far, or products .. */
  double *near; /* .. and the distance, or -product, that neighbours of a query are expected to have */
  cpb_memory memory;
} choice;

static size_t query_row(const choice *c, size_t query) { return query * c->rows / QUERIES; }

/* ---- the sample ---- */

static bool take_sample(choice *c, cpb_view sample) {
  size_t stride = (c->d + CPB_PANEL_LINE - 1) / CPB_PANEL_LINE * CPB_PANEL_LINE;
  float *x = cpb_memory_lines(&c->memory, stride, sizeof *x);
  c->z = cpb_matrix_new(&c->memory, sample.rows, c->d);
  c->size2 = cpb_memory_take(&c->memory, sample.rows, sizeof *c->size2);
  if (c->memory.failed) return false;
  for (size_t i = 0; i < sample.rows; i++) {
    double *z = cpb_matrix_row(&c->z, c->rows), size2;
    if (cpb_float_filter_numbers(c->numbers, sample, i, x, CPB_PANEL_LINE, &size2) != 0) continue;
    if (!(size2 < CPB_FLOAT_FILTER_MOST)) continue;
    c->numbers->loops->widen[CPB_F32](x, c->d, z);
    c->size2[c->rows++] = size2;
  }
  c->z.rows = c->rows;
  return true;
}

/* ---- directions ---- */

/* Rows of the sample to begin with, then by powers of the covariance. */
static bool learn_directions(choice *c) {
  cpb_memory memory = {0};
  cpb_random random = {1};
  bool dense = c->d <= DENSE;
  cpb_matrix v = c->directions;
  cpb_matrix covariance = cpb_matrix_new(&memory, dense ? c->d : 0, c->d),
             next = cpb_matrix_new(&memory, v.rows, c->d);
  cpb_matrix upright = cpb_matrix_new(&memory, c->d, v.rows);
  bool ready = !memory.failed;
  for (size_t j = 0; ready && j < v.rows; j++)
    memcpy(cpb_matrix_row(&v, j), cpb_matrix_row(&c->z, j * c->rows / v.rows), c->d * sizeof(double));
  if (ready) cpb_matrix_orthonormalise(&v, &random);
  if (ready && dense) cpb_matrix_product_symmetric(&c->z, true, &c->z, &covariance, NULL);
  for (int round = 0; ready && round < (dense ? ROUNDS : LONG_ROUNDS); round++) {
    if (dense)
      cpb_matrix_product(&v, false, &covariance, &next, NULL);
    else {
      cpb_matrix_transpose(&v, &upright);
      cpb_matrix_product(&c->z, false, &upright, &c->along, NULL);
      cpb_matrix_product(&c->along, true, &c->z, &next, NULL);
    }
    memcpy(v.at, next.at, v.height * v.stride * sizeof *v.at);
    cpb_matrix_orthonormalise(&v, &random);
  }
  if (ready) cpb_matrix_transpose(&v, &upright);
  if (ready) cpb_matrix_product(&c->z, false, &upright, &c->along, NULL);
  cpb_memory_free(&memory);
  return ready;
}

/* Those along which rows differ most come first. */
static bool sort_directions(choice *c) {
  cpb_memory memory = {0};
  cpb_ranked order[CPB_FOLD_MOST];
  cpb_matrix directions = cpb_matrix_new(&memory, c->learned, c->d),
             along = cpb_matrix_new(&memory, c->rows, c->learned);
  for (size_t j = 0; j < c->learned; j++) {
    order[j] = (cpb_ranked){0, j};
    for (size_t i = 0; i < c->rows; i++)
      order[j].key -= cpb_matrix_row(&c->along, i)[j] * cpb_matrix_row(&c->along, i)[j];
  }
  cpb_ranked_sort(order, c->learned);
  for (size_t j = 0; !memory.failed && j < c->learned; j++) {
    memcpy(cpb_matrix_row(&directions, j), cpb_matrix_row(&c->directions, (size_t)order[j].id),
           c->d * sizeof(double));
    for (size_t i = 0; i < c->rows; i++)
      cpb_matrix_row(&along, i)[j] = cpb_matrix_row(&c->along, i)[(size_t)order[j].id];
  }
  bool ready = !memory.failed;
  if (ready)
    memcpy(c->directions.at, directions.at, c->directions.height * c->directions.stride * sizeof(double));
  if (ready) memcpy(c->along.at, along.at, c->along.height * c->along.stride * sizeof(double));
  cpb_memory_free(&memory);
  return ready;
}

/* ---- what a fold leaves ---- */

/* The nearest row of the sample stands for the tenth or so of many rows: that is farther, as queries are often farther from
 * the rows than these from each other. */
static void find_near(choice *c, size_t query) {
  size_t own = query_row(c, query);
  const double *q = cpb_matrix_row(&c->z, own);
  const cpb_loops *loops = c->numbers->loops;
  double nearest = INFINITY;
  for (size_t i = 0; i < c->rows; i++) {
    const double *z = cpb_matrix_row(&c->z, i);
    double value = c->numbers->metric == CPB_IP ? -loops->dot(z, q, c->d) : loops->dist2(z, q, c->d);
    if (i != own && value < nearest) nearest = value;
  }
  c->near[query] = c->numbers->metric == CPB_IP ? nearest : sqrt(nearest);
}

/* The error of codes of so many columns is a twelfth of a squared step for each, on average. */
static double blur_of(double reach, size_t columns) { return reach / 127 * sqrt((double)columns / 12); }

/* The share of the rows that a query has to measure, where folds have `count` directions. */
static double share_left(const choice *c, size_t count) {
  size_t left = 0;
  bool products = c->numbers->metric == CPB_IP;
  for (size_t query = 0; query < QUERIES; query++) {
    size_t own = query_row(c, query);
    const double *apart2 = c->apart2 + query * c->rows;
    double rest = sqrt(c->rest2[own]), blur = blur_of(c->reach[own], count + 1);
    for (size_t i = 0; i < c->rows; i++) {
      double other = sqrt(c->rest2[i]), off = other - rest, of_row = blur_of(c->reach[i], count + 1);
      if (products)
        left += -(apart2[i] + other * rest) <=
                c->near[query] + of_row * sqrt(c->size2[own]) + blur * sqrt(c->size2[i]);
      else
        left += sqrt(apart2[i] + off * off) <= c->near[query] + blur + of_row;
    }
    left -= left > 0; /* the query itself */
  }
  return (double)left / (double)(QUERIES * (c->rows - 1));
}

static void add_direction(choice *c, size_t j) {
  bool products = c->numbers->metric == CPB_IP;
  for (size_t i = 0; i < c->rows; i++) {
    double number = cpb_matrix_row(&c->along, i)[j];
    c->rest2[i] = cpb_larger(c->rest2[i] - number * number, 0);
    c->reach[i] = cpb_larger(c->reach[i], fabs(number));
  }
  for (size_t query = 0; query < QUERIES; query++) {
    double of_query = cpb_matrix_row(&c->along, query_row(c, query))[j],
           *apart2 = c->apart2 + query * c->rows;
    for (size_t i = 0; i < c->rows; i++) {
      double number = cpb_matrix_row(&c->along, i)[j];
      apart2[i] += products ? number * of_query : (number - of_query) * (number - of_query);
    }
  }
}

static double scan_cost(size_t columns) {
  return SCANNED * (double)(cpb_bytes_words(columns) * CPB_BYTES_WORD);
}

/* Codes of all columns leave the rows that are as near as the codes are blurred. */
static double cost_without(choice *c) {
  size_t left = 0;
  for (size_t i = 0; i < c->rows; i++)
    for (size_t k = 0; k < c->d; k++)
      c->reach[i] = cpb_larger(c->reach[i], fabs(cpb_matrix_row(&c->z, i)[k]));
  for (size_t query = 0; c->numbers->metric != CPB_IP && query < QUERIES; query++) {
    size_t own = query_row(c, query);
    double blur = blur_of(c->reach[own], c->d);
    for (size_t i = 0; i < c->rows; i++) {
      double apart =
          sqrt(c->numbers->loops->dist2(cpb_matrix_row(&c->z, i), cpb_matrix_row(&c->z, own), c->d));
      left += i != own && apart <= c->near[query] + blur + blur_of(c->reach[i], c->d);
    }
  }
  memset(c->reach, 0, c->rows * sizeof *c->reach);
  return scan_cost(c->d) + c->measured * (double)left / (double)(QUERIES * (c->rows - 1));
}

/* Folds are tried with whole words of codes, which rho completes. */
enum { TRIED = CPB_BYTES_WORD, PLACES = (LEARNED + 1) / TRIED };
static size_t directions_at(size_t place) { return (place + 1) * TRIED - 1; }

/* The least that rows take which are left at a number of directions, with so many further levels at most, and how many of the
 * places the next of these is further; 0: they are measured. */
typedef struct way {
  double cost;
  size_t next;
} way;

static way best_way(const choice *c, const double *share, size_t places, const way *further, size_t place) {
  way best = {share[place] * c->measured, 0};
  for (size_t next = 1; further != NULL && place + next < places; next++) {
    size_t bytes = sizeof(cpb_record) + next * TRIED;
    double lines = (double)((bytes + CPB_RECORD_LINE - 1) / CPB_RECORD_LINE);
    double cost = share[place] * (PASSED + PASSED_LINE * lines) + further[place + next].cost;
    if (cost < best.cost) best = (way){cost, next};
  }
  return best;
}

/* The levels of the best way with so many further ones. */
static cpb_fold_levels levels_of(way ways[][PLACES], size_t further, size_t place) {
  cpb_fold_levels levels = {{0}};
  for (size_t level = 0, next = 1; level <= further && next > 0; level++, place += next) {
    levels.directions[level] = directions_at(place);
    next = ways[further - level][place].next;
  }
  return levels;
}

/* Bytes that the codes of a row take, for each of its numbers. */
static double bytes_of(const choice *c, const cpb_fold_levels *levels) {
  const size_t of_term = sizeof(int32_t) + sizeof(uint16_t);
  size_t bytes = cpb_bytes_words(levels->directions[0] + 1) * CPB_BYTES_WORD + of_term;
  for (size_t i = 1; i < CPB_FOLD_LEVELS && levels->directions[i] > 0; i++) {
    size_t record = sizeof(cpb_record) + levels->directions[i] - levels->directions[i - 1];
    bytes += (record + CPB_RECORD_LINE - 1) / CPB_RECORD_LINE * CPB_RECORD_LINE;
  }
  return (double)bytes / (double)c->d;
}

/* No levels: no fold. ways[i] has up to i further levels. */
static void best_levels(choice *c, cpb_fold_levels *levels) {
  double share[PLACES], least = WORTHWHILE * cost_without(c);
  way ways[CPB_FOLD_LEVELS][PLACES];
  size_t places = (c->learned + 1) / TRIED;
  for (size_t place = 0, j = 0; place < places; place++) {
    for (; j < directions_at(place); j++) add_direction(c, j);
    share[place] = share_left(c, j);
  }
  for (size_t i = 0; i < CPB_FOLD_LEVELS; i++)
    for (size_t place = 0; place < places; place++)
      ways[i][place] = best_way(c, share, places, i > 0 ? ways[i - 1] : NULL, place);
  for (size_t place = 0; place < places && directions_at(place) <= CPB_FOLD_FIRST; place++) {
    for (size_t further = 0; further < CPB_FOLD_LEVELS; further++) {
      double cost = scan_cost(directions_at(place) + 1) + ways[further][place].cost;
      cpb_fold_levels found = levels_of(ways, further, place);
      if (cost >= least || bytes_of(c, &found) > BYTES_MOST) continue;
      least = cost;
      *levels = found;
    }
  }
}

/* Slightly shorter than 1, so that their norm is at most 1 when they are rounded. */
static bool make_fold(choice *c, const cpb_fold_levels *levels, cpb_fold **chosen) {
  const double shorter = 1 - 0x1p-15;
  bool contracts;
  size_t count = levels->directions[cpb_fold_levels_count(levels) - 1];
  float *directions = cpb_memory_take(&c->memory, count * c->d, sizeof *directions);
  if (directions == NULL) return false;
  for (size_t j = 0; j < count; j++)
    for (size_t k = 0; k < c->d; k++)
      directions[j * c->d + k] = (float)(shorter * cpb_matrix_row(&c->directions, j)[k]);
  *chosen = cpb_fold_new(c->numbers->metric, c->d, levels, directions, &contracts);
  return *chosen != NULL || !contracts;
}

static bool learn(choice *c, size_t learned) {
  c->learned = learned;
  c->directions = cpb_matrix_new(&c->memory, learned, c->d);
  c->along = cpb_matrix_new(&c->memory, c->rows, learned);
  return !c->memory.failed && learn_directions(c) && sort_directions(c);
}

static bool choose_levels(choice *c, cpb_fold_levels *levels) {
  c->rest2 = cpb_memory_copy(&c->memory, c->size2, c->rows, sizeof *c->rest2);
  c->reach = cpb_memory_zeros(&c->memory, c->rows, sizeof *c->reach);
  c->apart2 = cpb_memory_zeros(&c->memory, QUERIES * c->rows, sizeof *c->apart2);
  c->near = cpb_memory_take(&c->memory, QUERIES, sizeof *c->near);
  if (c->memory.failed) return false;
  for (size_t query = 0; query < QUERIES; query++) find_near(c, query);
  best_levels(c, levels);
  return true;
}

/* As many directions as are worth their products when rows are added. */
static size_t most_directions(size_t d) {
  size_t most = MULTIPLIED / d < LEARNED ? MULTIPLIED / d : LEARNED;
  return most < d ? most : d;
}

bool cpb_fold_choose(const cpb_float_filter *numbers, cpb_view sample, const cpb_fold_levels *wanted,
                     cpb_fold **chosen) {
  choice c = {.numbers = numbers, .d = sample.cols};
  cpb_fold_levels levels = *wanted;
  size_t count = cpb_fold_levels_count(wanted);
  *chosen = NULL;
  if (sample.rows > NUMBERS / c.d) sample.rows = NUMBERS / c.d;
  if (count == 0 && (sample.rows < ENOUGH || c.d < SHORT)) return true;
  bool whole = cpb_dtype_size(sample.dtype) == 1 && numbers->metric != CPB_COSINE;
  double bytes = (double)(c.d * cpb_dtype_size(sample.dtype));
  c.measured = whole ? WHOLE + WHOLE_BYTE * bytes : MEASURED + MEASURED_BYTE * bytes;
  bool made = take_sample(&c, sample);
  if (made && c.rows >= (count == 0 ? ENOUGH : 1))
    made = learn(&c, count == 0 ? most_directions(c.d) : levels.directions[count - 1]) &&
           (count > 0 || choose_levels(&c, &levels)) &&
           (levels.directions[0] == 0 || make_fold(&c, &levels, chosen));
  cpb_memory_free(&c.memory);
  return made;
}
