/* Products of bytes with a panel, as they are defined: one row and all columns at a time. */
#ifndef CPB_LOOP_PANEL_BYTES_PLAIN_H
#define CPB_LOOP_PANEL_BYTES_PLAIN_H

#include "loop/panel_bytes.h"

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

#endif
