/* NULL in place of every argument of every exported function: EINVAL with a sentence, or a neutral value, and no crash.
 *
 * tests/support/null_calls.py reads the public headers and writes one call per function; the arguments are made here. With
 * these the calls succeed, so that a check for NULL is not hidden by another error. Each pointer is then NULL alone, with and
 * without an error to fill, and all are NULL together. Calls are made in a child process, which is replaced if it crashes. */
#define _GNU_SOURCE
#include "support/check.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capball/advanced/abid.h"
#include "capball/advanced/candidates.h"
#include "capball/advanced/classes.h"
#include "capball/advanced/engine.h"
#include "capball/advanced/estimator.h"
#include "capball/advanced/feed.h"
#include "capball/advanced/fitting.h"
#include "capball/advanced/flow.h"
#include "capball/index.h"
#include "capball/advanced/laws.h"
#include "capball/advanced/rounds.h"
#include "capball/advanced/seal.h"
#include "capball/capball.h"
#include "support/scratch.h"

enum { N = 100, Q = 4, D = 3, K = 2, COUNT = 10, ROOM = 1 << 16 };

static const char *const column_names[] = {"a", "b", "c"};

/* The child process ends without freeing what it made. */
static void made(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  fprintf(stderr, "cannot make an argument: %s\n", error->text);
  _exit(99);
}

/* ---- rows and numbers ---- */

static void *memory(void) { return calloc(ROOM, 1); }

static cpb_view random_rows(size_t rows, size_t cols, uint64_t seed) {
  test_rng rng = {seed};
  float *x = memory();
  for (size_t i = 0; i < rows * cols; i++) x[i] = (float)test_gauss(&rng);
  return cpb_rows(x, CPB_F32, rows, cols);
}
static cpb_view a_view(void) { return random_rows(N, D, 1); }
static cpb_view queries_view(void) { return random_rows(Q, D, 2); }
static cpb_view query_view(void) { return random_rows(1, D, 2); }

static cpb_out out_of(size_t rows, size_t cols) { return cpb_rows_out(memory(), CPB_F64, rows, cols); }
static cpb_out x_out(void) { return out_of(N, D); }
static cpb_out y_out(void) { return out_of(N, D + 1); }
static cpb_out p_out(void) { return out_of(Q, D + 1); }
static cpb_out gx_out(void) { return out_of(N, D); }
static cpb_out gy_out(void) { return out_of(N, D + 1); }
static cpb_out scores_out(void) { return out_of(N, 1); }
static cpb_out g_out(void) { return out_of(K, K); }

static const double *a_double(void) {
  double *numbers = memory();
  for (size_t i = 0; i < N; i++) numbers[i] = 0.5 + (double)i / N;
  return numbers;
}
static const double *labels_double(void) {
  double *labels = memory();
  labels[1] = 1;
  return labels;
}
/* v of unit length */
static const double *v_of_cap_complete(void) {
  double *v = memory();
  v[D] = 1;
  return v;
}

static const uint64_t *a_uint64_t(void) {
  uint64_t *ids = memory();
  for (size_t i = 0; i < N; i++) ids[i] = i;
  return ids;
}
static const uint64_t *ids_of_index_add(void) {
  uint64_t *ids = memory();
  for (size_t i = 0; i < N; i++) ids[i] = 1000 + i;
  return ids;
}
static uint64_t *ids_of_rows_hash(void) { return memory(); }

static const cpb_hit *a_hit(void) {
  cpb_hit *hits = memory();
  for (size_t i = 0; i < Q * COUNT; i++) hits[i] = (cpb_hit){i % COUNT, (double)(i % COUNT)};
  return hits;
}
static const cpb_hit *const *lists_of_hits_merge(void) {
  const cpb_hit **lists = memory();
  lists[0] = lists[1] = a_hit();
  return lists;
}
static const size_t *counts_of_hits_merge(void) {
  size_t *counts = memory();
  counts[0] = counts[1] = COUNT;
  return counts;
}

static cpb_gram_side a_gram_side(void) { return (cpb_gram_side){a_double(), a_double()}; }
static cpb_abid_scales a_abid_scales(void) { return (cpb_abid_scales){a_double(), K, memory(), memory()}; }

