#pragma once
// S6, the selective state-space layer of Mamba (Gu & Dao 2023, arXiv 2312.00752, section 3.2, algorithm 2), without the
// block around it: its convolution, gate and projections are layers of their own. x [B, T, D] or one sequence [T, D] ->
// y of the same shape.
//   dt = softplus(W_dt (W_in x) + bias), b = W_b x, c = W_c x             W_in [R, D], W_dt [D, R], W_b, W_c [N, D]
//   h_t = exp(dt_t a) h_(t-1) + dt_t b_t x_t,  y_t = c_t h_t + d_skip x_t  a = -exp(a_log), a_log [D, N]; the scan:
//     ops/scan
// mamba_ssm's x_proj is W_in, W_b and W_c one below the other, its dt_proj is W_dt and the bias.
//
// A fresh layer is initialised as in mamba_ssm: a_log[d, n] = log(n + 1), d_skip 1, a bias whose softplus is between
// 0.001 and 0.1. The state of a sample is [N * D], channels side by side for each n. After a sample's last valid step y
// is 0 and the state stays.
//
// Targets: dt, b and c are routing and fixed within an update, as attention's weights are. An input takes what the
// outputs that read it ask, divided by how much they read; d_skip learns by products of gaps, the other weights stay.

#include "layers/linear.h"
#include "ops/scan/scan.h"

namespace loom {

struct S6Config {
  std::size_t input_height = 0;  // D, channels
  std::size_t state_size = 16;   // N
  std::size_t dt_rank = 0;       // R; 0: D / 16, rounded up
  bool bias = true;              // of dt
  bool stateful = false;
};

class S6 final : public Layer {
 public:
  explicit S6(const S6Config& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override { return 2; }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  double tween_factor(const Weight& /*weight*/) const override { return 0.5; }
  std::optional<StateNeeds> state_needs() const override;

 private:
  std::size_t rank() const { return config_.dt_rank != 0 ? config_.dt_rank : (config_.input_height + 15) / 16; }
  // Forward keeps these tensors on the tape, in this order, and backward and target take them back.
  struct Kept {
    ConstView x, low, b, c, pre, dt, before;
  };
  Kept kept(const Run& run) const;
  // False, and an error in the run, where its lengths do not fit.
  bool shape_of(const Run& run, const Shape& x, ScanShape& shape) const;
  Scan scan_of(const Run& run, const ScanShape& shape, const Kept& kept) const;
  Tensor first_state(const Run& run, const ScanShape& shape, Element element) const;
  // Adds what each sample [B, elements] gave, in blocks of sixteen (numerics N-05).
  void add_of_samples(const Run& run, const Tensor& each, const Weight& weight) const;

  S6Config config_;
  Weight dt_in_, dt_, dt_bias_, b_, c_, a_log_, d_skip_;
  Weight none_;  // the bias of what has none
};

}  // namespace loom
