#include "training/training_run.h"

namespace loom {
namespace {

// Extent of a journal. A resumed run may have been prolonged: then its last epoch comes after the configuration's,
// whole or in part.
struct Told {
  std::uint64_t epochs = 0;
  bool ended = false;
};
Result<Told> told(const std::string& journal) {
  LOOM_TRY(JournalReader reader, JournalReader::open(journal));
  Told all;
  bool inside = false;  // an epoch whose line has not come
  for (;;) {
    LOOM_TRY(const auto line, reader.next());
    if (!line) break;
    const Json* const event = find(*line, "event");
    const std::string* const name = event == nullptr ? nullptr : as_string(*event);
    if (name == nullptr) continue;
    inside = *name == "steps" || *name == "cells", all.ended = *name == "end";
    if (const Json* epoch = *name == "epoch" ? find(*line, "epoch") : nullptr)
      all.epochs =
          std::max(all.epochs, static_cast<std::uint64_t>(std::max<std::int64_t>(0, as_int(*epoch).value_or(0))));
  }
  all.epochs += inside;
  return all;
}

}  // namespace

Result<ReplayReport> replay(const std::string& journal, const std::string& folder, const NetworkSessionOptions& session,
                            const TrainingRun::Callback& callback, TrainingInput input) {
  LOOM_TRY(JournalProof proof, JournalProof::open(journal));
  const Json *config = find(proof.start(), "config"), *said_folder = find(proof.start(), "folder");
  if (config == nullptr || said_folder == nullptr || !said_folder->is_string())
    return fail(Code::CorruptData, "{}: config or folder is missing", journal);
  const Json *network = find(*config, "network"), *data = find(*config, "data");
  const auto lacks = [&](const char* what) {
    return fail(Code::Unsupported,
                "{}: the run had {} in memory, which its journal does not hold; a run whose config names the files of "
                "both can be replayed",
                journal, what);
  };
  if (!input.held().network && (network == nullptr || network->is_null())) return lacks("its network");
  if (!input.held().samples && (data == nullptr || find(*data, "format") == nullptr)) return lacks("its samples");
  auto read = read_train_config(*config, folder.empty() ? *as_string(*said_folder) : folder, input.held());
  if (!read) return at(journal, std::move(read).error());
  LOOM_TRY(const Told all, told(journal));
  read->cpu_fallback = true;  // the bits of any device prove it
  read->source = journal, read->epochs = std::max(read->epochs, all.epochs);
  LOOM_TRY(const auto run, TrainingRun::create(std::move(*read), {.session = session}, std::move(input)));
  // A run that was stopped before its end line proves nothing about later lines.
  run->on_journal(
      [&](const Json& line) { return proof.complete() && !all.ended ? Result<void>() : proof.compare(line); });
  LOOM_TRY(const TrainResult result, run->run([&](const TrainProgress& progress) -> Result<Continue> {
    if (callback) {
      LOOM_TRY(const Continue going, callback(progress));
      if (going == Continue::stop) return fail(Code::Cancelled, "the replay was stopped at step {}", progress.step);
    }
    // of an unfinished run
    return proof.complete() && progress.event == TrainEvent::BatchBegin ? Continue::stop : Continue::yes;
  }));
  LOOM_TRY_VOID(proof.finish());
  return ReplayReport{proof.compared(), result.steps, result.hash};
}

}  // namespace loom
