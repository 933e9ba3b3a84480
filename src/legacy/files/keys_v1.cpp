// Today's keys of a layer as Loom 0.8x names them. It cannot express other settings: a setting that changes the results
// of a network is never left out.

#include <algorithm>
#include <array>
#include <optional>

#include "core/config_reader.h"
#include "core/json.h"
#include "legacy/files/write.h"

namespace loom::loom08 {
namespace {

// Keys that bear the same name and meaning in both.
struct Kind08 {
  std::string_view kind, name;
  std::array<std::string_view, 12> keys;
};
constexpr Kind08 kKinds[] = {
    {"dense", "Dense", {"input_height", "output_height"}},
    {"mha", "MultiHeadAttention", {"d_model", "num_heads", "num_kv_heads", "head_dim"}},
    {"swiglu", "SwiGLU", {"input_height", "output_height"}},
    {"rmsnorm", "RMSNorm", {"input_height"}},
    {"layernorm", "LayerNorm", {"input_height"}},
    {"cnn1", "CNN1", {"input_height", "output_height", "input_channels", "filters"}},
    {"cnn2", "CNN2", {"input_height", "input_width", "output_height", "output_width", "input_channels", "filters"}},
    {"cnn3",
     "CNN3",
     {"input_height", "input_width", "input_depth", "output_height", "output_width", "output_depth", "input_channels",
      "filters"}},
    {"convtransposed1",
     "ConvTransposed1D",
     {"input_height", "input_width", "output_height", "output_width", "input_channels", "filters"}},
    {"convtransposed2",
     "ConvTransposed2D",
     {"input_height", "input_width", "output_height", "output_width", "input_channels", "filters"}},
    {"convtransposed3",
     "ConvTransposed3D",
     {"input_height", "input_width", "input_depth", "output_height", "output_width", "output_depth", "input_channels",
      "filters"}},
    {"rnn", "RNN", {"input_height", "output_height", "seq_length"}},
    {"lstm", "LSTM", {"input_height", "output_height", "seq_length"}},
    {"embedding", "Embedding", {"vocab_size", "embedding_dim"}},
    {"kmeans", "KMeans", {"input_height", "num_clusters", "output_mode", "kmeans_temperature"}},
    {"softmax",
     "Softmax",
     {"input_height", "output_height", "temperature", "softmax_rows", "softmax_cols", "entmax_alpha"}},
    {"sequential", "Sequential", {}},
    {"parallel", "Parallel", {}},
    {"residual", "Residual", {}},
};

// Keys that say how weights were drawn or how they learn, and no number that is computed from them.
constexpr std::string_view kWithoutEffect[] = {"z",
                                               "y",
                                               "x",
                                               "l",
                                               "name",
                                               "init",
                                               "init_scale",
                                               "trainable",
                                               "group_size",
                                               "dtype",
                                               "learning_rate_scale",
                                               "scale_granularity",
                                               "type",
                                               "seq_length"};

constexpr std::array<std::array<std::string_view, 2>, 7> kActivations = {{{"linear", "Linear"},
                                                                          {"relu", "ReLU"},
                                                                          {"silu", "Silu"},
                                                                          {"gelu", "GELU"},
                                                                          {"tanh", "Tanh"},
                                                                          {"sigmoid", "Sigmoid"},
                                                                          {"leakyrelu", "LeakyReLU"}}};
constexpr std::array<std::array<std::string_view, 2>, 5> kSoftmaxTypes = {{{"standard", "Standard"},
                                                                           {"grid", "Grid"},
                                                                           {"temperature", "Temperature"},
                                                                           {"sparse", "Sparse"},
                                                                           {"entmax", "Entmax"}}};

std::string text_or(const Json& layer, std::string_view key, std::string_view otherwise) {
  const Json* given = find(layer, key);
  const std::string* text = given == nullptr ? nullptr : as_string(*given);
  return text == nullptr ? std::string(otherwise) : *text;
}

std::int64_t whole_or(const Json& layer, std::string_view key, std::int64_t otherwise) {
  const Json* given = find(layer, key);
  return given == nullptr ? otherwise : as_int(*given).value_or(otherwise);
}

tl::unexpected<Error> cannot(std::string_view key, const Json& value) {
  return fail_at({std::string(key)}, Code::Unsupported, "Loom 0.8x has no {}", shown(value));
}

// One layer on its way: every key is taken from `from` once it is understood, and what is left is an error.
class LayerKeys {
 public:
  LayerKeys(const Json& layer, std::string_view parent, std::vector<std::string>& losses)
      : from_(layer), parent_(parent), losses_(losses) {}

