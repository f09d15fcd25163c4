/* The transform object, and the constants of its lifts. */
#ifndef CPB_ENGINE_T13_TRANSFORM_H
#define CPB_ENGINE_T13_TRANSFORM_H

#include "capball/map.h"
#include "capball/transform.h"

struct cpb_transform {
  cpb_transform_options options;
  cpb_transform_facts facts;
  cpb_map *map;    /* of the sphere; NULL for the other kinds */
  double center[]; /* d, if there is one */
};

/* The factor from y', the first d coordinates of a base row, to x-m. */
double cpb_transform_unit(const cpb_transform *transform);

/* h and M of lift-cosine, M of the ip-lifts. */
static const double cpb_lift_h = 0x1.6a09e667f3bcdp+0, cpb_lift_roof = 1.25, cpb_lift_ip_roof = 1.03125;

#endif
