#include "graph/gradient.h"

#include <algorithm>
#include <set>

namespace loom::graph {
namespace {

// Operations whose outputs are whole numbers, truth values or steps: their derivative is 0 wherever it exists.
constexpr std::string_view kEnds[] = {"Shape",
                                      "Size",
                                      "ArgMax",
                                      "ArgMin",
                                      "Equal",
                                      "Greater",
                                      "GreaterOrEqual",
                                      "Less",
                                      "LessOrEqual",
                                      "And",
                                      "Or",
                                      "Xor",
                                      "Not",
                                      "IsNaN",
                                      "IsInf",
                                      "NonZero",
                                      "Sign",
                                      "Ceil",
                                      "Floor",
                                      "Round",
                                      "OneHot",
                                      "EyeLike",
                                      "Range",
                                      "ConstantOfShape",
                                      "Constant",
                                      "BitwiseNot",
                                      "BitwiseAnd",
                                      "BitwiseOr",
                                      "BitwiseXor",
                                      "BitShift",
                                      "Hardmax"};

bool is_onnx(const Node& node) { return node.domain.empty() || node.domain == "ai.onnx"; }

void read_inside(const Body& body, std::set<std::string>& names) {
  names.insert(body.outputs.begin(), body.outputs.end());
  for (const Node& node : body.nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [key, attribute] : node.attributes)
      if (attribute.body) read_inside(*attribute.body, names);
  }
}

std::string named(const Node& node) {
  const std::string& name = node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  return fmt::format("{} \"{}\"", printable(full_name(node)), printable(name));
}

// Adds the nodes of the gradients to a model.
class Differentiator {
 public:
  Differentiator(const Model& model, std::span<const std::string> of) : of_(of) { made_.model = model; }

  Result<GradientModel> run() {
    Body& body = made_.model.body;
    const std::string output = body.outputs[0];
    find_dependent();
    LOOM_TRY_VOID(check_path(output));
    choose_prefix();
    take_inputs(output);
    const std::size_t forward = body.nodes.size();
    for (std::size_t i = forward; i-- > 0;) LOOM_TRY_VOID(add_gradient_of(Node(body.nodes[i])));
    body.outputs.clear(), body.output_infos.clear();
    for (const std::string& name : of_) {
      made_.gradients.push_back(sum_of(name));
      if (!made_.gradients.back().empty()) body.outputs.push_back(made_.gradients.back());
    }
    return std::move(made_);
  }

 private:
  std::set<std::string> read_by(const Node& node) const {
    std::set<std::string> names(node.inputs.begin(), node.inputs.end());
    for (const auto& [key, attribute] : node.attributes)
      if (attribute.body) read_inside(*attribute.body, names);
    names.erase("");
    return names;
  }

  // Which inputs of a node a gradient would reach: all that it reads where it has no rule.
  std::vector<std::string> passed(const Node& node) const {
    std::vector<std::string> names;
    if (const GradientRow* const row = find_gradient(node); row != nullptr) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (has_bit(row->inputs, i) && dependent_.contains(node.inputs[i])) names.push_back(node.inputs[i]);
      return names;
    }
    for (const std::string& name : read_by(node))
      if (dependent_.contains(name)) names.push_back(name);
    return names;
  }

  // Values that follow from `of` by operations that gradients do not end at.
  void find_dependent() {
    dependent_.insert(of_.begin(), of_.end());
    for (const Node& node : made_.model.body.nodes) {
      if (ends_gradient(node) || passed(node).empty()) continue;
      const GradientRow* const row = find_gradient(node);
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (!node.outputs[i].empty() && (row == nullptr || has_bit(row->needs_outputs, i)))
          dependent_.insert(node.outputs[i]);
    }
  }

  Result<void> check_path(const std::string& output) {
    const Body& body = made_.model.body;
    std::set<std::string> live{output};
    std::vector<std::string> missing, ends;
    for (std::size_t i = body.nodes.size(); i-- > 0;) {
      const Node& node = body.nodes[i];
      if (std::ranges::none_of(node.outputs, [&](const auto& name) { return live.contains(name); })) continue;
      if (ends_gradient(node)) {
        if (std::ranges::any_of(node.inputs, [&](const auto& name) { return dependent_.contains(name); }))
          ends.push_back(named(node));
        continue;
      }
      const std::vector<std::string> names = passed(node);
      if (names.empty()) continue;
      if (find_gradient(node) == nullptr) missing.push_back(named(node));
      live.insert(names.begin(), names.end());
    }
    std::ranges::reverse(missing), std::ranges::reverse(ends);
    if (!missing.empty()) return fail(Code::Unsupported, "no gradient passes through {}", fmt::join(missing, ", "));
    if (dependent_.contains(output)) return {};
    return fail(Code::Unsupported, "no gradient reaches its weights or its input from \"{}\"{}{}", printable(output),
                ends.empty() ? "" : ": it ends at ", fmt::join(ends, ", "));
  }

