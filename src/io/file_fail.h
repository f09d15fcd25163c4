/* Messages about a file: "base.fvecs: row 7 has d = 3, the file's rows have 128". */
#ifndef CPB_IO_FILE_FAIL_H
#define CPB_IO_FILE_FAIL_H

#include "capball/status.h"

/* The file's name and the message; the argument at fault is "path". A long path is cut to its end, so that the message
 * always fits; control characters of a name or of a file's contents are shown as \xNN. */
cpb_status cpb_file_fail(cpb_error *error, cpb_reason reason, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same about one row, counted from the file's start. */
cpb_status cpb_file_fail_row(cpb_error *error, cpb_reason reason, const char *path, uint64_t row,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));

/* EIO: "base.fvecs: cannot <verb>: <strerror(errno)>". */
cpb_status cpb_file_fail_errno(cpb_error *error, const char *path, const char *verb);

/* The plural s of "rows". */
static inline const char *cpb_s(uint64_t count) { return count == 1 ? "" : "s"; }

#endif
