// Checks a graph before any of it runs: every operation is one that Loom has, with attributes that it knows, and each
// name is defined once. An unknown attribute that was ignored would change results silently.

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "core/nearest.h"
#include "graph/operation.h"

namespace loom::graph {
namespace {

// A row holds words. A word of `attributes` is NAME:KIND with the kind as in a spec, then <OPSET if an input replaces
// the attribute from that opset on, and |VALUE for each choice of a text.
struct AttributeRow {
  std::string_view ops, attributes;
};

// Attributes of ONNX's operations in any opset that is read (onnx/defs; an operation in no row has none), also those
// that change nothing in Loom: momentum, seed, sorted, stash_type and others.
constexpr AttributeRow kAttributesOfOps[] = {
    {"ArgMax ArgMin", "axis:i keepdims:i select_last_index:i"},
    {"AffineGrid", "align_corners:i"},
    {"Attention",
     "is_causal:i kv_num_heads:i left_window_size:i q_num_heads:i qk_matmul_output_mode:i right_window_size:i scale:f "
     "softcap:f softmax_precision:i"},
    {"AveragePool",
     "auto_pad:s|NOTSET|SAME_UPPER|SAME_LOWER|VALID ceil_mode:i count_include_pad:i dilations:ints kernel_shape:ints "
     "pads:ints strides:ints"},
    {"BatchNormalization", "epsilon:f momentum:f spatial:i training_mode:i"},
    {"BlackmanWindow HammingWindow HannWindow", "output_datatype:i periodic:i"},
    {"BitShift", "direction:s|LEFT|RIGHT"},
    {"Cast", "round_mode:s saturate:i to:i"},
    {"CastLike", "round_mode:s saturate:i"},
    {"Celu Elu LeakyRelu SwiGLU Swish ThresholdedRelu", "alpha:f"},
    {"CenterCropPad MeanVarianceNormalization Squeeze Unsqueeze", "axes:ints"},
    {"Clip", "max:f<11 min:f<11"},
    {"Compress Concat Flatten Gather GatherElements Hardmax LogSoftmax OneHot Scatter Softmax", "axis:i"},
    {"Constant",
     "value:t value_float:f value_floats:floats value_int:i value_ints:ints value_string:s value_strings:strings"},
    {"ConstantOfShape", "value:t"},
    {"Conv ConvInteger QLinearConv",
     "auto_pad:s|NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:ints group:i kernel_shape:ints pads:ints strides:ints"},
    {"ConvTranspose",
     "auto_pad:s|NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:ints group:i kernel_shape:ints output_padding:ints "
     "output_shape:ints pads:ints "
     "strides:ints"},
    {"CumProd CumSum", "exclusive:i reverse:i"},
    {"DFT", "axis:i inverse:i onesided:i"},
    {"DepthToSpace SpaceToDepth", "blocksize:i mode:s|DCR|CRD"},
    {"DequantizeLinear", "axis:i block_size:i output_dtype:i"},
    {"Dropout", "ratio:f seed:i"},
    {"Einsum", "equation:s"},
    {"EyeLike", "dtype:i k:i"},
    {"GRU",
     "activation_alpha:floats activation_beta:floats activations:strings clip:f "
     "direction:s|forward|reverse|bidirectional hidden_size:i "
     "layout:i linear_before_reset:i"},
    {"GatherND", "batch_dims:i"},
    {"Gelu", "approximate:s|none|tanh"},
    {"Gemm", "alpha:f beta:f transA:i transB:i"},
    {"GlobalLpPool", "p:i"},
    {"GridSample",
     "align_corners:i mode:s|linear|nearest|cubic|bilinear|bicubic padding_mode:s|zeros|border|reflection"},
    {"GroupNormalization", "epsilon:f num_groups:i stash_type:i"},
    {"HardSigmoid", "alpha:f beta:f"},
    {"If", "else_branch:g then_branch:g"},
    {"InstanceNormalization", "epsilon:f"},
    {"IsInf", "detect_negative:i detect_positive:i"},
    {"LRN", "alpha:f beta:f bias:f size:i"},
    {"LSTM",
     "activation_alpha:floats activation_beta:floats activations:strings clip:f "
     "direction:s|forward|reverse|bidirectional hidden_size:i "
     "input_forget:i layout:i"},
    {"LayerNormalization RMSNormalization", "axis:i epsilon:f stash_type:i"},
    {"Loop", "body:g"},
    {"LpNormalization", "axis:i p:i"},
    {"LpPool",
     "auto_pad:s|NOTSET|SAME_UPPER|SAME_LOWER|VALID ceil_mode:i dilations:ints kernel_shape:ints p:i pads:ints "
     "strides:ints"},
    {"MaxPool",
     "auto_pad:s|NOTSET|SAME_UPPER|SAME_LOWER|VALID ceil_mode:i dilations:ints kernel_shape:ints pads:ints "
     "storage_order:i strides:ints"},
    {"Mod", "fmod:i"},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "ignore_index:i reduction:s|mean|sum|none"},
    {"NonMaxSuppression", "center_point_box:i"},
    {"Pad", "mode:s|constant|reflect|edge|wrap pads:ints<11 value:f<11"},
    {"QuantizeLinear", "axis:i block_size:i output_dtype:i precision:i saturate:i"},
    {"RNN",
     "activation_alpha:floats activation_beta:floats activations:strings clip:f "
     "direction:s|forward|reverse|bidirectional hidden_size:i "
     "layout:i"},
    {"Range", "stash_type:i"},
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
     "ReduceSumSquare",
     "axes:ints keepdims:i noop_with_empty_axes:i"},
    {"Reshape", "allowzero:i"},
    {"Resize",
     "antialias:i axes:ints "
     "coordinate_transformation_mode:s|half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|"
     "tf_crop_and_resize|tf_half_pixel_for_nn cubic_coeff_a:f exclude_outside:i extrapolation_value:f "
     "keep_aspect_ratio_policy:s|stretch|not_larger|not_smaller mode:s|nearest|linear|bilinear|cubic "
     "nearest_mode:s|round_prefer_floor|round_prefer_ceil|floor|ceil"},
    {"ReverseSequence", "batch_axis:i time_axis:i"},
    {"RotaryEmbedding", "interleaved:i num_heads:i rotary_embedding_dim:i"},
    {"STFT", "onesided:i"},
    {"Scan",
     "body:g num_scan_inputs:i scan_input_axes:ints scan_input_directions:ints "
     "scan_output_axes:ints scan_output_directions:ints"},
    {"ScatterElements", "axis:i reduction:s|none|add|mul|max|min"},
    {"ScatterND", "reduction:s|none|add|mul|max|min"},
    {"Selu", "alpha:f gamma:f"},
    {"Shape", "end:i start:i"},
    {"Shrink", "bias:f lambd:f"},
    {"Slice", "axes:ints<10 ends:ints<10 starts:ints<10"},
    {"Split", "axis:i num_outputs:i split:ints"},
    {"TensorScatter", "axis:i mode:s|linear|circular"},
    {"TopK", "axis:i k:i<10 largest:i sorted:i"},
    {"Transpose", "perm:ints"},
    {"Trilu", "upper:i"},
    {"com.microsoft.DynamicQuantizeLSTM",
     "activation_alpha:floats activation_beta:floats activations:strings clip:f "
     "direction:s|forward|reverse|bidirectional hidden_size:i input_forget:i"},
    {"Upsample", "mode:s|nearest|linear|bilinear|cubic scales:floats"},
};