static cpb_source *source_of(cpb_view view) {
  cpb_source *source = memory();
  *source = cpb_source_from_view(view);
  return source;
}
static cpb_source *a_source(void) { return source_of(a_view()); }

static cpb_store *store_of(cpb_view view) {
  cpb_store *store = memory();
  *store = cpb_store_from_view(view);
  return store;
}
static cpb_store *a_store(void) { return store_of(a_view()); }

static const cpb_exec *a_exec(void) {
  cpb_exec *exec = memory();
  cpb_exec_init(exec, sizeof *exec);
  return exec;
}

static const char *const *columns_char(void) { return column_names; }
static const char *const *names_char(void) { return column_names; }

/* ---- maps, transforms, regions ---- */

static cpb_map *a_map(void) {
  cpb_map_options options;
  cpb_error error;
  cpb_map *map;
  cpb_map_options_init(&options, sizeof options);
  options.d = D;
  options.s = 1;
  made(cpb_map_new(&options, &map, &error), &error);
  return map;
}

static cpb_transform *a_transform(void) {
  cpb_error error;
  cpb_transform *transform;
  made(cpb_transform_of_map(a_map(), &transform, &error), &error);
  return transform;
}

static cpb_view sphere_rows(void) {
  cpb_out y = out_of(N, D + 1);
  cpb_error error;
  made(cpb_map_embed(a_map(), a_view(), y, NULL, &error), &error);
  return cpb_rows(y.data, y.dtype, y.rows, y.cols);
}
/* The rows of largest <S(q),y>, largest first. */
static cpb_candidates a_candidates(void) {
  cpb_out y = out_of(Q, D + 1);
  cpb_hit *hits = memory();
  uint64_t *ids = memory();
  cpb_error error;
  made(cpb_map_embed(a_map(), queries_view(), y, NULL, &error), &error);
  made(cpb_knn(sphere_rows(), cpb_rows(y.data, y.dtype, Q, D + 1), COUNT, CPB_IP, hits, NULL, &error),
       &error);
  for (size_t i = 0; i < Q * COUNT; i++) ids[i] = hits[i].id;
  return (cpb_candidates){ids, COUNT};
}
static cpb_view y_view(void) { return sphere_rows(); }
static cpb_view g_view(void) { return sphere_rows(); }
static cpb_view g_of_layer_inverse_backward(void) { return a_view(); }
static cpb_view rows_of_query_distances(void) { return sphere_rows(); }
static cpb_source *all_source(void) { return source_of(sphere_rows()); }
static cpb_source *embedded_source(void) { return source_of(sphere_rows()); }
static cpb_store *embedded_store(void) { return store_of(sphere_rows()); }
static cpb_gram_side x_of_gram_unembed(void) { return (cpb_gram_side){a_double(), a_double()}; }
static cpb_source *queries_source(void) { return source_of(queries_view()); }

static const cpb_transform_options *options_of_transform_new(void) {
  cpb_transform_options *options = memory();
  cpb_transform_options_init(options, sizeof *options);
  options->d = D;
  return options;
}
static const cpb_map_options *options_of_map_new(void) {
  cpb_map_options *options = memory();
  cpb_map_options_init(options, sizeof *options);
  options->d = D;
  options->s = 1;
  return options;
}

static cpb_region *a_region(void) {
  cpb_region *region = memory();
  *region = (cpb_region){.kind = CPB_BALL, .d = D, .c = memory(), .r = 1, .along = 1};
  return region;
}
static cpb_cap *a_cap(void) {
  cpb_cap *cap = memory();
  cpb_error error;
  *cap = (cpb_cap){.d = D, .p = memory()};
  made(cpb_cap_from_region(a_region(), 1, cap, &error), &error);
  return cap;
}

static cpb_choice *a_choice(void) {
  cpb_map_fit_options options;
  cpb_map_fit_report report = {.size = sizeof report};
  cpb_error error;
  cpb_map *map;
  cpb_map_fit_options_init(&options, sizeof options);
  made(cpb_map_fit(a_source(), &options, &map, &report, NULL, &error), &error);
  return report.choice;
}

static cpb_map_origin *a_map_origin(void) {
  cpb_map_origin *origin = memory();
  origin->size = sizeof *origin;
  return origin;
}

