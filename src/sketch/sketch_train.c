/* T14: normals whose bits agree on half of the rows, pair by pair.
 *
 *   theta_ij = (2 O_ij/n - 1) pi/2,   u_ij = (c_i <c_i,c_j> - c_j)/|.|
 *   c_i <- normalise(c_i + sum_j tan(scale theta_ij) u_ij)
 * u_ij is the direction on the sphere in which c_i moves away from c_j. Summed over j the step is
 *   c_i (1 + sum_j w_ij g_ij) - sum_j w_ij c_j,    g = <c_i,c_j>, w = tan(..)/sqrt(1-g^2)
 * which is two matrix products for all i at once. The overlaps are a third product, of bits, by the Hamming loop. */
#include <math.h>
#include <string.h>

#include "loops/row_state.h"
#include "sphere/map_object.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/rows.h"
#include "base/sized.h"
#include "base/blocks.h"
#include "base/tell.h"
#include "loops/matrix.h"
#include "sketch/t14_sketch.h"
#include "sketch/sketch_train.h"

enum {
  LEAST_BATCH = 64, /* rows */
  NORMALS_PER_TASK = 8 * CPB_TILE_ROWS,
  ROWS_OF_STARTS = 1024, /* on which sets of first normals are compared */
  PATIENCE = 10,         /* steps without improvement, for tolerance 0 */
  HALVINGS = 5,          /* of an angle that did not improve the worst pair, before giving up */
};

CPB_DEFAULTS(cpb_sketch_training, .size = sizeof(cpb_sketch_training), .bits = 256, .s = 1, .starts = 16,
             .jitter = NAN, .strength = 1, .max_steps = 1000, .tolerance = NAN, .factors = CPB_F16)

/* ---- the bits of rows by column, to count the rows on which two bits differ ---- */

enum { SIDE = 64 };

typedef struct bit_columns {
  size_t bits, rows, words; /* words of a column, SIDE rows each; padding rows are 0 in all bits */
  uint8_t *codes;           /* of the rows */
  uint64_t *groups;         /* the columns in the layout of the Hamming loop */
} bit_columns;

/* The bits of at most `rows` rows. */
static bit_columns bit_columns_new(cpb_memory *memory, size_t bits, size_t rows) {
  size_t words = (rows + SIDE - 1) / SIDE, columns = cpb_code_group_count(bits) * CPB_CODE_GROUP;
  return (bit_columns){.bits = bits,
                       .codes = cpb_memory_take(memory, rows, (bits + 7) / 8),
                       .groups = cpb_memory_lines(memory, columns, words * sizeof(uint64_t))};
}

/* Bit j of word i becomes bit i of word j: swaps halves, then quarters, .. */
static void transpose(uint64_t square[SIDE]) {
  uint64_t mask = 0x00000000ffffffffu;
  for (unsigned step = SIDE / 2; step > 0; step /= 2, mask ^= mask << step)
    for (unsigned i = 0; i < SIDE; i = (i + step + 1) & ~step) {
      uint64_t change = (square[i] >> step ^ square[i + step]) & mask;
      square[i] ^= change << step;
      square[i + step] ^= change;
    }
}

/* Word `word` of column i. */
static uint64_t *place_of(const bit_columns *c, size_t i, size_t word) {
  return c->groups + (i / CPB_CODE_GROUP * c->words + word) * CPB_CODE_GROUP + i % CPB_CODE_GROUP;
}

/* Computes the bits of these rows. */
static cpb_status bit_columns_fill(bit_columns *c, const cpb_sketch *sketch, cpb_view x, const cpb_exec *exec,
                                   cpb_error *error) {
  size_t bytes = (c->bits + 7) / 8;
  c->rows = x.rows;
  c->words = (x.rows + SIDE - 1) / SIDE;
  cpb_status status = cpb_sketch_encode(sketch, x, c->codes, exec, error);
  for (size_t word = 0; status == CPB_OK && word < c->words; word++)
    for (size_t panel = 0; panel * SIDE < c->bits; panel++) {
      uint64_t square[SIDE] = {0};
      for (size_t i = 0; i < SIDE && word * SIDE + i < x.rows; i++)
        square[i] = cpb_code_word(c->codes + (word * SIDE + i) * bytes, bytes, panel);
      transpose(square);
      for (size_t i = 0; i < SIDE && panel * SIDE + i < c->bits; i++)
        *place_of(c, panel * SIDE + i, word) = square[i];
    }
  return status;
}

