/* The names of the kinds of regions. */
#ifndef CPB_GEOMETRY_REGION_KIND_H
#define CPB_GEOMETRY_REGION_KIND_H

#include "capball/region.h"

/** A static name: "empty", "ball", "halfspace", "complement", "punctured", "everything". */
const char *cpb_region_kind_name(cpb_region_kind kind);

#endif
