/* n rows cut into blocks that do not depend on the number of threads, and the first row that failed. */
#ifndef CPB_BASE_BLOCKS_H
#define CPB_BASE_BLOCKS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "capball/exec.h"

/* Why a row has no answer. */
typedef enum cpb_fault {
  CPB_FAULT_NAN = 1,      /* it holds NaN */
  CPB_FAULT_INFINITE = 2, /* it holds inf where only finite numbers have a meaning */
  CPB_FAULT_POLE = 3,     /* it is the pole -v, the image of infinity */
  CPB_FAULT_ZERO = 4,     /* it is 0 and has no direction */
  CPB_FAULT_RANGE = 5,    /* its answer overflows the output's type */
  CPB_FAULT_LONG = 6,     /* it is longer than the rows the call was prepared for */
} cpb_fault;

/* The first faulty row of a call and its fault, whichever thread meets it first; {0} is none. */
typedef struct cpb_first_fault {
  _Atomic uint64_t key; /* ~(row*8 + fault) */
} cpb_first_fault;

/* Reports one fault that was found without blocks. */
cpb_status cpb_fault_report(size_t row, int fault, const char *argument, cpb_error *error);
/* fault: a cpb_fault; 0, none, is ignored */
void cpb_record_fault(cpb_first_fault *first, size_t row, int fault);

/* CPB_OK without a fault, else EROW and the message "x row 17 holds NaN", name = "x". */
cpb_status cpb_first_fault_report(const cpb_first_fault *first, const char *name, cpb_error *error);

typedef struct cpb_blocks {
  size_t rows, per_block;
  void (*body)(void *arg, size_t block, size_t first, size_t count);
  void *arg;
} cpb_blocks;

size_t cpb_blocks_count(const cpb_blocks *blocks);
void cpb_blocks_run(const cpb_blocks *blocks, const cpb_exec *exec);

/* The same for calls that may take long: reports finished blocks to the caller, and ESTOPPED skips the rest. */
cpb_status cpb_blocks_run_told(const cpb_blocks *blocks, const cpb_exec *exec, cpb_error *error);

/* Rows per block for rows of this many elements: about 64 Ki elements, a multiple of 64 rows. */
size_t cpb_blocks_rows(size_t elements_per_row);

/* task(job, row) for every row of this many elements, in blocks; EROW for the first row whose fault is not 0. */
cpb_status cpb_rows_run(size_t rows, size_t elements_per_row, int (*task)(void *job, size_t row), void *job,
                        const char *name, const cpb_exec *exec, cpb_error *error);

/* The same, with reports. */
cpb_status cpb_rows_run_told(size_t rows, size_t elements_per_row, int (*task)(void *job, size_t row),
                             void *job, const char *name, const cpb_exec *exec, cpb_error *error);

/* The least or the largest of the numbers that tasks report, such as the first query that failed. */
static inline void cpb_report_least(_Atomic size_t *least, size_t number) {
  size_t known = atomic_load(least);
  while (number < known && !atomic_compare_exchange_weak(least, &known, number)) {
  }
}

static inline void cpb_report_largest(_Atomic uint64_t *largest, uint64_t number) {
  uint64_t known = atomic_load_explicit(largest, memory_order_relaxed);
  while (number > known && !atomic_compare_exchange_weak(largest, &known, number)) {
  }
}

/* task(arg, i, error) for each i < tasks: the error of the first task that fails, which is run again for its message. */
cpb_status cpb_exec_try(const cpb_exec *exec, size_t tasks,
                        cpb_status (*task)(void *arg, size_t i, cpb_error *error), void *arg,
                        cpb_error *error);

#endif
