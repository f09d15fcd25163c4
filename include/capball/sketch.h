/* T14: binary sketches of Euclidean data, and search among them.
 *
 * Bit i of a row says on which side of a hyperplane through the origin its image on the sphere is located.
 * By T3 with b = 0 that is a ball of the data space, so images are never computed:
 *
 *   h_i(x) = [ <c_i, S(x-m)> >= 0 ]
 *          = [ 2s<c'_i, x-m> + c0_i (s^2 - |x-m|^2) >= 0 ]
 *
 * the ball of centre m + s c'/c0 and radius s/|c0|; its complement for c0 < 0, a half-space for c0 = 0.
 * Principal sketches (recommended) have normals that follow the variance of the data, 1, 2 or 4 bits for each, and
 * three small numbers per row, which give estimates of |x-q| and their bounds: capball/advanced/estimator.h. The other kinds are
 * trained until every pair of bits agrees on half of the rows, and compared by Hamming distance. */
#ifndef CAPBALL_SKETCH_H
#define CAPBALL_SKETCH_H

#include "capball/map.h"
#include "capball/search.h"

CPB_BEGIN

/** Where the normals come from. Values are fixed. */
typedef enum cpb_sketch_kind {
  CPB_SKETCH_EMBEDDED = 0,        /* trained on S(x-m) */
  CPB_SKETCH_CENTRED = 1,         /* trained on (x-m)/|x-m|: c0 = 0 */
  CPB_SKETCH_RANDOM_EMBEDDED = 2, /* uniform on the sphere of R^(d+1) */
  CPB_SKETCH_RANDOM_CENTRED = 3,  /* uniform on the sphere of R^d, c0 = 0 */
  CPB_SKETCH_PRINCIPAL = 4,       /* rotated principal directions of S(x-m), c0 = 0; codes with factors */
} cpb_sketch_kind;
enum { CPB_SKETCH_KINDS = 5 };

/** "embedded", "centred", "random-embedded", "random-centred", "principal"; a view, never NULL. */
CPB_API const char *cpb_sketch_kind_name(cpb_sketch_kind kind);

/** How principal directions are rotated. Values are fixed. */
typedef enum cpb_sketch_rotation {
  CPB_ROTATION_CHOSEN = 0, /* the one with the highest recall on held-out rows of the sample */
  CPB_ROTATION_RANDOM = 1,
  CPB_ROTATION_LEARNED = 2, /* nearest to the corners of a cube (iterative quantisation) */
  CPB_ROTATION_TURNED = 3,  /* the normals that CPB_SKETCH_CENTRED trains, made orthonormal */
} cpb_sketch_rotation;

/** How dependent bits are: mean and maximum of |O_ij/n - 1/2|, O_ij the number of rows on which bits i < j agree. */
typedef struct cpb_sketch_point {
  uint64_t steps;
  double mean, worst;
} cpb_sketch_point;

/** The definition of a sketch. Start from cpb_sketch_options_init. */
typedef struct cpb_sketch_options {
  size_t size; /* sizeof(cpb_sketch_options) */
  cpb_sketch_kind kind;
  size_t d;              /* columns of the data, >= 1 */
  size_t bits;           /* a multiple of 8, 8 .. 65536 */
  double s;              /* scale, > 0, in the unit of the data */
  const double *center;  /* m: d coordinates, NULL = 0 */
  const double *normals; /* bits rows of d+1, of length 1; principal: bits/bits_per, see estimator.h */
  uint64_t seed;         /* of the training; informational */
  size_t curve_count;
  const cpb_sketch_point *curve; /* of the training; NULL if curve_count = 0 */
  size_t bits_per;               /* bits per normal: 1; principal sketches: 1, 2 or 4 */
  cpb_dtype factors;             /* principal: of the numbers of a row, f16 (the default) or f32 */
  cpb_sketch_rotation rotation;  /* principal: informational */
  double spread;     /* principal: 99.9 % of errors were below this fraction of their bound; 1: unknown */
  size_t code_bytes; /* of a row: bits/8, and for principal sketches three factors; set by describe */
} cpb_sketch_options;
CPB_API void cpb_sketch_options_init(cpb_sketch_options *options, size_t size);

typedef struct cpb_sketch cpb_sketch;

/** cpb_sketch_describe copies the options; their pointers are views into the sketch. */
CPB_API void cpb_sketch_free(cpb_sketch *sketch);
CPB_API void cpb_sketch_describe(const cpb_sketch *sketch, cpb_sketch_options *options);

/** Which normals move in a step. */
typedef enum cpb_sketch_step {
  CPB_SKETCH_ALL = 0,   /* all, away from all others at once */
  CPB_SKETCH_WORST = 1, /* one normal of the worst pair, away from the other; `bits` of these are one step */
} cpb_sketch_step;

