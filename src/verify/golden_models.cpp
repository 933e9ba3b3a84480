#include "verify/golden_models.h"

#include <array>
#include <cstring>

#include "core/philox.h"
#include "dtypes/float16.h"
#include "verify/card_rules.h"
#include "verify/golden_layers.h"
#include "lm/sampling.h"

namespace loom {
namespace {

constexpr std::size_t kPrompt = 70;  // crosses a block of 64 positions
constexpr std::size_t kGenerated = 8;

// Weights in about +-0.1: uniform, so that no function but the random words' own enters.
std::vector<float> uniform_weights(const RandomStream& stream, std::size_t count, float centre, float width) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = centre + (stream.uniform(i) - 0.5f) * width;
  return out;
}

struct ScaleField {
  std::size_t offset;
  float value;  // as f16; for mxfp4 the byte 127 - 5
};

// Random codes in every block; the block's scales are set to what gives weights of that size.
std::vector<ScaleField> scale_fields(DType dtype) {
  switch (dtype) {
    case DType::q5_0: return {{0, 0.006f}};
    case DType::q5_1: return {{0, 0.006f}, {2, -0.1f}};
    case DType::q2_k: return {{80, 0.004f}, {82, 0.004f}};
    case DType::q3_k: return {{108, 0.001f}};
    case DType::q4_k: return {{0, 0.0004f}, {2, 0.002f}};
    case DType::q5_k: return {{0, 0.0002f}, {2, 0.002f}};
    case DType::q6_k: return {{208, 0.00003f}};
    case DType::tq1_0: return {{52, 0.07f}};
    case DType::tq2_0: return {{64, 0.07f}};
    default: return {};
  }
}

// Codes that the format does not have (ternary's 3, TQ1_0's bytes are all valid) are mapped to ones it has.
void repair(DType dtype, std::byte* block) {
  if (dtype != DType::tq2_0) return;
  for (std::size_t i = 0; i < 64; ++i) {
    auto b = std::to_integer<unsigned>(block[i]);
    for (unsigned shift = 0; shift < 8; shift += 2)
      if ((b >> shift & 3u) == 3u) b &= ~(1u << shift);
    block[i] = static_cast<std::byte>(b);
  }
}

std::vector<std::byte> random_blocks(DType dtype, const RandomStream& stream, std::size_t count) {
  const std::size_t size = info(dtype).block_bytes;
  std::vector<std::byte> out(count * size);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(stream.word(i / 4) >> (8 * (i % 4)));
  for (std::size_t b = 0; b < count; ++b) {
    std::byte* block = out.data() + b * size;
    for (const ScaleField& field : scale_fields(dtype)) {
      const std::uint16_t half = float_to_float16(field.value * (1.0f + 0.25f * static_cast<float>(b % 5)));
      block[field.offset] = static_cast<std::byte>(half & 0xff);
      block[field.offset + 1] = static_cast<std::byte>(half >> 8);
    }
    if (dtype == DType::mxfp4) block[0] = static_cast<std::byte>(127 - 5 - b % 3);
    repair(dtype, block);
  }
  return out;
}

bool has_encoder(DType dtype) {
  return !is_block_format(dtype) || dtype == DType::q8_0 || dtype == DType::q4_0 || dtype == DType::q4_1;
}

// The bytes of one tensor as a file of this type would hold them.
Result<std::vector<std::byte>> tensor_bytes_of(DType dtype, const RandomStream& stream, std::size_t rows,
                                               std::size_t cols) {
  if (is_block_format(dtype) && !has_encoder(dtype))
    return random_blocks(dtype, stream, rows * cols / info(dtype).block_elements);
  const std::vector<float> values = uniform_weights(stream, rows * cols, 0.0f, 0.2f);
  LOOM_TRY(const std::size_t bytes, row_bytes(dtype, cols));
  std::vector<std::byte> out(bytes * rows);
  for (std::size_t r = 0; r < rows; ++r) {
    LOOM_TRY_VOID(encode_row(dtype, std::span<const float>(values).subspan(r * cols, cols), out.data() + r * bytes));
  }
  return out;
}

ModelConfig base_config() {
  ModelConfig c;
  c.architecture = "llama";
  c.hidden_size = 256, c.intermediate_size = 512, c.num_hidden_layers = 2;
  c.num_attention_heads = 4, c.num_key_value_heads = 2, c.head_dim = 64;
  c.vocab_size = 300, c.max_position_embeddings = 256;
  c.rms_norm_eps = 1e-5f;
  c.tie_word_embeddings = true;
  return c;
}

}  // namespace

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  cases.reserve(2 * std::size(kDTypes));
  for (const DTypeInfo& type : kDTypes)
    cases.push_back({"decoder " + std::string(type.name), type.dtype, base_config()});
  for (const DType type : {DType::q4_0, DType::q4_1, DType::q8_0, DType::q6_k})
    cases.push_back({fmt::format("decoder {} int8 activations", name(type)), type, base_config(), Activations::int8});
  for (const DType type : {DType::bfloat16, DType::int8})
    cases.push_back({fmt::format("decoder q4_1 {} keys and values", name(type)), DType::q4_1, base_config(),
                     Activations::int16, type});
  ModelConfig c = base_config();
  c.architecture = "qwen2", c.qkv_bias = true, c.tie_word_embeddings = false;
  cases.push_back({"decoder q8_0 qwen2", DType::q8_0, c});
  c = base_config();
  c.architecture = "qwen3", c.qk_norm = true, c.head_dim = 48, c.num_attention_heads = 6;
  cases.push_back({"decoder bfloat16 qwen3", DType::bfloat16, c});
  c = base_config();
  c.architecture = "mistral", c.sliding_window = 17, c.layer_slides = {1, 0};
  cases.push_back({"decoder float32 mistral", DType::float32, c});
  c = base_config();
  c.rope_scaling.type = RopeScalingType::Llama3, c.rope_scaling.factor = 8,
  c.rope_scaling.original_max_position_embeddings = 32;
  cases.push_back({"decoder q4_0 llama3", DType::q4_0, c});
  c = base_config();
  c.hidden_size = 240, c.intermediate_size = 336, c.num_attention_heads = 5, c.num_key_value_heads = 1, c.head_dim = 48,
  c.vocab_size = 301;
  c.rope_scaling.type = RopeScalingType::Yarn, c.rope_scaling.factor = 4,
  c.rope_scaling.original_max_position_embeddings = 32;
  cases.push_back({"decoder float16 yarn odd sizes", DType::float16, c});
  return cases;
}

