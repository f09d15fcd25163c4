/* T13: how much of exact nearest-neighbour search is preserved by the embedding.
 *
 * At scale s the embedded neighbours of q are the rows with the k smallest keys D/(N+s^2), where D = |x-q|^2 and N is
 * the squared norm about the centre. Two rows compare by the sign of D_i (N_j+s^2) - D_j (N_i+s^2), which is linear in
 * s^2: a row that is behind each of the k true neighbours both at the smallest scale and by distance is behind them at
 * every scale in between. So exact search finds all rows that matter: those within the distance of the k-th neighbour,
 * and those within the embedded distance, at the smallest scale, of the true neighbour that is farthest there. Only
 * these are measured in double and compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sphere/map_object.h"
#include "capball/search.h"
#include "base/best.h"
#include "base/fail.h"
#include "base/rows.h"
#include "loops/chunk.h"
#include "base/blocks.h"
#include "base/tell.h"
#include "sphere/choice.h"
#include "statistics/weighted.h"

enum {
  BATCH = 1024,         /* queries searched together, .. */
  CANDIDATES = 1 << 22, /* .. fewer if they could find more than this */
  PROBE = 32,           /* queries of the first batch: if they find .. */
  USELESS_SHARE = 4,    /* .. more than one row in this many, all rows are compared instead */
};

/* Searches compare rounded numbers and sum in another order than dist2: rows that are nearly as near count as found,
 * and so do rows that underflowing squares, or coordinates of the sphere, cannot distinguish. */
static const double margin = 1 + 0x1p-30, blur = 0x1p-480, sphere_blur = 0x1p-46;

/* The rows found for each query of a batch: those of query i are id[start[i]] .. id[start[i+1]-1]. */
typedef struct found_rows {
  size_t start[BATCH + 1], room;
  uint64_t *id;
} found_rows;

typedef struct ceiling_job {
  const cpb_loops *loops;
  const cpb_directions *x; /* the rows, scaled so that the largest number is about 1 */
  const double *norm2;     /* about the centre */
  size_t k, scales;
  const double *s2;
  double least_s2;
  cpb_view embedded;      /* the rows at the smallest scale, n x (d+1) */
  bool every_row;         /* is a candidate of every query: a search would exclude too few */
  size_t first, count;    /* queries of the batch */
  double limit[BATCH];    /* of the current search */
  found_rows near, close; /* by distance, and on the sphere */
  double *found;          /* queries x scales */
  _Atomic int out_of_memory;
} ceiling_job;

/* ---- candidates ---- */

static cpb_status take_hits(void *context, size_t query, const cpb_hit *hits, size_t count,
                            cpb_error *error) {
  found_rows *to = context;
  size_t at = to->start[query], wanted = at + count;
  if (wanted > to->room) {
    if (!cpb_resize(&to->id, 2 * wanted, sizeof *to->id))
      return cpb_fail_memory(error, "%zu candidates", 2 * wanted);
    to->room = 2 * wanted;
  }
  for (size_t i = 0; i < count; i++) to->id[at + i] = hits[i].id;
  to->start[query + 1] = wanted;
  return CPB_OK;
}

/* All rows of `base` within job->limit of the batch's queries, which are rows of it. */
static cpb_status search_within(const ceiling_job *job, cpb_view base, found_rows *to, const cpb_exec *exec,
                                cpb_error *error) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.limits = job->limit;
  cpb_source rows = cpb_source_from_view(base);
  return cpb_search_run(&rows, cpb_view_slice(base, job->first, job->count), &options, take_hits, to, exec,
                        error);
}

/* The distance of the k-th nearest other row; with equal rows a query need not be among its own hits. */
static double kth_of_others(const cpb_hit *hits, size_t k, size_t query) {
  for (size_t i = 0; i < k; i++)
    if (hits[i].id == query) return hits[k].value;
  return hits[k - 1].value;
}

