/* An index in a file: build, change, check and search it. */
#include "capball/index.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_file.h"
#include "format_names.h"
#include "json_print.h"
#include "name_list.h"
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

/* How rows are added: with the next ids, or with names, and perhaps in place of others. */
typedef struct adding {
  cli_job *job;
  cpb_index *index;
  cli_name_list names; /* of all rows; none: the next ids */
  bool named, replaces;
  uint64_t count; /* so far */
} adding;

static int take_names(adding *a, bool keyed) {
  const cli_options *o = &a->job->options;
  const char *path = keyed ? o->keys : o->ids;
  a->named = path != NULL;
  return a->named ? cli_read_names(a->job, path, keyed, &a->names) : CLI_OK;
}

static cpb_status add_named(adding *a, cpb_view rows, cpb_error *error) {
  const uint64_t *ids = cli_ids_of(&a->names, (size_t)a->count);
  const cpb_exec *exec = cli_exec(a->job);
  if (ids != NULL)
    return a->replaces ? cpb_index_put(a->index, rows, ids, exec, error)
                       : cpb_index_add(a->index, rows, ids, exec, error);
  cpb_index_keys keys = cli_keys_of(&a->names, (size_t)a->count, (size_t)a->count + rows.rows);
  return a->replaces ? cpb_index_put_keys(a->index, rows, &keys, exec, error)
                     : cpb_index_add_keys(a->index, rows, &keys, exec, error);
}

static int fail_count(const adding *a, const char *path, const char *which) {
  return cli_fail(a->job, "%s has %s rows than there are names: %zu", cli_name(path), which, a->names.count);
}

static int add_block(adding *a, const cli_input *in, cpb_view rows) {
  cpb_error error;
  if (a->named && rows.rows > a->names.count - a->count) return fail_count(a, in->info.path, "more");
  cpb_status status =
      a->named ? add_named(a, rows, &error) : cpb_index_add(a->index, rows, NULL, cli_exec(a->job), &error);
  if (status != CPB_OK)
    return cli_is_about(&error, "rows") ? cli_fail_block(in, a->count, status, &error) : fail(a->job, &error);
  a->count += rows.rows;
  return CLI_OK;
}

static cpb_view in_dtype(cpb_view rows, cpb_dtype dtype, void **converted);

/* All rows of a file, a block at a time. */
static int add_file(adding *a, cli_input *in, cpb_dtype dtype) {
  cpb_error error;
  cpb_view rows = {0};
  cpb_status status = in->source.rewind(&in->source, &error);
  int result = status == CPB_OK ? CLI_OK : cli_fail_input(in, status, &error);
  do {
    void *converted = NULL;
    if (result == CLI_OK && (status = in->source.next(&in->source, &rows, &error)) != CPB_OK)
      result = cli_fail_input(in, status, &error);
    if (result == CLI_OK && rows.rows > 0) result = add_block(a, in, in_dtype(rows, dtype, &converted));
    free(converted);
  } while (result == CLI_OK && rows.rows > 0);
  return result == CLI_OK && a->named && a->count < a->names.count ? fail_count(a, in->info.path, "fewer")
                                                                   : result;
}

/* In memory: a file is written at once for rows that have their numbers as ids only. */
static int build_named(cli_job *job, cli_input *in) {
  const cli_options *o = &job->options;
  cpb_index_options options;
  cpb_error error;
  adding a = {.job = job};
  cpb_index_options_init(&options, sizeof options);
  options.cols = in->source.cols;
  options.dtype = in->source.dtype;
  options.metric = (cpb_metric)o->metric.at;
  options.columns = in->source.names;
  options.keys = o->keys != NULL;
  int result = take_names(&a, options.keys);
  if (result == CLI_OK && cpb_index_new(&options, &a.index, &error) != CPB_OK) result = fail(job, &error);
  if (result == CLI_OK) result = add_file(&a, in, options.dtype);
  if (result == CLI_OK && cpb_index_save(a.index, o->output, &error) != CPB_OK) result = fail(job, &error);
  cpb_index_free(a.index);
  cli_free_names(&a.names);
  return result;
}

static int check_names(const cli_job *job) {
  if (job->options.ids == NULL || job->options.keys == NULL) return CLI_OK;
  return cli_misuse(job, "--ids and --keys exclude each other");
}

