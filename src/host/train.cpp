#include "host/train.h"

#include "core/file.h"
#include "core/json.h"
#include "core/numerics_version.h"
#include "core/path.h"
#include "host/device.h"
#include "host/dna_recorder.h"
#include "host/machine.h"

namespace loom {
namespace {

bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(std::memory_order_relaxed); }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A mode of a GPU names the first card where the caller has named no device.
Result<void> take_card(const TrainConfig& config, NetworkSessionOptions& session) {
  if (!is_gpu(config.mode) || session.device != nullptr) return {};
  const auto card = device_from_name("gpu");
  if (card) session.device = *card;
  if (card || config.cpu_fallback) return {};
  return at(config.source, {card.error().code, card.error().text(), Steps{"mode"}});
}

Result<TrainOutcome> run_training(TrainConfig config, const TrainOptions& o, const std::string& out,
                                  TrainingInput input) {
  LOOM_TRY_VOID(check_start(out, o.start, kTrainingRun));
  if (o.epochs != 0) config.epochs = o.epochs, config.json["epochs"] = o.epochs;
  RunOptions options{.out = out, .start = o.start, .session = o.session, .cancel = o.cancel, .shards = o.shards};
  LOOM_TRY_VOID(take_card(config, options.session));
  options.machine = {{"cpu", cpu_name()},
                     {"isa", name(o.session.isa.value_or(best_isa()))},
                     {"loom", fmt::format("{} (numerics version {})", LOOM_VERSION, kNumericsVersion)}};
  const bool keeps_dna = config.keep_dna && !out.empty();
  LOOM_TRY(const auto run, TrainingRun::create(std::move(config), options, std::move(input)));
  if (o.begun) o.begun(*run);
  const auto start = std::chrono::steady_clock::now();
  DnaRecorder dna(out);
  TrainOutcome outcome;
  LOOM_TRY(outcome.result, run->run([&](const TrainProgress& p) -> Result<Continue> {
    if (keeps_dna) dna.observe(p);
    LOOM_TRY(const Continue going, o.progress ? o.progress(p) : Continue::yes);
    return is_set(o.cancel) ? Continue::stop : going;
  }));
  outcome.folder = out, outcome.seconds = seconds_since(start);
  outcome.precision = precision_of(run->trainer().device());
  if (!dna.warning().empty()) outcome.result.warnings.push_back(dna.warning());
  return outcome;
}

}  // namespace

Result<TrainOutcome> train_file(const std::string& config, const TrainOptions& options) {
  LOOM_TRY(const std::string text, read_text_file(config));
  const std::filesystem::path path = path_of(config);
  auto read = parse_train_config(text, options.folder.empty() ? text_of(path.parent_path()) : options.folder);
  if (!read) return at(config, std::move(read).error());
  read->source = config;
  const std::string beside = text_of(std::filesystem::path(path).replace_extension(".run"));
  return run_training(std::move(*read), options, options.out.empty() ? beside : options.out, {});
}

Result<TrainOutcome> train(const Json& config, const TrainOptions& options, TrainingInput input) {
  LOOM_TRY(TrainConfig read, read_train_config(config, options.folder, input.held()));
  return run_training(std::move(read), options, options.out, std::move(input));
}

Json to_json(const TrainOutcome& outcome) {
  const TrainResult& result = outcome.result;
  Json out{{"run", outcome.folder},
           {"stop_reason", name(result.stop_reason)},
           {"steps", result.steps},
           {"skipped_batches", result.skipped_batches},
           {"final_loss", result.final_loss},
           {"loss_history", result.loss_history},
           {"seconds", outcome.seconds},
           {"total_time_ms", result.total_time_ms},
           {"epoch_times_ms", result.epoch_times_ms},
           {"hash", to_hex(result.hash)}};
  add_precision(out, outcome.precision);
  if (result.validation) out["validation"] = result.validation->to_json();
  if (!result.message.empty()) out["message"] = result.message;
  return out;
}

std::string journal_of(const std::string& path) {
  if (!is_directory(path)) return path;
  const std::string own = path + "/journal.jsonl", inner = path + "/run/journal.jsonl";
  return !is_file(own) && is_file(inner) ? inner : own;
}

Result<ReplayReport> replay_file(const std::string& path, const ReplayOptions& o, TrainingInput input) {
  const std::string journal = journal_of(path);
  if (is_finetune_journal(journal))
    return replay_finetune(journal, o.folder, o.session, [&](const FinetuneProgress& p) -> Result<Continue> {
      LOOM_TRY(const Continue going, o.finetune_progress ? o.finetune_progress(p) : Continue::yes);
      return is_set(o.cancel) ? Continue::stop : going;
    });
  const std::string record = text_of(path_of(journal).replace_filename("dna.jsonl"));
  const bool has_dna = is_file(record);
  DnaRecorder dna("");
  LOOM_TRY(const ReplayReport report, replay(
                                          journal, o.folder, o.session,
                                          [&](const TrainProgress& p) -> Result<Continue> {
                                            if (has_dna) dna.observe(p);
                                            LOOM_TRY(const Continue going, o.progress ? o.progress(p) : Continue::yes);
                                            return is_set(o.cancel) ? Continue::stop : going;
                                          },
                                          std::move(input)));
  if (has_dna && dna.warning().empty()) LOOM_TRY_VOID(check_dna_lines(record, dna.lines()));
  return report;
}

Json to_json(const ReplayReport& report) {
  return {{"lines", report.lines}, {"steps", report.steps}, {"hash", to_hex(report.hash)}, {"pass", true}};
}

}  // namespace loom