  // No name of the graph begins like those that are made.
  void choose_prefix() {
    std::set<std::string> names;
    read_inside(made_.model.body, names);
    for (const Node& node : made_.model.body.nodes) names.insert(node.outputs.begin(), node.outputs.end());
    for (prefix_ = "gradient:";
         std::ranges::any_of(names, [&](const auto& name) { return name.starts_with(prefix_); });)
      prefix_ += ':';
  }

  void take_inputs(const std::string& output) {
    Body& body = made_.model.body;
    for (const std::string& name : of_) {
      std::erase_if(body.constants, [&](const auto& constant) { return constant.first == name; });
      if (std::ranges::find(body.inputs, name, &InputInfo::name) == body.inputs.end()) body.inputs.push_back({name});
    }
    body.inputs.push_back({prefix_ + output});
    parts_[output] = {prefix_ + output};
  }

  // The name of the gradient of a value: the sum of all that have come. Empty: none.
  std::string sum_of(const std::string& value) {
    const auto found = parts_.find(value);
    if (value.empty() || found == parts_.end()) return "";
    std::vector<std::string>& parts = found->second;
    while (parts.size() > 1) {
      const std::string sum = fmt::format("{}{}:{}", prefix_, next_++, value);
      Node add;
      add.op = "Add", add.name = prefix_ + value;
      add.inputs = {parts[0], parts[1]}, add.outputs = {sum};
      made_.model.body.nodes.push_back(std::move(add));
      parts.erase(parts.begin(), parts.begin() + 2);
      parts.insert(parts.begin(), sum);
    }
    return parts[0];
  }

  Result<void> add_gradient_of(const Node& of) {
    const GradientRow* const row = find_gradient(of);
    if (row == nullptr || ends_gradient(of) || passed(of).empty()) return {};
    std::vector<std::string> gradients;
    gradients.reserve(of.outputs.size());
    for (const std::string& name : of.outputs) gradients.push_back(sum_of(name));
    if (std::ranges::all_of(gradients, [](const auto& name) { return name.empty(); })) return {};
    Node node;
    node.op = std::string(kGradientOf) + of.op, node.domain = kGradientDomain;
    node.name = of.name.empty() && !of.outputs.empty() ? of.outputs[0] : of.name;
    node.attributes = of.attributes;
    node.inputs = of.inputs;
    node.inputs.insert(node.inputs.end(), of.outputs.begin(), of.outputs.end());
    node.inputs.insert(node.inputs.end(), gradients.begin(), gradients.end());
    for (std::size_t i = 0; i < of.inputs.size(); ++i) {
      const std::string& input = of.inputs[i];
      const bool carries = has_bit(row->inputs, i) && dependent_.contains(input);
      node.outputs.push_back(carries ? fmt::format("{}{}:{}", prefix_, next_++, input) : std::string());
      if (carries) parts_[input].push_back(node.outputs.back());
    }
    made_.model.body.nodes.push_back(std::move(node));
    return {};
  }

  std::span<const std::string> of_;
  GradientModel made_;
  std::set<std::string> dependent_;
  std::map<std::string, std::vector<std::string>> parts_;  // gradients of a value, in the order they came
  std::string prefix_;
  std::size_t next_ = 0;
};

// The rows of gradients as those of operations.
std::vector<OpRow> gradient_ops() {
  std::vector<OpRow> ops;
  for (const GradientRow* const row : gradient_rows()) ops.push_back({row->op, row->run, false, 0});
  return ops;
}

}  // namespace

bool is_gradient(const Node& node) { return node.domain == kGradientDomain; }

const OpRow* gradient_op(const Node& node) {
  static const std::vector<OpRow> kOps = gradient_ops();
  const std::string_view of = std::string_view(node.op).substr(std::min(kGradientOf.size(), node.op.size()));
  const auto found = std::ranges::find(kOps, of, &OpRow::name);
  return found == kOps.end() ? nullptr : &*found;
}

std::vector<const GradientRow*> gradient_rows() {
  std::vector<const GradientRow*> all;
  for (const auto rows :
       {elementwise_gradients(), moving_gradients(), product_gradients(), norm_gradients(), reducing_gradients()})
    for (const GradientRow& row : rows) all.push_back(&row);
  return all;
}

const GradientRow* find_gradient(const Node& node) {
  if (!is_onnx(node)) return nullptr;
  for (const auto rows :
       {elementwise_gradients(), moving_gradients(), product_gradients(), norm_gradients(), reducing_gradients()})
    if (const auto found = std::ranges::find(rows, std::string_view(node.op), &GradientRow::op); found != rows.end())
      return &*found;
  return nullptr;
}

bool ends_gradient(const Node& node) {
  if (!is_onnx(node)) return false;
  if (node.op == "Cast") {
    const Attribute* const to = node.find("to");
    return to != nullptr && !is_float(static_cast<Type>(to->integer));
  }
  return std::ranges::find(kEnds, node.op) != std::end(kEnds);
}

Result<GradientModel> gradient_model(const Model& model, std::span<const std::string> of) {
  LOOM_ASSERT(model.body.outputs.size() == 1);
  return Differentiator(model, of).run();
}

}  // namespace loom::graph
