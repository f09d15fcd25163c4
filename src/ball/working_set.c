#include "ball/working_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ENTRIES = 8 };

void cpb_working_set_free(cpb_working_set *set) {
  free(set->rows);
  free(set->tag);
  free(set->dist2);
  free(set->weight);
  free(set->set_aside);
  free(set->order);
  *set = (cpb_working_set){.d = set->d};
}

void cpb_working_set_clear(cpb_working_set *set) {
  set->count = 0;
  set->bounded = false;
}

cpb_status cpb_working_set_reserve(cpb_working_set *set, size_t count) {
  if (count <= set->room) return CPB_OK;
  size_t room = 2 * set->room + 64 > count ? 2 * set->room + 64 : count;
  if (room > SIZE_MAX / sizeof(double) / set->d ||
      !cpb_resize(&set->rows, room * set->d, sizeof *set->rows) ||
      !cpb_resize(&set->dist2, room, sizeof *set->dist2) || !cpb_resize(&set->tag, room, sizeof *set->tag) ||
      !cpb_resize(&set->weight, room, sizeof *set->weight) ||
      !cpb_resize(&set->set_aside, room, sizeof *set->set_aside) ||
      !cpb_resize(&set->order, room, sizeof *set->order))
    return CPB_ENOMEM;
  set->room = room;
  return CPB_OK;
}

cpb_status cpb_working_set_add(cpb_working_set *set, const double *row, uint64_t tag, double dist2,
                               double weight) {
  cpb_status status = cpb_working_set_reserve(set, set->count + 1);
  if (status != CPB_OK) return status;
  memcpy(set->rows + set->count * set->d, row, set->d * sizeof *row);
  set->tag[set->count] = tag;
  set->dist2[set->count] = dist2;
  set->weight[set->count] = weight;
  set->set_aside[set->count++] = false;
  return CPB_OK;
}

void cpb_working_set_move(cpb_working_set *set, size_t from, size_t to) {
  if (from == to) return;
  memcpy(set->rows + to * set->d, set->rows + from * set->d, set->d * sizeof *set->rows);
  set->dist2[to] = set->dist2[from];
  set->tag[to] = set->tag[from];
  set->weight[to] = set->weight[from];
  set->set_aside[to] = set->set_aside[from];
}

void cpb_working_set_keep(cpb_working_set *set, size_t most) {
  size_t kept = 0, repeats = 0, count = set->count;
  if (count <= most) return;
  for (size_t i = 0; i < count; i++)
    set->order[i] = (cpb_ranked){cpb_working_set_key(set, set->dist2[i]), set->tag[i]};
  cpb_ranked_sort(set->order, count);
  cpb_ranked last = set->bound = set->order[most - 1];
  set->bounded = true;
  for (size_t k = most; k-- > 0 && set->order[k].key == last.key && set->order[k].id == last.id;) repeats++;
  for (size_t i = 0; i < count; i++) {
    bool is_last = set->tag[i] == last.id && cpb_working_set_key(set, set->dist2[i]) == last.key;
    bool stays = is_last ? repeats > 0 : cpb_working_set_wants(set, set->dist2[i], set->tag[i]);
    if (is_last && stays) repeats--;
    if (stays)
      cpb_working_set_move(set, i, kept++);
    else if (set->drop != NULL)
      set->drop(set->context, i);
  }
  set->count = kept;
}

/* The positions of the rows in descending order of dist2, then ascending tags. */
static const cpb_ranked *in_order(const cpb_working_set *set) {
  cpb_ranked *order = set->order;
  for (size_t i = 0; i < set->count; i++) order[i] = (cpb_ranked){-set->dist2[i], i};
  cpb_ranked_sort(order, set->count);
  for (size_t k = 1; k < set->count; k++) {
    cpb_ranked moved = order[k];
    size_t at = k;
    for (; at > 0 && order[at - 1].key == moved.key && set->tag[order[at - 1].id] > set->tag[moved.id]; at--)
      order[at] = order[at - 1];
    order[at] = moved;
  }
  return order;
}

