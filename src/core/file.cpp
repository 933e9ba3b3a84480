#include "core/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if !defined(__wasi__)  // which has neither maps, users nor locks
#include <sys/file.h>
#include <sys/mman.h>
#define LOOM_HAS_MMAP 1
#define LOOM_HAS_USERS 1
#endif

namespace loom {
namespace {

tl::unexpected<Error> system_error(const std::string& path, const char* what) {
  const int e = errno;
  const Code code = e == ENOENT                  ? Code::NotFound
                    : e == ENOSPC || e == EDQUOT ? Code::DiskFull
                    : e == ENOMEM                ? Code::OutOfMemory
                                                 : Code::IoError;
  return fail(code, "{}: {}: {}", path, what, std::strerror(e));
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Opening a pipe would wait for its other end; with O_NONBLOCK it is seen to be none of ours at once. Regular files do
// not care.
int open_to_read(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// The tables that signal handlers look into are plain memory of a fixed size. What finds no place in them works all the
// same, only unseen.
struct MapSlot {
  std::atomic<std::uintptr_t> begin{0};  // 0: free; 1: being filled
  std::atomic<std::size_t> size{0};
  std::atomic<const char*> path{nullptr};
};
MapSlot g_maps[256];

[[maybe_unused]] int register_map(const void* begin, std::size_t size, const char* path) {
  for (MapSlot& slot : g_maps) {
    std::uintptr_t expected = 0;
    if (!slot.begin.compare_exchange_strong(expected, 1)) continue;
    slot.size = size, slot.path = path;
    slot.begin = reinterpret_cast<std::uintptr_t>(begin);
    return static_cast<int>(&slot - g_maps);
  }
  return -1;
}

enum : int { kFree, kFilling, kLive, kRemoving };
struct TemporarySlot {
  std::atomic<int> state{kFree};
  char path[4096];
};
TemporarySlot g_temporaries[64];

int register_temporary(const std::string& path) {
  if (path.size() >= sizeof(TemporarySlot::path)) return -1;
  for (TemporarySlot& slot : g_temporaries) {
    int expected = kFree;
    if (!slot.state.compare_exchange_strong(expected, kFilling)) continue;
    std::memcpy(slot.path, path.c_str(), path.size() + 1);
    slot.state = kLive;
    return static_cast<int>(&slot - g_temporaries);
  }
  return -1;
}

// A slot that a handler is removing stays its own: the process is about to end.
void forget_temporary(int slot) {
  if (slot < 0) return;
  int expected = kLive;
  g_temporaries[slot].state.compare_exchange_strong(expected, kFree);
}

[[maybe_unused]] constexpr std::size_t kDigits = 16;
constexpr std::size_t kLongestStem = 200;
constexpr std::string_view kEnding = ".part";

// The prefix of temporary file names, cut so that they fit into a folder's limit of 255 bytes whenever the target's
// name does.
std::string temporary_stem(const std::string& path) {
  const std::size_t slash = path.find_last_of('/'), begin = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(begin, kLongestStem) + ".";
}

// The name only has to be new, which O_EXCL checks; it may be guessable.
std::string temporary_name(const std::string& path) {
  static std::atomic<std::uint64_t> count{0};
  std::uint64_t z = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) +
                    0x9E3779B97F4A7C15u * ++count;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);  // npos + 1 is 0
  return fmt::format("{}{}{:016x}{}", folder, temporary_stem(path), z ^ z >> 31, kEnding);
}

// Removes files that a killed save of `path` has left: ours by name and owner, and not locked.
void remove_leftovers([[maybe_unused]] const std::string& path) {
#if defined(LOOM_HAS_USERS)
  DIR* const dir = ::opendir(folder_of(path).c_str());
  if (dir == nullptr) return;
  const std::string stem = temporary_stem(path);
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name.size() != stem.size() + kDigits + kEnding.size() || !name.starts_with(stem) || !name.ends_with(kEnding))
      continue;
    if (name.substr(stem.size(), kDigits).find_first_not_of("0123456789abcdef") != name.npos) continue;
    const Descriptor file{::openat(::dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat info{};
    if (file.fd < 0 || ::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) continue;
    if (::flock(file.fd, LOCK_EX | LOCK_NB) == 0) ::unlinkat(::dirfd(dir), entry->d_name, 0);
  }
  ::closedir(dir);
#endif
}

Result<std::size_t> regular_size(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return system_error(path, "cannot stat");
  if (S_ISDIR(info.st_mode)) return fail(Code::IoError, "{}: is a folder, expected a file", path);
  if (!S_ISREG(info.st_mode)) return fail(Code::IoError, "{}: is no regular file", path);
  return static_cast<std::size_t>(info.st_size);
}

Result<void> read_exactly(int fd, std::byte* to, std::size_t n, const std::string& path) {
  while (n > 0) {
    const ssize_t got = ::read(fd, to, n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "cannot read");
    if (got == 0) return fail(Code::IoError, "{}: file became shorter while it was read", path);
    to += got, n -= static_cast<std::size_t>(got);
  }
  return {};
}

// Reads until the end: files of /proc do not report their size.
Result<void> read_rest(int fd, std::string& text, std::size_t max_bytes, const std::string& path) {
  char more[16384];
  for (;;) {
    const ssize_t got = ::read(fd, more, sizeof more);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "cannot read");
    if (got == 0) return {};
    if (static_cast<std::size_t>(got) > max_bytes - text.size())
      return fail(Code::LimitExceeded, "{}: more than {} bytes, which is all that is read", path, max_bytes);
    text.append(more, static_cast<std::size_t>(got));
  }
}

tl::unexpected<Error> write_error(const std::string& path) {
  if (errno == EFAULT)
    return fail(Code::IoError, "{}: not written: a file that it is made of became shorter meanwhile", path);
  return system_error(path, "cannot write");
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const Descriptor file{open_to_read(path)};
  if (file.fd < 0) return system_error(path, "cannot open");
  LOOM_TRY(const std::size_t size, regular_size(file.fd, path));
  std::shared_ptr<MappedFile> out(new MappedFile);
  out->path_ = path;
  out->size_ = size;
  if (size == 0) return out;
#if defined(LOOM_HAS_MMAP)
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (map == MAP_FAILED) return system_error(path, "cannot map");
  out->data_ = static_cast<const std::byte*>(map);
  out->mapped_ = true;
  out->slot_ = register_map(map, size, out->path_.c_str());
#else
  out->copy_.resize(size);
  LOOM_TRY_VOID(read_exactly(file.fd, out->copy_.data(), size, path));
  out->data_ = out->copy_.data();
#endif
  return out;
}

MappedFile::~MappedFile() {
#if defined(LOOM_HAS_MMAP)
  if (slot_ >= 0) g_maps[slot_].begin = 0;
  if (mapped_) ::munmap(const_cast<std::byte*>(data_), size_);
#endif
}

void MappedFile::release(std::span<const std::byte> part) const {
#if defined(LOOM_HAS_MMAP)
  if (!mapped_ || part.empty()) return;
  constexpr std::size_t kPage = 4096;
  const std::size_t begin = (static_cast<std::size_t>(part.data() - data_) + kPage - 1) / kPage * kPage;
  const std::size_t end = (static_cast<std::size_t>(part.data() - data_) + part.size()) / kPage * kPage;
  if (begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
#else
  (void)part;
#endif
}

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor file{open_to_read(path)};
  if (file.fd < 0) return system_error(path, "cannot open");
  LOOM_TRY(const std::size_t size, regular_size(file.fd, path));
  if (size > max_bytes) return fail(Code::LimitExceeded, "{}: {} bytes, at most {} are read", path, size, max_bytes);
  std::string text(size, '\0');
  LOOM_TRY_VOID(read_exactly(file.fd, reinterpret_cast<std::byte*>(text.data()), size, path));
  LOOM_TRY_VOID(read_rest(file.fd, text, max_bytes, path));
  return text;
}

Result<std::string> read_stream(int fd, const std::string& name, std::size_t max_bytes) {
  std::string text;
  LOOM_TRY_VOID(read_rest(fd, text, max_bytes, name));
  return text;
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  remove_leftovers(path);
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string temporary = temporary_name(path);
    const int slot = register_temporary(temporary);  // first, so that no signal finds a file that is not registered
    AtomicFile file(path, std::move(temporary), slot);
    LOOM_TRY(const bool opened, file.open());
    if (opened) return file;
  }
  return fail(Code::IoError, "{}: no free name for a temporary file beside it", path);
}

