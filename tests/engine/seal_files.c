/* Seals through every format: the seal of a writer is valid for a reader, whatever the container, blocks and
 * threads, and for no other rows. */
#include "support/check.h"

#include <stdbool.h>
#include <unistd.h>

#include "capball/advanced/candidates.h"
#include "capball/advanced/fitting.h"
#include "capball/advanced/flow.h"
#include "capball/advanced/seal.h"
#include "capball/capball.h"
#include "files/reader.h"
#include "support/scratch.h"

enum { N = 3000, D = 5 };

static double x[N * D];
static cpb_transform *transform, *other;

static void ok(cpb_status status, const cpb_error *error) { test_status((int)status, CPB_OK, error->text); }

static cpb_transform *make_map(double s) {
  cpb_map_options options;
  cpb_map *map;
  cpb_transform *made;
  cpb_map_options_init(&options, sizeof options);
  options.d = D;
  options.s = s;
  assert_int_equal(cpb_map_new(&options, &map, NULL), CPB_OK);
  assert_int_equal(cpb_transform_of_map(map, &made, NULL), CPB_OK);
  cpb_map_free(map);
  return made;
}

static int setup(void **state) {
  test_rng rng = {77};
  for (size_t i = 0; i < N * D; i++) x[i] = test_gauss(&rng);
  transform = make_map(2);
  other = make_map(3);
  return scratch_setup(state);
}

static int teardown(void **state) {
  cpb_transform_free(transform);
  cpb_transform_free(other);
  return scratch_teardown(state);
}

static cpb_status apply(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  return cpb_transform_apply(arg, CPB_ROLE_BASE, in, out, exec, error);
}

static void write_base(void) {
  cpb_writer_options options;
  cpb_writer *writer;
  cpb_error error;
  cpb_writer_options_init(&options, sizeof options);
  options.dtype = CPB_F64;
  options.cols = D;
  options.rows = N;
  ok(cpb_writer_open(scratch_path("base.npy"), &options, &writer, &error), &error);
  ok(cpb_writer_append(writer, cpb_rows(x, CPB_F64, N, D), &error), &error);
  ok(cpb_writer_commit(writer, &error), &error);
  cpb_writer_free(writer);
}

static void embed(const char *path, cpb_dtype dtype, const cpb_exec *exec) {
  cpb_flow_options flow;
  cpb_writer_options to;
  cpb_reader *reader;
  cpb_error error;
  cpb_seal *seal;
  cpb_flow_options_init(&flow, sizeof flow);
  cpb_writer_options_init(&to, sizeof to);
  flow.transform = apply;
  flow.arg = transform;
  flow.cols = D + 1;
  to.dtype = dtype;
  ok(cpb_seal_new(transform, CPB_ROLE_BASE, 0, &seal, &error), &error);
  to.seal = seal;
  ok(cpb_reader_open(scratch_path("base.npy"), NULL, &reader, &error), &error);
  ok(cpb_flow_run(reader, &flow, path, &to, NULL, exec, &error), &error);
  cpb_reader_free(reader);
  cpb_seal_free(seal);
}

static void seal_again(const char *path, cpb_role role, double radius) {
  cpb_reader *reader;
  cpb_seal_watch *watch;
  cpb_error error;
  ok(cpb_reader_open(path, NULL, &reader, &error), &error);
  cpb_source rows = cpb_reader_source(reader, true);
  ok(cpb_seal_watch_new(&rows, &watch, &error), &error);
  ok(cpb_seal_watch_all(watch, &error), &error);
  ok(cpb_seal_put(path, other, role, radius, CPB_F32, watch, &error), &error);
  cpb_seal_watch_free(watch);
  cpb_reader_free(reader);
}

static cpb_seal_facts facts_of(const char *path, bool *fits) {
  cpb_seal_facts facts = {.size = sizeof facts};
  cpb_reader *reader;
  cpb_seal_watch *watch;
  cpb_error error;
  ok(cpb_reader_open(path, NULL, &reader, &error), &error);
  ok(cpb_seal_read(reader, &facts, &error), &error);
  cpb_source rows = cpb_reader_source(reader, true);
  ok(cpb_seal_watch_new(&rows, &watch, &error), &error);
  assert_false(cpb_seal_watch_fits(watch, &facts)); /* before a pass has ended */
  ok(cpb_seal_watch_all(watch, &error), &error);
  *fits = cpb_seal_watch_fits(watch, &facts);
  cpb_seal_watch_free(watch);
  cpb_reader_free(reader);
  return facts;
}

static bool has_hdf5(void) {
  cpb_writer_options options;
  cpb_writer *writer;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = 1;
  bool has = cpb_writer_open(scratch_path("probe.hdf5"), &options, &writer, NULL) == CPB_OK;
  cpb_writer_free(writer);
  return has;
}

static void every_format_and_type(void **state) {
  (void)state;
  static const char *const endings[] = {"npy", "csv", "tsv", "libsvm", "fvecs", "fbin", "f16bin", "hdf5:a/b"};
  static const cpb_dtype dtypes[] = {CPB_F32, CPB_F64, CPB_F16};
  uint64_t plain = 0;
  size_t sealed = 0;
  write_base();
  for (size_t i = 0; i < 8; i++)
    for (size_t t = 0; t < 3; t++) {
      bool single = i == 4 || i == 5, half = i == 6, fits;
      char path[512];
      snprintf(path, sizeof path, "%s/rows.%s", ".", endings[i]);
      snprintf(path, sizeof path, "%s", scratch_path(path + 2));
      if ((single && dtypes[t] != CPB_F32) || (half && dtypes[t] != CPB_F16)) continue;
      if (i == 7 && !has_hdf5()) continue;
      embed(path, dtypes[t], NULL);
      cpb_seal_facts facts = facts_of(path, &fits);
      assert_true(fits && facts.rows == N && facts.cols == D + 1 && facts.precision == dtypes[t]);
      /* f32 rows have one hash in every container of numbers */
      if (dtypes[t] == CPB_F32 && i == 0) plain = facts.hash[0];
      if (dtypes[t] == CPB_F32 && (single || i == 7)) assert_true(facts.hash[0] == plain);
      sealed++;
    }
  assert_true(sealed >= 15);
}