/* Replaces column i by the only column of `from`, which has as many rows. */
static void bit_columns_set(bit_columns *c, size_t i, const bit_columns *from) {
  for (size_t word = 0; word < c->words; word++) *place_of(c, i, word) = *place_of(from, 0, word);
}

typedef struct agreement {
  const bit_columns *columns;
  double *lean;
} agreement;

static uint64_t take(void *context, size_t group, unsigned below, const uint64_t *distances) {
  const agreement *l = context;
  (void)below; /* all columns are used */
  double n = (double)l->columns->rows;
  for (size_t k = 0; k < CPB_CODE_GROUP && group * CPB_CODE_GROUP + k < l->columns->bits; k++)
    l->lean[group * CPB_CODE_GROUP + k] = (n - 2 * (double)distances[k]) / n;
  return INT64_MAX;
}

/* lean[j] = 2 O_ij/n - 1 for all j, in [-1,1]: 1 where the bits always agree. column: the words of a column. */
static void bit_columns_lean(const bit_columns *c, size_t i, uint64_t *column, double *lean) {
  agreement l = {c, lean};
  for (size_t word = 0; word < c->words; word++) column[word] = *place_of(c, i, word);
  cpb_loops_here()->hamming(&(cpb_hamming){.groups = cpb_code_group_count(c->bits),
                                           .words = c->words,
                                           .codes = c->groups,
                                           .query = column,
                                           .limit = INT64_MAX,
                                           .found = take,
                                           .context = &l});
}

/* ---- a training ---- */

typedef struct training {
  const cpb_sketch_training *o;
  const cpb_exec *exec;
  const cpb_loops *loops;
  cpb_error *error;
  cpb_view x;
  cpb_sketch *sketch;
  cpb_map *map;
  cpb_random random;
  size_t bits, width; /* width = d+1 */
  bit_columns columns;
  double *lean;                /* bits x bits */
  cpb_matrix normals, upright; /* bits x width: a copy of the normals, and its transpose */
  cpb_matrix weights;          /* bits x bits: products, then w_ij */
  cpb_matrix moves;            /* bits x width: sum_j w_ij c_j */
  double *kept;                /* bits x width: normals before the step */
  double *self;                /* bits: sum_j w_ij g_ij */
  uint64_t *column;            /* scratch space of every task: words */
  double *worst;               /* bits: the largest |lean| of each row, .. */
  size_t *partner;             /* .. and its column */
  double strength, jitter, tolerance;
  cpb_sketch_point now;
  size_t curve_room;
  cpb_sketch_report report;
  cpb_memory memory;
} training;

/* An empirical value from many data sets: with more bits there are more directions to search, and the benefit of more
 * independence ends sooner. */
static double share_of_bits(size_t bits) { return sqrt((double)bits) / 16; }

static bool is_flat(cpb_sketch_kind kind) {
  return kind == CPB_SKETCH_CENTRED || kind == CPB_SKETCH_RANDOM_CENTRED;
}

static bool is_random(cpb_sketch_kind kind) {
  return kind == CPB_SKETCH_RANDOM_EMBEDDED || kind == CPB_SKETCH_RANDOM_CENTRED;
}

/* Divides by the length; false for 0. */
static bool normalise(const training *t, double *c) {
  double length = sqrt(t->loops->dot(c, c, t->width));
  if (!(length > 0)) return false;
  for (size_t k = 0; k < t->width; k++) c[k] /= length;
  return true;
}

/* ---- first normals ---- */

static void random_direction(training *t, double *c) {
  size_t used = t->width - is_flat(t->o->kind);
  do {
    for (size_t k = 0; k < t->width; k++) c[k] = k < used ? cpb_random_gauss(&t->random) : 0;
  } while (!normalise(t, c));
}

