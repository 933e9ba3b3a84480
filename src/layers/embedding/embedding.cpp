#include "layers/embedding/embedding.h"

#include <array>

#include "ops/gather/gather.h"

namespace loom {

void Embedding::fields(FieldVisitor& visit) {
  visit("vocab_size", config_.vocab_size, {1});
  visit("embedding_dim", config_.embedding_dim, {1});
  visit("embed_scale", config_.embed_scale);
}

Result<void> Embedding::build() {
  return table_.declare("table", WeightRole::Matrix, std::array{config_.vocab_size, config_.embedding_dim}, {WeightInit::Rule::Normal, 1, 1, 0.02});
}

Result<Shape> Embedding::output_shape(const Shape& input) const { return input.appended(config_.embedding_dim); }

void Embedding::forward(const Exec& exec, const Pass& pass, const ConstView&, const View& y) const {
  gather_rows(exec, *table_.matrix(), pass.ids, static_cast<float>(config_.embed_scale), y);
}

}  // namespace loom
