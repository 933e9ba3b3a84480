// The settings of attention and the weights that follow from them.

#include "core/checked.h"
#include "layers/mha/mha.h"
#include "layers/norm_eps.h"

namespace loom {
namespace {

void visit_rope_scaling(ConfigVisitor& visit, RopeConfig& rope) {
  visit.choice({"type|rope_type", "none, linear, llama3, yarn; dynamic and longrope are refused"}, rope.scaling,
               {"none|default", "linear", "llama3", "yarn", "dynamic", "longrope"});
  visit({"factor", "Divisor of angles: of all in linear, of those with long periods in llama3 and yarn"}, rope.factor);
  visit({"low_freq_factor", "llama3: periods above original_max_position_embeddings / this are long"},
        rope.low_freq_factor);
  visit({"high_freq_factor", "llama3: angles of periods below original_max_position_embeddings / this stay"},
        rope.high_freq_factor);
  visit({"original_max_position_embeddings", "llama3, yarn: positions that the model was trained on"},
        rope.original_max_positions);
  visit({"beta_fast", "yarn: angles of pairs that turn more often than this in those positions stay"}, rope.beta_fast);
  visit({"beta_slow", "yarn: angles of pairs that turn less often are divided in full"}, rope.beta_slow);
  visit({"attention_factor", "yarn: factor of sine and cosine; 0: 0.1 ln(factor) + 1"}, rope.attention_factor);
}

}  // namespace

void Mha::fields(FieldVisitor& visit) {
  MhaConfig& c = config_;
  visit({"d_model|input_height", "Required. Features of the input"}, c.d_model, {1});
  visit({"num_heads", "Heads of the queries"}, c.num_heads, {1});
  visit({"num_kv_heads", "Heads of keys and values; divides num_heads; 0: num_heads"}, c.num_kv_heads);
  visit({"head_dim", "Features of a head; 0: query_dim / num_heads, or d_model / num_heads"}, c.head_dim);
  visit({"query_dim", "num_heads * head_dim, checked if given; 0: not given"}, c.query_dim);
  visit({"kv_dim", "num_kv_heads * head_dim, checked if given; 0: not given"}, c.kv_dim);
  visit({"output_dim", "Features of the output; 0: d_model"}, c.output_dim);
  visit({"qkv_bias|bias", "Adds biases to q, k and v"}, c.qkv_bias);
  visit({"out_bias|bias", "Adds a bias to the output; the key `bias` sets both"}, c.out_bias);
  visit({"causal", "A position sees itself and earlier ones alone"}, c.causal);
  visit({"cross", "k and v are made of a second input; causal and rope are off then"}, c.cross);
  visit({"rope", "Rotates q and k by their positions"}, c.uses_rope);
  visit({"rope_theta|rope_freq_base",
         "Base of the angles: position * rope_theta^(-2i / R) for pair i of R rotated elements"},
        c.rope.theta);
  visit.choice({"rope_style", "Elements that form pair i: half (i, i + R/2), interleaved (2i, 2i + 1)"},
               c.rope.interleaved, {"half", "interleaved"});
  visit({"partial_rotary_factor", "R / head_dim, above 0 and up to 1"}, c.partial_rotary_factor);
  visit.object({"rope_scaling", "Divides angles, for sequences longer than those trained on; without it none"},
               [&](ConfigVisitor& inner) { visit_rope_scaling(inner, c.rope); });
  visit.choice({"qk_norm", "RMS norm of q and k: none, head (each head by itself), full (all heads together)"},
               c.qk_norm, {"none", "head", "full"});
  visit({"rms_norm_eps", "qk_norm, inner_norm: added to the mean square under the root, 0 to 1"}, c.rms_norm_eps);
  visit({"inner_norm", "RMS norm of o before Wo, as in BitNet"}, c.inner_norm);
  visit({"sliding_window", "A position sees the last so many, itself included; 0: no such limit"}, c.sliding_window);
  visit({"attn_scale", "Factor of the scores q k; 0: 1 / sqrt(head_dim)"}, c.attn_scale);
  visit({"logit_softcap", "c above 0: a score s becomes c tanh(s / c); 0: off"}, c.logit_softcap);
  visit({"max_seq_len", "Most positions of a sequence in a session with a cache, where no window is set"},
        c.max_seq_len, {1});
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
