#include "core/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
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
  // O_NONBLOCK keeps open() from waiting on a pipe of that name.
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

namespace {

std::string file_of(const std::string& folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

bool holds_run(const std::string& folder, const RunKind& kind) {
  return is_file(file_of(folder, kind.journal)) || is_file(file_of(folder, kind.checkpoint));
}

// A folder or a link that leads nowhere too.
bool is_there(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

// Files that runs of any kind are known by.
constexpr std::string_view kMarks[] = {kTrainingRun.journal,     kTrainingRun.checkpoint, kEvolutionRun.journal,
                                       kEvolutionRun.checkpoint, kAdapterFiles[0],        kAdapterFiles[1]};

}  // namespace

Result<void> check_folder(const std::string& folder, RunStart start, const RunKind& kind) {
  if (start == RunStart::overwrite || holds_run(folder, kind)) return {};
  for (const std::span<const std::string_view> names : {std::span<const std::string_view>(kMarks), kind.others})
    for (const std::string_view name : names)
      if (is_there(file_of(folder, name)))
        return fail(Code::InvalidArgument, "{}/{}: exists and is of no {}; another folder is expected, or --overwrite",
                    folder, name, kind.name);
  return {};
}

Result<bool> goes_on(const std::string& folder, RunStart start, const RunKind& kind) {
  LOOM_TRY_VOID(check_folder(folder, start, kind));
  if (start == RunStart::overwrite || !holds_run(folder, kind)) return false;
  if (start == RunStart::fresh)
    return fail(Code::InvalidArgument,
                "{} holds a run: --resume goes on with it, --overwrite begins anew, another folder keeps it", folder);
  const std::string state = file_of(folder, kind.checkpoint);
  if (is_file(state)) return true;
  LOOM_TRY(JournalReader lines, JournalReader::open(file_of(folder, kind.journal)));
  for (std::uint64_t i = 0; i <= kind.first_lines; ++i) {
    LOOM_TRY(const auto line, lines.next());
    if (!line) return false;
  }
  return fail(Code::CorruptData, "{} is missing, but {} tells of a run: --overwrite begins anew", state, kind.journal);
}

Result<RunFolder> take_folder(const std::string& folder, RunStart start, const RunKind& kind) {
  LOOM_TRY_VOID(check_folder(folder, start, kind));
  LOOM_TRY(FolderLock lock, FolderLock::take(folder));
  LOOM_TRY(const bool resumes, goes_on(folder, start, kind));
  return RunFolder{std::move(lock), resumes};
}

Result<void> remove_older(const std::string& folder, const RunKind& kind) {
  const auto remove = [&](std::string_view name) -> Result<void> {
    const std::string path = file_of(folder, name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return fail(Code::IoError, "{}: {}", path, std::strerror(errno));
    return {};
  };
  for (const std::string_view name : kind.others) LOOM_TRY_VOID(remove(name));
  return remove(kind.checkpoint);
}

}  // namespace loom
