/* Passes over a source of rows: one block at a time, processed in parallel, gathered in order, in constant memory.
 * What is gathered are exact sums, counts and extremes, so the result depends neither on the blocks of the source
 * nor on the number of threads. */
#ifndef CPB_FIT_PASSES_H
#define CPB_FIT_PASSES_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"
#include "parallel/blocks.h"
#include "parallel/tell.h"

enum { CPB_PASS_SLOTS = 16 }; /* blocks in progress at once */

/* A fit in progress: what it reads, and how far it is. */
typedef struct cpb_passes {
  cpb_source *source;
  const char *name; /* the name of the caller's argument: "rows", or "base" .. */
  const cpb_exec *exec;
  bool skip_bad;     /* skip rows without a result; else the first one ends the pass */
  double from, to;   /* the range of the whole call's progress that the passes cover */
  unsigned planned;  /* number of passes in that range */
  unsigned done;     /* passes so far */
  uint64_t rows;     /* of a pass; CPB_ROWS_UNKNOWN until one has counted them */
  uint64_t bad_rows; /* skipped by the last pass */
} cpb_passes;

/* The whole call is `planned` passes; `to` may be lowered if other work follows. EINVAL, ESHAPE and EDTYPE for an
 * invalid source. */
cpb_status cpb_passes_init(cpb_passes *passes, cpb_source *source, unsigned planned, const cpb_exec *exec,
                           cpb_error *error);

/* ESHAPE unless the source has this many columns; EDTYPE if its dtype is invalid. */
cpb_status cpb_check_source_cols(const cpb_source *source, const char *name, size_t cols, cpb_error *error);

/* "there are no rows to fit to" */
cpb_status cpb_fail_no_rows(cpb_error *error);

typedef struct cpb_pass {
  void *arg;
  size_t block_bytes; /* approximate size of a block; 0: 256 KiB */
  /* Processes rows first, first+1, .. of the source, f32 to i8, and stores what it found in slot `slot`; called on
   * any thread. Rows without a result are reported to `fault` with their number in the source. */
  cpb_status (*look)(void *arg, size_t slot, cpb_view rows, uint64_t first, cpb_first_fault *fault,
                     cpb_error *error);
  /* Takes over slot `slot`, in order, on the calling thread. */
  cpb_status (*gather)(void *arg, size_t slot, size_t rows, cpb_error *error);
} cpb_pass;

/* The maximal number of rows passed to `look`. */
size_t cpb_pass_block_rows(const cpb_source *source, const cpb_pass *pass);

cpb_status cpb_pass_run(cpb_passes *passes, const cpb_pass *pass, cpb_error *error);

/* The element type of the rows passed to `look`: wide integers are converted to doubles. */
cpb_dtype cpb_pass_dtype(const cpb_source *source);

/* Reports the first row with NaN or inf, for use in `look`. */
void cpb_meet_faults(cpb_view rows, uint64_t first, cpb_first_fault *fault);

/* All rows of a source in one view, f32 to i8; *owned is their memory, which the caller frees: NULL if the source
 * has them in memory and lends them. */
cpb_status cpb_passes_hold(cpb_passes *passes, cpb_view *rows, void **owned, cpb_error *error);

#endif
