/* What the files of the PostgreSQL extension share. */
#ifndef CAPBALL_PG_ERROR_H
#define CAPBALL_PG_ERROR_H

#include <postgres.h>

#include <utils/array.h>

#include "capball/view.h"

/* Raises an SQL error with the library's message. */
void pg_report(cpb_error *error) __attribute__((noreturn));

/* A one-dimensional array of float4 or float8 as a row; an SQL error for NULL elements and other dimensions. */
cpb_view pg_vector(ArrayType *array, const char *name);

#endif
