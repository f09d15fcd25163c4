/* Statistics of each column of a source. */
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/fitting.h"
#include "core/fail.h"
#include "core/median.h"
#include "core/rows.h"

/* Copies the finite numbers of a column, in row order. */
static size_t gather(cpb_view rows, size_t column, double *numbers) {
  size_t count = 0;
  for (size_t i = 0; i < rows.rows; i++) {
    numbers[count] = cpb_view_at(rows, i, column);
    count += isfinite(numbers[count]) ? 1 : 0;
  }
  return count;
}

static double mean_of(const double *numbers, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += numbers[i];
  return sum / (double)count;
}

static double deviation_of(const double *numbers, size_t count, double mean) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (numbers[i] - mean) * (numbers[i] - mean);
  return sqrt(sum / (double)count);
}

static void describe(cpb_view rows, size_t column, double *numbers, const cpb_column_facts *facts) {
  size_t count = gather(rows, column, numbers);
  double mean = count == 0 ? NAN : mean_of(numbers, count);
  if (facts->mean != NULL) facts->mean[column] = mean;
  if (facts->deviation != NULL)
    facts->deviation[column] = count == 0 ? NAN : deviation_of(numbers, count, mean);
  if (facts->median != NULL) facts->median[column] = count == 0 ? NAN : cpb_median(numbers, count);
}

cpb_status cpb_columns_fit(cpb_source *rows, const cpb_column_facts *facts, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_view held;
  if (facts == NULL) return cpb_fail_missing(error, "facts");
  cpb_status status = cpb_source_hold(rows, &held, exec, error);
  if (status != CPB_OK) return status;
  double *numbers = calloc(held.rows + 1, sizeof *numbers);
  if (numbers == NULL)
    status = cpb_fail_memory(error, "a column of %zu rows", held.rows);
  else
    for (size_t k = 0; k < held.cols; k++) describe(held, k, numbers, facts);
  free(numbers);
  cpb_free((void *)(uintptr_t)held.data);
  return status;
}
