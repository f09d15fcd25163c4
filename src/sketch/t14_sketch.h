/* A sketch, with its normals in the panels that encoding multiplies by. */
#ifndef CPB_SKETCH_T14_SKETCH_H
#define CPB_SKETCH_T14_SKETCH_H

#include <string.h>

#include "capball/sketch.h"
#include "base/memory.h"
#include "loops/table.h"
#include "sketch/sketch_loops.h"

struct cpb_sketch {
  cpb_sketch_options options; /* its pointers view into the members below */
  double *center;             /* d; 0 if the options have none */
  double *normals;            /* directions x (d+1) */
  float *centres;             /* joined: see the options */
  uint32_t *pairs;            /* the books of the options */
  cpb_book *books; /* one per byte of the code; of a principal sketch they have its levels. NULL: of bits */
  size_t book_count;
  double unit;   /* a power of two that scales s to about 1 */
  double sigma;  /* unit s, in [1,2) except at the ends of the range of double */
  float *panels; /* of (d+1) x CPB_PANEL_COLS: c', c0 */
  cpb_memory memory;
};

/* Whether codes estimate distances. */
static inline bool cpb_estimates(const cpb_sketch *sketch) {
  return sketch->options.kind >= CPB_SKETCH_PRINCIPAL;
}

/* Whether they have no bounds of errors. */
static inline bool cpb_estimates_only(const cpb_sketch *sketch) {
  return sketch->options.kind == CPB_SKETCH_JOINED && sketch->options.numbers == 0;
}

/* Number of normals. */
static inline size_t cpb_sketch_directions(const cpb_sketch_options *o) {
  return o->kind == CPB_SKETCH_JOINED ? o->directions : o->bits / o->bits_per;
}

enum { CPB_FACTORS = 3 };

/* How far products of directions may differ from those of orthonormal ones. */
#define CPB_ISOMETRY_ERROR 1e-12

/* Allocates a sketch of this shape, normals 0; NULL if out of memory. */
cpb_sketch *cpb_sketch_room(const cpb_sketch_options *shape);

/* Fills the panels of normals [first, first+count) from the normals. */
void cpb_sketch_pack(cpb_sketch *sketch, size_t first, size_t count);

static inline size_t cpb_sketch_panels(const cpb_sketch *sketch) {
  return (cpb_sketch_directions(&sketch->options) + CPB_PANEL_COLS - 1) / CPB_PANEL_COLS;
}

/* Fills what the loops need of the centres of a joined sketch. */
void cpb_sketch_pack_books(cpb_sketch *sketch);

/* EINVAL unless this is a valid shape of a sketch. */
cpb_status cpb_sketch_check_shape(size_t d, size_t bits, double s, const double *center, cpb_error *error);

/* ---- Codes interleaved as the Hamming loop reads them. ---- */

/* Word j of a code, little-endian, padded with 0. */
static inline uint64_t cpb_code_word(const uint8_t *code, size_t bytes, size_t j) {
  uint64_t word = 0;
  size_t left = bytes - 8 * j, count = left < 8 ? left : 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (count == 8)
    memcpy(&word, code + 8 * j, 8);
  else
#endif
    for (size_t k = 0; k < count; k++) word |= (uint64_t)code[8 * j + k] << 8 * k;
  return word;
}

static inline size_t cpb_code_group_count(size_t n) { return (n + CPB_CODE_GROUP - 1) / CPB_CODE_GROUP; }

cpb_status cpb_sketch_new(const cpb_sketch_options *options, cpb_sketch **sketch, cpb_error *error);

#endif
