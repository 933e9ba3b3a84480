#pragma once
// Multi-head attention with grouped key-value heads, rotary positions, optional biases, per-head q/k norms and a sliding window;
// engine 3.8. x [rows, d] -> y [rows, output_dim].
//   q, k, v = W x + b;  q, k normed per head (RMS) if asked, then rotated;  o = attention(q, k, v);  y = Wo o + bo

#include "layers/layer.h"

namespace loom {

struct MhaConfig {
  std::size_t heads = 0, kv_heads = 0, head_dim = 0;
  std::size_t sliding_window = 0;   // 0: off
  float scale = 0;                  // 0: 1 / sqrt(head_dim)
  float norm_eps = 1e-6f;           // of the q/k norms
  bool uses_rope = true;
  RopeConfig rope;
};

struct MhaWeights {
  MatrixPtr q, k, v, o;
  std::vector<float> q_bias, k_bias, v_bias, o_bias;   // empty: none
  std::vector<float> q_norm, k_norm;                   // [head_dim] each; empty: none
};

class Mha final : public Layer {
 public:
  static Result<LayerPtr> create(const MhaConfig& config, MhaWeights weights);

  std::string_view kind() const override { return "mha"; }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes& sizes, const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  void assign_state(std::size_t& next, std::vector<StateNeeds>& needs) override;
  std::size_t resident_bytes() const override;
  void visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const override;

 private:
  Mha(const MhaConfig& config, MhaWeights weights) : config_(config), w_(std::move(weights)) {}
  AttentionConfig attention_config() const;
  MhaConfig config_;
  MhaWeights w_;
  std::size_t slot_ = 0;
};

}  // namespace loom
