/* A region or a cap as a line of JSON, and the map it comes with. */
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
  double *c, *axis, *p; /* d, d, d+1 numbers behind region and cap */
  double *pole;         /* d+1 numbers the line carries, or NULL */
  double *W, *m;        /* d*d and d numbers the line carries, or NULL */
  bool carries;         /* the answer names W, m and pole: no map file tells them */
  char fault[256];      /* why the line was refused .. */
  bool no_memory;       /* .. or that there was none for it */
} dual_line;

/* The "id" of a line as it was written: any JSON value, cut out of the text before numbers are rounded. */
typedef struct dual_id {
  char *text; /* NULL: none; the caller frees it */
} dual_id;

/* Takes the id out of a line, leaving 0 in its place. EFORMAT: it is there and no JSON value; or ENOMEM. */
cpb_status dual_id_take(dual_id *id, char *line, size_t length);

/* So many zeros, the caller's to free; NULL, and the line says so, without memory. */
double *dual_numbers(dual_line *line, size_t count);

/* Reads a line's JSON; d = 0 where the dimension is not known beforehand. False: see fault. */
bool dual_line_read(dual_line *line, const cpb_json *json, size_t d);
void dual_line_clear(dual_line *line);

/* The answer as text: the region or cap of `line`, and the pole or W and m it carries; "id" in front where there is
 * one. Gives *text to the caller. EINVAL for numbers that JSON cannot say. */
cpb_status dual_line_text(const dual_line *line, const char *id, char **text, cpb_error *error);

#endif