/* The image of a random row on the sphere; for the centred kinds, its direction. */
static cpb_status random_image(training *t, double *y) {
  size_t row = cpb_random_below(&t->random, t->x.rows);
  cpb_status status = cpb_map_embed(t->map, cpb_view_slice(t->x, row, 1),
                                    cpb_rows_out(y, CPB_F64, 1, t->width), NULL, t->error);
  if (status != CPB_OK) return status;
  if (is_flat(t->o->kind)) {
    y[t->width - 1] = 0;
    normalise(t, y);
  }
  return status;
}

/* The hyperplane halfway between two rows, plus a random one of length `jitter`: differences of pairs rarely point in
 * directions in which the data hardly vary, but distances still depend on those. */
static cpb_status pair_normal(training *t, double *c) {
  double *other = t->self; /* scratch space: unused before the first step, and long enough */
  cpb_status status = random_image(t, c);
  if (status == CPB_OK) status = random_image(t, other);
  if (status != CPB_OK) return status;
  for (size_t k = 0; k < t->width; k++) c[k] -= other[k];
  bool apart = normalise(t, c);
  if (apart && t->jitter == 0) return CPB_OK;
  random_direction(t, other);
  for (size_t k = 0; k < t->width; k++) c[k] = apart ? c[k] + t->jitter * other[k] : other[k];
  if (!normalise(t, c)) memcpy(c, other, t->width * sizeof *c);
  return CPB_OK;
}

static cpb_status draw_normals(training *t) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < t->bits && status == CPB_OK; i++) {
    double *c = t->sketch->normals + i * t->width;
    if (is_random(t->o->kind))
      random_direction(t, c);
    else
      status = pair_normal(t, c);
  }
  cpb_sketch_pack(t->sketch, 0, t->bits);
  return status;
}

/* ---- how dependent the bits are ---- */

static void lean_rows(void *arg, size_t task, size_t first, size_t count) {
  training *t = arg;
  size_t words = (t->x.rows + 63) / 64;
  for (size_t i = first; i < first + count; i++)
    bit_columns_lean(&t->columns, i, t->column + task * words, t->lean + i * t->bits);
}

/* Sums of |n - 2 differing| are integers: their order does not matter. */
static cpb_sketch_point measure_lean(const training *t) {
  double sum = 0, worst = 0;
  for (size_t i = 0; i < t->bits; i++)
    for (size_t j = i + 1; j < t->bits; j++) {
      double lean = fabs(t->lean[i * t->bits + j]);
      sum += lean;
      worst = fmax(worst, lean);
    }
  double pairs = (double)t->bits * (double)(t->bits - 1) / 2;
  return (cpb_sketch_point){.mean = sum / pairs / 2, .worst = worst / 2};
}

static cpb_status measure(training *t, cpb_view rows) {
  cpb_status status = bit_columns_fill(&t->columns, t->sketch, rows, t->exec, t->error);
  if (status != CPB_OK) return status;
  cpb_blocks blocks = {t->bits, NORMALS_PER_TASK, lean_rows, t};
  cpb_blocks_run(&blocks, t->exec);
  uint64_t steps = t->now.steps;
  t->now = measure_lean(t);
  t->now.steps = steps;
  return CPB_OK;
}

static cpb_status choose_start(training *t) {
  size_t size = t->bits * t->width * sizeof(double);
  size_t rows = t->x.rows < ROWS_OF_STARTS ? t->x.rows : ROWS_OF_STARTS;
  double best = INFINITY;
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < t->o->starts && status == CPB_OK; i++) {
    status = draw_normals(t);
    if (status == CPB_OK) status = measure(t, cpb_view_slice(t->x, 0, rows));
    if (status != CPB_OK || !(t->now.mean < best)) continue;
    best = t->now.mean;
    memcpy(t->kept, t->sketch->normals, size);
  }
  if (status != CPB_OK) return status;
  memcpy(t->sketch->normals, t->kept, size);
  cpb_sketch_pack(t->sketch, 0, t->bits);
  return CPB_OK;
}

/* ---- the step of all normals ---- */

static double weight(double lean, double product, double scale) {
  const double most = 1.5; /* below a right angle */
  double sine2 = (1 - product) * (1 + product);
  if (!(sine2 > 1e-12)) return 0; /* the same plane: no direction leads away from it */
  double angle = scale * lean * 1.5707963267948966;
  return cpb_tan(fmax(-most, fmin(most, angle))) / sqrt(sine2);
}

