/* capball: hyperplanes where you need balls, balls where you need hyperplanes.
 *
 * Read in this order; each header is one page and stands alone.
 *   status.h      how a call ends
 *   view.h        rows of numbers that belong to the caller
 *   exec.h        threads that belong to the caller
 *   map.h         x in R^d <-> y on the sphere              T1 T2 T6
 *   region.h      cap <-> ball, half-space, ellipsoid       T3 T5 T6
 *   quadric.h     one form for all of them                  T4
 *   hemisphere.h  the scale for one side of the sphere      T7
 *   product.h     products and distances in the other space T8
 *   layer.h       gradients                                 T12
 *   score.h       which points are inside
 *   statistics.h  what a data set is, in pieces that merge
 *   abid.h        how evenly rows fill the sphere           T9
 *   goal.h        the scale for a goal                      T7 T9 T13
 *   ball.h        the smallest ball around points           T10
 *   svdd.h        a ball with a soft margin                  T11
 *   model.h       a learned ball as an object and a file
 *   search.h      exact k nearest rows, and rows within a limit   T13
 *   query.h       questions for an engine of inner products, certificates   T13
 *   index.h       exact neighbours from any such index      T13
 *   transform.h   rivals of the map, and exact lifts        T13
 *   recommend.h   what to do to rows before an index        T13
 *   sketch.h      binary codes, and search among them          T14
 *   file.h        files of vectors, in blocks of rows
 *   map_file.h    a map as a file */
#ifndef CAPBALL_H
#define CAPBALL_H

#include "capball/abid.h"
#include "capball/ball.h"
#include "capball/exec.h"
#include "capball/file.h"
#include "capball/goal.h"
#include "capball/hemisphere.h"
#include "capball/index.h"
#include "capball/layer.h"
#include "capball/map.h"
#include "capball/map_file.h"
#include "capball/model.h"
#include "capball/product.h"
#include "capball/quadric.h"
#include "capball/query.h"
#include "capball/recommend.h"
#include "capball/region.h"
#include "capball/score.h"
#include "capball/search.h"
#include "capball/sketch.h"
#include "capball/statistics.h"
#include "capball/status.h"
#include "capball/svdd.h"
#include "capball/transform.h"
#include "capball/view.h"

#endif
