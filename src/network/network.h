#pragma once
// A network is a place: a grid of cells addressed (z, y, x, l), flat index ((z * rows + y) * cols + x) * layers_per_cell + l.
// Cells are visited in ascending index; empty and disabled cells pass their input through. Immutable while sessions run it.

#include <cstdint>
#include <vector>

#include "layers/layer.h"
#include "network/settings.h"

namespace loom {

struct GridSize {
  std::size_t depth = 1, rows = 1, cols = 1, layers_per_cell = 1;
};

struct Address {
  std::size_t z = 0, y = 0, x = 0, l = 0;
};

struct Cell {
  LayerPtr layer;        // null: empty
  bool runs() const { return layer != nullptr && !layer->common.is_disabled; }
};

class Network {
 public:
  // InvalidConfig unless every extent is 1..65536 and the product at most 2^24.
  static Result<Network> create(const GridSize& size);

  const GridSize& size() const { return size_; }
  std::size_t num_cells() const { return cells_.size(); }
  // OutOfRange when a coordinate leaves its own extent.
  Result<std::size_t> index_of(const Address& address) const;
  Address address_of(std::size_t index) const;
  Result<void> place(const Address& address, LayerPtr layer);
  const Cell& cell(std::size_t index) const { return cells_[index]; }
  // The layer of a cell; OutOfRange outside the grid, NotFound for an empty cell.
  Result<Layer*> layer(const Address& address);

  NetworkSettings settings;

  // `samples` of a shape as one batch.
  static Shape with_batch(const Shape& sample, std::size_t samples);
  // Fills the weights that have no value, by rule and seed (engine J-02).
  Result<void> initialise();
  // Every matrix and typed vector to another type, in containers too (engine D-21). Fails before anything changes when a master is missing.
  Result<void> morph(DType dtype);
  void release_masters();
  // Infers shapes from the input on, numbers the weights and gives layers their state slots. ShapeMismatch names the cell. Later
  // inputs may differ in their leading axes where the layers allow it.
  Result<void> prepare(const Shape& input);
  const Shape& shape_after(std::size_t index) const { return shape_after_[index]; }
  const std::vector<StateNeeds>& state_needs() const { return state_needs_; }

  // Shape that cells [begin, end) make of an input, checked anew.
  Result<Shape> output_shape(const Shape& input, std::size_t begin, std::size_t end) const;

  // Runs cells [begin, end); the result lives in the arena (or is x itself when nothing ran) until the caller rewinds it. With a tape
  // every tensor between cells is kept.
  ConstView forward(const Exec& exec, const Pass& pass, const ConstView& x, std::size_t begin, std::size_t end) const;
  // The cells of the last forward in descending order; dx may have no data. The tape is empty afterwards.
  void backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx, std::size_t begin, std::size_t end) const;

  // visit("layers.3.sequential_layers.0.weight", weight, its layer), ascending; every weight once, ties left out.
  void visit_weights(const std::function<void(const std::string&, Weight&, Layer&)>& visit) const;
  std::size_t resident_bytes() const;
  static std::string path(std::size_t index) { return fmt::format("layers.{}", index); }
  // "cell (0,0,1,2)"
  std::string place_text(std::size_t index) const;

 private:
  std::size_t widest_output(const Shape& input, std::size_t begin, std::size_t end) const;
  GridSize size_;
  std::vector<Cell> cells_;
  std::vector<Shape> shape_after_;
  std::vector<StateNeeds> state_needs_;
};

}  // namespace loom
