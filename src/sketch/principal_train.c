/* T14: principal directions of the sample, and the rotation and number of bits per direction by which a held-out part of the
 * sample finds its neighbours best. All lengths are in units of s. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/rows.h"
#include "base/blocks.h"
#include "base/tell.h"
#include "sketch/levels.h"
#include "sketch/sketch_loops.h"
#include "loops/matrix.h"
#include "sketch/sketch_train.h"

enum {
  QUERIES = 256, /* rows of the sample that are used as queries */
  NEAR = 10,     /* true neighbours of each .. */
  LATE = 60,     /* .. that should be among so many best estimates, .. */
  EARLY = 20,    /* .. or, with a quarter of the weight, among these */
  LEAST_BASE = 2 * LATE,
  CALIBRATED = 100,        /* nearest rows on which errors of estimates are measured */
  ELEMENTS_MOST = 1 << 24, /* of the sample; of longer rows fewer are used */
  LEARNED_MOST = 1024,     /* directions: the time of learning is cubic */
  TURNED_MOST = 256,       /* the same for turning .. */
  TURNED_ROWS = 2048,      /* .. which uses fewer rows .. */
  TURNED_STEPS = 40,       /* .. and steps */
  DENSE = 1024,            /* columns up to which the covariance is computed */
  DENSE_ROUNDS = 4,
  DENSE_POWERS = 3, /* products between two orthonormalisations */
  SPARSE_ROUNDS = 3,
  SPARSE_POWERS = 2,
  ROWS_LEARNED = 2016, /* a multiple of the padding of matrices */
  ROUNDS_LEARNED = 12,
};
/* Numbers of bits whose random rotation scores at most this much less than the best one get a learned one, too, unless that
 * is more than twice what the best one lacks. */
static const double CLOSE = 0.03, PERFECT = 1.25;
static const double CALIBRATION_QUANTILE = 0.999, CALIBRATION_MARGIN = 1.15;

/* ---- directions and rotations; false: out of memory ---- */

/* Multiplies each row by the factor of S, 2/(1+|z|^2), or divides by it. */
static void weigh(cpb_matrix *z, const double *size2, bool back) {
  for (size_t i = 0; i < z->rows; i++) {
    double factor = 2 / (1 + size2[i]), *row = cpb_matrix_row(z, i);
    for (size_t k = 0; k < z->cols; k++) row[k] = back ? row[k] / factor : row[k] * factor;
  }
}

/* Orthogonal iteration: by the covariance, or for long rows by two products with the rows themselves. */
static bool iterate(const cpb_matrix *y, cpb_matrix *v, cpb_random *random, const cpb_exec *exec) {
  bool dense = y->cols <= DENSE;
  int rounds = dense ? DENSE_ROUNDS : SPARSE_ROUNDS, powers = dense ? DENSE_POWERS : SPARSE_POWERS;
  cpb_memory memory = {0};
  cpb_matrix covariance = cpb_matrix_new(&memory, dense ? y->cols : 0, y->cols);
  cpb_matrix upright = cpb_matrix_new(&memory, v->cols, v->rows),
             next = cpb_matrix_new(&memory, v->rows, v->cols);
  cpb_matrix along = cpb_matrix_new(&memory, dense ? 0 : y->rows, v->rows);
  bool ready = !memory.failed;
  if (ready && dense) cpb_matrix_product_symmetric(y, true, y, &covariance, exec);
  for (int i = 0; ready && i < rounds * powers; i++) {
    if (dense)
      cpb_matrix_product(v, false, &covariance, &next, exec);
    else {
      cpb_matrix_transpose(v, &upright);
      cpb_matrix_product(y, false, &upright, &along, exec);
      cpb_matrix_product(&along, true, y, &next, exec);
    }
    memcpy(v->at, next.at, v->height * v->stride * sizeof *v->at);
    if (i % powers == powers - 1) cpb_matrix_orthonormalise(v, random);
  }
  cpb_memory_free(&memory);
  return ready;
}

static void random_rotation(cpb_matrix *rotation, cpb_random *random) {
  for (size_t i = 0; i < rotation->rows; i++)
    for (size_t k = 0; k < rotation->cols; k++) cpb_matrix_row(rotation, i)[k] = cpb_random_gauss(random);
  cpb_matrix_orthonormalise(rotation, random);
}

static void take_signs(cpb_matrix *m) {
  for (size_t i = 0; i < m->rows; i++)
    for (size_t k = 0; k < m->cols; k++) {
      double *at = cpb_matrix_row(m, i) + k;
      *at = *at >= 0 ? 1 : -1;
    }
}

