/* Arbitrary text as the path of a file and its data set: read, compared, written, in a temporary directory. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capball/advanced/flow.h"
#include "capball/file.h"

enum { LONGEST = 300 };

static char directory[64];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  snprintf(directory, sizeof directory, "%s/capball-fuzz-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  return mkdtemp(directory) == NULL;
}

static void empty_directory(void) {
  DIR *opened = opendir(directory);
  for (struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
    char name[sizeof directory + sizeof entry->d_name];
    snprintf(name, sizeof name, "%s/%s", directory, entry->d_name);
    if (entry->d_type == DT_REG) unlink(name);
  }
  if (opened != NULL) closedir(opened);
}

/* Keeps the file in the directory: only slashes after the colon of a set are preserved. */
static void make_path(char *path, size_t size, const unsigned char *bytes, size_t count) {
  char text[LONGEST + 1];
  snprintf(text, sizeof text, "%.*s", (int)(count < LONGEST ? count : LONGEST), (const char *)bytes);
  char *set = strstr(text, "5:");
  for (char *p = text; *p != 0; p++)
    if (*p == '/' && (set == NULL || p < set)) *p = '_';
  for (char *p; (p = strstr(text, "..")) != NULL;) *p = '_';
  snprintf(path, size, "%s/%s", directory, text);
}

static void write_set(const char *path) {
  static const float one[2] = {1, 2};
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = 2;
  cpb_writer *writer;
  cpb_reader *reader;
  cpb_error error = {.text = ""};
  cpb_status status = cpb_writer_open(path, &options, &writer, &error);
  if (status == CPB_OK) status = cpb_writer_append(writer, cpb_rows(one, CPB_F32, 1, 2), &error);
  if (status == CPB_OK) status = cpb_writer_commit(writer, &error);
  cpb_writer_free(writer);
  if (status != CPB_OK && error.text[0] == 0) abort();
  if (status != CPB_OK) return;
  cpb_same_data_set(path, path);
  if (cpb_reader_open(path, NULL, &reader, &error) != CPB_OK) abort();
  cpb_file_info info = {.size = sizeof info};
  cpb_reader_describe(reader, &info);
  if (info.cols != 2) abort();
  cpb_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  char path[LONGEST + sizeof directory + 2], other[LONGEST + sizeof directory + 2];
  size_t half = count / 2;
  make_path(path, sizeof path, bytes, half);
  make_path(other, sizeof other, bytes + half, count - half);
  cpb_same_data_set(path, other);
  write_set(path);
  write_set(other);
  cpb_same_data_set(other, path);
  empty_directory();
  return 0;
}
