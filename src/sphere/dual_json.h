/* A region or a cap as a line of JSON, and the map given with it. */
#ifndef CPB_SPHERE_DUAL_JSON_H
#define CPB_SPHERE_DUAL_JSON_H

#include <stdbool.h>

#include "capball/region.h"
#include "base/memory.h"
#include "files/json_read.h"

typedef struct dual_line {
  size_t d;
  bool is_cap;
  cpb_region region;
  cpb_cap cap;
  double *pole;      /* d+1 numbers given in the line, or NULL */
  double *W, *m;     /* d*d and d numbers given in the line, or NULL */
  bool carries;      /* the answer contains W, m and pole, because there is no map file */
  char fault[256];   /* why the line was rejected, .. */
  cpb_memory memory; /* .. unless there was none; of all arrays */
} dual_line;

/* Reads a line's JSON; d = 0 if the dimension is not known beforehand. False: see fault. */
bool dual_line_read(dual_line *line, const cpb_json *json, size_t d);
void dual_line_clear(dual_line *line);

#endif
