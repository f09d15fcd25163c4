/* Input files: as a source of rows, read into memory, or as one vector. */
#ifndef CLI_DATA_FILE_H
#define CLI_DATA_FILE_H

#include "capball/advanced/statistics.h"
#include "cli.h"

typedef struct cli_input {
  const cli_job *job;
  cpb_reader *reader; /* NULL: not open */
  cpb_file_info info;
  cpb_source source;
  cpb_view rows;      /* all of them, once they are in memory */
  const char *format; /* as it was opened */
  double *fill;       /* values of --impute for empty cells, one per column; NULL: none */
} cli_input;

/* Opens a vector file according to --format, --columns and the other options of tables. CLI_OK, or an exit code after a
 * message; close it in any case. */
int cli_input_open(cli_input *in, const cli_job *job, const char *path, const char *format);
/* The same for a file whose columns are selected by cli_input_match, which then applies --impute. */
int cli_input_open_unmatched(cli_input *in, const cli_job *job, const char *path, const char *format);
void cli_input_close(cli_input *in); /* also if zeroed, or closed before */

/* Reads all rows into memory: in->rows, and in->source reads from there. Element types as in the file, integers of 32 and
 * 64 bits as f64. */
int cli_input_hold(cli_input *in);

/* The job that reads the queries of a search: --skip-bad applies to them only, because rows of the base are identified by
 * their numbers. */
cli_job cli_query_job(const cli_job *job);

/* Reports how many rows --skip-bad skipped, if any. */
void cli_tell_bad(const cli_input *in);

/* Both of the above; a file without rows is an error. */
int cli_input_take(cli_input *in);

/* Opens a file and reads its rows. */
int cli_input_read(cli_input *in, const cli_job *job, const char *path, const char *format);

/* Its rows by number: from the file, or from memory if the file has no random access. */
int cli_input_store(cli_input *in, cpb_store *store);

/* Reports a wrong number of columns: "FILE has 3 columns, but MAP.json embeds rows of 4"; `what` is "" or
 * "queries of ". */
int cli_input_check_cols(const cli_input *in, size_t wanted, const char *what, const char *maker,
                         const char *makes);

/* The same after selecting columns by name, if both sides have names and --columns is not given. Call it before the first
 * row is read. */
int cli_input_match(cli_input *in, const char *const *names, size_t wanted, const char *what,
                    const char *maker, const char *makes);

/* The same for a model, whose `fill` replaces empty cells; without it --impute applies. */
int cli_input_match_filled(cli_input *in, const cpb_model_options *model, const char *maker);

/* Reports an error of the library about these rows. */
int cli_fail_input(const cli_input *in, cpb_status status, const cpb_error *error);

/* The same about a block of its rows, from row `first` on. */
int cli_fail_block(const cli_input *in, uint64_t first, cpb_status status, const cpb_error *error);

/* --format, if it applies to this operand: to the operand "-", or else the first; otherwise NULL. */
const char *cli_operand_format(const cli_job *job, const char *operand);

/* The one row or one column of a vector file as `wanted` doubles, which the caller frees; wanted = 0: any number, returned
 * in *count. Messages call it `what`. */
int cli_read_vector(const cli_job *job, const char *path, const char *what, size_t wanted, size_t *count,
                    double **numbers);

/* The same for --pole, divided by its length. */
int cli_read_pole(const cli_job *job, size_t wanted, size_t *count, double **pole);

/* A file with one number per row of something: n rows of 1 or 1 row of n. The caller frees them. */
int cli_read_numbers(const cli_job *job, const char *path, const char *what, uint64_t n, double **numbers);

/* Statistics of a file with --sample, --seed and --skip-bad; *statistics is the caller's, *facts views it. */
int cli_sample(cli_input *in, cpb_statistics **statistics, cpb_statistics_result *facts);

/* State files of statistics. */
int cli_read_state(const cli_job *job, const char *path, cpb_statistics **statistics);
int cli_write_state(const cli_job *job, const char *path, cpb_statistics *statistics);

#endif
