#pragma once
// rnn (Elman 1990), lstm (Hochreiter & Schmidhuber 1997, forget gate as in Gers et al. 2000) and gru (Cho et al. 2014,
// with the reset gate after the product, as in cuDNN and PyTorch); engine 3.7. x [B, T, I] or one sequence [T, I]
// -> y [B, T, D * H], or the last valid h [B, D * H]; D is 2 when bidirectional.
//
// The reverse direction walks the same positions downwards: a sample's state stays at 0 (or h0) until its last valid
// step. Gradients of weights sum over the rows of x in their stored order, in blocks of sixteen samples. The gradient
// of h sums its gates' products as one chain64 over G * H. dx adds the reverse direction's gates, then the forward
// ones, each by its own chain.

#include <vector>

#include "layers/linear.h"
#include "ops/recurrent/recurrent.h"

namespace loom {

enum class RecurrentKind : std::uint8_t { Rnn, Lstm, Gru };

struct RecurrentConfig {
  std::size_t input_height = 0, output_height = 0;  // I and H
  std::size_t seq_length = 0;                       // advisory
  bool stateful = false, bidirectional = false, return_sequence = true, bias = true;
  enum class RnnActivation : std::uint8_t { Tanh, Relu } activation = RnnActivation::Tanh;
};

class Recurrent final : public Layer {
 public:
  explicit Recurrent(RecurrentKind kind, const RecurrentConfig& config = {}) : kind_(kind), config_(config) {}

  static const std::array<LayerKind, 3> kKinds;  // in the order of RecurrentKind
  const LayerKind& kind_row() const override { return kKinds[static_cast<std::size_t>(kind_)]; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override { return 2; }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  std::size_t tween_rows(const Shape& x, const Shape& /*y*/) const override { return x.rows(); }
  double tween_factor(const Weight& weight) const override;
  std::optional<StateNeeds> state_needs() const override;

 private:
  struct Gate {
    Weight weight_ih, weight_hh, bias, bias_hh;  // bias_hh: of gru's n alone, inside r * ( )
  };
  CellKind cell() const;
  std::size_t num_directions() const { return config_.bidirectional ? 2 : 1; }
  std::size_t num_gates() const { return gates_of(cell()); }
  const Gate& gate(std::size_t direction, std::size_t g) const { return gates_[direction * num_gates() + g]; }
  Result<void> declare_gate(Gate& gate, const std::string& prefix, bool forget, bool inner_bias) const;

  // Samples, steps, lengths of an input; false (and Exec::status) when the lengths do not fit.
  bool shape_of(const Run& run, const Shape& x, CellShape& shape) const;
  // The planes that a direction keeps, in their order on the tape.
  struct Planes {
    std::array<Tensor*, 8> all{};
    std::size_t count = 0;
    std::span<Tensor* const> span() const { return {all.data(), count}; }
  };
  Planes planes(CellTrace& trace) const;
  void forward_direction(const Run& run, const ConstView& x, const View& y, CellForward& task,
                         std::size_t direction) const;

  CellBackward task_back(const Run& run, const ConstView& x) const;
  void begin_direction(const Run& run, const ConstView& x, CellBackward& task) const;
  PackedOperand begin_steps(const Run& run, const ConstView& dy, CellBackward& task, std::size_t direction) const;
  void steps_back(const Run& run, const ConstView& dy, CellBackward& task, std::size_t direction) const;
  void add_products(const Run& run, const ConstView& x, const CellBackward& task, std::size_t direction,
                    const View& dx) const;
  // Gradients of what a gate adds to its x product: gru's n multiplies by r first.
  const Tensor& inner_sums(const CellBackward& task, std::size_t g) const {
    return task.dsums[task.shape.cell == CellKind::Gru && g == 2 ? 3 : g];
  }

  GateSlopes slopes_of(const Run& run, const TweenRules& rules, const ConstView& x, const CellBackward& task,
                       std::size_t direction) const;
  // The gaps of every step, from the last one on.
  void target_steps(const Run& run, const TweenRules& rules, CellBackward& task, const GateSlopes& slopes,
                    const PackedOperand& weights, std::size_t direction) const;

  RecurrentKind kind_;
  RecurrentConfig config_;
  std::vector<Gate> gates_;  // [direction][gate]
};

}  // namespace loom
