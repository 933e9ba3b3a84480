#include "layers/position_embedding/position_embedding.h"

#include <array>

#include "layers/adapter.h"
#include "ops/for_rows.h"
#include "ops/gather/gather.h"
#include "ops/gemm/gemm.h"

namespace loom {

void PositionEmbedding::fields(FieldVisitor& visit) {
  visit("max_seq_len", config_.max_seq_len, {1});
  visit("embedding_dim", config_.embedding_dim, {1});
}

Result<void> PositionEmbedding::build() {
  return table_.declare("table", WeightRole::Matrix, std::array{config_.max_seq_len, config_.embedding_dim}, {WeightInit::Rule::Normal, 1, 1, 0.02});
}

Result<Shape> PositionEmbedding::output_shape(const Shape& input) const {
  const std::size_t rank = input.rank();
  if (rank != 2 && rank != 3) return fail(Code::ShapeMismatch, "position_embedding: an input {}, expected [B, T, E] or [T, E]", input.text());
  if (input.cols() != config_.embedding_dim)
    return fail(Code::ShapeMismatch, "position_embedding: {} input features, the table has {}", input.cols(), config_.embedding_dim);
  if (input[rank - 2] > config_.max_seq_len)
    return fail(Code::ShapeMismatch, "position_embedding: {} positions, the table has {}", input[rank - 2], config_.max_seq_len);
  return input;
}

void PositionEmbedding::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena);
  const std::size_t rows = x.shape.rows(), length = x.shape[x.shape.rank() - 2];
  const std::span<std::int32_t> ids(exec.arena.take<std::int32_t>(rows), rows);
  for_elements(exec, rows, [&](std::size_t at, std::size_t n) {
    for (std::size_t r = at; r < at + n; ++r) {
      const std::size_t position = pass.positions.empty() ? r % length : pass.positions[r];
      ids[r] = static_cast<std::int32_t>(position < config_.max_seq_len ? position : config_.max_seq_len);  // gather_rows refuses the end
    }
  });
  gather_rows(exec, *table_.matrix(), ids, 1, y);
  if (!exec.status) adapt_rows(exec, table_, ids, 1, y);
  if (!exec.status) add(exec, x, y, y);
}

void PositionEmbedding::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  if (dx.data != nullptr) copy(exec, dy, dx);
  if (pass.gradients == nullptr) return;
  if (is_adapted(table_)) {
    const ArenaScope scope(exec.arena);
    const std::size_t rows = dy.shape.rows(), length = dy.shape[dy.shape.rank() - 2];
    const std::span<std::int32_t> ids(exec.arena.take<std::int32_t>(rows), rows);
    for_elements(exec, rows, [&](std::size_t at, std::size_t n) {
      for (std::size_t r = at; r < at + n; ++r) ids[r] = static_cast<std::int32_t>(r % length);
    });
    adapt_rows_backward(exec, pass, table_, ids, 1, dy, 16 * length);
  }
  void* const dtable = pass.gradients->of(table_);
  if (dtable == nullptr) return;
  // A sample is one row of T * E columns, which are the table's first T rows.
  const std::size_t samples = dy.shape.rank() == 3 ? dy.shape[0] : 1;
  add_column_sums(exec, {dy.data, samples, dy.shape.elements() / samples, dy.element}, 16, dtable);
}

}  // namespace loom
