#pragma once
// A layer kind as the rest of Loom sees it, without knowing the kind: one row, which stands in the kind's own folder.

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "ops/elementwise/elementwise.h"

namespace loom {

class Layer;
using LayerPtr = std::unique_ptr<Layer>;

// Input of the layers inside a container.
enum class Inside : std::uint8_t {
  None,      // there are none
  Chain,     // each the output of the one before
  Branches,  // all the input
  Wrapped,   // what their holder gives them
};

// The use of a matrix of this kind decides how often a sample meets it.
enum class MatrixUse : std::uint8_t {
  Rows,    // once per row of the input
  Places,  // each filter once per place of the output
  Lookup,  // never: rows are taken from it
};

// A place between two shapes, for which evolution wants a layer: extents of one sample.
struct FitRequest {
  std::vector<std::size_t> in, out;
  // MutationConfig's
  std::size_t d_model = 0, num_heads = 1, filters = 0, kernel_size = 1, vocab_size = 1, num_clusters = 1;
  Activation activation = Activation::Linear;

  std::size_t width() const { return in.back(); }
  // Both have the same rows, so that a layer that maps features fits.
  bool same_rows() const {
    return in.size() == out.size() && std::vector(in.begin(), in.end() - 1) == std::vector(out.begin(), out.end() - 1);
  }
  std::size_t wanted_width() const { return same_rows() ? out.back() : width(); }
};

struct LayerKind {
  int id;  // of the legacy C ABI (engine L-01); files store names
  std::string_view name;
  std::string_view aliases = "";            // separated by '|'
  std::string_view help = "";               // what it computes, one line for the manual
  std::string_view shapes = "";             // "input -> output", likewise
  LayerPtr (*make)(const LayerKind& kind);  // with the default settings: fresh()
  std::string_view width_key = "";          // the setting that declares the features of the input
  Inside inside = Inside::None;
  MatrixUse matrix = MatrixUse::Rows;
  bool is_linear_map = false;       // y = act(W x + b): target propagation can learn its way back
  bool gives_distribution = false;  // rows of the output are probabilities
  // No target, and no device that hides the values of tensors: its operations look at them. A backward pass ends in
  // front of it where neither it nor anything before it learns.
  bool forward_only = false;
  // A layer that takes samples of request.in and, where it can, gives request.out; null: evolution does not make this
  // kind.
  LayerPtr (*fit)(const FitRequest& request) = nullptr;

  LayerPtr fresh() const { return make(*this); }
};

}  // namespace loom
