// Maps, locks, users and processes, which Linux and macOS have and WASI has not.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/system.h"

namespace loom::os {

std::string resolved(const std::string& path) {
  std::string out;
  if (char* const text = ::realpath(path.c_str(), nullptr)) {
    out = text;
    std::free(text);
  }
  return out;
}

Lock lock(int file) {
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? Lock::busy : Lock::failed;
  }
  return Lock::taken;
}

bool has_name(int file) {
  struct stat now{};
  return ::fstat(file, &now) == 0 && now.st_nlink != 0;
}

bool keep_permissions(int file, const std::string& of) {
  struct stat old{}, now{};
  if (::stat(of.c_str(), &old) != 0) return errno == ENOENT;  // somebody took it away meanwhile
  if (::fstat(file, &now) != 0) return false;
  auto mode = static_cast<mode_t>(old.st_mode & 0777);
  const bool same = old.st_uid == now.st_uid && old.st_gid == now.st_gid;
  // If the old group cannot be kept, its permissions must not pass to another group.
  if (!same && ::fchown(file, old.st_uid, old.st_gid) != 0 && ::fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0)
    mode &= 0707;
  return ::fchmod(file, mode) == 0;
}

void remove_left_over(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  struct stat s{};
  if (::fstat(file, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == ::geteuid() && ::flock(file, LOCK_EX | LOCK_NB) == 0)
    ::unlink(path.c_str());
  ::close(file);
}

const std::byte* map(int file, std::size_t bytes) {
  void* const begin = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  return begin == MAP_FAILED ? nullptr : static_cast<const std::byte*>(begin);
}
void unmap(const std::byte* begin, std::size_t bytes) noexcept { ::munmap(const_cast<std::byte*>(begin), bytes); }
void release_pages(const std::byte* begin, std::size_t bytes) {
  ::madvise(const_cast<std::byte*>(begin), bytes, MADV_DONTNEED);
}

void give_pages_back(std::byte* begin, std::size_t bytes) noexcept { ::munmap(begin, bytes); }

std::byte* reserve_addresses(std::size_t bytes) {
  void* const begin = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return begin == MAP_FAILED ? nullptr : static_cast<std::byte*>(begin);
}
void give_addresses_back(std::byte* begin, std::size_t bytes) noexcept { ::munmap(begin, bytes); }
bool fill_addresses(std::byte* begin, std::size_t bytes) {
  return ::mprotect(begin, bytes, PROT_READ | PROT_WRITE) == 0;
}
std::size_t page_bytes() {
  const long bytes = ::sysconf(_SC_PAGESIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

void* open_library(const char* path) { return can_open_libraries() ? ::dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr; }
void* symbol_of(void* library, const char* name) { return ::dlsym(library, name); }
std::string file_of_symbol(void* symbol) {
  Dl_info info{};
  return ::dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

bool watch_forks(void (*before)(), void (*parent)(), void (*child)()) {
  return ::pthread_atfork(before, parent, child) == 0;
}

}  // namespace loom::os
