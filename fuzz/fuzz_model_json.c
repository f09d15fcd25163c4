/* Arbitrary bytes as a model file; what is read is written and read again, bit for bit. If only the checksum of a file
 * is wrong, it is corrected, so that the fuzzer gets past it. */
#include <stdlib.h>
#include <string.h>

#include "capball/ball.h"
#include "mend_checksum.h"

static void round_trip(const cpb_model *model) {
  cpb_error error;
  char *text, *again;
  cpb_model *back;
  if (cpb_model_to_json(model, &text, &error) != CPB_OK) abort();
  if (cpb_model_from_json(text, strlen(text), "text", &back, &error) != CPB_OK) abort();
  if (cpb_model_to_json(back, &again, &error) != CPB_OK || strcmp(text, again) != 0) abort();
  free(text);
  free(again);
  cpb_model_free(back);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  cpb_error error = {.row = -1};
  cpb_model *model;
  char *text = calloc(count + 1, 1);
  if (text == NULL) return 0;
  memcpy(text, bytes, count);
  cpb_status status = cpb_model_from_json(text, count, "text", &model, &error);
  if (status == CPB_EFORMAT && mend_checksum(text, &error))
    status = cpb_model_from_json(text, count, "text", &model, &error);
  if (status == CPB_OK) {
    round_trip(model);
    cpb_model_free(model);
  }
  free(text);
  return 0;
}
