/* capball: hyperplanes where you need balls, balls where you need hyperplanes.
 *
 * The stable interface, in reading order; each header can be included and read on its own.
 *   status.h      how a call ends
 *   reason.h      why it failed, as a number
 *   view.h        rows of numbers owned by the caller, in memory or from a source
 *   exec.h        how a call is run: threads, progress
 *   region.h      cap <-> ball, half-space, ellipsoid; scores       T3 T4 T5 T6
 *   map.h         x in R^d <-> y on the sphere: new, fitted, saved  T1 T2 T6 T7 T9
 *   ball.h        the smallest ball, SVDD; models of them           T10 T11
 *   search.h      exact k nearest rows, and rows within a limit     T13
 *   index.h       rows with ids or keys in a file, searched exactly     T13 T15
 *   transform.h   alternatives to the map, exact lifts, a recommendation  T13
 *   query.h       Euclidean queries for an inner-product engine     T13
 *   sketch.h      binary codes, and search among them               T14
 *   file.h        files of vectors, in blocks of rows */

/* A program that uses only these headers compiles and links with every later release of the same minor version:
 * functions keep their names and parameters, enum values are fixed, and structs only grow at their end. Their first
 * member is their size: options have an _init function; for a report or a result write = {.size = sizeof report}.
 *
 * The headers in capball/advanced/ are not included here and can change with every release: estimator, laws,
 * statistics, abid, rounds, feed, candidates, fitting, engine, flow and seal. */
#ifndef CAPBALL_H
#define CAPBALL_H

#include "capball/status.h"
#include "capball/reason.h"
#include "capball/view.h"
#include "capball/exec.h"
#include "capball/region.h"
#include "capball/map.h"
#include "capball/ball.h"
#include "capball/search.h"
#include "capball/index.h"
#include "capball/transform.h"
#include "capball/query.h"
#include "capball/sketch.h"
#include "capball/file.h"

#endif