static cpb_status find_near(ceiling_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_view rows = {job->x->unit, CPB_F64, job->x->n, job->x->d, job->x->stride};
  size_t wanted = job->k + 1;
  cpb_hit *hits = malloc(job->count * wanted * sizeof *hits);
  if (hits == NULL) return cpb_fail_memory(error, "%zu neighbours of %zu queries", wanted, job->count);
  cpb_status status = cpb_knn(rows, cpb_view_slice(rows, job->first, job->count), wanted, CPB_L2, hits,
                              CPB_EXEC_PART(exec, 0, 0.4), error);
  for (size_t i = 0; i < job->count && status == CPB_OK; i++)
    job->limit[i] = kth_of_others(hits + i * wanted, job->k, job->first + i) * margin + blur;
  free(hits);
  if (status != CPB_OK) return status;
  return search_within(job, rows, &job->near, CPB_EXEC_PART(exec, 0.4, 1), error);
}

static double distance2_of(const ceiling_job *job, size_t query, uint64_t row) {
  const cpb_directions *x = job->x;
  return job->loops->dist2(x->unit + row * x->stride, x->unit + query * x->stride, x->d);
}

/* |S(x)-S(q)| = 2 s sqrt(key/(N_q+s^2)), of the true neighbour with the largest key. If that is not a number, the limit
 * includes the whole sphere. */
static cpb_status set_sphere_limit(void *argument, size_t i, cpb_error *error) {
  ceiling_job *job = argument;
  size_t query = job->first + i;
  cpb_best near = {job->k, 0, malloc(job->k * sizeof *near.entry)};
  if (near.entry == NULL) return cpb_fail_memory(error, "%zu neighbours", job->k);
  for (size_t at = job->near.start[i]; at < job->near.start[i + 1]; at++)
    if (job->near.id[at] != query)
      cpb_best_offer(&near, distance2_of(job, query, job->near.id[at]), job->near.id[at]);
  double farthest = 0;
  for (size_t at = 0; at < near.count; at++) {
    double key = near.entry[at].key / (job->norm2[near.entry[at].id] + job->least_s2);
    if (!(key <= farthest)) farthest = key;
  }
  free(near.entry);
  double limit = 2 * sqrt(job->least_s2 / (job->norm2[query] + job->least_s2) * farthest);
  job->limit[i] = limit < 2 ? limit * margin + sphere_blur : 4;
  return CPB_OK;
}

/* ---- comparing ---- */

/* Other rows that can be among the k nearest at some scale, ordered by id. */
typedef struct candidates {
  size_t count;
  uint64_t *id;
  double *distance2;
} candidates;

static void mark_found(const found_rows *from, size_t i, bool *is_candidate) {
  for (size_t at = from->start[i]; at < from->start[i + 1]; at++) is_candidate[from->id[at]] = true;
}

static void fill_candidates(const ceiling_job *job, size_t i, bool *is_candidate, candidates *c) {
  size_t query = job->first + i;
  memset(is_candidate, job->every_row, job->x->n * sizeof *is_candidate);
  if (!job->every_row) {
    mark_found(&job->near, i, is_candidate);
    mark_found(&job->close, i, is_candidate);
  }
  is_candidate[query] = false;
  for (size_t row = 0; row < job->x->n; row++)
    if (is_candidate[row]) {
      c->distance2[c->count] = distance2_of(job, query, row);
      c->id[c->count++] = row;
    }
}

/* How many of the k rows nearest by distance^2/(norm^2+s^2) are as near as the k-th by distance. */
static double count_found(const ceiling_job *job, const candidates *c, double s2, double limit,
                          cpb_best *near) {
  near->count = 0;
  for (size_t i = 0; i < c->count; i++)
    cpb_best_offer(near, c->distance2[i] / (job->norm2[c->id[i]] + s2), i);
  double found = 0;
  for (size_t i = 0; i < near->count; i++) found += c->distance2[near->entry[i].id] <= limit;
  return found;
}

