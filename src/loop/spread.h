/* Numbers about a centre in single precision, laid out for panels; included once per real with REAL and
 * SPREAD defined. In single precision there is one rounding, in the subtraction, since `unit` is a power of
 * two. The sum has the order of dot on the doubles. */
static double SPREAD(const REAL *restrict x, size_t n, REAL unit, const REAL *restrict center,
                     float *restrict to, size_t step) {
  double sum = 0;
  for (size_t start = 0; start < n; start += CPB_CHUNK) {
    size_t end = n - start < CPB_CHUNK ? n : start + CPB_CHUNK, i = start;
    double lane[CPB_LANES] = {0};
    for (; i + CPB_LANES <= end; i += CPB_LANES, to += step)
      for (size_t j = 0; j < CPB_LANES; j++) {
        REAL z = unit * (x[i + j] - center[i + j]);
        lane[j] += (double)z * (double)z;
        to[j] = (float)z;
      }
    for (size_t j = 0; i + j < end; j++) {
      REAL z = unit * (x[i + j] - center[i + j]);
      lane[j] += (double)z * (double)z;
      to[j] = (float)z;
    }
    sum += add_lanes(lane);
  }
  return sum;
}
