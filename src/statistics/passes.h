/* Passes over a source of rows, in parallel, in constant memory. */
#ifndef CPB_STATISTICS_PASSES_H
#define CPB_STATISTICS_PASSES_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/status.h"
#include "capball/view.h"
#include "base/memory.h"
#include "base/blocks.h"
#include "base/tell.h"

/* Passes over a source of rows: one block at a time, processed in parallel, gathered in order, in constant memory.
 * What is gathered are exact sums, counts and extremes, so the result depends neither on the blocks of the source
 * nor on the number of threads. */

enum { CPB_PASS_SLOTS = 16 }; /* blocks in progress at once */

/* A fit in progress: what it reads, and how far it is. */
typedef struct cpb_passes {
  cpb_source *source;
  const char *name; /* the name of the caller's argument: "rows", or "base" .. */
  const cpb_exec *exec;
  bool skip_bad;    /* skip rows without a result; else the first one ends the pass */
  double from, to;  /* the range of the whole call's progress that the passes cover */
  unsigned planned; /* number of passes in that range */
  unsigned done;    /* passes so far */
  uint64_t rows;    /* of a pass; CPB_ROWS_UNKNOWN until one has counted them */
} cpb_passes;

/* The whole call is `planned` passes; `to` may be lowered if other work follows. EINVAL, ESHAPE and EDTYPE for an
 * invalid source. */
cpb_status cpb_passes_init(cpb_passes *passes, cpb_source *source, unsigned planned, const cpb_exec *exec,
                           cpb_error *error);

/* ESHAPE unless the source has this many columns; EDTYPE if its dtype is invalid. */
cpb_status cpb_check_source_cols(const cpb_source *source, const char *name, size_t cols, cpb_error *error);

/* "there are no rows to fit to" */
cpb_status cpb_fail_no_rows(cpb_error *error);

/* A block of rows in progress. */
typedef struct cpb_slot {
  size_t number;  /* below CPB_PASS_SLOTS */
  cpb_view rows;  /* f32 to i8 */
  uint64_t first; /* the number of their first row in the source */
  double *room;   /* as cpb_pass demands */
} cpb_slot;

typedef struct cpb_pass {
  void *arg;
  size_t block_bytes;   /* approximate size of a block; 0: 256 KiB */
  size_t per_row, more; /* the numbers in `room`: for every row of a block, and in addition */
  /* Processes a block, on any thread; NULL: nothing to do. Rows without a result are reported to `fault` with their
   * number in the source. */
  cpb_status (*look)(void *arg, const cpb_slot *slot, cpb_first_fault *fault, cpb_error *error);
  /* Takes over what was found, in order, on the calling thread. */
  cpb_status (*gather)(void *arg, const cpb_slot *slot, cpb_error *error);
} cpb_pass;

cpb_status cpb_pass_run(cpb_passes *passes, const cpb_pass *pass, cpb_error *error);

/* The element type of the blocks: wide integers are converted to doubles. */
cpb_dtype cpb_pass_dtype(const cpb_source *source);

/* A `look` that reports the first row with NaN or inf. */
cpb_status cpb_record_faults(void *arg, const cpb_slot *slot, cpb_first_fault *fault, cpb_error *error);

/* All rows of a source in one view, f32 to i8; *owned is their memory, which the caller frees: NULL if the source
 * has them in memory and lends them. */
cpb_status cpb_passes_hold(cpb_passes *passes, cpb_view *rows, void **owned, cpb_error *error);

/* ---- Caches the rows of a source of unknown length, as long as they are few, so that text is parsed only once. ---- */

typedef struct cpb_row_cache {
  char *data;
  size_t row_bytes, rows, room; /* rows */
} cpb_row_cache;

/* Appends the rows of a block without gaps between them. */
cpb_status cpb_row_cache_add(cpb_row_cache *to, cpb_view block, cpb_error *error);

typedef struct cpb_cached_source {
  cpb_source source; /* to be read instead of `of`; a view once the rows are cached */
  cpb_source *of;
  uint64_t rows; /* of the last pass that read `of` */
  bool keeping;
  cpb_row_cache cache;
} cpb_cached_source;

void cpb_cached_source_init(cpb_cached_source *kept, cpb_source *of);
void cpb_cached_source_free(cpb_cached_source *kept);

#endif
