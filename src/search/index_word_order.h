/* The order in which a scan for one query reads the words of panels (cpb_partial in loop/table.h). */
#ifndef CPB_SEARCH_INDEX_WORD_ORDER_H
#define CPB_SEARCH_INDEX_WORD_ORDER_H

#include "base/best.h"
#include "search/index_object.h"

typedef struct cpb_word_order {
  uint16_t *words;                  /* and CPB_PARTIAL_STEP more, of the next panel */
  double *other_sum, *other_square; /* as in cpb_partial */
  cpb_ranked *room;                 /* as many as words */
} cpb_word_order;

/* Of a query in codes of this step, laid out for the loop: begins with the words in which it differs most from a few rows. */
void cpb_word_order_find(const cpb_index *index, const int8_t *codes, double step, cpb_word_order *order);

#endif
