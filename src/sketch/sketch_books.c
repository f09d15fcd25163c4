/* T14, joined sketches: which directions share a byte, and its centres. */
#include "sketch/sketch_books.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/tell.h"
#include "sketch/sketch_loops.h"

enum { CENTRES = 256, STAGES = 4, ROWS_PER_CENTRE = 64 };

/* ---- rates, in bits ---- */

static double log_two(double x) { return cpb_log(x) / 0.6931471805599453; }

static double rate_of(double variance, double log_theta) {
  double rate = variance > 0 ? (log_two(variance) - log_theta) / 2 : 0;
  return rate > 0 ? rate : 0;
}

/* The logarithm of the theta for which the rates add up to this many bits. */
static double water_level(const double *variance, size_t n, double bits) {
  double low = -2100, high = 2100;
  for (int round = 0; round < 80; round++) {
    double middle = (low + high) / 2, sum = 0;
    for (size_t j = 0; j < n; j++) sum += rate_of(variance[j], middle);
    if (sum > bits)
      low = middle;
    else
      high = middle;
  }
  return high;
}

size_t cpb_books_join(const double *variance, size_t n, size_t bytes, uint32_t *pairs) {
  const double much = 1.5; /* shares, from which on a direction has several bytes */
  double level = water_level(variance, n, 8 * (double)bytes), rest = 0;
  size_t used = 0, j = 0;
  for (size_t i = 0; i < n; i++) rest += rate_of(variance[i], level);
  while (used < bytes && j < n) {
    double share = rest / (double)(bytes - used), rate = rate_of(variance[j], level), sum = rate;
    if (!(rate > 0)) break;
    size_t first = j++, stages = rate >= much * share ? (size_t)(rate / share + 0.5) : 1;
    stages = stages > STAGES ? STAGES : stages > bytes - used ? bytes - used : stages;
    bool last = used + 1 == bytes;
    while (stages == 1 && j < n && (rate = rate_of(variance[j], level)) > 0 &&
           (last || sum + rate / 2 <= share)) {
      sum += rate;
      j++;
    }
    rest -= sum;
    for (size_t i = 0; i < stages; i++, used++) {
      pairs[2 * used] = (uint32_t)first;
      pairs[2 * used + 1] = (uint32_t)(j - first);
    }
  }
  return used;
}

void cpb_books_cut(size_t n, size_t bytes, uint32_t *pairs) {
  for (size_t i = 0; i < bytes; i++) {
    pairs[2 * i] = (uint32_t)(i * n / bytes);
    pairs[2 * i + 1] = (uint32_t)((i + 1) * n / bytes - i * n / bytes);
  }
}

/* ---- k-means ---- */

typedef struct training {
  cpb_sketch *sketch;
  const cpb_matrix *y;
  int rounds;
  uint8_t *codes; /* rows x bytes */
  atomic_bool out_of_memory;
} training;

/* One byte. */
typedef struct clustering {
  const cpb_book *book;
  float *centres; /* those of the book */
  size_t rows, d;
  float *x; /* rows x d */
  uint8_t *at;
  float *half;
  double *sums; /* CENTRES x (d+1): sums and counts */
} clustering;

