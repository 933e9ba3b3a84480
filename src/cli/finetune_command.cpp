// finetune: a language model learns a text by low-rank adapters.

#include <chrono>
#include <cstdio>

#include "cli/commands.h"
#include "core/file.h"
#include "finetune/finetune.h"

namespace loom::cli {
namespace {

struct Options {
  CommonOptions common;
  FinetuneConfig config;
  std::string model, text, out, from;
};

Result<int> run(Options& o) {
  LOOM_TRY(const std::string text, read_text_file(o.text));
  watch_interrupts(nullptr);
  LOOM_TRY(const auto pool, ThreadPool::create(o.common.threads > 0 ? o.common.threads : ThreadPool::default_threads()));
  LOOM_TRY(ModelContents contents, read_model(o.model));
  DecoderOptions decoder;
  if (!o.common.dtype.empty()) {
    LOOM_TRY(decoder.dtype, dtype_from_name(o.common.dtype));
  }
  LOOM_TRY(DecoderModel model, build_decoder(contents.source, *pool, decoder));
  LOOM_TRY(const auto tokenizer, load_tokenizer(o.model));
  std::vector<std::int32_t> ids;
  LOOM_TRY_VOID(tokenizer->encode(text, {.add_special_tokens = false, .parse_special = false}, ids));
  LOOM_TRY(const auto windows, TokenWindows::create(std::move(ids), o.config.length, static_cast<std::size_t>(model.config.vocab_size), o.text));
  if (!o.from.empty()) {
    LOOM_TRY(o.config.adapter, load_peft(model, o.from, o.config.adapter.name));
  }
  o.config.session.threads = o.common.threads;
  if (!o.common.isa.empty()) {
    LOOM_TRY(o.config.session.isa, isa_from_name(o.common.isa));
  }
  if (!o.common.quiet) std::fprintf(stderr, "%zu windows of %zu tokens\n", windows->info().samples, o.config.length);
  Progress bar("finetuning", o.common.quiet);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  LOOM_TRY(const FinetuneResult result, finetune(model, *windows, o.config, [&](const FinetuneProgress& p) {
    if (p.validation_loss && !o.common.quiet && !o.common.json)
      std::fprintf(stderr, "%sstep %llu: validation loss %.4f per token (perplexity %.2f)\n", stderr_is_terminal() ? "\r\033[K" : "",
                   static_cast<unsigned long long>(p.step), *p.validation_loss, std::exp(*p.validation_loss));
    if (!p.validation_loss)
      bar.update(static_cast<double>(p.step) / static_cast<double>(p.steps),
                 fmt::format("step {}/{}  loss {:.4f}  {:.0f} tokens/s", p.step, p.steps, p.loss, static_cast<double>(p.tokens) / std::max(seconds(), 1e-9)));
    return interrupted() ? Continue::stop : Continue::yes;
  }));
  LOOM_TRY_VOID(save_peft(model, o.config.adapter, o.out, o.model));
  if (o.common.json) {
    print_json({{"adapter", o.out},
                {"steps", result.steps},
                {"tokens", result.tokens},
                {"losses", result.losses},
                {"validation_before", result.validation_before},
                {"validation_after", result.validation_after},
                {"adapter_parameters", result.adapter_parameters},
                {"scratch_bytes", result.scratch_bytes},
                {"peak_rss_mb", peak_rss_mb()},
                {"seconds", seconds()},
                {"hash", to_hex(result.hash)}});
  } else {
    std::printf("%s  %zu parameters, %llu steps, %llu tokens in %.0f s, peak memory %.0f MB  hash %s\n", o.out.c_str(), result.adapter_parameters,
                static_cast<unsigned long long>(result.steps), static_cast<unsigned long long>(result.tokens), seconds(), peak_rss_mb(),
                to_hex(result.hash).c_str());
  }
  return result.stopped ? kInterrupted : kOk;
}

}  // namespace

Run finetune_command(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  FinetuneConfig& c = o->config;
  app.add_option("MODEL", o->model, "GGUF file, Hugging Face folder or .entity; its weights stay as they are")->required();
  app.add_option("--text", o->text, "What to learn: a text file")->required();
  app.add_option("-o,--out", o->out, "Folder for the adapter, in PEFT's format: loom generate --adapter reads it")->required();
  app.add_option("--from", o->from, "Go on with the adapter of this folder");
  app.add_option("--rank", c.adapter.rank, "Rank of the adapters")->check(CLI::Range(1, 65536))->capture_default_str();
  app.add_option("--alpha", c.adapter.alpha, "They count alpha / rank times")->capture_default_str();
  app.add_option("--targets", c.adapter.targets, "Which matrices: q_proj k_proj v_proj o_proj gate_proj up_proj down_proj")->delimiter(',')->capture_default_str();
  app.add_option("--length", c.length, "Tokens of a window")->check(CLI::Range(1, 1 << 16))->capture_default_str();
  app.add_option("--batch", c.batch_size, "Windows per step")->check(CLI::Range(1, 1 << 16))->capture_default_str();
  app.add_option("--micro-batch", c.micro_batch, "Windows that run at once: fewer need less memory")->check(CLI::Range(1, 1 << 16))->capture_default_str();
  app.add_option("--epochs", c.epochs, "Passes over the text")->check(whole_number())->capture_default_str();
  app.add_option("--steps", c.steps, "Steps in all, in place of epochs")->check(whole_number());
  app.add_option("--learning-rate", c.schedule.learning_rate, "Peak of a cosine schedule with warm-up")->capture_default_str();
  app.add_option("--warmup", c.schedule.warmup_steps, "Steps of warm-up")->check(whole_number())->capture_default_str();
  app.add_option("--clip-norm", c.clip_norm, "Largest norm of a step's gradient; 0: any")->capture_default_str();
  app.add_option("--seed", c.seed, "Of the fresh adapters and the order of windows")->check(whole_number())->capture_default_str();
  add_common(app, o->common, true);
  app.add_flag("--json", o->common.json, "Print the result as JSON");
  return [o] { return finish(run(*o)); };
}

}  // namespace loom::cli
