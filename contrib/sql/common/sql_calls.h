/* The scalar SQL functions. Maps, models and regions are JSON; a database parses one once and caches the object while
 * its text stays the same. Nothing here is specific to a database. */
#ifndef CAPBALL_SQL_CALLS_H
#define CAPBALL_SQL_CALLS_H

#include <stdbool.h>

#include "capball/map.h"
#include "capball/view.h"

typedef enum sql_kind { SQL_MAP, SQL_MODEL, SQL_REGION } sql_kind;

/* A map, a model, or a region: a line of `capball dual` or a model. */
typedef struct sql_object sql_object;

cpb_status sql_object_new(sql_kind kind, const char *text, size_t length, sql_object **object,
                          cpb_error *error);
void sql_object_free(sql_object *object);

/* What follows x in the list of arguments. */
typedef enum sql_third { SQL_NOTHING, SQL_RADIUS, SQL_QUERY } sql_third;

typedef enum sql_result {
  SQL_VECTOR,  /* of the element type of x */
  SQL_DOUBLES, /* a vector of double */
  SQL_CAP,     /* a vector of the element type of x, and a number */
  SQL_NUMBER,
  SQL_TRUTH
} sql_result;

/* One row each, or as many as there are in x if call->many; f32 or f64. */
typedef struct sql_arguments {
  cpb_view x, q; /* q: SQL_QUERY */
  double radius; /* SQL_RADIUS */
} sql_arguments;

typedef struct sql_answer {
  cpb_out vector; /* the caller's, rows of call->length(object) elements */
  double number;  /* SQL_TRUTH: >= 0 is true */
} sql_answer;

typedef struct sql_call {
  const char *name;
  sql_kind kind;
  sql_third third;
  sql_result result;
  size_t (*length)(const sql_object *object); /* NULL: the result has no vector */
  cpb_status (*run)(const sql_object *object, const sql_arguments *in, sql_answer *out, cpb_error *error);
  bool many; /* run accepts several rows at a time */
} sql_call;

enum {
  SQL_EMBED,
  SQL_UNEMBED,
  SQL_BALL_QUERY,
  SQL_BALL_CAP,
  SQL_DISTANCE,
  SQL_SCORE,
  SQL_WHY,
  SQL_INSIDE,
  SQL_IS_OUTLIER,
  SQL_P_VALUE,
  SQL_CALLS
};
extern const sql_call sql_calls[SQL_CALLS];

#endif
