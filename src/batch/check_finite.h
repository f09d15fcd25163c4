/* Checks rows once in file order, before a call that visits them in another order. */
#ifndef CPB_BATCH_CHECK_FINITE_H
#define CPB_BATCH_CHECK_FINITE_H

#include "capball/exec.h"
#include "capball/view.h"

/* cpb_check_view, and EROW for the first row with NaN or inf. */
cpb_status cpb_check_finite(cpb_view rows, const char *name, size_t cols, const cpb_exec *exec,
                            cpb_error *error);

#endif
