/* Names and element types of formats, before a file is opened. */
#ifndef CLI_FORMAT_NAMES_H
#define CLI_FORMAT_NAMES_H

#include "cli.h"

/* The i-th name of the table in capball/file.h, NULL past the end. */
const char *cli_format_name(size_t i);

/* The element type of a file to be written: `wanted` if given; else the only type of its format, if it has one; else
 * `natural`. For "-" and unknown extensions every type is assumed. */
cpb_dtype cli_output_dtype(const char *path, const char *format, cli_choice wanted, cpb_dtype natural);

/* The ":set" of "file.hdf5:set", or NULL. */
const char *cli_data_set(const char *path);

/* The same for distances: f32, in text f64. */
cpb_dtype cli_distance_dtype(const char *path, cli_choice wanted); /* path NULL: any */

/* The same for row numbers below `rows`, and counts: i32, or i64 if necessary. */
cpb_dtype cli_id_dtype(const char *path, const char *format, uint64_t rows);

/* CLI_USAGE if the format of `path` is unknown (see below) or has no type for row numbers. */
int cli_check_id_format(const cli_job *job, const char *path, const char *format, const char *option);

/* CLI_USAGE if the format of --distances, if given, does not support --dtype. */
int cli_check_distances(const cli_job *job);

/* CLI_USAGE if the format of `path` is unknown; the message suggests the most similar extension. `option` is the option
 * that names the format, or NULL. */
int cli_check_format(const cli_job *job, const char *path, const char *format, const char *option);

/* CLI_USAGE if the name of an output suggests another kind of file than the option writes: `ball -o model.npy`. */
int cli_check_kinds(const cli_job *job);

/* The same, and CLI_USAGE if the format does not support --dtype. */
int cli_check_typed(const cli_job *job, const char *path, const char *format, const char *option);

#endif
