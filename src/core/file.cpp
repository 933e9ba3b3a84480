#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#if !defined(__wasi__)
#include <sys/mman.h>
#define LOOM_HAS_MMAP 1
#endif

namespace loom {
namespace {

tl::unexpected<Error> system_error(const std::string& path, const char* what) {
  const int e = errno;
  const Code code = e == ENOENT ? Code::NotFound : e == ENOSPC ? Code::DiskFull : e == ENOMEM ? Code::OutOfMemory : Code::IoError;
  return fail(code, "{}: {}: {}", path, what, std::strerror(e));
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

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

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
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
#else
  out->copy_.resize(size);
  LOOM_TRY_VOID(read_exactly(file.fd, out->copy_.data(), size, path));
  out->data_ = out->copy_.data();
#endif
  return out;
}

MappedFile::~MappedFile() {
#if defined(LOOM_HAS_MMAP)
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
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return system_error(path, "cannot open");
  LOOM_TRY(const std::size_t size, regular_size(file.fd, path));
  if (size > max_bytes) return fail(Code::LimitExceeded, "{}: {} bytes, at most {} are read", path, size, max_bytes);
  std::string text(size, '\0');
  LOOM_TRY_VOID(read_exactly(file.fd, reinterpret_cast<std::byte*>(text.data()), size, path));
  return text;
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  struct stat info{};   // a rename would put a file in the place of a device or a pipe
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return fail(Code::IoError, "{}: is no regular file; not replaced", path);
  const int fd = ::open((path + ".part").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return system_error(path + ".part", "cannot create");
  return AtomicFile(path, fd);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary().c_str());
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error(path_, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error(path_, "cannot write");
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (::fsync(fd_) != 0) return system_error(path_, "cannot flush to disk");
  if (std::rename(temporary().c_str(), path_.c_str()) != 0) return system_error(path_, "cannot rename into place");
  ::close(std::exchange(fd_, -1));
  const std::size_t slash = path_.find_last_of('/');
  const Descriptor folder{::open(slash == std::string::npos ? "." : path_.substr(0, slash + 1).c_str(), O_RDONLY | O_CLOEXEC)};
  if (folder.fd >= 0) ::fsync(folder.fd);
  return {};
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

Result<std::string> path_inside(const std::string& folder, std::string_view name) {
  bool inside = !name.empty() && name.front() != '/' && name.find('\0') == name.npos && name.find('\\') == name.npos;
  for (std::size_t begin = 0; inside && begin <= name.size();) {
    const std::size_t end = name.find('/', begin) == name.npos ? name.size() : name.find('/', begin);
    const std::string_view part = name.substr(begin, end - begin);
    inside = !part.empty() && part != "." && part != "..";
    begin = end + 1;
  }
  if (!inside) return fail(Code::OutOfRange, "file name \"{}\" leaves the model's folder", name.substr(0, 120));
  return folder + "/" + std::string(name);
}

}  // namespace loom
