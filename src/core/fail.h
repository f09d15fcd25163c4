/* Filling the caller's error, in one line at the place that noticed. */
#ifndef CPB_CORE_FAIL_H
#define CPB_CORE_FAIL_H

#include "capball/status.h"

/* Writes the sentence (error may be NULL) and hands the status back: return cpb_fail(error, ..). */
cpb_status cpb_fail(cpb_error *error, cpb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a sentence about one row. */
cpb_status cpb_fail_row(cpb_error *error, cpb_status status, size_t row, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* EINVAL unless 0 < s < inf. */
cpb_status cpb_check_scale(double s, cpb_error *error);

#endif