static cpb_abid_curve *a_abid_curve(void) {
  cpb_error error;
  cpb_abid_curve *curve;
  made(cpb_abid_curve_new(a_view(), NULL, 8, &curve, NULL, &error), &error);
  return curve;
}

static cpb_recommendation *a_recommendation(void) {
  cpb_error error;
  cpb_recommendation *recommendation;
  made(cpb_recommend(a_view(), queries_view(), NULL, &recommendation, NULL, &error), &error);
  return recommendation;
}

/* ---- balls, statistics ---- */

static cpb_ball_out *a_ball_out(void) {
  cpb_ball_out *out = memory();
  *out = (cpb_ball_out){memory(), memory(), memory()};
  return out;
}
static double *center_of_svdd(void) { return memory(); }

static const cpb_model_options *options_of_model_new(void) {
  cpb_model_options *options = memory();
  cpb_model_options_init(options, sizeof *options);
  options->d = D;
  options->center = a_double();
  options->radius = 1;
  return options;
}
static cpb_model *a_model(void) {
  cpb_error error;
  cpb_model *model;
  made(cpb_model_new(options_of_model_new(), &model, &error), &error);
  return model;
}
static const cpb_classes_options *options_of_classes_new(void) {
  static const char *const labels[] = {"a", "b"};
  static const uint64_t owners[] = {0, 1};
  cpb_classes_options *options = memory();
  cpb_classes_options_init(options, sizeof *options);
  options->d = D;
  options->s = 1;
  options->planes = options->classes = 2;
  options->w = memory();
  options->w0 = memory();
  options->owners = owners;
  options->labels = labels;
  return options;
}
static cpb_classes *a_classes(void) {
  cpb_error error;
  cpb_classes *classes;
  made(cpb_classes_new(options_of_classes_new(), &classes, &error), &error);
  return classes;
}
static cpb_out scores_of_classes_scores(void) { return cpb_rows_out(memory(), CPB_F64, N, 2); }
static const double *scores_of_classes_verdict(void) { return memory(); }
static double *scores_of_classes_probabilities(void) { return memory(); }

static double *scores_of_model_from_ball_rounds(void) { return memory(); }
static double *scores_of_model_from_svdd_rounds(void) { return memory(); }

static cpb_ball_rounds *a_ball_rounds(void) {
  cpb_error error;
  cpb_ball_rounds *rounds;
  made(cpb_ball_rounds_new(D, NULL, &rounds, &error), &error);
  made(cpb_ball_rounds_update_ids(rounds, a_view(), a_uint64_t(), NULL, &error), &error);
  return rounds;
}
static cpb_ball_rounds *from_ball_rounds(void) {
  cpb_error error;
  cpb_ball_rounds *rounds = a_ball_rounds();
  bool done;
  made(cpb_ball_rounds_solve(rounds, &done, &error), &error);
  while (!done) {
    made(cpb_ball_rounds_update_ids(rounds, a_view(), a_uint64_t(), NULL, &error), &error);
    made(cpb_ball_rounds_solve(rounds, &done, &error), &error);
  }
  return rounds;
}
static cpb_svdd_rounds *a_svdd_rounds(void) {
  cpb_error error;
  cpb_svdd_rounds *rounds;
  made(cpb_svdd_rounds_new(D, NULL, &rounds, &error), &error);
  made(cpb_svdd_rounds_update_ids(rounds, a_view(), a_uint64_t(), NULL, NULL, &error), &error);
  return rounds;
}
static cpb_svdd_rounds *from_svdd_rounds(void) {
  cpb_error error;
  cpb_svdd_rounds *rounds = a_svdd_rounds();
  bool done;
  made(cpb_svdd_rounds_solve(rounds, &done, &error), &error);
  while (!done) {
    made(cpb_svdd_rounds_update_ids(rounds, a_view(), a_uint64_t(), NULL, NULL, &error), &error);
    made(cpb_svdd_rounds_solve(rounds, &done, &error), &error);
  }
  return rounds;
}

