#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/bench_matrix.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generation_options.h"
#include "core/numerics_version.h"
#include "host/device.h"
#include "host/machine.h"
#include "lm/card_draws.h"
#include "lm/host_weights.h"
#include "ops/choice/choice.h"

namespace loom::cli {
namespace {

struct BenchOptions {
  CommonOptions common;
  std::string model, speculate;
  SamplingOptions sampling;
  std::size_t prompt_tokens = 113, new_tokens = 57, repeats = 5, batch = 1;
  bool kernels = false;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Rates {
  double prefill = 0, decode = 0;
  SpeculationCounts speculation{};
  double submits = 0, bytes_read = 0, host_draws = 0;  // of a graphics card, per token that was written
};

// Null on the CPU.
Device* card_of(const Session& session) {
  return session.device() != nullptr && session.device()->records() ? session.device() : nullptr;
}

// Returns whether the card chooses the tokens, as in generations.
bool card_chooses(const BenchOptions& o, const Session& session) {
  return card_of(session) != nullptr && o.speculate.empty() && DrawRow::takes(o.sampling, session.context_tokens());
}

// Feeds the next token of each sequence to a card, and replaces it with the one that the card has chosen; the host
// draws what the card does not. Returns how many these were.
Result<std::size_t> choose_on_card(const BenchOptions& o, Session& session, std::size_t ahead, Sampler& sampler,
                                   std::span<CardDraws> draws, std::span<std::int32_t> next) {
  std::vector<Session::Feed> feeds;
  feeds.reserve(o.batch);
  for (std::size_t s = 0; s < o.batch; ++s)
    feeds.push_back({s, {&next[s], 1}, {}, true, draws[s].tries(), &o.sampling});
  std::vector<std::int32_t> choices;
  ConstTensor logits{};
  if (o.batch > 1) {
    LOOM_TRY(logits, session.feed_pass(feeds, &interrupt_flag()));
    choices.assign(session.choices().begin(), session.choices().end());
  } else if (feeds[0].chooses) {
    LOOM_TRY(const std::int32_t id,
             session.feed_and_choose(feeds[0], std::min(ahead, draws[0].ahead()), &interrupt_flag()));
    choices.push_back(id);
  } else {
    LOOM_TRY(logits, session.feed(feeds, &interrupt_flag()));
  }
  std::size_t row = 0, choice = 0;
  for (std::size_t s = 0; s < o.batch; ++s) {
    if (feeds[s].chooses) continue;
    LOOM_TRY(next[s], sampler.choose({logits.row(row++), logits.cols}, session.tokens(s)));
    draws[s].on_host();
  }
  std::size_t by_host = row;
  for (std::size_t s = 0; s < o.batch; ++s) {
    if (!feeds[s].chooses) continue;
    next[s] = choices[choice++];
    if (next[s] != kNoChoice) {
      draws[s].on_drawn();
      continue;
    }
    draws[s].on_undecided(), ++by_host;
    LOOM_TRY(const std::span<const float> left, session.logits(s, &interrupt_flag()));
    LOOM_TRY(next[s], sampler.choose(left, session.tokens(s)));
  }
  return by_host;
}

// One repetition: `batch` sequences read a prompt each, then write together. `drafters`: one of each, or none.
Result<Rates> once(const BenchOptions& o, Session& session, std::int32_t vocab,
                   std::span<const std::shared_ptr<Drafter>> drafters) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double>(b - a).count();
  };
  std::vector<std::vector<std::int32_t>> ids(o.batch);
  for (std::size_t s = 0; s < o.batch; ++s) {
    LOOM_TRY_VOID(session.rewind(0, s));
    for (std::size_t i = 0; i < o.prompt_tokens; ++i)
      ids[s].push_back(static_cast<std::int32_t>((100 + i * 37 + s * 11) % static_cast<std::size_t>(vocab)));
  }
  const auto begin = Clock::now();
  for (std::size_t s = 0; s < o.batch; ++s) {
    LOOM_TRY_VOID(session.feed(ids[s], s, &interrupt_flag()));
  }
  const auto middle = Clock::now();
  std::vector<Speculation> speculations(drafters.begin(), drafters.end());
  for (std::size_t s = 0; s < speculations.size(); ++s)
    LOOM_TRY_VOID(speculations[s].read(session.tokens(s), &interrupt_flag()));
  std::vector<std::int32_t> next(o.batch, 1);
  std::vector<Session::Feed> feeds;
  Sampler sampler(o.sampling, static_cast<std::size_t>(vocab));
  std::vector<CardDraws> draws(o.batch);
  std::size_t by_host = 0;
  const Device* const card = card_of(session);
  const auto before = card != nullptr ? card->counters() : DeviceCounters();
  for (std::size_t n = 0; n < o.new_tokens; ++n) {
    if (card_chooses(o, session)) {
      LOOM_TRY(const std::size_t left, choose_on_card(o, session, o.new_tokens - n - 1, sampler, draws, next));
      by_host += left;
      continue;
    }
    feeds.clear();
    for (std::size_t s = 0; s < o.batch; ++s) {
      feeds.push_back({s, std::span(&next[s], 1)});
      if (speculations.empty()) continue;
      LOOM_TRY(feeds[s].drafts, speculations[s].behind(next[s], o.new_tokens - n - 1, &interrupt_flag()));
    }
    LOOM_TRY(const ConstTensor logits, session.feed(feeds, &interrupt_flag()));
    for (std::size_t s = 0; s < o.batch; ++s) {
      LOOM_TRY(next[s], sampler.choose({logits.row(s), logits.cols}, session.tokens(s)));
    }
    by_host += o.batch;
  }
  const auto end = Clock::now();
  Rates out{static_cast<double>(o.prompt_tokens * o.batch) / seconds(begin, middle),
            static_cast<double>(o.new_tokens * o.batch) / seconds(middle, end)};
  for (const Speculation& speculation : speculations) out.speculation += speculation.counts();
  if (card != nullptr) {
    const auto after = card->counters();
    const auto tokens = static_cast<double>(o.new_tokens * o.batch);
    out.submits = static_cast<double>(after.submits - before.submits) / tokens;
    out.bytes_read = static_cast<double>(after.bytes_read - before.bytes_read) / tokens;
    out.host_draws = static_cast<double>(by_host) / tokens;
  }
  return out;
}

void report(const BenchOptions& o, const LanguageModel& model, const Session& session, const std::vector<Rates>& runs) {
  std::vector<double> prefill, decode;
  for (const Rates& rates : runs) prefill.push_back(rates.prefill), decode.push_back(rates.decode);
  const auto best = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  if (!o.common.json) {
    std::printf(
        "%s, %s, %d threads\nprompt %zu tokens: %.1f tok/s (best %.1f)\nwrite  %zu tokens: %.1f tok/s (best "
        "%.1f)\nload %.1f ms, weights %.1f MB (%.1f MB on the host), "
        "peak %.1f MB\n",
        cpu_name().c_str(), std::string(name(session.isa())).c_str(), session.threads(), o.prompt_tokens,
        median(prefill), best(prefill), o.new_tokens, median(decode), best(decode), model.load_ms,
        static_cast<double>(model.decoder->network.resident_bytes()) / 1e6,
        static_cast<double>(bytes_on_host(model.decoder->network)) / 1e6, peak_rss_mb());
    return;
  }
  Json json{{"model", o.model},
            {"prefill_tps", median(prefill)},
            {"decode_tps", median(decode)},
            {"prefill_tps_best", best(prefill)},
            {"decode_tps_best", best(decode)},
            {"prompt_tokens", o.prompt_tokens},
            {"new_tokens", o.new_tokens},
            {"batch", o.batch},
            {"repeats", o.repeats},
            {"load_ms", model.load_ms},
            {"weights_mb", static_cast<double>(model.decoder->network.resident_bytes()) / 1e6},
            {"weights_on_host_mb", static_cast<double>(bytes_on_host(model.decoder->network)) / 1e6},
            {"peak_rss_mb", peak_rss_mb()},
            {"threads", session.threads()},
            {"isa", name(session.isa())},
            {"precision", name(session.precision())},
            {"activations", o.common.activations},
            {"kv_dtype", o.common.kv_dtype},
            {"kv_bytes_per_token", session.token_bytes()},
            {"cpu", cpu_name()},
            {"numerics_version", kNumericsVersion}};
  if (o.sampling != SamplingOptions()) {
    visit_sampling(o.sampling,
                   [&](const SamplingField& field, auto value) { json["sampling"][std::string(field.name)] = value; });
    json["sampling"]["seed"] = o.sampling.seed;
  }
  if (card_of(session) != nullptr) {
    json["gpu"] = gpu_use(*card_of(session));
    json["gpu"]["decode"] = {{"submits_per_token", runs.back().submits},
                             {"bytes_read_per_token", runs.back().bytes_read},
                             {"host_draws_per_token", runs.back().host_draws}};
  }
  if (!o.speculate.empty()) json["speculation"] = speculation_json(runs.back().speculation);
  print_json(json);
}

Result<int> run(const BenchOptions& o) {
  LOOM_TRY(const LanguageModel model, open_model(o.model, o.common));
  LOOM_TRY_VOID(check(o.sampling, static_cast<std::size_t>(model.decoder->config.vocab_size)));
  CommonOptions common = o.common;
  if (common.context == 0) common.context = o.prompt_tokens + o.new_tokens;
  LOOM_TRY(const auto session, open_session(model, common, o.batch));
  if (o.kernels && card_of(*session) == nullptr)
    return fail(Code::InvalidArgument, "--kernels times those of a graphics card: --device gpu");
  if (o.batch > 1 && !o.speculate.empty() && o.speculate != "ngram")
    return fail(Code::InvalidArgument, "--speculate {}: a model drafts for one sequence, --batch is {}", o.speculate,
                o.batch);
  std::vector<std::shared_ptr<Drafter>> drafters(o.speculate.empty() ? 0 : o.batch);
  for (auto& drafter : drafters) {
    LOOM_TRY(drafter, open_drafter(o.speculate, model, *session, common));
  }
  std::vector<Rates> runs;
  Progress bar("bench", o.common.quiet);
  for (std::size_t r = 0; r <= o.repeats; ++r) {  // the first one warms up
    LOOM_TRY(const Rates rates,
             once(o, *session, static_cast<std::int32_t>(model.decoder->config.vocab_size), drafters));
    if (interrupted()) return kInterrupted;
    bar.update(static_cast<double>(r) / static_cast<double>(o.repeats));
    if (r > 0) runs.push_back(rates);
  }
  report(o, model, *session, runs);
  if (o.kernels) {
    Device* const card = card_of(*session);
    card->time_kernels();
    LOOM_TRY_VOID(once(o, *session, static_cast<std::int32_t>(model.decoder->config.vocab_size), drafters));
    std::fprintf(stderr, "%s", kernel_times(*card).c_str());
  }
  return kOk;
}

}  // namespace