static void weigh_rows(void *arg, size_t task, size_t first, size_t count) {
  training *t = arg;
  (void)task;
  double scale = t->strength / (double)t->bits;
  for (size_t i = first; i < first + count; i++) {
    double *row = cpb_matrix_row(&t->weights, i);
    t->self[i] = 0;
    for (size_t j = 0; j < t->bits; j++) {
      double product = row[j];
      row[j] = i == j ? 0 : weight(t->lean[i * t->bits + j], product, scale);
      t->self[i] += row[j] * product;
    }
  }
}

static void move_all(training *t) {
  size_t row = t->width * sizeof(double);
  for (size_t i = 0; i < t->bits; i++)
    memcpy(cpb_matrix_row(&t->normals, i), t->sketch->normals + i * t->width, row);
  memcpy(t->kept, t->sketch->normals, t->bits * row);
  cpb_matrix_transpose(&t->normals, &t->upright);
  cpb_matrix_product_symmetric(&t->normals, false, &t->upright, &t->weights, t->exec);
  cpb_blocks_run(&(cpb_blocks){t->bits, NORMALS_PER_TASK, weigh_rows, t}, t->exec);
  cpb_matrix_product(&t->weights, false, &t->normals, &t->moves, t->exec);
  for (size_t i = 0; i < t->bits; i++) {
    double *c = t->sketch->normals + i * t->width;
    t->loops->axpby(1 + t->self[i], c, -1, cpb_matrix_row(&t->moves, i), c, t->width);
    if (!normalise(t, c)) memcpy(c, t->kept + i * t->width, row);
  }
  cpb_sketch_pack(t->sketch, 0, t->bits);
}

/* ---- the step of the worst pair ---- */

static void find_partner(training *t, size_t i) {
  const double *lean = t->lean + i * t->bits;
  t->worst[i] = -1;
  for (size_t j = 0; j < t->bits; j++)
    if (i != j && fabs(lean[j]) > t->worst[i]) {
      t->worst[i] = fabs(lean[j]);
      t->partner[i] = j;
    }
}

/* Updates after a change of row i of the overlaps. */
static void renew_partners(training *t, size_t i) {
  find_partner(t, i);
  for (size_t j = 0; j < t->bits; j++) {
    if (j == i) continue;
    t->lean[j * t->bits + i] = t->lean[i * t->bits + j];
    if (t->partner[j] == i || fabs(t->lean[j * t->bits + i]) > t->worst[j]) find_partner(t, j);
  }
}

/* Moves c_i away from c_j by the fraction `scale` of theta_ij. */
static void turn(training *t, size_t i, size_t j, double scale) {
  double *c = t->sketch->normals + i * t->width;
  const double *from = t->sketch->normals + j * t->width;
  double product = t->loops->dot(c, from, t->width);
  double w = weight(t->lean[i * t->bits + j], product, scale);
  t->loops->axpby(1 + w * product, c, -w, from, c, t->width);
  if (!normalise(t, c)) memcpy(c, t->kept, t->width * sizeof *c);
}

/* Computes the bits of normal i alone, and writes its overlaps with all others to `lean`. */
static cpb_status probe(training *t, size_t i, cpb_sketch *one, bit_columns *bits, double *lean) {
  memcpy(one->normals, t->sketch->normals + i * t->width, t->width * sizeof(double));
  cpb_sketch_pack(one, 0, 1);
  cpb_status status = bit_columns_fill(bits, one, t->x, t->exec, t->error);
  if (status != CPB_OK) return status;
  bit_columns_set(&t->columns, i, bits);
  bit_columns_lean(&t->columns, i, t->column, lean);
  return CPB_OK;
}

