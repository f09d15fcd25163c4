/* Rows on a grid, as the bytes that panels multiply; included once per instruction set. Sums of codes and of
 * their squares are whole numbers below 2^24 in each lane (cpb_grid_most columns), exact in float. */

static float add_float_lanes(const float lane[CPB_LANES]) {
  float sum[CPB_LANES];
  memcpy(sum, lane, sizeof sum);
  for (int width = CPB_LANES / 2; width > 0; width /= 2)
    for (int j = 0; j < width; j++) sum[j] += sum[j + width];
  return sum[0];
}

static float reach(float *restrict z, const float *restrict center, size_t n) {
  float lane[CPB_LANES] = {0}, largest = 0;
  size_t i = 0;
  for (; i + CPB_LANES <= n; i += CPB_LANES)
    for (size_t j = 0; j < CPB_LANES; j++) {
      float difference = z[i + j] - center[i + j], size = fabsf(difference);
      z[i + j] = difference;
      lane[j] = size > lane[j] ? size : lane[j];
    }
  for (size_t j = 0; i + j < n; j++) {
    float difference = z[i + j] - center[i + j], size = fabsf(difference);
    z[i + j] = difference;
    lane[j] = size > lane[j] ? size : lane[j];
  }
  for (size_t j = 0; j < CPB_LANES; j++) largest = lane[j] > largest ? lane[j] : largest;
  return largest;
}

typedef struct grid_lanes {
  float sum[CPB_LANES], square[CPB_LANES], rest[CPB_LANES];
} grid_lanes;

static inline void grid_line(grid_lanes *of, const float *restrict z, float per_step, int8_t *restrict to) {
  const float to_whole = 0x1.8p23f; /* adding and subtracting it rounds to the nearest whole number */
  for (size_t j = 0; j < CPB_LANES; j++) {
    float steps = z[j] * per_step, code = (steps + to_whole) - to_whole, rest = steps - code;
    of->sum[j] += code;
    of->square[j] += code * code;
    of->rest[j] += rest * rest;
    to[j] = (int8_t)(int32_t)code;
  }
}

static void grid(const float *restrict z, size_t n, float per_step, int8_t *restrict to, size_t step,
                 cpb_gridded *about) {
  enum { LINE = CPB_BYTES_LINE };
  grid_lanes lanes = {{0}, {0}, {0}};
  size_t i = 0;
  for (; i + CPB_LANES <= n; i += CPB_LANES)
    grid_line(&lanes, z + i, per_step, to + i / LINE * step + i % LINE);
  if (i < n) {
    float rest[CPB_LANES] = {0};
    memcpy(rest, z + i, (n - i) * sizeof *z);
    grid_line(&lanes, rest, per_step, to + i / LINE * step + i % LINE);
  }
  about->sum = (int32_t)add_float_lanes(lanes.sum);
  about->square = (int32_t)add_float_lanes(lanes.square);
  about->rest = add_float_lanes(lanes.rest);
}

static void flip(const uint8_t *restrict x, size_t n, uint8_t bits, int8_t *restrict to, size_t step,
                 cpb_gridded *about) {
  enum { LINE = CPB_BYTES_LINE };
  *about = (cpb_gridded){0, 0, 0};
  for (size_t i = 0; i < n; i += LINE, to += step) {
    size_t count = n - i < LINE ? n - i : LINE;
    for (size_t j = 0; j < count; j++) {
      int8_t code = (int8_t)(uint8_t)(x[i + j] ^ bits);
      to[j] = code;
      about->sum += code;
      about->square += code * code;
    }
  }
}