Result<DecoderModel> golden_decoder(const GoldenCase& c) {
  DecoderSource source;
  source.config = c.config;
  std::vector<std::vector<std::byte>> memory;
  // Loom's own types have no form in this file: they are encoded from f32 on load.
  const DType stored =
      !is_block_format(c.dtype) && c.dtype != DType::float16 && c.dtype != DType::bfloat16 ? DType::float32 : c.dtype;
  for (const TensorPlace& place : expected_tensors(c.config)) {
    const std::vector<std::size_t> shape = expected_shape(c.config, place.role);
    const std::string name = gguf_name(place);
    const RandomStream stream{20260101, RandomDomain::Init, 0, random_site(c.name + "/" + name)};
    if (shape.size() == 1) {
      const bool norm = name.find("norm") != name.npos;
      const std::vector<float> v = uniform_weights(stream, shape[0], norm ? 1.0f : 0.0f, 0.2f);
      memory.emplace_back(v.size() * 4);
      std::memcpy(memory.back().data(), v.data(), v.size() * 4);
      source.tensors.push_back({name, place, DType::float32, shape, memory.back(), nullptr});
    } else {
      LOOM_TRY(auto bytes, tensor_bytes_of(stored, stream, shape[0], shape[1]));
      memory.push_back(std::move(bytes));
      source.tensors.push_back({name, place, stored, shape, memory.back(), nullptr});
    }
  }
  DecoderOptions options;
  if (stored != c.dtype) options.dtype = c.dtype;
  LOOM_TRY(const auto pool, ThreadPool::create(1));
  return build_decoder(source, *pool, options);
}

Result<std::shared_ptr<const DecoderModel>> golden_model(const GoldenCase& c) {
  LOOM_TRY(DecoderModel model, golden_decoder(c));
  return std::make_shared<const DecoderModel>(std::move(model));
}

