/* What other files of the face know of a map. */
#ifndef CPB_PYTHON_FACE_MAP_H
#define CPB_PYTHON_FACE_MAP_H

#include "face.h"

/* The library's map in a SphereMap; NULL with a TypeError naming the argument. */
const cpb_map *face_map_of(PyObject *object, const char *name);

/* Methods of a map that speak of regions and caps (T3-T6). */
PyObject *face_map_cap(FACE_CALL);
PyObject *face_map_region(FACE_CALL);

#endif
