/* The digest of rows: every table gives the sums of the plain one, the digest does not depend on blocks, stride
 * and order, and it detects every change made here. */
#include "support/check.h"

#include <stdlib.h>

#include "base/rows.h"
#include "files/row_digest.h"

enum { BYTES = 5000 };

static void fill(test_rng *rng, unsigned char *bytes, size_t count) {
  unsigned kind = (unsigned)test_below(rng, 3);
  for (size_t i = 0; i < count; i++)
    bytes[i] = kind == 0 ? 0 : kind == 1 ? 255 : (unsigned char)test_bits(rng);
}

static void tables_agree(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {931};
  static unsigned char bytes[BYTES + 64];
  for (size_t length = 0; length < BYTES; length += 1 + length / 40) {
    size_t offset = test_below(&rng, 64);
    uint64_t plain[CPB_DIGEST_LANES], other[CPB_DIGEST_LANES];
    fill(&rng, bytes, sizeof bytes);
    tables[0]->digest(bytes + offset, length, plain);
    for (size_t t = 1; t < count; t++) {
      tables[t]->digest(bytes + offset, length, other);
      assert_memory_equal(plain, other, sizeof plain);
    }
  }
}

/* Files hold these numbers: they may never change. */
static void digests_are_pinned(void **state) {
  (void)state;
  static const uint64_t wanted[3][2] = {{0xc91ba88097c109d5, 0x3f7d57a35984fdc4},
                                        {0x147481ab1b1bf1a4, 0x6922558e0b521db4},
                                        {0x8491d8925b100d37, 0x9fa156c55b4dc4d5}};
  float rows[300 * 7];
  for (size_t i = 0; i < 300 * 7; i++) rows[i] = (float)i / 16;
  static const size_t counts[] = {0, 1, 300};
  for (size_t i = 0; i < 3; i++) {
    cpb_row_digest digest = {0};
    uint64_t hash[2];
    assert_int_equal(cpb_row_digest_begin(&digest, CPB_F32, 7, NULL), CPB_OK);
    assert_true(cpb_row_digest_add(&digest, 0, cpb_rows(rows, CPB_F32, counts[i], 7)));
    cpb_row_digest_finish(&digest, counts[i], hash);
    print_message("# %zu rows: %016llx %016llx\n", counts[i], (unsigned long long)hash[0],
                  (unsigned long long)hash[1]);
    assert_true(hash[0] == wanted[i][0] && hash[1] == wanted[i][1]);
    cpb_row_digest_free(&digest);
  }
}

typedef struct table {
  cpb_dtype dtype;
  size_t rows, cols, stride;
  unsigned char *data;
} table;

static table make_table(test_rng *rng) {
  static const cpb_dtype dtypes[] = {CPB_F32, CPB_F64, CPB_F16, CPB_U8};
  table t = {.dtype = dtypes[test_below(rng, 4)], .rows = 1 + test_below(rng, 400)};
  t.cols = 1 + (test_below(rng, 4) == 0 ? test_below(rng, 3000) : test_below(rng, 40));
  t.stride = t.cols + test_below(rng, 3);
  t.data = malloc(t.rows * t.stride * cpb_dtype_size(t.dtype));
  fill(rng, t.data, t.rows * t.stride * cpb_dtype_size(t.dtype));
  return t;
}

static cpb_view view_of(const table *t) { return (cpb_view){t->data, t->dtype, t->rows, t->cols, t->stride}; }

typedef struct hash_of {
  uint64_t hash[2];
} hash_of;

static hash_of whole(const table *t) {
  cpb_row_digest digest = {0};
  hash_of made;
  assert_int_equal(cpb_row_digest_begin(&digest, t->dtype, t->cols, NULL), CPB_OK);
  assert_true(cpb_row_digest_add(&digest, 0, view_of(t)));
  cpb_row_digest_finish(&digest, t->rows, made.hash);
  cpb_row_digest_free(&digest);
  return made;
}

