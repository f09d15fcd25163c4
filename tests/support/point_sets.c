#include "support/point_sets.h"

#include "support/check.h"

typedef struct kind {
  const char *name;
  void (*fill)(test_rng *rng, point_set *set);
} kind;

static double *row_of(point_set *set, size_t i) { return set->x + i * set->d; }

static void gauss(test_rng *rng, point_set *set) {
  for (size_t i = 0; i < set->n * set->d; i++) set->x[i] = test_gauss(rng);
}

static void cube(test_rng *rng, point_set *set) {
  for (size_t i = 0; i < set->n * set->d; i++) set->x[i] = test_uniform(rng);
}

static void sphere(test_rng *rng, point_set *set) {
  for (size_t i = 0; i < set->n; i++) test_direction(rng, set->d, row_of(set, i));
}

static void near_sphere(test_rng *rng, point_set *set) {
  sphere(rng, set);
  for (size_t i = 0; i < set->n; i++) {
    double length = 1 + 1e-4 * test_gauss(rng);
    for (size_t j = 0; j < set->d; j++) row_of(set, i)[j] *= length;
  }
}

/* Signs and permutations of one integer vector: on one sphere to the last bit. */
static void cospherical(test_rng *rng, point_set *set) {
  double base[64];
  for (size_t j = 0; j < set->d; j++) base[j] = (double)test_below(rng, 5);
  base[0] = 3;
  for (size_t i = 0; i < set->n; i++) {
    double *row = row_of(set, i);
    memcpy(row, base, set->d * sizeof *row);
    for (size_t j = set->d; j-- > 1;) {
      size_t other = test_below(rng, j + 1);
      double kept = row[j];
      row[j] = row[other];
      row[other] = kept;
    }
    for (size_t j = 0; j < set->d; j++) row[j] = 7 + (test_bits(rng) & 1 ? row[j] : -row[j]);
  }
}

static void corners(test_rng *rng, point_set *set) {
  for (size_t i = 0; i < set->n * set->d; i++) set->x[i] = test_bits(rng) & 1 ? 1 : -1;
}

static void lattice(test_rng *rng, point_set *set) {
  for (size_t i = 0; i < set->n * set->d; i++) set->x[i] = (double)test_below(rng, 4);
}

static void duplicates(test_rng *rng, point_set *set) {
  size_t different = 1 + test_below(rng, 4);
  for (size_t i = 0; i < set->n; i++)
    if (i < different)
      for (size_t j = 0; j < set->d; j++) row_of(set, i)[j] = test_gauss(rng);
    else
      memcpy(row_of(set, i), row_of(set, test_below(rng, different)), set->d * sizeof *set->x);
}

static void on_a_plane_of(test_rng *rng, point_set *set, size_t dimensions) {
  double base[64], direction[2][64];
  for (size_t j = 0; j < set->d; j++) {
    base[j] = (double)test_below(rng, 9);
    for (size_t k = 0; k < dimensions; k++) direction[k][j] = (double)test_below(rng, 7) - 3;
  }
  for (size_t i = 0; i < set->n; i++) {
    memcpy(row_of(set, i), base, set->d * sizeof *base);
    for (size_t k = 0; k < dimensions; k++) {
      double t = (double)test_below(rng, 41) - 20;
      for (size_t j = 0; j < set->d; j++) row_of(set, i)[j] += t * direction[k][j];
    }
  }
}

static void collinear(test_rng *rng, point_set *set) { on_a_plane_of(rng, set, 1); }
static void coplanar(test_rng *rng, point_set *set) { on_a_plane_of(rng, set, 2); }

/* A line to rounding only. */
static void almost_collinear(test_rng *rng, point_set *set) {
  double direction[64], t;
  test_direction(rng, set->d, direction);
  for (size_t i = 0; i < set->n; i++) {
    t = test_gauss(rng);
    for (size_t j = 0; j < set->d; j++) row_of(set, i)[j] = t * direction[j] + 1e-13 * test_gauss(rng);
  }
}

static void scaled_gauss(test_rng *rng, point_set *set, double size) {
  gauss(rng, set);
  for (size_t i = 0; i < set->n * set->d; i++) set->x[i] *= size;
}
static void tiny(test_rng *rng, point_set *set) { scaled_gauss(rng, set, 1e-300); }
static void huge(test_rng *rng, point_set *set) { scaled_gauss(rng, set, 1e150); }

static void all_sizes(test_rng *rng, point_set *set) {
  for (size_t i = 0; i < set->n; i++) {
    double size = test_log_uniform(rng, 1e-300, 1e150);
    for (size_t j = 0; j < set->d; j++) row_of(set, i)[j] = size * test_gauss(rng);
  }
}

static void far_from_0(test_rng *rng, point_set *set) {
  for (size_t i = 0; i < set->n * set->d; i++) set->x[i] = 1048576 + (double)test_below(rng, 65536) / 65536;
}

static void one_cluster_and_one_far(test_rng *rng, point_set *set) {
  gauss(rng, set);
  for (size_t i = 1; i < set->n; i++)
    for (size_t j = 0; j < set->d; j++) row_of(set, i)[j] *= 1e-9;
}

static const kind kinds[] = {
    {"gauss", gauss},
    {"cube", cube},
    {"sphere", sphere},
    {"near-sphere", near_sphere},
    {"cospherical integers", cospherical},
    {"corners of a cube", corners},
    {"lattice", lattice},
    {"duplicates", duplicates},
    {"collinear", collinear},
    {"coplanar", coplanar},
    {"almost collinear", almost_collinear},
    {"1e-300", tiny},
    {"1e150", huge},
    {"1e-300 to 1e150", all_sizes},
    {"far from 0", far_from_0},
    {"a cluster and one far point", one_cluster_and_one_far},
};

point_set point_set_make(uint64_t i, size_t most_d) {
  size_t count = sizeof kinds / sizeof *kinds;
  test_rng rng = {i * 7919 + 5};
  static const size_t sizes[] = {1, 2, 3, 5, 12, 60, 300};
  point_set set = {.name = kinds[i % count].name};
  set.n = sizes[test_below(&rng, sizeof sizes / sizeof *sizes)];
  set.d = 1 + test_below(&rng, most_d);
  set.x = malloc(set.n * set.d * sizeof *set.x);
  kinds[i % count].fill(&rng, &set);
  return set;
}
