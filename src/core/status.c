#include <stdlib.h>

#include "capball/status.h"

const char *cpb_status_name(cpb_status status) {
  switch (status) {
  case CPB_OK: return "ok";
  case CPB_EINVAL: return "invalid value";
  case CPB_ESHAPE: return "shapes do not match";
  case CPB_EDTYPE: return "element type not supported";
  case CPB_EROW: return "a row has no result";
  case CPB_ENOMEM: return "out of memory";
  case CPB_EIO: return "input/output error";
  case CPB_EFORMAT: return "malformed file";
  case CPB_ESTOPPED: return "stopped by the caller";
  }
  return "unknown status";
}

#define TEXT_OF(number) #number
#define WITH_DOTS(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *cpb_version(void) { return WITH_DOTS(CPB_VERSION_MAJOR, CPB_VERSION_MINOR, CPB_VERSION_PATCH); }

void cpb_free(void *given) { free(given); }
