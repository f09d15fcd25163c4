/* Messages about a file: "base.fvecs: row 7 has d = 3, the file's rows have 128". */
#ifndef CPB_FILES_FILE_FAIL_H
#define CPB_FILES_FILE_FAIL_H

#include <stdbool.h>

#include "capball/status.h"

/* The file's name and the message; the argument at fault is "path". A long path is cut to its end, so that the message
 * always fits; like all messages it is shown as core/printable.h says. */
cpb_status cpb_file_fail(cpb_error *error, cpb_reason reason, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* EIO: "base.fvecs: cannot <verb>: <strerror(errno)>". */
cpb_status cpb_file_fail_errno(cpb_error *error, const char *path, const char *verb);

/* A call that works on a file: the file's name in messages, and the error to fill. */
typedef struct cpb_file_call {
  const char *path; /* borrowed */
  cpb_error *error;
} cpb_file_call;

/* cpb_file_fail for functions that return false after a failure; rows are counted from the start of the file. */
bool cpb_refuse(const cpb_file_call *of, cpb_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool cpb_refuse_row(const cpb_file_call *of, uint64_t row, cpb_reason reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool cpb_refuse_errno(const cpb_file_call *of, const char *verb);

/* The plural s of "rows". */
static inline const char *cpb_s(uint64_t count) { return count == 1 ? "" : "s"; }

#endif
