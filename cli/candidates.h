/* What an engine found, and the embedded rows it found them in. */
#ifndef CLI_CANDIDATES_H
#define CLI_CANDIDATES_H

#include "cli.h"

/* Embedded rows by number: read where they lie in a file with random access, else held in memory. */
typedef struct cli_embedded {
  cpb_reader *reader;
  cpb_view table; /* all rows, when the file has no random access */
  cpb_dtype dtype;
  uint64_t rows;
  size_t cols, row_bytes;
} cli_embedded;

/* CLI_OK, or an exit code after a sentence; close it in any case. */
int cli_embedded_open(const cli_job *job, const char *path, size_t cols, cli_embedded *embedded);
void cli_embedded_close(cli_embedded *embedded);

/* Rows ids[0..count) one after the other into `rows`, count * row_bytes; buffer: cli_embedded_buffer bytes,
 * aligned to 64. Thread-safe. */
cpb_status cli_embedded_fetch(const cli_embedded *embedded, const uint64_t *ids, size_t count, void *rows,
                              void *buffer, cpb_error *error);
size_t cli_embedded_buffer(const cli_embedded *embedded);

/* How far the rows may lie from S(x). A wide type may hold rows that were rounded to a narrow one before,
 * so the lengths of some of these `count` rows are looked at; one that is no unit vector is an error. CLI_OK,
 * or an exit code after a sentence. */
int cli_embedded_error(const cli_job *job, const cli_embedded *embedded, const cpb_map *map,
                       const uint64_t *ids, size_t count, double *row_error);

/* Candidates per query, n x C, each a row number below `rows` and none twice in a query; the caller frees
 * them. CLI_OK, or an exit code after a sentence. */
int cli_read_candidates(const cli_job *job, const char *path, size_t n, uint64_t rows, size_t *C,
                        uint64_t **candidates);

#endif
