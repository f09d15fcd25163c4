/* Files of rows that are made, several at once or none of them. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "capball/advanced/flow.h"
#include "data_file.h"

enum { CLI_OUTPUTS = 3 };

/* Where the rows have ids, csv and tsv have them, too, unless --bare says no. */
typedef struct cli_output {
  const cli_job *job;
  const cli_input *rows; /* the rows that are written are its rows, in their order; NULL: nobody's */
  cpb_seal *seal;        /* of the file that is added next; NULL: it has none */
  size_t count;
  cpb_writer *writers[CLI_OUTPUTS];
} cli_output;

/* Starts one more file; path NULL: none, and what is appended to it goes nowhere. `word` is what stands in its
 * columns, for the line of names. */
int cli_output_add(cli_output *out, const char *path, const char *format, cpb_dtype dtype, size_t cols,
                   uint64_t rows, const char *word);

/* The same of row numbers of `base`, or of its ids where they have some. */
int cli_output_add_ids(cli_output *out, const char *path, const char *format, const cli_input *base,
                       size_t cols, uint64_t rows, const char *word);

/* Appends rows to the file that was added as number `at`. */
int cli_output_append(cli_output *out, size_t at, cpb_view rows);

/* Completes all of them where `result` is CLI_OK, frees them in any case; the result so far. */
int cli_output_finish(cli_output *out, int result);

/* The rows of a file as the flow makes them, in another one; with --to and --skip-bad. columns: names, or NULL; seal of
 * what is written, or NULL. */
int cli_flow(cli_input *in, cpb_flow_options *flow, const char *path, cpb_dtype dtype,
             const char *const *columns, cpb_seal *seal);

#endif
