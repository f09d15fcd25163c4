#include "base/system_process.h"

#ifdef _WIN32
#include "base/system_wide.h"

#include <fcntl.h>
#include <io.h>
#include <shellapi.h>
#include <string.h>

#include "base/system_file.h"

enum { COMMAND_ROOM = 32768, PATH_ROOM = 1024 };

/* ---- this process ---- */

static void take_arguments(int *argc, char ***argv) {
  int count = 0;
  wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
  char **narrow = wide == NULL ? NULL : calloc((size_t)count + 1, sizeof *narrow);
  bool whole = narrow != NULL;
  for (int i = 0; whole && i < count; i++) whole = (narrow[i] = cpb_narrow(wide[i])) != NULL;
  if (wide != NULL) LocalFree(wide);
  if (!whole) return;
  *argc = count;
  *argv = narrow; /* until the process ends */
}

static void prepare_terminal(DWORD which) {
  DWORD mode;
  HANDLE terminal = GetStdHandle(which);
  if (GetConsoleMode(terminal, &mode)) SetConsoleMode(terminal, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

void cpb_sys_begin(int *argc, char ***argv) {
  take_arguments(argc, argv);
  for (int fd = CPB_STDIN; fd <= CPB_STDERR; fd++) _setmode(fd, _O_BINARY);
  SetConsoleOutputCP(CP_UTF8);
  prepare_terminal(STD_OUTPUT_HANDLE);
  prepare_terminal(STD_ERROR_HANDLE);
  SetErrorMode(SEM_FAILCRITICALERRORS);
}

char *cpb_sys_own_path(void) {
  wchar_t *wide = malloc(COMMAND_ROOM * sizeof *wide);
  DWORD length = wide == NULL ? 0 : GetModuleFileNameW(NULL, wide, COMMAND_ROOM);
  char *path = length == 0 || length == COMMAND_ROOM ? NULL : cpb_narrow(wide);
  free(wide);
  return path;
}

bool cpb_sys_is_terminal(FILE *file) {
  DWORD mode;
  return GetConsoleMode((HANDLE)_get_osfhandle(_fileno(file)), &mode) != 0;
}

int64_t cpb_sys_read_line(char **line, size_t *room, FILE *from) {
  size_t length = 0;
  for (int c; (c = getc(from)) != EOF;) {
    if (length + 2 > *room) {
      size_t larger = 2 * *room + 120;
      char *grown = realloc(*line, larger);
      if (grown == NULL) return -1;
      *line = grown;
      *room = larger;
    }
    (*line)[length++] = (char)c;
    if (c == '\n') break;
  }
  if (length == 0) return -1;
  (*line)[length] = 0;
  return (int64_t)length;
}

static void (*told)(int signal);
static volatile LONG signals;

static BOOL WINAPI on_end(DWORD kind) {
  (void)kind;
  if (InterlockedIncrement(&signals) > 1) return FALSE;
  told(2); /* SIGINT */
  CancelIoEx(GetStdHandle(STD_INPUT_HANDLE), NULL);
  return TRUE;
}

void cpb_sys_catch_ends(void (*caught)(int signal)) {
  told = caught;
  SetConsoleCtrlHandler(on_end, TRUE);
}

static const char *lost_sentence;
static int lost_code;

static LONG CALLBACK on_lost_pages(EXCEPTION_POINTERS *of) {
  DWORD written;
  if (of->ExceptionRecord->ExceptionCode != (DWORD)EXCEPTION_IN_PAGE_ERROR) return EXCEPTION_CONTINUE_SEARCH;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), lost_sentence, (DWORD)strlen(lost_sentence), &written, NULL);
  ExitProcess((UINT)lost_code);
}

void cpb_sys_catch_lost_pages(const char *sentence, int code) {
  lost_sentence = sentence;
  lost_code = code;
  AddVectoredExceptionHandler(1, on_lost_pages);
}

/* ---- programs ---- */

void cpb_sys_quote(FILE *to, const char *value) {
  fputc('"', to);
  for (const char *c = value; *c != 0; c++) *c == '"' ? fputs("\"\"", to) : fputc(*c, to);
  fputc('"', to);
}