/* Moves one end of the worst pair; sets *stuck if no angle improves it. */
static cpb_status move_worst(training *t, cpb_sketch *one, bit_columns *bits, bool *stuck) {
  size_t end = 0;
  for (size_t i = 1; i < t->bits; i++)
    if (t->worst[i] > t->worst[end]) end = i;
  size_t i = cpb_random_bits(&t->random) >> 63 ? end : t->partner[end], j = i == end ? t->partner[end] : end;
  double before = t->worst[end], scale = t->o->strength;
  double *c = t->sketch->normals + i * t->width, *lean = t->self;
  memcpy(t->kept, c, t->width * sizeof *c);
  for (int halving = 0; halving <= HALVINGS; halving++, scale /= 2) {
    double most = 0;
    turn(t, i, j, scale);
    cpb_status status = probe(t, i, one, bits, lean);
    if (status != CPB_OK) return status;
    for (size_t k = 0; k < t->bits; k++) most = k == i ? most : fmax(most, fabs(lean[k]));
    if (most < before) {
      memcpy(t->lean + i * t->bits, lean, t->bits * sizeof *lean);
      renew_partners(t, i);
      return CPB_OK;
    }
    memcpy(c, t->kept, t->width * sizeof *c);
    t->report.refused++;
  }
  *stuck = true;
  return probe(t, i, one, bits, lean);
}

/* ---- the training ---- */

static cpb_status remember(training *t) {
  cpb_sketch *sketch = t->sketch;
  size_t count = sketch->options.curve_count;
  if (count >= t->curve_room) {
    if (!cpb_resize(&sketch->curve, 2 * (count + 1), sizeof *sketch->curve))
      return cpb_fail_memory(t->error, "the curve of a training");
    t->curve_room = 2 * (count + 1);
  }
  sketch->curve[count] = t->now;
  sketch->options.curve = sketch->curve;
  sketch->options.curve_count = count + 1;
  return CPB_OK;
}

/* Whether the last point no longer improves enough on the point `back` steps before. */
static bool has_settled(const training *t, size_t back) {
  const cpb_sketch_point *curve = t->sketch->curve;
  size_t count = t->sketch->options.curve_count;
  size_t over = t->tolerance > 0 ? back : PATIENCE * back;
  if (count <= over) return false;
  cpb_sketch_point before = curve[count - 1 - over], now = curve[count - 1];
  double least = cpb_pow(1 - t->tolerance, (double)over);
  bool worst_falls = t->tolerance > 0 ? t->o->step == CPB_SKETCH_WORST && now.worst < least * before.worst
                                      : now.worst < before.worst;
  return !(now.mean < least * before.mean) && !worst_falls;
}

static cpb_view batch_of(const training *t, size_t step) {
  size_t batch = t->o->batch == 0 || t->o->batch > t->x.rows ? t->x.rows : t->o->batch;
  return cpb_view_slice(t->x, step % (t->x.rows / batch) * batch, batch);
}

/* A step that made the bits more dependent is undone, and the next steps are half as long. Between batches, whose rows
 * differ by chance, only a larger increase counts. */
static cpb_status train_all(training *t) {
  size_t batches = t->o->batch == 0 || t->o->batch > t->x.rows ? 1 : t->x.rows / t->o->batch;
  double allowed = batches == 1 ? 1 : 1.05;
  cpb_status status = measure(t, batch_of(t, 0));
  if (status == CPB_OK) status = remember(t);
  while (status == CPB_OK && t->report.steps + t->report.refused < t->o->max_steps) {
    cpb_sketch_point before = t->now;
    move_all(t);
    status = measure(t, batch_of(t, t->report.steps + t->report.refused + 1));
    if (status != CPB_OK) break;
    if (t->now.mean > allowed * before.mean) {
      memcpy(t->sketch->normals, t->kept, t->bits * t->width * sizeof *t->kept);
      cpb_sketch_pack(t->sketch, 0, t->bits);
      t->strength /= 2;
      t->report.refused++;
      status = measure(t, batch_of(t, t->report.steps + t->report.refused));
      t->now.steps = before.steps;
      t->report.settled = t->strength < 1e-3 * t->o->strength;
    } else {
      t->now.steps = ++t->report.steps;
      status = remember(t);
      t->report.settled = has_settled(t, batches);
    }
    if (t->report.settled) break;
    if (status == CPB_OK)
      status = cpb_exec_tell_round(t->exec, t->report.steps + t->report.refused, 32, t->error);
  }
  return status;
}

