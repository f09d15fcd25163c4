/* An index in a file: build, change, check and search it. */
#include "capball/index.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "data_file.h"
#include "format_names.h"
#include "json_print.h"
#include "output.h"
#include "search_job.h"

static int fail(const cli_job *job, const cpb_error *error) { return cli_fail(job, "%s", error->text); }

static cpb_index_report facts_of(const cpb_index *index) {
  cpb_index_report report = {.size = sizeof report};
  cpb_index_describe(index, &report);
  return report;
}

static int open_index(const cli_job *job, bool writable, cpb_index **index) {
  cpb_error error;
  if (cpb_index_open(job->operands[0], writable, index, &error) != CPB_OK) return fail(job, &error);
  uint64_t dropped = facts_of(*index).dropped;
  if (dropped > 0)
    cli_say(job,
            "%s: its last %llu bytes are not a record of its log, because of a power failure or damage: %s",
            job->operands[0], (unsigned long long)dropped, writable ? "removed" : "ignored");
  return CLI_OK;
}

/* ---- build ---- */

static int build(cli_job *job) {
  cli_input in = {0};
  cpb_error error;
  const char *path = job->operands[0];
  int result = cli_input_open(&in, job, path, cli_operand_format(job, path));
  if (result == CLI_OK) {
    cpb_status status = cpb_index_build(&in.source, (cpb_metric)job->options.metric.at, job->options.output,
                                        cli_exec(job), &error);
    if (status != CPB_OK)
      result = cli_is_about(&error, "path") ? fail(job, &error) : cli_fail_input(&in, status, &error);
  }
  cli_input_close(&in);
  return result;
}

CLI_OPTIONS(build_options, &cli_opt_output, &cli_opt_metric, CLI_OPT_TABLE, &cli_opt_quiet, &cli_opt_threads,
            &cli_opt_help);

const cli_command cli_verb_index_build = {
    .verb = "index build",
    .operands = "BASE -o INDEX",
    .summary = "an index of the rows of a file, for exact search",
    .text =
        "The index holds the rows, and codes if rows have 32 to 16384 numbers: of one byte per number, or of "
        "fewer directions of the rows, as a sample suggests; index info prints which. Ids are row numbers, "
        "from 0. BASE is read once, a block at a time, and may be larger than memory.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "capball index build base.csv -o base.index\n"
               "capball index info base.index",
    .least = 1,
    .most = 1,
    .options = build_options,
    .required = 1,
    .run = build};

/* ---- changes ---- */

static cpb_view in_dtype(cpb_view rows, cpb_dtype dtype, void **converted) {
  *converted = NULL;
  if (rows.dtype == dtype || dtype > CPB_F64) return rows;
  double *wide = cli_alloc(rows.rows * rows.cols + 1, sizeof *wide);
  cpb_view_widen(rows, wide);
  *converted = wide;
  if (dtype == CPB_F64) return cpb_rows(wide, CPB_F64, rows.rows, rows.cols);
  float *single = cli_alloc(rows.rows * rows.cols + 1, sizeof *single);
  for (size_t i = 0; i < rows.rows * rows.cols; i++) single[i] = (float)wide[i];
  free(wide);
  *converted = single;
  return cpb_rows(single, CPB_F32, rows.rows, rows.cols);
}

static int add_rows(cli_job *job, cpb_index *index) {
  cli_input in = {0};
  cpb_error error;
  const char *path = job->operands[1];
  uint64_t added = 0;
  const cpb_index_report facts = facts_of(index);
  int result = cli_input_open_unmatched(&in, job, path, cli_operand_format(job, path));
  if (result == CLI_OK)
    result = cli_input_match(&in, facts.columns, facts.cols, "", job->operands[0], "holds rows of");
  cpb_status status = result == CLI_OK ? in.source.rewind(&in.source, &error) : CPB_OK;
  for (bool more = result == CLI_OK; status == CPB_OK && more;) {
    cpb_view rows;
    void *converted;
    status = in.source.next(&in.source, &rows, &error);
    if (status != CPB_OK) result = cli_fail_input(&in, status, &error);
    more = status == CPB_OK && rows.rows > 0;
    if (!more) break;
    rows = in_dtype(rows, facts.dtype, &converted);
    status = cpb_index_add(index, rows, NULL, cli_exec(job), &error);
    if (status != CPB_OK) result = cli_fail_block(&in, added, status, &error);
    if (status == CPB_OK) added += rows.rows;
    free(converted);
  }
  if (added > 0 && cpb_index_save(index, NULL, &error) != CPB_OK) result = fail(job, &error);
  if (result != CLI_OK && added > 0)
    cli_fail(job, "%s: rows 0 to %llu have been added", cli_name(path), (unsigned long long)added - 1);
  cli_input_close(&in);
  return result;
}

