// train, replay, report: a network learns as a config says; a journal is proved by doing it again; a run becomes a
// page.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/finetune_command.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "cli/train_view.h"
#include "core/json.h"
#include "core/path.h"
#include "host/replay_receipt.h"
#include "host/shown_answers.h"
#include "io/identify.h"
#include "host/train.h"
#include "training/run_page.h"

namespace loom::cli {
namespace {

struct TrainFlags {
  CommonOptions common;
  std::string config, out, folder;
  bool resume = false, overwrite = false, watch = false;
  std::uint64_t epochs = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A line per epoch, and on a terminal a bar between.
class TrainReporter {
 public:
  TrainReporter(const CommonOptions& common, std::string verb)
      : common_(common), bar_(std::make_unique<Progress>(verb, common.quiet)), verb_(std::move(verb)) {}

  Result<Continue> operator()(const TrainProgress& p) {
    if (p.event == TrainEvent::EpochBegin || (p.event == TrainEvent::BatchEnd && samples_ == 0))
      epoch_start_ = std::chrono::steady_clock::now();
    if (p.event == TrainEvent::BatchEnd) batch_done(p);
    if (p.event == TrainEvent::EpochEnd) epoch_done(p);
    return interrupted() ? Continue::stop : Continue::yes;
  }

 private:
  void batch_done(const TrainProgress& p) {
    samples_ += p.samples, ++done_;
    smooth_ = done_ == 1 ? p.loss : 0.95 * smooth_ + 0.05 * p.loss;
    if (p.report->skipped && !common_.quiet) note(p.step, "skipped: " + p.report->why);
    if (!p.warning.empty()) note(p.step, std::string(p.warning));
    const double fraction = static_cast<double>(p.batch) / static_cast<double>(p.batches);
    const double elapsed = seconds_since(start_),
                 share = (static_cast<double>(p.epoch) + fraction) / static_cast<double>(p.epochs);
    const double done = static_cast<double>(done_) / static_cast<double>(p.batches * p.epochs);
    bar_->update(fraction, fmt::format("epoch {}/{}  loss {:.4f}  {:.0f} samples/s  ETA {}", p.epoch + 1, p.epochs,
                                       smooth_, static_cast<double>(samples_) / std::max(elapsed, 1e-9),
                                       duration_text(elapsed * (1 - share) / std::max(done, 1e-9))));
  }

  void note(std::uint64_t step, const std::string& text) {
    std::fprintf(stderr, "%sloom: step %llu: %s\n", clear_, static_cast<unsigned long long>(step),
                 terminal_text(text).c_str());
  }

  void epoch_done(const TrainProgress& p) {
    bar_.reset();
    bar_ = std::make_unique<Progress>(verb_, common_.quiet);
    if (common_.quiet || common_.json) return;
    std::printf("%s", fmt::format("epoch {}/{}  loss {:.6f}", p.epoch + 1, p.epochs, p.loss).c_str());
    if (p.validation != nullptr) std::printf("  %s", metrics_text(*p.validation).c_str());
    if (p.skipped > 0) std::printf("  (%llu batches skipped)", static_cast<unsigned long long>(p.skipped));
    std::printf("  %s\n", duration_text(seconds_since(epoch_start_)).c_str());
    std::fflush(stdout);
  }

