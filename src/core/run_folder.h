#pragma once
// The folder that a run (train, finetune, evolve) writes: one process at a time, never over another run unasked, and
// gone on with only where its checkpoint stands.

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace loom {

// The right to write into a folder. Its holder's death releases it, however that comes.
class FolderLock {
 public:
  // Creates the file `lock` in an existing folder. InvalidState when it is already locked, also by this process;
  // IoError.
  static Result<FolderLock> take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

enum class RunStart : std::uint8_t { fresh, resume, overwrite };

// The names of the files that a kind of run writes. A folder with its journal or checkpoint holds a run of its own
// kind.
struct RunKind {
  std::string_view name, journal, checkpoint;
  std::uint64_t first_lines;  // that a journal may have before the first checkpoint
  std::span<const std::string_view> others;
};
inline constexpr std::string_view kTrainingFiles[] = {"config.json",      "model.entity",    "best.entity",
                                                      "report.html",      "timings.jsonl",   "dna.jsonl",
                                                      "dna.first.entity", "dna.even.entity", "dna.odd.entity"};
inline constexpr std::string_view kEvolutionFiles[] = {"best.entity"};
inline constexpr std::string_view kAdapterFiles[] = {"adapter_config.json", "adapter_model.safetensors"};
inline constexpr RunKind kTrainingRun{"training", "journal.jsonl", "checkpoint.entity", 1, kTrainingFiles};
inline constexpr RunKind kEvolutionRun{"evolution", "lineage.jsonl", "state.json", 0, kEvolutionFiles};
inline constexpr RunKind kFinetuningRun{"fine-tuning", "journal.jsonl", "checkpoint.entity", 2, {}};
// The folder of the adapter, which holds that of its run.
inline constexpr RunKind kAdapterRun{"fine-tuning", "run/journal.jsonl", "run/checkpoint.entity", 2, kAdapterFiles};

// A run begins in a folder that holds one of its own kind, or nothing that it would write and no run of another kind:
// else InvalidArgument with the first such file, unless it may be overwritten. Other files are ignored, and the folder
// need not exist.
Result<void> check_folder(const std::string& folder, RunStart start, const RunKind& kind);

// For programs whose users say how a run starts. NotFound for a folder to resume in which no run ever began (one that
// was killed after it had locked its folder counts), and then the errors of check_folder(). InvalidArgument without a
// folder where the start is not fresh.
Result<void> check_start(const std::string& folder, RunStart start, const RunKind& kind);

// Returns whether a run goes on from its checkpoint (true) or begins (false), by the files of its folder.
// InvalidArgument for a fresh run where there is one, and of check_folder(). Without a checkpoint, a journal may have
// no more than the lines that come before the first one: else CorruptData, or InvalidArgument for a fresh run, which
// would lose the other lines.
Result<bool> goes_on(const std::string& folder, RunStart start, const RunKind& kind);

// The lock, and goes_on() under it; a folder that check_folder() refuses gets no lock file.
struct RunFolder {
  FolderLock lock;
  bool resumes;
};
Result<RunFolder> take_folder(const std::string& folder, RunStart start, const RunKind& kind);

// Removes the files of an older run except its journal, which is overwritten. IoError.
Result<void> remove_older(const std::string& folder, const RunKind& kind);

}  // namespace loom
