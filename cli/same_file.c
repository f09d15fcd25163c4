/* An output that is also an input would replace what it is made from. */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "format_names.h"

/* The file behind a path, "-" being the descriptor; of HDF5 without the data set. False: there is none
 * that could be replaced. */
static bool examine(const char *path, int standard, struct stat *file) {
  if (strcmp(path, "-") == 0) return fstat(standard, file) == 0 && S_ISREG(file->st_mode);
  const char *set = cli_data_set(path);
  char whole[4096];
  size_t length = set == NULL ? strlen(path) : (size_t)(set - path);
  if (length >= sizeof whole) return false;
  memcpy(whole, path, length);
  whole[length] = 0;
  return stat(whole, file) == 0 && S_ISREG(file->st_mode);
}

/* Another data set of an HDF5 file may be added to it: the rest of the file stays. */
static bool adds_data_set(const char *input, const char *output) {
  const char *from = cli_data_set(input), *to = cli_data_set(output);
  return to != NULL && strcmp(to, from == NULL ? ":train" : from) != 0;
}

int cli_check_output(const cli_job *job, const char *output, const char *const *inputs, size_t count) {
  struct stat out, in;
  if (output == NULL || !examine(output, STDOUT_FILENO, &out)) return CLI_OK;
  for (size_t i = 0; i < count; i++) {
    if (inputs[i] == NULL || !examine(inputs[i], STDIN_FILENO, &in)) continue;
    if (in.st_dev != out.st_dev || in.st_ino != out.st_ino || adds_data_set(inputs[i], output)) continue;
    return cli_misuse(job, "the output %s is the same file as the input %s: give it another name",
                      strcmp(output, "-") == 0 ? "(standard output)" : output, cli_name(inputs[i]));
  }
  return CLI_OK;
}

int cli_check_apart(const cli_job *job, const char *const *outputs, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++)
      if (outputs[i] != NULL && outputs[j] != NULL && strcmp(outputs[i], outputs[j]) == 0)
        return cli_misuse(job, "two outputs are called %s: give one another name", outputs[i]);
  return CLI_OK;
}
