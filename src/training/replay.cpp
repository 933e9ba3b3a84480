#include "training/training_run.h"

namespace loom {

Result<ReplayReport> replay(const std::string& journal, const std::string& folder, const NetworkSessionOptions& session,
                            const TrainingRun::Callback& callback) {
  LOOM_TRY(JournalProof proof, JournalProof::open(journal));
  const Json *config = find(proof.start(), "config"), *said_folder = find(proof.start(), "folder");
  if (config == nullptr || said_folder == nullptr || !said_folder->is_string()) return fail(Code::CorruptData, "{}: config or folder is missing", journal);
  auto read = read_train_config(*config, folder.empty() ? *as_string(*said_folder) : folder);
  if (!read) return at(journal, std::move(read).error());
  read->source = journal;
  LOOM_TRY(const auto run, TrainingRun::create(std::move(*read), {.session = session}));
  run->on_journal([&](const Json& line) { return proof.compare(line); });
  LOOM_TRY(const TrainResult result, run->run([&](const TrainProgress& progress) -> Result<Continue> {
    if (callback) {
      LOOM_TRY(const Continue going, callback(progress));
      if (going == Continue::stop) return fail(Code::Cancelled, "the replay was stopped at step {}", progress.step);
    }
    return proof.complete() && progress.event == TrainEvent::BatchBegin ? Continue::stop : Continue::yes;  // of an unfinished run
  }));
  LOOM_TRY_VOID(proof.finish());
  return ReplayReport{proof.compared(), result.steps, result.hash};
}

}  // namespace loom
