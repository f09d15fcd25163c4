/* The maximum of a function of one number. */
#ifndef CPB_SCALE_BRENT_H
#define CPB_SCALE_BRENT_H

/* Where f is largest between left and right, within tolerance (but not below the root of the rounding
 * unit): Brent's method, parabolas through the three best points where they help, golden sections where
 * they do not. At a function with one top there it finds that, otherwise one of them. */
double cpb_brent_maximum(double (*f)(const void *context, double x), const void *context, double left,
                         double right, double tolerance);

#endif
