/* Arbitrary bytes as a number of a file, with any number of zeros inserted, compared with strtod; and as a double and a
 * float that must read back from their fewest digits. The first three bytes choose the zeros and their position. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "files/number.h"

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* The contract of cpb_number_parse, implemented with strtod. */
static bool reference(const char *text, size_t length, double *value) {
  while (length > 0 && is_blank(*text)) text++, length--;
  while (length > 0 && (is_blank(text[length - 1]) || text[length - 1] == '\r')) length--;
  char *copy = strndup(text, length), *end;
  errno = 0;
  *value = strtod(copy, &end);
  bool number = length > 0 && end == copy + length && strpbrk(copy, "xX(") == NULL;
  number = number && !(errno == ERANGE && isinf(*value));
  free(copy);
  return number;
}

static void check(bool holds) {
  if (!holds) abort();
}

static void parse(const char *text, size_t length) {
  double value = 0, wanted;
  bool number = cpb_number_parse(text, length, &value);
  check(number == reference(text, length, &wanted));
  check(!number || (isnan(value) && isnan(wanted)) || memcmp(&value, &wanted, sizeof value) == 0);
  check(!number || !cpb_number_is_refused(text, length));
}

static void parse_with_zeros(const unsigned char *bytes, size_t count) {
  size_t zeros = ((size_t)bytes[0] << 8 | bytes[1]) % 2500, at = bytes[2] < count - 3 ? bytes[2] : count - 3;
  char *text = malloc(count + zeros), *p = text;
  if (text == NULL) return;
  memcpy(p, bytes + 3, at);
  memset(p += at, '0', zeros);
  memcpy(p + zeros, bytes + 3 + at, count - 3 - at);
  parse(text, count - 3 + zeros);
  free(text);
}

static void print(const unsigned char *bytes) {
  char text[CPB_NUMBER_ROOM];
  double value;
  float single;
  memcpy(&value, bytes, sizeof value);
  memcpy(&single, bytes, sizeof single);
  check(cpb_number_print_short(text, &value, CPB_F64, 0) == strlen(text));
  double back = strtod(text, NULL);
  check(isnan(value) ? isnan(back) : memcmp(&back, &value, sizeof value) == 0);
  check(cpb_number_print_short(text, &single, CPB_F32, 0) == strlen(text));
  float single_back = strtof(text, NULL);
  check(isnan(single) ? isnan(single_back) : memcmp(&single_back, &single, sizeof single) == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  if (count >= sizeof(double)) print(bytes);
  if (count > 3) parse_with_zeros(bytes, count);
  return 0;
}
