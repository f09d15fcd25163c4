/* Checks of views, and access to single elements of any dtype where speed does not matter. */
#ifndef CPB_BASE_ROWS_H
#define CPB_BASE_ROWS_H

#include <stdbool.h>

#include "capball/view.h"

/* `name` is what the message calls the argument: "x has 3 columns, wanted 4". */
cpb_status cpb_check_view(cpb_view view, const char *name, size_t cols, cpb_error *error);
/* The same for elements of any type, including ids. */
cpb_status cpb_check_layout(cpb_view view, const char *name, size_t cols, cpb_error *error);

/* "x is i32, wanted f32, f64, f16, u8 or i8" */
cpb_status cpb_fail_dtype(cpb_error *error, const char *argument, cpb_dtype dtype);
/* "x has unknown dtype 9" */
cpb_status cpb_fail_unknown_dtype(cpb_error *error, const char *argument, cpb_dtype dtype);

cpb_status cpb_check_out(cpb_out out, const char *name, size_t rows, size_t cols, cpb_error *error);

/* ESHAPE when two arguments share memory. */
cpb_status cpb_check_apart(cpb_view in, const char *in_name, cpb_out out, const char *out_name,
                           cpb_error *error);

/* EINVAL unless there is a source with both functions. */
cpb_status cpb_check_readable(const cpb_source *source, const char *name, cpb_error *error);

/* EINVAL or ESHAPE unless it has both functions, columns, and a view, if any, that agrees with its rows. */
cpb_status cpb_check_source(const cpb_source *source, cpb_error *error);

double cpb_half_to_double(uint16_t half);

/* Element `column` of a row, as double. */
double cpb_view_at(cpb_view view, size_t row, size_t column);
bool cpb_row_is_finite(cpb_view view, size_t row);
void cpb_out_set(cpb_out out, size_t row, size_t column, double value);

/* The rows [first, first+count) of a view. */
cpb_view cpb_view_slice(cpb_view view, size_t first, size_t count);
cpb_out cpb_out_slice(cpb_out out, size_t first, size_t count);

/* An out as a view, to read what was written. */
cpb_view cpb_view_of(cpb_out out);

#endif
