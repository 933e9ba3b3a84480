// finetune: a language model learns a text by low-rank adapters.

#include "cli/finetune_command.h"

#include <chrono>
#include <cstdio>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/train_view.h"
#include "core/json.h"
#include "host/finetune.h"
#include "host/train.h"

namespace loom::cli {
namespace {

struct FinetuneFlags {
  CommonOptions common;
  FinetuneConfig config;
  FinetuneSources sources;
  std::string out;
  bool resume = false, overwrite = false;
  // with the member of a config's JSON that each sets
  std::vector<std::pair<const CLI::Option*, std::string>> settings;
};

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

void print_result(const FinetuneFlags& o, const FinetuneOutcome& outcome, double seconds) {
  const FinetuneResult& result = outcome.result;
  if (o.common.json) {
    Json out = to_json(outcome);
    out.erase("hash");
    out["peak_rss_mb"] = peak_rss_mb(), out["seconds"] = seconds, out["hash"] = to_hex(result.hash);
    return print_json(out);
  }
  std::printf("%s  %zu parameters, %llu steps, %llu tokens in %.0f s, peak memory %.0f MB  hash %s%s\n", o.out.c_str(),
              result.adapter_parameters, static_cast<unsigned long long>(result.steps),
              static_cast<unsigned long long>(result.tokens), seconds, peak_rss_mb(), to_hex(result.hash).c_str(),
              hash_note(result.precision).c_str());
}

Result<int> run(const FinetuneFlags& o) {
  FinetuneOptions options{.out = o.out, .sources = o.sources, .config = o.config, .prefix = "--"};
  options.start = o.resume ? RunStart::resume : o.overwrite ? RunStart::overwrite : RunStart::fresh;
  options.sources.dtype = o.common.dtype;
  LOOM_TRY(options.config.session, session_options(o.common));
  options.config.session.max_bytes = o.common.max_memory;
  for (const auto& [option, path] : o.settings)
    if (option->count() > 0) options.given.push_back(path);
  options.look = [](const FinetuneConfig&, const FinetuneSources&) -> Result<void> {
    watch_interrupts();
    return {};
  };
  std::optional<FinetuneReporter> reporter;
  options.begun = [&](const FinetuneInput& input) {
    if (!o.common.quiet)
      std::fprintf(stderr, "%zu windows of %zu tokens\n", input.windows->info().samples,
                   input.windows->info().input.elements());
    reporter.emplace(o.common, "finetuning");
  };
  options.progress = [&](const FinetuneProgress& p) -> Result<Continue> { return (*reporter)(p); };
  options.cancel = &interrupt_flag();
  LOOM_TRY(const FinetuneOutcome outcome, finetune_file(options));
  reporter->finish();
  print_result(o, outcome, reporter->seconds());
  const FinetuneResult& result = outcome.result;
  if (!result.stopped) return kOk;
  std::fprintf(
      stderr,
      "loom: stopped at step %llu, the adapter has the weights of this step; loom finetune -o %s --resume goes on\n",
      static_cast<unsigned long long>(result.steps), o.out.c_str());
  return kInterrupted;
}

}  // namespace

Result<int> replay_finetune_command(const std::string& journal, const std::string& folder,
                                    const CommonOptions& common) {
  LOOM_TRY(const NetworkSessionOptions session, session_options(common));
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
    std::printf("EQUAL  %llu lines, %llu steps  hash %s\n", static_cast<unsigned long long>(report.lines),
                static_cast<unsigned long long>(report.steps), to_hex(report.hash).c_str());
  return kOk;
}

namespace {

// Options of the run that a checkpoint remembers, by their places in its identity.
void add_settings(CLI::App& app, FinetuneFlags& o) {
  FinetuneConfig& c = o.config;
  const auto setting = [&](CLI::Option* option, const char* path) {
    o.settings.emplace_back(option, path);
    return option;
  };
  setting(app.add_option("--rank", c.adapter.rank, "Rank of the adapters"), "rank")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  setting(app.add_option("--alpha", c.adapter.alpha, "Adapters are scaled by alpha / rank"), "alpha")
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
  setting(app.add_option("--seed", c.seed, "Seed of the first weights of the adapters and the order of windows"),
          "seed")
      ->check(whole_number())
      ->capture_default_str();
  setting(app.add_option("--hash-every", c.hash_steps, "Steps between two hashes in the journal"), "hash_steps")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
}

}  // namespace

Run finetune_command(CLI::App& app) {
  const auto o = std::make_shared<FinetuneFlags>();
  add_path(app, "-m,--model,MODEL", o->sources.model,
           "GGUF file, Hugging Face folder or .entity; its weights stay as they are");
  add_path(app, "--text", o->sources.text, "Text file to learn");
  add_path(app, "-o,--output,--out", o->out,
           "Folder for the adapter, in PEFT's format: loom generate --adapter reads it; its folder run holds journal "
           "and checkpoint")
      ->required();
  const auto resume = app.add_flag("--resume", o->resume,
                                   "Go on from the folder's checkpoint, with the bits of a run that was never stopped; "
                                   "what is not given is as it was");
  app.add_flag("--overwrite", o->overwrite, "Start over in a folder that holds a run")->excludes(resume);
  add_path(app, "--from", o->sources.from, "Continue training the adapter of this folder, as a new run");
  add_settings(app, *o);
  add_common(app, o->common, false);
  add_device(app, o->common);
  add_model_dtype(app, o->common);
  add_max_step_memory(app, o->common);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  return [o] { return finish(run(*o)); };
}

}  // namespace loom::cli
