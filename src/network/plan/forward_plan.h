#pragma once
// A forward plan is all that forward and backward passes know of a network for one input shape: resolved links, the
// shape of each cell's output, the state that layers ask sessions for. It is immutable and shared by sessions of any
// threads; a network may have any number of them. Editing the network ends its use: sessions ask is_of().

#include <memory>
#include <span>
#include <vector>

#include "network/network.h"
#include "network/plan/links.h"

namespace loom {

class ForwardPlan {
 public:
  // Settles the network if an edit left it unsettled (Network::settle()). It keeps its cells while the plan is used.
  // ShapeMismatch names the cell; errors of settle() and of Links::resolve(). Later inputs may differ in their leading
  // axes where the layers allow it.
  static Result<std::shared_ptr<const ForwardPlan>> create(Network& network, const Shape& input);
  // Changes nothing, so threads may plan one network at the same time: InvalidState unless it is settled.
  static Result<std::shared_ptr<const ForwardPlan>> create(const Network& network, const Shape& input);

  const Shape& input() const { return input_; }
  const Shape& shape_after(std::size_t cell) const { return shape_after_[cell]; }
  // The state that layers ask a session for, by slot.
  const std::vector<StateNeeds>& state_needs() const { return links_.state_needs; }
  // The number of cells whose outputs links and skips read: a session gives Call::cells as many entries.
  std::size_t num_sources() const { return links_.sources.size(); }
  const Wiring& wiring() const { return links_.wiring; }
  // Returns whether the network has the layers and links that were planned: it is the same one, not edited since.
  bool is_of(const Network& network) const { return structure_ == network.structure(); }
  // Returns whether rows of a cell's output are probabilities.
  bool gives_distribution(std::size_t cell) const;

  // The shape that cells [begin, end) make of an input, checked again.
  Result<Shape> output_shape(const Shape& input, std::size_t begin, std::size_t end) const;
  Result<Shape> output_shape(const Shape& input) const { return output_shape(input, 0, cells_.size()); }

  // Runs cells [begin, end); the result is in the arena (or is x itself when nothing ran) until the caller rewinds it.
  // With a tape every tensor between cells is kept.
  ConstView forward(const Run& call, const ConstView& x, std::size_t begin, std::size_t end) const;
  // The cells of the last forward in descending order; dx may have no data. The tape is empty afterwards. With rules dy
  // and dx are gaps of targets.
  void backward(const Run& call, const ConstView& dy, const View& dx, std::size_t begin, std::size_t end,
                const TweenRules* rules = nullptr) const;

 private:
  ForwardPlan(const Network& network, const Shape& input);
  Result<void> infer(const Network& network);
  void forward_cell(const Run& run, std::size_t cell, const ConstView& x, const View& y) const;
  void backward_cell(const Run& run, std::size_t cell, const Shape& input, const ConstView& dy, const View& dx,
                     const TweenRules* rules) const;
  // Returns whether a weight of cells [begin, end), or one that they share, learns.
  bool learns(std::size_t begin, std::size_t end) const;
  // Returns whether cells from `begin` on make the planned shapes of this input, which need no second inference.
  bool is_planned(const Shape& input, std::size_t begin) const { return begin == 0 && input == input_; }
  // Shape of a cell's output; `outputs` holds the shapes of the sources so far.
  Result<Shape> shape_behind(std::size_t cell, const Shape& input, std::span<const ConstView> outputs) const;
  std::size_t widest_output(const Shape& input, std::span<ConstView> outputs, std::size_t begin, std::size_t end) const;

  std::span<const Cell> cells_;
  GridSize grid_;
  std::uint64_t structure_;
  Shape input_;
  std::vector<Shape> shape_after_;
  std::size_t widest_ = 0;  // elements of the largest output
  Links links_;
};

}  // namespace loom
