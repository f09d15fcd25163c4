/* The evidence for a chosen scale, as JSON. */
#ifndef CLI_EVIDENCE_H
#define CLI_EVIDENCE_H

#include "json_print.h"

/* "evidence" of a map file, freed by the caller: what the goal measures at s, the curves and the scales of the other
 * goals. NULL when out of memory. */
char *cli_evidence(const cpb_map_fit_options *options, const cpb_choice *choice);

/* [[s, value], ..] */
cpb_text *cli_json_curve(const cpb_curve_point *points, size_t count);
cpb_text *cli_json_maxima(const cpb_abid_maximum *maxima, size_t count);

#endif
