/* How a call ends: a pinned status and reason, and for the person who called a sentence.
 *
 * The status says whether the call did its work; how good an answer is (a gap, a residual) is
 * part of the answer, never of the status. */
#ifndef CAPBALL_STATUS_H
#define CAPBALL_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capball/reason.h"

/** Around the declarations of every header: C, also for a C++ compiler. */
#ifdef __cplusplus
#define CPB_BEGIN extern "C" {
#define CPB_END }
#else
#define CPB_BEGIN
#define CPB_END
#endif

CPB_BEGIN

/** The version of these headers; cpb_version() is that of the library that is running. */
#define CPB_VERSION_MAJOR 0
#define CPB_VERSION_MINOR 3
#define CPB_VERSION_PATCH 0
#define CPB_VERSION_NUMBER (CPB_VERSION_MAJOR * 10000 + CPB_VERSION_MINOR * 100 + CPB_VERSION_PATCH)

/** Marks a public function. The build of the library defines CPB_BUILDING; on Windows a program that links the static
 *  library defines CPB_STATIC. Define CPB_API before this header to build the library into something else. */
#ifndef CPB_API
#if !defined(_WIN32)
#define CPB_API __attribute__((visibility("default")))
#elif defined(CPB_BUILDING)
#define CPB_API __declspec(dllexport)
#elif defined(CPB_STATIC)
#define CPB_API
#else
#define CPB_API __declspec(dllimport)
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

/** Numbers are pinned: new ones are appended, old ones never change their meaning. */
typedef enum cpb_status {
  CPB_OK = 0,
  CPB_EINVAL = 1,   /* a value outside its domain: s <= 0, |v| != 1, a missing pointer */
  CPB_ESHAPE = 2,   /* rows, columns, stride or overlap that do not fit */
  CPB_EDTYPE = 3,   /* an element type this call does not take */
  CPB_EROW = 4,     /* a row without an answer (NaN, a pole, overflow): it is NaN in the output, every
                       other row is done; the error names the first such row */
  CPB_ENOMEM = 5,   /* memory could not be had */
  CPB_EIO = 6,      /* the operating system refused: open, read, write, disk full */
  CPB_EFORMAT = 7,  /* a file that is not what it claims to be */
  CPB_ESTOPPED = 8, /* the caller's own progress callback ended the call; nothing is half-written */
} cpb_status;

/** What went wrong, as data and for a person. Caller's, and need not be set before; every function takes NULL
 *  instead. Its layout never changes. */
typedef struct cpb_error {
  cpb_status status; /* what the call returned */
  cpb_reason reason; /* a pinned number of reason.h; 0 in an error of a caller's own callback */
  int64_t row;       /* the row the sentence speaks of, counted from 0; -1 when it is about no row */
  int32_t
      about; /* where what is said of the row begins: text + about is "holds NaN"; 0: the whole sentence */
  char argument[60]; /* the parameter or member at fault ("s", "weights"), "path" for what is wrong with a
                        file; "" when it is none of them */
  char text[512];    /* one sentence that names the value, such as "scale s must be > 0, got -1" */
} cpb_error;

/** A short fixed name ("ok", "invalid value", ..); a view, never NULL. */
CPB_API const char *cpb_status_name(cpb_status status);

/** The version of the library that is running, such as "0.3.0"; a view. */
CPB_API const char *cpb_version(void);

/** The instruction set the hot loops run on: "plain", "v128", "avx2", "avx512", "avx512vnni" or "amx"; a
 *  view. The environment variable CPB_ISA chooses another one that the machine has. All of them give the
 *  same bits. */
CPB_API const char *cpb_isa_name(void);

enum { CPB_PLAN_SIZE = 160 };

/** Line `line` (0, 1, ..) of the plan of that instruction set: which loop serves rows of which types and lengths,
 *  embedded and unembedded. The first line that fits is taken. False past the last line.
 *  text  size bytes, the caller's; CPB_PLAN_SIZE is enough */
CPB_API bool cpb_isa_plan(size_t line, char *text, size_t size);

/** Takes back memory that a call has given as plain bytes or text (`char **text`, `void **bytes`).
 *  Objects have a free of their own. NULL is fine. */
CPB_API void cpb_free(void *given);

CPB_END
#endif
