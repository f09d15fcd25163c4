/* Rows of any element type as doubles, and their norms. */
#ifndef CLI_DOUBLES_H
#define CLI_DOUBLES_H

#include "cli.h"

/* Row i as doubles: the row itself for f64, else widened into buffer (view.cols doubles). */
const double *cli_row(cpb_view view, size_t i, double *buffer);

/* The rows [first, first+count) of a view. */
cpb_view cli_rows_slice(cpb_view view, size_t first, size_t count);

/* |x|, without overflow or underflow; NaN for a row with NaN, inf for one with inf. */
double cli_norm(const double *x, size_t d);

/* <x,y> in eight interleaved sums, an order that depends on d alone. */
double cli_dot(const double *x, const double *y, size_t d);

/* z = x - center; center NULL = 0. z may be x. */
void cli_subtract(const double *x, const double *center, size_t d, double *z);

/* The one row or one column of a vector file as `wanted` doubles (the caller frees them); CLI_OK, or an exit
 * code after a sentence that calls it `what`. wanted = 0: any number, told in *count. */
int cli_read_vector(const cli_job *job, const char *path, const char *what, size_t wanted, size_t *count,
                    double **numbers);

/* The same for --pole, divided by its length. */
int cli_read_pole(const cli_job *job, size_t wanted, size_t *count, double **pole);

/* --format, where it speaks of this operand: it is that of the operand "-", or of the first; else NULL. */
const char *cli_operand_format(const cli_job *job, const char *operand);

/* Opens a vector file by the rules of --format; CLI_OK, or an exit code after a sentence. */
int cli_open_reader(const cli_job *job, const char *path, const char *format, cpb_reader **reader);

#endif
