#include "scale/id_sums.h"

#include "core/fail.h"

static void widen(cpb_id_sums *s, uint64_t low, uint64_t high) {
  if (s->count == 0 || low < s->low) s->low = low;
  if (s->count == 0 || high > s->high) s->high = high;
}

void cpb_id_sums_add(cpb_id_sums *s, const uint64_t *ids, uint64_t first, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint64_t id = ids != NULL ? ids[i] : first + i;
    widen(s, id, id);
    s->sum += id;
    s->square += id * id;
    s->count++;
  }
}

void cpb_id_sums_merge(cpb_id_sums *s, const cpb_id_sums *other) {
  s->unknown |= other->unknown;
  if (other->count == 0) return;
  widen(s, other->low, other->high);
  s->count += other->count;
  s->sum += other->sum;
  s->square += other->square;
}

/* 0 + 1 + .. + (n-1) and the sum of their squares, modulo 2^64. */
static void sums_below(uint64_t n, uint64_t *sum, uint64_t *square) {
  uint64_t a = n - 1, b = n, c = 2 * n - 1;
  *(a % 2 == 0 ? &a : &b) /= 2;
  *sum = a * b;
  *(a % 3 == 0 ? &a : b % 3 == 0 ? &b : &c) /= 3;
  *square = a * b * c;
}

static bool is_every_id(const cpb_id_sums *s) {
  uint64_t n = s->count, sum, square;
  sums_below(n, &sum, &square);
  return s->sum == n * s->low + sum && s->square == n * s->low * s->low + 2 * s->low * sum + square;
}

cpb_status cpb_id_sums_check(const cpb_id_sums *s, cpb_error *error) {
  if (s->unknown || s->count == 0 || s->count - 1 < s->high - s->low) return CPB_OK;
  if (s->count - 1 > s->high - s->low)
    return cpb_fail(error, CPB_WHY_ROW_TWICE, "ids",
                    "%llu rows have ids from %llu to %llu: some row was given twice, pieces overlap",
                    (unsigned long long)s->count, (unsigned long long)s->low, (unsigned long long)s->high);
  if (is_every_id(s)) return CPB_OK;
  return cpb_fail(error, CPB_WHY_ROW_TWICE, "ids",
                  "%llu rows have ids from %llu to %llu, but not each of them once: pieces overlap",
                  (unsigned long long)s->count, (unsigned long long)s->low, (unsigned long long)s->high);
}
