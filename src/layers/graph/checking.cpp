// What a graph must hold before any of it runs: operations that Loom has, with attributes that they know, and one
// author of every name. An attribute that counted as left out would change the numbers without a word.

#include <algorithm>
#include <array>
#include <set>

#include "core/nearest.h"
#include "layers/graph/operation.h"

namespace loom::graph {
namespace {

struct AttributeRow {
  std::string_view ops, attributes;  // words; what an attribute holds stands behind it as a spec has it
};

// Attributes of ONNX's operations in any opset that is read (onnx/defs; an operation in no row has none), also those
// that change nothing in Loom: momentum, seed, sorted, stash_type and others.
constexpr AttributeRow kAttributesOfOps[] = {
    {"ArgMax ArgMin", "axis:i keepdims:i select_last_index:i"},
    {"AveragePool",
     "auto_pad:s ceil_mode:i count_include_pad:i dilations:ints kernel_shape:ints pads:ints strides:ints"},
    {"BatchNormalization", "epsilon:f momentum:f spatial:i training_mode:i"},
    {"BitShift", "direction:s"},
    {"Cast", "round_mode:s saturate:i to:i"},
    {"CastLike", "round_mode:s saturate:i"},
    {"Celu Elu LeakyRelu Swish ThresholdedRelu", "alpha:f"},
    {"CenterCropPad MeanVarianceNormalization Squeeze Unsqueeze", "axes:ints"},
    {"Clip", "max:f min:f"},
    {"Compress Concat Flatten Gather GatherElements Hardmax LogSoftmax OneHot Scatter Softmax", "axis:i"},
    {"Constant",
     "value:t value_float:f value_floats:floats value_int:i value_ints:ints value_string:s value_strings:strings"},
    {"ConstantOfShape", "value:t"},
    {"Conv ConvInteger QLinearConv", "auto_pad:s dilations:ints group:i kernel_shape:ints pads:ints strides:ints"},
    {"ConvTranspose",
     "auto_pad:s dilations:ints group:i kernel_shape:ints output_padding:ints output_shape:ints pads:ints "
     "strides:ints"},
    {"CumProd CumSum", "exclusive:i reverse:i"},
    {"DepthToSpace SpaceToDepth", "blocksize:i mode:s"},
    {"DequantizeLinear", "axis:i block_size:i output_dtype:i"},
    {"Dropout", "ratio:f seed:i"},
    {"Einsum", "equation:s"},
    {"EyeLike", "dtype:i k:i"},
    {"GRU",
     "activation_alpha:floats activation_beta:floats activations:strings clip:f direction:s hidden_size:i "
     "layout:i linear_before_reset:i"},
    {"GatherND", "batch_dims:i"},
    {"Gelu", "approximate:s"},
    {"Gemm", "alpha:f beta:f transA:i transB:i"},
    {"GroupNormalization", "epsilon:f num_groups:i stash_type:i"},
    {"HardSigmoid", "alpha:f beta:f"},
    {"If", "else_branch:g then_branch:g"},
    {"InstanceNormalization", "epsilon:f"},
    {"IsInf", "detect_negative:i detect_positive:i"},
    {"LRN", "alpha:f beta:f bias:f size:i"},
    {"LSTM",
     "activation_alpha:floats activation_beta:floats activations:strings clip:f direction:s hidden_size:i "
     "input_forget:i layout:i"},
    {"LayerNormalization RMSNormalization", "axis:i epsilon:f stash_type:i"},
    {"Loop", "body:g"},
    {"LpNormalization", "axis:i p:i"},
    {"LpPool", "auto_pad:s ceil_mode:i dilations:ints kernel_shape:ints p:i pads:ints strides:ints"},
    {"MaxPool", "auto_pad:s ceil_mode:i dilations:ints kernel_shape:ints pads:ints storage_order:i strides:ints"},
    {"Mod", "fmod:i"},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "ignore_index:i reduction:s"},
    {"Pad", "mode:s pads:ints value:f"},
    {"QuantizeLinear", "axis:i block_size:i output_dtype:i precision:i saturate:i"},
    {"RNN",
     "activation_alpha:floats activation_beta:floats activations:strings clip:f direction:s hidden_size:i "
     "layout:i"},
    {"Range", "stash_type:i"},
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
     "ReduceSumSquare",
     "axes:ints keepdims:i noop_with_empty_axes:i"},
    {"Reshape", "allowzero:i"},
    {"Resize",
     "antialias:i axes:ints coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i "
     "extrapolation_value:f keep_aspect_ratio_policy:s mode:s nearest_mode:s"},
    {"ReverseSequence", "batch_axis:i time_axis:i"},
    {"Scan",
     "body:g directions:ints num_scan_inputs:i scan_input_axes:ints scan_input_directions:ints "
     "scan_output_axes:ints scan_output_directions:ints"},
    {"ScatterElements", "axis:i reduction:s"},
    {"ScatterND", "reduction:s"},
    {"Selu", "alpha:f gamma:f"},
    {"Shape", "end:i start:i"},
    {"Shrink", "bias:f lambd:f"},
    {"Slice", "axes:ints ends:ints starts:ints"},
    {"Split", "axis:i num_outputs:i split:ints"},
    {"TopK", "axis:i k:i largest:i sorted:i"},
    {"Transpose", "perm:ints"},
    {"Trilu", "upper:i"},
    {"Upsample", "mode:s scales:floats"},
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

std::string_view attributes_of(const Node& node) {
  for (const AttributeRow& row : kAttributesOfOps)
    if (any_word(row.ops, [&](std::string_view op) { return op == node.op; })) return row.attributes;
  return "";
}

// "Softmax \"probabilities\"", or by its output where the node has no name.
std::string name_of_node(const Node& node) {
  const std::string_view name = !node.name.empty()     ? std::string_view(node.name)
                                : node.outputs.empty() ? std::string_view()
                                                       : std::string_view(node.outputs[0]);
  return fmt::format("{} \"{}\"", printable(node.op), printable(name));
}

Result<void> check_attribute(const Node& node, const std::string& key, const Attribute& given) {
  const std::string_view row = attributes_of(node);
  const auto wanted = [&](std::string_view word) { return word.substr(0, word.find(':')) == key; };
  std::string known;
  std::string_view letter;
  any_word(row, [&](std::string_view word) {
    const std::size_t colon = word.find(':');
    known += fmt::format(" {}", word.substr(0, colon));
    if (wanted(word)) letter = word.substr(colon + 1);
    return false;
  });
  if (letter.empty())
    return fail(Code::UnknownKey, "{} knows no attribute \"{}\"; known:{}", name_of_node(node), printable(key),
                known.empty() ? " none" : known);
  const auto& got = kHeld[static_cast<std::size_t>(given.kind)];
  if (got.letter == letter) return {};
  const auto* const expects = std::ranges::find(kHeld, letter, [](const auto& kind) { return kind.letter; });
  return fail(Code::InvalidConfig, "{}: attribute \"{}\": expected {} ({}), got {} ({})", name_of_node(node),
              printable(key), expects->words, letter, got.words, got.letter);
}

// Each name of a body has one author: a constant, an input or a node.
Result<void> check_authors(const Body& body) {
  std::set<std::string_view> given;
  for (const auto& [name, value] : body.constants)
    if (!given.insert(name).second)
      return fail_at({"constants"}, Code::CorruptData, "two constants are called \"{}\"", printable(name));
  for (const InputInfo& info : body.inputs) given.insert(info.name);  // old files list constants there too
  for (std::size_t i = 0; i < body.nodes.size(); ++i)
    for (const std::string& name : body.nodes[i].outputs)
      if (!name.empty() && !given.insert(name).second)
        return fail_at({"nodes", std::to_string(i), "outputs"}, Code::CorruptData,
                       "{} gives \"{}\", which a node before it, an input or a constant gives",
                       name_of_node(body.nodes[i]), printable(name));
  return {};
}

Result<void> check_body(const Body& body) {
  LOOM_TRY_VOID(check_authors(body));
  for (std::size_t i = 0; i < body.nodes.size(); ++i)
    for (const auto& [key, given] : body.nodes[i].attributes) {
      Steps steps{"nodes", std::to_string(i), "attributes", printable(key)};
      if (auto checked = check_attribute(body.nodes[i], key, given); !checked)
        return under(std::move(steps), std::move(checked).error());
      if (given.body == nullptr) continue;
      steps.emplace_back("g");
      if (auto checked = check_body(*given.body); !checked) return under(std::move(steps), std::move(checked).error());
    }
  return {};
}

void list_missing(const Body& body, std::set<std::string>& missing) {
  for (const Node& node : body.nodes) {
    if (!is_control(node) && find_op(node) == nullptr)
      missing.insert(node.domain.empty() ? node.op : node.domain + "." + node.op);
    for (const auto& [key, value] : node.attributes)
      if (value.body) list_missing(*value.body, missing);
  }
}

}  // namespace

Result<void> check_model(const Model& model) {
  std::set<std::string> missing;
  list_missing(model.body, missing);
  if (!missing.empty()) return fail(Code::Unsupported, "operations that Loom lacks: {}", fmt::join(missing, ", "));
  return check_body(model.body);
}

}  // namespace loom::graph
