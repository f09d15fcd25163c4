/* Reference arithmetic in 512 bits, written as expressions: big_add(big_of(x), big_sqrt(y)).
 *
 * Numbers live in one arena until big_reset(), which a test calls between cases. */
#ifndef CPB_TEST_BIG_H
#define CPB_TEST_BIG_H

#include <stddef.h>

#include <mpfr.h>

enum { BIG_BITS = 512 };

typedef mpfr_ptr big;

void big_reset(void);
size_t big_mark(void);
void big_release(size_t mark); /* back to an earlier mark */

big big_of(double x); /* exactly */
big big_add(big x, big y);
big big_sub(big x, big y);
big big_mul(big x, big y);
big big_div(big x, big y);
big big_sqrt(big x);
big big_neg(big x);
big big_abs(big x);
big big_tan(big x);
big big_atan(big x);
big big_square(big x);
big big_scale2(big x, long power); /* x 2^power */
big big_hypot(big x, big y);
double big_to_double(big x);

/* Vectors: arrays of big that the caller declares. */
void big_vector(const double *x, size_t n, big *to);
big big_dot(const big *x, const big *y, size_t n);
big big_norm(const big *x, size_t n);

/* |got - want| in units of unit * 2^-53; 0 when both are 0. */
double big_error(double got, big want, big unit);
double big_relative_error(double got, big want);
/* |got - want| in units of unit * u. */
double big_error_in(double got, big want, big unit, double u);

/* |got - want| (as vectors) in units of unit * 2^-53. */
double big_vector_error(const double *got, const big *want, size_t n, big unit);

#endif