/* Iterative quantisation: alternates B = sign(y R) and R = polar(y^T B), starting from R. y: projections of rows, of which the
 * first rotation->rows columns are used. */
static bool learn_rotation(const cpb_matrix *y, cpb_matrix *rotation, cpb_random *random,
                           const cpb_exec *exec) {
  cpb_matrix rows = *y;
  if (rows.rows > ROWS_LEARNED) rows.rows = rows.height = ROWS_LEARNED;
  cpb_memory memory = {0};
  cpb_matrix corners = cpb_matrix_new(&memory, rows.rows, rotation->cols);
  bool ready = !memory.failed;
  for (int round = 0; ready && round < ROUNDS_LEARNED; round++) {
    cpb_matrix_product(&rows, false, rotation, &corners, exec);
    take_signs(&corners);
    cpb_matrix_product(&rows, true, &corners, rotation, exec);
    ready = cpb_matrix_polar(rotation, exec);
  }
  if (ready) cpb_matrix_orthonormalise(rotation, random);
  cpb_memory_free(&memory);
  return ready;
}

typedef struct training {
  const cpb_sketch_training *o;
  const cpb_exec *exec;
  cpb_error *error;
  cpb_sketch_turn *turn;
  cpb_random random;
  size_t rows, d, queries; /* the first rows are the queries, 0: too few rows to compare */
  cpb_matrix z;            /* rows x d, (x-m)/s */
  double *size2;           /* |z|^2 */
  cpb_matrix directions;   /* k x d */
  cpb_matrix y;            /* rows x k: projections */
  size_t *nearest;         /* queries x CALIBRATED rows, nearest first */
  size_t near_count;       /* <= CALIBRATED */
  double told;             /* share of the work that was reported as done */
  cpb_memory memory;
} training;

/* A rotation with a number of bits per direction. */
typedef struct candidate {
  size_t bits_per, n, k; /* n = bits/bits_per directions made of k principal ones */
  cpb_sketch_rotation kind;
  cpb_matrix rotation; /* k x n */
  cpb_memory memory;   /* of the rotation */
  double score, recall;
} candidate;

/* ---- the sample ---- */

static void center_rows(void *arg, size_t block, size_t first, size_t count) {
  training *t = arg;
  (void)block;
  for (size_t i = first; i < first + count; i++) {
    double *z = cpb_matrix_row(&t->z, i);
    for (size_t k = 0; k < t->d; k++) z[k] /= t->o->s;
    t->size2[i] = cpb_loops_here()->dot(z, z, t->d);
    if (t->size2[i] <= 1e30) continue;
    memset(z, 0, t->d * sizeof *z); /* so far outside that it has no influence */
    t->size2[i] = 0;
  }
}

static void take_rows(training *t, cpb_view x) {
  for (size_t i = 0; i < t->rows; i++) {
    double *z = cpb_matrix_row(&t->z, i);
    cpb_view_widen(cpb_view_slice(x, i, 1), z);
    if (t->o->center != NULL) cpb_loops_here()->axpby(1, z, -1, t->o->center, z, t->d);
  }
  cpb_blocks blocks = {t->rows, 256, center_rows, t};
  cpb_blocks_run(&blocks, t->exec);
}

/* ---- true neighbours of the queries ---- */

typedef struct ranking {
  training *t;
  const cpb_matrix *products; /* queries x rows: what distances lack besides |z|^2 */
  size_t *found;              /* queries x 2: late and early ones */
} ranking;

static double key_of(const ranking *r, size_t row, size_t query) {
  return r->t->size2[row] - 2 * cpb_matrix_row(r->products, query)[row];
}

/* Insertion into a list of the nearest, which is short. */
static void find_nearest(void *arg, size_t query) {
  const ranking *r = arg;
  training *t = r->t;
  size_t *list = t->nearest + query * CALIBRATED, count = 0;
  for (size_t row = t->queries; row < t->rows; row++) {
    double key = key_of(r, row, query);
    if (count == t->near_count && key >= key_of(r, list[count - 1], query)) continue;
    size_t at = count < t->near_count ? count++ : count - 1;
    for (; at > 0 && key < key_of(r, list[at - 1], query); at--) list[at] = list[at - 1];
    list[at] = row;
  }
}

