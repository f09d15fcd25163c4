/* The statistics of a file, gathered by all threads: pieces per block, merged in any order to the same. */
#ifndef CLI_GATHER_H
#define CLI_GATHER_H

#include "scan.h"

/* Pass 1 over the whole file; rows with NaN or inf end it unless --skip-bad. *statistics is the caller's.
 * CLI_OK, or an exit code after a sentence. */
int cli_gather(const cli_job *job, cpb_reader *reader, cpb_statistics **statistics);

/* One more pass over the file, which pass 2 of `statistics` takes in. */
int cli_gather_norms(const cli_job *job, cpb_reader *reader, cpb_statistics *statistics);

/* State files. */
int cli_read_state(const cli_job *job, const char *path, cpb_statistics **statistics);
int cli_write_state(const cli_job *job, const char *path, cpb_statistics *statistics);

/* The results; ends the program's work with a sentence when there is not one row. */
int cli_finish(const cli_job *job, const char *path, cpb_statistics *statistics,
               cpb_statistics_result *result);

#endif
