#pragma once
// The members of every request's body: one table per kind of request, which readers and the OpenAPI file visit. A
// member that no table has is refused by name.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config_reader.h"
#include "core/json.h"
#include "lm/generator.h"

namespace loom::server {

inline constexpr std::size_t kMostTokens = DefaultLength::kWhole;

// Members that all requests for answers in OpenAI's interface have.
struct AnswerFields {
  std::string model;
  SamplingOptions sampling;
  std::size_t top_k = 0;
  bool stream = false, ignore_eos = false;
  Json seed, stop, logit_bias;
  Json structured_outputs, guided_json, guided_choice, guided_regex, guided_grammar;  // names of vLLM

  void visit(ConfigVisitor& v);
  // They say who asks and change no answer.
  static constexpr std::string_view kWithoutEffect[] = {
      "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"};
};

// Of chat and text completions.
struct CompletionFields : AnswerFields {
  std::size_t max_tokens = kMostTokens, n = 1;
  bool receipt = false;
  Json stream_options;

  void visit(ConfigVisitor& v);
};

struct ChatFields : CompletionFields {
  Json messages, response_format, tools, tool_choice;
  Json chat_template_kwargs;  // as vLLM and llama.cpp call the template's variables
  bool parallel_tool_calls = true, logprobs = false;
  std::size_t top_logprobs = 0;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"messages"};
};

struct TextFields : CompletionFields {
  Json prompt;

  TextFields() { max_tokens = DefaultLength::kCompletion; }
  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"prompt"};
};

struct ResponseFields : AnswerFields {
  Json input, tools, tool_choice, text;
  std::string instructions, previous_response_id;
  enum class Truncation : std::uint8_t { Disabled } truncation = Truncation::Disabled;
  std::size_t max_output_tokens = kMostTokens;
  bool parallel_tool_calls = true, background = false;
  std::vector<std::string> include;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"input"};
};

struct EmbeddingFields {
  std::string model;
  enum class Encoding : std::uint8_t { Float, Base64 } encoding_format = Encoding::Float;
  Json input;
  std::size_t dimensions = 0;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"input"};
  static constexpr std::string_view kWithoutEffect[] = {"user"};
};

// As Jina's and Cohere's interfaces have it.
struct RerankFields {
  std::string model, query;
  Json documents;
  std::size_t top_n = 0;
  bool return_documents = true;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"query", "documents"};
  static constexpr std::string_view kWithoutEffect[] = {"user"};
};

// As vLLM's /tokenize; the aliases are those of llama.cpp's server.
struct TokenizeFields {
  std::string model;
  Json prompt, messages;
  bool add_special_tokens = true, add_generation_prompt = true, return_token_strs = false;

  void visit(ConfigVisitor& v);
  static constexpr std::span<const std::string_view> kRequired{};
  static constexpr std::span<const std::string_view> kWithoutEffect{};
};

struct DetokenizeFields {
  std::string model;
  std::vector<std::int64_t> tokens;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"tokens"};
  static constexpr std::span<const std::string_view> kWithoutEffect{};
};

// Ollama's "options".
struct OllamaOptions {
  SamplingOptions sampling;
  std::size_t top_k = 0, num_ctx = 0;
  Json num_predict, repeat_last_n, seed, stop;
  Json mirostat, tfs_z;  // samplers that Loom lacks: null, or the number that switches them off

  void visit(ConfigVisitor& v);
  // They say how Ollama computes, not what, or belong to Mirostat.
  static constexpr std::string_view kWithoutEffect[] = {"num_batch", "num_gpu",      "main_gpu",    "low_vram",
                                                        "use_mmap",  "use_mlock",    "num_thread",  "numa",
                                                        "num_keep",  "mirostat_eta", "mirostat_tau"};
};

struct OllamaFields {
  std::string model;
  Json format, options, think;
  bool stream = true;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"model"};
};

struct OllamaChatFields : OllamaFields {
  Json messages, tools, keep_alive;

  void visit(ConfigVisitor& v);
  static constexpr std::span<const std::string_view> kWithoutEffect{};
};

struct OllamaGenerateFields : OllamaFields {
  Json prompt, keep_alive;
  std::string system;
  bool raw = false;

  void visit(ConfigVisitor& v);
  static constexpr std::span<const std::string_view> kWithoutEffect{};
};

struct OllamaEmbedFields {
  std::string model;
  Json input;
  bool truncate = true;
  std::size_t dimensions = 0;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"model", "input"};
  static constexpr std::string_view kWithoutEffect[] = {"keep_alive", "options"};
};

// Of /api/embeddings, which came before /api/embed.
struct OllamaEmbeddingFields {
  std::string model, prompt;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"model", "prompt"};
  static constexpr std::string_view kWithoutEffect[] = {"keep_alive", "options"};
};

struct OllamaShowFields {
  std::string model;
  bool verbose = false;

  void visit(ConfigVisitor& v);
  static constexpr std::string_view kRequired[] = {"model"};
  static constexpr std::string_view kWithoutEffect[] = {"system", "template", "options"};
};

// The object of a body without members that are null or without effect. CorruptData, InvalidConfig.
Result<Json> members_of(std::string_view body, std::span<const std::string_view> required,
                        std::span<const std::string_view> without_effect);

// `given` receives the members that came.
template <class F>
Result<F> read_fields(std::string_view body, Json* given = nullptr) {
  F fields;
  LOOM_TRY(Json json, members_of(body, F::kRequired, F::kWithoutEffect));
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& v) { fields.visit(v); }));
  if (given != nullptr) *given = std::move(json);
  return fields;
}

// A kind of request, for those that describe it.
struct RequestTable {
  ConfigVisitor::Fields visit;
  std::span<const std::string_view> required, without_effect;
};
template <class F>
RequestTable table_of() {
  return {[](ConfigVisitor& v) { F().visit(v); }, F::kRequired, F::kWithoutEffect};
}

}  // namespace loom::server
