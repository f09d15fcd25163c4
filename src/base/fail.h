/* Fills the caller's error in one line where the error is detected: return cpb_fail(error, ..).
 *
 * Each reason that several calls share has one function, and so one message. `argument` is the parameter or member
 * at fault as the public header names it, "" if there is none. error may be NULL everywhere. */
#ifndef CPB_BASE_FAIL_H
#define CPB_BASE_FAIL_H

#include "capball/status.h"
#include "base/arithmetic.h"

/* The thousands of a reason are its status. */
static inline cpb_status cpb_status_of(cpb_reason reason) { return (cpb_status)(reason / 1000); }

cpb_status cpb_fail(cpb_error *error, cpb_reason reason, const char *argument, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "x row 17 holds NaN" for the argument "x", row 17 and the predicate "holds NaN". */
cpb_status cpb_fail_row(cpb_error *error, cpb_reason reason, const char *argument, uint64_t row,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds `first` to the row number of the error, for a row counted from a later start. Returns the status. */
cpb_status cpb_fail_later(cpb_error *error, uint64_t first);

/* Passes on the error of an inner call. */
cpb_status cpb_fail_again(cpb_error *error, const cpb_error *inner);

/* "map must not be NULL" */
cpb_status cpb_fail_missing(cpb_error *error, const char *argument);

/* "nu must lie in (0,1], got 2": a format for the requirement, and the number that violates it. */
cpb_status cpb_fail_domain(cpb_error *error, const char *argument, double value, const char *claim, ...)
    __attribute__((format(printf, 4, 5)));
cpb_status cpb_fail_count(cpb_error *error, const char *argument, uint64_t value, const char *claim, ...)
    __attribute__((format(printf, 4, 5)));

/* "there is no metric 7" */
cpb_status cpb_fail_choice(cpb_error *error, const char *argument, int value);

/* "cap's p is not finite", for the argument "cap". */
cpb_status cpb_fail_not_finite(cpb_error *error, const char *argument, const char *name);

/* "a map of dimension 0 is not possible" */
cpb_status cpb_fail_dimension(cpb_error *error, const char *argument, size_t d);

/* "y has 3 rows, wanted 4" */
cpb_status cpb_fail_rows(cpb_error *error, const char *argument, size_t rows, size_t wanted);

/* "x has 0 columns, wanted at least 1" */
cpb_status cpb_fail_no_columns(cpb_error *error, const char *argument);

/* "no memory for 7 rows" */
cpb_status cpb_fail_memory(cpb_error *error, const char *what, ...) __attribute__((format(printf, 2, 3)));

/* EINVAL unless 1 <= k <= count, of things of which k are to be found: "25 neighbours asked for, more than the number of
 * rows, 20". Called before memory for k is taken. */
cpb_status cpb_check_k(size_t k, uint64_t count, const char *argument, const char *things, cpb_error *error);

/* EINVAL unless 0 < s < inf. */
cpb_status cpb_check_scale(double s, cpb_error *error);

#endif
