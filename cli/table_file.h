/* Files whole in memory, for what cannot stream. */
#ifndef CLI_TABLE_FILE_H
#define CLI_TABLE_FILE_H

#include "cli.h"

/* All rows of a reader, from where it stands; elements as in the file, whole numbers of 32 and 64 bits as
 * f64. rows->data is the caller's to free. CLI_OK, or an exit code after a sentence. */
int cli_read_table(const cli_job *job, cpb_reader *reader, cpb_view *rows);

/* A file with one number per row of something: n rows of 1 or 1 row of n. The caller frees them.
 * CLI_OK, or an exit code after a sentence that calls the numbers `what`. */
int cli_read_numbers(const cli_job *job, const char *path, const char *what, size_t n, double **numbers);

#endif
