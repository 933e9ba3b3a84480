#include "server/embeddings.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "core/base64.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "core/sha256.h"
#include "host/receipt.h"
#include "server/errors.h"
#include "server/request_fields.h"

namespace loom::server {
namespace {

constexpr std::size_t kMostTexts = 2048;  // OpenAI's limit

using Vectors = std::vector<TextEmbedding>;
using Clock = std::chrono::steady_clock;

Result<void> check_model(const Embedder& embedder, std::string_view model) {
  if (model.ends_with(":latest") && !embedder.name().ends_with(":latest")) model.remove_suffix(7);
  if (model.empty() || model == embedder.name()) return {};
  return fail(Code::NotFound, "/model: {} is served, got {}", embedder.name(), shown(std::string(model)));
}

// A text or a list of texts.
Result<std::vector<EncoderInput>> read_texts(const Json& input, std::string_view member) {
  std::vector<EncoderInput> texts;
  if (const std::string* text = as_string(input)) texts.push_back({*text});
  if (texts.empty() && (!input.is_array() || input.empty() || input.size() > kMostTexts))
    return fail(Code::InvalidConfig, "/{}: expected a text or a list of 1 to {} texts, got {}", member, kMostTexts,
                shown(input));
  for (std::size_t i = 0; texts.size() < input.size() && input.is_array(); ++i) {
    const std::string* const text = as_string(input[i]);
    if (text == nullptr) return fail(Code::InvalidConfig, "/{}/{}: {}", member, i, expected("a text", input[i]));
    texts.push_back({*text});
  }
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i].text.empty()) return fail(Code::InvalidConfig, "/{}/{}: expected a text that is not empty", member, i);
  return texts;
}

Result<EncoderInput> read_ids(const Json& ids, const std::string& place, std::size_t vocab_size) {
  if (ids.empty()) return fail(Code::InvalidConfig, "{}: expected at least one token id, got an empty list", place);
  EncoderInput out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = as_int(ids[i]);
    if (!id || *id < 0 || static_cast<std::uint64_t>(*id) >= vocab_size)
      return fail(Code::InvalidConfig, "{}/{}: {}", place, i,
                  expected(fmt::format("a token id from 0 to {}", vocab_size - 1), ids[i]));
    out.ids.push_back(static_cast<std::int32_t>(*id));
  }
  return out;
}

// A text, the token ids of one, or a list of either.
Result<std::vector<EncoderInput>> read_inputs(const Json& input, const Embedder& embedder) {
  const std::size_t vocab_size = embedder.encoder().config().vocab_size;
  const bool is_list = input.is_array() && !input.empty();
  std::vector<EncoderInput> out;
  if (is_list && input[0].is_number()) {
    LOOM_TRY(out.emplace_back(), read_ids(input, "/input", vocab_size));
    return out;
  }
  if (!is_list || !input[0].is_array()) return read_texts(input, "input");
  if (input.size() > kMostTexts)
    return fail(Code::InvalidConfig, "/input: expected at most {} lists of token ids, got {}", kMostTexts,
                input.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::string place = fmt::format("/input/{}", i);
    if (!input[i].is_array())
      return fail(Code::InvalidConfig, "{}: {}", place, expected("a list of token ids as before it", input[i]));
    LOOM_TRY(out.emplace_back(), read_ids(input[i], place, vocab_size));
  }
  return out;
}

Result<void> check_dimensions(const Embedder& embedder, std::size_t dimensions) {
  const std::size_t own = embedder.encoder().dimensions();
  if (dimensions <= own) return {};
  return fail(Code::InvalidConfig, "/dimensions: the vectors of this model have {} numbers, got {}", own, dimensions);
}

// Zero: as the model makes them.
Vectors shortened(const Vectors& vectors, std::size_t dimensions) {
  Vectors out = vectors;
  for (TextEmbedding& vector : out)
    if (dimensions != 0) shorten(vector.values, dimensions);
  return out;
}

std::size_t tokens_of(const Vectors& vectors) {
  return std::accumulate(vectors.begin(), vectors.end(), std::size_t{0},
                         [](std::size_t sum, const TextEmbedding& v) { return sum + v.tokens; });
}

// The hash that `loom embed` prints.
Json own_members(const Vectors& vectors) { return Json{{"hash", to_hex(hash_of(vectors))}}; }

Result<void> check_whole(const Embedder& embedder, const Vectors& vectors) {
  for (std::size_t i = 0; i < vectors.size(); ++i)
    if (vectors[i].is_truncated)
      return fail(Code::ContextFull, "text {} has more than {} tokens, which are read at most", i,
                  embedder.encoder().max_tokens());
  return {};
}

std::string base64_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) store_le(bytes.data() + i * sizeof(float), values[i]);
  return base64_encode(bytes);
}

// Answers with what `make` makes of the vectors: a Result<Json>.
template <class Make>
Result<HttpResponse> later(Embedder& embedder, std::vector<EncoderInput>&& inputs, ErrorStyle style, Make make) {
  const auto reply = std::make_shared<HttpReply>();
  LOOM_TRY_VOID(embedder.submit({.inputs = std::move(inputs),
                                 .is_wanted = [reply] { return reply->is_open(); },
                                 .on_end =
                                     [reply, style, make = std::move(make)](Result<Vectors> vectors) {
                                       Result<Json> made =
                                           vectors ? make(*vectors) : tl::make_unexpected(vectors.error());
                                       if (made) return reply->send({}, dump_json(*made) + "\n");
                                       const HttpResponse response = error_response(made.error(), style);
                                       reply->send({response.status, response.content_type}, response.body);
                                     }}));
  HttpResponse response;
  response.later = reply;
  return response;
}

