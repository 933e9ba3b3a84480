// Text to token ids and back: the tokenizers of loom.h.

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"

using namespace loom;
using namespace loom::capi;

loom_status loom_tokenizer_open(const char* path, loom_tokenizer* tokenizer) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(tokenizer));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(auto read, load_tokenizer(std::string(name)));
    LOOM_TRY(*tokenizer, make_handle<TokenizerObject>(std::move(read)));
    return {};
  });
}

loom_status loom_tokenizer_from_json(const void* json, size_t json_size, loom_tokenizer* tokenizer) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(tokenizer));
    LOOM_TRY(const std::string_view text, need_bytes(json, json_size, "json"));
    LOOM_TRY(auto read, text::Tokenizer::from_json(text));
    LOOM_TRY(*tokenizer, make_handle<TokenizerObject>(std::make_shared<const text::Tokenizer>(std::move(read))));
    return {};
  });
}

loom_status loom_tokenizer_from_memory(const void* data, size_t data_size, loom_tokenizer* tokenizer) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(tokenizer));
    LOOM_TRY(const std::string_view bytes, need_bytes(data, data_size, "data"));
    LOOM_TRY(auto loaded, load_tokenizer(ByteSource::memory("memory", std::as_bytes(std::span(bytes)))));
    LOOM_TRY(*tokenizer, make_handle<TokenizerObject>(std::move(loaded)));
    return {};
  });
}

loom_status loom_tokenizer_encode(loom_tokenizer tokenizer, const void* text, size_t text_size,
                                  int32_t add_special_tokens, int32_t parse_special, loom_blob* ids) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(ids));
    LOOM_TRY(const std::string_view given, need_bytes(text, text_size, "text"));
    LOOM_TRY(const auto use, Use<TokenizerObject>::of(tokenizer));
    std::vector<std::int32_t> out;
    LOOM_TRY_VOID(use->tokenizer->encode(
        given, {.add_special_tokens = add_special_tokens != 0, .parse_special = parse_special != 0}, out));
    LOOM_TRY(*ids, make_blob(std::as_bytes(std::span(out))));
    return {};
  });
}

loom_status loom_tokenizer_decode(loom_tokenizer tokenizer, const int32_t* ids, size_t ids_count,
                                  int32_t skip_special_tokens, loom_blob* text) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(text));
    LOOM_TRY(const auto given, need_array(ids, ids_count, "ids"));
    LOOM_TRY(const auto use, Use<TokenizerObject>::of(tokenizer));
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i] < 0 || static_cast<std::size_t>(given[i]) >= use->tokenizer->vocab_size())
        return fail(Code::IndexOutOfRange, "ids[{}] is {}, outside the vocabulary of {}", i, given[i],
                    use->tokenizer->vocab_size());
    LOOM_TRY(*text, make_blob(use->tokenizer->decode(given, {.skip_special_tokens = skip_special_tokens != 0})));
    return {};
  });
}

loom_status loom_tokenizer_vocab_size(loom_tokenizer tokenizer, uint64_t* size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(size));
    LOOM_TRY(const auto use, Use<TokenizerObject>::of(tokenizer));
    *size = use->tokenizer->vocab_size();
    return {};
  });
}

loom_status loom_tokenizer_id(loom_tokenizer tokenizer, const void* text, size_t text_size, int32_t* id) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(id));
    LOOM_TRY(const std::string_view given, need_bytes(text, text_size, "text"));
    LOOM_TRY(const auto use, Use<TokenizerObject>::of(tokenizer));
    const auto found = use->tokenizer->id_of(given);
    if (!found) return fail(Code::NotFound, "the vocabulary has no token \"{}\"", given.substr(0, 100));
    *id = *found;
    return {};
  });
}

loom_status loom_tokenizer_token(loom_tokenizer tokenizer, int32_t id, loom_blob* text) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(text));
    LOOM_TRY(const auto use, Use<TokenizerObject>::of(tokenizer));
    LOOM_TRY(*text, make_blob(std::string(use->tokenizer->token_text(id))));
    return {};
  });
}
