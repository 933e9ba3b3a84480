#include "layers/embedding/embedding.h"

#include <array>

#include "layers/activation_fields.h"
#include "layers/adapter.h"
#include "layers/tween.h"

namespace loom {

void Embedding::fields(FieldVisitor& visit) {
  visit("vocab_size", config_.vocab_size, {1});
  visit("embedding_dim", config_.embedding_dim, {1});
  visit("embed_scale", config_.embed_scale);
  visit.choice("oob", config_.oob, {"error", "zero"});
  visit_activation(visit, config_.activation);
}

Result<void> Embedding::build() {
  return table_.declare("table", WeightRole::Matrix, std::array{config_.vocab_size, config_.embedding_dim}, {WeightInit::Rule::Normal, 1, 1, 0.02});
}

Result<Shape> Embedding::output_shape(const Shape& input) const { return input.appended(config_.embedding_dim); }

void Embedding::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena, pass.keeps());
  const bool linear = config_.activation.is_linear();
  const View rows = pass.keeps() && !linear ? exec.arena.view(y.shape, y.element) : y;
  std::span<const std::int32_t> ids = pass.ids;
  if (ids.empty()) {
    const std::span<std::int32_t> read(exec.arena.take<std::int32_t>(x.shape.elements()), x.shape.elements());
    ids_from_values(exec, x, config_.vocab_size, config_.oob, read);
    ids = read;
  }
  if (!exec.status) gather_rows(exec, *table_.matrix(), ids, config_.embed_scale, rows, config_.oob);
  if (!exec.status) adapt_rows(exec, table_, ids, config_.embed_scale, rows);
  if (!linear && !exec.status) activate(exec, config_.activation, rows, y);
  if (!pass.keeps()) return;
  pass.tape->push({ids.data(), x.shape, Element::f32});  // ids: 32 bits each
  pass.tape->push(rows);
}

void Embedding::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView rows = pass.tape->pop(), ids = pass.tape->pop();
  if (dx.data != nullptr) fill_zero(exec, dx);
  void* const dtable = pass.gradients == nullptr ? nullptr : pass.gradients->of(table_);
  if (dtable == nullptr && (pass.gradients == nullptr || !is_adapted(table_))) return;
  ConstView g = dy;
  if (!config_.activation.is_linear()) {
    const View slope = exec.arena.view(dy.shape, dy.element);
    through_activation(exec, pass, config_.activation, rows, dy, slope);
    g = slope;
  }
  const std::span<const std::int32_t> read(ids.as<std::int32_t>(), ids.shape.elements());
  if (dtable != nullptr) scatter_add_rows(exec, read, pass.tween != nullptr ? 1 : config_.embed_scale, g, config_.vocab_size, dtable);
  adapt_rows_backward(exec, pass, table_, read, config_.embed_scale, g, rows_of_block(rows.shape));
}

}  // namespace loom