static void threads_and_blocks_are_not_seen(void **state) {
  (void)state;
  cpb_pool *pool;
  bool fits;
  write_base();
  assert_int_equal(cpb_pool_new(3, &pool, NULL), CPB_OK);
  embed(scratch_path("one.npy"), CPB_F32, NULL);
  embed(scratch_path("three.npy"), CPB_F32, cpb_pool_exec(pool));
  cpb_seal_facts one = facts_of(scratch_path("one.npy"), &fits),
                 three = facts_of(scratch_path("three.npy"), &fits);
  assert_true(fits && one.hash[0] == three.hash[0] && one.hash[1] == three.hash[1]);
  cpb_pool_free(pool);
}

static void other_maps_and_roles_are_refused(void **state) {
  (void)state;
  cpb_error error;
  bool found;
  double radius;
  char path[512];
  write_base();
  snprintf(path, sizeof path, "%s", scratch_path("rows.npy"));
  embed(path, CPB_F32, NULL);
  ok(cpb_seal_check(path, transform, CPB_ROLE_BASE, &found, &radius, &error), &error);
  assert_true(found && radius == 0);
  assert_int_equal(cpb_seal_check(path, other, CPB_ROLE_BASE, &found, &radius, &error), CPB_EFORMAT);
  assert_int_equal(error.reason, CPB_WHY_SEAL_FOREIGN);
  assert_int_equal(cpb_seal_check(path, transform, CPB_ROLE_QUERY, &found, &radius, &error), CPB_EFORMAT);
  assert_non_null(strstr(error.text, "holds rows of the base"));
  seal_again(path, CPB_ROLE_QUERY, 1.5);
  ok(cpb_seal_check(path, other, CPB_ROLE_QUERY, &found, &radius, &error), &error);
  assert_true(found && radius == 1.5);
}

/* The seal is unchanged, a row changes: the seal is ignored. */
static void changed_rows_have_no_seal(void **state) {
  (void)state;
  cpb_error error;
  bool found = true;
  double radius;
  char path[512];
  size_t count;
  write_base();
  snprintf(path, sizeof path, "%s", scratch_path("rows.fbin"));
  embed(path, CPB_F32, NULL);
  char *bytes = scratch_read(path, &count);
  bytes[count / 2] ^= 1;
  FILE *file = fopen(path, "wb");
  assert_true(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
  free(bytes);
  ok(cpb_seal_check(path, other, CPB_ROLE_BASE, &found, &radius, &error), &error);
  assert_false(found);
}

static void wrong_uses(void **state) {
  (void)state;
  cpb_writer_options options;
  cpb_writer *writer;
  cpb_seal *seal;
  cpb_error error;
  cpb_dtype precision;
  float rows[10 * (D + 1)] = {0};
  cpb_writer_options_init(&options, sizeof options);
  options.cols = D + 1;
  options.rows = 20;
  assert_int_equal(cpb_seal_new(transform, CPB_ROLE_BASE, -1, &seal, &error), CPB_EINVAL);
  assert_int_equal(cpb_seal_new(NULL, CPB_ROLE_BASE, 0, &seal, &error), CPB_EINVAL);
  ok(cpb_seal_new(transform, CPB_ROLE_BASE, 0, &seal, &error), &error);
  options.seal = seal;
  ok(cpb_writer_open(scratch_path("at.npy"), &options, &writer, &error), &error);
  assert_int_equal(cpb_writer_at(writer, 10, cpb_rows(rows, CPB_F32, 10, D + 1), &error), CPB_EINVAL);
  assert_int_equal(error.reason, CPB_WHY_DOMAIN);
  cpb_writer_free(writer);
  cpb_seal_free(seal);
  cpb_source base = cpb_source_from_view(cpb_rows(x, CPB_F64, 5, D));
  cpb_source few = cpb_source_from_view(cpb_rows(rows, CPB_F32, 10, D + 1));
  cpb_seal_watch *watch;
  ok(cpb_seal_watch_new(&few, &watch, &error), &error);
  assert_int_equal(cpb_seal_put("nowhere.npy", transform, CPB_ROLE_BASE, 0, CPB_F32, watch, &error),
                   CPB_EINVAL);
  assert_int_equal(error.reason, CPB_WHY_CALL_ORDER);
  cpb_seal_watch_free(watch);
  assert_int_equal(cpb_transform_verify(transform, &base, &few, &precision, NULL, &error), CPB_EROW);
  assert_int_equal(error.reason, CPB_WHY_NOT_THE_IMAGE);
  cpb_source none = cpb_source_from_view(cpb_rows(x, CPB_F64, 0, D));
  assert_int_equal(cpb_transform_verify(transform, &none, &few, &precision, NULL, &error), CPB_ESHAPE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format_and_type), cmocka_unit_test(threads_and_blocks_are_not_seen),
      cmocka_unit_test(other_maps_and_roles_are_refused), cmocka_unit_test(changed_rows_have_no_seal),
      cmocka_unit_test(wrong_uses)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
