// finetune: a language model learns a text by low-rank adapters.

#include "cli/finetune_command.h"

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/train_view.h"
#include "core/file.h"
#include "finetune/finetune.h"
#include "host/train.h"

namespace loom::cli {
namespace {

struct FinetuneOptions {
  CommonOptions common;
  FinetuneConfig config;
  FinetuneSources sources;
  std::string out;
  bool resume = false, overwrite = false;
  // with the member of a config's JSON that each sets
  std::vector<std::pair<const CLI::Option*, std::string>> settings;
  const CLI::Option *model = nullptr, *text = nullptr, *from = nullptr;
};

Result<void> set_session(const CommonOptions& common, NetworkSessionOptions& session) {
  session.threads = common.threads;
  if (!common.isa.empty()) {
    LOOM_TRY(session.isa, isa_from_name(common.isa));
  }
  return {};
}

// A bar on a terminal, a line every so often elsewhere.
class FinetuneReporter {
 public:
  FinetuneReporter(const CommonOptions& common, const char* verb)
      : common_(common), bar_(std::make_unique<Progress>(verb, common.quiet)) {}

  Continue operator()(const FinetuneProgress& p) {
    if (p.validation_loss)
      validation(p);
    else
      step(p);
    return interrupted() ? Continue::stop : Continue::yes;
  }
  // Takes the bar away.
  void finish() { bar_.reset(); }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  void validation(const FinetuneProgress& p) {
    if (p.new_steps == 0) start_ = Clock::now();  // steps are timed without the validation before them
    if (common_.quiet || common_.json) return;
    std::fprintf(stderr, "%sstep %llu: validation loss %.4f per token (perplexity %.2f)\n",
                 stderr_is_terminal() ? "\r\033[K" : "", static_cast<unsigned long long>(p.step), *p.validation_loss,
                 std::exp(*p.validation_loss));
  }

  void step(const FinetuneProgress& p) {
    if (std::isfinite(p.loss)) smooth_ = p.new_steps == 1 ? p.loss : 0.9 * smooth_ + 0.1 * p.loss;
    const double elapsed = std::max(seconds(), 1e-9),
                 left = elapsed / static_cast<double>(p.new_steps) * static_cast<double>(p.steps - p.step);
    const std::string text = fmt::format("step {}/{}  loss {:.4f}  {:.0f} tokens/s  ETA {}", p.step, p.steps, smooth_,
                                         static_cast<double>(p.new_tokens) / elapsed, duration_text(left));
    bar_->update(static_cast<double>(p.step) / static_cast<double>(p.steps), text);
    constexpr double kLinePause = 10;
    if (stderr_is_terminal() || common_.quiet || common_.json || seconds() - told_ < kLinePause) return;
    told_ = seconds();
    std::fprintf(stderr, "%s\n", text.c_str());
  }

