/* Filling the caller's error, in one line at the place that noticed: return cpb_fail(error, ..).
 *
 * The reasons that many calls share have a function here each, with one sentence for all of them. `argument` is
 * the parameter or member at fault as the public header calls it, "" when it is none of them. error may be NULL everywhere. */
#ifndef CPB_CORE_FAIL_H
#define CPB_CORE_FAIL_H

#include "capball/status.h"
#include "core/arithmetic.h"

/* The status of a reason is its thousands. */
static inline cpb_status cpb_status_of(cpb_reason reason) { return (cpb_status)(reason / 1000); }

cpb_status cpb_fail(cpb_error *error, cpb_reason reason, const char *argument, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "x row 17 holds NaN" of the argument "x", row 17, and what is said of it, "holds NaN". */
cpb_status cpb_fail_row(cpb_error *error, cpb_reason reason, const char *argument, uint64_t row,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same of a row that is met `first` rows later than error->row counts. Returns the status. */
cpb_status cpb_fail_later(cpb_error *error, uint64_t first);

/* Hands on what a call within this one said. */
cpb_status cpb_fail_again(cpb_error *error, const cpb_error *inner);

/* "map must not be NULL" */
cpb_status cpb_fail_missing(cpb_error *error, const char *argument);

/* "nu must lie in (0,1], got 2": the claim as a format, and the number that does not keep it. */
cpb_status cpb_fail_domain(cpb_error *error, const char *argument, double value, const char *claim, ...)
    __attribute__((format(printf, 4, 5)));
cpb_status cpb_fail_count(cpb_error *error, const char *argument, uint64_t value, const char *claim, ...)
    __attribute__((format(printf, 4, 5)));

/* "there is no metric 7" */
cpb_status cpb_fail_choice(cpb_error *error, const char *argument, int value);

/* "cap's p is not finite", of the argument "cap". */
cpb_status cpb_fail_not_finite(cpb_error *error, const char *argument, const char *name);

/* "a map of dimension 0 is not possible" */
cpb_status cpb_fail_dimension(cpb_error *error, const char *argument, size_t d);

/* "y has 3 rows, wanted 4" */
cpb_status cpb_fail_rows(cpb_error *error, const char *argument, size_t rows, size_t wanted);

/* "x has 0 columns, wanted at least 1" */
cpb_status cpb_fail_no_columns(cpb_error *error, const char *argument);

/* "no memory for 7 rows" */
cpb_status cpb_fail_memory(cpb_error *error, const char *what, ...) __attribute__((format(printf, 2, 3)));

/* EINVAL unless 0 < s < inf. */
cpb_status cpb_check_scale(double s, cpb_error *error);

#endif
