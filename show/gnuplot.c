#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "growing_text.h"
#include "page.h"
#include "put_text.h"
#include "src/base/printable.h"

enum { SCRIPT, PICTURE, WORDS, FILES, PATH_ROOM = 4096 };

/* Files without names: nothing is left behind, however this process ends. */
typedef struct scratch {
  FILE *files[FILES];
} scratch;

static show_drawn fail(show_picture *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));
static show_drawn fail(show_picture *picture, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(picture->why, sizeof picture->why, format, list);
  va_end(list);
  return SHOW_NOT_DRAWN;
}

/* Where there are no files without a name it has one for a moment. */
static int open_nameless(const char *folder) {
  char path[PATH_ROOM];
#ifdef O_TMPFILE
  int nameless = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
#endif
  int length = snprintf(path, sizeof path, "%s/capball-plot-XXXXXX", folder);
  if (length >= PATH_ROOM) errno = ENAMETOOLONG;
  int fd = length < PATH_ROOM ? mkstemp(path) : -1;
  if (fd >= 0) unlink(path);
  return fd;
}

static FILE *nameless_file(void) {
  const char *folder = getenv("TMPDIR");
  int fd = open_nameless(folder != NULL && *folder != 0 ? folder : "/tmp");
  if (fd < 0) return NULL;
  FILE *file = fdopen(fd, "w+");
  if (file == NULL) close(fd);
  return file;
}

static bool open_scratch(scratch *files) {
  *files = (scratch){0};
  for (int i = 0; i < FILES; i++)
    if ((files->files[i] = nameless_file()) == NULL) return false;
  return true;
}

static void close_scratch(scratch *files) {
  for (int i = 0; i < FILES; i++)
    if (files->files[i] != NULL) fclose(files->files[i]);
}

/* Exit code of gnuplot, 127 when there is none. */
static int run(const scratch *files) {
  extern char **environ;
  char *arguments[] = {"gnuplot", "-", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(files->files[SCRIPT]), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(files->files[PICTURE]), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(files->files[WORDS]), STDERR_FILENO);
  pid_t child;
  int status = 0;
  bool started = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!started || waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* All of a file, with a 0 behind it. */
static char *read_all(FILE *file, size_t *length) {
  long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (size < 0) return NULL;
  rewind(file);
  char *bytes = show_alloc((size_t)size + 1, 1);
  *length = fread(bytes, 1, (size_t)size, file);
  return bytes;
}

/* gnuplot points at the place with lines of blanks and carets; what it says is its last line with words. */
static show_drawn fail_in_its_words(const scratch *files, int code, show_picture *picture) {
  size_t length = 0;
  char *words = read_all(files->files[WORDS], &length), *said = NULL, *rest = words;
  for (char *line; words != NULL && (line = strtok_r(rest, "\r\n", &rest)) != NULL;)
    if (line[strspn(line, " ^\t")] != 0) said = line + strspn(line, " \t");
  if (said != NULL)
    fail(picture, "gnuplot failed: %s", said);
  else
    fail(picture, code != 0 ? "gnuplot failed with exit code %d" : "gnuplot drew nothing", code);
  free(words);
  return SHOW_NOT_DRAWN;
}

static show_drawn draw(const scratch *files, show_picture *picture) {
  int code = run(files);
  if (code == 127) return SHOW_NO_GNUPLOT;
  picture->bytes = code == 0 ? read_all(files->files[PICTURE], &picture->length) : NULL;
  if (picture->length > 0) return SHOW_DRAWN;
  free(picture->bytes);
  picture->bytes = NULL;
  return fail_in_its_words(files, code, picture);
}

void show_gnuplot_text(FILE *script, const char *text) {
  char piece[CPB_PIECE_ROOM];
  fputc('\'', script);
  while (cpb_printable_next(&text, piece) > 0) fputs(*piece == '\'' ? "''" : piece, script);
  fputc('\'', script);
}

/* The picture again with our title in the place of "Gnuplot"; as it is where it has none, or without memory. */
static void entitle(show_picture *picture, const char *title) {
  static const char theirs[] = "<title>Gnuplot</title>";
  char *at = strstr(picture->bytes, theirs); /* a 0 stands behind it; PNG has one early */
  show_text text;
  FILE *to = at == NULL ? NULL : show_text_open(&text);
  if (to == NULL) return;
  fwrite(picture->bytes, 1, (size_t)(at - picture->bytes), to);
  fputs("<title>", to);
  show_put_html(to, title);
  fputs("</title>", to);
  fputs(at + strlen(theirs), to);
  if (!show_text_close(&text, to)) return;
  free(picture->bytes);
  picture->bytes = text.bytes;
  picture->length = text.length;
}

show_drawn show_gnuplot(void (*write)(const void *arg, FILE *to), const void *arg, const char *title,
                        show_picture *picture) {
  *picture = (show_picture){0};
  scratch files;
  show_drawn drawn;
  if (!open_scratch(&files)) {
    drawn = fail(picture, "cannot make a temporary file: %s", strerror(errno));
  } else {
    write(arg, files.files[SCRIPT]);
    bool whole = fflush(files.files[SCRIPT]) == 0 && ferror(files.files[SCRIPT]) == 0;
    if (whole) lseek(fileno(files.files[SCRIPT]), 0, SEEK_SET);
    drawn =
        whole ? draw(&files, picture) : fail(picture, "cannot write a temporary file: %s", strerror(errno));
  }
  close_scratch(&files);
  if (drawn == SHOW_DRAWN) entitle(picture, title);
  return drawn;
}
