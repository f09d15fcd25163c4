/* |x_i - c|^2 of many rows, included once per element type with ELEMENT and ROWS_DIST2 defined. The
 * sums have the order, and so the bits, of dist2 on widened rows.
 *
 * A core waits for memory, so the rows are walked as DIST2_RANGES ranges in turn, each fetched ahead: one
 * range alone keeps too few misses under way. */
#ifndef CPB_DIST2_JOIN
#define CPB_DIST2_JOIN_(name, part) name##part
#define CPB_DIST2_JOIN(name, part) CPB_DIST2_JOIN_(name, part)

enum { DIST2_RANGES = 4, DIST2_AHEAD = 1024, DIST2_LINE = 64 };

static inline __attribute__((always_inline)) void fetch_ahead(const void *x, size_t bytes) {
  for (size_t at = 0; at < bytes; at += DIST2_LINE) __builtin_prefetch((const char *)x + DIST2_AHEAD + at);
}
#endif
#define OF_CHUNK CPB_DIST2_JOIN(ROWS_DIST2, _chunk)
#define ROWS_IN_TURN CPB_DIST2_JOIN(ROWS_DIST2, _in_turn)
#define SIXTEEN_ROWS CPB_DIST2_JOIN(ROWS_DIST2, _sixteen)
#define SIXTEENS_IN_TURN CPB_DIST2_JOIN(ROWS_DIST2, _sixteens)

static double OF_CHUNK(const ELEMENT *x, const double *c, size_t n) {
  double lane[CPB_LANES] = {0};
  size_t i = 0;
  for (; i + CPB_LANES <= n; i += CPB_LANES)
    for (size_t j = 0; j < CPB_LANES; j++) {
      double difference = (double)x[i + j] - c[i + j];
      lane[j] += difference * difference;
    }
  for (size_t j = 0; i + j < n; j++) {
    double difference = (double)x[i + j] - c[i + j];
    lane[j] += difference * difference;
  }
  return add_lanes(lane);
}

/* One row of each of `ranges` ranges that begin `apart` rows after each other, chunk by chunk. */
static inline __attribute__((always_inline)) void ROWS_IN_TURN(const ELEMENT *x, size_t stride, size_t apart,
                                                               size_t ranges, size_t d, const double *c,
                                                               double *dist2) {
  double sum[DIST2_RANGES] = {0};
  for (size_t start = 0; start < d; start += CPB_CHUNK) {
    size_t count = d - start < CPB_CHUNK ? d - start : CPB_CHUNK;
    for (size_t r = 0; r < ranges; r++) {
      const ELEMENT *chunk = x + r * apart * stride + start;
      fetch_ahead(chunk, count * sizeof *chunk);
      sum[r] += OF_CHUNK(chunk, c + start, count);
    }
  }
  for (size_t r = 0; r < ranges; r++) dist2[r * apart] = sum[r];
}

/* Rows of at most 16 elements: sixteen rows side by side, each through the tree of add_lanes. Inlined with
 * a constant d and stride for the narrowest rows, where loading is all the work. */
static inline __attribute__((always_inline)) void SIXTEEN_ROWS(const ELEMENT *x, size_t stride, size_t d,
                                                               const double *c, double *dist2) {
  double square[CPB_LANES][CPB_LANES];
  fetch_ahead(x, CPB_LANES * stride * sizeof *x);
  for (size_t j = 0; j < d; j++)
    for (size_t row = 0; row < CPB_LANES; row++) {
      double difference = (double)x[row * stride + j] - c[j];
      square[j][row] = difference * difference;
    }
  for (size_t width = CPB_LANES / 2, left = d; width > 0; width /= 2) {
    for (size_t j = 0; j + width < left; j++)
      for (size_t row = 0; row < CPB_LANES; row++) square[j][row] += square[j + width][row];
    left = left < width ? left : width;
  }
  memcpy(dist2, square[0], sizeof square[0]);
}

/* The ranges of whole sixteens; returns how many rows they are. */
static inline __attribute__((always_inline)) size_t
SIXTEENS_IN_TURN(const ELEMENT *x, size_t stride, size_t n, size_t d, const double *c, double *dist2) {
  size_t range = n / DIST2_RANGES / CPB_LANES * CPB_LANES, done = DIST2_RANGES * range;
  for (size_t i = 0; i < range; i += CPB_LANES)
    for (size_t row = i; row < done; row += range) SIXTEEN_ROWS(x + row * stride, stride, d, c, dist2 + row);
  for (; done + CPB_LANES <= n; done += CPB_LANES)
    SIXTEEN_ROWS(x + done * stride, stride, d, c, dist2 + done);
  return done;
}

static void ROWS_DIST2(const void *rows, size_t stride, size_t n, size_t d, const double *c, double *dist2) {
  const ELEMENT *x = rows;
  size_t i = 0;
  if (d == 2 && stride == 2)
    i = SIXTEENS_IN_TURN(x, 2, n, 2, c, dist2);
  else if (d == 3 && stride == 3)
    i = SIXTEENS_IN_TURN(x, 3, n, 3, c, dist2);
  else if (d > 0 && d <= CPB_LANES)
    i = SIXTEENS_IN_TURN(x, stride, n, d, c, dist2);
  size_t range = (n - i) / DIST2_RANGES, end = i + range;
  for (; i < end; i++) ROWS_IN_TURN(x + i * stride, stride, range, DIST2_RANGES, d, c, dist2 + i);
  for (i += (DIST2_RANGES - 1) * range; i < n; i++)
    ROWS_IN_TURN(x + i * stride, stride, 0, 1, d, c, dist2 + i);
}

#undef OF_CHUNK
#undef ROWS_IN_TURN
#undef SIXTEEN_ROWS
#undef SIXTEENS_IN_TURN