static cpb_status train_worst(training *t) {
  cpb_sketch_options shape = t->sketch->options;
  bit_columns bits = bit_columns_new(&t->memory, 1, t->x.rows);
  bool stuck = false;
  shape.bits = 1;
  shape.curve_count = 0;
  cpb_sketch *one = cpb_sketch_room(&shape);
  cpb_status status = one == NULL || t->memory.failed ? cpb_fail_memory(t->error, "the training of a sketch")
                                                      : measure(t, t->x);
  if (status == CPB_OK) status = remember(t);
  for (size_t i = 0; status == CPB_OK && i < t->bits; i++) find_partner(t, i);
  while (status == CPB_OK && !t->report.settled && t->report.steps < t->o->max_steps) {
    for (size_t i = 0; status == CPB_OK && !stuck && i < t->bits; i++)
      status = move_worst(t, one, &bits, &stuck);
    if (status != CPB_OK) break;
    t->now = measure_lean(t);
    t->now.steps = ++t->report.steps;
    status = remember(t);
    t->report.settled = stuck || has_settled(t, 1);
    if (status == CPB_OK) status = cpb_exec_tell_round(t->exec, t->report.steps, 32, t->error);
  }
  cpb_sketch_pack(t->sketch, 0, t->bits);
  cpb_sketch_free(one);
  return status;
}

static cpb_status check(cpb_view x, const cpb_sketch_training *o, cpb_error *error) {
  if ((unsigned)o->kind >= CPB_SKETCH_KINDS) return cpb_fail_choice(error, "kind", (int)o->kind);
  if (o->step != CPB_SKETCH_ALL && o->step != CPB_SKETCH_WORST)
    return cpb_fail_choice(error, "step", (int)o->step);
  if (o->starts == 0) return cpb_fail_count(error, "starts", 0, "starts must be at least 1");
  if (o->jitter < 0 || isinf(o->jitter))
    return cpb_fail_domain(error, "jitter", o->jitter, "jitter must be >= 0");
  if (!(o->strength > 0) || isinf(o->strength))
    return cpb_fail_domain(error, "strength", o->strength, "strength must be > 0");
  if (o->tolerance < 0 || o->tolerance >= 1)
    return cpb_fail_domain(error, "tolerance", o->tolerance, "tolerance must be in [0,1)");
  if (o->bits_per > 4 || o->bits_per == 3)
    return cpb_fail_count(error, "bits_per", o->bits_per,
                          "bits per direction must be 1, 2 or 4, or 0 to choose");
  if (o->kind != CPB_SKETCH_PRINCIPAL && o->bits_per > 1)
    return cpb_fail_count(error, "bits_per", o->bits_per, "bits per direction must be 1 for %s",
                          cpb_sketch_kind_name(o->kind));
  cpb_status status = cpb_sketch_check_factors(o->rotation, o->factors, error);
  if (status != CPB_OK) return status;
  if (o->batch != 0 && o->batch < LEAST_BATCH && o->batch < x.rows)
    return cpb_fail(
        error, CPB_WHY_DOMAIN, "batch",
        "a batch must have at least %d rows, got %zu: bits of fewer rows agree or differ by chance",
        LEAST_BATCH, o->batch);
  status = cpb_sketch_check_shape(x.cols, o->bits, o->s, o->center, error);
  if (status == CPB_OK) status = cpb_check_view(x, "sample", x.cols, error);
  if (status == CPB_OK && x.rows < 2)
    return cpb_fail_count(error, "sketch", x.rows, "a sketch is trained on at least 2 rows");
  return status;
}

/* What measuring needs; false without memory. */
static bool allocate_bits(training *t) {
  size_t words = (t->x.rows + 63) / 64, tasks = t->bits / NORMALS_PER_TASK + 1;
  t->lean = cpb_memory_zeros(&t->memory, t->bits, t->bits * sizeof *t->lean);
  t->column = cpb_memory_zeros(&t->memory, tasks, words * sizeof *t->column);
  t->columns = bit_columns_new(&t->memory, t->bits, t->x.rows);
  return !t->memory.failed;
}

