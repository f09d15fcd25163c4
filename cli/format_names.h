/* What the command line must know of the formats before a file is open: names and element types. */
#ifndef CLI_FORMAT_NAMES_H
#define CLI_FORMAT_NAMES_H

#include "cli.h"

/* The i-th name of the table in capball/file.h, NULL past the end. */
const char *cli_format_name(size_t i);

/* The element type a file will have: `wanted` (a dtype name) if given; else the one type its format
 * has; else `natural`. path "-" or an unknown extension: as if the format had every type. */
cpb_dtype cli_output_dtype(const char *path, const char *format, const char *wanted, cpb_dtype natural);

/* A misuse with the nearest known extension when the format of `path` cannot be told; CLI_OK otherwise. */
int cli_check_format(const cli_job *job, const char *path, const char *format, const char *option);

#endif