// In the order of Attribute::Kind.
constexpr struct {
  std::string_view letter, words;
} kHeld[] = {{"i", "an integer"},
             {"f", "a float"},
             {"s", "a text"},
             {"ints", "a list of integers"},
             {"floats", "a list of floats"},
             {"strings", "a list of texts"},
             {"t", "a tensor"},
             {"g", "a graph"}};

// f(word) until it says true.
template <class F>
bool any_word(std::string_view words, F&& f) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (f(words.substr(0, end))) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

std::string_view attributes_of(std::string_view name) {
  for (const AttributeRow& row : kAttributesOfOps)
    if (any_word(row.ops, [&](std::string_view op) { return op == name; })) return row.attributes;
  return "";
}

// "Softmax \"probabilities\"", or by its output where the node has no name.
std::string name_of_node(const Node& node) {
  const std::string_view name = !node.name.empty()     ? std::string_view(node.name)
                                : node.outputs.empty() ? std::string_view()
                                                       : std::string_view(node.outputs[0]);
  return fmt::format("{} \"{}\"", printable(node.op), printable(name));
}

// NAME:KIND<OPSET|CHOICE|CHOICE of a row.
KnownAttribute attribute_of_word(std::string_view word) {
  const std::size_t colon = word.find(':'), bar = std::min(word.find('|'), word.size());
  const std::string_view kind = word.substr(colon + 1, bar - colon - 1);
  const std::size_t less = std::min(kind.find('<'), kind.size());
  KnownAttribute known{std::string(word.substr(0, colon)), std::string(kind.substr(0, less)), {}};
  for (const char digit : kind.substr(std::min(less + 1, kind.size()))) known.below = 10 * known.below + (digit - '0');
  for (std::size_t at = bar; at < word.size();) {
    const std::size_t end = std::min(word.find('|', at + 1), word.size());
    known.choices.emplace_back(word.substr(at + 1, end - at - 1));
    at = end;
  }
  return known;
}

