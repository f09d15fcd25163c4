/* |x_i - c|^2 of many rows, included once per element type with ELEMENT and ROWS_DIST2 defined. The
 * sums have the order, and so the bits, of dist2 on widened rows. */
#ifndef CPB_DIST2_JOIN
#define CPB_DIST2_JOIN_(name, part) name##part
#define CPB_DIST2_JOIN(name, part) CPB_DIST2_JOIN_(name, part)
#endif
#define ONE_ROW CPB_DIST2_JOIN(ROWS_DIST2, _one)
#define SIXTEEN_ROWS CPB_DIST2_JOIN(ROWS_DIST2, _sixteen)

static double ONE_ROW(const ELEMENT *x, const double *c, size_t d) {
  double sum = 0;
  for (size_t start = 0; start < d; start += CPB_CHUNK) {
    size_t end = d - start < CPB_CHUNK ? d : start + CPB_CHUNK, i = start;
    double lane[CPB_LANES] = {0};
    for (; i + CPB_LANES <= end; i += CPB_LANES)
      for (size_t j = 0; j < CPB_LANES; j++) {
        double difference = (double)x[i + j] - c[i + j];
        lane[j] += difference * difference;
      }
    for (size_t j = 0; i + j < end; j++) {
      double difference = (double)x[i + j] - c[i + j];
      lane[j] += difference * difference;
    }
    sum += add_lanes(lane);
  }
  return sum;
}

/* Rows of at most 16 elements: sixteen rows side by side, each through the tree of add_lanes. Inlined with
 * a constant d and stride for the narrowest rows, where loading is all the work. */
static inline __attribute__((always_inline)) void SIXTEEN_ROWS(const ELEMENT *x, size_t stride, size_t d,
                                                               const double *c, double *dist2) {
  double square[CPB_LANES][CPB_LANES];
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

static void ROWS_DIST2(const void *rows, size_t stride, size_t n, size_t d, const double *c, double *dist2) {
  const ELEMENT *x = rows;
  size_t i = 0;
  if (d == 2 && stride == 2)
    for (; i + CPB_LANES <= n; i += CPB_LANES) SIXTEEN_ROWS(x + i * 2, 2, 2, c, dist2 + i);
  else if (d == 3 && stride == 3)
    for (; i + CPB_LANES <= n; i += CPB_LANES) SIXTEEN_ROWS(x + i * 3, 3, 3, c, dist2 + i);
  else if (d > 0 && d <= CPB_LANES)
    for (; i + CPB_LANES <= n; i += CPB_LANES) SIXTEEN_ROWS(x + i * stride, stride, d, c, dist2 + i);
  for (; i < n; i++) dist2[i] = ONE_ROW(x + i * stride, c, d);
}

#undef ONE_ROW
#undef SIXTEEN_ROWS