  Result<Json> convert() {
    const std::string kind = text_or(from_, "type", "");
    const auto row = std::ranges::find(kKinds, kind, &Kind08::kind);
    if (row == std::end(kKinds)) return cannot("type", from_["type"]);
    for (const char* key : {"z", "y", "x", "l"}) out_[key] = whole_or(from_, key, 0);
    out_["type"] = row->name;
    out_["dtype"] = text_or(from_, "dtype", "float32");
    out_["softmax_type"] = "Standard";
    LOOM_TRY_VOID(activation(kind));
    for (const std::string_view key : row->keys)
      if (const Json* value = key.empty() ? nullptr : find(from_, key)) {
        out_[std::string(key)] = *value;
        take(key);
      }
    LOOM_TRY_VOID(own(kind));
    LOOM_TRY_VOID(children("sequential_layers", kind));
    LOOM_TRY_VOID(children("parallel_branches", kind));
    for (const std::string_view key : kWithoutEffect) take(key);
    for (const auto& [key, value] : from_.items()) return cannot(key, value);
    return std::move(out_);
  }

 private:
  void take(std::string_view key) { from_.erase(std::string(key)); }

  // Takes a key whose value 0.8x computes with always.
  Result<void> always(std::string_view key, const Json& value) {
    const Json* given = find(from_, key);
    if (given == nullptr || *given != value)
      return fail_at({std::string(key)}, Code::Unsupported, "Loom 0.8x computes with {} alone", shown(value));
    take(key);
    return {};
  }

  Result<void> activation(std::string_view kind) {
    const bool own_one = kind == "swiglu" || kind == "rnn" || kind == "lstm" || kind == "kmeans";
    const std::string given = text_or(from_, "activation", kind == "swiglu" ? "silu" : "linear");
    const auto found = std::ranges::find(kActivations, given, [](const auto& row) { return row[0]; });
    if (found == kActivations.end() || (own_one && find(from_, "activation") != nullptr))
      return cannot("activation", from_["activation"]);
    out_["activation"] = (*found)[1];
    take("activation");
    return {};
  }

  Result<void> own(std::string_view kind) {
    if (kind == "dense") return dense();
    if (kind == "mha") return attention();
    if (kind == "swiglu") take("bias"), take("inner_norm");  // 0.8x always has biases, and a norm has its blob
    if (kind == "rmsnorm" || kind == "layernorm") out_["output_height"] = whole_or(out_, "input_height", 0);
    if (kind.starts_with("cnn")) return convolution(false);
    if (kind.starts_with("convtransposed")) return convolution(true);
    if ((kind == "rnn" || kind == "lstm") && whole_or(out_, "seq_length", 0) < 1)
      return fail_at({"seq_length"}, Code::Unsupported, "Loom 0.8x needs the length of the sequence");
    if (kind == "embedding") embedding();
    if (kind == "kmeans") kmeans();
    if (kind == "softmax") return softmax();
    if (kind == "parallel") return parallel();
    if (kind == "residual" && parent_ != "sequential") return always("skip_from", "none");
    return {};
  }

  Result<void> dense() {
    if (const Json* bias = find(from_, "bias"); bias != nullptr && !parent_.empty()) return cannot("bias", *bias);
    take("bias");  // a blob of its own
    return {};
  }

  Result<void> attention() {
    constexpr std::int64_t kDefaultLength = 2048;
    const std::int64_t d = whole_or(out_, "d_model", 0), length = whole_or(from_, "max_seq_len", kDefaultLength);
    if (const Json* width = find(from_, "output_dim"); width != nullptr && as_int(*width).value_or(0) != d)
      return cannot("output_dim", *width);
    if (length < kDefaultLength) return cannot("max_seq_len", from_["max_seq_len"]);
    out_["input_height"] = out_["output_height"] = d;
    if (length > kDefaultLength) out_["seq_length"] = length;
    for (const char* key : {"output_dim", "max_seq_len", "qkv_bias", "out_bias", "qk_norm", "inner_norm"}) take(key);
    return {};
  }

