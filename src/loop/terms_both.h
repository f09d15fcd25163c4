/* The chains of both reals, in terms of the vectors of the lane header. */
#ifndef CPB_LOOP_TERMS_BOTH_H
#define CPB_LOOP_TERMS_BOTH_H

#include "loop/lanes.h"

#define REAL double
#define VEC vec_f64
#define WIDTH VEC_F64
#define MOST TILE_VECTORS
#define LOAD vec_load_f64
#define SPREAD vec_spread_f64
#define FMA vec_fma_f64
#define TERMS terms_f64
#include "loop/terms.inc"
#undef REAL
#undef VEC
#undef WIDTH
#undef MOST
#undef LOAD
#undef SPREAD
#undef FMA
#undef TERMS

#define REAL float
#define VEC vec_f32
#define WIDTH VEC_F32
#define MOST PANEL_VECTORS
#define LOAD vec_load_f32
#define SPREAD vec_spread_f32
#define FMA vec_fma_f32
#define TERMS terms_f32
#include "loop/terms.inc"
#undef REAL
#undef VEC
#undef WIDTH
#undef MOST
#undef LOAD
#undef SPREAD
#undef FMA
#undef TERMS

#endif
