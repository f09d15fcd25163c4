/* Makes the N-th allocation or system call of a program fail: to be preloaded (LD_PRELOAD), or linked in.
 *
 *   FAULT_KIND    alloc: malloc and related functions;  call: files, descriptors, mappings, threads
 *   FAULT_AT      N, counted from 1 of that kind; without it nothing fails
 *   FAULT_MODE    once (default);  on: the N-th and all after it;  short: a read or write does half of its work
 *   FAULT_NAMED   1: files without a name (O_TMPFILE) are not supported
 *   FAULT_REPORT  a file of 4096 bytes for the counts, as the struct below
 *   FAULT_TRACE   a file for every change to files, as the records below, to replay a power failure
 *
 * System calls are caught in the kernel (seccomp sends SIGSYS for them), so that those inside stdio and other
 * libraries count as well; the handler repeats the call with a sixth argument that the filter lets pass. Writes to
 * standard error never fail: tests look for messages there. A crash inside libhdf5 exits with
 * CRASH_ELSEWHERE. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "faults/fault_shim.h"

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define LET_PASS 0x6361706261ull /* the sixth argument of the shim's own calls */

enum { CRASH_ELSEWHERE = 99 };

static fault_report at_home, *report = &at_home;
static bool fails_allocations, fails_calls, stays, shortens, named_only;
static bool faulted_elsewhere; /* an allocation of another library has failed */
static uint64_t fault_at;
static int trace_fd = -1;

static bool is_due(_Atomic uint64_t *count, bool wanted) {
  uint64_t number = atomic_fetch_add(count, 1) + 1;
  bool due = wanted && fault_at != 0 && (number == fault_at || (stays && number > fault_at));
  if (due) atomic_fetch_add(&report->hits, 1);
  return due;
}

/* ---- allocations ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static bool made_elsewhere(void);

static bool allocation_fails(void) {
  if (!is_due(&report->allocations, fails_allocations)) return false;
  faulted_elsewhere = faulted_elsewhere || made_elsewhere();
  errno = ENOMEM;
  return true;
}

static void *counted(void *memory) {
  if (memory != NULL) atomic_fetch_add(&report->alive, 1);
  return memory;
}

void *malloc(size_t size) { return allocation_fails() ? NULL : counted(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) {
  return allocation_fails() ? NULL : counted(__libc_calloc(count, size));
}
void *realloc(void *memory, size_t size) {
  if (allocation_fails()) return NULL;
  void *larger = __libc_realloc(memory, size);
  if (memory == NULL) return counted(larger);
  if (larger == NULL && size == 0) atomic_fetch_sub(&report->alive, 1);
  return larger;
}
void *aligned_alloc(size_t alignment, size_t size) {
  return allocation_fails() ? NULL : counted(__libc_memalign(alignment, size));
}
void *memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = aligned_alloc(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}
void free(void *memory) {
  if (memory != NULL) atomic_fetch_sub(&report->alive, 1);
  __libc_free(memory);
}

/* ---- calls that are intercepted without the kernel ---- */

