// Microseconds of a token mask, over a model's vocabulary: the first time that a state is met, and afterwards.
//   build/bin/bench_masks llm/SmolLM2-135M-Instruct.Q4_1.gguf
// With a file of cases it follows the documents of these, and prints the processor time of each mask (structured.py).
//   build/bin/bench_masks MODEL CASES.json

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/json.h"
#include "core/philox.h"
#include "grammar/grammar.h"
#include "lm/language_model.h"

namespace {

using namespace loom;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double part(std::vector<double> times, double share) {
  if (times.empty()) return 0;
  std::ranges::sort(times);
  return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
}

// Walks until the end or `most` tokens, and again over the same tokens with what the first walk has kept.
Result<void> measure(const char* name, const std::shared_ptr<const Grammar>& grammar,
                     const std::shared_ptr<const TokenTrie>& trie, std::size_t vocab) {
  constexpr int kWalks = 50, kMost = 100;
  std::vector<double> first, again;
  for (std::uint32_t walk = 0; walk < kWalks; ++walk) {
    LOOM_TRY(GrammarState state, GrammarState::create(grammar, trie, {}, vocab));
    const RandomStream random{1, RandomDomain::Noise, walk, 1};
    for (std::uint64_t step = 0; step < kMost; ++step) {
      auto begin = Clock::now();
      LOOM_TRY(TokenMask mask, state.mask());
      first.push_back(microseconds_since(begin));
      begin = Clock::now();
      LOOM_TRY(mask, state.mask());
      again.push_back(microseconds_since(begin));
      std::vector<std::int32_t> allowed;
      for (std::size_t id = 0; id < vocab; ++id)
        if (allows(mask, id)) allowed.push_back(static_cast<std::int32_t>(id));
      if (allowed.empty()) break;
      LOOM_TRY_VOID(state.advance(allowed[random.below(step, static_cast<std::uint32_t>(allowed.size()))]));
    }
  }
  std::printf("%-10s %6zu masks   met: p50 %8.1f p99 %8.1f   kept: p50 %6.2f p99 %6.2f us\n", name, first.size(),
              part(first, 0.5), part(first, 0.99), part(again, 0.5), part(again, 0.99));
  return {};
}

// Processor time of this thread: other programs on the machine do not count.
double microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Follows the documents of a case, each from the beginning: a mask before every token.
Result<Json> follow(const Json& one, const std::shared_ptr<const TokenTrie>& trie, std::size_t vocab) {
  double begin = microseconds();
  auto grammar = Grammar::from_parsed_schema(one["schema"]);
  if (!grammar) return Json{{"error", grammar.error().text()}};
  Json out{{"compile_us", microseconds() - begin}};
  std::vector<double> masks;
  double accepting = 0;
  for (const Json& document : one["documents"]) {
    LOOM_TRY(GrammarState state, GrammarState::create(*grammar, trie, {}, vocab));
    for (const Json& id : document) {
      begin = microseconds();
      LOOM_TRY(const TokenMask mask, state.mask());
      masks.push_back(microseconds() - begin);
      const auto token = static_cast<std::int32_t>(*as_int(id));
      if (!allows(mask, static_cast<std::size_t>(token)))
        return Json{{"error", fmt::format("token {} of a valid document is not allowed", token)}};
      begin = microseconds();
      LOOM_TRY_VOID(state.advance(token));
      accepting += microseconds() - begin;
    }
    if (!state.is_complete()) return Json{{"error", "a valid document is not complete"}};
  }
  out["masks_us"] = masks, out["accept_us"] = accepting;
  return out;
}

Result<void> run_cases(const char* model, const char* path) {
  LOOM_TRY(const auto tokenizer, load_tokenizer(model));
  LOOM_TRY(const auto trie, TokenTrie::create(*tokenizer));
  LOOM_TRY(const std::string text, read_text_file(path, std::size_t{1} << 28));
  LOOM_TRY(const Json cases, parse_json(text));
  Json out = Json::object();
  for (const Json& one : cases) {
    LOOM_TRY(Json found, follow(one, trie, tokenizer->vocab_size()));
    out[*as_string(one["name"])] = std::move(found);
  }
  std::printf("%s\n", dump_json(out).c_str());
  return {};
}

Result<void> run(const char* path) {
  LOOM_TRY(const auto tokenizer, load_tokenizer(path));
  const auto begin = Clock::now();
  LOOM_TRY(const auto trie, TokenTrie::create(*tokenizer));
  std::printf("trie of %zu tokens: %.1f ms\n", tokenizer->vocab_size(), microseconds_since(begin) / 1000);
  const std::pair<const char*, const char*> schemas[] = {
      {"any", "true"},
      {"person", R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,
                     "maximum":150},"email":{"type":"string","format":"email"}},"required":["name","age"],
                     "additionalProperties":false})"},
      {"list", R"({"type":"array","items":{"type":"object","properties":{"id":{"type":"string","format":"uuid"},
                   "tags":{"type":"array","items":{"enum":["red","green","blue"]}}},"required":["id","tags"]}})"}};
  for (const auto& [name, schema] : schemas) {
    LOOM_TRY(const auto grammar, Grammar::from_schema(schema));
    LOOM_TRY_VOID(measure(name, grammar, trie, tokenizer->vocab_size()));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return std::fprintf(stderr, "usage: bench_masks MODEL [CASES.json]\n"), 2;
  const auto done = argc == 2 ? run(argv[1]) : run_cases(argv[1], argv[2]);
  if (!done) std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return done ? 0 : 1;
}
