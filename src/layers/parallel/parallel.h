#pragma once
// The same input to every branch, the outputs combined (engine V-33..V-38).
//   concat        side by side on one axis, or each flattened to [B, n] first
//   add, avg      sum in branch order; times 1 / number of enabled branches
//   grid_scatter  each branch [lead..., F] into a cell of a grid D x R x C, summed in branch order, zeros elsewhere
//   filter        a mixture of experts weighted by a gate (Shazeer et al. 2017)
// A disabled branch gives zeros to concat and grid_scatter and is left out of the others. Without branches the input
// passes through. Backward sums dx from the last branch to the first, the gate's share last.

#include "layers/layer.h"
#include "ops/mix/mix.h"
#include "ops/slices/slices.h"

namespace loom {

struct ParallelConfig {
  enum class Combine : std::uint8_t { Concat, Add, Avg, GridScatter, Filter } combine_mode = Combine::Concat;
  AxisSizes concat_axis;  // empty: the last
  bool flatten = false;
  std::size_t depth = 0, rows = 0, cols = 0;  // of the scatter grid; all 0: 1 x 1 x branches
  enum class Layout : std::uint8_t { Flat, Grid, ChannelsFirst } scatter_layout = Layout::Flat;
  double gate_temperature = 1, gate_aux_weight = 0;
  std::size_t top_k = 0;  // 0: all
  enum class Scope : std::uint8_t { Row, Sample } gate_scope = Scope::Row;
};

class Parallel final : public Layer {
 public:
  explicit Parallel(ParallelConfig config = {}, std::vector<LayerPtr> branches = {}, LayerPtr gate = nullptr)
      : config_(std::move(config)), branches_(std::move(branches)), gate_(std::move(gate)) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_children(const std::function<void(const std::string&, Layer&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override { return wired_shape(nullptr, input); }
  Result<Shape> wired_shape(const Wiring* wiring, const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;

  const ParallelConfig& config() const { return config_; }
  const std::vector<LayerPtr>& branches() const { return branches_; }
  // Hands the branches over, for grafting.
  std::vector<LayerPtr> take_branches() { return std::move(branches_); }

 private:
  using Combine = ParallelConfig::Combine;
  // Location of a branch's output in y (concat, grid_scatter).
  struct Piece {
    Slices slices;
    SlicePlace own, place;
  };
  bool is_enabled(std::size_t i) const { return !branches_[i]->common.is_disabled; }
  std::size_t num_enabled() const;
  const char* gate_setting() const;
  std::size_t num_cells() const { return depth_ * rows_ * cols_; }
  Result<Shape> concat_shape(const Wiring* wiring, const Shape& input) const;
  Result<Shape> scatter_shape(const Shape& branch) const;
  Result<void> check_gate(const Wiring* wiring, const Shape& input, const Shape& y) const;
  Piece piece(std::size_t branch, const Shape& shape, const Shape& y, std::size_t& position) const;
  GateRule rule(const Run& run) const;
  void mix_forward(const Run& run, const ConstView& x, const View& y) const;
  void mix_target(const Run& run, const TweenRules& rules, const ConstView& dy, const View& dx) const;
  void mix_backward(const Run& run, const ConstView& dy, const View& dx) const;
  // Runs one branch's backward and adds what it gives to dx.
  void take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const;
  void branch_backward(const Run& run, const Layer& branch, const ConstView& dy, const View& dx, bool& is_first,
                       const TweenRules* rules = nullptr) const;

  ParallelConfig config_;
  std::vector<LayerPtr> branches_;
  LayerPtr gate_;
  std::size_t depth_ = 1, rows_ = 1, cols_ = 1;
  std::vector<std::size_t> cells_;  // of each branch, flat
};

}  // namespace loom