/* The queries as columns: the first rows of m. */
static cpb_matrix queries_of(const training *t, const cpb_matrix *m, cpb_memory *memory) {
  cpb_matrix first = *m, asked = cpb_matrix_new(memory, m->cols, t->queries);
  first.rows = t->queries;
  if (!memory->failed) cpb_matrix_transpose(&first, &asked);
  return asked;
}

/* (rows asked)^T: queries x rows */
static cpb_matrix multiply_queries(const training *t, const cpb_matrix *rows, const cpb_matrix *asked,
                                   cpb_memory *memory) {
  cpb_matrix upright = cpb_matrix_new(memory, t->rows, t->queries);
  cpb_matrix products = cpb_matrix_new(memory, t->queries, t->rows);
  if (memory->failed) return products;
  cpb_matrix_product(rows, false, asked, &upright, t->exec);
  cpb_matrix_transpose(&upright, &products);
  return products;
}

static bool know_neighbours(training *t) {
  size_t base = t->rows - t->queries;
  t->near_count = base < CALIBRATED ? base : CALIBRATED;
  t->nearest = cpb_memory_take(&t->memory, t->queries, CALIBRATED * sizeof *t->nearest);
  cpb_memory memory = {.failed = t->memory.failed};
  cpb_matrix asked = queries_of(t, &t->z, &memory), products = multiply_queries(t, &t->z, &asked, &memory);
  bool ready = !memory.failed;
  if (ready) cpb_exec_run(t->exec, t->queries, find_nearest, &(ranking){t, &products, NULL});
  cpb_memory_free(&memory);
  return ready;
}

/* ---- how well a candidate finds them ---- */

typedef struct approximation {
  const training *t;
  const candidate *c;
  cpb_matrix *rows; /* projections on entry; f v on return */
  atomic_bool out_of_memory;
} approximation;

static void approximate_row(double *row, size_t n, size_t bits_per, float *c, uint8_t *code) {
  cpb_loops_here()->narrow(row, n, c);
  cpb_levels_chosen chosen;
  cpb_sketch_loops_here()->levels(
      &(cpb_levels_job){.c = c, .rows = 1, .n = n, .bits_per = bits_per, .codes = code, .chosen = &chosen});
  double f = chosen.along > 0 ? chosen.c2 / chosen.along : 0;
  for (size_t k = 0; k < n; k++) row[k] = f * cpb_level_at(code, bits_per, k);
}

static void approximate_rows(void *arg, size_t block, size_t first, size_t count) {
  approximation *a = arg;
  (void)block;
  size_t n = a->c->n;
  cpb_memory memory = {0};
  float *c = cpb_memory_zeros(&memory, cpb_levels_padded(n), sizeof *c);
  uint8_t *code = cpb_memory_take(&memory, n, 1);
  if (memory.failed) atomic_store(&a->out_of_memory, true);
  for (size_t i = first; i < first + count && !memory.failed; i++)
    approximate_row(cpb_matrix_row(a->rows, i), n, a->c->bits_per, c, code);
  cpb_memory_free(&memory);
}

/* Number of rows whose estimate is smaller. */
static size_t rank_of(const ranking *r, size_t row, size_t query) {
  double key = key_of(r, row, query);
  size_t rank = 0;
  for (size_t i = r->t->queries; i < r->t->rows; i++) rank += key_of(r, i, query) < key;
  return rank;
}

static void count_found(void *arg, size_t query) {
  const ranking *r = arg;
  const training *t = r->t;
  for (size_t i = 0; i < NEAR && i < t->near_count; i++) {
    size_t rank = rank_of(r, t->nearest[query * CALIBRATED + i], query);
    r->found[2 * query] += rank < LATE;
    r->found[2 * query + 1] += rank < EARLY;
  }
}

static void score(training *t, const cpb_matrix *products, candidate *c) {
  size_t found[2 * QUERIES] = {0}, late = 0, early = 0, near = t->near_count < NEAR ? t->near_count : NEAR;
  ranking r = {t, products, found};
  cpb_exec_run(t->exec, t->queries, count_found, &r);
  for (size_t query = 0; query < t->queries; query++) {
    late += found[2 * query];
    early += found[2 * query + 1];
  }
  double all = (double)(t->queries * near);
  c->recall = (double)late / all;
  c->score = c->recall + (PERFECT - 1) * (double)early / all;
}

