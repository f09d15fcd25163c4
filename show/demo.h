/* The demonstration: colours in an index that knows only inner products. */
#ifndef SHOW_DEMO_H
#define SHOW_DEMO_H

#include <stdbool.h>
#include <stdio.h>

#include "put_text.h"
#include "capball/capball.h"

enum { DEMO_QUERIES = 10 };

typedef struct demo_colour {
  char name[28];
  float rgb[3]; /* whole numbers 0..255 */
} demo_colour;

typedef struct demo_colours {
  size_t count;
  demo_colour *colours;
} demo_colours;

/* A few thousand colours: well-known ones by name, and shades of them, the same for the same seed. */
void demo_colours_new(demo_colours *data, uint64_t seed);
void demo_colours_free(demo_colours *data);
const demo_colour *demo_queries(void); /* DEMO_QUERIES of them */

/* An engine as people have it: rows of unit length, nothing but <q,y>. */
typedef struct demo_engine {
  size_t count, cols;
  float *rows;
} demo_engine;

size_t demo_engine_best(const demo_engine *engine, const double *query);
/* Rows with <q,y> >= threshold, into ids (room for all); their number. */
size_t demo_engine_above(const demo_engine *engine, const double *query, double threshold, size_t *ids);
double demo_engine_score(const demo_engine *engine, const double *query, size_t row);

typedef struct demo_answer {
  size_t row;
  double distance;
} demo_answer;

typedef struct demo_result {
  demo_answer truth, plain, ours;
  double radius; /* of the ball that had a hit */
  size_t hits;   /* rows in the last cap */
} demo_result;

/* {|x-c| <= r} as the question the engine understands. */
typedef struct demo_question {
  double c[3], r;
  double p[4], b;
  size_t by_threshold, by_distance; /* rows that answer it, counted both ways */
  bool same_rows;                   /* and they are the same rows */
} demo_question;

typedef struct demo {
  demo_colours data;
  cpb_map *map;
  double s;
  demo_engine plain, ours;
  demo_result results[DEMO_QUERIES];
  demo_question range;
  size_t *ids;       /* room for all rows .. */
  double *distances; /* .. and their distances */
  size_t range_rows; /* ids[0 .. range_rows) answer the range query */
} demo;

/* Everything but the showing; false after a sentence in error. */
bool demo_run(demo *d, uint64_t seed, cpb_error *error);
void demo_free(demo *d);
/* The cap of the ball (center, r); p and b of the question. */
bool demo_ask(const demo *d, const float *center, double r, demo_question *question, cpb_error *error);
double demo_distance(const float *a, const float *b);
/* Answers that are as near as the nearest. */
unsigned demo_right(const demo *d, bool ours);

/* How the answers are found, and what that asks of an engine. */
extern const char demo_how[];

/* The page, in memory of the caller's. */
char *demo_page(const demo *d, size_t *length);

/* A ball of the plane and its cap on the sphere, two pictures as one SVG; false after a sentence. */
bool demo_draw_ball_and_cap(FILE *to, cpb_error *error);
/* Score against distance for both engines, one SVG. */
void demo_draw_scores(const demo *d, FILE *to);
/* Scores of all queries by gnuplot; false, and nothing drawn, where it is not installed. */
bool demo_draw_by_gnuplot(const demo *d, FILE *to);

#endif