static const cpb_statistics_options *options_of_statistics_new(void) {
  cpb_statistics_options *options = memory();
  cpb_statistics_options_init(options, sizeof *options);
  options->d = D;
  options->dtype = CPB_F32;
  return options;
}
static cpb_statistics *empty_statistics(void) {
  cpb_error error;
  cpb_statistics *statistics;
  made(cpb_statistics_new(options_of_statistics_new(), &statistics, &error), &error);
  return statistics;
}
static cpb_statistics *a_statistics(void) {
  cpb_error error;
  cpb_statistics *statistics = empty_statistics();
  made(cpb_statistics_update(statistics, a_view(), 0, &error), &error);
  return statistics;
}
static cpb_statistics *statistics_with_norms(void) {
  cpb_error error;
  cpb_statistics *statistics = a_statistics();
  made(cpb_statistics_fit_norms(statistics, a_source(), NULL, &error), &error);
  return statistics;
}
static cpb_statistics *statistics_of_statistics_update(void) { return empty_statistics(); }
static cpb_statistics *statistics_of_statistics_update_ids(void) { return empty_statistics(); }
static cpb_statistics *whole_of_statistics_merge(void) { return empty_statistics(); }
static cpb_statistics *statistics_of_map_from_statistics(void) { return statistics_with_norms(); }
static cpb_statistics *statistics_of_sketch_from_statistics(void) { return statistics_with_norms(); }

static const cpb_column_facts *a_column_facts(void) {
  cpb_column_facts *facts = memory();
  *facts = (cpb_column_facts){memory(), memory(), memory()};
  return facts;
}

static cpb_covariance *a_covariance(void) {
  cpb_error error;
  cpb_covariance *covariance;
  made(cpb_covariance_new(D, &covariance, &error), &error);
  made(cpb_covariance_update(covariance, a_view(), NULL, &error), &error);
  return covariance;
}

/* ---- search, sketches, indexes, engines ---- */

static const cpb_search_options *a_search_options(void) {
  cpb_search_options *options = memory();
  cpb_search_options_init(options, sizeof *options);
  options->k = K;
  return options;
}
static cpb_search *a_search(void) {
  cpb_error error;
  cpb_search *search;
  made(cpb_search_new(queries_view(), a_search_options(), &search, &error), &error);
  return search;
}
static cpb_status take_hits(void *context, size_t query, const cpb_hit *hits, size_t count,
                            cpb_error *error) {
  (void)context, (void)query, (void)hits, (void)count, (void)error;
  return CPB_OK;
}
static cpb_search_take *a_search_take(void) { return take_hits; }

static const cpb_sketch_fit_options *a_sketch_fit_options(void) {
  cpb_sketch_training *training = memory();
  cpb_sketch_fit_options *options = memory();
  cpb_sketch_training_init(training, sizeof *training);
  cpb_sketch_fit_options_init(options, sizeof *options);
  training->bits = 8;
  training->form = CPB_FORM_COLUMNS; /* the one that takes least */
  options->training = training;
  return options;
}
static cpb_sketch *a_sketch(void) {
  cpb_error error;
  cpb_sketch *sketch;
  made(cpb_sketch_fit(a_source(), a_sketch_fit_options(), &sketch, NULL, NULL, &error), &error);
  return sketch;
}
static cpb_view codes_view(void) {
  cpb_sketch_options of = {.size = sizeof of};
  cpb_error error;
  cpb_sketch *sketch = a_sketch();
  uint8_t *codes = memory();
  cpb_sketch_describe(sketch, &of);
  made(cpb_sketch_encode(sketch, a_view(), codes, NULL, &error), &error);
  return cpb_rows(codes, CPB_U8, N, of.code_bytes);
}
static cpb_view queries_of_hamming_knn(void) { return codes_view(); }
static cpb_estimator *a_estimator(void) {
  cpb_error error;
  cpb_estimator *estimator;
  made(cpb_estimator_new(a_sketch(), codes_view(), &estimator, &error), &error);
  return estimator;
}

