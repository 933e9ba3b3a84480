#pragma once
// y = table[id] * scale: ids (or rows of integral f32) to vectors. Table [vocab_size, embedding_dim]; engine L-100.

#include "layers/layer.h"

namespace loom {

struct EmbeddingConfig {
  std::size_t vocab_size = 0, embedding_dim = 0;
  double embed_scale = 1;
};

class Embedding final : public Layer {
 public:
  explicit Embedding(const EmbeddingConfig& config = {}) : config_(config) {}

  std::string_view kind() const override { return "embedding"; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override { visit(table_); }
  Result<Shape> output_shape(const Shape& input) const override;
  // IndexOutOfRange in exec.status for an id outside the table.
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;

 private:
  EmbeddingConfig config_;
  Weight table_;
};

}  // namespace loom
