/* Command lines of known and unknown words, through main() itself, in a directory with a few files. Slashes are removed
 * from unknown words, so that nothing is written elsewhere. */
#include <ftw.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_bytes.h"

/* The linker redirects the calls of the command and of the fuzzer to these functions (--wrap). */
int capball_main(int argc, char **argv);
_Noreturn void __wrap_exit(int code);
_Noreturn void __real_exit(int code);
int __wrap_sigaction(int number, const void *action, void *old);
int __real_sigaction(int number, const void *action, void *old);
const char *__asan_default_options(void);

/* The command may request more memory than there is; it must report that. */
const char *__asan_default_options(void) { return "allocator_may_return_null=1:detect_leaks=0"; }

static jmp_buf end;
static bool in_command;

void __wrap_exit(int code) {
  if (in_command) longjmp(end, code + 1);
  __real_exit(code);
}

/* Signal handlers belong to the fuzzer. */
int __wrap_sigaction(int number, const void *action, void *old) {
  return in_command ? 0 : __real_sigaction(number, action, old);
}

enum { WORDS = 24, LONGEST = 24, CLEAN_AFTER = 64 };

static const char *const known[] = {
    "info",      "convert",    "fit",          "merge",       "abid",        "cosines",   "embed",
    "unembed",   "dual",       "knn",          "range",       "query",       "rescore",   "ball",
    "score",     "sketch",     "train",        "encode",      "search",      "theory",    "help",
    "a.csv",     "b.csv",      "c.npy",        "d.fvecs",     "map.json",    "ball.json", "out.csv",
    "out.npy",   "out.json",   "-o",           "-m",          "-k",          "-f",        "-s",
    "-g",        "-n",         "-q",           "-j",          "-r",          "--scale",   "--goal",
    "--center",  "--pole",     "--whiten",     "--spherical", "--skip-bad",  "--dtype",   "--rows",
    "--format",  "--to",       "--seed",       "--target",    "--metric",    "--radius",  "--distances",
    "--base",    "--point",    "--thresholds", "--embedded",  "--scores",    "--as",      "--score-error",
    "--knn",     "--sample",   "--state",      "--about",     "--first-row", "--sweep",   "--model",
    "--nu",      "--method",   "--kernel",     "--gamma",     "--weights",   "--labels",  "--ranks",
    "--sql",     "--bits",     "--transform",  "--json",      "--quiet",     "--help",    "csv",
    "npy",       "mean",       "median",       "spread",      "recall",      "f32",       "f64",
    "u8",        "l2",         "cosine",       "ip",          "rbf",         "linear",    "1",
    "0",         "2",          "0.5",          "-1",          "1e300",       "1e-300",    "nan",
    "inf",       ":2",         "1:",           "none",        "lift-ip",     "x.hdf5:a",  "x.hdf5",
    "man",       "completion", "bash",         "--",          "-",           "--version", "--candidates",
    "--queries",
};
enum { KNOWN = sizeof known / sizeof *known };

static const struct {
  const char *name, *text;
} files[] = {{"a.csv", "0,0\n3,4\n6,8\n1,1\n"},
             {"b.csv", "1,2\n5,5\n"},
             {"ball.json", "{"},
             {"map.json", "{}"},
             {"d.fvecs", "\2\0\0\0abcdefgh"}};

static char directory[64];

static int drop(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)status, (void)kind;
  return at->level == 0 ? 0 : remove(path);
}

/* Removes what was written, and restores the files. */
static void fresh_files(void) {
  nftw(directory, drop, 8, FTW_DEPTH | FTW_PHYS);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    FILE *file = fopen(files[i].name, "w");
    size_t length = i == 4 ? 12 : strlen(files[i].text);
    if (file == NULL || fwrite(files[i].text, 1, length, file) != length || fclose(file) != 0) abort();
  }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  snprintf(directory, sizeof directory, "%s/capball-fuzz-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  if (mkdtemp(directory) == NULL || chdir(directory) != 0) return 1;
  fresh_files();
  return freopen("/dev/null", "r", stdin) == NULL || freopen("/dev/null", "w", stdout) == NULL;
}

/* Known words by number; from 200 on a literal word, up to a byte below 32. */
static char *take_word(fuzz_bytes *from, char *room) {
  unsigned number = fuzz_byte(from);
  if (number < 200) {
    snprintf(room, LONGEST, "%s", known[number % KNOWN]);
    return room;
  }
  size_t length = 0;
  for (unsigned c; length + 1 < LONGEST && (c = fuzz_byte(from)) >= 32;)
    room[length++] = c == '/' ? '_' : (char)c;
  room[length] = 0;
  return room;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  static unsigned runs;
  char room[WORDS][LONGEST] = {"capball"}, *argv[WORDS + 3] = {room[0]};
  fuzz_bytes from = {bytes, count};
  int argc = 1;
  while (from.left > 0 && argc < WORDS) {
    argv[argc] = take_word(&from, room[argc]);
    argc++;
  }
  /* plots start other programs, pages take seconds, and threads are tested elsewhere */
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], "--pl", 4) == 0 || strncmp(argv[i], "--t", 3) == 0 || strcmp(argv[i], "demo") == 0 ||
        strncmp(argv[i], "recom", 5) == 0)
      return 0;
  in_command = true;
  int ended = setjmp(end), result = ended != 0 ? ended - 1 : capball_main(argc, argv);
  in_command = false;
  if (result < 0 || result > 2) abort();
  if (++runs % CLEAN_AFTER == 0) fresh_files();
  return 0;
}