static int add(cli_job *job) {
  cpb_index *index = NULL;
  int result = open_index(job, true, &index);
  if (result == CLI_OK) result = add_rows(job, index);
  cpb_index_free(index);
  return result;
}

CLI_OPTIONS(add_options, CLI_OPT_TABLE, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_index_add = {
    .verb = "index add",
    .operands = "INDEX ROWS",
    .summary = "add the rows of a file to an index",
    .text =
        "Their ids follow the largest id that was ever in the index. Columns are taken by name if both have "
        "names. Numbers are converted to f32 or f64 if the index has that type; otherwise they must have the "
        "type of the index. Each block of rows is added completely or not at all, and all are on disk at the "
        "end. Only one program can write at a time; programs that read the index see the state at the time "
        "they opened it.",
    .example = "printf '0,0\\n3,4\\n' > base.csv\n"
               "printf '1,1\\n' > more.csv\n"
               "capball index build base.csv -o base.index\n"
               "capball index add base.index more.csv",
    .least = 2,
    .most = 2,
    .options = add_options,
    .run = add};

static int remove_ids(cli_job *job, cpb_index *index) {
  cpb_error error;
  size_t count = job->count - 1;
  uint64_t *ids = cli_alloc(count, sizeof *ids);
  int result = CLI_OK;
  for (size_t i = 0; i < count && result == CLI_OK; i++) {
    const char *word = job->operands[i + 1];
    const char *end;
    if (!cli_read_count(word, &end, &ids[i]) || *end != 0)
      result = cli_misuse(job, "\"%s\" is not an id", word);
  }
  if (result == CLI_OK && (cpb_index_remove(index, ids, count, NULL, &error) != CPB_OK ||
                           cpb_index_save(index, NULL, &error) != CPB_OK))
    result = fail(job, &error);
  free(ids);
  return result;
}

static int remove_rows(cli_job *job) {
  cpb_index *index = NULL;
  int result = open_index(job, true, &index);
  if (result == CLI_OK) result = remove_ids(job, index);
  cpb_index_free(index);
  return result;
}

CLI_OPTIONS(plain_options, &cli_opt_quiet, &cli_opt_help);

const cli_command cli_verb_index_remove = {.verb = "index remove",
                                           .operands = "INDEX ID ..",
                                           .summary = "remove rows from an index by their ids",
                                           .text = "All of them or, if one is not in the index, none. "
                                                   "`capball index compact` reclaims their space.",
                                           .example = "printf '0,0\\n3,4\\n' > base.csv\n"
                                                      "capball index build base.csv -o base.index\n"
                                                      "capball index remove base.index 1",
                                           .least = 2,
                                           .most = 1 << 20,
                                           .options = plain_options,
                                           .run = remove_rows};

static int compact(cli_job *job) {
  cpb_index *index = NULL;
  cpb_error error;
  int result = open_index(job, true, &index);
  if (result == CLI_OK && cpb_index_compact(index, cli_exec(job), &error) != CPB_OK)
    result = fail(job, &error);
  cpb_index_free(index);
  return result;
}

CLI_OPTIONS(compact_options, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_index_compact = {.verb = "index compact",
                                            .operands = "INDEX",
                                            .summary = "rewrite an index without removed rows",
                                            .text =
                                                "Ids do not change. The file is replaced atomically. Rows "
                                                "added since the last rewrite are held in memory until "
                                                "then, and mapped afterwards.",
                                            .example = "printf '0,0\\n3,4\\n' > base.csv\n"
                                                       "capball index build base.csv -o base.index\n"
                                                       "capball index remove base.index 0\n"
                                                       "capball index compact base.index",
                                            .least = 1,
                                            .most = 1,
                                            .options = compact_options,
                                            .run = compact};

static int check(cli_job *job) {
  cpb_index *index = NULL;
  cpb_error error;
  int result = open_index(job, false, &index);
  if (result == CLI_OK && cpb_index_check(index, cli_exec(job), &error) != CPB_OK) result = fail(job, &error);
  cpb_index_free(index);
  return result;
}

const cli_command cli_verb_index_check = {
    .verb = "index check",
    .operands = "INDEX",
    .summary = "verify the checksums of an index",
    .text =
        "Reads the whole file; opening an index verifies its header only, and takes its log up to the first "
        "damaged or unfinished record. The status is 1 and a message names the bytes if there is damage.",
    .example = "printf '0,0\\n3,4\\n' > base.csv\n"
               "capball index build base.csv -o base.index\n"
               "capball index check base.index",
    .least = 1,
    .most = 1,
    .options = plain_options,
    .run = check};

static void print_facts(const cpb_index_report *f) {
  printf("%llu row%s of %zu, %s, %s; %llu removed, next id %llu; searched ", (unsigned long long)f->rows,
         cli_s(f->rows), f->cols, cpb_dtype_name(f->dtype), cpb_metric_name(f->metric),
         (unsigned long long)f->removed, (unsigned long long)f->next_id);
  if (f->directions > 0)
    printf("by codes of %zu directions and the length of the rest, one byte each\n", f->directions);
  else
    puts(f->bytes ? "by codes of one byte" : "in floats: rows are too short for codes");
}

static int info(cli_job *job) {
  cpb_index *index = NULL;
  int result = open_index(job, false, &index);
  if (result != CLI_OK) return result;
  cpb_index_report f = facts_of(index);
  if (job->options.json)
    result = cli_print_json(
        job, cli_json("{s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:b, s:I}", "rows", (uint64_t)f.rows, "columns",
                      (uint64_t)f.cols, "dtype", cpb_dtype_name(f.dtype), "metric", cpb_metric_name(f.metric),
                      "removed", (uint64_t)f.removed, "next_id", (uint64_t)f.next_id, "code_bytes",
                      (uint64_t)f.code_bytes, "bytes", (int)f.bytes, "directions", (uint64_t)f.directions));
  else
    print_facts(&f);
  cpb_index_free(index);
  return result;
}

CLI_OPTIONS(info_options, &cli_opt_json, &cli_opt_help);

const cli_command cli_verb_index_info = {
    .verb = "index info",
    .operands = "INDEX",
    .summary = "print the contents of an index",
    .text = "Rows, columns, element type, metric, rows removed, and how it is searched.",
    .example = "printf '0,0\\n3,4\\n' > base.csv\n"
               "capball index build base.csv -o base.index\n"
               "capball index info base.index --json",
    .least = 1,
    .most = 1,
    .options = info_options,
    .run = info};

/* ---- export ---- */

enum { EXPORTED = 1024 /* rows at once */ };

static int open_rows_file(cli_job *job, const cpb_index_report *f, cli_output *out) {
  const cli_options *o = &job->options;
  cpb_writer_options options;
  cpb_error error;
  cpb_writer_options_init(&options, sizeof options);
  options.format = o->to;
  options.dtype = cli_output_dtype(o->output, o->to, o->dtype, f->dtype);
  options.cols = f->cols;
  options.rows = f->rows;
  options.columns = o->bare ? NULL : f->columns;
  cpb_status status = cpb_writer_open(o->output, &options, &out->writers[out->count++], &error);
  return status == CPB_OK ? CLI_OK : fail(job, &error);
}

static int export_rows(cli_job *job, const cpb_index *index, const cpb_index_report *f, cli_output *out) {
  char *rows = cli_alloc(EXPORTED * f->cols, cpb_dtype_size(f->dtype));
  uint64_t *ids = cli_alloc(EXPORTED, sizeof *ids), place = 0;
  size_t count = 0;
  cpb_error error;
  int result = CLI_OK;
  do {
    if (cpb_index_read(index, &place, EXPORTED, ids, rows, &count, &error) != CPB_OK)
      result = fail(job, &error);
    if (result == CLI_OK) result = cli_output_append(out, 0, cpb_rows(rows, f->dtype, count, f->cols));
    if (result == CLI_OK) result = cli_output_append(out, 1, cpb_rows(ids, CPB_I64, count, 1));
  } while (result == CLI_OK && count > 0);
  free(rows);
  free(ids);
  return result;
}

static int export_index(cli_job *job) {
  const cli_options *o = &job->options;
  cpb_index *index = NULL;
  cli_output out = {.job = job};
  int result = cli_check_typed(job, o->output, o->to, "to");
  if (result == CLI_OK && o->ids != NULL) result = cli_check_id_format(job, o->ids, NULL, "ids");
  if (result == CLI_OK) result = open_index(job, false, &index);
  if (result != CLI_OK) return result;
  cpb_index_report f = facts_of(index);
  if (o->ids != NULL && f.next_id > (uint64_t)INT64_MAX + 1)
    result = cli_fail(job, "%s: ids above 2^63-1 cannot be written", job->operands[0]);
  if (result == CLI_OK) result = open_rows_file(job, &f, &out);
  if (result == CLI_OK)
    result = cli_output_add(&out, o->ids, NULL, cli_id_dtype(o->ids, NULL, f.next_id), 1, f.rows, "id");
  if (result == CLI_OK) result = export_rows(job, index, &f, &out);
  result = cli_output_finish(&out, result);
  cpb_index_free(index);
  return result;
}

static CLI_OPTION(exported_ids, "ids", 0, CLI_WRITTEN, "FILE", ids,
                  "write the ids of the rows, one per row, in the same order");

CLI_OPTIONS(export_options, &cli_opt_output, &exported_ids, &cli_opt_dtype, &cli_opt_to, &cli_opt_bare,
            &cli_opt_quiet, &cli_opt_help);

const cli_command cli_verb_index_export = {
    .verb = "index export",
    .operands = "INDEX -o ROWS",
    .summary = "write the rows of an index, and their ids, to files",
    .text = "In the order in which they were added, in any format that `capball convert` writes; --to and "
            "--dtype are those of ROWS.",
    .example = "printf '0,0\n3,4\n6,8\n' > base.csv\n"
               "capball index build base.csv -o base.index\n"
               "capball index remove base.index 1\n"
               "capball index export base.index -o rows.csv --ids ids.csv\n"
               "paste -d: ids.csv rows.csv",
    .least = 1,
    .most = 1,
    .options = export_options,
    .required = 1,
    .run = export_index};

/* ---- searches ---- */

typedef struct asking {
  cli_job *job;
  cpb_index *index;
  cli_input queries;
  cpb_index_report facts;
} asking;

static int begin(asking *a, cli_job *job) {
  const char *path = job->operands[1];
  *a = (asking){.job = job};
  int result = open_index(job, false, &a->index);
  if (result != CLI_OK) return result;
  a->facts = facts_of(a->index);
  result = cli_input_open_unmatched(&a->queries, job, path, cli_operand_format(job, path));
  if (result == CLI_OK)
    result = cli_input_match(&a->queries, a->facts.columns, a->facts.cols, "", job->operands[0],
                             "takes queries of");
  return result == CLI_OK ? cli_input_take(&a->queries) : result;
}

static void end(asking *a) {
  cli_input_close(&a->queries);
  cpb_index_free(a->index);
}

/* A block of queries at a time, to bound the memory for hits. */
static int search_and_write(asking *a, cli_output *out, size_t k) {
  enum { AT_ONCE = 4096 };
  cpb_view all = a->queries.rows;
  cpb_hit *hits = cli_alloc(AT_ONCE * k, sizeof *hits);
  int64_t *ids = cli_alloc(AT_ONCE * k, sizeof *ids);
  double *values = cli_alloc(AT_ONCE * k, sizeof *values);
  cpb_error error;
  cpb_status status = CPB_OK;
  size_t first = 0;
  while (status == CPB_OK && first < all.rows) {
    size_t here = all.rows - first < AT_ONCE ? all.rows - first : AT_ONCE;
    cpb_view part = all;
    part.data = (const char *)all.data + first * all.stride * cpb_dtype_size(all.dtype);
    part.rows = here;
    status = cpb_index_search(a->index, part, k, NULL, hits, NULL, cli_exec(a->job), &error);
    for (size_t i = 0; status == CPB_OK && i < here * k; i++)
      ids[i] = (int64_t)hits[i].id, values[i] = hits[i].value;
    if (status == CPB_OK)
      status = cpb_writer_append(out->writers[0], cpb_rows(ids, CPB_I64, here, k), &error);
    if (status == CPB_OK && out->writers[1] != NULL)
      status = cpb_writer_append(out->writers[1], cpb_rows(values, CPB_F64, here, k), &error);
    if (status == CPB_OK) first += here;
  }
  free(hits);
  free(ids);
  free(values);
  return status == CPB_OK ? CLI_OK : cli_fail_block(&a->queries, first, status, &error);
}

static int search(cli_job *job) {
  asking a;
  const cli_options *o = &job->options;
  size_t k = (size_t)o->neighbours.value;
  cpb_error error;
  int result = cli_check_id_format(job, o->output, o->to, "to");
  if (result == CLI_OK) result = cli_check_distances(job);
  if (result != CLI_OK) return result;
  result = begin(&a, job);
  if (result == CLI_OK && cpb_index_check_k(a.index, k, &error) != CPB_OK)
    result = cli_fail(job, "%s: %s", job->operands[0], error.text);
  if (result == CLI_OK && a.facts.next_id > (uint64_t)INT64_MAX + 1)
    result = cli_fail(job, "%s: ids above 2^63-1 cannot be written", job->operands[0]);
  if (result == CLI_OK) {
    cli_output out = {.job = job, .rows = &a.queries};
    size_t n = a.queries.rows.rows;
    result = cli_output_add(&out, o->output, o->to, cli_id_dtype(o->output, o->to, a.facts.next_id), k, n,
                            "neighbour");
    if (result == CLI_OK)
      result = cli_output_add(&out, o->distances, NULL, cli_distance_dtype(o->distances, o->dtype), k, n,
                              cli_value_word(a.facts.metric));
    if (result == CLI_OK) result = search_and_write(&a, &out, k);
    result = cli_output_finish(&out, result);
  }
  end(&a);
  return result;
}

CLI_OPTIONS(search_options, &cli_opt_output, &cli_opt_neighbours, &cli_opt_distances, &cli_opt_distance_dtype,
            CLI_OPT_TABLE, &cli_opt_to, &cli_opt_bare, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_index_search = {
    .verb = "index search",
    .operands = "INDEX QUERIES -o IDS",
    .summary = "the k nearest rows of an index for each query, exactly",
    .text =
        "The results of `capball knn` over the rows of the index, as ids. Columns are taken by name if both "
        "files have names. The index is mapped: only the rows that codes cannot exclude are read.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball index build base.csv -o base.index\n"
               "capball index search base.index queries.csv -k 2 -o ids.csv\n"
               "cat ids.csv",
    .least = 2,
    .most = 2,
    .options = search_options,
    .required = 1,
    .run = search};

static cpb_status put_line(void *context, size_t query, const cpb_hit *hits, size_t count, cpb_error *error) {
  const asking *a = context;
  (void)error;
  printf("{\"query\":%zu,\"ids\":[", query);
  for (size_t i = 0; i < count; i++) printf("%s%llu", i == 0 ? "" : ",", (unsigned long long)hits[i].id);
  fputs("],", stdout);
  cli_put_values(stdout, hits, count, a->facts.metric);
  puts("}");
  return CPB_OK;
}

static int range(cli_job *job) {
  asking a;
  cpb_error error;
  int result = begin(&a, job);
  if (result == CLI_OK) result = cli_check_radius(job, a.facts.metric);
  size_t n = a.queries.rows.rows;
  double *limits = cli_alloc(n + 1, sizeof *limits);
  for (size_t i = 0; i < n; i++) limits[i] = job->options.radius.value;
  if (result == CLI_OK) {
    cpb_status status =
        cpb_index_range(a.index, a.queries.rows, limits, NULL, put_line, &a, cli_exec(job), &error);
    if (status != CPB_OK) result = cli_fail_input(&a.queries, status, &error);
  }
  if (result == CLI_OK && (fflush(stdout) != 0 || ferror(stdout))) result = cli_fail_stdout(job);
  free(limits);
  end(&a);
  return result;
}

static CLI_OPTION(radius, "radius", 0, CLI_NUMBER, "R", radius,
                  "all rows within this distance; with ip and cosine, of at least this value");

CLI_OPTIONS(range_options, &radius, CLI_OPT_TABLE, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_index_range = {
    .verb = "index range",
    .operands = "INDEX QUERIES --radius R",
    .summary = "all rows of an index within a radius of each query, exactly",
    .text =
        "One line of JSON per query, nearest rows first. Columns are taken by name if both files have names.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "printf '0,1\\n5,5\\n' > queries.csv\n"
               "capball index build base.csv -o base.index\n"
               "capball index range base.index queries.csv --radius 2.5",
    .least = 2,
    .most = 2,
    .options = range_options,
    .required = 1,
    .run = range};