static const cpb_index_options *options_of_index_new(void) {
  cpb_index_options *options = memory();
  cpb_index_options_init(options, sizeof *options);
  options->cols = D;
  return options;
}
static cpb_index *a_index(void) {
  cpb_error error;
  cpb_index *index;
  made(cpb_index_new(options_of_index_new(), &index, &error), &error);
  made(cpb_index_add(index, a_view(), NULL, NULL, &error), &error);
  return index;
}
static bool allow_row(void *context, size_t query, uint64_t id) {
  (void)context, (void)query, (void)id;
  return true;
}
static const cpb_index_keys *keys_from(char first) {
  cpb_index_keys *keys = memory();
  char *text = memory();
  uint64_t *offsets = memory();
  for (size_t i = 0; i < N; i++) {
    text[2 * i] = (char)(first + (char)(i / 50));
    text[2 * i + 1] = (char)('0' + (char)(i % 50));
    offsets[i + 1] = 2 * (i + 1);
  }
  *keys = (cpb_index_keys){text, offsets, N};
  return keys;
}
static const cpb_index_keys *a_index_keys(void) { return keys_from('a'); }
static const cpb_index_keys *keys_of_index_add_keys(void) { return keys_from('A'); }

static cpb_index *index_with_keys(void) {
  cpb_index_options options = *options_of_index_new();
  cpb_error error;
  cpb_index *index;
  options.keys = true;
  made(cpb_index_new(&options, &index, &error), &error);
  made(cpb_index_add_keys(index, a_view(), a_index_keys(), NULL, &error), &error);
  return index;
}
static cpb_index *index_of_index_add_keys(void) { return index_with_keys(); }
static cpb_index *index_of_index_put_keys(void) { return index_with_keys(); }
static cpb_index *index_of_index_find_keys(void) { return index_with_keys(); }
static cpb_index *index_of_index_keys_of(void) { return index_with_keys(); }

static const cpb_index_filter *a_index_filter(void) {
  cpb_index_filter *filter = memory();
  *filter = (cpb_index_filter){.size = sizeof *filter, .allow = allow_row};
  return filter;
}

static cpb_status search_outside(void *self, const double *p, size_t count, uint64_t *ids, double *scores,
                                 size_t *found, cpb_error *error) {
  cpb_view rows = sphere_rows();
  (void)self, (void)error;
  *found = count;
  for (size_t i = 0; i < count; i++) {
    const double *y = (const double *)rows.data + i * (D + 1);
    ids[i] = i;
    scores[i] = 0;
    for (size_t k = 0; k <= D; k++) scores[i] += p[k] * y[k];
  }
  return CPB_OK;
}
static cpb_status row_outside(void *self, uint64_t id, double *y, cpb_error *error) {
  (void)self, (void)error;
  memcpy(y, (const double *)sphere_rows().data + id * (D + 1), (D + 1) * sizeof *y);
  return CPB_OK;
}
static cpb_external *a_external(void) {
  cpb_external *index = memory();
  *index = (cpb_external){.rows = N, .search = search_outside, .row = row_outside};
  return index;
}

static cpb_rescore_out *a_rescore_out(void) {
  cpb_rescore_out *out = memory();
  *out = (cpb_rescore_out){memory(), memory()};
  return out;
}
static cpb_status ask(void *self, const cpb_engine_question *question, uint64_t *ids, cpb_engine_cost *cost,
                      const cpb_exec *exec, cpb_error *error) {
  (void)self, (void)cost, (void)exec, (void)error;
  for (size_t i = 0; i < question->queries.rows * question->count; i++) ids[i] = i % question->count;
  return CPB_OK;
}
static cpb_engine_calls *a_engine_calls(void) {
  cpb_engine_calls *engine = memory();
  engine->ask = ask;
  return engine;
}
static cpb_engine_command *a_engine_command(void) {
  cpb_engine_command *command = memory();
  *command = (cpb_engine_command){sizeof *command, "true {base} {queries} {k} {ids}", 0};
  return command;
}
static cpb_engine_report *a_engine_report(void) {
  cpb_error error;
  cpb_engine_report *report;
  made(cpb_engine_measure(a_view(), queries_view(), a_engine_calls(), NULL, &report, NULL, &error), &error);
  return report;
}

/* ---- files ---- */

static const char *path_char(void) { return scratch_path("new.fbin"); }
static const char *other_char(void) { return scratch_path("new.hdf5:train"); }
static const char *path_of_same_data_set(void) { return scratch_path("new.hdf5:/train"); }

