#include "core/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/files_read.h"
#include "core/nearest.h"
#include "core/system.h"

namespace loom {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) os::close(fd);
  }
};

// Bytes of a path up to its last folder, with the separator.
std::size_t folder_bytes(std::string_view path) {
  return path.find_last_of(os::kSeparators) + 1;  // npos + 1 is 0
}

std::string folder_of(const std::string& path) {
  const std::size_t bytes = folder_bytes(path);
  return bytes == 0 ? "." : path.substr(0, bytes);
}

// The tables that signal handlers look into are plain memory of a fixed size. A map or file that finds no slot in them
// works as well, but the handlers do not know it.
struct MapSlot {
  std::atomic<std::uintptr_t> begin{0};  // 0: free; 1: being filled
  std::atomic<std::size_t> size{0};
  std::atomic<const char*> path{nullptr};
};
MapSlot g_maps[256];

int register_map(const void* begin, std::size_t size, const char* path) {
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

constexpr std::size_t kDigits = 16;
constexpr std::size_t kLongestStem = 200;
constexpr std::string_view kEnding = ".part";

// The prefix of temporary file names, cut so that they fit into a folder's limit of 255 bytes whenever the target's
// name does.
std::string temporary_stem(const std::string& path) { return path.substr(folder_bytes(path), kLongestStem) + "."; }

// The name only has to be new, which O_EXCL checks; it may be guessable.
std::string temporary_name(const std::string& path) {
  static std::atomic<std::uint64_t> count{0};
  std::uint64_t z = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) +
                    0x9E3779B97F4A7C15u * ++count;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return fmt::format("{}{}{:016x}{}", path.substr(0, folder_bytes(path)), temporary_stem(path), z ^ z >> 31, kEnding);
}

// Removes files that a killed save of `path` has left: ours by name and owner, and not locked.
void remove_leftovers(const std::string& path) {
  const auto names = os::names_in(folder_of(path));
  if (!names) return;
  const std::string stem = temporary_stem(path);
  for (const std::string_view name : *names) {
    if (name.size() != stem.size() + kDigits + kEnding.size() || !name.starts_with(stem) || !name.ends_with(kEnding))
      continue;
    if (name.substr(stem.size(), kDigits).find_first_not_of("0123456789abcdef") != name.npos) continue;
    os::remove_left_over(fmt::format("{}/{}", folder_of(path), name));
  }
}

Result<std::size_t> regular_size(int fd, const std::string& path) {
  const auto info = os::info(fd);
  if (!info) return os::error(path, "cannot stat");
  if (info->is_folder) return fail(Code::IoError, "{}: is a folder, expected a file", path);
  if (!info->is_file) return fail(Code::IoError, "{}: is no regular file", path);
  return static_cast<std::size_t>(info->bytes);
}