std::int64_t nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

}  // namespace

Result<HttpResponse> embeddings(Embedder& embedder, std::string_view body) {
  LOOM_TRY(const EmbeddingFields fields, read_fields<EmbeddingFields>(body));
  LOOM_TRY_VOID(check_model(embedder, fields.model));
  LOOM_TRY(std::vector<EncoderInput> inputs, read_inputs(fields.input, embedder));
  LOOM_TRY_VOID(check_dimensions(embedder, fields.dimensions));
  const bool is_base64 = fields.encoding_format == EmbeddingFields::Encoding::Base64;
  return later(embedder, std::move(inputs), ErrorStyle::OpenAi,
               [&embedder, is_base64, dimensions = fields.dimensions](const Vectors& made) -> Result<Json> {
                 LOOM_TRY_VOID(check_whole(embedder, made));
                 const Vectors vectors = shortened(made, dimensions);
                 Json data = Json::array();
                 for (const TextEmbedding& vector : vectors) {
                   Json values = is_base64 ? Json(base64_of(vector.values)) : Json(vector.values);
                   data.push_back({{"object", "embedding"}, {"index", data.size()}, {"embedding", std::move(values)}});
                 }
                 const std::size_t tokens = tokens_of(vectors);
                 return Json{{"object", "list"},
                             {"data", std::move(data)},
                             {"model", embedder.name()},
                             {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}},
                             {"loom", own_members(vectors)}};
               });
}

Result<HttpResponse> rerank(Embedder& embedder, std::string_view body) {
  LOOM_TRY(const RerankFields fields, read_fields<RerankFields>(body));
  LOOM_TRY_VOID(check_model(embedder, fields.model));
  Json documents = fields.documents;
  for (Json& document : documents)
    if (const Json* const text = find(document, "text"); text != nullptr && document.size() == 1)
      document = Json(*text);
  if (fields.query.empty()) return fail(Code::InvalidConfig, "/query: expected a text that is not empty");
  if (!documents.is_array()) return fail(Code::InvalidConfig, "/documents: {}", expected("a list of texts", documents));
  LOOM_TRY(std::vector<EncoderInput> texts, read_texts(documents, "documents"));
  texts.insert(texts.begin(), EncoderInput{fields.query});
  const std::size_t most = fields.top_n == 0 ? texts.size() : fields.top_n;
  const std::vector<EncoderInput> given = fields.return_documents ? texts : std::vector<EncoderInput>();
  return later(embedder, std::move(texts), ErrorStyle::OpenAi,
               [&embedder, most, given](const Vectors& vectors) -> Result<Json> {
                 LOOM_TRY_VOID(check_whole(embedder, vectors));
                 std::vector<double> scores;
                 for (const TextEmbedding& vector : vectors)
                   scores.push_back(cosine_of(vectors[0].values, vector.values));
                 std::vector<std::size_t> order(vectors.size() - 1);
                 std::iota(order.begin(), order.end(), std::size_t{1});
                 std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return scores[i]; });
                 Json results = Json::array();
                 for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
                   Json result{{"index", order[i] - 1}, {"relevance_score", scores[order[i]]}};
                   if (!given.empty()) result["document"] = Json{{"text", given[order[i]].text}};
                   results.push_back(std::move(result));
                 }
                 return Json{{"model", embedder.name()},
                             {"results", std::move(results)},
                             {"usage", {{"total_tokens", tokens_of(vectors)}}},
                             {"loom", own_members(vectors)}};
               });
}

Result<HttpResponse> ollama_embed(Embedder& embedder, std::string_view body) {
  LOOM_TRY(const OllamaEmbedFields fields, read_fields<OllamaEmbedFields>(body));
  LOOM_TRY_VOID(check_model(embedder, fields.model));
  LOOM_TRY(std::vector<EncoderInput> texts, read_texts(fields.input, "input"));
  LOOM_TRY_VOID(check_dimensions(embedder, fields.dimensions));
  const auto begin = Clock::now();
  return later(embedder, std::move(texts), ErrorStyle::Ollama,
               [&embedder, begin, truncates = fields.truncate,
                dimensions = fields.dimensions](const Vectors& made) -> Result<Json> {
                 if (!truncates) LOOM_TRY_VOID(check_whole(embedder, made));
                 const Vectors vectors = shortened(made, dimensions);
                 Json list = Json::array();
                 for (const TextEmbedding& vector : vectors) list.push_back(vector.values);
                 return Json{{"model", embedder.name()},
                             {"embeddings", std::move(list)},
                             {"total_duration", nanoseconds_since(begin)},
                             {"load_duration", 0},
                             {"prompt_eval_count", tokens_of(vectors)},
                             {"loom", own_members(vectors)}};
               });
}

Result<HttpResponse> ollama_embedding(Embedder& embedder, std::string_view body) {
  LOOM_TRY(const OllamaEmbeddingFields fields, read_fields<OllamaEmbeddingFields>(body));
  LOOM_TRY_VOID(check_model(embedder, fields.model));
  LOOM_TRY(std::vector<EncoderInput> texts, read_texts(fields.prompt, "prompt"));
  return later(embedder, std::move(texts), ErrorStyle::Ollama, [](const Vectors& vectors) -> Result<Json> {
    return Json{{"embedding", vectors[0].values}, {"loom", own_members(vectors)}};
  });
}

}  // namespace loom::server
