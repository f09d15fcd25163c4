/* The rows that a model finds strangest, and which columns make them so. */
#ifndef SHOW_STRANGE_H
#define SHOW_STRANGE_H

#include <stdio.h>

#include "capball/ball.h"

enum { SHOW_REASONS = 3 };

typedef struct show_reason {
  size_t column;
  double value, center; /* of the row, of the ball */
  double share;         /* of |W(x-c)|^2 */
  double least, most;   /* as cpb_model_ranges has them */
} show_reason;

typedef struct show_strange {
  size_t row;         /* of the rows that were scored */
  double score, rank; /* rank: the share of the training rows that score no more */
  bool outlier;       /* cpb_model_is_outlier */
  size_t reason_count;
  show_reason reasons[SHOW_REASONS]; /* the largest first */
} show_strange;

/* The `count` rows with the lowest scores, lowest first, the lower row first where they tie.
 * rows      what was scored; NULL data, or a model with a kernel: no reasons
 * strange   room for count <= n */
void show_strange_find(const cpb_model *model, cpb_view rows, const double *scores, size_t n, size_t count,
                       show_strange *strange);

/* The score below which rows are outside, the model's threshold; NAN where it says nothing: without contamination a large nu
 * makes a small ball, most rows are outside, and only the order of the scores counts. */
double show_edge(const cpb_model_options *model);

/* The score below which rows are as strange as the strangest hundredth of the training rows; NAN without quantiles. */
double show_hundredth(const cpb_model_options *model);

/* What a column is called: by the model, else x0, x1, ..; in a buffer of the caller's. */
const char *show_column_name(const cpb_model_options *model, size_t column, char *to, size_t room);

/* Four, or as many as a number that is not too long has before its point. */
int show_digits(double value);

/* "ordinary 150 to 190", or "nearest 170" where no number of this column alone is enough. */
void show_range(const show_reason *reason, FILE *to);

/* "height +61 % (212; ordinary 150 to 190), weight -22 %": + where the row is above the centre, and of the first what would
 * be ordinary, or the number that brings the row nearest. */
void show_reasons(const cpb_model_options *model, const show_strange *strange, FILE *to);

#endif