Run bench_command(CLI::App& app) {
  auto o = std::make_shared<BenchOptions>();
  add_path(app, "-m,--model,MODEL", o->model, "GGUF file, Hugging Face folder or .entity of a language model");
  app.add_option("--prompt-tokens", o->prompt_tokens, "Length of the prompt")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--new-tokens", o->new_tokens, "Tokens to write after it")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  add_speculate(app, o->speculate);
  GenerationFlags::add_numbers(app, o->sampling);
  app.add_option("--batch", o->batch, "Sequences at once")->capture_default_str()->check(CLI::Range(1, 256));
  app.add_option("--repeats", o->repeats, "Repetitions; the median is reported")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  app.add_flag("--kernels", o->kernels, "Then once more with each kernel of the graphics card alone: a table of times");
  add_common(app, o->common, true);
  CLI::App* const matrix =
      app.add_subcommand("matrix", "Every layer kind in every type: latency, bytes, distance from f64");
  return [o, &app, matrix, run_matrix = bench_matrix_command(*matrix)] {
    if (matrix->parsed()) {
      for (const CLI::Option* option : app.get_options())
        if (option->count() > 0)
          return report(
              {Code::InvalidArgument,
               fmt::format("{} has no effect on bench matrix; its own options follow that word", option->get_name())});
      return run_matrix();
    }
    if (o->model.empty()) return report({Code::InvalidArgument, "bench needs a MODEL, or: loom bench matrix"});
    if (auto checked = GenerationFlags::check_effects_of_numbers(app, o->sampling); !checked)
      return report(checked.error());
    return finish(run(*o));
  };
}

}  // namespace loom::cli