// False: the name is taken, or a cleaner was faster than the lock.
Result<bool> AtomicFile::open() {
  struct stat old{};
  const bool replaces = ::stat(path_.c_str(), &old) == 0;
  // A rename would put a file in the place of a device or a pipe.
  if (replaces && !S_ISREG(old.st_mode)) return fail(Code::IoError, "{}: is no regular file; not replaced", path_);
  const int fd =
      ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, replaces ? 0600 : 0666);
  if (fd < 0 && errno == EEXIST) return false;
  if (fd < 0) return system_error(path_, "cannot create a file beside it");
  fd_ = fd;
#if defined(LOOM_HAS_USERS)
  struct stat now{};
  if ((::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || ::fstat(fd, &now) != 0 || now.st_nlink == 0) {
    ::unlink(temporary_.c_str());
    ::close(std::exchange(fd_, -1));
    return false;
  }
  if (replaces) {
    auto mode = static_cast<mode_t>(old.st_mode & 0777);
    const bool same = old.st_uid == now.st_uid && old.st_gid == now.st_gid;
    // If the old group cannot be kept, its permissions must not pass to another group.
    if (!same && ::fchown(fd, old.st_uid, old.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0)
      mode &= 0707;
    if (::fchmod(fd, mode) != 0) return system_error(path_, "cannot keep its permissions");
  }
#endif
  return true;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    ::unlink(temporary_.c_str());
    ::close(fd_);
  }
  forget_temporary(slot_);
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return write_error(path_);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return write_error(path_);
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (::fsync(fd_) != 0) return system_error(path_, "cannot flush to disk");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return system_error(path_, "cannot rename into place");
  forget_temporary(std::exchange(slot_, -1));
  ::close(std::exchange(fd_, -1));
  return sync_folder_of(path_);
}

