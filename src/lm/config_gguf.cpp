// Metadata of a GGUF model. Keys with the architecture's prefix are honoured, known to change nothing, or an error.

#include <algorithm>

#include "core/nearest.h"
#include "dtypes/decode.h"
#include "io/byte_reader.h"
#include "io/gguf/gguf_keys.h"
#include "lm/model_config.h"

namespace loom {
namespace {

constexpr std::string_view kHonouredGguf[] = {"block_count",
                                              "context_length",
                                              "embedding_length",
                                              "feed_forward_length",
                                              "attention.head_count",
                                              "attention.head_count_kv",
                                              "attention.key_length",
                                              "attention.value_length",
                                              "attention.layer_norm_rms_epsilon",
                                              "attention.sliding_window",
                                              "vocab_size",
                                              "rope.freq_base",
                                              "rope.dimension_count",
                                              "rope.scaling.type",
                                              "rope.scaling.factor",
                                              "rope.scale_linear",
                                              "rope.scaling.original_context_length",
                                              "rope.scaling.attn_factor",
                                              "rope.scaling.yarn_attn_factor",
                                              "rope.scaling.yarn_ext_factor",
                                              "rope.scaling.yarn_log_multiplier",
                                              "rope.scaling.yarn_beta_fast",
                                              "rope.scaling.yarn_beta_slow",
                                              "expert_count",
                                              "attention.causal"};
constexpr std::string_view kIgnorableGguf[] = {"tensor_data_layout", "rope.scaling.finetuned", "expert_used_count"};

template <std::size_t N>
bool is_among(const std::string_view (&list)[N], std::string_view key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

Result<void> check_gguf_keys(const GgufFile& file, const std::string& prefix) {
  for (const GgufValue& v : file.metadata()) {
    if (v.key.substr(0, prefix.size()) != prefix) continue;
    const std::string_view key = v.key.substr(prefix.size());
    if (!is_among(kHonouredGguf, key) && !is_among(kIgnorableGguf, key))
      return fail(Code::UnknownKey, "key \"{}\" is unknown; it might change results, so the model is refused",
                  printable(v.key));
  }
  return {};
}

Result<void> read_gguf_sizes(const GgufFile& file, const GgufKeys& in, ModelConfig& c) {
  LOOM_TRY_VOID(in.u32("block_count", c.num_hidden_layers, true));
  LOOM_TRY_VOID(in.u32("context_length", c.max_position_embeddings, true));
  LOOM_TRY_VOID(in.u32("embedding_length", c.hidden_size, true));
  LOOM_TRY_VOID(in.u32("feed_forward_length", c.intermediate_size, true));
  LOOM_TRY_VOID(in.u32("attention.head_count", c.num_attention_heads, true));
  if (c.num_attention_heads < 1)
    return fail(Code::InvalidConfig, "attention.head_count is {}, expected at least 1", c.num_attention_heads);
  c.num_key_value_heads = c.num_attention_heads;
  LOOM_TRY_VOID(in.u32("attention.head_count_kv", c.num_key_value_heads));
  c.head_dim = c.hidden_size / c.num_attention_heads;
  if (!in.get("attention.key_length") && c.hidden_size % c.num_attention_heads != 0)
    return fail(Code::InvalidConfig, "embedding_length {} does not divide among {} heads", c.hidden_size,
                c.num_attention_heads);
  LOOM_TRY_VOID(in.u32("attention.key_length", c.head_dim));
  std::int64_t value_length = c.head_dim;
  LOOM_TRY_VOID(in.u32("attention.value_length", value_length));
  if (value_length != c.head_dim)
    return fail(Code::Unsupported, "attention.value_length {} differs from the key length {}", value_length,
                c.head_dim);
  double eps = 0;
  LOOM_TRY_VOID(in.f32("attention.layer_norm_rms_epsilon", eps, true));
  if (!(eps > 0) || eps > 1)
    return fail(Code::InvalidConfig, "attention.layer_norm_rms_epsilon is {}, expected above 0 and at most 1", eps);
  c.rms_norm_eps = static_cast<float>(eps);

  // The table decides; files with a vocabulary alone have only the key or the list of tokens.
  if (const GgufTensor* table = file.tensor("token_embd.weight"))
    c.vocab_size = static_cast<std::int64_t>(table->dims[0]);
  else if (const GgufValue* tokens = file.find("tokenizer.ggml.tokens"))
    c.vocab_size = static_cast<std::int64_t>(tokens->count);
  else
    LOOM_TRY_VOID(in.u32("vocab_size", c.vocab_size, true));
  return {};
}

Result<void> read_gguf_positions(const GgufFile& file, const GgufKeys& in, ModelConfig& c) {
  LOOM_TRY_VOID(in.f32("rope.freq_base", c.rope_theta));
  std::int64_t rotary = c.head_dim;
  LOOM_TRY_VOID(in.u32("rope.dimension_count", rotary));
  // The order of interleaved rows of q and k in llama files is not defined for a partly rotated head; llama.cpp refuses
  // it too.
  if (rotary != c.head_dim)
    return fail(Code::Unsupported, "rope.dimension_count is {}, expected {}, the size of a head", rotary, c.head_dim);

  RopeScaling& s = c.rope_scaling;
  // As llama.cpp: a factor alone means linear; files of 2023 have it under another key, where 0 is none.
  double old_factor = 0;
  LOOM_TRY_VOID(in.f32("rope.scale_linear", old_factor));
  const bool has_factor = in.get("rope.scaling.factor") != nullptr;
  std::string type = has_factor || old_factor != 0 ? "linear" : "none";
  LOOM_TRY_VOID(in.text("rope.scaling.type", type));
  if (type == "linear")
    s.type = RopeScalingType::Linear;
  else if (type == "yarn")
    s.type = RopeScalingType::Yarn;
  else if (type != "none")
    return fail(Code::Unsupported, "rope.scaling.type \"{}\" is not supported; none, linear and yarn are",
                printable(type));
  if (s.type != RopeScalingType::None && old_factor != 0) s.factor = old_factor;
  LOOM_TRY_VOID(in.f32("rope.scaling.factor", s.factor, s.type != RopeScalingType::None && old_factor == 0));
  s.original_max_position_embeddings = s.type == RopeScalingType::Yarn ? c.max_position_embeddings : 0;
  if (s.type == RopeScalingType::Yarn)
    LOOM_TRY_VOID(in.u32("rope.scaling.original_context_length", s.original_max_position_embeddings));
  LOOM_TRY_VOID(in.f32("rope.scaling.yarn_beta_fast", s.beta_fast));
  LOOM_TRY_VOID(in.f32("rope.scaling.yarn_beta_slow", s.beta_slow));
  if (in.get("rope.scaling.yarn_attn_factor")) {  // where llama.cpp's converter puts attention_factor of transformers
    if (s.type != RopeScalingType::Yarn)
      return fail(Code::Unsupported, "rope.scaling.yarn_attn_factor without rope.scaling.type yarn");
    LOOM_TRY_VOID(in.f32("rope.scaling.yarn_attn_factor", s.attention_factor.emplace()));
  }
  // Variations of yarn, with the value at which each changes nothing; attn_factor multiplies the default where
  // yarn_attn_factor replaces it.
  for (const auto& [key, neutral] :
       {std::pair("rope.scaling.attn_factor", 1.0), std::pair("rope.scaling.yarn_ext_factor", 1.0),
        std::pair("rope.scaling.yarn_log_multiplier", 0.0)}) {
    double value = neutral;
    LOOM_TRY_VOID(in.f32(key, value));
    if (value != neutral) return fail(Code::Unsupported, "{} is {}: only {} is supported", key, value, neutral);
  }

  if (const GgufTensor* factors = file.tensor("rope_freqs.weight")) {
    if (factors->dtype != DType::float32 || factors->rank != 1 || s.type != RopeScalingType::None)
      return fail(Code::Unsupported,
                  "tensor rope_freqs.weight is no f32 vector, or stands beside another rope.scaling.type");
    c.rope_freq_factors.resize(factors->dims[0]);
    decode_to_float(DType::float32, factors->bytes.data(), c.rope_freq_factors.data(), factors->dims[0]);
  }
  LOOM_TRY_VOID(in.u32("attention.sliding_window", c.sliding_window));
  if (c.sliding_window > 0 && c.architecture != "llama")
    return fail(Code::Unsupported, "attention.sliding_window: which layers of {} slide is not in the file",
                c.architecture);
  if (c.sliding_window > 0 && c.num_hidden_layers > 0 && c.num_hidden_layers <= 4096)
    c.layer_slides.assign(static_cast<std::size_t>(c.num_hidden_layers), 1);
  return {};
}

Result<void> read_options(const GgufFile& file, const GgufKeys& in, ModelConfig& c) {
  std::int64_t experts = 0;
  LOOM_TRY_VOID(in.u32("expert_count", experts));
  if (experts != 0)
    return fail(Code::Unsupported, "expert_count is {}: mixtures of experts are not supported", experts);
  bool causal = true;
  LOOM_TRY_VOID(in.boolean("attention.causal", causal));
  if (!causal) return fail(Code::Unsupported, "attention.causal is false: only causal models are supported");
  const bool has_tensors = !file.tensors().empty();
  c.tie_word_embeddings = has_tensors && !file.tensor("output.weight");
  c.qkv_bias = c.architecture == "qwen2" || file.tensor("blk.0.attn_q.bias") != nullptr;
  c.o_bias = file.tensor("blk.0.attn_output.bias") != nullptr;
  c.mlp_bias = file.tensor("blk.0.ffn_gate.bias") != nullptr;
  c.qk_norm = c.architecture == "qwen3";  // always in this family, and in no other

  const GgufKeys tokenizer(file, "tokenizer.ggml.");
  LOOM_TRY_VOID(tokenizer.u32("bos_token_id", c.bos_token_id));
  LOOM_TRY_VOID(tokenizer.u32("padding_token_id", c.pad_token_id));
  for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    std::int64_t id = -1;
    LOOM_TRY_VOID(tokenizer.u32(key, id));
    if (id >= 0) c.eos_token_ids.push_back(id);
  }
  std::sort(c.eos_token_ids.begin(), c.eos_token_ids.end());
  c.eos_token_ids.erase(std::unique(c.eos_token_ids.begin(), c.eos_token_ids.end()), c.eos_token_ids.end());
  return {};
}

}  // namespace

Result<ModelConfig> config_from_gguf(const GgufFile& file) {
  ModelConfig c;
  const GgufKeys general(file);
  LOOM_TRY_VOID(general.text("general.architecture", c.architecture, true));
  if (c.architecture != "llama" && c.architecture != "qwen2" && c.architecture != "qwen3")
    return fail(Code::Unsupported,
                "general.architecture \"{}\" is not supported; supported are llama (Mistral too), qwen2, qwen3",
                printable(c.architecture));
  std::string type = "model";
  LOOM_TRY_VOID(general.text("general.type", type));
  if (type != "model") return fail(Code::Unsupported, "general.type is \"{}\", expected \"model\"", printable(type));
  std::int64_t parts = 1;
  LOOM_TRY_VOID(general.u16("split.count", parts));
  if (parts > 1)
    return fail(Code::Unsupported, "split.count is {}: a model in several GGUF files is not supported, join it first",
                parts);
  const std::string prefix = c.architecture + ".";
  const GgufKeys in(file, prefix);
  LOOM_TRY_VOID(check_gguf_keys(file, prefix));
  LOOM_TRY_VOID(read_gguf_sizes(file, in, c));
  LOOM_TRY_VOID(read_gguf_positions(file, in, c));
  LOOM_TRY_VOID(read_options(file, in, c));
  LOOM_TRY_VOID(check(c));
  return c;
}

}  // namespace loom