static bool judge(training *t, candidate *c) {
  if (t->queries == 0) return true;
  cpb_memory memory = {0};
  cpb_matrix rows = cpb_matrix_new(&memory, t->rows, c->n);
  approximation a = {.t = t, .c = c, .rows = &rows};
  if (!memory.failed) cpb_matrix_product(&t->y, false, &c->rotation, &rows, t->exec);
  cpb_matrix asked = queries_of(t, &rows, &memory);
  if (!memory.failed) cpb_blocks_run(&(cpb_blocks){t->rows, 64, approximate_rows, &a}, t->exec);
  cpb_matrix products = multiply_queries(t, &rows, &asked, &memory);
  bool ready = !memory.failed && !atomic_load(&a.out_of_memory);
  if (ready) score(t, &products, c);
  cpb_memory_free(&memory);
  return ready;
}

/* ---- candidates ---- */

static cpb_status no_memory(const training *t) {
  return cpb_fail_memory(t->error, "the training of a sketch");
}

/* The normals that the centred kind trains on the projections, as columns of a matrix that is made orthonormal. */
static cpb_status turn_rotation(training *t, candidate *c) {
  cpb_sketch_training how = *t->o;
  how.kind = CPB_SKETCH_CENTRED;
  how.bits = c->n;
  how.bits_per = 1;
  how.s = 1;
  how.center = NULL;
  how.max_steps = TURNED_STEPS;
  how.starts = 1;
  how.batch = 0;
  cpb_view rows = {.data = t->y.at,
                   .dtype = CPB_F64,
                   .rows = t->rows < TURNED_ROWS ? t->rows : TURNED_ROWS,
                   .cols = c->k,
                   .stride = t->y.stride};
  cpb_sketch *turned = NULL;
  cpb_exec_part part;
  cpb_status status =
      t->turn(rows, &how, &turned, NULL, cpb_exec_part_of(&part, t->exec, 0.5, 0.5), t->error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; i < c->n; i++)
    for (size_t k = 0; k < c->k; k++)
      cpb_matrix_row(&c->rotation, k)[i] = turned->normals[i * (c->k + 1) + k];
  cpb_sketch_free(turned);
  if (!cpb_matrix_polar(&c->rotation, t->exec)) return no_memory(t);
  cpb_matrix_orthonormalise(&c->rotation, &t->random);
  return CPB_OK;
}

/* Fills and judges a candidate; its memory must be freed. */
static cpb_status try_candidate(training *t, candidate *c, size_t bits_per, cpb_sketch_rotation kind) {
  *c = (candidate){.bits_per = bits_per, .n = t->o->bits / bits_per, .kind = kind};
  c->k = c->n < t->directions.rows ? c->n : t->directions.rows;
  c->rotation = cpb_matrix_new(&c->memory, c->k, c->n);
  if (c->memory.failed) return no_memory(t);
  cpb_status status = CPB_OK;
  if (kind == CPB_ROTATION_TURNED)
    status = turn_rotation(t, c);
  else
    random_rotation(&c->rotation, &t->random);
  if (status != CPB_OK) return status;
  bool ready = kind != CPB_ROTATION_LEARNED || learn_rotation(&t->y, &c->rotation, &t->random, t->exec);
  return ready && judge(t, c) ? CPB_OK : no_memory(t);
}

/* Keeps the better one; the earlier one if they are equal. */
static cpb_status compete(training *t, candidate *best, size_t bits_per, cpb_sketch_rotation kind,
                          double *score_of) {
  candidate other;
  cpb_status status = try_candidate(t, &other, bits_per, kind);
  *score_of = other.score;
  bool better = status == CPB_OK && (best->rotation.at == NULL || other.score > best->score);
  cpb_memory_free(better ? &best->memory : &other.memory);
  if (better) *best = other;
  if (status == CPB_OK) status = cpb_exec_tell(t->exec, t->told += (0.95 - t->told) / 4, t->error);
  return status;
}

/* Without rows to compare: the finest levels for which there are as many directions as columns. */
static size_t usual_bits_per(const training *t) {
  size_t of_column = t->o->bits / t->d;
  return of_column >= 4 ? 4 : of_column >= 2 ? 2 : 1;
}

/* Rotations of one kind for every number of bits that is allowed, or came close to the best one; scores: by bits per direction,
 * NAN before the first. */
static cpb_status try_all(training *t, candidate *best, size_t given, cpb_sketch_rotation kind,
                          double *scores) {
  double least = best->score - fmin(CLOSE, 2 * (PERFECT - best->score));
  cpb_status status = CPB_OK;
  for (size_t bits_per = 1; bits_per <= 4 && status == CPB_OK; bits_per *= 2) {
    if ((given != 0 && given != bits_per) || scores[bits_per] < least) continue;
    if (kind == CPB_ROTATION_LEARNED && t->o->bits / bits_per > LEARNED_MOST) continue;
    status = compete(t, best, bits_per, kind, &scores[bits_per]);
  }
  return status;
}