/* Blocks of any size in order, or of whole groups in any order. */
static hash_of in_blocks(const table *t, test_rng *rng, bool any_order) {
  cpb_row_digest digest = {0};
  hash_of made;
  assert_int_equal(cpb_row_digest_begin(&digest, t->dtype, t->cols, NULL), CPB_OK);
  size_t step = any_order ? digest.group * (1 + test_below(rng, 3)) : 1 + test_below(rng, 100);
  size_t blocks = (t->rows + step - 1) / step, begin = any_order ? test_below(rng, blocks) : 0;
  for (size_t i = 0; i < blocks; i++) {
    size_t first = (begin + i) % blocks * step, left = t->rows - first;
    assert_true(
        cpb_row_digest_add(&digest, first, cpb_view_slice(view_of(t), first, left < step ? left : step)));
  }
  cpb_row_digest_finish(&digest, t->rows, made.hash);
  cpb_row_digest_free(&digest);
  return made;
}

static void assert_other(hash_of a, hash_of b) {
  assert_true(a.hash[0] != b.hash[0] && a.hash[1] != b.hash[1]);
}

/* One bit, two rows exchanged, two elements exchanged, a row less, other columns of the same bytes. */
static void see_changes(const table *t, test_rng *rng, hash_of before) {
  size_t size = cpb_dtype_size(t->dtype), row = test_below(rng, t->rows), other = test_below(rng, t->rows);
  size_t at = (row * t->stride + test_below(rng, t->cols)) * size + test_below(rng, size);
  unsigned char bit = (unsigned char)(1u << test_below(rng, 8)), *a = t->data + row * t->stride * size,
                *b = t->data + other * t->stride * size;
  t->data[at] ^= bit;
  assert_other(whole(t), before);
  t->data[at] ^= bit;
  if (memcmp(a, b, t->cols * size) != 0) {
    for (size_t turn = 0; turn < 2; turn++) {
      for (size_t i = 0; i < t->cols * size; i++) {
        unsigned char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
      }
      if (turn == 0) assert_other(whole(t), before);
    }
  }
  table shorter = *t;
  shorter.rows--;
  assert_other(whole(&shorter), before);
  table turned = *t;
  turned.rows = t->cols;
  turned.cols = t->rows;
  turned.stride = turned.cols;
  if (t->stride == t->cols && t->rows != t->cols) assert_other(whole(&turned), before);
}

static void blocks_are_not_seen_and_changes_are(void **state) {
  (void)state;
  test_rng rng = {932};
  for (size_t trial = 0; trial < (TEST_SANITIZED ? 60 : 600); trial++) {
    table t = make_table(&rng);
    hash_of before = whole(&t), blocks = in_blocks(&t, &rng, false), groups = in_blocks(&t, &rng, true);
    assert_memory_equal(&before, &blocks, sizeof before);
    assert_memory_equal(&before, &groups, sizeof before);
    see_changes(&t, &rng, before);
    free(t.data);
  }
}

static void rows_out_of_order_are_refused(void **state) {
  (void)state;
  float rows[100 * 4] = {0};
  cpb_row_digest digest = {0};
  assert_int_equal(cpb_row_digest_begin(&digest, CPB_F32, 4, NULL), CPB_OK);
  assert_int_equal(digest.group, 1024);
  assert_false(cpb_row_digest_add(&digest, 3, cpb_rows(rows, CPB_F32, 5, 4)));
  assert_true(cpb_row_digest_add(&digest, 0, cpb_rows(rows, CPB_F32, 5, 4)));
  assert_false(cpb_row_digest_add(&digest, 4, cpb_rows(rows, CPB_F32, 5, 4)));
  assert_true(cpb_row_digest_add(&digest, 5, cpb_rows(rows, CPB_F32, 95, 4)));
  cpb_row_digest_free(&digest);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_agree), cmocka_unit_test(digests_are_pinned),
                                     cmocka_unit_test(blocks_are_not_seen_and_changes_are),
                                     cmocka_unit_test(rows_out_of_order_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
