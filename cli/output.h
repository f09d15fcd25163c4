/* Files of rows that are made, several at once or none of them. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "data_file.h"

enum { CLI_OUTPUTS = 3 };

typedef struct cli_output {
  const cli_job *job;
  size_t count;
  cpb_writer *writers[CLI_OUTPUTS];
} cli_output;

/* Starts one more file; path NULL: none, and what is appended to it goes nowhere. */
int cli_output_add(cli_output *out, const char *path, const char *format, cpb_dtype dtype, size_t cols,
                   uint64_t rows);

/* Appends rows to the file that was added as number `at`. */
int cli_output_append(cli_output *out, size_t at, cpb_view rows);

/* Completes all of them where `result` is CLI_OK, frees them in any case; the result so far. */
int cli_output_finish(cli_output *out, int result);

/* The rows of a file as the flow makes them, in another one; with --to and --skip-bad. */
int cli_flow(cli_input *in, cpb_flow_options *flow, const char *path, cpb_dtype dtype);

/* One file of these rows. */
int cli_write_table(const cli_job *job, const char *path, const char *format, cpb_dtype dtype, cpb_view rows);

#endif
