#pragma once
// Configuration of a decoder-only language model, whatever file it came from: sizes, positions, biases, special tokens.
// Sources: config.json of Hugging Face transformers (4.x and 5.x keys) and GGUF metadata.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "io/gguf/gguf.h"

namespace loom {

enum class RopeScalingType { None, Linear, Llama3, Yarn };

// Engine L-73; fields that a type does not use keep their defaults.
struct RopeScaling {
  RopeScalingType type = RopeScalingType::None;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;   // llama3
  std::int64_t original_max_position_embeddings = 0;  // llama3, yarn
  double beta_fast = 32, beta_slow = 1;               // yarn
  std::optional<double> attention_factor;             // yarn; absent: 0.1 ln(factor) + 1, and 1 up to factor 1
};

// The linear layers of a BitNet checkpoint are stored as they are, or as packed ternary codes whose values are code *
// weight_scale or code / weight_scale (linear_class "autobitlinear" and "bitlinear").
enum class TernaryWeights : std::uint8_t { None, Multiplied, Divided };

struct ModelConfig {
  std::string architecture;  // "llama", "mistral", "qwen2", "qwen3", "bitnet"
  std::int64_t hidden_size = 0, intermediate_size = 0, num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
  std::int64_t vocab_size = 0, max_position_embeddings = 0;
  float rms_norm_eps = 1e-6f;

  double rope_theta = 10000;
  double partial_rotary_factor = 1;  // rotary_dim() is even
  RopeScaling rope_scaling;
  // GGUF files of Llama 3 carry the scaling as one divisor per frequency instead: rotary_dim() / 2 numbers, or empty.
  std::vector<float> rope_freq_factors;

  std::int64_t sliding_window = 0;         // 0: every layer sees everything
  std::vector<std::uint8_t> layer_slides;  // with a window: one flag per layer

  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qk_norm = false;     // RMS norm of every query and key head, before RoPE
  bool inner_norm = false;  // RMS norms in front of o and down (BitNet)
  TernaryWeights ternary_weights = TernaryWeights::None;
  bool tie_word_embeddings = false;
  std::string hidden_act = "silu";

  std::int64_t bos_token_id = -1, pad_token_id = -1;  // -1: none
  std::vector<std::int64_t> eos_token_ids;            // ascending

  std::int64_t rotary_dim() const {
    return static_cast<std::int64_t>(static_cast<double>(head_dim) * partial_rotary_factor);
  }
  std::int64_t window_of_layer(std::size_t layer) const {
    return sliding_window > 0 && layer_slides[layer] ? sliding_window : 0;
  }
};

// Unsupported for other model types and for options that change numbers and are not implemented, UnknownKey for unknown
// keys, InvalidConfig for missing or impossible values. Messages name the key.
Result<ModelConfig> config_from_json(const Json& config);
// All keys of a config.json that are known: those that count, those without effect on logits, and those that must be
// off or on.
struct ConfigKeys {
  std::span<const std::string_view> honoured, ignorable, must_be_off, must_be_on;
};
ConfigKeys config_json_keys();

// Unsupported for fields of a generation_config.json that forbid, force or weigh tokens, UnknownKey for unknown ones.
Result<void> check_generation_config(const Json& generation_config);
// Unsupported for such fields in a config.json, where transformers reads them if there is no generation_config.json.
Result<void> check_generation_fields(const Json& config);

// Adds the stop tokens of generation_config.json to config's (engine X-23). Errors of check_generation_config().
Result<void> add_generation_config(ModelConfig& config, const Json& generation_config);

// Metadata of architectures llama (mistral files say so too), qwen2 and qwen3; biases, norms and a tied head show in
// the tensors.
Result<ModelConfig> config_from_gguf(const GgufFile& file);

// Sizes and options that cannot go together: InvalidConfig. Both readers end with it.
Result<void> check(const ModelConfig& config);

}  // namespace loom