static void ask(void *argument, size_t i) {
  ceiling_job *job = argument;
  const size_t *near_start = job->near.start + i, *close_start = job->close.start + i;
  size_t most = job->every_row ? job->x->n : near_start[1] - near_start[0] + close_start[1] - close_start[0];
  cpb_memory memory = {0};
  bool *is_candidate = cpb_memory_take(&memory, job->x->n, sizeof *is_candidate);
  candidates c = {0, cpb_memory_take(&memory, most, sizeof *c.id),
                  cpb_memory_take(&memory, most, sizeof *c.distance2)};
  cpb_best near = {job->k, 0, cpb_memory_take(&memory, job->k, sizeof *near.entry)};
  if (memory.failed) {
    atomic_store(&job->out_of_memory, 1);
  } else {
    fill_candidates(job, i, is_candidate, &c);
    for (size_t at = 0; at < c.count; at++) cpb_best_offer(&near, c.distance2[at], at);
    double limit = near.entry[0].key, *found = job->found + (job->first + i) * job->scales;
    for (size_t k = 0; k < job->scales; k++) found[k] = count_found(job, &c, job->s2[k], limit, &near);
  }
  cpb_memory_free(&memory);
}

static cpb_status find_candidates(ceiling_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = find_near(job, CPB_EXEC_PART(exec, 0, 0.6), error);
  const cpb_exec *rest = CPB_EXEC_PART(exec, 0.6, 0.9);
  if (status == CPB_OK) status = cpb_exec_try(rest, job->count, set_sphere_limit, job, error);
  return status == CPB_OK ? search_within(job, job->embedded, &job->close, rest, error) : status;
}

static cpb_status ask_batch(ceiling_job *job, const cpb_exec *exec, cpb_error *error) {
  double from = job->every_row ? 0 : 0.9;
  cpb_status status = job->every_row ? CPB_OK : find_candidates(job, exec, error);
  if (status == CPB_OK) status = cpb_exec_run_told(CPB_EXEC_PART(exec, from, 1), job->count, ask, job, error);
  if (status == CPB_OK && atomic_load(&job->out_of_memory))
    status = cpb_fail_memory(error, "the candidates of %zu queries", job->count);
  return status;
}

static cpb_status ask_all(ceiling_job *job, size_t queries, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (job->first = 0; job->first < queries && status == CPB_OK; job->first += job->count) {
    size_t most = job->first == 0 ? PROBE : CANDIDATES / job->x->n + 1, left = queries - job->first;
    job->count = left < most ? left : most;
    if (job->count > BATCH) job->count = BATCH;
    double from = (double)job->first, to = from + (double)job->count, all = (double)queries;
    status = ask_batch(job, CPB_EXEC_PART(exec, from / all, to / all), error);
    if (job->first == 0)
      job->every_row = job->close.start[job->count] > job->count * job->x->n / USELESS_SHARE;
  }
  free(job->near.id);
  free(job->close.id);
  return status;
}

/* ---- preparation ---- */

/* Uses the rows themselves instead of their directions, all divided by the same power of two: distances of integers are
 * then exact, and so are ties. */
static int unit_to_rows(cpb_directions *x, cpb_view rows, double *norm2) {
  double largest = 0;
  for (size_t i = 0; i < x->n; i++) {
    double *row = x->unit + i * x->stride;
    cpb_row_widen(rows, i, row);
    for (size_t k = 0; k < x->d; k++) largest = fmax(largest, fabs(row[k]));
  }
  int shift = largest > 0 ? -ilogb(largest) : 0;
  for (size_t i = 0; i < x->n; i++) {
    double norm = ldexp(x->norm[i], shift), *row = x->unit + i * x->stride;
    norm2[i] = norm * norm;
    for (size_t k = 0; k < x->d; k++) row[k] = ldexp(row[k], shift);
  }
  return shift;
}

