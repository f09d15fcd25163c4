/* MPFR numbers of 512 bits as expressions: mp_div(mp_mul(a, b), q). Every result lives in one arena
 * until mp_release() goes back to an earlier mp_mark(). */
#ifndef CPB_TEST_MP_H
#define CPB_TEST_MP_H

#include <stddef.h>

#include <mpfr.h>

typedef mpfr_ptr mp;

size_t mp_mark(void);
void mp_release(size_t mark);
void mp_done(void); /* frees the arena */

mp mp_of(double value);
mp mp_add(mp a, mp b);
mp mp_sub(mp a, mp b);
mp mp_mul(mp a, mp b);
mp mp_div(mp a, mp b);
mp mp_sqrt(mp a);
mp mp_abs(mp a);
mp mp_scale2(mp a, long power); /* a 2^power */
mp mp_dot(const mp *a, const mp *b, size_t n);
double mp_get(mp a); /* to nearest */

/* |value-exact|/(unit*scale); 0 when value is exact even if scale is 0. */
double mp_error(double value, mp exact, mp scale, double unit);

#endif
