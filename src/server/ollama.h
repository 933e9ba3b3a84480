#pragma once
// The part of Ollama's interface that its Python client and Open WebUI use, for the model that is served: version,
// tags, ps, show, chat and generate. Embeddings are in server/embeddings.h. Unlike in Ollama, an answer takes the best
// token unless a temperature is given.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/answers.h"

namespace loom::server {

// The facts of a model that clients see.
struct ModelCard {
  std::string name;    // for clients; Ollama's interface adds ":latest" where it has no tag
  std::string format;  // "gguf", "safetensors", "entity"
  std::string family;  // "llama", "bert"
  std::string types;   // of the weights, as "q4_1"
  std::uint64_t parameters = 0, bytes = 0, context_tokens = 0;
  std::int64_t modified = 0;  // seconds since 1970
  bool answers = false, embeds = false, has_tools = false;
};

Json ollama_version();
Json ollama_tags(std::span<const ModelCard> cards);
Json ollama_ps(std::span<const ModelCard> cards);
// NotFound for a model that is not served.
Result<Json> ollama_show(std::span<const ModelCard> cards, const Answers* answers, std::string_view body);

// Chat and generate: lines of JSON, or one object with "stream": false.
Result<HttpResponse> ollama_chat(const Answers& answers, std::string_view body);
Result<HttpResponse> ollama_generate(const Answers& answers, std::string_view body);

// Readers of both bodies, for tests and fuzzers. A request without messages, or without a prompt, asks to load or, with
// keep_alive 0, to unload the model: it gets `done_reason`, and nothing is generated.
struct OllamaRequest {
  ChatRequest chat;
  std::string done_reason{};
};
Result<OllamaRequest> read_ollama_chat(std::string_view body);
Result<OllamaRequest> read_ollama_generate(std::string_view body);

}  // namespace loom::server
