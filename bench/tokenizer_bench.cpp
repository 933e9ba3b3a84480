// Tokens per second of real text. Needs LOOM_DATA. Target: link loom_text and benchmark::benchmark, define
// LOOM_SOURCE_DIR.
//   LOOM_DATA=... build/bin/tokenizer_bench --benchmark_min_time=1

#include <benchmark/benchmark.h>

#include "text/tokenizer/test_data.h"

namespace {

using namespace loom::text;

std::string english(std::size_t bytes) {
  const std::string book = fixtures::read_file(fixtures::data_path("text/botchan.txt"));
  std::string text;
  while (text.size() < bytes) text += book;
  text.resize(bytes);
  return text;
}

loom::Result<Tokenizer> load(const std::string& name) {
  if (name.ends_with(".gguf")) return Tokenizer::from_vocab(fixtures::gguf_spec(name));
  return Tokenizer::from_json(fixtures::read_file(fixtures::data_path(name)));
}

void encode_english(benchmark::State& state, const std::string& name) {
  const auto tokenizer = load(name);
  if (!tokenizer) return state.SkipWithError(tokenizer.error().text().c_str());
  const std::string text = english(std::size_t{1} << 20);
  std::vector<std::int32_t> ids;
  for (auto _ : state)
    if (!tokenizer->encode(text, {}, ids)) return state.SkipWithError("encode failed");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void decode_english(benchmark::State& state, const std::string& name) {
  const auto tokenizer = load(name);
  if (!tokenizer) return state.SkipWithError(tokenizer.error().text().c_str());
  std::vector<std::int32_t> ids;
  if (!tokenizer->encode(english(std::size_t{1} << 20), {}, ids)) return state.SkipWithError("encode failed");
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->decode(ids));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * ids.size()));
}

void load_vocabulary(benchmark::State& state, const std::string& name) {
  if (name.ends_with(".gguf")) {
    const VocabSpec spec = fixtures::gguf_spec(name);
    for (auto _ : state) {
      state.PauseTiming();
      VocabSpec copy = spec;
      state.ResumeTiming();
      benchmark::DoNotOptimize(Tokenizer::from_vocab(std::move(copy)));
    }
    return;
  }
  const std::string text = fixtures::read_file(fixtures::data_path(name));
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::from_json(text));
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::string name :
       {"llm/SmolLM2-135M-Instruct.Q4_1.gguf", "vocabs/gpt-2.gguf", "vocabs/llama-bpe.gguf", "vocabs/llama-spm.gguf",
        "vocabs/qwen2.gguf", "vocabs/bert-bge.gguf", "vocabs/gemma-4.gguf", "tokenizers/llama2/tokenizer.json",
        "tokenizers/llama3/tokenizer.json", "tokenizers/qwen3/tokenizer.json", "tokenizers/gemma3/tokenizer.json",
        "tokenizers/gpt4o/tokenizer.json"}) {
    benchmark::RegisterBenchmark(("encode/" + name).c_str(), encode_english, name)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("decode/" + name).c_str(), decode_english, name)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("load/" + name).c_str(), load_vocabulary, name)->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
