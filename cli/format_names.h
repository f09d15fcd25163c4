/* What the command line must know of the formats before a file is open: names and element types. */
#ifndef CLI_FORMAT_NAMES_H
#define CLI_FORMAT_NAMES_H

#include "cli.h"

/* The i-th name of the table in capball/file.h, NULL past the end. */
const char *cli_format_name(size_t i);

/* The element type a file will have: `wanted` if given; else the one type its format
 * has; else `natural`. path "-" or an unknown extension: as if the format had every type. */
cpb_dtype cli_output_dtype(const char *path, const char *format, cli_choice wanted, cpb_dtype natural);

/* The ":set" of "file.hdf5:set", or NULL. */
const char *cli_data_set(const char *path);

/* The same for distances: f32, in text f64. */
cpb_dtype cli_distance_dtype(const char *path, cli_choice wanted); /* path NULL: any */

/* The same for row numbers below `rows`, and counts: i32, i64 where they need it. */
cpb_dtype cli_id_dtype(const char *path, const char *format, uint64_t rows);

/* A misuse where the format of `path` is not known (see below) or has no type for row numbers. */
int cli_check_id_format(const cli_job *job, const char *path, const char *format, const char *option);

/* A misuse where --distances (may be absent) and --dtype, which is theirs, do not go together. */
int cli_check_distances(const cli_job *job);

/* A misuse with the nearest known extension when the format of `path` cannot be told; CLI_OK otherwise.
 * option is the one that names the format, NULL if none does. */
int cli_check_format(const cli_job *job, const char *path, const char *format, const char *option);

/* A misuse where the name of a file that is made says another kind than the option writes: `ball -o model.npy`. */
int cli_check_kinds(const cli_job *job);

/* The same, and a misuse where the format has no --dtype. */
int cli_check_typed(const cli_job *job, const char *path, const char *format, const char *option);

#endif
