#include "training/training_run.h"

namespace loom {
namespace {

// How many epochs a journal tells of, and one more where it does not end with them: a resumed run may have been prolonged.
Result<std::uint64_t> epochs_of(const std::string& journal) {
  LOOM_TRY(JournalReader reader, JournalReader::open(journal));
  std::int64_t most = 0;
  bool ended = false;
  for (;;) {
    LOOM_TRY(const auto line, reader.next());
    if (!line) return static_cast<std::uint64_t>(most) + (ended ? 0 : 1);
    if (const Json* epoch = find(*line, "epoch")) most = std::max(most, as_int(*epoch).value_or(0));
    const Json* event = find(*line, "event");
    ended = event != nullptr && *event == "end";
  }
}

}  // namespace

Result<ReplayReport> replay(const std::string& journal, const std::string& folder, const NetworkSessionOptions& session,
                            const TrainingRun::Callback& callback) {
  LOOM_TRY(JournalProof proof, JournalProof::open(journal));
  const Json *config = find(proof.start(), "config"), *said_folder = find(proof.start(), "folder");
  if (config == nullptr || said_folder == nullptr || !said_folder->is_string()) return fail(Code::CorruptData, "{}: config or folder is missing", journal);
  auto read = read_train_config(*config, folder.empty() ? *as_string(*said_folder) : folder);
  if (!read) return at(journal, std::move(read).error());
  LOOM_TRY(const std::uint64_t epochs, epochs_of(journal));
  read->source = journal, read->epochs = std::max(read->epochs, epochs);
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
