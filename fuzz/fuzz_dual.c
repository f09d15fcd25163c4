/* Arbitrary bytes as the JSON lines of `capball dual`. The first byte chooses the scale. */
#include <string.h>

#include "capball/capball.h"
#include "capball/advanced/laws.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  static const double scales[] = {1, 0.3, 1e-150, 1e150, 7};
  cpb_dual_options options;
  if (count == 0) return 0;
  cpb_dual_options_init(&options, sizeof options);
  options.s = scales[bytes[0] % 5];
  for (size_t at = 1; at < count;) {
    const unsigned char *end = memchr(bytes + at, '\n', count - at);
    size_t length = end == NULL ? count - at : (size_t)(end - bytes) - at;
    char *answer = NULL;
    cpb_error error;
    if (cpb_dual_line((const char *)bytes + at, length, &options, &answer, &error) != CPB_OK) return 0;
    cpb_free(answer);
    at += length + 1;
  }
  return 0;
}
