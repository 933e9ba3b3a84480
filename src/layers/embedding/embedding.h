#pragma once
// y = act(table[id] * scale): ids to vectors. Table [vocab_size, embedding_dim]; engine L-100. Ids are the pass's, one
// per row, or else the integral values of x.

#include "layers/layer.h"
#include "ops/gather/gather.h"

namespace loom {

struct EmbeddingConfig {
  std::size_t vocab_size = 0, embedding_dim = 0;
  double embed_scale = 1;
  OutOfTable oob = OutOfTable::Error;  // an id that is no row of the table
  ActivationFn activation{};
};

class Embedding final : public Layer {
 public:
  explicit Embedding(const EmbeddingConfig& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  void visit_weights(const std::function<void(Weight&)>& visit) override { visit(table_); }
  Result<Shape> output_shape(const Shape& input) const override;
  // IndexOutOfRange in exec.status for an id outside the table.
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  // dx is 0.
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;
  // every occurrence counts
  std::size_t tween_rows(const Shape& /*x*/, const Shape& /*y*/) const override { return 1; }

 private:
  static LayerPtr fit(const FitRequest& request);
  bool wants_gradients(const Run& run) const;
  // Adds factor * g to the rows of the table that were read.
  void add_rows(const Run& run, const ConstView& ids, std::size_t block, const ConstView& g, double factor) const;
  EmbeddingConfig config_;
  Weight table_;
};

}  // namespace loom