cpb_status cpb_working_set_join(cpb_working_set *set, const cpb_working_set *more, bool repeats) {
  size_t known = set->count;
  uint64_t *tags = malloc((known + 1) * sizeof *tags);
  if (tags == NULL || cpb_working_set_reserve(set, known + more->count) != CPB_OK) {
    free(tags);
    return CPB_ENOMEM;
  }
  if (known > 0) memcpy(tags, set->tag, known * sizeof *tags);
  qsort(tags, known, sizeof *tags, cpb_compare_ids);
  const cpb_ranked *order = in_order(more);
  for (size_t k = 0; k < more->count; k++) {
    size_t i = (size_t)order[k].id;
    bool again = k > 0 && more->tag[i] == more->tag[order[k - 1].id];
    if (!repeats && (again || bsearch(&more->tag[i], tags, known, sizeof *tags, cpb_compare_ids) != NULL))
      continue;
    cpb_working_set_add(set, more->rows + i * set->d, more->tag[i], more->dist2[i], more->weight[i]);
  }
  free(tags);
  return CPB_OK;
}

void cpb_working_set_serialize(cpb_state *s, cpb_working_set *set, const cpb_state_member *table,
                               size_t members) {
  size_t count = cpb_state_count(s, set->count, (set->d + members - 1) * 8);
  if (s->reading && cpb_working_set_reserve(set, count) != CPB_OK) cpb_state_no_memory(s, "rows", count);
  cpb_state_serialize_records(s, set, table, members, set->d, count);
  if (!s->reading || s->status != CPB_OK || count == 0) return;
  memset(set->set_aside, 0, count * sizeof *set->set_aside);
  set->count = count;
}

/* ---- entering rows into a hull ---- */

typedef enum place { EMPTY, FULL, IN_PART } place;

typedef struct solver {
  cpb_working_set *set;
  cpb_hull *hull;
  double tolerance;
  double *score; /* |p_i - point|^2; with caps how far it is on the wrong side of the edge */
  double least;  /* scores above it are worth entering */
  place *where;  /* of each row; NULL: without caps */
  double edge;   /* with caps: common to the rows in part */
} solver;

static const double *row_at(const solver *s, size_t i) { return s->set->rows + i * s->set->d; }

/* A column left the hull: the tag is the row. */
static void row_left(void *context, uint64_t tag, bool full) {
  solver *s = context;
  s->where[tag] = full ? FULL : EMPTY;
}

static double wrong_by(const solver *s, size_t i, double score) {
  if (s->where == NULL) return score;
  return s->where[i] == EMPTY ? score - s->edge : s->where[i] == FULL ? s->edge - score : -1;
}

/* Without caps, rows beyond the ball are worth entering; before the first column all are. */
static double cut_of(const solver *s) {
  return s->hull->count == 0 ? -1 : (1 + s->tolerance) * s->hull->value;
}

static void look(solver *s) {
  const cpb_working_set *set = s->set;
  const cpb_hull *hull = s->hull;
  double sum = 0;
  hull->loops->rows_dist2[CPB_F64](set->rows, set->d, set->count, set->d, hull->point, s->score);
  s->least = cut_of(s);
  if (s->where == NULL) return;
  for (size_t k = 0; k < hull->count; k++) sum += s->score[hull->column[k].tag];
  s->edge = sum / (double)hull->count;
  s->least = s->tolerance * s->edge;
  for (size_t i = 0; i < set->count; i++) s->score[i] = wrong_by(s, i, s->score[i]);
}

/* The rows with the largest scores that are not set aside, the worst first; returns how many. */
static size_t most_wrong(const solver *s, size_t rows[ENTRIES]) {
  size_t count = 0;
  for (size_t i = 0; i < s->set->count; i++) {
    if (s->set->set_aside[i] || !(s->score[i] > s->least)) continue;
    if (count == ENTRIES && !(s->score[i] > s->score[rows[ENTRIES - 1]])) continue;
    size_t at = count < ENTRIES ? count++ : ENTRIES - 1;
    for (; at > 0 && s->score[i] > s->score[rows[at - 1]]; at--) rows[at] = rows[at - 1];
    rows[at] = i;
  }
  return count;
}

/* One pass over the set serves several entries: checking whether a row is still outside is cheap. */
static bool still_wrong(solver *s, size_t i) {
  const cpb_hull *hull = s->hull;
  size_t d = s->set->d;
  double sum = 0;
  if (s->where == NULL) s->least = cut_of(s);
  for (size_t k = 0; s->where != NULL && k < hull->count; k++)
    sum += hull->loops->dist2(hull->p + k * d, hull->point, d);
  s->edge = sum / (double)hull->count;
  return wrong_by(s, i, hull->loops->dist2(row_at(s, i), hull->point, d)) > s->least;
}

