#pragma once
// A network is a place: a grid of cells addressed (z, y, x, l), flat index ((z * rows + y) * cols + x) * layers_per_cell + l.
// Cells are visited in ascending index; empty and disabled cells pass their input through. Immutable while sessions run it.

#include <cstdint>
#include <vector>

#include "layers/layer.h"

namespace loom {

struct GridSize {
  std::size_t depth = 1, rows = 1, cols = 1, layers_per_cell = 1;
};

struct Address {
  std::size_t z = 0, y = 0, x = 0, l = 0;
};

struct Cell {
  LayerPtr layer;        // null: empty
  bool enabled = true;
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
  Result<void> set_enabled(const Address& address, bool enabled);
  const Cell& cell(std::size_t index) const { return cells_[index]; }

  // Infers shapes from the input on and gives layers their state slots. ShapeMismatch names the cell. Later inputs may differ in
  // their leading axes where the layers allow it.
  Result<void> prepare(const Shape& input);
  const Shape& shape_after(std::size_t index) const { return shape_after_[index]; }
  const std::vector<StateNeeds>& state_needs() const { return state_needs_; }

  // Arena bytes of one forward over cells [begin, end) of a prepared network, activations included.
  std::size_t scratch_bytes(const PlanSizes& sizes, const Shape& input, std::size_t begin, std::size_t end) const;

  // Runs cells [begin, end); the result lives in the arena (or is x itself when nothing ran) until the caller rewinds it.
  ConstView forward(const Exec& exec, const Pass& pass, const ConstView& x, std::size_t begin, std::size_t end) const;

  std::size_t resident_bytes() const;
  std::string path(std::size_t index) const { return fmt::format("layers.{}", index); }

 private:
  bool runs(std::size_t index) const { return cells_[index].layer != nullptr && cells_[index].enabled; }
  GridSize size_;
  std::vector<Cell> cells_;
  std::vector<Shape> shape_after_;
  std::vector<StateNeeds> state_needs_;
};

}  // namespace loom