  const CommonOptions& common_;
  std::unique_ptr<Progress> bar_;
  std::string verb_;
  const char* clear_ = stderr_is_terminal() ? "\r\x1b[K" : "";
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), epoch_start_ = start_;
  std::uint64_t samples_ = 0, done_ = 0;
  double smooth_ = 0;
};

// Prints the warnings and the sizes of the coming run to stderr, since stdout may carry JSON.
void tell_start(TrainingRun& run) {
  for (const std::string& warning : run.warnings()) warn(warning);
  std::size_t parameters = 0;
  for (const Parameter& p : run.trainer().parameters()) parameters += p.elements;
  const DatasetInfo& data = run.data().training->info();
  std::fprintf(stderr, "%zu parameters, %zu samples of %s, %zu to validate, %d threads%s\n", parameters,
               run.data().training_samples.size(), data.input.text().c_str(), run.data().validation_samples.size(),
               run.trainer().session().threads(),
               run.resumed() ? fmt::format(", resumed at step {}", run.trainer().state().steps).c_str() : "");
}

void print_result(const CommonOptions& common, const TrainOutcome& outcome) {
  const TrainResult& result = outcome.result;
  if (common.json) {
    print_json(to_json(outcome));
  } else if (!common.quiet) {
    if (result.validation)
      std::printf("%s: %s\n", std::string(name(result.stop_reason)).c_str(), metrics_text(*result.validation).c_str());
    std::printf("%s  %llu steps in %s  hash %s%s\n", outcome.folder.c_str(),
                static_cast<unsigned long long>(result.steps), duration_text(outcome.seconds).c_str(),
                to_hex(result.hash).c_str(), hash_note(outcome.precision).c_str());
  }
}

// The exit status, with a word on stderr about a run that did not end by itself.
int tell_end(const TrainFlags& o, const std::string& folder, const TrainResult& result) {
  if (result.stop_reason == TrainingStop::Diverged) {
    std::fprintf(stderr, "loom: training diverged: %s; the last good state is %s/checkpoint.entity\n",
                 terminal_text(result.message).c_str(), terminal_text(folder).c_str());
    return kFailed;
  }
  if (result.stop_reason == TrainingStop::Stopped) {
    std::string again = "loom train " + o.config;
    if (!o.out.empty()) again += " --output " + o.out;
    if (!o.folder.empty()) again += " --folder " + o.folder;
    std::fprintf(stderr, "loom: stopped at step %llu; %s --resume goes on\n",
                 static_cast<unsigned long long>(result.steps), terminal_text(again).c_str());
    return kInterrupted;
  }
  return kOk;
}

Result<int> run_train(const TrainFlags& o) {
  TrainOptions options{.out = o.out, .folder = o.folder, .epochs = o.epochs};
  options.start = o.resume ? RunStart::resume : o.overwrite ? RunStart::overwrite : RunStart::fresh;
  LOOM_TRY(options.session, session_options(o.common));
  options.session.max_bytes = o.common.max_memory;
  std::optional<TrainReporter> reporter;
  std::optional<TrainView> view;
  options.begun = [&](TrainingRun& run) {
    watch_interrupts();
    if (!o.common.quiet) tell_start(run);
    reporter.emplace(o.common, "training");
    if (!o.watch || o.common.quiet || o.common.json || !TrainView::possible()) return;
    view.emplace(text_of(loom::path_of(o.config).filename()), run);
    run.on_journal([&](const Json& line) -> Result<void> {
      view->journal_line(line);
      return {};
    });
  };
  options.progress = [&](const TrainProgress& p) -> Result<Continue> {
    if (!view) return (*reporter)(p);
    view->observe(p);
    return interrupted() ? Continue::stop : Continue::yes;
  };
  LOOM_TRY(const TrainOutcome outcome, train_file(o.config, options));
  if (view) view->finish();
  for (const std::string& warning : outcome.result.warnings) warn(warning);  // of lost files: --quiet drops none
  print_result(o.common, outcome);
  return tell_end(o, outcome.folder, outcome.result);
}

struct ReplayFlags {
  CommonOptions common;
  std::string journal, folder, model;
  bool names_device = false;
};

// Every receipt of a file; status 1 with the first difference.
Result<int> replay_receipts(const ReplayFlags& o) {
  ReceiptReplayOptions options{.model = o.model, .folder = o.folder, .threads = o.common.threads};
  if (o.names_device) options.device = o.common.device;
  options.max_bytes = o.common.max_memory, options.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(options.isa, isa_from_name(o.common.isa));
  }
  LOOM_TRY(const std::vector<Json> receipts, read_receipts(o.journal));
  LOOM_TRY(const std::string shown, shown_difference(o.journal));
  if (!shown.empty()) {
    if (o.common.json)
      print_json(Json{{"equal", false}, {"difference", shown}});
    else
      std::printf("DIFFERS  %s\n", terminal_text(shown).c_str());
    return kFailed;
  }
  watch_interrupts();
  Json all = Json::array();
  bool equal = true;
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    Progress bar("replaying", o.common.quiet);
    options.progress = [&](std::size_t done, std::size_t total) {
      bar.update(static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(total, 1)));
    };
    auto replay = replay_receipt(receipts[i], options);
    if (!replay) return at(o.journal, std::move(replay).error());
    equal = equal && replay->difference.empty();
    const std::string number = receipts.size() > 1 ? fmt::format("answer {}: ", i + 1) : std::string();
    if (o.common.json)
      all.push_back(to_json(*replay));
    else if (replay->difference.empty())
      std::printf("EQUAL  %s%s, hash %s\n", number.c_str(), replay->command.c_str(), replay->hash.c_str());
    else
      std::printf("DIFFERS  %s%s\n", number.c_str(), terminal_text(replay->difference).c_str());
  }
  if (o.common.json) print_json(receipts.size() == 1 ? all[0] : Json{{"equal", equal}, {"receipts", std::move(all)}});
  return equal ? kOk : kFailed;
}

