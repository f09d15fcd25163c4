/* A recommendation for a flat index as a page: the curves of recall over candidates, and the table. */
#ifndef SHOW_RECOMMEND_PAGE_H
#define SHOW_RECOMMEND_PAGE_H

#include "page.h"
#include "capball/transform.h"

/* "sphere s = 3.2 ball": the name of a row; in a buffer of the caller's. */
void show_recommend_name(const cpb_recommend_row *row, char *to, size_t room);

/* The page, owned by the caller; NULL: no memory. */
char *show_recommend_page(const cpb_recommendation_facts *r, const show_advice *advice, size_t *length);

#endif