Result<void> check_attribute(const Node& node, int opset, const std::string& key, const Attribute& given) {
  std::string names;
  std::optional<KnownAttribute> found;
  for (KnownAttribute& known : known_attributes(full_name(node))) {
    names += " " + known.name;
    if (known.name == key) found = std::move(known);
  }
  if (!found)
    return fail(Code::UnknownKey, "{} knows no attribute \"{}\"; known:{}", name_of_node(node), printable(key),
                names.empty() ? " none" : names);
  if (found->below != 0 && opset >= found->below)
    return fail(Code::UnknownKey, "{}: attribute \"{}\" is an input from opset {} on, this is {}", name_of_node(node),
                printable(key), found->below, opset);
  const auto& got = kHeld[static_cast<std::size_t>(given.kind)];
  if (got.letter != found->kind) {
    const auto* const expects = std::ranges::find(kHeld, found->kind, [](const auto& kind) { return kind.letter; });
    return fail(Code::InvalidConfig, "{}: attribute \"{}\": expected {} ({}), got {} ({})", name_of_node(node),
                printable(key), expects->words, found->kind, got.words, got.letter);
  }
  if (found->choices.empty() || std::ranges::find(found->choices, given.text) != found->choices.end()) return {};
  return fail(Code::InvalidConfig, "{}: attribute \"{}\": expected one of {}, got \"{}\"", name_of_node(node),
              printable(key), fmt::join(found->choices, ", "), printable(given.text));
}

// Checks that each name of a body is defined once: by a constant, an input or a node.
Result<void> check_authors(const Body& body) {
  std::set<std::string_view> given;
  for (const auto& [name, value] : body.constants)
    if (!given.insert(name).second)
      return fail_at({"constants"}, Code::CorruptData, "two constants are called \"{}\"", printable(name));
  for (const InputInfo& info : body.inputs) given.insert(info.name);  // old files list constants as inputs too
  for (std::size_t i = 0; i < body.nodes.size(); ++i)
    for (const std::string& name : body.nodes[i].outputs)
      if (!name.empty() && !given.insert(name).second)
        return fail_at({"nodes", std::to_string(i), "outputs"}, Code::CorruptData,
                       "{} gives \"{}\", which a node before it, an input or a constant gives",
                       name_of_node(body.nodes[i]), printable(name));
  return {};
}

Result<void> check_body(const Body& body, int opset) {
  LOOM_TRY_VOID(check_authors(body));
  for (std::size_t i = 0; i < body.nodes.size(); ++i)
    for (const auto& [key, given] : body.nodes[i].attributes) {
      Steps steps{"nodes", std::to_string(i), "attributes", printable(key)};
      if (auto checked = check_attribute(body.nodes[i], opset, key, given); !checked)
        return under(std::move(steps), std::move(checked).error());
      if (given.body == nullptr) continue;
      steps.emplace_back("g");
      if (auto checked = check_body(*given.body, opset); !checked)
        return under(std::move(steps), std::move(checked).error());
    }
  return {};
}

void list_missing(const Body& body, int opset, std::set<std::string>& missing) {
  for (const Node& node : body.nodes) {
    if (!is_control(node) && (is_gradient(node) || find_op(node) == nullptr))
      missing.insert(printable(full_name(node)));
    if (is_control(node) && node.op == "Scan" && opset < 9) missing.insert("Scan of opset 8");
    for (const auto& [key, value] : node.attributes)
      if (value.body) list_missing(*value.body, opset, missing);
  }
}

}  // namespace

std::vector<KnownAttribute> known_attributes(std::string_view op) {
  std::vector<KnownAttribute> all;
  any_word(attributes_of(op), [&](std::string_view word) {
    all.push_back(attribute_of_word(word));
    return false;
  });
  return all;
}

std::vector<std::string> operations_with_attributes() {
  std::vector<std::string> all;
  for (const AttributeRow& row : kAttributesOfOps)
    any_word(row.ops, [&](std::string_view op) {
      all.emplace_back(op);
      return false;
    });
  return all;
}

Result<void> check_model(const Model& model) {
  std::set<std::string> missing;
  list_missing(model.body, model.opset, missing);
  if (!missing.empty()) return fail(Code::Unsupported, "operations that Loom lacks: {}", fmt::join(missing, ", "));
  return check_body(model.body, model.opset);
}

}  // namespace loom::graph
