#pragma once
// Multi-head attention with grouped key-value heads, rotary positions, optional biases, per-head q/k norms and a sliding window;
// engine 3.8. x [rows, d] -> y [rows, output_dim].
//   q, k, v = W x + b;  q, k normed per head (RMS) if asked, then rotated;  o = attention(q, k, v);  y = Wo o + bo

#include "layers/linear.h"

namespace loom {

struct MhaConfig {
  std::size_t d_model = 0, num_heads = 1;
  std::size_t num_kv_heads = 0, head_dim = 0, output_dim = 0;  // 0: num_heads, d_model / num_heads, d_model
  bool qkv_bias = false, out_bias = false;
  bool uses_rope = true;
  RopeConfig rope;                  // dim 0: all of a head
  bool head_norm = false;           // q and k are normed per head
  double rms_norm_eps = 1e-6;
  std::size_t sliding_window = 0;   // 0: off
  double attn_scale = 0;            // 0: 1 / sqrt(head_dim)
};

class Mha final : public Layer {
 public:
  explicit Mha(MhaConfig config = {}) : config_(std::move(config)) {}

  std::string_view kind() const override { return "mha"; }
  void fields(FieldVisitor& visit) override;
  // InvalidConfig unless the heads divide as they must.
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  void assign_state(std::size_t& next, std::vector<StateNeeds>& needs) override;

 private:
  AttentionConfig attention_config() const;
  MhaConfig config_;
  Weight q_, k_, v_, o_, q_bias_, k_bias_, v_bias_, o_bias_, q_norm_, k_norm_;
  std::size_t slot_ = 0;
};

}  // namespace loom
