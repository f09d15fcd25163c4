/* Mutated HDF5 files, and sets added to them. The mutator leaves the first 96 bytes of a file unchanged, except for the
 * end-of-file address in them, so that most mutants can be opened. Each file is read in a child: a crash inside libhdf5
 * on invalid bytes ends only the child; one in this library, or a sanitizer report, ends the fuzzer. */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capball/advanced/flow.h"
#include "capball/file.h"

enum { KEPT = 96, END_OF_FILE = 40, ELSEWHERE = 99, SECONDS = 5, COLS_MAX = 1 << 12 };

extern size_t LLVMFuzzerMutate(unsigned char *bytes, size_t size, size_t most);
extern unsigned char __start___sancov_cntrs, __stop___sancov_cntrs;

static char path[64], named[96];
static volatile unsigned char seen;

/* Moves the coverage counters to memory shared with the child, in whole pages. */
static void share_counters(void) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = ((uintptr_t)&__start___sancov_cntrs + page - 1) / page * page;
  uintptr_t to = (uintptr_t)&__stop___sancov_cntrs / page * page;
  if (from < to)
    mmap((void *)from, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(path, sizeof path, "%s/capball-fuzz-%d.hdf5", where, (int)getpid());
  snprintf(named, sizeof named, "%s:added/set", path);
  share_counters();
  cpb_same_data_set("a.hdf5:x", "a.hdf5:y"); /* initialises libhdf5 before the first fork */
  return 0;
}

static void tell_end(unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < 8; i++) bytes[END_OF_FILE + i] = (unsigned char)(count >> 8 * i);
}

size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t count, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t count, size_t most, unsigned seed) {
  if (count <= KEPT + 8 || bytes[8] != 0) return LLVMFuzzerMutate(bytes, count, most);
  for (unsigned i = 0; i < 1 + seed % 4; i++) { /* in windows, so that addresses stay valid */
    size_t at = KEPT + (seed >> 3) * 2654435761u % (count - KEPT - 8);
    size_t window = 1 + (seed >> 5) % 8;
    LLVMFuzzerMutate(bytes + at, window, window);
    seed = seed * 1664525u + 1013904223u;
  }
  tell_end(bytes, count);
  return count;
}

static bool is_elsewhere(void) {
  void *frames[64];
  Dl_info where;
  int count = backtrace(frames, 64);
  for (int i = 0; i < count; i++)
    if (dladdr(frames[i], &where) != 0 && strstr(where.dli_fname, "libhdf5") != NULL) return true;
  return false;
}

static void on_crash(int number) {
  if (is_elsewhere()) _exit(ELSEWHERE);
  signal(number, SIG_DFL);
  raise(number);
}

static void read_rows(const char *name) {
  cpb_reader *reader;
  cpb_error error = {.text = ""};
  cpb_view block = {.rows = 1};
  if (cpb_reader_open(name, NULL, &reader, &error) != CPB_OK) {
    if (error.text[0] == 0) abort();
    return;
  }
  for (int i = 0; i < 4 && cpb_reader_next(reader, 3, &block, &error) == CPB_OK && block.rows != 0; i++) {
    size_t element = cpb_dtype_size(block.dtype), cols = block.cols < COLS_MAX ? block.cols : COLS_MAX;
    for (size_t k = 0; k < cols * element; k++) seen ^= ((const unsigned char *)block.data)[k];
  }
  cpb_reader_free(reader);
}

static void add_set(void) {
  static const float one[2] = {1, 2};
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = 2;
  cpb_writer *writer;
  cpb_error error;
  cpb_status status = cpb_writer_open(named, &options, &writer, &error);
  if (status == CPB_OK) status = cpb_writer_append(writer, cpb_rows(one, CPB_F32, 1, 2), &error);
  if (status == CPB_OK) status = cpb_writer_commit(writer, &error);
  seen ^= (unsigned char)status;
  cpb_writer_free(writer);
}

static void in_child(void) {
  struct sigaction action = {.sa_handler = on_crash};
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
  alarm(SECONDS);
  signal(SIGALRM, SIG_DFL);
  char other[96];
  read_rows(path);
  snprintf(other, sizeof other, "%s:group/set", path);
  read_rows(other);
  cpb_same_data_set(path, other);
  add_set();
  read_rows(named);
  _exit(0);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) abort();
  pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) in_child();
  int status = 0;
  waitpid(child, &status, 0);
  unlink(path);
  bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM; /* libhdf5 may loop forever */
  bool fine = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == ELSEWHERE);
  if (!fine && !late) abort();
  return 0;
}
