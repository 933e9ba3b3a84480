// Text encoders of loom.h.

#include "capi/graph_objects.h"
#include "capi/guard.h"
#include "capi/options.h"
#include "core/json.h"
#include "core/nearest.h"

namespace loom::capi {
namespace {

const char* name_of(PoolingConfig::Mode mode) {
  switch (mode) {
    case PoolingConfig::Mode::Cls: return "cls";
    case PoolingConfig::Mode::Max: return "max";
    case PoolingConfig::Mode::MeanSqrtLength: return "mean_sqrt_length";
    case PoolingConfig::Mode::Mean: break;
  }
  return "mean";
}

Json info_of(const TextEncoder& encoder) {
  const EncoderConfig& c = encoder.config();
  return {{"dimensions", encoder.dimensions()},
          {"max_tokens", encoder.max_tokens()},
          {"layers", c.num_hidden_layers},
          {"attention_heads", c.num_attention_heads},
          {"vocab_size", c.vocab_size},
          {"pooling", name_of(encoder.pooling().mode)},
          {"normalize", encoder.pooling().normalize},
          {"prompt", encoder.prompt() ? Json(*encoder.prompt()) : Json()},
          {"resident_bytes", encoder.network().resident_bytes()},
          {"threads", encoder.threads()}};
}

// Stores the vectors one after another.
void keep(EncoderObject& to, const std::vector<TextEmbedding>& found) {
  const std::size_t width = to.encoder.dimensions();
  to.vectors.clear(), to.tokens.clear();
  to.vectors.reserve(found.size() * width), to.tokens.reserve(found.size());
  for (const TextEmbedding& each : found) {
    to.vectors.insert(to.vectors.end(), each.values.begin(), each.values.end());
    to.tokens.push_back(each.tokens);
  }
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_encoder_open(const char* path, const loom_encoder_options* options, loom_encoder* encoder) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(encoder));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const loom_encoder_options given, read_struct(options));
    EncoderOptions wanted;
    LOOM_TRY_VOID(read_compute(given.compute, wanted.session));
    if (given.dtype != nullptr) {
      LOOM_TRY(wanted.dtype, dtype_from_name(given.dtype));
    }
    if (given.prompt != nullptr && given.prompt_name != nullptr)
      return fail(Code::InvalidArgument, "prompt_name: \"{}\" beside a prompt; give one of them",
                  printable(given.prompt_name));
    if (given.prompt_name != nullptr && *given.prompt_name == '\0')
      return fail(Code::InvalidArgument, "prompt_name: an empty name; NULL takes the folder's default prompt");
    if (given.prompt != nullptr) wanted.prompt = given.prompt;
    if (given.prompt_name != nullptr) wanted.prompt_name = given.prompt_name;
    LOOM_TRY(TextEncoder loaded, TextEncoder::load(std::string(name), wanted));
    LOOM_TRY(*encoder, make_handle<EncoderObject>(std::move(loaded), std::string(name), wanted));
    return {};
  });
}

loom_status loom_encoder_info(loom_encoder encoder, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto taken, take<EncoderObject>(encoder, "encoder"));
    LOOM_TRY(*info, make_blob(info_of(taken->encoder)));
    return {};
  });
}

loom_status loom_encoder_tokenizer(loom_encoder encoder, loom_tokenizer* tokenizer) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(tokenizer));
    LOOM_TRY(const auto use, Use<EncoderObject>::of(encoder));
    LOOM_TRY(*tokenizer, make_handle<TokenizerObject>(use->encoder.tokenizer()));
    return {};
  });
}

loom_status loom_encoder_embed(loom_encoder encoder, const char* const* texts, size_t texts_count, loom_cancel cancel,
                               loom_tensor* vectors, const uint64_t** tokens, size_t* tokens_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(vectors));
    LOOM_TRY_VOID(need_results(tokens, tokens_count));
    LOOM_TRY(const auto given, need_array(texts, texts_count, "texts"));
    if (given.empty()) return fail(Code::InvalidArgument, "texts is empty");
    std::vector<std::string> words;
    for (const char* const text : given) {
      LOOM_TRY(const std::string_view each, need_text(text, "a text"));
      words.emplace_back(each);
    }
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const auto taken, take<EncoderObject>(encoder, "encoder"));
    LOOM_TRY(const std::vector<TextEmbedding> found, taken->encoder.embed(words, stop.flag()));
    EncoderObject& object = *taken.operator->();
    keep(object, found);
    object.receipt = receipt_of(object.folder, object.encoder, object.options, std::move(words), found);
    const Shape shape = Shape::of({found.size(), object.encoder.dimensions()});
    write_struct(tensor_of_view({object.vectors.data(), shape, Element::f32}, object.shape), vectors, room);
    *tokens = object.tokens.data(), *tokens_count = object.tokens.size();
    return {};
  });
}
