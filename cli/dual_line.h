/* One line of `capball dual`: a region or a cap in JSON, and the map it comes with. */
#ifndef CLI_DUAL_LINE_H
#define CLI_DUAL_LINE_H

#include "json_print.h"

typedef struct dual_line {
  size_t d;
  bool is_cap;
  cpb_region region;
  cpb_cap cap;
  double *c, *axis, *p; /* d, d, d+1 numbers behind region and cap */
  double *pole;         /* d+1 numbers the line carries, or NULL */
  double *W, *m;        /* d*d and d numbers the line carries, or NULL */
  bool carries;         /* the answer names W, m and pole: no map file tells them */
  json_t *id;           /* borrowed from the line's JSON, or NULL */
  char fault[256];      /* why the line was refused */
} dual_line;

/* Reads a line's JSON; d = 0 where the dimension is not known beforehand. False: see fault. */
bool dual_line_read(dual_line *line, json_t *json, size_t d);
void dual_line_clear(dual_line *line);

/* The answer as JSON: the id, the region or cap of `line`, and the pole or W and m it carries. */
json_t *dual_line_json(const dual_line *line);

#endif