static const cpb_writer_options *a_writer_options(void) {
  cpb_writer_options *options = memory();
  cpb_writer_options_init(options, sizeof *options);
  options->cols = D;
  options->rows = N;
  return options;
}
static const cpb_writer_options *to_of_flow_run(void) { return a_writer_options(); }
static cpb_writer *new_writer(const char *path) {
  cpb_error error;
  cpb_writer *writer;
  made(cpb_writer_open(path, a_writer_options(), &writer, &error), &error);
  return writer;
}
static cpb_writer *a_writer(void) { return new_writer(scratch_path("new.fbin")); }
static cpb_writer *full_writer(const char *path) {
  cpb_error error;
  cpb_writer *writer = new_writer(path);
  made(cpb_writer_append(writer, a_view(), &error), &error);
  return writer;
}
static cpb_writer *writer_of_writer_commit(void) { return full_writer(scratch_path("new.fbin")); }

static const char *written(const char *name) {
  const char *path = scratch_path(name);
  cpb_error error;
  cpb_writer *writer = full_writer(path);
  made(cpb_writer_commit(writer, &error), &error);
  cpb_writer_free(writer);
  return path;
}
static const char *path_of_reader_open(void) { return written("rows.fbin"); }
static const char *path_of_reader_open_as(void) { return written("rows.fbin"); }
static const char *path_of_seal_put(void) { return written("rows.fbin"); }

static cpb_reader *opened(const char *path) {
  cpb_error error;
  cpb_reader *reader;
  made(cpb_reader_open(path, NULL, &reader, &error), &error);
  return reader;
}
static cpb_reader *a_reader(void) { return opened(written("rows.fbin")); }
static const char *format_char(void) { return "fbin"; }

static cpb_seal *a_seal(void) {
  cpb_error error;
  cpb_seal *seal;
  made(cpb_seal_new(a_transform(), CPB_ROLE_BASE, 0, &seal, &error), &error);
  return seal;
}
static cpb_seal_watch *a_seal_watch(void) {
  cpb_error error;
  cpb_seal_watch *watch;
  made(cpb_seal_watch_new(a_source(), &watch, &error), &error);
  return watch;
}
static cpb_seal_watch *watch_of_seal_put(void) {
  cpb_error error;
  cpb_seal_watch *watch = a_seal_watch();
  made(cpb_seal_watch_all(watch, &error), &error);
  return watch;
}
static const char *path_of_seal_check(void) {
  cpb_error error;
  const char *path = written("rows.fbin");
  made(cpb_seal_put(path, a_transform(), CPB_ROLE_BASE, 0, CPB_F64, watch_of_seal_put(), &error), &error);
  return path;
}
static cpb_seal_facts *a_seal_facts(void) {
  cpb_seal_facts *facts = memory();
  cpb_error error;
  facts->size = sizeof *facts;
  made(cpb_seal_read(opened(path_of_seal_check()), facts, &error), &error);
  return facts;
}

static const char *path_of_map_load(void) {
  const char *path = scratch_path("map.json");
  cpb_error error;
  made(cpb_map_save(a_map(), path, NULL, &error), &error);
  return path;
}
static const char *path_of_transform_load(void) {
  const char *path = scratch_path("transform.json");
  cpb_error error;
  made(cpb_transform_save(a_transform(), path, &error), &error);
  return path;
}
static const char *path_of_model_load(void) {
  const char *path = scratch_path("model.json");
  cpb_error error;
  made(cpb_model_save(a_model(), path, &error), &error);
  return path;
}
static const char *path_of_classes_load(void) {
  const char *path = scratch_path("classes.json");
  cpb_error error;
  made(cpb_classes_save(a_classes(), path, &error), &error);
  return path;
}
static const char *path_of_sketch_load(void) {
  const char *path = scratch_path("sketch.json");
  cpb_error error;
  made(cpb_sketch_save(a_sketch(), path, &error), &error);
  return path;
}
static const char *path_of_index_open(void) {
  const char *path = scratch_path("rows.capidx");
  cpb_error error;
  made(cpb_index_save(a_index(), path, &error), &error);
  return path;
}

static const char *line_char(void) { return "{\"ball\": {\"c\": [1, 2, 3], \"r\": 1}}"; }
static size_t length_of_dual_line(void) { return strlen(line_char()); }
static const cpb_dual_options *options_of_dual_line(void) {
  cpb_dual_options *options = memory();
  cpb_dual_options_init(options, sizeof *options);
  options->s = 1;
  return options;
}

