/* Numbers about a centre in single precision, laid out for panels. */

/* Rows of floats about a centre of floats: one rounding, in the subtraction; `unit` is a power of two. */
static double spread_f32(const float *restrict x, size_t n, float unit, const float *restrict center,
                         float *restrict to, size_t step) {
  double sum = 0;
  for (size_t start = 0; start < n; start += CPB_CHUNK) {
    size_t end = n - start < CPB_CHUNK ? n : start + CPB_CHUNK, i = start;
    double lane[CPB_LANES] = {0};
    for (; i + CPB_LANES <= end; i += CPB_LANES, to += step)
      for (size_t j = 0; j < CPB_LANES; j++) {
        float z = unit * (x[i + j] - center[i + j]);
        lane[j] += (double)z * (double)z;
        to[j] = z;
      }
    for (size_t j = 0; i + j < end; j++) {
      float z = unit * (x[i + j] - center[i + j]);
      lane[j] += (double)z * (double)z;
      to[j] = z;
    }
    sum += add_lanes(lane);
  }
  return sum;
}

static double spread_f64(const double *restrict x, size_t n, double unit, const double *restrict center,
                         float *restrict to, size_t step) {
  double sum = 0;
  for (size_t start = 0; start < n; start += CPB_CHUNK) {
    size_t end = n - start < CPB_CHUNK ? n : start + CPB_CHUNK, i = start;
    double lane[CPB_LANES] = {0};
    for (; i + CPB_LANES <= end; i += CPB_LANES, to += step)
      for (size_t j = 0; j < CPB_LANES; j++) {
        double z = unit * (x[i + j] - center[i + j]);
        lane[j] += z * z;
        to[j] = (float)z;
      }
    for (size_t j = 0; i + j < end; j++) {
      double z = unit * (x[i + j] - center[i + j]);
      lane[j] += z * z;
      to[j] = (float)z;
    }
    sum += add_lanes(lane);
  }
  return sum;
}

/* Bytes as floats, which hold them exactly. */
static void floats_u8(const void *from, size_t n, float *to) {
  const uint8_t *x = from;
  for (size_t i = 0; i < n; i++) to[i] = (float)x[i];
}
static void floats_i8(const void *from, size_t n, float *to) {
  const int8_t *x = from;
  for (size_t i = 0; i < n; i++) to[i] = (float)x[i];
}