static int ascending(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Rows of the sample, which is in random order; of one direction quantiles, from which rounds find those of Lloyd and Max. */
static void first_centres(clustering *c, float *sorted) {
  for (size_t i = 0; i < CENTRES; i++)
    for (size_t k = 0; k < c->d; k++) c->centres[CENTRES * k + i] = c->x[i * c->rows / CENTRES * c->d + k];
  if (c->d > 1) return;
  memcpy(sorted, c->x, c->rows * sizeof *sorted);
  qsort(sorted, c->rows, sizeof *sorted, ascending);
  for (size_t i = 0; i < CENTRES; i++) c->centres[i] = sorted[(2 * i + 1) * c->rows / (2 * CENTRES)];
}

static void assign(clustering *c) {
  for (size_t i = 0; i < CENTRES; i++) {
    double sum = 0;
    for (size_t k = 0; k < c->d; k++) {
      double at = (double)c->centres[CENTRES * k + i];
      sum += at * at;
    }
    c->half[i] = (float)(sum / 2);
  }
  cpb_sketch_loops_here()->nearest(&(cpb_nearest){.book = c->book,
                                                  .half = c->half,
                                                  .x = c->x,
                                                  .rows = c->rows,
                                                  .stride = c->d,
                                                  .codes = c->at,
                                                  .code_stride = 1});
}

static size_t largest_cluster(const clustering *c) {
  size_t largest = 0;
  for (size_t i = 1; i < CENTRES; i++)
    if (c->sums[i * (c->d + 1) + c->d] > c->sums[largest * (c->d + 1) + c->d]) largest = i;
  return largest;
}

/* A centre without rows becomes one end of the largest cluster, whose rows it shares from then on. */
static void split_largest(clustering *c, size_t empty) {
  size_t from = largest_cluster(c), d = c->d;
  double *sums = c->sums + from * (d + 1), *to = c->sums + empty * (d + 1);
  for (size_t k = 0; k < d; k++) {
    float *line = c->centres + CENTRES * k, at = line[from];
    line[empty] = at * (1 + 0x1p-10f);
    line[from] = at * (1 - 0x1p-10f);
    to[k] = sums[k] /= 2;
  }
  to[d] = sums[d] /= 2;
}

/* Centres become the means of their rows. */
static void move_centres(clustering *c) {
  size_t width = c->d + 1;
  memset(c->sums, 0, CENTRES * width * sizeof *c->sums);
  for (size_t i = 0; i < c->rows; i++) {
    double *sum = c->sums + c->at[i] * width;
    for (size_t k = 0; k < c->d; k++) sum[k] += (double)c->x[i * c->d + k];
    sum[c->d]++;
  }
  for (size_t i = 0; i < CENTRES; i++)
    for (size_t k = 0; k < c->d && c->sums[i * width + c->d] > 0; k++)
      c->centres[CENTRES * k + i] = (float)(c->sums[i * width + k] / c->sums[i * width + c->d]);
  for (size_t i = 0; i < CENTRES; i++)
    if (!(c->sums[i * width + c->d] > 0)) split_largest(c, i);
}

static void fill_corners(clustering *c) {
  for (size_t k = 0; k < c->d; k++)
    for (unsigned i = 0; i < CENTRES; i++) c->centres[CENTRES * k + i] = i >> k & 1 ? 1 : -1;
}

/* What earlier bytes of the same direction leave. */
static void take_rest(const training *t, size_t j, clustering *c) {
  size_t bytes = t->sketch->book_count;
  for (size_t before = j; before > 0 && t->sketch->books[before - 1].first == c->book->first; before--)
    for (size_t i = 0; i < c->rows; i++)
      c->x[i] -= t->sketch->books[before - 1].centres[t->codes[i * bytes + before - 1]];
}

static void cluster(training *t, size_t j, clustering *c, float *sorted) {
  size_t bytes = t->sketch->book_count, all = t->y->rows, most = CENTRES * ROWS_PER_CENTRE;
  for (size_t i = 0; i < all; i++)
    for (size_t k = 0; k < c->d; k++) c->x[i * c->d + k] = (float)cpb_matrix_row(t->y, i)[c->book->first + k];
  c->rows = all;
  take_rest(t, j, c);
  if (t->sketch->options.form == CPB_FORM_SIGNS)
    fill_corners(c);
  else {
    c->rows = all < most ? all : most;
    first_centres(c, sorted);
    for (int round = 0; round < t->rounds; round++) {
      assign(c);
      move_centres(c);
    }
    c->rows = all;
  }
  assign(c);
  for (size_t i = 0; i < all; i++) t->codes[i * bytes + j] = c->at[i];
}

/* A byte, and those that follow it for the same direction. */
static void train_book(void *arg, size_t j) {
  training *t = arg;
  const cpb_book *books = t->sketch->books;
  if (j > 0 && books[j].first == books[j - 1].first) return;
  size_t rows = t->y->rows, d = books[j].count;
  cpb_memory memory = {0};
  clustering c = {.d = d,
                  .x = cpb_memory_take(&memory, rows, d * sizeof *c.x),
                  .at = cpb_memory_take(&memory, rows, 1),
                  .half = cpb_memory_lines(&memory, CENTRES, sizeof *c.half),
                  .sums = cpb_memory_take(&memory, CENTRES, (d + 1) * sizeof *c.sums)};
  float *sorted = cpb_memory_take(&memory, rows, sizeof *sorted);
  if (memory.failed) atomic_store(&t->out_of_memory, true);
  for (; !memory.failed && j < t->sketch->book_count &&
         books[j].first == (c.book == NULL ? books[j].first : c.book->first);
       j++) {
    c.book = &books[j];
    c.centres = t->sketch->centres + (c.book->centres - t->sketch->centres);
    cluster(t, j, &c, sorted);
  }
  cpb_memory_free(&memory);
}

bool cpb_books_train(cpb_sketch *sketch, const cpb_matrix *y, int rounds, uint8_t *codes,
                     const cpb_exec *exec) {
  training t = {.sketch = sketch, .y = y, .rounds = rounds, .codes = codes};
  cpb_exec_run(exec, sketch->book_count, train_book, &t);
  return !atomic_load(&t.out_of_memory);
}
