#pragma once
// y = x + P[position]: x [B, T, E] or [T, E], P [max_seq_len, E]; positions count from 0 in every sample, or are the
// pass's. Engine 3.11.

#include "layers/layer.h"

namespace loom {

struct PositionEmbeddingConfig {
  std::size_t max_seq_len = 0, embedding_dim = 0;
};

class PositionEmbedding final : public Layer {
 public:
  explicit PositionEmbedding(const PositionEmbeddingConfig& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override { visit(table_); }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override { return 2; }
  // IndexOutOfRange in exec.status for a position of the pass outside the table.
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  // every occurrence counts
  std::size_t tween_rows(const Shape& /*x*/, const Shape& /*y*/) const override { return 1; }

 private:
  PositionEmbeddingConfig config_;
  Weight table_;
};

}  // namespace loom
