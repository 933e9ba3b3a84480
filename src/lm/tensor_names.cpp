#include "lm/tensor_names.h"

namespace loom {
namespace {

struct RoleNames {
  TensorRole role;
  bool per_layer;
  std::string_view hf, gguf;      // after "model.layers.N." and "blk.N." for the roles of a layer
  std::string_view path, weight;  // in the network of build_decoder(), below the cell
};

constexpr std::string_view kAttentionNorm = "sequential_layers.0.sequential_layers.0",
                           kAttention = "sequential_layers.0.sequential_layers.1",
                           kMlpNorm = "sequential_layers.1.sequential_layers.0",
                           kMlp = "sequential_layers.1.sequential_layers.1";

constexpr RoleNames kRoles[] = {
    {TensorRole::Embedding, false, "model.embed_tokens.weight", "token_embd.weight", "", "table"},
    {TensorRole::AttentionNorm, true, "input_layernorm.weight", "attn_norm.weight", kAttentionNorm, "gamma"},
    {TensorRole::Q, true, "self_attn.q_proj.weight", "attn_q.weight", kAttention, "q.weight"},
    {TensorRole::K, true, "self_attn.k_proj.weight", "attn_k.weight", kAttention, "k.weight"},
    {TensorRole::V, true, "self_attn.v_proj.weight", "attn_v.weight", kAttention, "v.weight"},
    {TensorRole::O, true, "self_attn.o_proj.weight", "attn_output.weight", kAttention, "o.weight"},
    {TensorRole::QBias, true, "self_attn.q_proj.bias", "attn_q.bias", kAttention, "q.bias"},
    {TensorRole::KBias, true, "self_attn.k_proj.bias", "attn_k.bias", kAttention, "k.bias"},
    {TensorRole::VBias, true, "self_attn.v_proj.bias", "attn_v.bias", kAttention, "v.bias"},
    {TensorRole::OBias, true, "self_attn.o_proj.bias", "attn_output.bias", kAttention, "o.bias"},
    {TensorRole::QNorm, true, "self_attn.q_norm.weight", "attn_q_norm.weight", kAttention, "q_norm"},
    {TensorRole::KNorm, true, "self_attn.k_norm.weight", "attn_k_norm.weight", kAttention, "k_norm"},
    {TensorRole::AttentionInnerNorm, true, "self_attn.attn_sub_norm.weight", "attn_sub_norm.weight", kAttention,
     "inner_norm"},
    {TensorRole::FfnNorm, true, "post_attention_layernorm.weight", "ffn_norm.weight", kMlpNorm, "gamma"},
    {TensorRole::Gate, true, "mlp.gate_proj.weight", "ffn_gate.weight", kMlp, "gate.weight"},
    {TensorRole::Up, true, "mlp.up_proj.weight", "ffn_up.weight", kMlp, "up.weight"},
    {TensorRole::Down, true, "mlp.down_proj.weight", "ffn_down.weight", kMlp, "down.weight"},
    {TensorRole::FfnInnerNorm, true, "mlp.ffn_sub_norm.weight", "ffn_sub_norm.weight", kMlp, "inner_norm"},
    {TensorRole::GateBias, true, "mlp.gate_proj.bias", "ffn_gate.bias", kMlp, "gate.bias"},
    {TensorRole::UpBias, true, "mlp.up_proj.bias", "ffn_up.bias", kMlp, "up.bias"},
    {TensorRole::DownBias, true, "mlp.down_proj.bias", "ffn_down.bias", kMlp, "down.bias"},
    {TensorRole::FinalNorm, false, "model.norm.weight", "output_norm.weight", "", "gamma"},
    {TensorRole::Head, false, "lm_head.weight", "output.weight", "", "weight"},
    {TensorRole::RopeFactors, false, "", "rope_freqs.weight", "", ""},
};
constexpr std::string_view kHfLayer = "model.layers.", kGgufLayer = "blk.", kCell = "layers.";

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// "12.rest" -> 12, and text becomes "rest".
std::optional<std::int64_t> take_layer(std::string_view& text) {
  const std::size_t dot = text.find('.');
  if (dot == text.npos || dot == 0 || dot > 6 || (dot > 1 && text[0] == '0')) return std::nullopt;
  std::int64_t layer = 0;
  for (const char c : text.substr(0, dot)) {
    if (c < '0' || c > '9') return std::nullopt;
    layer = layer * 10 + (c - '0');
  }
  text.remove_prefix(dot + 1);
  return layer;
}

std::optional<TensorPlace> find_place(std::string_view name, std::string_view layer_prefix,
                                      std::string_view RoleNames::* column) {
  TensorPlace place;
  const bool per_layer = starts_with(name, layer_prefix);
  if (per_layer) {
    name.remove_prefix(layer_prefix.size());
    const auto layer = take_layer(name);
    if (!layer) return std::nullopt;
    place.layer = *layer;
  }
  for (const RoleNames& r : kRoles)
    if (r.per_layer == per_layer && !name.empty() && r.*column == name) {
      place.role = r.role;
      return place;
    }
  return std::nullopt;
}

std::string full_name(TensorPlace place, std::string_view layer_prefix, std::string_view RoleNames::* column) {
  for (const RoleNames& r : kRoles)
    if (r.role == place.role)
      return r.per_layer ? fmt::format("{}{}.{}", layer_prefix, place.layer, r.*column) : std::string(r.*column);
  return "";
}

}  // namespace

std::optional<TensorPlace> place_from_hf(std::string_view name) { return find_place(name, kHfLayer, &RoleNames::hf); }
std::optional<TensorPlace> place_from_gguf(std::string_view name) {
  return find_place(name, kGgufLayer, &RoleNames::gguf);
}
std::string hf_name(TensorPlace place) { return full_name(place, kHfLayer, &RoleNames::hf); }
std::string gguf_name(TensorPlace place) { return full_name(place, kGgufLayer, &RoleNames::gguf); }

NetworkPlace place_in_network(const ModelConfig& c, TensorPlace place) {
  const std::int64_t cell = place.role == TensorRole::Embedding   ? 0
                            : place.role == TensorRole::FinalNorm ? c.num_hidden_layers + 1
                            : place.role == TensorRole::Head      ? c.num_hidden_layers + 2
                                                                  : place.layer + 1;
  for (const RoleNames& r : kRoles)
    if (r.role == place.role && !r.weight.empty())
      return {fmt::format("{}{}{}{}", kCell, cell, r.path.empty() ? "" : ".", r.path), std::string(r.weight)};
  return {};
}

std::optional<TensorPlace> place_from_network(const ModelConfig& c, std::string_view path, std::string_view weight) {
  if (!starts_with(path, kCell)) return std::nullopt;
  std::string rest(path.substr(kCell.size()));
  if (rest.find('.') == rest.npos) rest += '.';
  std::string_view below = rest;
  const auto cell = take_layer(below);
  if (!cell) return std::nullopt;
  for (const RoleNames& r : kRoles) {
    const TensorPlace place{r.role, r.per_layer ? *cell - 1 : -1};
    if (r.weight.empty() || r.weight != weight || r.path != below ||
        (r.per_layer && place.layer >= c.num_hidden_layers))
      continue;
    if (place_in_network(c, place).path == path) return place;
  }
  return std::nullopt;
}

bool is_ignorable_hf(std::string_view name) {
  constexpr std::string_view kOld = "self_attn.rotary_emb.inv_freq";
  if (name == "model.rotary_emb.inv_freq") return true;
  if (!starts_with(name, kHfLayer)) return false;
  name.remove_prefix(kHfLayer.size());
  return take_layer(name) && name == kOld;
}

std::vector<TensorPlace> expected_tensors(const ModelConfig& c) {
  std::vector<TensorPlace> all = {{TensorRole::Embedding, -1}};
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    const auto add = [&](bool there, std::initializer_list<TensorRole> roles) {
      if (there)
        for (const TensorRole role : roles) all.push_back({role, layer});
    };
    add(true, {TensorRole::AttentionNorm, TensorRole::Q, TensorRole::K, TensorRole::V, TensorRole::O});
    add(c.qkv_bias, {TensorRole::QBias, TensorRole::KBias, TensorRole::VBias});
    add(c.o_bias, {TensorRole::OBias});
    add(c.qk_norm, {TensorRole::QNorm, TensorRole::KNorm});
    add(c.inner_norm, {TensorRole::AttentionInnerNorm, TensorRole::FfnInnerNorm});
    add(true, {TensorRole::FfnNorm, TensorRole::Gate, TensorRole::Up, TensorRole::Down});
    add(c.mlp_bias, {TensorRole::GateBias, TensorRole::UpBias, TensorRole::DownBias});
  }
  all.push_back({TensorRole::FinalNorm, -1});
  if (!c.tie_word_embeddings) all.push_back({TensorRole::Head, -1});
  if (!c.rope_freq_factors.empty()) all.push_back({TensorRole::RopeFactors, -1});
  return all;
}

