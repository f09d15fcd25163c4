/* Searches an index whose codes are of folds, for few queries: level by level. */
#ifndef CPB_SEARCH_INDEX_FOLDS_H
#define CPB_SEARCH_INDEX_FOLDS_H

#include "search/index_seek.h"

/* As cpb_seek_codes. */
cpb_status cpb_seek_folds(const cpb_scan_args *question, cpb_index_scratch *scratch,
                          cpb_seek_answer **answers, cpb_error *error);

#endif
