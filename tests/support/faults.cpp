// Preloaded into the program (LD_PRELOAD): lets one call of the system fail, so that tests can try each of them.
// The calls of a save are: making, writing, cutting, flushing and renaming a regular file, making a folder.
//   LOOM_FAIL_SAVE=N    the N-th of them says that the disk is full
//   LOOM_KILL_SAVE=N    before the N-th of them the program is killed
//   LOOM_FAIL_ALLOC=N   the N-th request for LOOM_FAIL_BYTES or more says that there is no memory, and so does every
//     later one
//   LOOM_COUNT=FILE     how many of either there were, as two numbers, when the program ends by itself

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

long g_save = 0, g_kill = 0, g_allocation = 0;  // 0: none
size_t g_bytes = 0;
std::atomic<long> g_saves{0}, g_allocations{0};

long number(const char* name) {
  const char* const text = getenv(name);
  return text == nullptr ? 0 : atol(text);
}

__attribute__((destructor)) void write_count() {
  const char* const path = getenv("LOOM_COUNT");
  if (path == nullptr) return;
  char text[64];
  const int n = snprintf(text, sizeof text, "%ld %ld\n", g_saves.load(), g_allocations.load());
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  syscall(SYS_write, fd, text, n);
  syscall(SYS_close, fd);
}

__attribute__((constructor)) void read_environment() {
  g_bytes = static_cast<size_t>(number("LOOM_FAIL_BYTES"));
  g_save = number("LOOM_FAIL_SAVE");
  g_kill = number("LOOM_KILL_SAVE");
  g_allocation = number("LOOM_FAIL_ALLOC");
}

bool save_fails() {
  const long n = ++g_saves;
  if (n == g_kill) kill(getpid(), SIGKILL);
  if (n != g_save) return false;
  errno = ENOSPC;
  return true;
}

bool allocation_fails(size_t bytes) {
  if (g_bytes == 0 || bytes < g_bytes || ++g_allocations < g_allocation || g_allocation == 0) return false;
  errno = ENOMEM;
  return true;
}

bool is_regular(int fd) {
  struct stat info;
  return fd > 2 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) != 0 && save_fails()) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int fd, const void* from, size_t n) {
  return is_regular(fd) && save_fails() ? -1 : syscall(SYS_write, fd, from, n);
}
ssize_t pwrite(int fd, const void* from, size_t n, off_t at) {
  return is_regular(fd) && save_fails() ? -1 : syscall(SYS_pwrite64, fd, from, n, at);
}
int fsync(int fd) { return save_fails() ? -1 : static_cast<int>(syscall(SYS_fsync, fd)); }
int rename(const char* from, const char* to) noexcept {
  return save_fails() ? -1 : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int ftruncate(int fd, off_t size) noexcept {
  return save_fails() ? -1 : static_cast<int>(syscall(SYS_ftruncate, fd, size));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return save_fails() ? -1 : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
// The C library's own files write by calls of its own: this call writes the lines that a journal holds back.
int fflush(FILE* file) {
  static const auto real = reinterpret_cast<int (*)(FILE*)>(dlsym(RTLD_NEXT, "fflush"));
  return file != nullptr && is_regular(fileno(file)) && save_fails() ? EOF : real(file);
}

void* malloc(size_t n) { return allocation_fails(n) ? nullptr : __libc_malloc(n); }
void* calloc(size_t n, size_t size) { return allocation_fails(n * size) ? nullptr : __libc_calloc(n, size); }
void* realloc(void* old, size_t n) { return allocation_fails(n) ? nullptr : __libc_realloc(old, n); }
void* aligned_alloc(size_t alignment, size_t n) {
  return allocation_fails(n) ? nullptr : __libc_memalign(alignment, n);
}
void* mmap(void* at, size_t n, int protection, int flags, int fd, off_t offset) noexcept {
  if (allocation_fails(n)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, fd, offset));
}

}  // extern "C"