// Refuses what is neither a receipt nor a journal, whose lines are events.
Result<void> check_journal(const std::string& path) {
  LOOM_TRY(const Identified file, identify(path));
  if (file.kind == FileKind::Json) {
    const std::span<const std::byte> bytes = file.source->bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto first = parse_json(text.substr(0, text.find('\n')));
    if (first && find(*first, "event") != nullptr) return {};
  }
  return fail(Code::CorruptData,
              "{}: {}; expected a receipt, a conversation with receipts, or the journal of a training", path,
              describe(file.kind));
}

Result<int> run_replay(const ReplayFlags& o) {
  LOOM_TRY_VOID(need_exact(o.common, "replay"));
  if (may_hold_receipts(o.journal)) return replay_receipts(o);
  if (!o.model.empty())
    return fail(Code::InvalidArgument, "--model is for receipts; {} is none: a journal names its model", o.journal);
  const std::string journal = journal_of(o.journal);
  const std::string lineage = fmt::format("{}/{}", o.journal, kEvolutionRun.journal);
  if (is_file(lineage) || o.journal.ends_with(kEvolutionRun.journal))
    return fail(Code::Unsupported,
                "{}: the record of an evolution, which no replay reads: loom evolve CONFIG -o OTHER gives the same "
                "lineage again, byte for byte",
                is_file(lineage) ? lineage : o.journal);
  LOOM_TRY_VOID(check_journal(journal));
  if (is_finetune_journal(journal)) return replay_finetune_command(journal, o.folder, o.common);
  ReplayOptions options{.folder = o.folder};
  LOOM_TRY(options.session, session_options(o.common));
  watch_interrupts();
  CommonOptions silent = o.common;
  silent.json = true;  // the bar alone
  TrainReporter reporter(silent, "replaying");
  options.progress = std::ref(reporter);
  const auto report = replay_file(journal, options);
  if (!report && report.error().code == Code::Cancelled && interrupted()) return kInterrupted;
  if (!report) return tl::make_unexpected(report.error());
  if (o.common.json)
    print_json(to_json(*report));
  else
    std::printf("EQUAL  %llu lines, %llu steps  hash %s\n", static_cast<unsigned long long>(report->lines),
                static_cast<unsigned long long>(report->steps), to_hex(report->hash).c_str());
  return kOk;
}

}  // namespace

Run train_command(CLI::App& app) {
  const auto o = std::make_shared<TrainFlags>();
  add_path(app, "CONFIG", o->config, "JSON: network, data, loss, optimizer... (docs/guide/training.md)")->required();
  add_path(app, "-o,--output,--out", o->out,
           "Folder of the run: journal, checkpoint, model (default: CONFIG with .run for its ending)");
  add_path(app, "--folder", o->folder, "Where the config's relative paths start (default: the config's folder)");
  const auto resume = app.add_flag("--resume", o->resume,
                                   "Go on from the folder's checkpoint, with the bits of a run that was never stopped");
  app.add_flag("--overwrite", o->overwrite, "Start over in a folder that holds a run")->excludes(resume);
  app.add_flag("--watch", o->watch, "A live picture on a terminal: curves, rate, time left; plain lines elsewhere");
  app.add_option("--epochs", o->epochs, "In place of the config's")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}));
  add_common(app, o->common, false);
  add_device(app, o->common);
  add_max_step_memory(app, o->common);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  return [o] { return finish(run_train(*o)); };
}

Run report_command(CLI::App& app) {
  struct ReportOptions {
    std::string run, out;
    bool overwrite = false;
  };
  const auto o = std::make_shared<ReportOptions>();
  add_path(app, "RUN", o->run, "Folder of a run, finished or not")->required();
  add_path(app, "-o,--output,--out", o->out, "Where the page goes (default: RUN/report.html)");
  add_overwrite(app, o->overwrite);
  return [o] {
    const std::string page = o->out.empty() ? o->run + "/report.html" : o->out;
    if (auto free = check_output(page, OutputKind::html, o->overwrite); !free) return report(free.error());
    if (auto written = write_report(o->run, page); !written) return report(written.error());
    std::printf("%s\n", page.c_str());
    return static_cast<int>(kOk);
  };
}

Run replay_command(CLI::App& app) {
  const auto o = std::make_shared<ReplayFlags>();
  add_path(app, "FILE", o->journal,
           "journal.jsonl of a run, or its folder, or that of an adapter; a receipt, or a conversation of chat's /save")
      ->required();
  add_path(app, "--folder", o->folder, "Where the file's relative paths start (default: as recorded)");
  add_path(app, "--model", o->model, "Where the model of a receipt is now");
  add_max_memory(app, o->common);
  add_common(app, o->common, false);
  add_device(app, o->common);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  return [o, &app] {
    o->names_device = app.get_option("--device")->count() > 0;
    return finish(run_replay(*o));
  };
}

}  // namespace loom::cli
