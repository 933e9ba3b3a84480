#pragma once
// Backward through a graph: gradient_model() writes the graph that computes gradients, and Program plans and runs it
// like any other. It holds the operations of the forward pass, whose values are computed again, and for each of them
// that carries a gradient one node more, in reverse order. Gradients of a value with several readers are added in that
// order too.
//
// Such a node is called "gradient of OP", with the domain and attributes of kGradientDomain and OP. Its inputs are the
// inputs of OP, its outputs and the gradients of these; its outputs are the gradients of the inputs, with empty names
// for those that nobody reads.

#include <span>

#include "graph/operation.h"

namespace loom::graph {

inline constexpr std::string_view kGradientDomain = "loom.gradient";
inline constexpr std::string_view kGradientOf = "gradient of ";

// How an operation carries gradients. Sums are those of ops/, or one chain in f64 that is rounded once.
struct GradientRow {
  std::string_view op;
  OpFn run;                         // of the node "gradient of OP"
  std::uint64_t inputs = ~0ull;     // that have a gradient, by bits
  std::uint64_t needs_outputs = 1;  // that carry one; others hold whole numbers
};

// Returns bit i of such a set; bit 63 stands for every later one too.
constexpr bool has_bit(std::uint64_t bits, std::size_t i) { return (bits >> (i < 63 ? i : 63) & 1u) != 0; }

std::span<const GradientRow> elementwise_gradients();
std::span<const GradientRow> moving_gradients();
std::span<const GradientRow> product_gradients();
std::span<const GradientRow> norm_gradients();
std::span<const GradientRow> reducing_gradients();

// Null for an operation without one.
const GradientRow* find_gradient(const Node& node);
// Returns whether the gradient ends at the operation: its outputs are whole numbers or truth values, or constant
// between steps.
bool ends_gradient(const Node& node);
// All of them, for tests.
std::vector<const GradientRow*> gradient_rows();

// The graph of gradients, and their names by the names in `of`, "" for one that no gradient reaches. Beside those of
// the model, the inputs are `of` in order, as far as they are none yet, and last the gradient of the only output.
struct GradientModel {
  Model model;
  std::vector<std::string> gradients;
};
// `of`: inputs and constants of the model; the latter become inputs. Unsupported, with the names of all operations
// between one of them and the output that carry no gradient.
Result<GradientModel> gradient_model(const Model& model, std::span<const std::string> of);

}  // namespace loom::graph
