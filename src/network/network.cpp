#include "network/network.h"

#include <algorithm>

#include "core/checked.h"

namespace loom {

Result<Network> Network::create(const GridSize& s) {
  for (const std::size_t extent : {s.depth, s.rows, s.cols, s.layers_per_cell})
    if (extent < 1 || extent > 65536)
      return fail(Code::InvalidConfig, "grid {} x {} x {} x {}: every extent must be 1..65536", s.depth, s.rows, s.cols, s.layers_per_cell);
  const std::size_t cells = s.depth * s.rows * s.cols * s.layers_per_cell;  // at most 2^64 - 1: four factors of at most 2^16
  if (s.depth * s.rows > (std::size_t{1} << 24) || cells > (std::size_t{1} << 24))
    return fail(Code::InvalidConfig, "grid {} x {} x {} x {} has more than 2^24 cells", s.depth, s.rows, s.cols, s.layers_per_cell);
  Network n;
  n.size_ = s;
  n.cells_.resize(cells);
  return n;
}

Result<std::size_t> Network::index_of(const Address& a) const {
  if (a.z >= size_.depth || a.y >= size_.rows || a.x >= size_.cols || a.l >= size_.layers_per_cell)
    return fail(Code::OutOfRange, "cell ({},{},{},{}) is outside the grid {} x {} x {} x {}", a.z, a.y, a.x, a.l, size_.depth, size_.rows, size_.cols,
                size_.layers_per_cell);
  return ((a.z * size_.rows + a.y) * size_.cols + a.x) * size_.layers_per_cell + a.l;
}

Address Network::address_of(std::size_t index) const {
  Address a;
  a.l = index % size_.layers_per_cell, index /= size_.layers_per_cell;
  a.x = index % size_.cols, index /= size_.cols;
  a.y = index % size_.rows, a.z = index / size_.rows;
  return a;
}

Result<void> Network::place(const Address& address, LayerPtr layer) {
  LOOM_TRY(const std::size_t index, index_of(address));
  cells_[index].layer = std::move(layer);
  return {};
}

Result<void> Network::set_enabled(const Address& address, bool enabled) {
  LOOM_TRY(const std::size_t index, index_of(address));
  cells_[index].enabled = enabled;
  return {};
}

Result<void> Network::prepare(const Shape& input) {
  shape_after_.clear();
  state_needs_.clear();
  Shape shape = input;
  std::size_t next_slot = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i].layer) cells_[i].layer->assign_state(next_slot, state_needs_);
    if (runs(i)) {
      auto out = cells_[i].layer->output_shape(shape);
      if (!out) {
        const Address a = address_of(i);
        return at(fmt::format("cell ({},{},{},{})", a.z, a.y, a.x, a.l), std::move(out).error());
      }
      shape = *out;
    }
    shape_after_.push_back(shape);
  }
  return {};
}

std::size_t Network::scratch_bytes(const PlanSizes& sizes, const Shape& input, std::size_t begin, std::size_t end) const {
  std::size_t widest = 0, inside = 0;
  Shape shape = input;
  for (std::size_t i = begin; i < end; ++i) {
    if (!runs(i)) continue;
    inside = std::max(inside, cells_[i].layer->scratch_bytes(sizes, shape));
    shape = *cells_[i].layer->output_shape(shape);
    widest = std::max(widest, tensor_bytes(shape));
  }
  return 2 * widest + inside;
}

ConstView Network::forward(const Exec& exec, const Pass& pass, const ConstView& x, std::size_t begin, std::size_t end) const {
  std::size_t widest = 0;
  Shape shape = x.shape;
  for (std::size_t i = begin; i < end; ++i) {
    if (!runs(i)) continue;
    shape = *cells_[i].layer->output_shape(shape);  // checked at prepare()
    widest = std::max(widest, shape.elements());
  }
  // Two buffers take turns: a cell reads one and writes the other.
  float* const buffers[2] = {exec.arena.take<float>(widest), exec.arena.take<float>(widest)};
  ConstView current = x;
  std::size_t turn = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!runs(i)) continue;
    if (exec.cancel && exec.cancel->load(std::memory_order_relaxed) && !exec.status) exec.status = Error{Code::Cancelled, "cancelled by the caller"};
    if (exec.status) break;
    const View y{buffers[turn], *cells_[i].layer->output_shape(current.shape)};
    turn ^= 1;
    cells_[i].layer->forward(exec, pass, current, y);
    current = y;
  }
  return current;
}

std::size_t Network::resident_bytes() const {
  std::size_t bytes = 0;
  for (const Cell& cell : cells_)
    if (cell.layer) bytes += cell.layer->resident_bytes();
  return bytes;
}

}  // namespace loom
