#define _POSIX_C_SOURCE 200809L
#include "support/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

static char directory[256];

const char *scratch_make(void) {
  const char *base = getenv("TMPDIR");
  snprintf(directory, sizeof directory, "%.200s/capball-test-XXXXXX", base == NULL ? "/tmp" : base);
  if (mkdtemp(directory) == NULL) fail_msg("cannot make %s", directory);
  return directory;
}

/* Calls use(path) for every file, and counts them. */
static size_t each_file(int (*use)(const char *path)) {
  size_t count = 0;
  DIR *opened = opendir(directory);
  for (struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    count++;
    if (use != NULL && use(scratch_path(entry->d_name)) != 0) rmdir(scratch_path(entry->d_name));
  }
  if (opened != NULL) closedir(opened);
  return count;
}

void scratch_remove(void) {
  each_file(unlink);
  rmdir(directory);
}

int scratch_setup(void **state) {
  (void)state;
  scratch_make();
  return 0;
}

int scratch_teardown(void **state) {
  (void)state;
  scratch_remove();
  return 0;
}

size_t scratch_count(void) { return each_file(NULL); }

const char *scratch_path(const char *name) {
  static char paths[8][600];
  static unsigned next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", directory, name);
  return path;
}

const char *scratch_write(const char *name, const void *bytes, size_t count) {
  const char *path = scratch_path(name);
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0)
    fail_msg("cannot write %s", path);
  return path;
}

char *scratch_read(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  *count = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*count + 1);
  if (bytes == NULL || fread(bytes, 1, *count, file) != *count) fail_msg("cannot read %s", path);
  bytes[*count] = 0;
  fclose(file);
  return bytes;
}
