/* Numbers about a centre in single precision, laid out for panels; included once per element type with
 * ELEMENT and SPREAD defined. The sum has the order, and so the bits, of dot on the doubles. */
static double SPREAD(const void *from, size_t n, double unit, const double *restrict center,
                     float *restrict to, size_t step) {
  const ELEMENT *restrict x = from;
  double sum = 0;
  for (size_t start = 0; start < n; start += CPB_CHUNK) {
    size_t end = n - start < CPB_CHUNK ? n : start + CPB_CHUNK, i = start;
    double lane[CPB_LANES] = {0};
    for (; i + CPB_LANES <= end; i += CPB_LANES, to += step)
      for (size_t j = 0; j < CPB_LANES; j++) {
        double z = unit * ((double)x[i + j] - center[i + j]);
        lane[j] += z * z;
        to[j] = (float)z;
      }
    for (size_t j = 0; i + j < end; j++) {
      double z = unit * ((double)x[i + j] - center[i + j]);
      lane[j] += z * z;
      to[j] = (float)z;
    }
    sum += add_lanes(lane);
  }
  return sum;
}
