/* Pieces of SQL and C that models are written as. */
#ifndef CPB_BALL_CODE_TEXT_H
#define CPB_BALL_CODE_TEXT_H

#include "base/json_text.h"
#include "capball/status.h"

/* With the fewest digits that bring it back. */
void cpb_put_fewest(cpb_text *to, double value);

/* The same as a literal that every database takes for a double and not for a decimal number: 2.5e0. */
void cpb_put_double(cpb_text *to, double value);

/* "name", or xJ of a column without a name; columns may be NULL. */
void cpb_put_sql_column(cpb_text *to, const char *const *columns, size_t j);

/* (name - c), the sign of c taken into the operator. */
void cpb_put_sql_shifted(cpb_text *to, const char *const *columns, size_t j, double c);

/* 'text' */
void cpb_put_sql_string(cpb_text *to, const char *text);

/* static const double NAME[count] = {..}; in lines of C. */
void cpb_put_c_array(cpb_text *to, const char *name, const double *numbers, size_t count);

/* Column names or class labels for a comment of C, separated by commas: nothing in them can end the comment. */
void cpb_put_c_names(cpb_text *to, const char *const *names, size_t count);

/* EINVAL unless name is NULL or an identifier of C. */
cpb_status cpb_check_c_name(const char *name, cpb_error *error);

/* Gives the text to the caller, or frees it and reports that there is no memory for `what`. */
cpb_status cpb_code_finish(cpb_text *code, const char *what, char **text, cpb_error *error);

/* Whether a d x d matrix has zeros beside its diagonal only. */
bool cpb_is_diagonal(const double *W, size_t d);

#endif
