/* Converts elements from one dtype to another: exactly, or rounded to nearest; others are rejected. */
#ifndef CPB_IO_CONVERT_H
#define CPB_IO_CONVERT_H

#include "capball/view.h"

/* Converts count elements. Returns count, or the index of the first one that `to_dtype` cannot represent: a fraction,
 * NaN or inf for an integer type, a number outside its range, a finite number beyond the largest float. Elements before
 * it are written. */
size_t cpb_convert(const void *from, cpb_dtype from_dtype, void *to, cpb_dtype to_dtype, size_t count);

#endif
