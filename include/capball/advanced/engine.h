/* Search engines behind a common interface: measured on every transform, or used for Euclidean search.
 *
 *   cpb_engine_command  a shell command that reads rows and queries from npy files and writes ids
 *   cpb_engine_measure  the transform, scale and radius that suit an engine best: recall before and after exact
 *                       rescoring                                                                          T13
 *   cpb_engine_wrap     transform, query, rescore: ids and true distances                                  T13
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_ENGINE_H
#define CAPBALL_ADVANCED_ENGINE_H

#include "capball/transform.h"

CPB_BEGIN

/** The cost of a run; NaN and 0 where unknown. */
typedef struct cpb_engine_cost {
  double seconds;      /* total wall-clock time */
  double build, query; /* parts of it */
  double bytes;        /* size of the index */
} cpb_engine_cost;

/** The input of an engine. */
typedef struct cpb_engine_question {
  cpb_view rows,
      queries;       /* f32, densely packed, with the same columns; rows.data = NULL: it holds its rows */
  size_t count;      /* ids requested per query, <= rows.rows */
  cpb_metric metric; /* to rank by */
  uint64_t seed;     /* for randomised engines */
} cpb_engine_question;

/** An engine: builds an index of the rows and answers every query. Called from one thread.
 *  ids   queries.rows x count, best first, none twice; padded with CPB_NO_ROW if fewer were found */
typedef struct cpb_engine_calls {
  void *self;
  cpb_status (*ask)(void *self, const cpb_engine_question *question, uint64_t *ids, cpb_engine_cost *cost,
                    const cpb_exec *exec, cpb_error *error);
} cpb_engine_calls;

#define CPB_NO_ROW UINT64_MAX

/** An engine that is a command, run by /bin/sh in a temporary directory. {base} and {queries} are replaced by the names
 *  of npy files, {k} by the number of ids requested per query, {ids} by the name of the npy (or other vector) file to
 *  write them to, as integers padded with -1; {metric} by l2, ip or cosine, {seed} by a number, {times} by the name of
 *  a file that may be written: seconds to build, seconds to query, bytes of the index. */
typedef struct cpb_engine_command {
  size_t size; /* sizeof(cpb_engine_command) */
  const char *command;
  double timeout; /* seconds; 0: none */
} cpb_engine_command;

/** Fills *engine, which refers to `command`: it must live as long. EINVAL if {base}, {queries}, {k} or {ids} is missing.
 *  The results are checked: a command that fails, times out, writes nothing, too little, something other than a regular
 *  file (a FIFO, a directory), or invalid row numbers gives an error with a message. Reading the results counts as
 *  time of the command. All files in its directory are removed. */
CPB_CALL cpb_status cpb_engine_from_command(const cpb_engine_command *command, cpb_engine_calls *engine,
                                            cpb_error *error);

/** What to measure. Start from cpb_engine_options_init. */
typedef struct cpb_engine_options {
  size_t size;
  size_t k;          /* neighbours, default 10 */
  size_t candidates; /* requested from the engine, >= k, default 100 */
  cpb_metric metric; /* of the engine: only transforms for it are measured; default cosine */
  size_t sample;     /* base rows at most, chosen by a hash of their number; default 100000 */
  size_t queries;    /* queries at most; default 1000 */
  uint64_t seed;
  size_t seeds;   /* number of runs of the pick, to measure its variation; default 3 */
  size_t first;   /* rows of a first round, if there are more than twice as many; 0: none; default 10000 */
  unsigned kinds; /* 1 << kind for every transform to measure, besides raw rows; 0: all that are suitable */
} cpb_engine_options;
CPB_API void cpb_engine_options_init(cpb_engine_options *options, size_t size);

/** One transform, scale and query form. */
typedef struct cpb_engine_trial {
  size_t size;
  const char *name; /* "none" (raw rows by the metric), "normalize", "sphere", "lift-ip", "lift-cosine" */
  cpb_transform_kind kind;
  double scale;  /* s of the sphere; NaN for the others */
  double norms;  /* s as a multiple of the mean norm about the mean; NaN for the others */
  double radius; /* of its ball queries; 0: point queries */
  bool twice;    /* queried again with a ball of the k-th distance found, half of the candidates each time */
  double recall; /* fraction of the true k nearest by L2 in the engine's first k, for the odd queries */
  double rescored;                           /* .. among all its candidates, as found by exact rescoring */
  double error;                              /* standard error of `rescored` over the queries */
  cpb_engine_cost cost;                      /* for its part of the queries */
  double choosing_recall, choosing_rescored; /* for the even queries, which determine the pick */
  double choosing_error;                     /* standard error of choosing_rescored over them */
  bool close;  /* choosing_rescored is within the noise of the best: one standard error of the difference */
  size_t rows; /* of the index: those of the base, or of the first round */
} cpb_engine_trial;