Result<void> sync_folder_of(const std::string& path) {
  const Descriptor folder{::open(folder_of(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  // A folder that may be written but not listed cannot be opened, and some file systems have nothing to flush.
  if (folder.fd >= 0 && ::fsync(folder.fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
    return system_error(path, "cannot flush its folder to disk");
  return {};
}

void remove_temporary_files() noexcept {
  for (TemporarySlot& slot : g_temporaries) {
    int expected = kLive;
    if (slot.state.compare_exchange_strong(expected, kRemoving)) ::unlink(slot.path);
  }
}

// The thread that reads a map keeps its path alive; of other slots only numbers are looked at.
const char* mapped_file_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const MapSlot& slot : g_maps) {
    const std::uintptr_t begin = slot.begin;
    if (begin > 1 && at >= begin && at - begin < (slot.size + 4095) / 4096 * 4096) return slot.path;
  }
  return nullptr;
}

Result<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  LOOM_TRY(auto file, AtomicFile::create(path));
  LOOM_TRY_VOID(file.write(bytes));
  return file.commit();
}

bool is_directory(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_file(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

namespace {

// The path without links; empty if it is not there, and under WASI, whose hosts keep a program inside the folders that
// it was given.
std::string resolved([[maybe_unused]] const std::string& path) {
  std::string out;
#if defined(LOOM_HAS_USERS)
  if (char* const text = ::realpath(path.c_str(), nullptr)) {
    out = text;
    std::free(text);
  }
#endif
  return out;
}

bool is_below(const std::string& folder, const std::string& path) {
  return folder == "/" || (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace

Result<std::string> path_inside(const std::string& folder, std::string_view name) {
  bool inside = !name.empty() && name.front() != '/' && name.find('\0') == name.npos && name.find('\\') == name.npos;
  for (std::size_t begin = 0; inside && begin <= name.size();) {
    const std::size_t end = name.find('/', begin) == name.npos ? name.size() : name.find('/', begin);
    const std::string_view part = name.substr(begin, end - begin);
    inside = !part.empty() && part != "." && part != "..";
    begin = end + 1;
  }
  if (!inside) return fail(Code::OutOfRange, "file name \"{}\" leaves the model's folder", name.substr(0, 120));
  std::string path = folder + "/" + std::string(name);
  const std::string root = resolved(folder), target = resolved(path);
  // A missing file is left to open() to report.
  if (target.empty() || root.empty() || is_below(root, target)) return path;
  const std::size_t revision = root.find_last_of('/'), snapshots = root.rfind('/', revision - 1);
  const bool cached = revision != 0 && snapshots != root.npos &&
                      root.substr(snapshots, revision - snapshots) == "/snapshots" &&
                      is_below(root.substr(0, snapshots) + "/blobs", target);
  if (!cached)
    return fail(Code::OutOfRange, "file name \"{}\" is a link that leaves the model's folder", name.substr(0, 120));
  return path;
}

}  // namespace loom
