#pragma once
// For tests and the fuzz target: the multiply-adds of what a graph computes from its constants, by the textbook and
// from the JSON alone, so that this account shares no line with the planner's (graph/folding.h). Operations that
// it does not know count nothing: the sum is a lower bound.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"

namespace loom {

class GraphWork {
 public:
  // Returns the work of a graph as a layer's spec holds it.
  static double of(const Json& graph) {
    GraphWork work;
    return work.of_body(graph, {});
  }

 private:
  using Dims = std::vector<std::int64_t>;
  struct Known {
    Dims dims;
    std::vector<std::int64_t> numbers{};  // of whole constants, which may be sizes
  };
  using Names = std::map<std::string, Known>;

  static const Json& member(const Json& of, const char* key) {
    static const Json none;
    const Json* found = find(of, key);
    return found == nullptr ? none : *found;
  }
  static std::string text(const Json& value) {
    const std::string* found = as_string(value);
    return found == nullptr ? std::string() : *found;
  }
  static std::vector<std::int64_t> numbers(const Json& list) {
    std::vector<std::int64_t> out;
    if (list.is_array())
      for (const Json& each : list) out.push_back(as_int(each).value_or(-1));
    return out;
  }
  static Json attribute(const Json& node, const char* key, const char* kind) {
    return member(member(member(node, "attributes"), key), kind);
  }
  static double product(const Dims& dims) {
    double n = 1;
    for (const std::int64_t d : dims) n *= static_cast<double>(d);
    return n;
  }
  static std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
    Dims out(std::max(a.size(), b.size()));
    for (std::size_t i = 1; i <= out.size(); ++i) {
      const std::int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
      if (x != y && x != 1 && y != 1) return std::nullopt;
      out[out.size() - i] = x == 1 ? y : x;
    }
    return out;
  }

  void add_constant(const Json& constant, const std::string& name, Names& names) const {
    Known known{numbers(member(constant, "shape")), numbers(member(constant, "values"))};
    if (std::ranges::all_of(known.dims, [](std::int64_t d) { return d >= 0; })) names[name] = std::move(known);
  }

  double of_body(const Json& body, Names names, double times = 1) {
    if (++depth_ > 16) {
      --depth_;
      return 0;
    }
    double sum = 0;
    const Json &constants = member(body, "constants"), &nodes = member(body, "nodes");
    if (constants.is_array())
      for (const Json& c : constants) add_constant(c, text(member(c, "name")), names);
    if (nodes.is_array())
      for (const Json& node : nodes) sum += of_node(node, names);
    --depth_;
    return sum * times;
  }

  // The work of a node, whose output then has a shape where it is known.
  double of_node(const Json& node, Names& names) {
    const std::string op = text(member(node, "op"));
    std::vector<const Known*> in;
    const Json &inputs = member(node, "inputs"), &outputs = member(node, "outputs");
    if (inputs.is_array())
      for (const Json& name : inputs) {
        const auto found = names.find(text(name));
        in.push_back(found == names.end() ? nullptr : &found->second);
      }
    if (!outputs.is_array() || outputs.empty()) return 0;
    const std::string output = text(outputs[0]);
    if (op == "Constant") {
      add_constant(attribute(node, "value", "t"), output, names);
      return 0;
    }
    if (op == "Loop") {
      const bool counts = !in.empty() && in[0] != nullptr && in[0]->numbers.size() == 1 && in[0]->numbers[0] > 0;
      return counts ? of_body(attribute(node, "body", "g"), names, static_cast<double>(in[0]->numbers[0])) : 0;
    }
    if (in.empty() || std::ranges::find(in, nullptr) != in.end()) return 0;
    Dims out;
    const std::optional<double> work = of_op(op, node, in, out);
    if (work) names[output] = {std::move(out)};
    return work.value_or(0);
  }

  // Sets `out`, the shape; returns nothing for an operation that this function does not list.
  static std::optional<double> of_op(const std::string& op, const Json& node, const std::vector<const Known*>& in,
                                     Dims& out) {
    const Dims& a = in[0]->dims;
    static const std::set<std::string> elementwise = {"Identity", "Neg",     "Abs",  "Exp",
                                                      "Tanh",     "Sigmoid", "Relu", "Sqrt"};
    if (elementwise.contains(op)) {
      out = a;
      return op == "Identity" ? 0 : product(a);
    }
    if (in.size() < 2 && op != "Einsum") return std::nullopt;
    if (op == "Expand") {
      const auto shape = broadcast(a, in[1]->numbers);
      if (!shape) return std::nullopt;
      out = *shape;
      return 0;
    }
    if (op == "MatMul") return of_matmul(a, in[1]->dims, out);
    if (op == "Einsum") return of_einsum(text(attribute(node, "equation", "s")), in, out);
    if (op == "Conv") return of_conv(node, a, in[1]->dims, out);
    return std::nullopt;
  }

  static std::optional<double> of_matmul(const Dims& a, const Dims& b, Dims& out) {
    if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) return std::nullopt;
    const auto lead = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
    if (!lead) return std::nullopt;
    out = *lead;
    out.push_back(a[a.size() - 2]), out.push_back(b.back());
    return product(out) * static_cast<double>(a.back());
  }

  // Every combination of all letters is a term; without an ellipsis, whose axes have no letters.
  static std::optional<double> of_einsum(std::string equation, const std::vector<const Known*>& in, Dims& out) {
    std::erase(equation, ' ');
    const std::size_t arrow = equation.find("->");
    if (arrow == std::string::npos || equation.find('.') != std::string::npos) return std::nullopt;
    std::map<char, std::int64_t> extents;
    std::size_t operand = 0, axis = 0;
    for (const char c : equation.substr(0, arrow)) {
      if (c == ',') {
        ++operand, axis = 0;
        continue;
      }
      if (operand >= in.size() || axis >= in[operand]->dims.size()) return std::nullopt;
      std::int64_t& extent = extents[c];
      extent = std::max(extent, in[operand]->dims[axis++]);
    }
    double terms = 1;
    for (const auto& [letter, extent] : extents) terms *= static_cast<double>(extent);
    for (const char c : equation.substr(arrow + 2)) out.push_back(extents[c]);
    return terms;
  }

  static std::optional<double> of_conv(const Json& node, const Dims& x, const Dims& w, Dims& out) {
    const Json pads = attribute(node, "pads", "ints"), strides = attribute(node, "strides", "ints"),
               dilations = attribute(node, "dilations", "ints");
    if (x.size() < 3 || w.size() != x.size() || !attribute(node, "auto_pad", "s").is_null()) return std::nullopt;
    const std::size_t axes = x.size() - 2;
    const auto at = [](const Json& list, std::size_t i, std::int64_t otherwise) {
      return list.is_array() && i < list.size() ? as_int(list[i]).value_or(otherwise) : otherwise;
    };
    out = {x[0], w[0]};
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t reach = at(dilations, i, 1) * (w[i + 2] - 1) + 1,
                         padded = x[i + 2] + at(pads, i, 0) + at(pads, i + axes, 0), stride = at(strides, i, 1);
      if (stride < 1 || padded < reach) return std::nullopt;
      out.push_back((padded - reach) / stride + 1);
    }
    return product(out) * product({w.begin() + 1, w.end()});
  }

  int depth_ = 0;
};

}  // namespace loom
