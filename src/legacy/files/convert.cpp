// The keys of 0.8x as today's: what it always wrote and no layer of that kind reads is left out, what it computed
// without saying so is said.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base64.h"
#include "core/json.h"
#include "core/nearest.h"
#include "layers/all.h"
#include "legacy/files/loom08.h"
#include "legacy/files/stores.h"

namespace loom::loom08 {
namespace {

// Keys that 0.8x writes for every layer and that these kinds do not read.
struct Unread {
  std::string_view kind;
  std::array<std::string_view, 3> keys;
};
constexpr Unread kUnread[] = {
    {"mha", {"activation", "output_height", "output_width"}},
    {"rmsnorm", {"activation"}},
    {"layernorm", {"activation"}},
    {"rnn", {"activation"}},
    {"lstm", {"activation"}},
    {"embedding", {"input_height", "output_height"}},
    {"kmeans", {"output_height"}},
    {"softmax", {"activation"}},
    {"parallel", {"activation", "input_height", "output_height"}},
    {"sequential", {"activation", "input_height", "output_height"}},
    {"residual", {"activation", "input_height", "output_height"}},
    {"metacognition", {"activation", "input_height", "output_height"}},
};

// Settings that one type of softmax reads.
struct SoftmaxSetting {
  std::string_view key, type;
};
constexpr SoftmaxSetting kSoftmaxSettings[] = {
    {"softmax_rows", "grid"},   {"softmax_cols", "grid"},   {"hierarchy_levels", "hierarchical"},
    {"entmax_alpha", "entmax"}, {"gumbel_noise", "gumbel"}, {"gumbel_hard", "gumbel"},
    {"mask", "masked"},
};

// Two names for one number of a layer, of which the second goes.
struct Twice {
  std::string_view kind, kept, left_out;
};
constexpr Twice kTwice[] = {
    {"mha", "d_model", "input_height"},
    {"swiglu", "input_height", "d_model"},
    {"rmsnorm", "input_height", "output_height"},
    {"layernorm", "input_height", "output_height"},
};

constexpr std::array<std::string_view, 9> kConditions = {"none",         "std_above",      "std_below",
                                                         "avg_above",    "avg_below",      "max_above",
                                                         "active_below", "gradient_storm", "gain_drift"};

void leave_out(Json& object, std::string_view key) { object.erase(std::string(key)); }

std::string folded_text(const Json& layer, std::string_view key) {
  const Json* given = find(layer, key);
  const std::string* text = given == nullptr ? nullptr : as_string(*given);
  return text == nullptr ? std::string() : folded_name(*text);
}

std::int64_t whole(const Json& layer, std::string_view key) {
  const Json* given = find(layer, key);
  return given == nullptr ? 0 : as_int(*given).value_or(0);
}

std::string_view kind_of(const Json& layer) {
  const Json* type = find(layer, "type");
  const std::string* text = type == nullptr ? nullptr : as_string(*type);
  const auto kind = text == nullptr ? tl::make_unexpected(Error{}) : layer_kind(*text);
  return kind ? (*kind)->name : std::string_view();
}

void convert_softmax(Json& layer) {
  std::string type = folded_text(layer, "softmax_type");
  constexpr std::string_view kPrefix = "softmax";
  if (type.starts_with(kPrefix)) type.erase(0, kPrefix.size());
  for (const SoftmaxSetting& setting : kSoftmaxSettings)
    if (setting.type != type) leave_out(layer, setting.key);
  if (type == "entmax") layer["entmax_mode"] = "blend";
}

void convert_parallel(Json& layer) {
  // Its grid_scatter concatenates the branches, of whatever widths.
  const std::string mode = folded_text(layer, "combine_mode");
  if (!mode.empty() && mode != "gridscatter" && mode != "concat") return;
  layer["combine_mode"] = "concat";
  layer["flatten"] = true;
}

// Attention and swiglu with biases always; they are not in blocks of Q4_0.
void convert_mha(Json& layer, const LayerStores* stores) {
  const std::int64_t steps = whole(layer, "seq_length"), heads = whole(layer, "num_heads");
  constexpr std::int64_t kDefaultLength = 2048;
  if (steps > kDefaultLength && find(layer, "max_seq_len") == nullptr) layer["max_seq_len"] = steps;
  if (stores == nullptr) return;
  if (stores->flat) layer["qkv_bias"] = layer["out_bias"] = true;
  if (stores->named.contains("inner_norm")) layer["inner_norm"] = true;
  const auto norm = stores->named.find("q_norm");
  if (norm == stores->named.end()) return;
  const std::int64_t given = whole(layer, "head_dim"), d = whole(layer, "d_model");
  const std::int64_t head_dim = given > 0 ? given : heads > 0 ? d / heads : 0;
  const auto length = static_cast<std::int64_t>(norm->second.blob.bytes.size() / sizeof(float));
  layer["qk_norm"] = length == head_dim ? "head" : "full";
}

void convert_swiglu(Json& layer, const LayerStores* stores) {
  if (const std::string act = folded_text(layer, "activation"); act != "relu2" && act != "6")
    layer["activation"] = "silu";
  if (stores == nullptr) return;
  if (stores->flat || stores->biases) layer["bias"] = true;
  if (stores->named.contains("inner_norm")) layer["inner_norm"] = true;
}

// Rules have the names and numbers of the old program's structures.
Result<void> convert_rules(Json& rules, const Steps& place) {
  if (!rules.is_array()) return {};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Json& old = rules[i];
    if (!old.is_object() || find(old, "Condition") == nullptr) continue;
    const std::int64_t condition = whole(old, "Condition");
    Steps here = place;
    here.insert(here.end(), {"meta_rules", std::to_string(i), "Condition"});
    if (condition < 0 || condition >= static_cast<std::int64_t>(kConditions.size()))
      return fail_at(std::move(here), Code::Unsupported, "expected an integer from 0 to {}, got {}",
                     kConditions.size() - 1, condition);
    Json rule = {{"condition", std::string(kConditions[static_cast<std::size_t>(condition)])},
                 {"command", std::to_string(whole(old, "Command"))}};
    constexpr std::array<std::array<std::string_view, 2>, 4> kNames = {
        {{"Threshold", "threshold"}, {"Param", "param"}, {"Cooldown", "cooldown"}, {"SelfOnly", "self_only"}}};
    for (const auto& [from, to] : kNames)
      if (const Json* value = find(old, from)) rule[std::string(to)] = *value;
    rules[i] = std::move(rule);
  }
  return {};
}

Result<void> convert_metacognition(Json& layer, const Steps& place) {
  if (find(layer, "meta_observed_layer") == nullptr) {  // it passes its input through
    layer["type"] = "sequential";
    layer["sequential_layers"] = Json::array();
    leave_out(layer, "meta_rules");
    return {};
  }
  return find(layer, "meta_rules") == nullptr ? Result<void>{} : convert_rules(layer["meta_rules"], place);
}

void convert_convolution(Json& layer) {
  if (whole(layer, "stride") == 0) layer["stride"] = 1;
}

class Converter {
 public:
  explicit Converter(Converted& out) : out_(out) {}