/** How a sketch is trained. Start from cpb_sketch_training_init. */
typedef struct cpb_sketch_training {
  size_t size; /* sizeof(cpb_sketch_training) */
  cpb_sketch_kind kind;
  size_t bits;          /* default 256 */
  double s;             /* scale, > 0 */
  const double *center; /* d coordinates, NULL = 0 */
  uint64_t seed;
  size_t starts; /* sets of initial normals, of which the most independent one is used; >= 1, default 16 */
  double jitter; /* length of the random part of initial normals, >= 0; NaN (the default): sqrt(bits)/16 */
  cpb_sketch_step step;
  double strength;  /* of a step: angles are strength*theta, for ALL divided by bits; > 0, default 1 */
  size_t max_steps; /* default 1000; 0: keep the initial normals */
  /* stop when a step gains a smaller fraction; 0: when nothing has decreased for 10 steps; NaN (the default):
   * 0.03 max(1, sqrt(bits)/16), where recall is best */
  double tolerance;
  size_t batch;    /* rows per step, the next ones of the sample each time, >= 64; 0 (the default): all */
  size_t bits_per; /* principal: 1, 2 or 4; 0 (the default): by recall on held-out rows */
  cpb_sketch_rotation rotation; /* principal: default CPB_ROTATION_CHOSEN */
  cpb_dtype factors;            /* principal: f16 (the default) or f32 */
} cpb_sketch_training;
CPB_API void cpb_sketch_training_init(cpb_sketch_training *training, size_t size);

/** How the training went. Set its size. */
typedef struct cpb_sketch_report {
  size_t size;                  /* sizeof(cpb_sketch_report) */
  bool settled;                 /* stopped by the tolerance, not by max_steps */
  size_t steps;                 /* accepted */
  size_t refused;               /* steps reverted because they made bits more dependent */
  cpb_sketch_point first, last; /* on the rows used by the steps */
  double seconds;
  double recall; /* principal: of the 10 nearest among 60 estimates, on held-out rows; NaN: too few */
} cpb_sketch_report;

/** How to fit a sketch. Start from cpb_sketch_fit_options_init. */
typedef struct cpb_sketch_fit_options {
  size_t size;
  const cpb_sketch_training *training; /* NULL: the defaults. For s and center see below */
  const cpb_map *map;                  /* only its centre and scale are used; NULL: those of the rows */
  double s;      /* the scale, without a map; 0 (the default): by the goal, principal: twice that */
  cpb_goal goal; /* default CPB_GOAL_MEAN */
  double target; /* for CPB_GOAL_RECALL; default 0.99 */
  size_t k;      /* for CPB_GOAL_RECALL; default 10 */
  size_t sample; /* rows used for training; default 8192 */
  bool skip_bad; /* default false */
} cpb_sketch_fit_options;
CPB_API void cpb_sketch_fit_options_init(cpb_sketch_fit_options *options, size_t size);

/** What was read, and the report of the training. */
typedef struct cpb_sketch_fit_report {
  size_t size;
  uint64_t rows, bad_rows; /* used, skipped */
  size_t sample;           /* rows used for training */
  cpb_sketch_report training;
} cpb_sketch_fit_report;

/** Trains a sketch on a sample of the source, by the training's seed; the caller owns *sketch. One pass, two for the goals
 *  mean, median and hemisphere.                                                                            T14 */
CPB_CALL cpb_status cpb_sketch_fit(cpb_source *rows, const cpb_sketch_fit_options *options,
                                   cpb_sketch **sketch, cpb_sketch_fit_report *report, const cpb_exec *exec,
                                   cpb_error *error);

/** Codes of rows, computed directly from the data.                                                 T14
 *  x      n rows of d, any dtype                                            borrowed for the call
 *  codes  n rows of code_bytes (cpb_sketch_describe), caller's; bit i is bit i%8 of byte i/8
 *  A bit is the sign of the ball form in double arithmetic. Single precision is used where its proven margin
 *  allows, so codes are identical for any number of threads and any instruction set. They equal those of
 *  embedding and then taking products, except for rows within 8u (u = 2^-53) of a boundary.
 *  EROW names the first row with NaN or inf; its code is 0, and all other rows are encoded. */
CPB_CALL cpb_status cpb_sketch_encode(const cpb_sketch *sketch, cpb_view x, uint8_t *codes,
                                      const cpb_exec *exec, cpb_error *error);

/** The k codes of a base with the smallest Hamming distance to each query's; ties by lower id.
 *  codes, queries   u8 rows with the same number of bytes
 *  hits             queries.rows x k, caller's; value is the number of differing bits; nearest first
 *  EINVAL if k is 0 or larger than codes.rows. The codes are read from memory once per several hundred queries. */
CPB_CALL cpb_status cpb_hamming_knn(cpb_view codes, cpb_view queries, size_t k, cpb_hit *hits,
                                    const cpb_exec *exec, cpb_error *error);

/** The content of a sketch file: JSON with keys "capball", "dim", "bits", "variant", "scale", "center", "seed",
 *  "curve", "normals", "checksum"; principal: also the last members of the options. Free *text with cpb_free. */
CPB_CALL cpb_status cpb_sketch_to_json(const cpb_sketch *sketch, char **text, cpb_error *error);

/** Reads that text back, bit for bit, into a new *sketch. Any defect gives EFORMAT with a message.
 *  name  how messages refer to the file; NULL = "sketch" */
CPB_CALL cpb_status cpb_sketch_from_json(const char *text, size_t length, const char *name,
                                         cpb_sketch **sketch, cpb_error *error);

/** Load and save a file of that format; save replaces the file atomically, "-" is standard output. */
CPB_CALL cpb_status cpb_sketch_load(const char *path, cpb_sketch **sketch, cpb_error *error);
CPB_CALL cpb_status cpb_sketch_save(const cpb_sketch *sketch, const char *path, cpb_error *error);

CPB_END
#endif
