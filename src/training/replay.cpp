#include "core/numerics_version.h"
#include "training/training_run.h"

namespace loom {

Result<ReplayReport> replay(const std::string& journal, const std::string& folder, const NetworkSessionOptions& session,
                            const TrainingRun::Callback& callback) {
  LOOM_TRY(const std::vector<Json> lines, read_journal(journal));
  const Json* event = lines.empty() ? nullptr : find(lines[0], "event");
  if (event == nullptr || *event != "start") return fail(Code::CorruptData, "{}: the first line is no start of a run", journal);
  const Json *config = find(lines[0], "config"), *said_folder = find(lines[0], "folder"), *version = find(lines[0], "numerics_version");
  if (config == nullptr || said_folder == nullptr || !said_folder->is_string()) return fail(Code::CorruptData, "{}: config or folder is missing", journal);
  if (version == nullptr || as_int(*version) != static_cast<std::int64_t>(kNumericsVersion))
    return fail(Code::Unsupported, "{}: written by another numerics version than {}", journal, kNumericsVersion);
  LOOM_TRY(TrainConfig read, read_train_config(*config, folder.empty() ? *as_string(*said_folder) : folder));
  LOOM_TRY(const auto run, TrainingRun::create(std::move(read), {.session = session}));
  ReplayReport report;
  bool ended = false;
  run->on_journal([&](const Json& line) -> Result<void> {
    if (report.lines >= lines.size()) {
      ended = true;
      return {};
    }
    Json said = lines[report.lines], now = line;
    // Where things lie is no part of what was computed.
    for (Json* each : {&said, &now}) {
      each->erase("folder");
      if (const auto data = each->find("data"); data != each->end())
        for (Json& set : *data)
          if (set.is_object()) set.erase("source");
    }
    LOOM_TRY(const std::string a, dump_canonical(said));
    LOOM_TRY(const std::string b, dump_canonical(now));
    if (a != b)
      return fail(Code::CorruptData, "{}: line {}: the journal and this run differ at {}", journal, report.lines + 1, first_difference(said, now));
    ++report.lines;
    return {};
  });
  LOOM_TRY(const TrainResult result, run->run([&](const TrainProgress& progress) -> Result<Continue> {
    if (callback) {
      LOOM_TRY(const Continue going, callback(progress));
      if (going == Continue::stop) return fail(Code::Cancelled, "the replay was stopped at step {}", progress.step);
    }
    return report.lines >= lines.size() && progress.event == TrainEvent::BatchBegin ? Continue::stop : Continue::yes;  // of an unfinished run
  }));
  if (ended) return fail(Code::CorruptData, "{}: ends at line {}, this run goes on", journal, lines.size());
  if (report.lines < lines.size()) return fail(Code::CorruptData, "{}: line {} has no counterpart in this run", journal, report.lines + 1);
  report.steps = result.steps, report.hash = result.hash;
  return report;
}

}  // namespace loom