void *mmap(void *where, size_t length, int protection, int flags, int fd, off_t offset) {
  if (is_due(&report->calls, fails_calls)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, where, length, protection, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return is_due(&report->calls, fails_calls) ? EAGAIN : real(thread, attributes, start, arg);
}

/* ---- calls caught in the kernel ---- */

static long do_call(long number, const uint64_t *a) {
#if defined __x86_64__
  register uint64_t r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = LET_PASS;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined __aarch64__
  register uint64_t x8 __asm__("x8") = (uint64_t)number, x0 __asm__("x0") = a[0], x1 __asm__("x1") = a[1];
  register uint64_t x2 __asm__("x2") = a[2], x3 __asm__("x3") = a[3], x4 __asm__("x4") = a[4];
  register uint64_t x5 __asm__("x5") = LET_PASS;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return (long)x0;
#else
  (void)number, (void)a;
  return -ENOSYS;
#endif
}

static bool moves_bytes(long n) {
  return n == SYS_read || n == SYS_pread64 || n == SYS_write || n == SYS_pwrite64;
}

static long reason_of(long n) {
  switch (n) {
  case SYS_openat: return EMFILE;
  case SYS_write:
  case SYS_pwrite64:
  case SYS_ftruncate:
  case SYS_linkat: return ENOSPC;
  default: return EIO;
  }
}

static void put(const void *bytes, size_t count) {
  uint64_t a[5] = {(uint64_t)trace_fd, (uint64_t)(uintptr_t)bytes, count, 0, 0};
  do_call(SYS_write, a);
}

static void inode_of(int fd, fault_record *r) {
  struct stat status;
  uint64_t a[5] = {(uint64_t)fd, (uint64_t)(uintptr_t) "", (uint64_t)(uintptr_t)&status, AT_EMPTY_PATH, 0};
  if (do_call(SYS_newfstatat, a) == 0) r->inode = status.st_ino, r->is_directory = S_ISDIR(status.st_mode);
}

/* One record of what a call has changed; names and bytes follow it. */
static void trace_change(long n, const uint64_t *a, long result) {
  fault_record r = {.operation = 0};
  const char *first = NULL, *second = NULL;
  if (n == SYS_write || n == SYS_pwrite64) {
    uint64_t where[5] = {a[0], 0, SEEK_CUR, 0, 0};
    r = (fault_record){.operation = FAULT_WRITE, .length = (uint64_t)result};
    r.offset = n == SYS_pwrite64 ? a[3] : (uint64_t)do_call(SYS_lseek, where) - (uint64_t)result;
    inode_of((int)a[0], &r);
  } else if (n == SYS_ftruncate) {
    r = (fault_record){.operation = FAULT_RESIZE, .offset = a[1]};
    inode_of((int)a[0], &r);
  } else if (n == SYS_fsync) {
    r = (fault_record){.operation = FAULT_SYNC};
    inode_of((int)a[0], &r);
  } else if (n == SYS_openat) {
    r = (fault_record){.operation = FAULT_OPEN, .offset = a[2]};
    first = (const char *)(uintptr_t)a[1];
    inode_of((int)result, &r);
  } else if (n == SYS_linkat) {
    r = (fault_record){.operation = FAULT_LINK};
    first = (const char *)(uintptr_t)a[1], second = (const char *)(uintptr_t)a[3];
#ifdef SYS_rename
  } else if (n == SYS_rename) {
    r = (fault_record){.operation = FAULT_RENAME};
    first = (const char *)(uintptr_t)a[0], second = (const char *)(uintptr_t)a[1];
  } else if (n == SYS_unlink) {
    r = (fault_record){.operation = FAULT_UNLINK};
    first = (const char *)(uintptr_t)a[0];
#endif
  } else if (n == SYS_renameat) {
    r = (fault_record){.operation = FAULT_RENAME};
    first = (const char *)(uintptr_t)a[1], second = (const char *)(uintptr_t)a[3];
  } else if (n == SYS_unlinkat) {
    r = (fault_record){.operation = FAULT_UNLINK};
    first = (const char *)(uintptr_t)a[1];
  } else
    return;
  r.first = first == NULL ? 0 : (uint32_t)strlen(first);
  r.second = second == NULL ? 0 : (uint32_t)strlen(second);
  if (r.operation == FAULT_LINK) { /* of a file without a name, from /proc/self/fd */
    struct stat status;
    uint64_t look[5] = {a[0], a[1], (uint64_t)(uintptr_t)&status, 0, 0};
    if (do_call(SYS_newfstatat, look) == 0) r.inode = status.st_ino;
  }
  put(&r, sizeof r);
  if (first != NULL) put(first, r.first);
  if (second != NULL) put(second, r.second);
  if (r.operation == FAULT_WRITE) put((const void *)(uintptr_t)a[1], r.length);
}

/* The result of a call of the program: its own, half of it, or a failure. */
static long decide(long n, uint64_t *a) {
  if (n == SYS_openat && named_only && (a[2] & O_TMPFILE) == O_TMPFILE) return -EOPNOTSUPP;
  bool spared = (n == SYS_write && a[0] == STDERR_FILENO) || (shortens && !moves_bytes(n));
  bool due = !spared && is_due(&report->calls, fails_calls);
  if (due && !shortens) return -reason_of(n);
  if (due && a[2] > 1) a[2] /= 2;
  long result = do_call(n, a);
  if (trace_fd >= 0 && result >= 0) trace_change(n, a, result);
  return result;
}

static void on_call(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
#if defined __x86_64__
  greg_t *g = m->gregs;
  uint64_t a[5] = {(uint64_t)g[REG_RDI], (uint64_t)g[REG_RSI], (uint64_t)g[REG_RDX], (uint64_t)g[REG_R10],
                   (uint64_t)g[REG_R8]};
  g[REG_RAX] = decide((long)g[REG_RAX], a);
#elif defined __aarch64__
  uint64_t a[5] = {m->regs[0], m->regs[1], m->regs[2], m->regs[3], m->regs[4]};
  m->regs[0] = (uint64_t)decide((long)m->regs[8], a);
#else
  (void)m;
#endif
}

/* Frames of this shim, of the signal and of the C library are skipped; the first other frame identifies the owner.
 * Heaps that libhdf5 corrupts on allocation failures crash in whichever library frees memory next. */
static int whose(void *const *frames, size_t count) {
  Dl_info where;
  for (size_t i = 0; i < count; i++) {
    if (dladdr(frames[i], &where) == 0 || strstr(where.dli_fname, "shim") != NULL) continue;
    if (strstr(where.dli_fname, "/libc.") != NULL || strstr(where.dli_fname, "/ld-linux") != NULL) continue;
    bool foreign = strstr(where.dli_fname, "libhdf5") != NULL;
    return foreign || (faulted_elsewhere && strstr(where.dli_fname, "/lib/") != NULL);
  }
  return -1;
}

static bool made_elsewhere(void) {
  void *frames[32];
  return whose(frames, (size_t)backtrace(frames, 32)) == 1;
}

/* A jump to an invalid address cannot be unwound: then the words on the stack are inspected. */
static bool is_elsewhere(const ucontext_t *context) {
  void *frames[32];
  int found = whose(frames, (size_t)backtrace(frames, 32));
#if defined __x86_64__
  if (found < 0) found = whose((void *const *)context->uc_mcontext.gregs[REG_RSP], 64);
#elif defined __aarch64__
  if (found < 0) found = whose((void *const *)context->uc_mcontext.sp, 64);
#else
  (void)context;
#endif
  return found == 1;
}

static void on_crash(int number, siginfo_t *info, void *context) {
  (void)info;
  if (is_elsewhere(context)) _exit(CRASH_ELSEWHERE);
  signal(number, SIG_DFL);
  raise(number);
}

#define CATCH(number)                                                                                        \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)

static int catch_calls(void) {
#ifdef ARCHITECTURE
  static struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)LET_PASS, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      CATCH(SYS_read),
      CATCH(SYS_pread64),
      CATCH(SYS_write),
      CATCH(SYS_pwrite64),
      CATCH(SYS_openat),
      CATCH(SYS_close),
      CATCH(SYS_lseek),
      CATCH(SYS_fsync),
      CATCH(SYS_fdatasync),
      CATCH(SYS_ftruncate),
      CATCH(SYS_fstat),
      CATCH(SYS_newfstatat),
      CATCH(SYS_linkat),
      CATCH(SYS_renameat),
      CATCH(SYS_unlinkat),
      CATCH(SYS_flock),
      CATCH(SYS_fchmod),
      CATCH(SYS_readlinkat),
      CATCH(SYS_faccessat),
#ifdef SYS_rename
      CATCH(SYS_rename),
      CATCH(SYS_unlink),
      CATCH(SYS_readlink),
      CATCH(SYS_access),
#endif
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
  if (sigaction(SIGSYS, &action, NULL) != 0) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#else
  return -1;
#endif
}