static cpb_status choose(training *t, candidate *best) {
  cpb_sketch_rotation wanted = t->o->rotation;
  size_t given = t->o->bits_per != 0 ? t->o->bits_per : t->queries == 0 ? usual_bits_per(t) : 0;
  double scores[5] = {NAN, NAN, NAN, NAN, NAN};
  cpb_status status =
      try_all(t, best, given, wanted == CPB_ROTATION_CHOSEN ? CPB_ROTATION_RANDOM : wanted, scores);
  if (wanted != CPB_ROTATION_CHOSEN || t->queries == 0) return status;
  if (status == CPB_OK) status = try_all(t, best, given, CPB_ROTATION_LEARNED, scores);
  if (status == CPB_OK && best->n <= TURNED_MOST && best->n >= 8 && best->n % 8 == 0)
    status = compete(t, best, best->bits_per, CPB_ROTATION_TURNED, &scores[best->bits_per]);
  return status;
}

/* ---- the sketch ---- */

static cpb_status build(training *t, const candidate *c, cpb_sketch **sketch) {
  cpb_sketch_options shape;
  cpb_sketch_options_init(&shape, sizeof shape);
  shape.kind = CPB_SKETCH_PRINCIPAL;
  shape.d = t->d;
  shape.bits = t->o->bits;
  shape.bits_per = c->bits_per;
  shape.factors = t->o->factors;
  shape.rotation = c->kind;
  shape.s = t->o->s;
  shape.center = t->o->center;
  shape.seed = t->o->seed;
  cpb_matrix normals = cpb_matrix_new(&t->memory, c->n, t->d), used = t->directions;
  *sketch = normals.at == NULL ? NULL : cpb_sketch_room(&shape);
  if (*sketch == NULL) return cpb_fail_memory(t->error, "a sketch");
  used.rows = c->k;
  cpb_matrix_product(&c->rotation, true, &used, &normals, t->exec);
  for (size_t i = 0; i < c->n; i++)
    memcpy((*sketch)->normals + i * (t->d + 1), cpb_matrix_row(&normals, i), t->d * sizeof(double));
  cpb_sketch_pack(*sketch, 0, c->n);
  return CPB_OK;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The part of its bound that the error of an estimate of |z-w|^2 took: the bound is 2e sqrt(|z-w|^2 + r), r the part of
 * |w|^2 outside of the directions. */
static double share_of_bound(const cpb_sketch *sketch, const training *t, const uint8_t *code,
                             const double *asked, size_t row, size_t query) {
  const cpb_sketch_options *o = &sketch->options;
  const cpb_loops *loops = cpb_loops_here();
  cpb_factor_form form = cpb_factor_form_of(o);
  cpb_row_factors factors = cpb_factors_get(&form, code + o->bits / 8);
  size_t n = cpb_sketch_directions(o);
  double along = 0, asked2 = loops->dot(asked, asked, n);
  for (size_t i = 0; i < n; i++) along += cpb_level_at(code, o->bits_per, i) * asked[i];
  double outside = fmax(t->size2[query] - asked2, 0);
  double true2 = loops->dist2(cpb_matrix_row(&t->z, row), cpb_matrix_row(&t->z, query), t->d);
  double estimate = factors.size2 + t->size2[query] - 2 * factors.f * along;
  double bound = 2 * factors.e * sqrt(true2 + outside);
  return bound > 0 ? (estimate - true2) / bound : 0;
}

static void calibrate_query(const cpb_sketch *sketch, const training *t, const uint8_t *codes, size_t query,
                            double *asked, double *shares) {
  const cpb_sketch_options *o = &sketch->options;
  size_t n = cpb_sketch_directions(o);
  for (size_t i = 0; i < n; i++)
    asked[i] = cpb_loops_here()->dot(sketch->normals + i * (t->d + 1), cpb_matrix_row(&t->z, query), t->d);
  for (size_t i = 0; i < t->near_count; i++) {
    size_t row = t->nearest[query * CALIBRATED + i];
    shares[i] = share_of_bound(sketch, t, codes + row * o->code_bytes, asked, row, query);
  }
}

static cpb_status calibrate(training *t, cpb_view x, cpb_sketch *sketch) {
  size_t count = t->queries * t->near_count;
  if (count < 1000) return CPB_OK;
  uint8_t *codes = cpb_memory_take(&t->memory, t->rows, sketch->options.code_bytes);
  double *shares = cpb_memory_take(&t->memory, count, sizeof *shares);
  double *asked = cpb_memory_take(&t->memory, cpb_sketch_directions(&sketch->options), sizeof *asked);
  if (t->memory.failed) return cpb_fail_memory(t->error, "the codes of %zu rows", t->rows);
  cpb_status status = cpb_sketch_encode(sketch, cpb_view_slice(x, 0, t->rows), codes, t->exec, t->error);
  if (status != CPB_OK) return status;
  for (size_t query = 0; query < t->queries; query++)
    calibrate_query(sketch, t, codes, query, asked, shares + query * t->near_count);
  qsort(shares, count, sizeof *shares, ascending);
  double share = shares[(size_t)(CALIBRATION_QUANTILE * (double)(count - 1))] * CALIBRATION_MARGIN;
  sketch->options.spread = fmin(1, fmax(share, 0x1p-20));
  return CPB_OK;
}

static bool allocate(training *t) {
  size_t most = 0;
  for (size_t bits_per = 1; bits_per <= 4; bits_per *= 2)
    if ((t->o->bits_per == 0 || t->o->bits_per == bits_per) && t->o->bits / bits_per > most)
      most = t->o->bits / bits_per;
  size_t k = most < t->d ? most : t->d;
  t->z = cpb_matrix_new(&t->memory, t->rows, t->d);
  t->directions = cpb_matrix_new(&t->memory, k, t->d);
  t->y = cpb_matrix_new(&t->memory, t->rows, k);
  t->size2 = cpb_memory_take(&t->memory, t->rows, sizeof *t->size2);
  return !t->memory.failed;
}

/* The principal directions of the first d coordinates of S(z), 2z/(1+|z|^2): rows far from the centre have a bounded
 * influence. The first j directions span the widest space of j dimensions for every j. */
static bool find_directions(training *t) {
  cpb_memory memory = {0};
  cpb_matrix upright = cpb_matrix_new(&memory, t->d, t->directions.rows);
  random_rotation(&t->directions, &t->random);
  weigh(&t->z, t->size2, false);
  bool done = !memory.failed && iterate(&t->z, &t->directions, &t->random, t->exec);
  weigh(&t->z, t->size2, true);
  if (done) {
    cpb_matrix_transpose(&t->directions, &upright);
    cpb_matrix_product(&t->z, false, &upright, &t->y, t->exec);
  }
  cpb_memory_free(&memory);
  return done;
}

static cpb_status train(training *t, cpb_view x, cpb_sketch **sketch, cpb_sketch_report *report) {
  candidate best = {.rotation = {.at = NULL}};
  take_rows(t, x);
  bool ready = find_directions(t) && (t->queries == 0 || know_neighbours(t));
  cpb_status status = ready ? cpb_exec_tell(t->exec, 0.4, t->error) : no_memory(t);
  if (status == CPB_OK) status = choose(t, &best);
  if (status == CPB_OK) status = build(t, &best, sketch);
  if (status == CPB_OK) status = calibrate(t, x, *sketch);
  cpb_memory_free(&best.memory);
  report->settled = true;
  report->recall = t->queries > 0 ? best.recall : NAN;
  return status;
}

cpb_status cpb_principal_train(cpb_view sample, const cpb_sketch_training *o, cpb_sketch_turn *turn,
                               cpb_sketch **sketch, cpb_sketch_report *report, const cpb_exec *exec,
                               cpb_error *error) {
  size_t most =
      ELEMENTS_MOST / sample.cols > QUERIES + LEAST_BASE ? ELEMENTS_MOST / sample.cols : QUERIES + LEAST_BASE;
  training t = {.o = o,
                .exec = exec,
                .error = error,
                .turn = turn,
                .random = {o->seed},
                .rows = sample.rows < most ? sample.rows : most,
                .d = sample.cols};
  t.queries = t.rows / 4 < QUERIES ? t.rows / 4 : QUERIES;
  if (t.rows - t.queries < LEAST_BASE) t.queries = 0;
  cpb_status status = allocate(&t) ? train(&t, sample, sketch, report) : no_memory(&t);
  cpb_memory_free(&t.memory);
  if (status == CPB_OK) return CPB_OK;
  cpb_sketch_free(*sketch);
  *sketch = NULL;
  return status;
}