static void take_all_back(cpb_working_set *set) {
  memset(set->set_aside, 0, set->count * sizeof *set->set_aside);
}

/* Enters a row of the set with some initial weight and records whether that helped. */
static cpb_status enter(solver *s, size_t i, double weight) {
  const double *row = row_at(s, i);
  bool better, caps = s->where != NULL;
  cpb_hull_column column = {.q = s->hull->loops->dot(row, row, s->set->d),
                            .cap = caps ? s->set->weight[i] : INFINITY,
                            .weight = weight,
                            .tag = caps ? i : s->set->tag[i]};
  if (caps) s->where[i] = IN_PART;
  cpb_status status = cpb_hull_enter_capped(s->hull, row, column, &better);
  if (better)
    take_all_back(s->set);
  else
    s->set->set_aside[i] = true;
  return status;
}

/* Exact arithmetic needs no limit; with rounding, it is far above any observed count. */
static cpb_status iterate(solver *s, size_t *entered) {
  size_t rows[ENTRIES], count = 1, limit = *entered + 64 * (s->set->count + s->set->d) + 1024;
  cpb_status status = CPB_OK;
  while (status == CPB_OK && *entered < limit && count > 0) {
    look(s);
    count = most_wrong(s, rows);
    for (size_t k = 0; status == CPB_OK && k < count; k++) {
      size_t i = rows[k];
      if (k > 0 && !still_wrong(s, i)) continue;
      bool caps = s->where != NULL, full = caps && s->where[i] == FULL;
      status = enter(s, i, full ? s->set->weight[i] : !caps && s->hull->count == 0);
      ++*entered;
    }
  }
  return status;
}

cpb_status cpb_working_set_solve(cpb_working_set *set, cpb_hull *hull, double tolerance, size_t *entered) {
  solver s = {.set = set, .hull = hull, .tolerance = tolerance, .score = set->dist2};
  take_all_back(set);
  return iterate(&s, entered);
}

/* Rows at their caps are in the hull's fixed part. */
static void begin(solver *s, const cpb_margin *margin) {
  const cpb_loops *loops = margin->loops;
  cpb_hull_full *full = &s->hull->full;
  size_t d = s->set->d;
  double largest = 0;
  *full = margin->fixed;
  s->hull->left = row_left;
  s->hull->context = s;
  take_all_back(s->set);
  for (size_t i = 0; i < s->set->count; i++) {
    double norm2 = loops->dot(row_at(s, i), row_at(s, i), d), cap = s->set->weight[i];
    s->where[i] = i != margin->first && margin->weight[i] > 0 ? FULL : EMPTY;
    largest = fmax(largest, norm2);
    if (s->where[i] != FULL) continue;
    full->weight += cap;
    full->height += cap * norm2;
    loops->axpby(cap, row_at(s, i), 1, full->point, full->point, d);
  }
  if (largest > 0) s->hull->unit = sqrt(largest);
}

static void write_answer(const solver *s, double *weight) {
  const double *cap = s->set->weight;
  for (size_t i = 0; i < s->set->count; i++) weight[i] = s->where[i] == FULL ? cap[i] : 0;
  for (size_t k = 0; k < s->hull->count; k++) {
    size_t i = (size_t)s->hull->column[k].tag;
    weight[i] = fmin(s->hull->column[k].weight, cap[i]);
  }
}

cpb_status cpb_margin_solve(cpb_margin *margin) {
  cpb_hull hull;
  cpb_memory memory = {0};
  size_t n = margin->set->count, entered = 0;
  solver s = {.set = margin->set, .hull = &hull, .tolerance = margin->tolerance};
  cpb_status status = cpb_hull_init(&hull, margin->loops, margin->set->d, 1);
  s.where = cpb_memory_take(&memory, n, sizeof *s.where);
  s.score = cpb_memory_take(&memory, n, sizeof *s.score);
  if (memory.failed) status = CPB_ENOMEM;
  if (status == CPB_OK) {
    begin(&s, margin);
    status = enter(&s, margin->first, margin->weight[margin->first]);
    s.set->set_aside[margin->first] = false;
  }
  if (status == CPB_OK) status = iterate(&s, &entered);
  if (status == CPB_OK) write_answer(&s, margin->weight);
  cpb_memory_free(&memory);
  cpb_hull_free(&hull);
  return status;
}