std::vector<std::size_t> expected_shape(const ModelConfig& c, TensorRole role) {
  const auto d = static_cast<std::size_t>(c.hidden_size), n = static_cast<std::size_t>(c.intermediate_size);
  const auto q = static_cast<std::size_t>(c.num_attention_heads * c.head_dim),
             kv = static_cast<std::size_t>(c.num_key_value_heads * c.head_dim);
  const auto head = static_cast<std::size_t>(c.head_dim), vocab = static_cast<std::size_t>(c.vocab_size);
  switch (role) {
    case TensorRole::Embedding:
    case TensorRole::Head: return {vocab, d};
    case TensorRole::AttentionNorm:
    case TensorRole::FfnNorm:
    case TensorRole::FinalNorm: return {d};
    case TensorRole::Q: return {q, d};
    case TensorRole::K:
    case TensorRole::V: return {kv, d};
    case TensorRole::O: return {d, q};
    case TensorRole::AttentionInnerNorm:
    case TensorRole::QBias: return {q};
    case TensorRole::KBias:
    case TensorRole::VBias: return {kv};
    case TensorRole::OBias:
    case TensorRole::DownBias: return {d};
    case TensorRole::QNorm:
    case TensorRole::KNorm: return {head};
    case TensorRole::Gate:
    case TensorRole::Up: return {n, d};
    case TensorRole::Down: return {d, n};
    case TensorRole::FfnInnerNorm:
    case TensorRole::GateBias:
    case TensorRole::UpBias: return {n};
    case TensorRole::RopeFactors: return {static_cast<std::size_t>(c.rotary_dim()) / 2};
  }
  return {};
}

bool has_interleaved_rows(std::string_view gguf_architecture, TensorRole role) {
  return gguf_architecture == "llama" &&
         (role == TensorRole::Q || role == TensorRole::K || role == TensorRole::QBias || role == TensorRole::KBias);
}

}  // namespace loom
