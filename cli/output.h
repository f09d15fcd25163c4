/* Output files of rows: all of them are completed, or none. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "capball/advanced/flow.h"
#include "data_file.h"

enum { CLI_OUTPUTS = 3 };

/* If the rows have ids, csv and tsv outputs contain them, except with --bare. */
typedef struct cli_output {
  const cli_job *job;
  const cli_input *rows; /* the outputs have one row for each of its rows, in order; NULL: unrelated */
  cpb_seal *seal;        /* of the next file added; NULL: none */
  size_t count;
  cpb_writer *writers[CLI_OUTPUTS];
} cli_output;

/* Adds a file; path NULL: rows appended to it are discarded. `word` names its columns in the header line. */
int cli_output_add(cli_output *out, const char *path, const char *format, cpb_dtype dtype, size_t cols,
                   uint64_t rows, const char *word);

/* The same for row numbers of `base`, or its ids if it has any. */
int cli_output_add_ids(cli_output *out, const char *path, const char *format, const cli_input *base,
                       size_t cols, uint64_t rows, const char *word);

/* Appends rows to file number `at`. */
int cli_output_append(cli_output *out, size_t at, cpb_view rows);

/* Completes all files if `result` is CLI_OK, frees them in any case; returns the result. */
int cli_output_finish(cli_output *out, int result);

/* Writes the rows of a file, as converted by the flow, to another one; with --to and --skip-bad. columns: names, or NULL;
 * seal: of the output, or NULL. */
int cli_flow(cli_input *in, cpb_flow_options *flow, const char *path, cpb_dtype dtype,
             const char *const *columns, cpb_seal *seal);

/* Writes a file whose content is in memory, and frees that; NULL: there was no memory for it. */
int cli_write_text(const cli_job *job, const char *path, char *text, size_t length);

#endif
