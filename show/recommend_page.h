/* A recommendation as a page: the table, and the curves of recall over candidates. */
#ifndef SHOW_RECOMMEND_PAGE_H
#define SHOW_RECOMMEND_PAGE_H

#include <stddef.h>

#include "capball/transform.h"

/* "sphere s = 3.2 ball": what a row of the table is called; in a buffer of the caller's. */
void show_recommend_name(const cpb_recommend_row *row, char *to, size_t room);

/* The page in memory of the caller's, or NULL. name: what the base is called; commands: the lines that carry it
 * out. */
char *show_recommend_page(const cpb_recommendation_facts *r, const char *text, const char *commands,
                          const char *name, size_t *length);

#endif