/* Texts and bytes are made before their lengths. */
static size_t made_length;
static size_t a_length(void) { return made_length; }
static size_t length_size_t(void) { return a_length(); }
static const char *text_at(const char *path) { return scratch_read(path, &made_length); }
static const char *text_of_map_from_json(void) { return text_at(path_of_map_load()); }
static const char *text_of_model_from_json(void) { return text_at(path_of_model_load()); }
static const char *text_of_classes_from_json(void) { return text_at(path_of_classes_load()); }
static const char *text_of_sketch_from_json(void) { return text_at(path_of_sketch_load()); }

static const void *bytes_of_write_whole(void) { return "ten bytes"; }
static const void *bytes_of_ball_rounds_deserialize(void) {
  cpb_error error;
  void *bytes;
  made(cpb_ball_rounds_serialize(a_ball_rounds(), &bytes, &made_length, &error), &error);
  return bytes;
}
static const void *bytes_of_svdd_rounds_deserialize(void) {
  cpb_error error;
  void *bytes;
  made(cpb_svdd_rounds_serialize(a_svdd_rounds(), &bytes, &made_length, &error), &error);
  return bytes;
}
static const void *bytes_of_statistics_deserialize(void) {
  cpb_error error;
  void *bytes;
  made(cpb_statistics_serialize(a_statistics(), &bytes, &made_length, &error), &error);
  return bytes;
}
static const void *bytes_of_covariance_deserialize(void) {
  cpb_error error;
  void *bytes;
  made(cpb_covariance_serialize(a_covariance(), &bytes, &made_length, NULL, &error), &error);
  return bytes;
}
static size_t count_of_ball_rounds_deserialize(void) { return a_length(); }
static size_t count_of_svdd_rounds_deserialize(void) { return a_length(); }
static size_t count_of_statistics_deserialize(void) { return a_length(); }
static size_t count_of_covariance_deserialize(void) { return a_length(); }

static const char *name_char(void) { return "name"; }

static void *given_of_free(void) { return malloc(1); }
static cpb_pool *a_pool(void) {
  cpb_error error;
  cpb_pool *pool;
  made(cpb_pool_new(1, &pool, &error), &error);
  return pool;
}

/* ---- calls ---- */

typedef struct outcome {
  cpb_status status;
  cpb_error error;
  cpb_source source;
  const void *pointer;
  double number;
} outcome;

typedef enum gives {
  GIVES_NOTHING,
  GIVES_STATUS,
  GIVES_SOURCE,
  GIVES_POINTER,
  GIVES_NUMBER,
  GIVES_DOUBLE
} gives;

typedef struct argument {
  const char *name;
  bool optional;
} argument;

typedef struct function {
  const char *name;
  void (*call)(uint32_t nulls, outcome *seen);
  gives gives;
  unsigned count;
  argument arguments[16]; /* that can be NULL */
} function;

/* A struct for results, of which only the size is set. */
static void unset(void *result, size_t size) {
  memset(result, 255, size);
  memcpy(result, &size, sizeof size);
}

/* Number of bytes after the size that are not 0. */
static double bytes_set(const void *result, size_t size) {
  double count = 0;
  for (size_t i = sizeof size; i < size; i++) count += ((const unsigned char *)result)[i] != 0;
  return count;
}

static bool null(uint32_t nulls, unsigned which) { return (nulls >> which & 1) != 0; }

#include "null_calls.inc"

enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* One call: which arguments are NULL. */
typedef struct trial {
  const function *of;
  uint32_t nulls;
} trial;

static bool must_fail(trial t) {
  for (unsigned i = 0; i < t.of->count; i++)
    if (null(t.nulls, i) && !t.of->arguments[i].optional) return true;
  return false;
}

static bool lacks(trial t, const char *name) {
  for (unsigned i = 0; i < t.of->count; i++)
    if (null(t.nulls, i) && strcmp(t.of->arguments[i].name, name) == 0) return true;
  return false;
}

static bool is_neutral(const function *of, const outcome *seen) {
  if (of->gives == GIVES_DOUBLE) return isnan(seen->number);
  return seen->pointer == NULL && seen->source.next == NULL && seen->number == 0;
}

