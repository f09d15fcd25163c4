/* Engines as they are: anybody's search engine behind one door, measured on every transform, or made Euclidean.
 *
 *   cpb_command_door    a command of the shell that reads rows and queries from npy files and writes ids
 *   cpb_engine_measure  which transform, scale and radius an engine answers best on: recall before and after exact
 *                       rescoring                                                                          T13
 *   cpb_engine_wrap     transform, ask, rescore: ids and true distances                                    T13
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_ENGINE_H
#define CAPBALL_ADVANCED_ENGINE_H

#include "capball/transform.h"

CPB_BEGIN

/** What an answer has cost; NaN and 0 where nobody knows. */
typedef struct cpb_engine_cost {
  double seconds;      /* all of it, on the clock of the wall */
  double build, query; /* parts of it */
  double bytes;        /* of the index */
} cpb_engine_cost;

/** What an engine is asked. */
typedef struct cpb_engine_question {
  cpb_view rows, queries; /* f32, densely packed, of the same columns */
  size_t count;           /* ids wanted per query, <= rows.rows */
  cpb_metric metric;      /* what to rank by */
  uint64_t seed;          /* for engines that draw lots */
} cpb_engine_question;

/** Someone's engine: builds an index of the rows and answers every query. Called from one thread.
 *  ids   queries.rows x count, best first; CPB_NO_ROW after the last where it found fewer */
typedef struct cpb_door {
  void *self;
  cpb_status (*ask)(void *self, const cpb_engine_question *question, uint64_t *ids, cpb_engine_cost *cost,
                    const cpb_exec *exec, cpb_error *error);
} cpb_door;

#define CPB_NO_ROW UINT64_MAX

/** An engine that is a command, run by /bin/sh in a directory of its own that goes away. {base} and {queries} become
 *  the names of npy files, {k} the number of ids wanted per query, {ids} the name of the npy (or any other vector)
 *  file to write them to, of whole numbers, -1 after the last found; {metric} l2, ip or cosine, {seed} a number,
 *  {times} the name of a file that may be written: seconds to build, seconds to ask, bytes of the index. */
typedef struct cpb_command_door {
  size_t size; /* sizeof(cpb_command_door) */
  const char *command;
  double timeout; /* seconds; 0: as long as it takes */
} cpb_command_door;

/** A view of `command`, which must live as long. EINVAL where it does not have {base}, {queries}, {k} and {ids}. Its
 *  answers are checked: a command that fails, hangs, writes nothing, too little, something else than a regular file (a
 *  FIFO, a directory), or what is no row number is an error with a sentence. Reading the answers counts as time of the
 *  command. Whatever it has put into its directory is removed. */
CPB_CALL cpb_status cpb_door_of_command(const cpb_command_door *command, cpb_door *door, cpb_error *error);

/** What is measured. Start from cpb_engine_options_init. */
typedef struct cpb_engine_options {
  size_t size;
  size_t k;          /* neighbours, default 10 */
  size_t candidates; /* asked of the engine, >= k, default 100 */
  cpb_metric metric; /* what the engine ranks by: only transforms for it are measured; default cosine */
  size_t sample;     /* base rows at most, chosen by a hash of their number; default 100000 */
  size_t queries;    /* queries at most; default 1000 */
  uint64_t seed;
  size_t seeds; /* how often the pick is asked, for its spread; default 3 */
  size_t first; /* rows of a first round, where there are more than twice as many; 0: none; default 10000 */
  unsigned
      kinds; /* 1 << kind for every transform that is measured, beside rows as they are; 0: all that suit */
} cpb_engine_options;

CPB_API void cpb_engine_options_init(cpb_engine_options *options, size_t size);

