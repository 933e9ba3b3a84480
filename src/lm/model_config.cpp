#include "lm/model_config.h"

#include <cmath>

namespace loom {
namespace {

struct Limit {
  const char* key;
  std::int64_t value, highest;
};

Result<void> check_rope(const ModelConfig& c) {
  if (!(c.rope_theta > 0) || !std::isfinite(c.rope_theta))
    return fail(Code::InvalidConfig, "rope_theta is {}, expected a positive number", c.rope_theta);
  if (!(c.partial_rotary_factor > 0) || c.partial_rotary_factor > 1)
    return fail(Code::InvalidConfig, "partial_rotary_factor is {}, expected above 0 and at most 1",
                c.partial_rotary_factor);
  const std::int64_t rotary = c.rotary_dim();
  if (rotary < 2 || rotary % 2 != 0)
    return fail(Code::InvalidConfig, "head_dim {} turns in {} dimensions, expected a positive even number", c.head_dim,
                rotary);
  if (!c.rope_freq_factors.empty() && c.rope_freq_factors.size() != static_cast<std::size_t>(rotary) / 2)
    return fail(Code::InvalidConfig, "{} frequency factors, expected {}", c.rope_freq_factors.size(), rotary / 2);
  for (const float f : c.rope_freq_factors)
    if (!(f > 0) || !std::isfinite(f))
      return fail(Code::InvalidConfig, "frequency factor {}, expected a positive number", f);
  const RopeScaling& s = c.rope_scaling;
  if (s.type == RopeScalingType::None) return {};
  const auto positive = [](double v) { return v > 0 && std::isfinite(v); };
  if (!positive(s.factor))
    return fail(Code::InvalidConfig, "rope_scaling factor is {}, expected a positive number", s.factor);
  if (s.type == RopeScalingType::Llama3 &&
      (!positive(s.low_freq_factor) || !(s.high_freq_factor > s.low_freq_factor) || !std::isfinite(s.high_freq_factor)))
    return fail(Code::InvalidConfig,
                "rope_scaling: low_freq_factor {} and high_freq_factor {} are no ascending positive numbers",
                s.low_freq_factor, s.high_freq_factor);
  if (s.type == RopeScalingType::Yarn &&
      (!positive(s.beta_fast) || !positive(s.beta_slow) || (s.attention_factor && !positive(*s.attention_factor))))
    return fail(Code::InvalidConfig, "rope_scaling: beta_fast, beta_slow and attention_factor must be positive");
  if (s.type != RopeScalingType::Linear && s.original_max_position_embeddings < 1)
    return fail(Code::InvalidConfig, "rope_scaling original_max_position_embeddings is {}, expected at least 1",
                s.original_max_position_embeddings);
  return {};
}

}  // namespace

Result<void> check(const ModelConfig& c) {
  for (const Limit& l : {Limit{"hidden_size", c.hidden_size, 1 << 20},
                         {"intermediate_size", c.intermediate_size, 1 << 24},
                         {"num_hidden_layers", c.num_hidden_layers, 4096},
                         {"num_attention_heads", c.num_attention_heads, 1 << 16},
                         {"num_key_value_heads", c.num_key_value_heads, 1 << 16},
                         {"head_dim", c.head_dim, 1 << 16},
                         {"vocab_size", c.vocab_size, 1 << 24},
                         {"max_position_embeddings", c.max_position_embeddings, std::int64_t{1} << 31}})
    if (l.value < 1 || l.value > l.highest)
      return fail(Code::InvalidConfig, "{} is {}, expected 1 to {}", l.key, l.value, l.highest);
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    return fail(Code::InvalidConfig, "{} attention heads do not divide among {} key-value heads", c.num_attention_heads,
                c.num_key_value_heads);
  if (!(c.rms_norm_eps > 0) || !std::isfinite(c.rms_norm_eps))
    return fail(Code::InvalidConfig, "rms_norm_eps is {}, expected a positive number", c.rms_norm_eps);
  const char* const activation = c.architecture == "bitnet" ? "relu2" : "silu";
  if (c.hidden_act != activation)
    return fail(Code::Unsupported, "hidden_act \"{}\": only {} is supported in models of type {}", c.hidden_act,
                activation, c.architecture);
  if (c.sliding_window < 0 || c.sliding_window > std::int64_t{1} << 31)
    return fail(Code::InvalidConfig, "sliding_window is {}", c.sliding_window);
  if (c.sliding_window > 0 && c.layer_slides.size() != static_cast<std::size_t>(c.num_hidden_layers))
    return fail(Code::InvalidConfig, "layer_types names {} layers, the model has {}", c.layer_slides.size(),
                c.num_hidden_layers);
  for (const std::int64_t id : c.eos_token_ids)
    if (id < 0 || id >= c.vocab_size)
      return fail(Code::InvalidConfig, "eos_token_id {} is outside the vocabulary of {}", id, c.vocab_size);
  if (c.bos_token_id >= c.vocab_size)
    return fail(Code::InvalidConfig, "bos_token_id {} is outside the vocabulary of {}", c.bos_token_id, c.vocab_size);
  return check_rope(c);
}

}  // namespace loom
