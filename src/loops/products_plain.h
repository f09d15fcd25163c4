/* Inline: tiles and panels of matrix products, signs, Hamming distances and rows laid out for panels, by their definitions:
 * the reference that other instruction sets are tested against. */
#ifndef CPB_LOOPS_PRODUCTS_PLAIN_H
#define CPB_LOOPS_PRODUCTS_PLAIN_H

#include <math.h>

#include "loops/lanes_f64.h"

#define REAL float
#define TYPED(name) name##_f32
#include "loops/spread.inc"
#undef REAL
#undef TYPED

static void tile(const cpb_tile *t) {
  for (size_t i = 0; i < CPB_TILE_ROWS; i++)
    for (size_t j = 0; j < CPB_TILE_COLS; j++) {
      double sum = 0;
      for (size_t k = 0; k < t->k; k++) sum = fma(t->a[i * t->a_row + k * t->a_k], t->b[k * t->b_k + j], sum);
      double *c = &t->c[i * t->c_row + j];
      *c = (t->fresh ? 0 : *c) + sum;
    }
}

static void panel(const cpb_panel *p) {
  for (size_t i = 0; i < p->rows; i++) {
    float values[CPB_PANEL_COLS] = {0};
    uint64_t above = 0;
    for (size_t j = 0; j < p->columns; j++) {
      float value = p->start[i];
      for (size_t k = 0; k < p->k; k++)
        value = fmaf(p->a[cpb_panel_at(p->k, i, k)], p->b[k * CPB_PANEL_COLS + j], value);
      values[j] = value;
      if (value > p->threshold[j]) above |= (uint64_t)1 << j;
    }
    if (above != 0) p->found(p->context, i, above, values);
  }
}

/* One row and all columns at a time. */
static void panel_bytes_row(const cpb_panel_bytes *p, size_t i, int32_t *values) {
  for (size_t j = 0; j < p->columns; j++) values[j] = p->start[i];
  for (size_t k = 0; k < p->words * CPB_BYTES_WORD; k++) {
    int32_t a = p->a[cpb_bytes_at(p->words, i, k)];
    const uint8_t *b = p->b + cpb_bytes_panel_at(k, 0);
    for (size_t j = 0; j < p->columns; j++) values[j] += a * b[j * CPB_BYTES_WORD];
  }
}

static void panel_bytes(const cpb_panel_bytes *p) {
  for (size_t i = 0; i < p->rows; i++) {
    int32_t values[CPB_BYTES_COLS] = {0};
    uint64_t above = 0;
    panel_bytes_row(p, i, values);
    for (size_t j = 0; j < p->columns; j++) above |= (uint64_t)(values[j] > p->threshold[j]) << j;
    if (above != 0) p->found(p->context, i, above, values);
  }
}

static void panel_sums(const cpb_panel_sums *p) {
  for (size_t i = 0; i < p->panels; i++)
    panel_bytes_row(&(cpb_panel_bytes){.columns = CPB_BYTES_COLS,
                                       .words = p->words,
                                       .a = p->a,
                                       .start = &p->start,
                                       .b = p->b + i * p->words * CPB_BYTES_WORD * CPB_BYTES_COLS},
                    0, p->sums + i * CPB_BYTES_COLS);
}

static void signs(const float *values, float margin, uint64_t *above, uint64_t *unsure) {
  *above = *unsure = 0;
  for (size_t j = 0; j < CPB_PANEL_COLS; j++) {
    uint64_t bit = (uint64_t)1 << j;
    if (values[j] > margin)
      *above |= bit;
    else if (!(values[j] < -margin))
      *unsure |= bit;
  }
}

/* Sums of neighbouring bits, pairs, fours; a product adds the bytes. */
static uint64_t ones(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return x * 0x0101010101010101u >> 56;
}

static void hamming(const cpb_hamming *h) {
  const uint64_t *codes = h->codes;
  uint64_t limit = h->limit;
  for (size_t group = 0; group < h->groups; group++) {
    uint64_t distance[CPB_CODE_GROUP] = {0};
    unsigned below = 0;
    for (size_t j = 0; j < h->words; j++, codes += CPB_CODE_GROUP)
      for (size_t i = 0; i < CPB_CODE_GROUP; i++) distance[i] += ones(codes[i] ^ h->query[j]);
    for (size_t i = 0; i < CPB_CODE_GROUP; i++)
      if (distance[i] < limit) below |= 1u << i;
    if (below != 0) limit = h->found(h->context, group, below, distance);
  }
}

#endif
