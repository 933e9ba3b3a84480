#include "bridge/payload_layers.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/nearest.h"

namespace loom {
namespace {

constexpr std::size_t kMostExtent = 65536;

using Plan = Result<PlannedLayer>;

Result<void> add_weights(PlannedLayer& layer, PayloadObject& from, std::string_view key,
                         std::vector<WeightPiece> pieces) {
  LOOM_TRY(auto values, from.weights(key, std::move(pieces)));
  layer.values.insert(layer.values.end(), std::make_move_iterator(values.begin()),
                      std::make_move_iterator(values.end()));
  return {};
}

// An empty list stands for no bias, as clients in Go write it.
bool has_values(PayloadObject& from, std::string_view key) {
  const Json* value = from.get(key);
  return value != nullptr && !(value->is_array() && value->empty());
}

Result<void> add_activation(PlannedLayer& layer, PayloadObject& from) {
  LOOM_TRY(const std::string activation, from.text("activation", ""));
  if (!activation.empty()) layer.spec["activation"] = activation;
  return {};
}

Result<void> add_bias(PlannedLayer& layer, PayloadObject& from, std::size_t count) {
  if (!has_values(from, "bias")) return {};
  layer.spec["bias"] = true;
  return add_weights(layer, from, "bias", {{"bias", {count}}});
}

// Swaps two axes of [outer, inner, rest].
std::vector<float> swapped(const std::vector<float>& values, std::size_t outer, std::size_t inner) {
  std::vector<float> out(values.size());
  const std::size_t rest = values.size() / (outer * inner);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i)
      for (std::size_t r = 0; r < rest; ++r) out[(i * outer + o) * rest + r] = values[(o * inner + i) * rest + r];
  return out;
}

// Whether inputs come first in a matrix; "out_in" is the payload's own order.
Result<bool> inputs_first(PayloadObject& from, std::string_view absent = "out_in") {
  LOOM_TRY(const std::string layout, from.text("layout", absent));
  if (layout == "out_in") return false;
  if (layout == "in_out") return true;
  return from.wrong("layout", Code::UnknownName, fmt::format("expected out_in or in_out, got {}", printable(layout)));
}

Plan dense(PayloadObject& from) {
  LOOM_TRY(const std::size_t in, from.size("input_dim", 1, kMostExtent, 0));
  LOOM_TRY(const std::size_t out, from.size("output_dim", 1, kMostExtent, 0));
  PlannedLayer layer;
  layer.features = in;
  layer.spec = {{"type", "dense"}, {"input_height", in}, {"output_height", out}};
  LOOM_TRY_VOID(add_activation(layer, from));
  LOOM_TRY(const bool transposed, inputs_first(from, in == out ? from.square_layout : "out_in"));
  LOOM_TRY_VOID(add_weights(layer, from, "weights", {{"weight", {transposed ? in : out, transposed ? out : in}}}));
  if (transposed) layer.values[0].values = swapped(layer.values[0].values, in, out);
  LOOM_TRY_VOID(add_bias(layer, from, out));
  return layer;
}

// The keys of the extents of 1 to 3 axes, outermost first.
std::vector<std::string_view> extent_keys(std::size_t axes) {
  if (axes == 1) return {"input_length"};
  if (axes == 2) return {"input_height", "input_width"};
  return {"input_depth", "input_height", "input_width"};
}

// One number per axis, of a key that holds one for all or one each.
Result<std::vector<std::size_t>> axis_values(PayloadObject& from, std::string_view key, std::size_t axes,
                                             std::size_t least, std::size_t absent) {
  LOOM_TRY(std::vector<std::size_t> values, from.sizes(key, least));
  if (values.empty()) values = {absent};
  if (values.size() == 1) values.assign(axes, values[0]);
  if (values.size() != axes)
    return from.wrong(key, Code::InvalidConfig, fmt::format("{} numbers for {} axes", values.size(), axes));
  return values;
}

// Adds the settings that convolutions and pooling share: channels and extents of the input, the window and its moves.
Result<std::vector<std::size_t>> add_window(PlannedLayer& layer, PayloadObject& from, std::size_t axes,
                                            std::size_t channels) {
  layer.input = {channels};
  for (const std::string_view key : extent_keys(axes)) {
    LOOM_TRY(const std::size_t extent, from.size(key, 1, kMostExtent, 0));
    layer.input.push_back(extent);
  }
  LOOM_TRY(auto kernel, axis_values(from, "kernel_size", axes, 1, 1));
  LOOM_TRY(const auto padding, axis_values(from, "padding", axes, 0, 0));
  layer.spec["kernel_size"] = kernel, layer.spec["padding"] = padding;
  if (has_values(from, "stride")) {
    LOOM_TRY(auto stride, axis_values(from, "stride", axes, 0, 1));
    std::ranges::replace(stride, std::size_t{0}, std::size_t{1});  // clients in Go write 0 for what they leave out
    layer.spec["stride"] = stride;
  }
  return kernel;
}

template <std::size_t Axes, bool Transposed>
Plan convolution(PayloadObject& from) {
  LOOM_TRY(const std::size_t channels, from.size_of("in_channels", "input_channels"));
  LOOM_TRY(const std::size_t filters, from.size_of("filters", "out_channels"));
  LOOM_TRY(const std::size_t groups, from.size("groups", 1, kMostExtent, 1));
  if (channels % groups != 0 || filters % groups != 0)
    return from.wrong("groups", Code::InvalidConfig,
                      fmt::format("{} groups must divide {} channels and {} filters", groups, channels, filters));
  PlannedLayer layer;
  layer.spec = {{"type", (Transposed ? "convtransposed" : "cnn") + std::to_string(Axes)},
                {"input_channels", channels},
                {"filters", filters},
                {"groups", groups}};
  LOOM_TRY(const auto kernel, add_window(layer, from, Axes, channels));
  LOOM_TRY(const auto dilation, axis_values(from, "dilation", Axes, 1, 1));
  layer.spec["dilation"] = dilation;
  if (Transposed) {
    LOOM_TRY(const auto more, axis_values(from, "output_padding", Axes, 0, 0));
    layer.spec["output_padding"] = more;
  }
  LOOM_TRY_VOID(add_activation(layer, from));
  // PyTorch keeps a transposed convolution as [channels, filters / groups, ...]: "in_out".
  LOOM_TRY(const bool swap, inputs_first(from));
  if (swap && (!Transposed || groups != 1))
    return from.wrong("layout", Code::Unsupported, "in_out is for transposed convolutions of one group");
  WeightPiece piece{"weight", {swap ? channels : filters, swap ? filters : channels / groups}};
  piece.extents.insert(piece.extents.end(), kernel.begin(), kernel.end());
  LOOM_TRY_VOID(add_weights(layer, from, "weights", {piece}));
  if (swap) layer.values[0].values = swapped(layer.values[0].values, channels, filters);
  LOOM_TRY_VOID(add_bias(layer, from, filters));
  return layer;
}

// q, k, v or o: a matrix and, where it is given, its bias.
Result<void> add_projection(PlannedLayer& layer, PayloadObject& from, const std::string& letter, std::size_t out,
                            std::size_t in) {
  LOOM_TRY_VOID(add_weights(layer, from, letter + "_weights", {{letter + ".weight", {out, in}}}));
  const std::string bias = letter == "o" ? "out_bias" : "qkv_bias";
  if (!has_values(from, letter + "_bias")) {
    if (layer.spec.contains(bias)) layer.values.push_back({letter + ".bias", std::vector<float>(out)});
    return {};
  }
  return add_weights(layer, from, letter + "_bias", {{letter + ".bias", {out}}});
}

Plan attention(PayloadObject& from) {
  LOOM_TRY(const std::size_t d, from.size("d_model", 1, kMostExtent, 0));
  LOOM_TRY(const std::size_t heads, from.size("num_heads", 1, kMostExtent, 0));
  LOOM_TRY(std::size_t kv_heads, from.size("num_kv_heads", 0, kMostExtent, 0));
  LOOM_TRY(std::size_t head_dim, from.size("head_dim", 0, kMostExtent, 0));
  if (kv_heads == 0) kv_heads = heads;
  if (head_dim == 0) head_dim = std::max<std::size_t>(1, d / heads);
  PlannedLayer layer;
  LOOM_TRY(layer.steps, from.size("seq_len", 1, kMostExtent, 0));
  layer.input = {layer.steps, d};
  layer.spec = {{"type", "mha"},        {"d_model", d},
                {"num_heads", heads},   {"num_kv_heads", kv_heads},
                {"head_dim", head_dim}, {"max_seq_len", std::max<std::size_t>(8, layer.steps)}};
  for (const char* letter : {"q", "k", "v"})
    if (has_values(from, std::string(letter) + "_bias")) layer.spec["qkv_bias"] = true;
  if (has_values(from, "o_bias")) layer.spec["out_bias"] = true;
  LOOM_TRY_VOID(add_projection(layer, from, "q", heads * head_dim, d));
  LOOM_TRY_VOID(add_projection(layer, from, "k", kv_heads * head_dim, d));
  LOOM_TRY_VOID(add_projection(layer, from, "v", kv_heads * head_dim, d));
  LOOM_TRY_VOID(add_projection(layer, from, "o", d, heads * head_dim));
  return layer;
}

struct Gate {
  const char* key;     // of the payload
  const char* prefix;  // of the weights' names
  bool inner_bias;     // gru's n has a second bias after the first
};

Plan recurrent(PayloadObject& from, std::string_view type, std::span<const Gate> gates) {
  LOOM_TRY(const std::size_t in, from.size("input_size", 1, kMostExtent, 0));
  LOOM_TRY(const std::size_t units, from.size("hidden_size", 1, kMostExtent, 0));
  PlannedLayer layer;
  LOOM_TRY(layer.steps, from.size("seq_len", 1, kMostExtent, 0));
  layer.input = {layer.steps, in};
  layer.spec = {{"type", type}, {"input_height", in}, {"output_height", units}};
  for (const Gate& gate : gates) {
    const std::string prefix = gate.prefix;
    std::vector<WeightPiece> pieces = {
        {prefix + "weight_ih", {units, in}}, {prefix + "weight_hh", {units, units}}, {prefix + "bias", {units}}};
    if (gate.inner_bias) pieces.push_back({prefix + "bias_hh", {units}});
    LOOM_TRY_VOID(add_weights(layer, from, gate.key, std::move(pieces)));
  }
  return layer;
}

Plan lstm(PayloadObject& from) {
  constexpr Gate kGates[] = {
      {"i_weights", "i.", false}, {"f_weights", "f.", false}, {"g_weights", "g.", false}, {"o_weights", "o.", false}};
  return recurrent(from, "lstm", kGates);
}

Plan gru(PayloadObject& from) {
  constexpr Gate kGates[] = {{"r_weights", "r.", false}, {"z_weights", "z.", false}, {"n_weights", "n.", true}};
  return recurrent(from, "gru", kGates);
}

Plan rnn(PayloadObject& from) {
  constexpr Gate kGates[] = {{"weights", "", false}};
  LOOM_TRY(PlannedLayer layer, recurrent(from, "rnn", kGates));
  LOOM_TRY_VOID(add_activation(layer, from));
  return layer;
}

// Norms of rows; `names` are the weights of `dim` numbers each.
Plan norm(PayloadObject& from, std::string_view type, std::initializer_list<const char*> names, bool by_channel) {
  LOOM_TRY(const std::size_t dim, from.size_of("dim", "channels"));
  PlannedLayer layer;
  if (!by_channel) layer.features = dim, layer.saves_skip = true;
  layer.spec = {{"type", type}, {"input_height", dim}};
  if (from.get("eps") != nullptr) {
    LOOM_TRY(const double eps, from.number("eps", 0));
    layer.spec["eps"] = eps;
  }
  std::vector<WeightPiece> pieces;
  for (const char* name : names) pieces.push_back({name, {dim}});
  LOOM_TRY_VOID(add_weights(layer, from, "weights", std::move(pieces)));
  return layer;
}

Plan layernorm(PayloadObject& from) { return norm(from, "layernorm", {"gamma", "beta"}, false); }
Plan rmsnorm(PayloadObject& from) { return norm(from, "rmsnorm", {"gamma"}, false); }
Plan batchnorm(PayloadObject& from) {
  return norm(from, "batchnorm", {"gamma", "beta", "running_mean", "running_var"}, true);
}
Plan groupnorm(PayloadObject& from) {
  LOOM_TRY(PlannedLayer layer, norm(from, "groupnorm", {"gamma", "beta"}, true));
  LOOM_TRY(const std::size_t groups, from.size("num_groups", 1, kMostExtent, 1));
  layer.spec["num_groups"] = groups;
  return layer;
}

Plan embedding(PayloadObject& from) {
  LOOM_TRY(const std::size_t words, from.size("vocab_size", 1, std::size_t{1} << 24, 0));
  LOOM_TRY(const std::size_t width, from.size_of("embedding_dim", "embed_dim"));
  PlannedLayer layer;
  layer.reads_tokens = true;
  layer.spec = {{"type", "embedding"}, {"vocab_size", words}, {"embedding_dim", width}, {"oob", "zero"}};
  LOOM_TRY_VOID(add_weights(layer, from, "weights", {{"table", {words, width}}}));
  return layer;
}

Plan swiglu(PayloadObject& from) {
  LOOM_TRY(const std::size_t d, from.size("input_dim", 1, kMostExtent, 0));
  LOOM_TRY(const std::size_t n, from.size_of("intermediate_dim", "intermediate_size"));
  PlannedLayer layer;
  layer.features = d;
  layer.spec = {{"type", "swiglu"}, {"input_height", d}, {"output_height", n}, {"bias", true}};
  LOOM_TRY_VOID(add_weights(layer, from, "weights",
                            {{"gate.weight", {n, d}},
                             {"up.weight", {n, d}},
                             {"down.weight", {d, n}},
                             {"gate.bias", {n}},
                             {"up.bias", {n}},
                             {"down.bias", {d}}}));
  return layer;
}

Plan residual(PayloadObject& from) {
  LOOM_TRY(const std::size_t dim, from.size("dim", 1, kMostExtent, 0));
  PlannedLayer layer;
  layer.features = dim, layer.adds_skip = true;
  layer.spec = {{"type", "residual"}};
  return layer;
}

Plan softmax(PayloadObject& from) {
  PlannedLayer layer;
  layer.spec = {{"type", "softmax"}};
  LOOM_TRY(layer.features, from.size("dim", 0, std::size_t{1} << 24, 0));
  if (from.get("temperature") != nullptr) {
    LOOM_TRY(const double temperature, from.number("temperature", 1));
    layer.spec["temperature"] = temperature;
  }
  return layer;
}

Plan pooling(PayloadObject& from) {
  LOOM_TRY(const std::string mode, from.text("mode", "max"));
  if (mode != "max" && mode != "avg")
    return from.wrong("mode", Code::UnknownName, fmt::format("expected max or avg, got {}", printable(mode)));
  LOOM_TRY(const std::size_t axes, from.size("axes", 1, 3, 2));
  LOOM_TRY(const std::size_t channels, from.size_of("in_channels", "input_channels"));
  PlannedLayer layer;
  layer.spec = {{"type", mode + "pool"}};
  LOOM_TRY(const auto kernel, add_window(layer, from, axes, channels));
  return layer;
}

Plan reshape(PayloadObject& from) {
  PlannedLayer layer;
  layer.spec = {{"type", "reshape"}};
  LOOM_TRY(const auto shape, from.sizes("shape", 1));
  if (!shape.empty()) layer.spec["shape"] = shape;
  return layer;
}

Plan activation(PayloadObject& from) {
  PlannedLayer layer;
  layer.spec = {{"type", "activation"}};
  LOOM_TRY_VOID(add_activation(layer, from));
  return layer;
}

struct KindRow {
  std::string_view name;
  Plan (*plan)(PayloadObject& from);
};
constexpr KindRow kKinds[] = {
    {"dense", dense},
    {"cnn1", convolution<1, false>},
    {"cnn2", convolution<2, false>},
    {"cnn3", convolution<3, false>},
    {"mha", attention},
    {"lstm", lstm},
    {"rnn", rnn},
    {"layernorm", layernorm},
    {"embedding", embedding},
    {"rmsnorm", rmsnorm},
    {"swiglu", swiglu},
    {"residual", residual},
    {"gru", gru},
    {"convtransposed1", convolution<1, true>},
    {"convtransposed2", convolution<2, true>},
    {"convtransposed3", convolution<3, true>},
    {"softmax", softmax},
    {"pooling", pooling},
    {"batchnorm", batchnorm},
    {"groupnorm", groupnorm},
    {"reshape", reshape},
    {"activation", activation},
};
constexpr auto kKindNames = [] {
  std::array<std::string_view, std::size(kKinds)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kKinds[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> payload_kinds() { return kKindNames; }

Result<PlannedLayer> plan_layer(const Json& layer, std::string_view kind, PayloadPlace place) {
  const auto row = std::ranges::find(kKinds, kind, &KindRow::name);
  if (row == std::end(kKinds))
    return fail_at(std::move(place.steps), Code::UnknownName, "there is no kind \"{}\"; nearest: {}", printable(kind),
                   nearest_names(kind, kKindNames));
  PayloadObject from(layer, std::move(place.steps), std::string(kind));
  from.square_layout = place.square_layout;
  from.get("kind");
  from.get("name");
  LOOM_TRY(const std::size_t number, from.size("index", 0, std::size_t{1} << 24, place.index));
  if (number != place.index)
    return from.wrong("index", Code::InvalidConfig, fmt::format("{} at place {}", number, place.index));
  LOOM_TRY(PlannedLayer planned, row->plan(from));
  LOOM_TRY_VOID(from.finish());
  return planned;
}

}  // namespace loom
