/* Errors of the library as errors of a database. */
#ifndef CAPBALL_SQL_ERROR_H
#define CAPBALL_SQL_ERROR_H

#include "capball/status.h"

/* The SQLSTATE, five characters. */
const char *sql_state(const cpb_error *error);

/* The message for a function of a single row: "x holds NaN", not "x row 0 holds NaN". */
const char *sql_message(cpb_error *error);

/* Sets *error and returns its status, which the thousands digit of the reason implies. */
cpb_status sql_fail(cpb_error *error, cpb_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
