#include "core/run_folder.h"

#include <cerrno>

#include "core/file.h"
#include "core/journal.h"
#include "core/system.h"

namespace loom {

Result<FolderLock> FolderLock::take(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int fd = os::open(path, os::Access::lock);
  if (fd < 0) return os::error(path);
  FolderLock lock(fd);
  switch (os::lock(fd)) {
    case os::Lock::taken: return lock;
    case os::Lock::busy:
      return fail(Code::InvalidState, "{}: another process is writing a run into this folder", folder);
    case os::Lock::failed: break;
  }
  return os::error(path, "cannot be locked");
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) os::close(fd_);  // the file stays: whoever removed it could lock another one than the next process
}

namespace {

std::string file_of(const std::string& folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

// The state of a run in a folder: nothing; a beginning, which has computed nothing yet; a run that can be resumed; a
// journal whose checkpoint is missing.
enum class Held : std::uint8_t { Nothing, Beginning, Run, JournalAlone };

Result<Held> held_in(const std::string& folder, const RunKind& kind) {
  if (is_file(file_of(folder, kind.checkpoint))) return Held::Run;
  const std::string journal = file_of(folder, kind.journal);
  if (!is_file(journal)) return Held::Nothing;
  LOOM_TRY(JournalReader lines, JournalReader::open(journal));
  for (std::uint64_t i = 0; i <= kind.first_lines; ++i) {
    LOOM_TRY(const auto line, lines.next());
    if (!line) return Held::Beginning;
  }
  return Held::JournalAlone;
}

bool holds_run(const std::string& folder, const RunKind& kind) {
  return is_file(file_of(folder, kind.journal)) || is_file(file_of(folder, kind.checkpoint));
}

// Files that runs of any kind are known by.
constexpr std::string_view kMarks[] = {kTrainingRun.journal,     kTrainingRun.checkpoint, kEvolutionRun.journal,
                                       kEvolutionRun.checkpoint, kAdapterFiles[0],        kAdapterFiles[1]};

}  // namespace

Result<void> check_folder(const std::string& folder, RunStart start, const RunKind& kind) {
  if (start == RunStart::overwrite || holds_run(folder, kind)) return {};
  for (const std::span<const std::string_view> names : {std::span<const std::string_view>(kMarks), kind.others})
    for (const std::string_view name : names)
      if (os::is_there(file_of(folder, name)))
        return fail(Code::InvalidArgument, "{}/{}: exists and is of no {}; another folder is expected, or --overwrite",
                    folder, name, kind.name);
  return {};
}

Result<void> check_start(const std::string& folder, RunStart start, const RunKind& kind) {
  if (start == RunStart::fresh) return {};
  if (folder.empty())
    return fail(Code::InvalidArgument, "start is \"{}\" without out: the folder of a run is expected",
                start == RunStart::resume ? "resume" : "overwrite");
  if (start == RunStart::overwrite) return {};
  LOOM_TRY_VOID(check_folder(folder, RunStart::resume, kind));
  // a lock alone: a run was killed before its first line
  if (holds_run(folder, kind) || os::is_there(file_of(folder, "lock"))) return {};
  return fail(Code::NotFound, "{}: holds no {} to resume; leave out --resume to begin one", folder, kind.name);
}

Result<bool> goes_on(const std::string& folder, RunStart start, const RunKind& kind) {
  LOOM_TRY_VOID(check_folder(folder, start, kind));
  if (start == RunStart::overwrite || !holds_run(folder, kind)) return false;
  const auto held = held_in(folder, kind);
  // a journal that nobody can read is a run of this kind all the same
  if (!held && start == RunStart::resume) return tl::make_unexpected(held.error());
  if (held && *held == Held::JournalAlone)
    return fail(start == RunStart::resume ? Code::CorruptData : Code::InvalidArgument,
                "{} holds a run, but {} is missing: --overwrite starts a new run, another folder keeps it", folder,
                kind.checkpoint);
  if (start == RunStart::fresh)
    return fail(Code::InvalidArgument,
                "{} holds a run: --resume goes on with it, --overwrite starts a new run, another folder keeps it",
                folder);
  return *held == Held::Run;
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
    if (!os::remove(path.c_str()) && errno != ENOENT) return os::error(path);
    return {};
  };
  for (const std::string_view name : kind.others) LOOM_TRY_VOID(remove(name));
  return remove(kind.checkpoint);
}

}  // namespace loom
