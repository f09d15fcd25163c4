/* Arbitrary bytes as a map, a model, classes and a sketch; what is read is written and read again, bit for bit. If only the checksum of
 * a file is wrong, it is corrected, so that the fuzzer gets past it. */
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/classes.h"
#include "capball/ball.h"
#include "capball/map.h"
#include "capball/sketch.h"
#include "mend_checksum.h"

/* The second text of an object that was read from the first one. */
static void same_texts(char *first, cpb_status status, char *second) {
  if (status != CPB_OK || strcmp(first, second) != 0) abort();
  free(first);
  free(second);
}

static cpb_status as_map(const char *text, size_t count, cpb_error *error) {
  cpb_map *map, *back;
  char *first, *second;
  cpb_status status = cpb_map_from_json(text, count, "text", &map, error);
  if (status != CPB_OK) return status;
  if (cpb_map_to_json(map, NULL, &first, error) != CPB_OK) abort();
  if (cpb_map_from_json(first, strlen(first), "text", &back, error) != CPB_OK) abort();
  status = cpb_map_to_json(back, NULL, &second, error);
  same_texts(first, status, second);
  cpb_map_free(map);
  cpb_map_free(back);
  return CPB_OK;
}

static cpb_status as_model(const char *text, size_t count, cpb_error *error) {
  cpb_model *model, *back;
  char *first, *second;
  cpb_status status = cpb_model_from_json(text, count, "text", &model, error);
  if (status != CPB_OK) return status;
  if (cpb_model_to_json(model, &first, error) != CPB_OK) abort();
  if (cpb_model_from_json(first, strlen(first), "text", &back, error) != CPB_OK) abort();
  status = cpb_model_to_json(back, &second, error);
  same_texts(first, status, second);
  cpb_model_free(model);
  cpb_model_free(back);
  return CPB_OK;
}

static cpb_status as_classes(const char *text, size_t count, cpb_error *error) {
  cpb_classes *classes, *back;
  char *first, *second;
  cpb_status status = cpb_classes_from_json(text, count, "text", &classes, error);
  if (status != CPB_OK) return status;
  if (cpb_classes_to_json(classes, &first, error) != CPB_OK) abort();
  if (cpb_classes_from_json(first, strlen(first), "text", &back, error) != CPB_OK) abort();
  status = cpb_classes_to_json(back, &second, error);
  same_texts(first, status, second);
  cpb_classes_free(classes);
  cpb_classes_free(back);
  return CPB_OK;
}

static cpb_status as_sketch(const char *text, size_t count, cpb_error *error) {
  cpb_sketch *sketch, *back;
  char *first, *second;
  cpb_status status = cpb_sketch_from_json(text, count, "text", &sketch, error);
  if (status != CPB_OK) return status;
  if (cpb_sketch_to_json(sketch, &first, error) != CPB_OK) abort();
  if (cpb_sketch_from_json(first, strlen(first), "text", &back, error) != CPB_OK) abort();
  status = cpb_sketch_to_json(back, &second, error);
  same_texts(first, status, second);
  cpb_sketch_free(sketch);
  cpb_sketch_free(back);
  return CPB_OK;
}

static cpb_status (*const readers[])(const char *text, size_t count,
                                     cpb_error *error) = {as_map, as_model, as_classes, as_sketch};

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  char *text = calloc(count + 1, 1);
  if (text == NULL) return 0;
  memcpy(text, bytes, count);
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
    cpb_error error = {.row = -1};
    cpb_status status = readers[i](text, count, &error);
    if (status == CPB_EFORMAT && mend_checksum(text, &error)) status = readers[i](text, count, &error);
    if (status == CPB_OK) break;
  }
  free(text);
  return 0;
}