static HANDLE inherited(HANDLE handle) {
  HANDLE copy = INVALID_HANDLE_VALUE;
  DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, TRUE, DUPLICATE_SAME_ACCESS);
  return copy;
}

/* handles: closed. */
static bool start(wchar_t *line, HANDLE handles[3], DWORD flags, PROCESS_INFORMATION *made) {
  STARTUPINFOW how = {.cb = sizeof how,
                      .dwFlags = STARTF_USESTDHANDLES,
                      .hStdInput = handles[0],
                      .hStdOutput = handles[1],
                      .hStdError = handles[2]};
  bool started = CreateProcessW(NULL, line, NULL, NULL, TRUE, flags, NULL, NULL, &how, made);
  if (!started) cpb_windows_failed();
  for (int i = 0; i < 3; i++)
    if (handles[i] != INVALID_HANDLE_VALUE) CloseHandle(handles[i]);
  return started;
}

int cpb_sys_run(const char *const arguments[], FILE *in, FILE *out, FILE *errors) {
  char line[PATH_ROOM];
  size_t used = 0;
  for (size_t i = 0; arguments[i] != NULL && used < sizeof line; i++)
    used += (size_t)snprintf(line + used, sizeof line - used, "%s\"%s\"", i > 0 ? " " : "", arguments[i]);
  wchar_t *wide = used < sizeof line ? cpb_wide(line) : NULL;
  HANDLE handles[3];
  FILE *const files[3] = {in, out, errors};
  for (int i = 0; i < 3; i++) handles[i] = inherited((HANDLE)_get_osfhandle(_fileno(files[i])));
  PROCESS_INFORMATION made;
  bool started = wide != NULL && start(wide, handles, CREATE_NO_WINDOW, &made);
  free(wide);
  if (!started) return 127;
  DWORD code = 1;
  WaitForSingleObject(made.hProcess, INFINITE);
  GetExitCodeProcess(made.hProcess, &code);
  CloseHandle(made.hProcess);
  CloseHandle(made.hThread);
  return (int)code;
}

/* What a process starts stays in its job. */
typedef struct job {
  HANDLE process, job;
} job;

static wchar_t *shell_line(const char *line) {
  size_t room = strlen(line) + 40;
  char *whole = malloc(room);
  if (whole == NULL) return NULL;
  snprintf(whole, room, "cmd.exe /d /s /c \"%s\"", line);
  wchar_t *wide = cpb_wide(whole);
  free(whole);
  return wide;
}

bool cpb_process_start(cpb_process *process, const char *line, const char *output) {
  SECURITY_ATTRIBUTES inherit = {.nLength = sizeof inherit, .bInheritHandle = TRUE};
  wchar_t *path = cpb_wide_path(output), *wide = shell_line(line);
  job *of = calloc(1, sizeof *of);
  HANDLE to = path == NULL ? INVALID_HANDLE_VALUE
                           : CreateFileW(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, &inherit,
                                         CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
  HANDLE handles[3] = {
      CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherit, OPEN_EXISTING, 0, NULL),
      to, to == INVALID_HANDLE_VALUE ? to : inherited(to)};
  PROCESS_INFORMATION made;
  bool started =
      of != NULL && wide != NULL && start(wide, handles, CREATE_NO_WINDOW | CREATE_SUSPENDED, &made);
  free(path);
  free(wide);
  *process = (cpb_process){.handle = of};
  if (!started) {
    free(of);
    return false;
  }
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
      .BasicLimitInformation = {.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE}};
  *of = (job){made.hProcess, CreateJobObjectW(NULL, NULL)};
  SetInformationJobObject(of->job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  AssignProcessToJobObject(of->job, made.hProcess);
  ResumeThread(made.hThread);
  CloseHandle(made.hThread);
  return true;
}

static void close_job(cpb_process *process) {
  job *of = process->handle;
  CloseHandle(of->process);
  CloseHandle(of->job);
  free(of);
  process->handle = NULL;
}

bool cpb_process_ended(cpb_process *process, int *code, bool *by_signal) {
  const job *of = process->handle;
  DWORD ended = 1;
  if (WaitForSingleObject(of->process, 0) != WAIT_OBJECT_0) return false;
  GetExitCodeProcess(of->process, &ended);
  *code = (int)ended;
  *by_signal = false;
  close_job(process);
  return true;
}

