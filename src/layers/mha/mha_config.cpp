// The settings of attention and the weights that follow from them.

#include "core/checked.h"
#include "layers/mha/mha.h"
#include "layers/norm_eps.h"

namespace loom {

void Mha::fields(FieldVisitor& visit) {
  MhaConfig& c = config_;
  visit("d_model|input_height", c.d_model, {1});
  visit("num_heads", c.num_heads, {1});
  visit("num_kv_heads", c.num_kv_heads);
  visit("head_dim", c.head_dim);
  visit("query_dim", c.query_dim);
  visit("kv_dim", c.kv_dim);
  visit("output_dim", c.output_dim);
  visit("qkv_bias|bias", c.qkv_bias);
  visit("out_bias|bias", c.out_bias);
  visit("causal", c.causal);
  visit("cross", c.cross);
  visit("rope", c.uses_rope);
  visit("rope_theta|rope_freq_base", c.rope.theta);
  visit.choice("rope_style", c.rope.interleaved, {"half", "interleaved"});
  visit("partial_rotary_factor", c.partial_rotary_factor);
  visit.object("rope_scaling", [&](ConfigVisitor& inner) {
    inner.choice("type|rope_type", c.rope.scaling, {"none|default", "linear", "llama3", "yarn", "dynamic", "longrope"});
    inner("factor", c.rope.factor);
    inner("low_freq_factor", c.rope.low_freq_factor);
    inner("high_freq_factor", c.rope.high_freq_factor);
    inner("original_max_position_embeddings", c.rope.original_max_positions);
    inner("beta_fast", c.rope.beta_fast);
    inner("beta_slow", c.rope.beta_slow);
    inner("attention_factor", c.rope.attention_factor);
  });
  visit.choice("qk_norm", c.qk_norm, {"none", "head", "full"});
  visit("rms_norm_eps", c.rms_norm_eps);
  visit("inner_norm", c.inner_norm);
  visit("sliding_window", c.sliding_window);
  visit("attn_scale", c.attn_scale);
  visit("logit_softcap", c.logit_softcap);
  visit("max_seq_len", c.max_seq_len, {1});
}

// Fills in what follows from the rest and refuses what does not fit together.
Result<void> Mha::complete_config() {
  MhaConfig& c = config_;
  if (c.num_kv_heads == 0) c.num_kv_heads = c.num_heads;
  if (c.num_heads == 0 || c.num_heads % c.num_kv_heads != 0)
    return fail(Code::InvalidConfig, "mha: {} heads and {} key-value heads: the first must be a multiple of the second",
                c.num_heads, c.num_kv_heads);
  if (c.head_dim == 0) {
    const std::size_t features = c.query_dim != 0 ? c.query_dim : c.d_model;
    if (features % c.num_heads != 0)
      return fail(Code::InvalidConfig, "mha: {} features do not divide into {} heads", features, c.num_heads);
    c.head_dim = features / c.num_heads;
  }
  LOOM_TRY(const std::size_t q, checked_mul(c.num_heads, c.head_dim));
  const std::size_t kv = c.num_kv_heads * c.head_dim;
  if ((c.query_dim != 0 && c.query_dim != q) || (c.kv_dim != 0 && c.kv_dim != kv))
    return fail(Code::InvalidConfig, "mha: query_dim {} and kv_dim {}, the heads make {} and {}", c.query_dim, c.kv_dim,
                q, kv);
  if (c.output_dim == 0) c.output_dim = c.d_model;
  LOOM_TRY_VOID(check_eps(kind(), "rms_norm_eps", c.rms_norm_eps));
  if (!(c.logit_softcap >= 0))
    return fail(Code::InvalidConfig, "mha: logit_softcap {}, expected 0 or more", c.logit_softcap);
  if (c.cross) c.causal = c.uses_rope = false;
  if (!c.uses_rope) return {};
  if (c.rope.scaling > RopeConfig::Scaling::Yarn)
    return fail(Code::Unsupported, "mha: rope_scaling of types dynamic and longrope is not supported");
  if (!(c.partial_rotary_factor > 0) || c.partial_rotary_factor > 1)
    return fail(Code::InvalidConfig, "mha: partial_rotary_factor {}, expected one above 0 and up to 1",
                c.partial_rotary_factor);
  if (c.rope.dim == 0) c.rope.dim = static_cast<std::size_t>(static_cast<double>(c.head_dim) * c.partial_rotary_factor);
  if (c.rope.dim > c.head_dim)
    return fail(Code::InvalidConfig, "mha: {} rotated elements in heads of {}", c.rope.dim, c.head_dim);
  return RopeTable::check(c.rope);
}

Result<void> Mha::build() {
  LOOM_TRY_VOID(complete_config());
  const MhaConfig& c = config_;
  const std::size_t q = c.num_heads * c.head_dim, kv = c.num_kv_heads * c.head_dim;
  const auto matrix = [](Weight& w, const char* name, std::size_t out, std::size_t in) {
    return w.declare(name, WeightRole::Matrix, std::array{out, in}, {WeightInit::Rule::Glorot, in, out});
  };
  const auto vector = [](bool wanted, Weight& w, const char* name, std::size_t n,
                         WeightInit::Rule rule) -> Result<void> {
    if (!wanted) return {};
    return w.declare(name, WeightRole::Vector, std::array{n}, {rule});
  };
  LOOM_TRY_VOID(matrix(q_, "q.weight", q, c.d_model));
  LOOM_TRY_VOID(matrix(k_, "k.weight", kv, c.d_model));
  LOOM_TRY_VOID(matrix(v_, "v.weight", kv, c.d_model));
  LOOM_TRY_VOID(matrix(o_, "o.weight", c.output_dim, q));
  using Rule = WeightInit::Rule;
  LOOM_TRY_VOID(vector(c.qkv_bias, q_bias_, "q.bias", q, Rule::Zeros));
  LOOM_TRY_VOID(vector(c.qkv_bias, k_bias_, "k.bias", kv, Rule::Zeros));
  LOOM_TRY_VOID(vector(c.qkv_bias, v_bias_, "v.bias", kv, Rule::Zeros));
  LOOM_TRY_VOID(vector(c.out_bias, o_bias_, "o.bias", c.output_dim, Rule::Zeros));
  const bool normed = c.qk_norm != QkNorm::None, full = c.qk_norm == QkNorm::Full;
  LOOM_TRY_VOID(vector(normed, q_norm_, "q_norm", full ? q : c.head_dim, Rule::Ones));
  LOOM_TRY_VOID(vector(normed, k_norm_, "k_norm", full ? kv : c.head_dim, Rule::Ones));
  return vector(c.inner_norm, inner_norm_, "inner_norm", q, Rule::Ones);
}

void Mha::visit_weights(const std::function<void(Weight&)>& visit) {
  for (Weight* w : {&q_, &k_, &v_, &o_, &q_bias_, &k_bias_, &v_bias_, &o_bias_, &q_norm_, &k_norm_, &inner_norm_})
    if (w->declared()) visit(*w);
}

}  // namespace loom