static bool allocate(training *t) {
  size_t longer = t->bits > t->width ? t->bits : t->width;
  cpb_memory *m = &t->memory;
  t->normals = cpb_matrix_new(m, t->bits, t->width);
  t->upright = cpb_matrix_new(m, t->width, t->bits);
  t->weights = cpb_matrix_new(m, t->bits, t->bits);
  t->moves = cpb_matrix_new(m, t->bits, t->width);
  t->kept = cpb_memory_zeros(m, t->bits, t->width * sizeof *t->kept);
  t->self = cpb_memory_zeros(m, longer, sizeof *t->self);
  t->worst = cpb_memory_zeros(m, t->bits, sizeof *t->worst);
  t->partner = cpb_memory_zeros(m, t->bits, sizeof *t->partner);
  return allocate_bits(t) && t->sketch != NULL;
}

static cpb_status train(training *t) {
  cpb_status status = cpb_map_plain(t->x.cols, t->o->s, t->o->center, &t->map, t->error);
  bool takes_steps = !is_random(t->o->kind) && t->o->max_steps > 0;
  if (status == CPB_OK) status = is_random(t->o->kind) ? draw_normals(t) : choose_start(t);
  t->now = (cpb_sketch_point){0};
  if (status == CPB_OK && takes_steps)
    status = t->o->step == CPB_SKETCH_ALL ? train_all(t) : train_worst(t);
  else if (status == CPB_OK) {
    status = measure(t, t->x);
    if (status == CPB_OK) status = remember(t);
    t->report.settled = true;
  }
  return status;
}

static cpb_status train_normals(cpb_view sample, const cpb_sketch_training *options, cpb_sketch **sketch,
                                cpb_sketch_report *report, const cpb_exec *exec, cpb_error *error) {
  cpb_sketch_options shape;
  cpb_sketch_options_init(&shape, sizeof shape);
  shape.kind = options->kind;
  shape.d = sample.cols;
  shape.bits = options->bits;
  shape.s = options->s;
  shape.center = options->center;
  shape.seed = options->seed;
  training t = {.o = options,
                .exec = exec,
                .loops = cpb_loops_here(),
                .error = error,
                .x = sample,
                .sketch = cpb_sketch_room(&shape),
                .random = {options->seed},
                .bits = options->bits,
                .width = sample.cols + 1,
                .strength = options->strength,
                .jitter = isnan(options->jitter) ? share_of_bits(options->bits) : options->jitter,
                .tolerance = isnan(options->tolerance)
                                 ? fmin(0.5, 0.03 * fmax(1, share_of_bits(options->bits)))
                                 : options->tolerance};
  cpb_status status = allocate(&t) ? train(&t) : cpb_fail_memory(error, "the training of a sketch");
  cpb_memory_free(&t.memory);
  cpb_map_free(t.map);
  if (status != CPB_OK) {
    cpb_sketch_free(t.sketch);
    return status;
  }
  t.report.first = t.sketch->curve[0];
  t.report.last = t.sketch->curve[t.sketch->options.curve_count - 1];
  t.report.recall = NAN;
  if (report != NULL) *report = t.report;
  *sketch = t.sketch;
  return CPB_OK;
}

cpb_status cpb_sketch_train(cpb_view sample, const cpb_sketch_training *given, cpb_sketch **sketch,
                            cpb_sketch_report *report, const cpb_exec *exec, cpb_error *error) {
  if (sketch == NULL) return cpb_fail_missing(error, "sketch");
  *sketch = NULL;
  cpb_sketch_training taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_sketch_training", error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_sketch_report", error);
  if (status == CPB_OK) status = check(sample, options, error);
  if (status == CPB_OK) status = cpb_check_finite(sample, "sample", sample.cols, exec, error);
  if (status != CPB_OK) return status;
  double began = cpb_seconds_now();
  cpb_sketch_report own = {.size = sizeof own};
  status = options->kind == CPB_SKETCH_PRINCIPAL
               ? cpb_principal_train(sample, options, train_normals, sketch, &own, exec, error)
               : train_normals(sample, options, sketch, &own, exec, error);
  own.seconds = cpb_seconds_now() - began;
  if (status == CPB_OK) cpb_sized_give(report, &own, sizeof own);
  return status;
}
