#pragma once
// Multi-head attention with grouped key-value heads, rotary positions, optional biases, q/k norms, an inner norm, a
// softcap, a sliding window and cross-attention; engine 3.8. x [batch, T, d] or [T, d] -> y with output_dim columns;
// each sample starts at position 0.
//   q, k, v = W x + b;  q, k normed (RMS) if asked, then rotated;  o = attention(q, k, v), normed if asked;  y = Wo o +
//     bo
// With cross, k and v come from a second input [batch, S, d]. In a session with caches the rows are those of its
// sequences, or each sample goes on from the last call.

#include <memory>

#include "core/mutex.h"
#include "layers/linear.h"

namespace loom {

// Over each head, or over all heads of q and of k.
enum class QkNorm : std::uint8_t { None, Head, Full };

struct MhaConfig {
  std::size_t d_model = 0, num_heads = 1;
  std::size_t num_kv_heads = 0, head_dim = 0, output_dim = 0;  // 0: num_heads, d_model / num_heads, d_model
  std::size_t query_dim = 0, kv_dim = 0;                       // heads times head_dim; 0: not stated
  bool qkv_bias = false, out_bias = false;
  bool causal = true, cross = false;
  bool uses_rope = true;
  RopeConfig rope{};  // dim 0: head_dim * partial_rotary_factor
  double partial_rotary_factor = 1;
  QkNorm qk_norm = QkNorm::None;
  bool inner_norm = false;
  double rms_norm_eps = 1e-6;
  std::size_t sliding_window = 0;  // 0: off
  double attn_scale = 0;           // 0: 1 / sqrt(head_dim)
  double logit_softcap = 0;        // 0: off
  std::size_t max_seq_len = 2048;  // of a sequence without a window
};

class Mha final : public Layer {
 public:
  explicit Mha(MhaConfig config = {}) : config_(std::move(config)) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  // InvalidConfig unless the heads divide as they must; Unsupported for rope scaling of other kinds.
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override { return 2; }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  double tween_factor(const Weight& weight) const override;
  std::optional<StateNeeds> state_needs() const override;

 private:
  static LayerPtr fit(const FitRequest& request);
  using RopeTablePtr = std::shared_ptr<const RopeTable>;
  Result<void> complete_config();
  AttentionConfig attention_config() const;
  float input_floor() const { return config_.inner_norm ? kBitnetFloor : 0.0f; }
  // Null and exec.status when the call cannot be computed.
  const ConstView* key_source(const Run& run, const ConstView& x) const;
  RopeTablePtr rope_table(const Exec& exec, std::size_t positions) const;
  void norm(const Exec& exec, ConstTensor x, const Weight& gain, Tensor y) const;
  void norm_backward(const Run& run, ConstTensor x, const Weight& gain, ConstTensor d, Tensor before,
                     std::size_t block) const;
  void norm_target(const Run& run, const TweenRules& rules, ConstTensor x, const Weight& gain, Tensor d,
                   std::size_t block) const;
  // Inputs of attention: q and k normed and rotated.
  struct AttentionSaved {
    const ConstView &q, &k, &v, &mask;
    std::size_t samples;
  };
  void target_of_values(const Run& run, const TweenRules& rules, const AttentionSaved& kept, const View& d_o,
                        const View& dv) const;
  struct CachedRows {
    std::span<const SequenceRows> sequences;
    std::span<const std::uint32_t> positions;
  };
  CachedRows cached_rows(const Run& run, const Shape& x) const;
  void forward_cached(const Run& run, const ConstView& x, const View& y) const;

  MhaConfig config_;
  Weight q_, k_, v_, o_, q_bias_, k_bias_, v_bias_, o_bias_, q_norm_, k_norm_, inner_norm_;
  // Sines and cosines of the positions that sequences have reached so far, for sessions without tables of their own.
  mutable Mutex rope_lock_;
  mutable RopeTablePtr rope_table_;
};

}  // namespace loom
