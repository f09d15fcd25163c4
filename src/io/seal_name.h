/* The seal of a file of rows (capball/transform.h) lies beside it, under this name. */
#ifndef CPB_IO_SEAL_NAME_H
#define CPB_IO_SEAL_NAME_H

#include "io/format.h"

/* The data set that a path names, of a format whose files hold several; else NULL. *file is the caller's. */
const char *cpb_seal_set(const char *path, char **file);

/* FILE.capball, or FILE:SET.capball for a data set, with % for each / in its name. The caller's; NULL: no memory. */
char *cpb_seal_name(const char *path, cpb_error *error);

#endif