/* The rows at the smallest scale, on the sphere; for scales beyond these the limits include everything. */
static cpb_status embed_rows(const cpb_directions *x, const double *center, int shift, double s, double *y,
                             const cpb_exec *exec, cpb_error *error) {
  size_t d = x->d;
  for (size_t i = 0; i < x->n; i++)
    for (size_t k = 0; k < d; k++)
      y[i * (d + 1) + k] = x->unit[i * x->stride + k] - (center == NULL ? 0 : ldexp(center[k], shift));
  cpb_map *map;
  cpb_view from = {.data = y, .dtype = CPB_F64, .rows = x->n, .cols = d, .stride = d + 1};
  cpb_out to = {.data = y, .dtype = CPB_F64, .rows = x->n, .cols = d + 1, .stride = d + 1};
  cpb_status status = cpb_map_plain(d, fmin(fmax(s, 0x1p-500), 0x1p500), NULL, &map, error);
  if (status == CPB_OK) status = cpb_map_embed(map, from, to, exec, error);
  cpb_map_free(map);
  return status;
}

static void take_means(const double *found, size_t queries, size_t scales, size_t k, double *recall,
                       double *spread) {
  double asked = (double)queries;
  for (size_t i = 0; i < scales; i++) {
    double sum = 0, squares = 0;
    for (size_t q = 0; q < queries; q++) sum += found[q * scales + i];
    recall[i] = sum / (asked * (double)k);
    for (size_t q = 0; q < queries; q++) {
      double gap = found[q * scales + i] / (double)k - recall[i];
      squares += gap * gap;
    }
    if (spread != NULL) spread[i] = sqrt(squares) / asked;
  }
}

static cpb_status measure(cpb_directions *x, cpb_memory *memory, cpb_view view, const double *center,
                          size_t k, size_t queries, const double *s, size_t count, double *recall,
                          double *spread, const cpb_exec *exec, cpb_error *error) {
  double *norm2 = cpb_memory_take(memory, x->n, sizeof *norm2), least = INFINITY;
  double *s2 = cpb_memory_take(memory, count, sizeof *s2);
  double *found = cpb_memory_zeros(memory, queries, count * sizeof *found);
  double *y = cpb_memory_take(memory, x->n, (x->d + 1) * sizeof *y);
  if (memory->failed) return cpb_fail_memory(error, "%zu queries", queries);
  int shift = unit_to_rows(x, view, norm2);
  for (size_t i = 0; i < count; i++) {
    double scale = ldexp(s[i], shift);
    s2[i] = scale * scale;
    least = fmin(least, scale);
  }
  ceiling_job job = {.loops = cpb_loops_here(),
                     .x = x,
                     .norm2 = norm2,
                     .k = k,
                     .scales = count,
                     .s2 = s2,
                     .least_s2 = least * least,
                     .embedded = cpb_rows(y, CPB_F64, x->n, x->d + 1),
                     .found = found};
  cpb_status status = embed_rows(x, center, shift, least, y, CPB_EXEC_PART(exec, 0, 0), error);
  if (status == CPB_OK) status = ask_all(&job, queries, exec, error);
  if (status == CPB_OK) take_means(found, queries, count, k, recall, spread);
  return status;
}

cpb_status cpb_search_ceiling(cpb_view x, const double *center, size_t k, size_t queries, const double *s,
                              size_t count, double *recall, double *spread, const cpb_exec *exec,
                              cpb_error *error) {
  if (k == 0 || queries == 0)
    return cpb_fail(error, CPB_WHY_DOMAIN, "k", "k and queries must be at least 1, got %zu and %zu", k,
                    queries);
  if (x.rows <= k) return cpb_fail_count(error, "k", x.rows, "%zu neighbours need more than %zu rows", k, k);
  for (size_t i = 0; i < count; i++) {
    cpb_status status = cpb_check_scale(s[i], error);
    if (status != CPB_OK) return status;
  }
  cpb_memory memory = {0};
  cpb_directions rows;
  cpb_status status = cpb_directions_new(&rows, &memory, x, center, exec, error);
  if (status == CPB_OK)
    status = measure(&rows, &memory, x, center, k, queries < x.rows ? queries : x.rows, s, count, recall,
                     spread, exec, error);
  cpb_memory_free(&memory);
  return status;
}
