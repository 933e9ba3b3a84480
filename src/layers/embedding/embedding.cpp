#include "layers/embedding/embedding.h"

#include "ops/gather/gather.h"

namespace loom {

Result<LayerPtr> Embedding::create(MatrixPtr table, float scale) { return LayerPtr(new Embedding(std::move(table), scale)); }

Result<Shape> Embedding::output_shape(const Shape& input) const { return input.appended(table_->cols()); }

void Embedding::forward(const Exec& exec, const Pass& pass, const ConstView&, const View& y) const { gather_rows(exec, *table_, pass.ids, scale_, y); }

}  // namespace loom