void cpb_process_kill(cpb_process *process) {
  const job *of = process->handle;
  TerminateJobObject(of->job, 1);
  TerminateProcess(of->process, 1);
  WaitForSingleObject(of->process, INFINITE);
  close_job(process);
}

/* ---- a folder for a program's files ---- */

static void join(wchar_t path[PATH_ROOM], const wchar_t *folder, const wchar_t *name) {
  swprintf(path, PATH_ROOM, L"%ls\\%ls", folder, name);
}

static bool is_in_it(const WIN32_FIND_DATAW *one) {
  return wcscmp(one->cFileName, L".") != 0 && wcscmp(one->cFileName, L"..") != 0;
}

static void remove_folder(const wchar_t *folder) {
  wchar_t path[PATH_ROOM];
  WIN32_FIND_DATAW one;
  join(path, folder, L"*");
  HANDLE all = FindFirstFileW(path, &one);
  for (BOOL more = all != INVALID_HANDLE_VALUE; more; more = FindNextFileW(all, &one)) {
    bool inner = (one.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    bool link = (one.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
    join(path, folder, one.cFileName);
    if (!is_in_it(&one)) continue;
    if (inner && !link)
      remove_folder(path);
    else if (inner)
      RemoveDirectoryW(path);
    else
      DeleteFileW(path);
  }
  if (all != INVALID_HANDLE_VALUE) FindClose(all);
  RemoveDirectoryW(folder);
}

/* A file in the folder that only one process can open, and that goes with it. */
static HANDLE lock_folder(const wchar_t *folder) {
  wchar_t path[PATH_ROOM];
  join(path, folder, L"lock");
  return CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE, 0, NULL, OPEN_ALWAYS,
                     FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
}

static void clear_litter(const wchar_t *room, const wchar_t *begins) {
  wchar_t path[PATH_ROOM];
  WIN32_FIND_DATAW one;
  swprintf(path, PATH_ROOM, L"%ls\\%ls*", room, begins);
  HANDLE all = FindFirstFileW(path, &one);
  for (BOOL more = all != INVALID_HANDLE_VALUE; more; more = FindNextFileW(all, &one)) {
    join(path, room, one.cFileName);
    HANDLE lock =
        (one.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? lock_folder(path) : INVALID_HANDLE_VALUE;
    if (lock == INVALID_HANDLE_VALUE) continue;
    CloseHandle(lock);
    remove_folder(path);
  }
  if (all != INVALID_HANDLE_VALUE) FindClose(all);
}

bool cpb_work_folder_open(cpb_work_folder *folder, const char *begins, const char **room) {
  wchar_t where[MAX_PATH + 1], path[PATH_ROOM], wide[64];
  *room = "the folder of temporary files";
  DWORD length = GetTempPathW(MAX_PATH, where);
  if (length == 0) return cpb_windows_failed();
  if (where[length - 1] == L'\\') where[length - 1] = 0;
  swprintf(wide, 64, L"%hs", begins);
  clear_litter(where, wide);
  for (unsigned i = 0; i < 8; i++) {
    swprintf(path, PATH_ROOM, L"%ls\\%ls%06lx", where, wide,
             (GetTickCount() + 7919 * i) ^ GetCurrentProcessId() << 8);
    if (!CreateDirectoryW(path, NULL)) continue;
    HANDLE lock = lock_folder(path);
    char *narrow = cpb_narrow(path);
    if (lock != INVALID_HANDLE_VALUE && narrow != NULL && strlen(narrow) < sizeof folder->path) {
      strcpy(folder->path, narrow);
      folder->lock = (int64_t)(intptr_t)lock;
      free(narrow);
      return true;
    }
    free(narrow);
    if (lock != INVALID_HANDLE_VALUE) CloseHandle(lock);
    RemoveDirectoryW(path);
  }
  return cpb_windows_failed();
}

void cpb_work_folder_close(cpb_work_folder *folder) {
  CloseHandle((HANDLE)(intptr_t)folder->lock);
  wchar_t *wide = cpb_wide_path(folder->path);
  if (wide != NULL) remove_folder(wide);
  free(wide);
}

#endif