  Result<void> layer(Json& layer, const std::string& path, const Steps& place, std::string_view parent) {
    if (!layer.is_object()) return {};
    const std::string_view kind = kind_of(layer);
    LOOM_TRY_VOID(take_weights(layer, path, place));
    if (parent != "") {
      for (const std::string_view key : {"z", "y", "x", "l"}) leave_out(layer, key);
    }
    if (kind != "softmax") leave_out(layer, "softmax_type");
    if (const std::string act = folded_text(layer, "activation"); !act.empty()) layer["activation"] = act;
    for (const Unread& row : kUnread)
      if (row.kind == kind)
        for (const std::string_view key : row.keys) leave_out(layer, key);
    for (const Twice& row : kTwice)
      if (row.kind == kind && whole(layer, row.kept) > 0) leave_out(layer, row.left_out);
    LOOM_TRY_VOID(kind_settings(layer, kind, path, place, parent));
    return children(layer, kind, path, place);
  }

 private:
  Result<void> kind_settings(Json& layer, std::string_view kind, const std::string& path, const Steps& place,
                             std::string_view parent) {
    const auto found = out_.stores.find(path);
    const LayerStores* stores = found == out_.stores.end() ? nullptr : &found->second;
    if (kind == "softmax") convert_softmax(layer);
    if (kind == "parallel") convert_parallel(layer);
    if (kind == "mha") convert_mha(layer, stores);
    if (kind == "swiglu") convert_swiglu(layer, stores);
    if (kind == "embedding") layer["oob"] = "zero";
    if (kind == "dense" && stores != nullptr && stores->named.contains("bias")) layer["bias"] = true;
    if (kind == "residual" && parent != "sequential") layer["skip_from"] = "none";
    if (kind.starts_with("cnn") || kind.starts_with("convtransposed")) convert_convolution(layer);
    return kind == "metacognition" ? convert_metacognition(layer, place) : Result<void>{};
  }

