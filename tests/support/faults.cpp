// Preloaded into the program (LD_PRELOAD): lets one call of the system fail, so that tests can try every one in turn.
//   LOOM_FAIL_SAVE=N    the N-th call among those that make, write, flush and rename a regular file says that the disk is full
//   LOOM_FAIL_ALLOC=N   the N-th request for LOOM_FAIL_BYTES or more says that there is no memory, and so does every later one

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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

long g_save = 0, g_allocation = 0;  // 0: none fails
size_t g_bytes = 0;
std::atomic<long> g_saves{0}, g_allocations{0};

long number(const char* name) {
  const char* const text = getenv(name);
  return text == nullptr ? 0 : atol(text);
}

__attribute__((constructor)) void read_environment() {
  g_bytes = static_cast<size_t>(number("LOOM_FAIL_BYTES"));
  g_save = number("LOOM_FAIL_SAVE");
  g_allocation = number("LOOM_FAIL_ALLOC");
}

bool save_fails() {
  if (g_save == 0 || ++g_saves != g_save) return false;
  errno = ENOSPC;
  return true;
}

bool allocation_fails(size_t bytes) {
  if (g_allocation == 0 || bytes < g_bytes || ++g_allocations < g_allocation) return false;
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
ssize_t write(int fd, const void* from, size_t n) { return is_regular(fd) && save_fails() ? -1 : syscall(SYS_write, fd, from, n); }
ssize_t pwrite(int fd, const void* from, size_t n, off_t at) { return is_regular(fd) && save_fails() ? -1 : syscall(SYS_pwrite64, fd, from, n, at); }
int fsync(int fd) { return save_fails() ? -1 : static_cast<int>(syscall(SYS_fsync, fd)); }
int rename(const char* from, const char* to) noexcept {
  return save_fails() ? -1 : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

void* malloc(size_t n) { return allocation_fails(n) ? nullptr : __libc_malloc(n); }
void* calloc(size_t n, size_t size) { return allocation_fails(n * size) ? nullptr : __libc_calloc(n, size); }
void* realloc(void* old, size_t n) { return allocation_fails(n) ? nullptr : __libc_realloc(old, n); }
void* aligned_alloc(size_t alignment, size_t n) { return allocation_fails(n) ? nullptr : __libc_memalign(alignment, n); }
void* mmap(void* at, size_t n, int protection, int flags, int fd, off_t offset) noexcept {
  if (allocation_fails(n)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, fd, offset));
}

}  // extern "C"
