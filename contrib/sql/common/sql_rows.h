/* The aggregate SQL functions. A fit reads its rows several times, so the state of an aggregate holds them; states
 * are merged by concatenation. Results do not depend on the order in which rows arrive: a map has the same bits for
 * any order (goals mean, median and hemisphere), and other fits put the rows in order first, by their numbers or, if
 * they have none, by their contents. */
#ifndef CAPBALL_SQL_ROWS_H
#define CAPBALL_SQL_ROWS_H

#include <stdbool.h>

#include "capball/map.h"
#include "capball/view.h"

typedef enum sql_fit { SQL_FIT_MAP, SQL_FIT_BALL, SQL_FIT_SVDD, SQL_FIT_DETECTOR } sql_fit;

/* Arguments besides x: the same for all rows. */
typedef struct sql_settings {
  cpb_goal goal; /* capball_fit */
  double share;  /* nu of capball_svdd, contamination of capball_detector */
  bool numbered; /* each row has a number >= 0, unique */
} sql_settings;

/* The goal of this name. */
cpb_status sql_goal(const char *name, size_t length, cpb_goal *goal, cpb_error *error);

typedef struct sql_rows sql_rows;

/* NULL: out of memory. */
sql_rows *sql_rows_new(void);
void sql_rows_free(sql_rows *rows);

/* Adds the rows of x, f32 or f64, densely packed. numbers: one for each, or NULL unless settings->numbered. */
cpb_status sql_rows_add(sql_rows *rows, cpb_view x, const int64_t *numbers, const sql_settings *settings,
                        cpb_error *error);

/* Adds copies of all rows of `from`. */
cpb_status sql_rows_merge(sql_rows *rows, const sql_rows *from, cpb_error *error);

/* Moves all rows of `from`, which has none afterwards, without copying them. */
cpb_status sql_rows_take(sql_rows *rows, sql_rows *from, cpb_error *error);

/* The state as bytes, for another process on the same machine: three parts, to be stored one after the other. ENOMEM: the rows,
 * taken from several states, have no memory to be stored in one block. */
typedef struct sql_part {
  const void *bytes;
  size_t size;
} sql_part;
enum { SQL_PARTS = 3 };
cpb_status sql_rows_parts(sql_rows *rows, sql_part parts[SQL_PARTS], cpb_error *error);

/* A state from these bytes: a copy, or with `release` the bytes themselves, aligned to 8 bytes, until release(bytes, size). Where
 * this fails, they remain the caller's. */
cpb_status sql_rows_read(void *bytes, size_t size, void (*release)(void *bytes, size_t size), sql_rows **rows,
                         cpb_error *error);

/* The JSON of a map or a model; free *text with cpb_free. Support vectors are listed by row number, or not at all if
 * rows have no numbers. Reorders the rows, so that another fit of the same state gives the same result. */
cpb_status sql_rows_fit(sql_rows *rows, sql_fit fit, const cpb_exec *exec, char **text, cpb_error *error);

#endif
