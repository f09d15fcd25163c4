/* The measurements of a real engine, in words and as a page. */
#ifndef SHOW_ENGINE_REPORT_H
#define SHOW_ENGINE_REPORT_H

#include "page.h"
#include "capball/advanced/engine.h"

/* "sphere s = 2.5, ball 0.7, twice" */
void show_engine_name(const cpb_engine_trial *trial, char *to, size_t room);

/* The criterion, what to take, and what the choice rests on. The caller frees it; NULL: no memory. */
char *show_engine_text(const cpb_engine_facts *of);

/* How it was measured. The same. */
char *show_engine_method(const cpb_engine_facts *of, cpb_metric metric);

/* The page, owned by the caller; NULL: no memory. */
char *show_engine_page(const cpb_engine_facts *f, const show_advice *advice, size_t *length);

#endif
