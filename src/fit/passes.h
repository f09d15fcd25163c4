/* Passes over a source of rows: a block at a time, looked at in parallel, gathered in order, in constant
 * memory. What is gathered are exact sums, counts and extremes, so that neither the blocks of the source nor
 * the number of threads can be seen in it. */
#ifndef CPB_FIT_PASSES_H
#define CPB_FIT_PASSES_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"
#include "parallel/blocks.h"
#include "parallel/tell.h"

enum { CPB_PASS_SLOTS = 16 }; /* blocks under way at once */

/* A fit under way: what it reads, and how far it is. */
typedef struct cpb_passes {
  cpb_source *source;
  const char *name; /* what the caller's argument is called: "rows", or "base" .. */
  const cpb_exec *exec;
  bool skip_bad;     /* rows without an answer are left out; else the first one ends the pass */
  double from, to;   /* the shares of the whole call that the passes are */
  unsigned planned;  /* passes, for those shares */
  unsigned done;     /* passes so far */
  uint64_t rows;     /* of a pass; CPB_ROWS_UNKNOWN until one has counted them */
  uint64_t bad_rows; /* left out by the last pass */
} cpb_passes;

/* The whole call is `planned` passes; `to` may be lowered where other work follows. EINVAL, ESHAPE and EDTYPE
 * for a source that is none. */
cpb_status cpb_passes_init(cpb_passes *passes, cpb_source *source, unsigned planned, const cpb_exec *exec,
                           cpb_error *error);

/* ESHAPE unless the source has these columns; EDTYPE where its dtype is none. */
cpb_status cpb_check_source_cols(const cpb_source *source, const char *name, size_t cols, cpb_error *error);

/* "there are no rows to fit to" */
cpb_status cpb_fail_no_rows(cpb_error *error);

typedef struct cpb_pass {
  void *arg;
  size_t block_bytes; /* about the size of a block; 0: 256 KiB */
  /* Looks at rows first, first+1, .. of the source, f32 to i8, and leaves what it found in slot `slot`; on any
   * thread. Rows without an answer meet `fault` under their number in the source. */
  cpb_status (*look)(void *arg, size_t slot, cpb_view rows, uint64_t first, cpb_first_fault *fault,
                     cpb_error *error);
  /* Takes slot `slot` over, in order, on the calling thread. */
  cpb_status (*gather)(void *arg, size_t slot, size_t rows, cpb_error *error);
} cpb_pass;

/* Rows `look` sees at most. */
size_t cpb_pass_block_rows(const cpb_source *source, const cpb_pass *pass);

cpb_status cpb_pass_run(cpb_passes *passes, const cpb_pass *pass, cpb_error *error);

/* The element type in which `look` sees rows: wide whole numbers come as doubles. */
cpb_dtype cpb_pass_dtype(const cpb_source *source);

/* The first row with NaN or inf, for `look`. */
void cpb_meet_faults(cpb_view rows, uint64_t first, cpb_first_fault *fault);

/* All rows of a source in one view, f32 to i8; *owned is their memory, which the caller frees: NULL where the
 * source has them in memory and lends them. */
cpb_status cpb_passes_hold(cpb_passes *passes, cpb_view *rows, void **owned, cpb_error *error);

#endif
