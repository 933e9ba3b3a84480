// Files and folders by the calls that Linux, macOS and WASI have in common.

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/file_stamp.h"
#include "core/system.h"

namespace loom::os {
namespace {

FileInfo told_by(const struct stat& s) {
  return {S_ISREG(s.st_mode), S_ISDIR(s.st_mode), static_cast<std::uint64_t>(s.st_size)};
}

std::int64_t nanoseconds(const struct timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

// O_NONBLOCK: opening a pipe would wait for its other end; so it is seen to be none of ours at once. Regular files do
// not care.
int flags_of(Access access) {
  switch (access) {
    case Access::read: return O_RDONLY | O_NOCTTY;
    case Access::create: return O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    case Access::append: return O_WRONLY | O_APPEND | O_NOFOLLOW;
    case Access::append_anew: return O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_NOFOLLOW;
    case Access::lock: return O_RDWR | O_CREAT | O_NOFOLLOW;
  }
  return O_RDONLY;
}

// Repeats a call that a signal has interrupted.
template <class F>
std::int64_t again(F&& call) {
  for (;;)
    if (const auto n = call(); n >= 0 || errno != EINTR) return n;
}

}  // namespace

const std::string_view kSeparators = "/";
const std::string_view kNotInNames = "\\";

bool is_disk_full(int error) { return error == ENOSPC || error == EDQUOT; }

int open(const std::string& path, Access access, unsigned mode) {
  return ::open(path.c_str(), flags_of(access) | O_CLOEXEC | O_NONBLOCK, static_cast<mode_t>(mode));
}
void close(int file) { ::close(file); }

std::int64_t read(int file, std::span<std::byte> to) {
  return again([&] { return ::read(file, to.data(), to.size()); });
}
std::int64_t write(int file, std::span<const std::byte> from) {
  return again([&] { return ::write(file, from.data(), from.size()); });
}
std::int64_t write_at(int file, std::uint64_t offset, std::span<const std::byte> from) {
  return again([&] { return ::pwrite(file, from.data(), from.size(), static_cast<off_t>(offset)); });
}
bool truncate(int file, std::uint64_t bytes) { return ::ftruncate(file, static_cast<off_t>(bytes)) == 0; }
bool flush(int file) { return ::fsync(file) == 0; }

bool flush_folder(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  // A folder that may be written but not listed cannot be opened, and some file systems have nothing to flush.
  if (file < 0) return true;
  const bool done = ::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  const int why = errno;
  ::close(file);
  errno = why;
  return done;
}

std::optional<FileInfo> info(int file) {
  struct stat s{};
  return ::fstat(file, &s) == 0 ? std::optional(told_by(s)) : std::nullopt;
}
std::optional<FileInfo> info(const std::string& path) {
  struct stat s{};
  return ::stat(path.c_str(), &s) == 0 ? std::optional(told_by(s)) : std::nullopt;
}
std::optional<FileStamp> stamp(const std::string& path) {
  struct stat s{};
  if (::stat(path.c_str(), &s) != 0) return std::nullopt;
#ifdef __APPLE__
  const struct timespec &modified = s.st_mtimespec, &changed = s.st_ctimespec;
#else
  const struct timespec &modified = s.st_mtim, &changed = s.st_ctim;
#endif
  return FileStamp{static_cast<std::uint64_t>(s.st_size), static_cast<std::uint64_t>(s.st_ino), nanoseconds(modified),
                   nanoseconds(changed)};
}
bool is_there(const std::string& path) {
  struct stat s{};
  return ::lstat(path.c_str(), &s) == 0;
}
bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one{}, other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

std::optional<std::vector<std::string>> names_in(const std::string& folder) {
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return std::nullopt;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(dir);
  return names;
}

bool make_folder(const std::string& path) { return ::mkdir(path.c_str(), 0777) == 0; }
bool rename(const std::string& from, const std::string& to) { return std::rename(from.c_str(), to.c_str()) == 0; }
bool replace(const std::string& from, const std::string& to, const std::string&) { return rename(from, to); }
bool remove(const char* path) noexcept { return ::unlink(path) == 0; }

std::byte* take_aligned(std::size_t bytes, std::size_t alignment) {
  return static_cast<std::byte*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
}
void give_aligned_back(std::byte* begin) noexcept { std::free(begin); }

}  // namespace loom::os
