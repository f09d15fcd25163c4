/* T14: sketches of Euclidean data: codes of a few bytes per row that estimate distances, and search among them.
 *
 * A row is projected on directions that are orthonormal. Consecutive directions share a byte of the code, which names the nearest
 * of 256 centres; a byte has as many directions as carry its share of the information (reverse water-filling of the variances).
 * Two bytes more are a factor and a bound of the error: capball/advanced/estimator.h has what a code says about a distance.
 *
 * Files of earlier releases are read, and encode as they did. Their bits say on which side of a hyperplane through the origin the
 * image of a row on the sphere is located, which by T3 with b = 0 is a ball of the data space:
 *
 *   h_i(x) = [ <c_i, S(x-m)> >= 0 ]
 *          = [ 2s<c'_i, x-m> + c0_i (s^2 - |x-m|^2) >= 0 ] */
#ifndef CAPBALL_SKETCH_H
#define CAPBALL_SKETCH_H

#include "capball/map.h"
#include "capball/search.h"

CPB_BEGIN

/** The kind of a code. Values are fixed. cpb_sketch_fit makes joined ones; the others are kinds of earlier releases. */
typedef enum cpb_sketch_kind {
  CPB_SKETCH_EMBEDDED = 0,        /* bits of normals trained on S(x-m) */
  CPB_SKETCH_CENTRED = 1,         /* of normals trained on (x-m)/|x-m|: c0 = 0 */
  CPB_SKETCH_RANDOM_EMBEDDED = 2, /* of normals that are uniform on the sphere of R^(d+1) */
  CPB_SKETCH_RANDOM_CENTRED = 3,  /* of normals that are uniform on the sphere of R^d, c0 = 0 */
  CPB_SKETCH_PRINCIPAL = 4,       /* levels of 1, 2 or 4 bits per direction, and three numbers */
  CPB_SKETCH_JOINED = 5,          /* bytes of joined directions, and two numbers of one byte each */
} cpb_sketch_kind;
enum { CPB_SKETCH_KINDS = 6 };

/** "embedded", "centred", "random-embedded", "random-centred", "principal", "joined"; a view, never NULL. */
CPB_API const char *cpb_sketch_kind_name(cpb_sketch_kind kind);

/** What the bytes of a joined code are of. Values are fixed. */
typedef enum cpb_sketch_form {
  CPB_FORM_CHOSEN = 0,    /* the one with the highest recall on held-out rows of the sample */
  CPB_FORM_PRINCIPAL = 1, /* principal directions, joined by their share of the information */
  CPB_FORM_COLUMNS = 2,   /* neighbouring columns, as many in each byte */
  CPB_FORM_SIGNS = 3,     /* the signs of eight rotated principal directions */
  CPB_FORM_TURNED = 4,    /* principal directions, turned to where their centres are nearest to the rows */
} cpb_sketch_form;
enum { CPB_SKETCH_FORMS = 5 };

/** How principal directions of earlier releases are rotated. Values are fixed. */
typedef enum cpb_sketch_rotation {
  CPB_ROTATION_CHOSEN = 0,
  CPB_ROTATION_RANDOM = 1,
  CPB_ROTATION_LEARNED = 2, /* nearest to the corners of a cube (iterative quantisation) */
  CPB_ROTATION_TURNED = 3,
} cpb_sketch_rotation;

