#include "core/run_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/file.h"
#include "core/journal.h"

#if !defined(__wasi__)
#include <sys/file.h>
#define LOOM_HAS_FLOCK 1
#endif

namespace loom {

Result<FolderLock> FolderLock::take(const std::string& folder) {
  const std::string path = folder + "/lock";
  // Not blocking: a pipe of that name must not hold us up.
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0) return fail(errno == ENOSPC ? Code::DiskFull : Code::IoError, "{}: {}", path, std::strerror(errno));
  FolderLock lock(fd);
#if defined(LOOM_HAS_FLOCK)
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return fail(Code::InvalidState, "{}: another process is writing a run there", folder);
    return fail(Code::IoError, "{}: cannot be locked: {}", path, std::strerror(errno));
  }
#endif
  return lock;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);  // the file stays: whoever removed it could lock another one than the next process
}

Result<bool> goes_on(const std::string& folder, RunStart start, std::string_view journal, std::string_view checkpoint, std::uint64_t first_lines) {
  const std::string record = fmt::format("{}/{}", folder, journal), state = fmt::format("{}/{}", folder, checkpoint);
  if (start == RunStart::overwrite) return false;
  if (start == RunStart::fresh) {
    if (!is_file(record) && !is_file(state)) return false;
    return fail(Code::InvalidArgument, "{} holds a run: --resume goes on with it, --overwrite begins anew, another folder keeps it", folder);
  }
  if (is_file(state)) return true;
  if (!is_file(record)) return false;
  LOOM_TRY(JournalReader lines, JournalReader::open(record));
  for (std::uint64_t i = 0; i <= first_lines; ++i) {
    LOOM_TRY(const auto line, lines.next());
    if (!line) return false;
  }
  return fail(Code::CorruptData, "{} is missing, but {} tells of a run: --overwrite begins anew", state, journal);
}

Result<void> remove_files(const std::string& folder, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(Code::IoError, "{}: {}", path, std::strerror(errno));
  }
  return {};
}

}  // namespace loom
