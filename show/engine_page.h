/* The measurements of a real engine as a page: a picture of every transform, the table, and the commands. */
#ifndef SHOW_ENGINE_PAGE_H
#define SHOW_ENGINE_PAGE_H

#include "advice.h"
#include "capball/advanced/engine.h"

/* The page, owned by the caller; NULL: no memory. */
char *show_engine_page(const cpb_engine_facts *f, const show_advice *advice, size_t *length);

#endif