/** The definition of a sketch. Start from cpb_sketch_options_init. */
typedef struct cpb_sketch_options {
  size_t size; /* sizeof(cpb_sketch_options) */
  cpb_sketch_kind kind;
  size_t d;              /* columns of the data, >= 1 */
  size_t bits;           /* a multiple of 8, 8 .. 65536 */
  double s;              /* scale, > 0, in the unit of the data */
  const double *center;  /* m: d coordinates, NULL = 0 */
  const double *normals; /* rows of d+1, of length 1: bits; principal: bits/bits_per; joined: directions */
  uint64_t seed;         /* of the training; informational */
  size_t bits_per;       /* principal: 1, 2 or 4 bits per normal; else 1 */
  cpb_dtype factors;     /* principal: of the numbers of a row, f16 (the default) or f32 */
  cpb_sketch_rotation rotation; /* principal: informational */
  double spread;                /* 99.9 % of errors were below this fraction of their bound; 1: unknown */
  size_t code_bytes;            /* of a row: bits/8 and its numbers; set by describe */
  cpb_sketch_form form;
  size_t directions; /* joined: number of normals */
  const uint32_t *
      books; /* joined: bits/8 pairs: the first direction of a byte, and how many it has. Several bytes can follow
                            one another for one direction: each is of what the earlier ones leave */
  const float *centres;  /* joined: of each byte 256 numbers for each of its directions, in units of s */
  size_t numbers;        /* joined: bytes behind the code: 2, or 0 */
  double f_low, f_step;  /* joined: factor i is f_low + i f_step, rounded to f32 */
  double e_low, e_ratio; /* joined: bound i of the error is e_low e_ratio^i; of 255 inf */
  double gamma;          /* joined: estimates count this part of the squared bound */
  double recall
      [2]; /* joined: of the 10 nearest among 10 and among 100 estimates, on held-out rows; NaN: unknown */
} cpb_sketch_options;
CPB_API void cpb_sketch_options_init(cpb_sketch_options *options, size_t size);

typedef struct cpb_sketch cpb_sketch;

/** cpb_sketch_describe copies the options; their pointers are views into the sketch. */
CPB_API void cpb_sketch_free(cpb_sketch *sketch);
CPB_API void cpb_sketch_describe(const cpb_sketch *sketch, cpb_sketch_options *options);

/** How a sketch is trained. Start from cpb_sketch_training_init. */
typedef struct cpb_sketch_training {
  size_t size;          /* sizeof(cpb_sketch_training) */
  size_t bytes;         /* of a code, all counted; 0 (the default): bits/8 and two numbers */
  size_t bits;          /* default 256 */
  double s;             /* scale, > 0 */
  const double *center; /* d coordinates, NULL = 0 */
  uint64_t seed;
  cpb_sketch_form form; /* default CPB_FORM_CHOSEN */
  bool certain; /* keep a bound of the error even where a byte more of code finds more; default false */
} cpb_sketch_training;
CPB_API void cpb_sketch_training_init(cpb_sketch_training *training, size_t size);

/** How the training went. Set its size. */
typedef struct cpb_sketch_report {
  size_t size; /* sizeof(cpb_sketch_report) */
  double seconds;
  double recall[2]; /* see cpb_sketch_options */
} cpb_sketch_report;

/** How to fit a sketch. Start from cpb_sketch_fit_options_init. */
typedef struct cpb_sketch_fit_options {
  size_t size;
  const cpb_sketch_training *training; /* NULL: the defaults. For s and center see below */
  const cpb_map *map;                  /* only its centre and scale are used; NULL: those of the rows */
  double s;      /* the scale, without a map; 0 (the default): twice what the goal says */
  cpb_goal goal; /* default CPB_GOAL_MEAN */
  double target; /* for CPB_GOAL_RECALL; default 0.99 */
  size_t k;      /* for CPB_GOAL_RECALL; default 10 */
  size_t sample; /* rows used for training; default 16384 */
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
 *  codes  n rows of code_bytes (cpb_sketch_describe), caller's
 *  Codes are identical for any number of threads and any instruction set. The bits of earlier kinds are the signs of the ball
 *  form in double arithmetic, bit i as bit i%8 of byte i/8.
 *  EROW names the first row with NaN or inf; its code is 0, and all other rows are encoded. */
CPB_CALL cpb_status cpb_sketch_encode(const cpb_sketch *sketch, cpb_view x, uint8_t *codes,
                                      const cpb_exec *exec, cpb_error *error);

/** The k codes of a base with the smallest Hamming distance to each query's; ties by lower id.
 *  codes, queries   u8 rows with the same number of bytes
 *  hits             queries.rows x k, caller's; value is the number of differing bits; nearest first
 *  EINVAL if k is 0 or larger than codes.rows. The codes are read from memory once per several hundred queries. */
CPB_CALL cpb_status cpb_hamming_knn(cpb_view codes, cpb_view queries, size_t k, cpb_hit *hits,
                                    const cpb_exec *exec, cpb_error *error);

/** The content of a sketch file: JSON with keys "capball", "dim", "bits", "variant", "scale", "center", "seed", "normals",
 *  "checksum", and the members of the options that its kind has. Free *text with cpb_free. */
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
