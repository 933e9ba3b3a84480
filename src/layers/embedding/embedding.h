#pragma once
// y = table[id] * scale: ids (or rows of integral f32) to vectors. Table [vocab_size, embedding_dim]; engine L-100.

#include "layers/layer.h"

namespace loom {

class Embedding final : public Layer {
 public:
  static Result<LayerPtr> create(MatrixPtr table, float scale = 1.0f);

  std::string_view kind() const override { return "embedding"; }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes&, const Shape&) const override { return 0; }
  // IndexOutOfRange in exec.status for an id outside the table.
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  std::size_t resident_bytes() const override { return table_->resident_bytes(); }
  void visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const override {
    visit(path + ".table", *table_);
  }

 private:
  Embedding(MatrixPtr table, float scale) : table_(std::move(table)), scale_(scale) {}
  MatrixPtr table_;
  float scale_;
};

}  // namespace loom
