/* Damaged index files. Opening one either works or is EFORMAT and says where the file is damaged; so do the calls that meet
 * damage later. No message blames an id or a row of the caller, and checking names the bytes in any case. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include "support/scratch.h"

#include <stdbool.h>
#include <unistd.h>

#include "capball/index.h"
#include "base/rows.h"

enum { D = 33, ROWS = 70, MORE = 300, REMOVED = 20, PAGE = 4096 };

/* How rows are numbered. */
typedef enum numbering { NUMBERS, RISING, ANY, NUMBERINGS } numbering;

static cpb_error failure;
static void must(cpb_status status) { test_status((int)status, CPB_OK, failure.text); }

static uint64_t id_of(numbering by, size_t row) {
  return by == NUMBERS ? row : by == RISING ? 3 * row : 7 * row % 2003;
}

/* A snapshot, and a log that removes rows of it and adds so many that the centre is chosen again, from all rows. */
static void make_file(const char *path, numbering by) {
  static float rows[(ROWS + MORE) * D];
  uint64_t ids[ROWS + MORE];
  test_rng rng = {77};
  cpb_index_options options;
  cpb_index *index;
  for (size_t i = 0; i < (size_t)(ROWS + MORE) * D; i++) rows[i] = (float)test_gauss(&rng);
  for (size_t i = 0; i < ROWS + MORE; i++) ids[i] = id_of(by, i);
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  must(cpb_index_new(&options, &index, &failure));
  must(cpb_index_add(index, cpb_rows(rows, CPB_F32, ROWS, D), ids, NULL, &failure));
  must(cpb_index_save(index, path, &failure));
  cpb_index_free(index);
  must(cpb_index_open(path, true, &index, &failure));
  must(cpb_index_remove(index, ids + 10, REMOVED, NULL, &failure));
  must(cpb_index_add(index, cpb_rows(rows + ROWS * D, CPB_F32, MORE, D), ids + ROWS, NULL, &failure));
  cpb_index_free(index);
}

/* "bytes 4096 to 8191", "the record at byte 8192", .. */
static bool names_a_place(const char *text) {
  const char *bytes = strstr(text, "byte");
  return bytes != NULL && strpbrk(bytes, "0123456789") != NULL && strstr(text, "is damaged") != NULL;
}

static void is_told(size_t at, const char *call, cpb_status status, bool located) {
  if (status == CPB_OK) return;
  if (status != CPB_EFORMAT || (located && !names_a_place(failure.text)) || failure.row >= 0)
    fail_msg("bytes from %zu damaged: %s: status %d, %s", at, call, (int)status, failure.text);
}

static void use(size_t at, cpb_index *index) {
  static const float row[D] = {1};
  cpb_view one = cpb_rows(row, CPB_F32, 1, D);
  cpb_hit hits[3];
  is_told(at, "search", cpb_index_search(index, one, 3, NULL, hits, NULL, NULL, &failure), false);
  is_told(at, "add", cpb_index_add(index, one, NULL, NULL, &failure), false);
  if (at < 2 * PAGE) return; /* header, codes and rows begin after a page */
  is_told(at, "check", cpb_index_check(index, NULL, &failure), false);
}

static void every_place(void **state) {
  (void)state;
  for (int by = 0; by < NUMBERINGS; by++) {
    const char *path = scratch_path("rows.index");
    size_t size, opened = 0, refused = 0;
    make_file(path, (numbering)by);
    char *bytes = scratch_read(path, &size), *changed = malloc(size);
    for (size_t at = 24; at + 4 < size; at += TEST_SANITIZED ? 997 : 113) {
      cpb_index *index;
      memcpy(changed, bytes, size);
      memset(changed + at, 0xff, 4);
      if (memcmp(changed + at, bytes + at, 4) == 0) continue;
      unlink(path); /* a file that is made shorter first is written to the disk, which takes long */
      scratch_write("rows.index", changed, size);
      cpb_status status = cpb_index_open(path, true, &index, &failure);
      is_told(at, "open", status, at >= PAGE);
      refused += status != CPB_OK;
      opened += status == CPB_OK;
      if (status == CPB_OK) use(at, index);
      cpb_index_free(index);
    }
    assert_true(opened > 0 && refused > 0);
    free(bytes);
    free(changed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_place)};
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
