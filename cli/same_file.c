/* Rejects jobs that use one file twice: an output would replace its own input, or another output. */
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "cli.h"
#include "format_names.h"
#include "src/base/system_file.h"
#include "plot.h"

enum { PATH_ROOM = 4096 };

/* The file a path refers to; "-" is a descriptor; for HDF5 without the data set. */
typedef struct place {
  bool there, regular; /* only regular files are replaced */
  cpb_file_facts file;
  char name[PATH_ROOM]; /* if it does not exist yet: links followed, directory resolved; "" on failure */
} place;

static bool is_pipe(const char *path) { return strcmp(path, "-") == 0; }

/* Follows the links of a file that does not exist yet, as its writer will. */
static void resolve(char name[PATH_ROOM]) {
  char *end = cpb_sys_follow_links(name);
  size_t length = end == NULL ? 0 : cpb_sys_folder_length(end);
  char *base = end == NULL ? NULL : strdup(end + length);
  if (length > 0) end[length] = 0;
  char *folder = end == NULL ? NULL : cpb_sys_resolve(length == 0 ? "." : end);
  if (folder == NULL || base == NULL || snprintf(name, PATH_ROOM, "%s/%s", folder, base) >= PATH_ROOM)
    name[0] = 0;
  free(folder);
  free(base);
  free(end);
}

static place find(const char *path, int standard) {
  place p = {0};
  const char *set = cli_data_set(path);
  int length = set == NULL ? (int)strlen(path) : (int)(set - path);
  if (is_pipe(path))
    p.there = cpb_sys_facts_of(standard, &p.file);
  else if (snprintf(p.name, sizeof p.name, "%.*s", length, path) < PATH_ROOM)
    p.there = cpb_sys_facts(p.name, &p.file);
  p.regular = p.there && p.file.kind == CPB_FILE_REGULAR;
  if (!p.there && p.name[0] != 0) resolve(p.name);
  return p;
}

static bool same(const place *a, const place *b) {
  if (a->there != b->there) return false;
  if (!a->there) return a->name[0] != 0 && strcmp(a->name, b->name) == 0;
  return a->regular && cpb_sys_same_file(&a->file, &b->file);
}

/* A new data set may be added to an HDF5 input: the rest of the file is preserved. */
static bool adds_data_set(const char *input, const char *output) {
  return cli_data_set(output) != NULL && !cpb_same_data_set(input, output);
}

/* The paths given to a job. */
typedef struct paths {
  const char **path;
  size_t count;
} paths;

/* The operands and options that are inputs, or those that are outputs. */
static paths collect(const cli_job *job, bool made) {
  const cli_option *const *options = job->command->options;
  size_t count = 0;
  while (options[count] != NULL) count++;
  paths all = {cli_alloc(job->count + count, sizeof *all.path), 0};
  for (size_t i = 0; i < job->count; i++)
    if ((job->command->made != 0 && i == job->command->made) == made)
      all.path[all.count++] = job->operands[i];
  for (size_t i = 0; i < count; i++) {
    if (options[i]->kind != (made ? CLI_WRITTEN : CLI_PATH)) continue;
    const char *path = *(const char *const *)(const void *)((const char *)&job->options + options[i]->offset);
    if (path != NULL) all.path[all.count++] = path;
  }
  return all;
}

static int check_output(const cli_job *job, const char *output, const paths *inputs) {
  place out = find(output, CPB_STDOUT);
  for (size_t i = 0; i < inputs->count; i++) {
    place in = find(inputs->path[i], CPB_STDIN);
    if (!in.there || !same(&in, &out) || adds_data_set(inputs->path[i], output)) continue;
    return cli_misuse(job, "the output %s is the same file as the input %s: give it another name",
                      is_pipe(output) ? "(standard output)" : output, cli_name(inputs->path[i]));
  }
  return CLI_OK;
}

static int check_apart(const cli_job *job, const char *output, const char *other) {
  place a = find(output, CPB_STDOUT), b = find(other, CPB_STDOUT);
  if (is_pipe(output) && is_pipe(other))
    return cli_misuse(job, "two outputs are \"-\", but standard output is one: give one of them a name");
  if (!same(&a, &b)) return CLI_OK;
  return cli_misuse(job, "the outputs %s and %s are one file: give one of them another name", other, output);
}

static int check_outputs(const cli_job *job, const paths *inputs, const paths *outputs) {
  int result = CLI_OK;
  for (size_t i = 0; i < outputs->count && result == CLI_OK; i++) {
    if (job->options.json && is_pipe(outputs->path[i]))
      result = cli_misuse(job, "--json goes to standard output, and so does an output \"-\": give it a name");
    for (size_t j = 0; j < i && result == CLI_OK; j++)
      result = check_apart(job, outputs->path[i], outputs->path[j]);
    if (result == CLI_OK) result = check_output(job, outputs->path[i], inputs);
  }
  return result;
}

int cli_check_files(const cli_job *job) {
  paths inputs = collect(job, false), outputs = collect(job, true);
  size_t pipes = 0;
  for (size_t i = 0; i < inputs.count; i++) pipes += is_pipe(inputs.path[i]);
  int result = pipes > 1 ? cli_misuse(job, "%zu inputs are \"-\", but standard input can be read once", pipes)
                         : check_outputs(job, &inputs, &outputs);
  if (result == CLI_OK && job->options.plot != NULL) result = cli_check_picture(job, job->options.plot);
  free(inputs.path);
  free(outputs.path);
  return result;
}