static int build(cli_job *job) {
  cli_input in = {0};
  cpb_error error;
  const char *path = job->operands[0];
  int result = cli_input_open(&in, job, path, cli_operand_format(job, path));
  if (result == CLI_OK && (job->options.ids != NULL || job->options.keys != NULL)) {
    result = build_named(job, &in);
  } else if (result == CLI_OK) {
    cpb_status status = cpb_index_build(&in.source, (cpb_metric)job->options.metric.at, job->options.output,
                                        cli_exec(job), &error);
    if (status != CPB_OK)
      result = cli_is_about(&error, "path") ? fail(job, &error) : cli_fail_input(&in, status, &error);
  }
  cli_input_close(&in);
  return result;
}

static CLI_OPTION(ids_file, "ids", 0, CLI_PATH, "FILE", ids, "a file with the id of each row in a line");
static CLI_OPTION(keys_file, "keys", 0, CLI_PATH, "FILE", keys,
                  "a file with the text key of each row in a line: UTF-8, at most 65536 bytes");

CLI_OPTIONS(build_options, &cli_opt_output, &cli_opt_metric, &ids_file, &keys_file, CLI_OPT_TABLE,
            &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_index_build = {
    .verb = "index build",
    .operands = "BASE -o INDEX",
    .summary = "an index of the rows of a file, for exact search",
    .text =
        "The index holds the rows, and codes if rows have 32 to 16384 numbers: of one byte per number, "
        "or of a "
        "few directions of the rows and then of more, as a sample suggests; index info prints which. Ids "
        "are row numbers, "
        "from 0, or those of --ids, or text keys of --keys. BASE is read once, a block at a time, and may be "
        "larger than memory, but with --ids or --keys.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "capball index build base.csv -o base.index\n"
               "capball index info base.index",
    .least = 1,
    .most = 1,
    .options = build_options,
    .required = 1,
    .check = check_names,
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

static int add_rows(cli_job *job, cpb_index *index, bool replaces) {
  cli_input in = {0};
  cpb_error error;
  const char *path = job->operands[1];
  const cpb_index_report facts = facts_of(index);
  adding a = {.job = job, .index = index, .replaces = replaces};
  int result = take_names(&a, facts.keys);
  if (result == CLI_OK && facts.keys && !a.named)
    result = cli_misuse(job, "%s has text keys: name a file of keys by --keys", job->operands[0]);
  if (result == CLI_OK && replaces && !a.named) result = cli_misuse(job, "name a file of ids by --ids");
  if (result == CLI_OK) result = cli_input_open_unmatched(&in, job, path, cli_operand_format(job, path));
  if (result == CLI_OK)
    result = cli_input_match(&in, facts.columns, facts.cols, "", job->operands[0], "holds rows of");
  if (result == CLI_OK) result = add_file(&a, &in, facts.dtype);
  if (a.count > 0 && cpb_index_save(index, NULL, &error) != CPB_OK) result = fail(job, &error);
  if (result != CLI_OK && a.count > 0)
    cli_fail(job, "%s: rows 0 to %llu have been %s", cli_name(path), (unsigned long long)a.count - 1,
             replaces ? "put" : "added");
  cli_input_close(&in);
  cli_free_names(&a.names);
  return result;
}

static int add_or_put(cli_job *job, bool replaces) {
  cpb_index *index = NULL;
  int result = open_index(job, true, &index);
  if (result == CLI_OK) result = add_rows(job, index, replaces);
  cpb_index_free(index);
  return result;
}

static int add(cli_job *job) { return add_or_put(job, false); }
static int put(cli_job *job) { return add_or_put(job, true); }

CLI_OPTIONS(add_options, &ids_file, &keys_file, CLI_OPT_TABLE, &cli_opt_quiet, &cli_opt_threads,
            &cli_opt_help);

const cli_command cli_verb_index_add = {
    .verb = "index add",
    .operands = "INDEX ROWS",
    .summary = "add the rows of a file to an index",
    .text =
        "Their ids follow the largest id that was ever in the index, or are those of --ids; rows with text "
        "keys have those of --keys. Columns are taken by name if both have "
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
    .check = check_names,
    .run = add};

const cli_command cli_verb_index_put = {
    .verb = "index put",
    .operands = "INDEX ROWS",
    .summary = "add the rows of a file to an index, or replace those that it has",
    .text = "By their ids or keys, which --ids or --keys names; otherwise as `capball index add`.",
    .example = "printf '0,0\\n3,4\\n' > base.csv\n"
               "printf 'red\\nblue\\n' > names.txt\n"
               "capball index build base.csv --keys names.txt -o base.index\n"
               "printf '1,1\\n5,5\\n' > changed.csv\n"
               "printf 'blue\\ngreen\\n' > changed.txt\n"
               "capball index put base.index changed.csv --keys changed.txt",
    .least = 2,
    .most = 2,
    .options = add_options,
    .check = check_names,
    .run = put};

/* Keys as ids; one that is not in the index is an error, as an id is. */
static int find_names(const cli_job *job, const cpb_index *index, cli_name_list *names) {
  cpb_error error;
  if (!names->keyed) return CLI_OK;
  names->ids = cli_alloc(names->count + 1, sizeof *names->ids);
  if (cpb_index_find_keys(index, &names->keys, names->ids, &error) != CPB_OK) return fail(job, &error);
  for (size_t i = 0; i < names->count; i++)
    if (names->ids[i] == UINT64_MAX)
      return cli_fail(job, "%s: key \"%s\" is not in the index", job->operands[0], job->operands[i + 1]);
  return CLI_OK;
}

static int remove_ids(cli_job *job, cpb_index *index) {
  cpb_error error;
  cli_name_list names;
  int result = cli_take_names(job, job->operands + 1, job->count - 1, facts_of(index).keys, &names);
  if (result == CLI_OK) result = find_names(job, index, &names);
  if (result == CLI_OK && (cpb_index_remove(index, names.ids, names.count, NULL, &error) != CPB_OK ||
                           cpb_index_save(index, NULL, &error) != CPB_OK))
    result = fail(job, &error);
  cli_free_names(&names);
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
                                           .summary = "remove rows from an index by their ids or keys",
                                           .text = "All of them or, if one is not in the index, none. "
                                                   "Their space is reclaimed by itself when a quarter of the "
                                                   "rows is removed, and by `capball index compact`.",
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

/* "1.5 MB" */
static void print_bytes(const char *what, uint64_t bytes, const char *after) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  double size = (double)bytes;
  size_t unit = 0;
  while (size >= 1000 && unit < 4) size /= 1000, unit++;
  printf(unit == 0 ? "%s%.0f %s%s" : "%s%.1f %s%s", what, size, units[unit], after);
}

static void print_facts(const cpb_index_report *f) {
  printf("%llu row%s of %zu, %s, %s; %llu removed, next id %llu; searched ", (unsigned long long)f->rows,
         cli_s(f->rows), f->cols, cpb_dtype_name(f->dtype), cpb_metric_name(f->metric),
         (unsigned long long)f->removed, (unsigned long long)f->next_id);
  if (f->levels[0] == 0) puts(f->bytes ? "by codes of one byte" : "in floats: rows are too short for codes");
  if (f->levels[0] > 0) printf("by codes of %zu", f->levels[0]);
  for (size_t i = 1; i < CPB_INDEX_LEVELS && f->levels[i] > 0; i++) printf(", then %zu", f->levels[i]);
  if (f->levels[0] > 0) puts(" directions and the length of the rest, one byte each");
  printf("%s; ", f->keys ? "text keys" : "whole numbers as ids");
  print_bytes("", f->file_bytes, "");
  if (f->bytes) print_bytes(", of which codes ", f->code_bytes, "");
  print_bytes(", changes since it was written or compacted ", f->log_bytes, "\n");
}

static cpb_text *levels_of(const cpb_index_report *f) {
  double levels[CPB_INDEX_LEVELS];
  size_t count = 0;
  for (; count < CPB_INDEX_LEVELS && f->levels[count] > 0; count++) levels[count] = (double)f->levels[count];
  return cli_json("V", levels, count);
}

static int info(cli_job *job) {
  cpb_index *index = NULL;
  int result = open_index(job, false, &index);
  if (result != CLI_OK) return result;
  cpb_index_report f = facts_of(index);
  if (job->options.json)
    result = cli_print_json(job, cli_json("{s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:b, s:o, s:b, s:I, s:I}",
                                          "rows", (uint64_t)f.rows, "columns", (uint64_t)f.cols, "dtype",
                                          cpb_dtype_name(f.dtype), "metric", cpb_metric_name(f.metric),
                                          "removed", (uint64_t)f.removed, "next_id", (uint64_t)f.next_id,
                                          "code_bytes", (uint64_t)f.code_bytes, "bytes", (int)f.bytes,
                                          "levels", levels_of(&f), "keys", (int)f.keys, "file_bytes",
                                          (uint64_t)f.file_bytes, "log_bytes", (uint64_t)f.log_bytes));
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
    .text = "Rows, columns, element type, metric, rows removed, how it is searched, and what its file has: "
            "text keys, its size, and how much of it are changes that compaction will take in.",
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

/* A key in each line. */
static int put_keys(const cli_job *job, const cpb_index *index, const uint64_t *ids, size_t count,
                    cpb_text *to) {
  uint64_t *offsets = cli_alloc(count + 1, sizeof *offsets);
  char *text;
  int result = cli_keys_of_ids(job, index, ids, count, &text, offsets);
  for (size_t i = 0; result == CLI_OK && i < count; i++) {
    size_t bytes = (size_t)(offsets[i + 1] - offsets[i]);
    if (memchr(text + offsets[i], '\n', bytes) != NULL || memchr(text + offsets[i], '\r', bytes) != NULL)
      result = cli_fail(
          job, "the key of id %llu has a line break, and %s has a key in each line: export it by Python",
          (unsigned long long)ids[i], job->options.ids);
    cpb_text_put(to, text + offsets[i], bytes);
    cpb_text_puts(to, "\n");
  }
  free(text);
  free(offsets);
  return result;
}

/* keys: receives keys in place of ids; NULL: ids are the second output. */
static int export_rows(cli_job *job, const cpb_index *index, const cpb_index_report *f, cli_output *out,
                       cpb_text *keys) {
  char *rows = cli_alloc(EXPORTED * f->cols, cpb_dtype_size(f->dtype));
  uint64_t *ids = cli_alloc(EXPORTED, sizeof *ids), place = 0;
  size_t count = 0;
  cpb_error error;
  int result = CLI_OK;
  do {
    if (cpb_index_read(index, &place, EXPORTED, ids, rows, &count, &error) != CPB_OK)
      result = fail(job, &error);
    if (result == CLI_OK) result = cli_output_append(out, 0, cpb_rows(rows, f->dtype, count, f->cols));
    if (result == CLI_OK)
      result = keys != NULL ? put_keys(job, index, ids, count, keys)
                            : cli_output_append(out, 1, cpb_rows(ids, CPB_I64, count, 1));
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
  cpb_text keys = {0};
  if (result == CLI_OK) result = open_index(job, false, &index);
  if (result != CLI_OK) return result;
  cpb_index_report f = facts_of(index);
  if (o->ids != NULL && !f.keys) result = cli_check_id_format(job, o->ids, NULL, "ids");
  if (result == CLI_OK && o->ids != NULL && f.next_id > (uint64_t)INT64_MAX + 1)
    result = cli_fail(job, "%s: ids above 2^63-1 cannot be written", job->operands[0]);
  if (result == CLI_OK) result = open_rows_file(job, &f, &out);
  if (result == CLI_OK)
    result = cli_output_add(&out, f.keys ? NULL : o->ids, NULL,
                            cli_id_dtype(f.keys ? NULL : o->ids, NULL, f.next_id), 1, f.rows, "id");
  if (result == CLI_OK) result = export_rows(job, index, &f, &out, f.keys && o->ids != NULL ? &keys : NULL);
  if (result == CLI_OK && f.keys && o->ids != NULL) {
    result = cli_write_text(job, o->ids, keys.bytes, keys.used);
    keys.bytes = NULL;
  }
  free(keys.bytes);
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
            "--dtype are those of ROWS. Text keys are written one per line.",
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
  cli_name_list names; /* of the filter */
  cpb_index_filter filter;
  const cpb_index_filter *given; /* NULL: all rows */
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
  const char *filter = job->options.filter;
  if (result == CLI_OK && filter != NULL) {
    result = cli_read_filter(job, a->index, filter, &a->names, &a->filter);
    a->given = &a->filter;
  }
  return result == CLI_OK ? cli_input_take(&a->queries) : result;
}

static void end(asking *a) {
  cli_input_close(&a->queries);
  cli_free_names(&a->names);
  cpb_index_free(a->index);
}

static void put_cell(cpb_text *to, const char *key, size_t bytes) {
  bool quoted =
      memchr(key, ',', bytes) != NULL || memchr(key, '"', bytes) != NULL || memchr(key, '\n', bytes) != NULL;
  if (quoted) cpb_text_puts(to, "\"");
  for (size_t i = 0; i < bytes; i++) {
    if (key[i] == '"') cpb_text_puts(to, "\"");
    cpb_text_put(to, key + i, 1);
  }
  if (quoted) cpb_text_puts(to, "\"");
}

/* A line of keys for each query, as csv, which quotes where it must; a place without a row is empty. */
static int put_key_lines(const asking *a, const uint64_t *ids, size_t rows, size_t k, cpb_text *to) {
  uint64_t *offsets = cli_alloc(rows * k + 1, sizeof *offsets);
  char *text;
  int result = cli_keys_of_ids(a->job, a->index, ids, rows * k, &text, offsets);
  for (size_t i = 0; result == CLI_OK && i < rows * k; i++) {
    put_cell(to, text + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
    cpb_text_puts(to, (i + 1) % k == 0 ? "\n" : ",");
  }
  free(text);
  free(offsets);
  return result;
}

/* A block of queries at a time, to bound the memory for hits. */
static int search_and_write(asking *a, cli_output *out, size_t k, cpb_text *keys) {
  enum { AT_ONCE = 4096 };
  cpb_view all = a->queries.rows;
  cpb_hit *hits = cli_alloc(AT_ONCE * k, sizeof *hits);
  int64_t *ids = cli_alloc(AT_ONCE * k, sizeof *ids);
  double *values = cli_alloc(AT_ONCE * k, sizeof *values);
  cpb_error error;
  cpb_status status = CPB_OK;
  size_t first = 0;
  int result = CLI_OK;
  while (status == CPB_OK && first < all.rows) {
    size_t here = all.rows - first < AT_ONCE ? all.rows - first : AT_ONCE;
    cpb_view part = all;
    part.data = (const char *)all.data + first * all.stride * cpb_dtype_size(all.dtype);
    part.rows = here;
    status = cpb_index_search(a->index, part, k, a->given, hits, NULL, cli_exec(a->job), &error);
    for (size_t i = 0; status == CPB_OK && i < here * k; i++)
      ids[i] = (int64_t)hits[i].id, values[i] = hits[i].value;
    if (status == CPB_OK && keys != NULL)
      result = put_key_lines(a, (const uint64_t *)ids, here, k, keys);
    else if (status == CPB_OK)
      status = cpb_writer_append(out->writers[0], cpb_rows(ids, CPB_I64, here, k), &error);
    if (result != CLI_OK) break;
    if (status == CPB_OK && out->writers[1] != NULL)
      status = cpb_writer_append(out->writers[1], cpb_rows(values, CPB_F64, here, k), &error);
    if (status == CPB_OK) first += here;
  }
  free(hits);
  free(ids);
  free(values);
  return status == CPB_OK ? result : cli_fail_block(&a->queries, first, status, &error);
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
    cpb_text keys = {0};
    const char *path = a.facts.keys ? NULL : o->output; /* keys are written as text */
    result = cli_output_add(&out, path, o->to, cli_id_dtype(path, o->to, a.facts.next_id), k, n, "neighbour");
    if (result == CLI_OK)
      result = cli_output_add(&out, o->distances, NULL, cli_distance_dtype(o->distances, o->dtype), k, n,
                              cli_value_word(a.facts.metric));
    if (result == CLI_OK) result = search_and_write(&a, &out, k, a.facts.keys ? &keys : NULL);
    if (result == CLI_OK && a.facts.keys) {
      result = cli_write_text(job, o->output, keys.bytes, keys.used);
      keys.bytes = NULL;
    }
    free(keys.bytes);
    result = cli_output_finish(&out, result);
  }
  end(&a);
  return result;
}

static CLI_OPTION(filter, "filter", 0, CLI_TEXT, "FILE", filter,
                  "find only rows with the ids or keys in the lines of a file, or ids from A to B: A..B");

CLI_OPTIONS(search_options, &cli_opt_output, &cli_opt_neighbours, &filter, &cli_opt_distances,
            &cli_opt_distance_dtype, CLI_OPT_TABLE, &cli_opt_to, &cli_opt_bare, &cli_opt_quiet,
            &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_index_search = {
    .verb = "index search",
    .operands = "INDEX QUERIES -o IDS",
    .summary = "the k nearest rows of an index for each query, exactly",
    .text = "The results of `capball knn` over the rows of the index, as ids; text keys are written as csv. "
            "Where "
            "--filter leaves fewer than k rows, ids are -1 and keys empty. Columns are taken by name if both "
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

/* Results of a range: those of an index with keys are kept, as keys are asked for when the search is over. */
typedef struct ranging {
  asking *a;
  cpb_hit *hits;
  size_t *ends; /* of each query, among the hits */
  size_t count, room;
} ranging;

static void print_ids(const cpb_hit *hits, size_t count) {
  for (size_t i = 0; i < count; i++) printf("%s%llu", i == 0 ? "" : ",", (unsigned long long)hits[i].id);
}

static int print_keys(const asking *a, const cpb_hit *hits, size_t count) {
  uint64_t *ids = cli_alloc(count + 1, sizeof *ids), *offsets = cli_alloc(count + 1, sizeof *offsets);
  char *text;
  for (size_t i = 0; i < count; i++) ids[i] = hits[i].id;
  int result = cli_keys_of_ids(a->job, a->index, ids, count, &text, offsets);
  for (size_t i = 0; result == CLI_OK && i < count; i++) {
    cpb_text json = {0};
    char *key = cli_alloc((size_t)(offsets[i + 1] - offsets[i]) + 1, 1);
    memcpy(key, text + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
    cpb_json_string(&json, key);
    if (i > 0) putchar(',');
    if (json.bytes != NULL) fwrite(json.bytes, 1, json.used, stdout);
    free(json.bytes);
    free(key);
  }
  free(text);
  free(ids);
  free(offsets);
  return result;
}

static int print_line(const asking *a, size_t query, const cpb_hit *hits, size_t count) {
  int result = CLI_OK;
  printf("{\"query\":%zu,\"ids\":[", query);
  if (a->facts.keys)
    result = print_keys(a, hits, count);
  else
    print_ids(hits, count);
  fputs("],", stdout);
  cli_put_values(stdout, hits, count, a->facts.metric);
  puts("}");
  return result;
}

static cpb_status take_line(void *context, size_t query, const cpb_hit *hits, size_t count,
                            cpb_error *error) {
  ranging *r = context;
  (void)error;
  if (!r->a->facts.keys) return print_line(r->a, query, hits, count) == CLI_OK ? CPB_OK : CPB_EIO;
  if (r->count + count > r->room) {
    size_t room = 2 * (r->count + count);
    cpb_hit *larger = cli_alloc(room, sizeof *larger);
    if (r->count > 0) memcpy(larger, r->hits, r->count * sizeof *larger);
    free(r->hits);
    r->hits = larger;
    r->room = room;
  }
  if (count > 0) memcpy(r->hits + r->count, hits, count * sizeof *hits);
  r->ends[query] = r->count += count;
  return CPB_OK;
}

static int print_kept(const ranging *r, size_t queries) {
  int result = CLI_OK;
  for (size_t i = 0, first = 0; r->a->facts.keys && result == CLI_OK && i < queries; first = r->ends[i++])
    result = print_line(r->a, i, r->hits + first, r->ends[i] - first);
  return result;
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
    ranging r = {.a = &a, .ends = cli_alloc(n + 1, sizeof *r.ends)};
    cpb_status status =
        cpb_index_range(a.index, a.queries.rows, limits, a.given, take_line, &r, cli_exec(job), &error);
    result = status == CPB_OK ? print_kept(&r, n) : cli_fail_input(&a.queries, status, &error);
    free(r.hits);
    free(r.ends);
  }
  if (result == CLI_OK && (fflush(stdout) != 0 || ferror(stdout))) result = cli_fail_stdout(job);
  free(limits);
  end(&a);
  return result;
}

static CLI_OPTION(radius, "radius", 0, CLI_NUMBER, "R", radius,
                  "all rows within this distance; with ip and cosine, of at least this value");

CLI_OPTIONS(range_options, &radius, &filter, CLI_OPT_TABLE, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

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
