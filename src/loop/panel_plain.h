/* Products with a panel, as they are defined. */
#ifndef CPB_LOOP_PANEL_PLAIN_H
#define CPB_LOOP_PANEL_PLAIN_H

#include "loop/table.h"

#include <math.h>

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

#endif
