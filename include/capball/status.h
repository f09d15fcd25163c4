/* How a call ends: a status and a reason with fixed numbers, and a message for people.
 *
 * The status says whether the call succeeded. The quality of a result (a gap, a residual) is
 * part of the result, never of the status.
 *
 * Pointers may be NULL where a contract says so, and `error`, `exec` and options with usable defaults always. For any
 * other NULL a call that returns a status gives EINVAL; _free and _init do nothing, _describe fills in zeros, and what
 * returns a value gives NULL, false or 0, NaN if it is a double. */
#ifndef CAPBALL_STATUS_H
#define CAPBALL_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capball/reason.h"

/** Enclose the declarations of every header, so that they have C linkage in C++. */
#ifdef __cplusplus
#define CPB_BEGIN extern "C" {
#define CPB_END }
#else
#define CPB_BEGIN
#define CPB_END
#endif

CPB_BEGIN

/** Version of these headers; cpb_version() returns the version of the library at run time. */
#define CPB_VERSION_MAJOR 0
#define CPB_VERSION_MINOR 3
#define CPB_VERSION_PATCH 0
#define CPB_VERSION_NUMBER (CPB_VERSION_MAJOR * 10000 + CPB_VERSION_MINOR * 100 + CPB_VERSION_PATCH)

/** Marks a public function. Define CPB_API before including this header to override it, as the build of a DLL does. */
#ifndef CPB_API
#if defined(__GNUC__)
#define CPB_API __attribute__((visibility("default")))
#else
#define CPB_API
#endif
#endif

/** Marks a public function whose status must be used: ignoring it is a compiler warning. */
#if defined(__GNUC__)
#define CPB_CALL CPB_API __attribute__((warn_unused_result))
#elif defined(_MSC_VER)
#define CPB_CALL CPB_API _Check_return_
#else
#define CPB_CALL CPB_API
#endif

/** Values are fixed: new ones are appended, existing ones never change their meaning. */
typedef enum cpb_status {
  CPB_OK = 0,
  CPB_EINVAL = 1,   /* a value outside its domain: s <= 0, |v| != 1, a missing pointer */
  CPB_ESHAPE = 2,   /* rows, columns or strides that do not match, or buffers that overlap */
  CPB_EDTYPE = 3,   /* an element type this call does not accept */
  CPB_EROW = 4,     /* a row without a result (NaN, a pole, overflow): its output is NaN, every other
                       row is processed; the error names the first such row */
  CPB_ENOMEM = 5,   /* out of memory */
  CPB_EIO = 6,      /* the operating system reported an error: open, read, write, disk full */
  CPB_EFORMAT = 7,  /* a file that is malformed or of another kind */
  CPB_ESTOPPED = 8, /* the caller's progress callback stopped the call; no partial file is left */
} cpb_status;

/** What went wrong, for programs and for people. Owned by the caller, who need not initialise it; every function
 *  accepts NULL. Its layout never changes. */
typedef struct cpb_error {
  cpb_status status; /* what the call returned */
  cpb_reason reason; /* see reason.h; 0 for an error set by a caller's own callback */
  int64_t row;       /* the row the message is about, counted from 0; -1 if it is not about a row */
  int32_t about;     /* offset in text where the description of the row starts ("holds NaN"); 0: all of it */
  char argument[60]; /* the invalid parameter or member ("s", "weights"), "path" for an invalid file;
                        "" if there is none */
  char text[512];    /* the message, with the value: "scale s must be > 0, got -1" */
} cpb_error;

/** A short fixed name ("ok", "invalid value", ..); a view, never NULL. */
CPB_API const char *cpb_status_name(cpb_status status);

/** The version of the library at run time, such as "0.3.0"; a view. */
CPB_API const char *cpb_version(void);

/** The instruction set the hot loops run on: "plain", "v128", "avx2", "avx512", "avx512vnni" or "amx"; a
 *  view. The environment variable CPB_ISA selects another one that the processor supports. All of them give
 *  identical bits. */
CPB_API const char *cpb_isa_name(void);

enum { CPB_PLAN_SIZE = 160 };

/** Line `line` (0, 1, ..) of the plan of that instruction set: which loop serves rows of which types and
 *  lengths, embedding and inverse, and its source files. The first line that matches applies. False after the last
 *  line.
 *  text  size bytes, the caller's; CPB_PLAN_SIZE is enough */
CPB_API bool cpb_isa_plan(size_t line, char *text, size_t size);

/** Frees memory that a call returned as plain bytes or text (`char **text`, `void **bytes`).
 *  Objects have their own _free functions. NULL is allowed. */
CPB_API void cpb_free(void *given);

CPB_END
#endif