  const CommonOptions& common_;
  std::unique_ptr<Progress> bar_;
  Clock::time_point start_ = Clock::now();
  double smooth_ = 0, told_ = 0;
};

// The member of `json` at "schedule/warmup_steps".
Json& member(Json& json, const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == path.npos ? json[path] : json[path.substr(0, slash)][path.substr(slash + 1)];
}

// Options that were not given keep the values with which the run began.
Result<void> take_from_run(FinetuneOptions& o, const std::string& journal) {
  LOOM_TRY(const FinetuneStart begun, read_finetune_start(journal));
  const Json given = finetune_config_json(o.config);
  Json config = finetune_config_json(begun.config), wanted = given;
  for (const auto& [option, path] : o.settings)
    if (option->count() > 0) member(config, path) = member(wanted, path);
  LOOM_TRY(o.config, finetune_config_from_json(config));
  if (o.model->count() == 0) o.sources.model = begun.sources.model;
  if (o.text->count() == 0) o.sources.text = begun.sources.text;
  if (o.from->count() == 0) o.sources.from = begun.sources.from;
  if (o.sources.dtype.empty()) o.sources.dtype = begun.sources.dtype;
  return {};
}

// A run that was killed as it began has none: it begins anew, with what is given.
bool has_line(const std::string& journal) {
  auto lines = JournalReader::open(journal);
  return lines && lines->next().value_or(std::nullopt).has_value();
}

// Its end would write over what replay begins with.
Result<void> check_from(const FinetuneOptions& o) {
  std::error_code none;  // what is not there is not the same
  if (!o.sources.from.empty() && std::filesystem::equivalent(o.sources.from, o.out, none))
    return fail(Code::InvalidArgument,
                "--from {}: the new adapter would overwrite it; another folder for --output expected", o.sources.from);
  return {};
}

Result<int> run(FinetuneOptions& o) {
  LOOM_TRY_VOID(check_from(o));  // before a run there is touched
  FinetuneRecord record;
  std::optional<FolderLock> lock;  // until the adapter is written
  record.lock = &lock;
  record.folder = o.out + "/run";
  record.start = o.resume ? RunStart::resume : o.overwrite ? RunStart::overwrite : RunStart::fresh;
  const std::string journal = record.folder + "/journal.jsonl";
  o.sources.dtype = o.common.dtype;
  LOOM_TRY_VOID(check_folder(o.out, record.start, kAdapterRun));
  if (is_directory(record.folder)) {  // before the model is read
    LOOM_TRY(RunFolder taken, take_folder(record.folder, record.start, kFinetuningRun));
    lock = std::move(taken.lock);
    if (taken.resumes || (o.resume && has_line(journal))) {
      LOOM_TRY_VOID(take_from_run(o, journal));
      LOOM_TRY_VOID(check_from(o));
    }
  }
  if (!o.sources.from.empty())
    for (const auto& [option, path] : o.settings)
      if (option->count() > 0 && (path == "rank" || path == "alpha" || path == "targets"))
        return fail(Code::InvalidArgument, "{} has no effect with --from: the adapter there has its own",
                    option->get_name());
  if (o.sources.model.empty() || o.sources.text.empty())
    return fail(Code::InvalidArgument, "MODEL and --text are expected{}",
                o.resume ? fmt::format(": {} does not tell them, it is missing", journal) : "");
  watch_interrupts();
  LOOM_TRY_VOID(set_session(o.common, o.config.session));
  LOOM_TRY(FinetuneInput input, open_finetune(o.sources, o.config));
  if (!o.common.quiet)
    std::fprintf(stderr, "%zu windows of %zu tokens\n", input.windows->info().samples, o.config.length);
  record.sources = o.sources;
  FinetuneReporter reporter(o.common, "finetuning");
  LOOM_TRY(const FinetuneResult result, finetune(input.model, *input.windows, o.config, std::ref(reporter), record));
  reporter.finish();
  LOOM_TRY_VOID(save_peft(input.model, o.config.adapter, o.out, o.sources.model));
  const double seconds = reporter.seconds();
  if (o.common.json) {
    print_json({{"adapter", o.out},
                {"stopped", result.stopped},
                {"steps", result.steps},
                {"new_steps", result.new_steps},
                {"tokens", result.tokens},
                {"losses", result.losses},
                {"validation_before", result.validation_before},
                {"validation_after", result.validation_after},
                {"adapter_parameters", result.adapter_parameters},
                {"scratch_bytes", result.scratch_bytes},
                {"peak_rss_mb", peak_rss_mb()},
                {"seconds", seconds},
                {"hash", to_hex(result.hash)}});
  } else {
    std::printf("%s  %zu parameters, %llu steps, %llu tokens in %.0f s, peak memory %.0f MB  hash %s\n", o.out.c_str(),
                result.adapter_parameters, static_cast<unsigned long long>(result.steps),
                static_cast<unsigned long long>(result.tokens), seconds, peak_rss_mb(), to_hex(result.hash).c_str());
  }
  if (!result.stopped) return kOk;
  std::fprintf(stderr, "loom: stopped at step %llu, the adapter is as of there; loom finetune -o %s --resume goes on\n",
               static_cast<unsigned long long>(result.steps), o.out.c_str());
  return kInterrupted;
}

}  // namespace

Result<int> replay_finetune_command(const std::string& journal, const std::string& folder,
                                    const CommonOptions& common) {
  NetworkSessionOptions session;
  LOOM_TRY_VOID(set_session(common, session));
  watch_interrupts();
  CommonOptions silent = common;
  silent.json = true;  // the bar alone
  FinetuneReporter reporter(silent, "replaying");
  LOOM_TRY(const ReplayReport report,
           replay_file(journal, {.folder = folder, .session = session, .finetune_progress = std::ref(reporter)}));
  reporter.finish();
  if (common.json)
    print_json(to_json(report));
  else
    std::printf("PASS  %llu lines, %llu steps  hash %s\n", static_cast<unsigned long long>(report.lines),
                static_cast<unsigned long long>(report.steps), to_hex(report.hash).c_str());
  return kOk;
}

namespace {

// Options of the run that a checkpoint remembers, by their places in its identity.
void add_settings(CLI::App& app, FinetuneOptions& o) {
  FinetuneConfig& c = o.config;
  const auto setting = [&](CLI::Option* option, const char* path) {
    o.settings.emplace_back(option, path);
    return option;
  };
  setting(app.add_option("--rank", c.adapter.rank, "Rank of the adapters"), "rank")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  setting(app.add_option("--alpha", c.adapter.alpha, "They count alpha / rank times"), "alpha")
      ->check(number_within(1e-9, 1e9))
      ->capture_default_str();
  setting(app.add_option("--targets", c.adapter.targets,
                         "Which matrices: q_proj k_proj v_proj o_proj gate_proj up_proj down_proj"),
          "targets")
      ->delimiter(',')
      ->check(CLI::IsMember({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}))
      ->capture_default_str();
  setting(app.add_option("--length", c.length, "Tokens of a window"), "length")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  setting(app.add_option("--batch", c.batch_size, "Windows per step"), "batch")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  setting(app.add_option("--micro-batch", c.micro_batch, "Windows that run at once: fewer need less memory"),
          "micro_batch")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  const auto epochs = setting(app.add_option("--epochs", c.epochs, "Passes over the text"), "epochs")
                          ->check(whole_number(1))
                          ->capture_default_str();
  setting(app.add_option("--steps", c.steps, "Steps in all, in place of epochs"), "steps")
      ->check(whole_number(1))
      ->excludes(epochs);
  setting(app.add_option("--learning-rate", c.schedule.learning_rate, "Peak of a cosine schedule with warm-up"),
          "learning_rate")
      ->check(number_within(0, 1e12))
      ->capture_default_str();
  setting(app.add_option("--warmup", c.schedule.warmup_steps, "Steps of warm-up"), "schedule/warmup_steps")
      ->check(whole_number());
  setting(app.add_option("--clip-norm", c.clip_norm, "Largest norm of a step's gradient; 0: any"), "clip_norm")
      ->check(number_within(0, 1e12))
      ->capture_default_str();
  setting(app.add_option("--seed", c.seed, "Of the fresh adapters and the order of windows"), "seed")
      ->check(whole_number())
      ->capture_default_str();
  setting(app.add_option("--hash-every", c.hash_steps, "Steps between two hashes in the journal"), "hash_steps")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
}

}  // namespace

Run finetune_command(CLI::App& app) {
  const auto o = std::make_shared<FinetuneOptions>();
  o->model = add_path(app, "MODEL", o->sources.model,
                      "GGUF file, Hugging Face folder or .entity; its weights stay as they are");
  o->text = add_path(app, "--text", o->sources.text, "What to learn: a text file");
  add_path(app, "-o,--output,--out", o->out,
           "Folder for the adapter, in PEFT's format: loom generate --adapter reads it; its folder run holds journal "
           "and checkpoint")
      ->required();
  const auto resume = app.add_flag("--resume", o->resume,
                                   "Go on from the folder's checkpoint, with the bits of a run that was never stopped; "
                                   "what is not given is as it was");
  app.add_flag("--overwrite", o->overwrite, "Begin anew in a folder that holds a run")->excludes(resume);
  o->from = add_path(app, "--from", o->sources.from, "Learn on with the adapter of this folder, by a new run");
  add_settings(app, *o);
  add_common(app, o->common, false);
  add_model_dtype(app, o->common);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  return [o] { return finish(run(*o)); };
}

}  // namespace loom::cli