/** One transform, scale and query form. */
typedef struct cpb_engine_trial {
  size_t size;
  const char *name; /* "none" (raw rows by the metric), "normalize", "sphere", "lift-ip", "lift-cosine" */
  cpb_transform_kind kind;
  double scale;         /* s of the sphere; NaN for the others */
  double norms;         /* s as a multiple of the mean norm about the mean; NaN */
  double radius;        /* of its ball queries; 0: points */
  double recall;        /* share of the true k nearest by L2 among the engine's first k, of the odd queries */
  double rescored;      /* .. among all its candidates, which exact rescoring finds */
  double error;         /* the standard error of `rescored` over the queries */
  cpb_engine_cost cost; /* of its share of the queries */
  double choosing_recall, choosing_rescored; /* of the even queries, by which the pick is found */
  size_t rows;                               /* of the index: those of the base, or of the first round */
} cpb_engine_trial;

/** The measurement; belongs to the caller, who frees it by cpb_engine_report_free. */
typedef struct cpb_engine_report cpb_engine_report;
/** NULL is fine. */
CPB_API void cpb_engine_report_free(cpb_engine_report *report);

/** What was found; arrays are views into the report. */
typedef struct cpb_engine_facts {
  size_t size;
  size_t k, candidates, base_rows, queries;
  double norm_mean, radius; /* of the base about its mean; the median k-th distance */
  size_t count;
  const cpb_engine_trial *trials;
  size_t pick; /* of those of all rows the best after rescoring; of those within half a point of it the best
                       before, of those the simplest: none, normalize, lifts, sphere with points, with balls */
  size_t raw;  /* rows as they are */
  double low, high;  /* `rescored` of the pick over the seeds */
  bool helps;        /* the pick finds more than raw rows do, by more than its error */
  size_t first_rows; /* of the first round; 0: there was none */
} cpb_engine_facts;

/** Fills *facts, whose size is set; more of it than the caller knows is left out. */
CPB_API void cpb_engine_report_describe(const cpb_engine_report *report, cpb_engine_facts *facts);

/** Measures an engine on every transform for its metric: rows as they are, normalize, the lifts, and the sphere at
 *  1/2, 1, 2, 4, 8, 16 times the mean norm about the mean and at the root of 2 around the best of them, each with
 *  point queries and with balls of half, once and twice the median k-th distance; gives *report.          T13
 *  Half of the queries choose, the other half tells the figures. Where the base has more than twice `first` rows, all
 *  that is done on so many of them first, with fewer candidates, and what is 20 points behind the best then is not
 *  built of all rows.
 *  base      n > k rows of d, any dtype                                 borrowed for the call
 *  queries   rows of d, or no rows: some rows of the base ask, and are left out of it
 *  EROW names a row with NaN or inf; what the door says is handed on. */
CPB_CALL cpb_status cpb_engine_measure(cpb_view base, cpb_view queries, const cpb_door *door,
                                       const cpb_engine_options *options, cpb_engine_report **report,
                                       const cpb_exec *exec, cpb_error *error);

/** How an engine is asked. Start from cpb_wrap_options_init. */
typedef struct cpb_wrap_options {
  size_t size;
  size_t k;          /* neighbours, default 10 */
  size_t candidates; /* asked of the engine, >= k, default 100; at most the rows of the base */
  double radius;     /* on the sphere: queries are balls of it; 0 (the default): points */
  bool
      twice; /* on the sphere: ask again by balls of the k-th distance that each query has found, and take the
                 nearest of both answers; the engine builds its index again for it. Default false */
  cpb_metric
      metric;    /* what the engine ranks by: that of the transform, or for unit rows any; default cosine */
  uint64_t seed; /* for engines that use random numbers */
} cpb_wrap_options;

CPB_API void cpb_wrap_options_init(cpb_wrap_options *options, size_t size);

/** The k nearest of an engine's candidates on transformed rows, by exact distances of the rows themselves.
 *  base, queries   rows of d, any dtype                                 borrowed for the call
 *  transform       any kind
 *  hits            n x k, caller's: nearest first, value = |x-q|
 *  EINVAL where it finds fewer than k rows for a query. */
CPB_CALL cpb_status cpb_engine_wrap(cpb_view base, cpb_view queries, const cpb_transform *transform,
                                    const cpb_door *door, const cpb_wrap_options *options, cpb_hit *hits,
                                    const cpb_exec *exec, cpb_error *error);

CPB_END
#endif