  Result<void> convolution(bool is_transposed) {
    constexpr std::array<std::array<std::string_view, 2>, 3> kAxes = {
        {{"input_height", "output_height"}, {"input_width", "output_width"}, {"input_depth", "output_depth"}}};
    for (const auto& [key, otherwise] :
         {std::pair("kernel_size", 3), std::pair("stride", 1), std::pair("padding", 0)}) {
      const Json* given = find(from_, key);
      if (given != nullptr && !as_int(*given)) return cannot(key, *given);
      out_[key] = whole_or(from_, key, otherwise);
      take(key);
    }
    for (const char* key : {"input_channels", "filters"})
      if (find(out_, key) == nullptr) out_[key] = 1;
    const std::int64_t k = whole_or(out_, "kernel_size", 0), s = whole_or(out_, "stride", 1),
                       p = whole_or(out_, "padding", 0), height = whole_or(out_, "input_height", 0);
    for (std::size_t axis = 0; axis < axes(text_or(out_, "type", "")); ++axis) {
      const auto [in_key, out_key] = kAxes[axis];
      const std::int64_t in = whole_or(out_, in_key, height);
      out_[std::string(in_key)] = in;
      const std::int64_t length = is_transposed ? (in - 1) * s - 2 * p + k : (in + 2 * p - k) / s + 1;
      if (find(out_, out_key) == nullptr) out_[std::string(out_key)] = length;
    }
    return {};
  }
  static std::size_t axes(std::string_view name) {
    return name.find('3') != name.npos ? 3 : name.find('2') != name.npos ? 2 : 1;
  }

  void embedding() {
    if (text_or(from_, "oob", "") != "zero") losses_.emplace_back("ids outside of the table give zeros, and no error");
    take("oob");
  }

  void kmeans() {
    if (find(out_, "output_mode") == nullptr) out_["output_mode"] = "probabilities";
    out_["output_height"] =
        text_or(out_, "output_mode", "") == "features" ? out_["input_height"] : out_["num_clusters"];
  }

  Result<void> softmax() {
    const std::string type = text_or(from_, "softmax_type", "standard");
    const auto found = std::ranges::find(kSoftmaxTypes, type, [](const auto& row) { return row[0]; });
    if (found == kSoftmaxTypes.end()) return cannot("softmax_type", from_["softmax_type"]);
    out_["softmax_type"] = (*found)[1];
    take("softmax_type");
    return type == "entmax" ? always("entmax_mode", "blend") : Result<void>();
  }

  Result<void> parallel() {
    const std::string mode = text_or(from_, "combine_mode", "concat");
    if (mode != "concat" && mode != "add" && mode != "avg") return cannot("combine_mode", from_["combine_mode"]);
    out_["combine_mode"] = mode;
    take("combine_mode");
    return mode == "concat" ? always("flatten", true) : Result<void>();
  }

  Result<void> children(const std::string& key, std::string_view kind) {
    const Json* list = find(from_, key);
    if (list == nullptr) return {};
    out_[key] = Json::array();
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto child = LayerKeys((*list)[i], kind, losses_).convert();
      if (!child) return under({key, std::to_string(i)}, std::move(child).error());
      out_[key].push_back(std::move(*child));
    }
    take(key);
    return {};
  }

  Json from_;
  std::string_view parent_;
  std::vector<std::string>& losses_;
  Json out_ = Json::object();
};

}  // namespace

Result<Json> keys_of_network(const Json& network, std::vector<std::string>& losses) {
  Json out = Json::object();
  for (const char* key : {"id", "depth", "rows", "cols", "layers_per_cell"}) out[key] = *find(network, key);
  for (const char* key : {"activations", "quantized_inputs"})
    if (const Json* value = find(network, key)) return cannot(key, *value);
  out["layers"] = Json::array();
  const Json& layers = *find(network, "layers");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Json layer = layers[i];
    if (const Json* dtype = find(network, "default_dtype"); dtype != nullptr && find(layer, "dtype") == nullptr)
      return fail_at({"default_dtype"}, Code::Unsupported, "Loom 0.8x has float32 alone");
    auto converted = LayerKeys(layer, "", losses).convert();
    if (!converted) return under({"layers", std::to_string(i)}, std::move(converted).error());
    out["layers"].push_back(std::move(*converted));
  }
  return out;
}

}  // namespace loom::loom08