Result<void> read_exactly(int fd, std::span<std::byte> to, const std::string& path) {
  while (!to.empty()) {
    const std::int64_t got = os::read(fd, to);
    if (got < 0) return os::error(path, "cannot read");
    if (got == 0) return fail(Code::IoError, "{}: file became shorter while it was read", path);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

// Reads until the end: files of /proc do not report their size.
Result<void> read_rest(int fd, std::string& text, std::size_t max_bytes, const std::string& path) {
  char more[16384];
  for (;;) {
    const std::int64_t got = os::read(fd, std::as_writable_bytes(std::span(more)));
    if (got < 0) return os::error(path, "cannot read");
    if (got == 0) return {};
    if (static_cast<std::size_t>(got) > max_bytes - text.size())
      return fail(Code::LimitExceeded, "{}: more than {} bytes, which is all that is read", path, max_bytes);
    text.append(more, static_cast<std::size_t>(got));
  }
}

tl::unexpected<Error> write_error(const std::string& path) {
  if (errno == EFAULT)
    return fail(Code::IoError, "{}: not written: a file that it is made of became shorter meanwhile", path);
  return os::error(path, "cannot write");
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const Descriptor file{os::open(path, os::Access::read)};
  if (file.fd < 0) return os::error(path, "cannot open");
  LOOM_TRY(const std::size_t size, regular_size(file.fd, path));
  std::shared_ptr<MappedFile> out(new MappedFile);
  out->path_ = path;
  if (size == 0) return out;
  out->data_ = os::map(file.fd, size);
  if (out->data_ == nullptr) return os::error(path, "cannot map");
  out->size_ = size;
  // Git LFS leaves such a text in place of a file that was not fetched.
  constexpr std::string_view kLfsBegin = "version https://git-lfs.github.com/spec/";
  if (std::string_view(reinterpret_cast<const char*>(out->data_), size).starts_with(kLfsBegin))
    return fail(Code::Unsupported, "{}: a pointer of Git LFS, not the file itself; git lfs pull fetches it", path);
  out->slot_ = register_map(out->data_, size, out->path_.c_str());
  return out;
}

MappedFile::~MappedFile() {
  if (slot_ >= 0) g_maps[slot_].begin = 0;
  if (data_ != nullptr) os::unmap(data_, size_);
}

void MappedFile::release(std::span<const std::byte> part) const {
  if (data_ == nullptr || part.empty()) return;
  constexpr std::size_t kPage = 4096;
  const std::size_t begin = (static_cast<std::size_t>(part.data() - data_) + kPage - 1) / kPage * kPage;
  const std::size_t end = (static_cast<std::size_t>(part.data() - data_) + part.size()) / kPage * kPage;
  if (begin < end) os::release_pages(data_ + begin, end - begin);
}

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor file{os::open(path, os::Access::read)};
  if (file.fd < 0) return os::error(path, "cannot open");
  LOOM_TRY(const std::size_t size, regular_size(file.fd, path));
  if (size > max_bytes) return fail(Code::LimitExceeded, "{}: {} bytes, at most {} are read", path, size, max_bytes);
  std::string text(size, '\0');
  LOOM_TRY_VOID(read_exactly(file.fd, std::as_writable_bytes(std::span(text)), path));
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
  const auto old = os::info(path_);
  // A rename would put a file in the place of a device or a pipe.
  if (old && !old->is_file) return fail(Code::IoError, "{}: is no regular file; not replaced", path_);
  fd_ = os::open(temporary_, os::Access::create, old ? 0600 : 0666);
  if (fd_ < 0 && errno == EEXIST) return false;
  if (fd_ < 0) return os::error(path_, "cannot create a file beside it");
  if (os::lock(fd_) == os::Lock::busy || !os::has_name(fd_)) {
    os::remove(temporary_.c_str());
    os::close(std::exchange(fd_, -1));
    return false;
  }
  if (old && !os::keep_permissions(fd_, path_)) return os::error(path_, "cannot keep its permissions");
  return true;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    os::remove(temporary_.c_str());
    os::close(fd_);
  }
  forget_temporary(slot_);
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t put = os::write(fd_, bytes);
    if (put < 0) return write_error(path_);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t put = os::write_at(fd_, offset, bytes);
    if (put < 0) return write_error(path_);
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (!os::flush(fd_)) return os::error(path_, "cannot flush to disk");
  if (!os::replace(temporary_, path_, temporary_name(path_))) return os::error(path_, "cannot rename into place");
  forget_temporary(std::exchange(slot_, -1));
  os::close(std::exchange(fd_, -1));
  return sync_folder_of(path_);
}

Result<void> sync_folder_of(const std::string& path) {
  if (!os::flush_folder(folder_of(path))) return os::error(path, "cannot flush its folder to disk");
  return {};
}

void remove_temporary_files() noexcept {
  for (TemporarySlot& slot : g_temporaries) {
    int expected = kLive;
    if (slot.state.compare_exchange_strong(expected, kRemoving)) os::remove(slot.path);
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
  const auto info = os::info(path);
  return info && info->is_folder;
}

bool is_file(const std::string& path) {
  const auto info = os::info(path);
  return info && info->is_file;
}

namespace {

bool is_below(const std::string& folder, const std::string& path) {
  return folder == "/" || (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

// The parts of a name joined by "/", without ".". Empty for an absolute name and one that leads up.
std::string plain_name(std::string_view name) {
  if (name.starts_with('/') || name.find('\0') != name.npos || name.find_first_of(os::kNotInNames) != name.npos)
    return {};
  std::string plain;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "..") return {};
    if (part != ".") plain.append(plain.empty() ? "" : "/").append(part);
    begin = end + 1;
  }
  return name.ends_with("/.") ? std::string() : plain;
}

// Whether the folder is snapshots/REVISION of a cache of Hugging Face, or below it, and the file one of its blobs.
bool is_blob_of_snapshot(const std::string& folder, const std::string& file) {
  constexpr std::string_view kSnapshots = "/snapshots/";
  for (std::size_t at = folder.find(kSnapshots); at != folder.npos; at = folder.find(kSnapshots, at + 1))
    if (at + kSnapshots.size() < folder.size() && is_below(folder.substr(0, at) + "/blobs", file)) return true;
  return false;
}

}  // namespace

Result<std::string> path_inside(const std::string& folder, std::string_view name) {
  const std::string plain = plain_name(name);
  if (plain.empty())
    return fail(Code::OutOfRange, "file name \"{}\" leaves the model's folder; expected a file in it or below it",
                printable(name.substr(0, 120)));
  std::string path = folder + "/" + plain;
  const std::string root = os::resolved(folder), target = os::resolved(path);
  // A missing file is left to open() to report.
  if (target.empty() || root.empty() || is_below(root, target) || is_blob_of_snapshot(root, target)) return path;
  return fail(Code::OutOfRange, "file name \"{}\" is a link that leaves the model's folder",
              printable(name.substr(0, 120)));
}

}  // namespace loom