static bool is_set(const char *name, const char *value) {
  const char *found = getenv(name);
  return found != NULL && strcmp(found, value) == 0;
}

fault_report *fault_current(void) { return report; }

void fault_set(bool allocations, uint64_t at, bool on) {
  atomic_store(&report->allocations, 0);
  atomic_store(&report->hits, 0);
  fails_allocations = allocations;
  stays = on;
  fault_at = at;
}

static void share_report(const char *path) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  void *memory =
      fd < 0 ? NULL : (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory != NULL && memory != MAP_FAILED) report = memory;
  if (fd >= 0) close(fd);
}

__attribute__((constructor)) static void begin(void) {
  const char *at = getenv("FAULT_AT"), *path = getenv("FAULT_REPORT"), *trace = getenv("FAULT_TRACE");
  void *frames[4];
  backtrace(frames, 4); /* the first one allocates */
  if (path == NULL) return;
  static char stack[1 << 16]; /* a stack overflow is a crash, too */
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  struct sigaction crash = {.sa_sigaction = on_crash, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  sigaction(SIGSEGV, &crash, NULL);
  sigaction(SIGABRT, &crash, NULL);
  sigaction(SIGFPE, &crash, NULL);
  share_report(path);
  if (trace != NULL) trace_fd = open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  bool calls = is_set("FAULT_KIND", "call");
  stays = is_set("FAULT_MODE", "on");
  shortens = is_set("FAULT_MODE", "short");
  named_only = is_set("FAULT_NAMED", "1");
  if ((calls || named_only || trace != NULL) && catch_calls() != 0) _exit(98);
  atomic_store(&report->allocations, 0);
  atomic_store(&report->calls, 0);
  atomic_store(&report->hits, 0);
  fault_at = at == NULL ? 0 : strtoull(at, NULL, 10);
  fails_calls = calls;
  fails_allocations = is_set("FAULT_KIND", "alloc");
}