Result<std::string> golden_digest(const std::shared_ptr<const DecoderModel>& model, const GoldenOptions& run) {
  SessionOptions options;
  options.threads = run.threads;
  options.isa = run.isa;
  options.activations = run.activations, options.kv_dtype = run.kv_dtype;
  options.context_tokens = 128;
  options.sequences = run.neighbours + 1;
  options.device = run.device;
  LOOM_TRY(const auto session, Session::create(model, options));
  const auto vocab = static_cast<std::uint32_t>(model->config.vocab_size);
  const auto prompt_of = [&](std::size_t sequence) {
    const RandomStream stream{7, RandomDomain::Noise, static_cast<std::uint32_t>(sequence), 1};
    std::vector<std::int32_t> ids;
    ids.reserve(kPrompt);
    for (std::size_t i = 0; i < kPrompt - 3 * sequence; ++i)
      ids.push_back(static_cast<std::int32_t>(stream.below(i, vocab)));
    return ids;
  };
  // The sequence under test is the last one, so that its neighbours stand in front of it in every batch.
  const std::size_t tested = run.neighbours;
  std::vector<std::vector<std::int32_t>> prompts;
  for (std::size_t s = 0; s <= run.neighbours; ++s) prompts.push_back(prompt_of(s == tested ? 0 : s + 1));

  std::vector<float> row;
  const auto feed = [&](std::span<const std::vector<std::int32_t>> ids) -> Result<void> {
    std::vector<Session::Feed> feeds;
    for (std::size_t s = 0; s < ids.size(); ++s)
      if (!ids[s].empty()) feeds.push_back({s, ids[s]});
    LOOM_TRY(const ConstTensor logits, session->feed(feeds));
    if (!ids[tested].empty()) row.assign(logits.row(logits.rows - 1), logits.row(logits.rows - 1) + logits.cols);
    return {};
  };
  const std::size_t chunk = run.chunk == 0 ? kPrompt : run.chunk;
  for (std::size_t begin = 0; begin < kPrompt; begin += chunk) {
    std::vector<std::vector<std::int32_t>> part;
    for (const auto& p : prompts) {
      const std::size_t from = begin < p.size() ? begin : p.size(),
                        to = begin + chunk < p.size() ? begin + chunk : p.size();
      part.emplace_back(p.begin() + static_cast<std::ptrdiff_t>(from), p.begin() + static_cast<std::ptrdiff_t>(to));
    }
    LOOM_TRY_VOID(feed(part));
  }
  if (run.through_snapshot) {
    LOOM_TRY(const std::vector<std::byte> saved, session->snapshot(tested));
    LOOM_TRY_VOID(session->rewind(0, tested));
    LOOM_TRY_VOID(session->restore(saved, tested));
  }
  Sha256 hash;
  hash.update_floats(row);
  for (std::size_t n = 0; n < kGenerated; ++n) {
    std::vector<std::vector<std::int32_t>> next(prompts.size());
    for (std::size_t s = 0; s < next.size(); ++s) next[s] = {static_cast<std::int32_t>((n * 31 + s * 7) % vocab)};
    next[tested] = {argmax(row)};
    if (next[tested][0] < 0) return fail(Code::NonFinite, "a logit is not finite");
    hash.update_u32(static_cast<std::uint32_t>(next[tested][0]));
    LOOM_TRY_VOID(feed(next));
    hash.update_floats(row);
  }
  return to_hex(hash.finish());
}

Result<std::string> golden_table(const GoldenOptions& run) {
  std::string table;
  for (const GoldenCase& c : golden_cases()) {
    LOOM_TRY(const auto model, golden_model(c));
    GoldenOptions own = run;
    own.activations = c.activations, own.kv_dtype = c.kv_dtype;
    auto digest = golden_digest(model, own);
    if (!digest && run.refused != nullptr && is_rule_of_cards(digest.error().message))
      run.refused->push_back(c.name);
    else if (!digest)
      return at(c.name, std::move(digest).error());
    else
      table += c.name + "\t" + *digest + "\n";
  }
  LOOM_TRY(const std::string layers,
           layer_golden_table(run.isa.value_or(best_isa()), run.threads, run.device, run.refused));
  return table + layers;
}

std::string digest_of_text(const std::string& text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return to_hex(hash.finish());
}

}  // namespace loom