/* What is wrong with the result of a call, or NULL. */
static const char *fault_of(trial t, const outcome *seen) {
  static char text[600];
  if (t.of->gives != GIVES_STATUS) return must_fail(t) && !is_neutral(t.of, seen) ? "gives a value" : NULL;
  if (seen->status == (must_fail(t) ? CPB_EINVAL : CPB_OK)) {
    if (!must_fail(t) || lacks(t, "error")) return NULL;
    if (seen->error.status == CPB_EINVAL && seen->error.text[0] != '\0' && seen->error.argument[0] != '\0')
      return NULL;
    return "leaves the error unset";
  }
  snprintf(text, sizeof text, "%s%s%s", cpb_status_name(seen->status), lacks(t, "error") ? "" : ": ",
           seen->error.text);
  return text;
}

/* Shared with the child process: the call that it is in, and the faults it found. */
typedef struct progress {
  size_t at, calls, faults;
} progress;

static void print_fault(trial t, const char *fault) {
  fprintf(stderr, "# %s(", t.of->name);
  for (unsigned i = 0, said = 0; i < t.of->count; i++)
    if (null(t.nulls, i)) fprintf(stderr, "%s%s = NULL", said++ == 0 ? "" : ", ", t.of->arguments[i].name);
  fprintf(stderr, "): %s\n", fault);
}

static void make_call(trial t, progress *shared) {
  outcome seen = {0};
  shared->calls++;
  t.of->call(t.nulls, &seen);
  const char *fault = fault_of(t, &seen);
  if (fault == NULL) return;
  print_fault(t, fault);
  shared->faults++;
}

/* Makes calls from number shared->at on, in a child process that ends with the last of them or with the first that crashes. */
static int make_calls(const trial *trials, size_t count, progress *shared) {
  int how;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (int i = 1; i < 32; i++) signal(i, SIG_DFL); /* those of cmocka go on with its next test */
    for (; shared->at < count; shared->at++) {
      alarm(60);
      make_call(trials[shared->at], shared);
    }
    _exit(0);
  }
  assert_int_equal(waitpid(child, &how, 0), child);
  return how;
}

static void try_all(const trial *trials, size_t count) {
  progress *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(shared != MAP_FAILED);
  for (; shared->at < count; shared->at++) {
    if (make_calls(trials, count, shared) == 0) continue;
    print_fault(trials[shared->at], "crashes");
    shared->faults++;
  }
  print_message("# %zu calls, %zu wrong\n", shared->calls, shared->faults);
  assert_int_equal(shared->faults, 0);
  munmap(shared, sizeof *shared);
}

static uint32_t bit_of(const function *of, const char *name) {
  for (unsigned i = 0; i < of->count; i++)
    if (strcmp(of->arguments[i].name, name) == 0) return (uint32_t)1 << i;
  return 0;
}

static trial trials[FUNCTIONS * 40];

/* Otherwise another error could hide a missing check. */
static void arguments_are_valid(void **state) {
  (void)state;
  for (size_t i = 0; i < FUNCTIONS; i++) trials[i] = (trial){&functions[i], 0};
  try_all(trials, FUNCTIONS);
}

static void one_is_null(void **state) {
  (void)state;
  size_t count = 0;
  for (const function *of = functions; of < functions + FUNCTIONS; of++)
    for (unsigned i = 0; i < of->count; i++) trials[count++] = (trial){of, (uint32_t)1 << i};
  try_all(trials, count);
}

static void one_and_the_error_are_null(void **state) {
  (void)state;
  size_t count = 0;
  for (const function *of = functions; of < functions + FUNCTIONS; of++)
    for (unsigned i = 0; i < of->count; i++)
      if (bit_of(of, "error") != 0) trials[count++] = (trial){of, (uint32_t)1 << i | bit_of(of, "error")};
  try_all(trials, count);
}

static void all_are_null(void **state) {
  (void)state;
  size_t count = 0;
  for (const function *of = functions; of < functions + FUNCTIONS; of++) {
    uint32_t all = ((uint32_t)1 << of->count) - 1;
    trials[count++] = (trial){of, all};
    if (bit_of(of, "error") != 0) trials[count++] = (trial){of, all & ~bit_of(of, "error")};
  }
  try_all(trials, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arguments_are_valid), cmocka_unit_test(one_is_null),
                                     cmocka_unit_test(one_and_the_error_are_null),
                                     cmocka_unit_test(all_are_null)};
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
