/* capball: hyperplanes where you need balls, balls where you need hyperplanes.
 *
 * Read in this order; each header is a page and stands alone.
 *   status.h      how a call ends (reason.h: why, in numbers)
 *   view.h        rows of numbers that belong to the caller
 *   exec.h        how a call is run: threads, progress
 *   region.h      cap <-> ball, half-space, ellipsoid; scores    T3 T4 T5 T6
 *   map.h         x in R^d <-> y on the sphere, and its file     T1 T2 T6 T7 T12
 *   product.h     products and distances in the other space      T8
 *   scale.h       what a data set is, and the scale for a goal   T7 T9 T13
 *   ball.h        the smallest ball, and one with a soft margin  T10 T11
 *   model.h       a learned ball as an object and a file
 *   search.h      exact k nearest rows, and rows within a limit  T13
 *   query.h       questions for an engine of inner products      T13
 *   transform.h   rivals of the map, exact lifts, a choice       T13
 *   sketch.h      binary codes, and search among them            T14
 *   file.h        files of vectors, in blocks of rows
 *   seal.h        which map made the rows of a file */
#ifndef CAPBALL_H
#define CAPBALL_H

#include "capball/status.h"
#include "capball/view.h"
#include "capball/exec.h"
#include "capball/region.h"
#include "capball/map.h"
#include "capball/product.h"
#include "capball/scale.h"
#include "capball/ball.h"
#include "capball/model.h"
#include "capball/search.h"
#include "capball/query.h"
#include "capball/transform.h"
#include "capball/sketch.h"
#include "capball/file.h"
#include "capball/fit.h"
#include "capball/engine.h"
#include "capball/seal.h"

#endif
