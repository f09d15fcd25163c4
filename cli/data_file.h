/* Files that are read: as a source of rows, whole in memory, or as one vector. */
#ifndef CLI_DATA_FILE_H
#define CLI_DATA_FILE_H

#include "capball/advanced/statistics.h"
#include "cli.h"

typedef struct cli_input {
  const cli_job *job;
  cpb_reader *reader; /* NULL: not open */
  cpb_file_info info;
  cpb_source source;
  cpb_view rows; /* all of them, once they are held */
  double *fill;  /* what --impute puts into empty cells, a number per column; NULL: nothing */
} cli_input;

/* Opens a vector file by the rules of --format, --columns and the other options of tables. CLI_OK, or an exit code after a sentence; close it in any case. */
int cli_input_open(cli_input *in, const cli_job *job, const char *path, const char *format);
/* The same of one whose columns cli_input_match will find, which then does the --impute. */
int cli_input_open_unmatched(cli_input *in, const cli_job *job, const char *path, const char *format);
void cli_input_close(cli_input *in); /* one that was zeroed, or closed before, is fine */

/* Reads all rows into memory: in->rows, and in->source is over them. Elements as in the file, whole numbers of 32
 * and 64 bits as f64. */
int cli_input_hold(cli_input *in);

/* The job that reads the queries beside an index: --skip-bad is about them alone, for the rows of the index go by
 * their numbers. */
cli_job cli_query_job(const cli_job *job);

/* Says how many rows the --skip-bad of a reader left out, where it left any. */
void cli_tell_bad(const cli_input *in);

/* The two above; a file without rows is a failure. */
int cli_input_take(cli_input *in);

/* Opens a file and takes its rows. */
int cli_input_read(cli_input *in, const cli_job *job, const char *path, const char *format);

/* Its rows by number: where they lie, or without random access from memory. */
int cli_input_store(cli_input *in, cpb_store *store);

/* A failure that calls the columns by their maker: "FILE has 3 columns, but MAP.json embeds rows of 4", where
 * `what` is "" or "queries of ". */
int cli_input_check_cols(const cli_input *in, size_t wanted, const char *what, const char *maker,
                         const char *makes);

/* The same after columns are found by their names where both sides have some, unless --columns tells them.
 * Before the first row is read. */
int cli_input_match(cli_input *in, const char *const *names, size_t wanted, const char *what,
                    const char *maker, const char *makes);

/* The same where a model may know what empty cells are to become: its `fill`, else the --impute of this file. */
int cli_input_match_filled(cli_input *in, const cpb_model_options *model, const char *maker);

/* A failure of the library about these rows. */
int cli_fail_input(const cli_input *in, cpb_status status, const cpb_error *error);

/* --format, where it speaks of this operand: it is that of the operand "-", or of the first; else NULL. */
const char *cli_operand_format(const cli_job *job, const char *operand);

/* The one row or one column of a vector file as `wanted` doubles (the caller frees them); wanted = 0: any number,
 * told in *count. The sentence calls it `what`. */
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
