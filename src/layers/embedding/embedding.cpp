#include "layers/embedding/embedding.h"

#include "ops/gather/gather.h"

namespace loom {

Result<LayerPtr> Embedding::create(MatrixPtr table, float scale) { return LayerPtr(new Embedding(std::move(table), scale)); }

Result<std::size_t> Embedding::output_cols(std::size_t input_cols) const {
  if (input_cols != 1) return fail(Code::ShapeMismatch, "embedding: {} features given, expected one id per row", input_cols);
  return table_->cols();
}

void Embedding::forward(const Exec& exec, const Pass& pass, ConstTensor, Tensor y) const { gather_rows(exec, *table_, pass.ids, scale_, y); }

}  // namespace loom