  Result<void> children(Json& layer, std::string_view kind, const std::string& path, const Steps& place) {
    for (const std::string_view key : kLists) {
      if (find(layer, key) == nullptr) continue;
      Json& list = layer[std::string(key)];
      if (!list.is_array()) continue;
      for (std::size_t i = 0; i < list.size(); ++i) {
        Steps here = place;
        here.insert(here.end(), {std::string(key), std::to_string(i)});
        LOOM_TRY_VOID(this->layer(list[i], fmt::format("{}.{}.{}", path, key, i), here, kind));
      }
    }
    for (const std::string_view key : kSingles) {
      if (find(layer, key) == nullptr) continue;
      Steps here = place;
      here.emplace_back(key);
      LOOM_TRY_VOID(this->layer(layer[std::string(key)], fmt::format("{}.{}", path, key), here, kind));
    }
    return {};
  }

  // Weights that are a text leave the layer for a store.
  Result<void> take_weights(Json& layer, const std::string& path, Steps place) {
    const Json* weights = find(layer, "weights");
    const std::string* text = weights == nullptr ? nullptr : as_string(*weights);
    if (text != nullptr && !text->empty()) {
      Store store;
      store.blob.is_native = find(layer, "native") != nullptr && as_bool(*find(layer, "native")).value_or(false);
      if (store.blob.is_native) {
        const Json* type = find(layer, "dtype");
        auto dtype = dtype_from_name(type == nullptr || !type->is_string() ? std::string() : *as_string(*type));
        place.emplace_back("dtype");
        if (!dtype) return under(std::move(place), std::move(dtype).error());
        place.pop_back();
        store.blob.dtype = *dtype;
      }
      store.blob.scale = scale_of(layer);
      place.emplace_back("weights");
      auto bytes = base64_decode(*text);
      if (!bytes) return under(std::move(place), std::move(bytes).error());
      store.blob.bytes = out_.texts.emplace_back(std::move(*bytes));
      store.place = std::move(place);
      out_.stores[path].flat = std::move(store);
    }
    if (text != nullptr) leave_out(layer, "weights");
    leave_out(layer, "native");
    leave_out(layer, "scale");
    return {};
  }

  Converted& out_;
};

// The flat index of a cell; nothing for numbers that today's reader refuses.
std::optional<std::uint64_t> cell_index(const Json& document, const Json& layer) {
  constexpr std::array<std::array<std::string_view, 2>, 4> kAxes = {
      {{"depth", "z"}, {"rows", "y"}, {"cols", "x"}, {"layers_per_cell", "l"}}};
  std::uint64_t index = 0;
  for (const auto& [extent_key, place_key] : kAxes) {
    const std::int64_t extent = whole(document, extent_key), at = whole(layer, place_key);
    if (extent < 1 || extent > 65536 || at < 0 || at >= extent) return std::nullopt;
    index = index * static_cast<std::uint64_t>(extent) + static_cast<std::uint64_t>(at);
  }
  return index;
}

// Loom 0.8x wrote a cell that nobody had given a layer as a dense layer without sizes and weights.
bool is_empty_cell(const Json& layer) {
  return kind_of(layer) == "dense" && find(layer, "weights") == nullptr && whole(layer, "input_height") == 0 &&
         whole(layer, "output_height") == 0;
}

}  // namespace

float scale_of(const Json& object) {
  const Json* given = find(object, "scale");
  const double scale = given == nullptr ? 0 : as_number(*given).value_or(0);
  return std::abs(scale) <= static_cast<double>(std::numeric_limits<float>::max()) ? static_cast<float>(scale) : 0;
}

Result<Converted> convert(Json document, Stores stores) {
  Converted out;
  out.document = std::move(document), out.stores = std::move(stores);
  const Json* given = find(out.document, "layers");
  if (given == nullptr || !given->is_array()) return out;
  Json& layers = out.document["layers"];
  Converter converter(out);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Steps place = {"layers", std::to_string(i)};
    const auto index = cell_index(out.document, layers[i]);
    if (!index) return fail_at(place, Code::InvalidConfig, "expected z, y, x and l inside of the grid of the network");
    if (is_empty_cell(layers[i]) && !out.stores.contains(Network::path(*index))) {
      layers[i]["type"] = "sequential";
      out.empty_cells.push_back(*index);
    }
    LOOM_TRY_VOID(converter.layer(layers[i], Network::path(*index), place, ""));
  }
  return out;
}

}  // namespace loom::loom08