/** The measurements; the caller frees them with cpb_engine_report_free. */
typedef struct cpb_engine_report cpb_engine_report;
/** NULL is allowed. */
CPB_API void cpb_engine_report_free(cpb_engine_report *report);

/** The results; arrays are views into the report. */
typedef struct cpb_engine_facts {
  size_t size;
  size_t k, candidates, base_rows, queries;
  double norm_mean, radius; /* of the base about its mean; the median k-th distance */
  size_t count;
  const cpb_engine_trial *trials;
  size_t pick; /* best by choosing_rescored of the trials with all rows; of those within its noise the best by
                  choosing_recall; of those within the noise of that the simplest, in the order of the list below */
  size_t raw;  /* raw rows */
  double low, high;  /* `rescored` of the pick over the seeds */
  bool helps;        /* the pick finds more than raw rows do, by more than its error */
  size_t first_rows; /* of the first round; 0: there was none */
} cpb_engine_facts;

/** Fills *facts up to facts->size, which the caller has set. */
CPB_API void cpb_engine_report_describe(const cpb_engine_report *report, cpb_engine_facts *facts);

/** Measures an engine on every transform for its metric: raw rows, normalize, the lifts, and the sphere at 1/2, 1, 2,
 *  4, 8, 16 times the mean norm about the mean and at factors of sqrt 2 around the best of them, each with point
 *  queries and with balls of half, once and twice the median k-th distance; the best of these is also queried twice.
 *  Half of the queries determine the pick, the other half the reported figures. If the base has more than twice `first`
 *  rows, all this is first done on `first` rows with fewer candidates, and what is then 20 points behind the best is
 *  not measured on all rows. The caller owns *report.                                                     T13
 *  base      n > k rows of d, any dtype                                 borrowed for the call
 *  queries   rows of d, or no rows: then some rows of the base are the queries, and are excluded from it
 *  EROW names a row with NaN or inf; errors of the engine are returned. */
CPB_CALL cpb_status cpb_engine_measure(cpb_view base, cpb_view queries, const cpb_engine_calls *engine,
                                       const cpb_engine_options *options, cpb_engine_report **report,
                                       const cpb_exec *exec, cpb_error *error);

/** What proves that no other row is nearer than the k-th of an answer, and what the engine must promise. Fixed values.
 *  ENGINE: its candidates are the rows of the highest scores of all rows it holds, in this order, each score within
 *  the default error of cpb_external of <p,y>. Fewer candidates than requested prove nothing, unless it holds no more. */
typedef enum cpb_certificate {
  CPB_CERTIFY_NOTHING = 0, /* nothing is proven, nothing promised */
  CPB_CERTIFY_ENGINE = 1,  /* the scores of the candidates, by T13 */
  CPB_CERTIFY_ROWS = 2,    /* all rows are compared: the engine promises nothing */
} cpb_certificate;

/** How to query an engine. Start from cpb_wrap_options_init. */
typedef struct cpb_wrap_options {
  size_t size;
  size_t k;          /* neighbours, default 10 */
  size_t candidates; /* requested from the engine, >= k, default 100; at most the rows it holds */
  double radius;     /* on the sphere: of ball queries; 0 (the default): point queries */
  bool twice; /* on the sphere: query again with balls of the k-th distance found for each query, and take the
                 nearest of both results; the engine builds its index again for it. Default false */
  cpb_metric metric;    /* of the engine: that of the transform, or any for unit rows; default cosine */
  uint64_t seed;        /* for randomised engines */
  size_t held_rows;     /* that the engine holds already; 0 (the default): it is given all rows of the base */
  const uint64_t *held; /* their numbers, in the engine's order, in which its ids are places; NULL (the
                           default): all rows of the base */
  const bool *allowed;  /* base.rows flags: the held rows that may be found; NULL (the default): all. More
                           candidates are requested in proportion, and until k are found; at most 10 times
                           `candidates` rows are searched exactly instead */
  cpb_certificate certificate; /* default CPB_CERTIFY_NOTHING */
  bool *proven;                /* one per query: receives whether its k rows are certain to be the nearest
                                  allowed ones; NULL (the default) */
} cpb_wrap_options;
CPB_API void cpb_wrap_options_init(cpb_wrap_options *options, size_t size);

/** The k nearest of an engine's candidates on transformed rows, by exact distances of the original rows.       T13
 *  base, queries   rows of d, any dtype                                 borrowed for the call
 *  transform       any kind; for CPB_CERTIFY_ENGINE the sphere without whitening, lift-ip or lift-cosine
 *  hits            n x k, caller's: nearest first, value = |x-q|
 *  EINVAL if the engine finds fewer than k rows for a query, or names a row twice or one that it does not hold. */
CPB_CALL cpb_status cpb_engine_wrap(cpb_view base, cpb_view queries, const cpb_transform *transform,
                                    const cpb_engine_calls *engine, const cpb_wrap_options *options,
                                    cpb_hit *hits, const cpb_exec *exec, cpb_error *error);

CPB_END
#endif
