/* A region or a cap as a line of JSON, and the map given with it. */
#ifndef CPB_JSON_DUAL_LINE_H
#define CPB_JSON_DUAL_LINE_H

#include <stdbool.h>

#include "capball/region.h"
#include "capball/status.h"
#include "json/json_read.h"

typedef struct dual_line {
  size_t d;
  bool is_cap;
  cpb_region region;
  cpb_cap cap;
  double *c, *axis, *p; /* d, d, d+1 numbers of region and cap */
  double *pole;         /* d+1 numbers given in the line, or NULL */
  double *W, *m;        /* d*d and d numbers given in the line, or NULL */
  bool carries;         /* the answer contains W, m and pole, because there is no map file */
  char fault[256];      /* why the line was rejected, .. */
  bool no_memory;       /* .. or out of memory */
} dual_line;

/* The "id" of a line as written: any JSON value, cut out of the text before numbers are rounded. */
typedef struct dual_id {
  char *text; /* NULL: none; freed by the caller */
} dual_id;

/* Takes the id out of a line and puts 0 in its place. EFORMAT if it is not a JSON value; ENOMEM. */
cpb_status dual_id_take(dual_id *id, char *line, size_t length);

/* An array of zeros, freed by the caller; NULL, with no_memory set, if out of memory. */
double *dual_numbers(dual_line *line, size_t count);

/* Reads a line's JSON; d = 0 if the dimension is not known beforehand. False: see fault. */
bool dual_line_read(dual_line *line, const cpb_json *json, size_t d);
void dual_line_clear(dual_line *line);

/* The answer as text: the region or cap of `line`, its pole or W and m if `carries`, preceded by "id" if there is one.
 * Gives *text to the caller. EINVAL for numbers that JSON cannot represent. */
cpb_status dual_line_text(const dual_line *line, const char *id, char **text, cpb_error *error);

#endif
