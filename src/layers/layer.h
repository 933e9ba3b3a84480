#pragma once
// The interface of every layer kind. A layer is equations written as calls of ops; it is const while it runs, holds its weights,
// and leaves what changes (caches, positions) to the session behind a Pass.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/exec.h"
#include "core/shape.h"
#include "dtypes/matrix.h"
#include "ops/attention/attention.h"
#include "ops/rope/rope.h"

namespace loom {

// What one sweep brings along beside the tensor: which rows belong to which sequence, and the session's state.
struct Pass {
  std::span<const std::int32_t> ids;               // input of an embedding, one per row
  std::span<const SequenceRows> runs;
  std::span<const std::uint32_t> positions;        // one per row
  std::span<RopeTable* const> rope_tables;         // by state slot of the layer
  std::span<KvCache* const> caches;                // [slot * runs.size() + run]
};

// State that a session keeps for a layer: asked for at prepare(), found again by `slot`.
struct StateNeeds {
  std::size_t slot = 0;
  AttentionConfig attention;
  RopeConfig rope;
  bool uses_rope = false;
};

// Tensors as layers pass them, with their shape. Ops that work on features see rows, which all axes but the last make.
struct ConstView {
  const float* data = nullptr;
  Shape shape;
  operator ConstTensor() const { return {data, shape.rows(), shape.cols()}; }
};
struct View {
  float* data = nullptr;
  Shape shape;
  operator Tensor() const { return {data, shape.rows(), shape.cols()}; }
  operator ConstTensor() const { return {data, shape.rows(), shape.cols()}; }
  operator ConstView() const { return {data, shape}; }
};

// What prepare() plans with beside the shape of the input.
struct PlanSizes {
  std::size_t max_positions = 0;
  int threads = 1;
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual std::string_view kind() const = 0;
  // ShapeMismatch names what came and what was expected.
  virtual Result<Shape> output_shape(const Shape& input) const = 0;
  // Arena bytes that forward() takes at most for an input of this shape, its ops included. The shape has passed output_shape().
  virtual std::size_t scratch_bytes(const PlanSizes& sizes, const Shape& input) const = 0;
  // y = f(x), y of output_shape(x.shape). x and y do not overlap.
  virtual void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const = 0;
  // Gives the layer (and its children) state slots from `next` on and reports what each needs.
  virtual void assign_state(std::size_t& /*next*/, std::vector<StateNeeds>& /*needs*/) {}
  // Weight bytes in memory.
  virtual std::size_t resident_bytes() const = 0;
  // Matrices by name, for reports: visit(name, matrix).
  virtual void visit_matrices(const std::string& /*path*/, const std::function<void(const std::string&, const Matrix&)>& /*visit*/) const {}
};

using LayerPtr = std::unique_ptr<Layer>;
using MatrixPtr = std::shared_ptr<const Matrix>;

constexpr std::size_t tensor_bytes(std::size_t rows, std::size_t cols) { return (rows * cols * sizeof(float) + 63) / 64 * 64 + 64; }
inline std::size_t tensor_bytes(const Shape& shape) { return tensor_bytes(shape.rows(), shape.cols()); }

}  // namespace loom
