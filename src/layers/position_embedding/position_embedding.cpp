#include "layers/position_embedding/position_embedding.h"

#include <array>

#include "layers/adapter.h"
#include "ops/gather/gather.h"
#include "ops/gemm/gemm.h"

namespace loom {

constinit const LayerKind PositionEmbedding::kKind{
    .id = 29,
    .name = "position_embedding",
    .aliases = "positionembedding",
    .help = "y = x + table[position]; positions count from 0 in each sample",
    .shapes = "[B, T, embedding_dim] -> the same shape",
    .make = make_layer<PositionEmbedding>,
    .width_key = "embedding_dim",
    .matrix = MatrixUse::Lookup};

void PositionEmbedding::fields(FieldVisitor& visit) {
  visit({"max_seq_len", "Required. Rows of the table: the most positions"}, config_.max_seq_len, {1});
  visit({"embedding_dim", "Required. Features of the input and of a row"}, config_.embedding_dim, {1});
}

Result<void> PositionEmbedding::build() {
  return table_.declare("table", WeightRole::Matrix, std::array{config_.max_seq_len, config_.embedding_dim},
                        {WeightInit::Rule::Normal, 1, 1, 0.02});
}

Result<Shape> PositionEmbedding::output_shape(const Shape& input) const {
  const std::size_t rank = input.rank();
  if (rank != 2 && rank != 3)
    return fail(Code::ShapeMismatch, "position_embedding: an input {}, expected [B, T, E] or [T, E]", input.text());
  if (input.cols() != config_.embedding_dim)
    return fail(Code::ShapeMismatch, "position_embedding: {} input features, the table has {}", input.cols(),
                config_.embedding_dim);
  if (input[rank - 2] > config_.max_seq_len)
    return fail(Code::ShapeMismatch, "position_embedding: {} positions, the table has {}", input[rank - 2],
                config_.max_seq_len);
  return input;
}

void PositionEmbedding::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena());
  const std::size_t rows = x.shape.rows(), length = x.shape[x.shape.rank() - 2];
  const std::span<std::int32_t> ids(run.note<std::int32_t>(rows), rows);
  for (std::size_t r = 0; r < rows && !run.rehearsal(); ++r) {
    const std::size_t position = run.inputs.positions.empty() ? r % length : run.inputs.positions[r];
    // gather_rows refuses the end
    ids[r] = static_cast<std::int32_t>(position < config_.max_seq_len ? position : config_.max_seq_len);
  }
  gather_rows(run, *table_.matrix(), ids, 1, y);
  if (!run.exec.status) adapt_rows(run, table_, ids, 1, y);
  if (!run.exec.status) add(run, x, y, y);
}

void PositionEmbedding::backward(const Run& run, const ConstView& dy, const View& dx) const {
  if (dx.data != nullptr) copy(run, dy, dx);
  if (run.gradients == nullptr) return;
  if (is_adapted(table_, run.adapters)) {
    const ArenaScope scope(run.arena());
    const std::size_t rows = dy.shape.rows(), length = dy.shape[dy.shape.rank() - 2];
    const std::span<std::int32_t> ids(run.note<std::int32_t>(rows), rows);
    for (std::size_t r = 0; r < rows && !run.rehearsal(); ++r) ids[r] = static_cast<std::int32_t>(r % length);
    adapt_rows_backward(run, table_, ids, 1, dy, 16 * length);
  }
  void* const dtable = run.gradients->of(run, table_);
  if (dtable == nullptr) return;
  // A sample is one row of T * E columns, which are the table's first T rows.
  const std::size_t samples = dy.shape.rank() == 3 ? dy.shape[0] : 1;
  add_column_sums(run, {dy.data, samples, dy.shape.elements() / samples, dy.element}, 16, dtable);
}

}  // namespace loom
