#include "layers/embedding/embedding.h"

#include <array>

#include "layers/activation_fields.h"
#include "layers/adapter.h"
#include "layers/tween.h"

namespace loom {

constinit const LayerKind Embedding::kKind{.id = 13,
                                           .name = "embedding",
                                           .help = "y = act(table[id] * embed_scale)",
                                           .shapes = "[...] of whole numbers -> [..., embedding_dim]",
                                           .make = make_layer<Embedding>,
                                           .width_key = "embedding_dim",
                                           .matrix = MatrixUse::Lookup,
                                           .fit = fit};

LayerPtr Embedding::fit(const FitRequest& r) {
  return std::make_unique<Embedding>(
      EmbeddingConfig{.vocab_size = r.vocab_size, .embedding_dim = r.d_model, .oob = OutOfTable::Zero});
}

void Embedding::fields(FieldVisitor& visit) {
  visit({"vocab_size|num_embeddings", "Required. Rows of the table: ids run from 0 to vocab_size - 1"},
        config_.vocab_size, {1});
  visit({"embedding_dim", "Required. Features of a row"}, config_.embedding_dim, {1});
  visit({"embed_scale", "Factor of what the table gives"}, config_.embed_scale);
  visit.choice({"oob", "An id outside of the table: error, or zero for a row of zeros"}, config_.oob,
               {"error", "zero"});
  visit_activation(visit, config_.activation);
}

Result<void> Embedding::build() {
  return table_.declare("table", WeightRole::Matrix, std::array{config_.vocab_size, config_.embedding_dim},
                        {WeightInit::Rule::Normal, 1, 1, 0.02});
}

Result<Shape> Embedding::output_shape(const Shape& input) const { return input.appended(config_.embedding_dim); }

void Embedding::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  const bool linear = config_.activation.is_linear();
  const View rows = run.keeps() && !linear ? run.view(y.shape, y.element) : y;
  std::span<const std::int32_t> ids = run.inputs.ids;
  if (ids.empty()) {
    const std::span<std::int32_t> read(run.take<std::int32_t>(x.shape.elements()), x.shape.elements());
    ids_from_values(run, x, config_.vocab_size, config_.oob, read);
    ids = read;
  }
  if (!run.exec.status) gather_rows(run, *table_.matrix(), ids, config_.embed_scale, rows, config_.oob);
  if (!run.exec.status) adapt_rows(run, table_, ids, config_.embed_scale, rows);
  if (!linear && !run.exec.status) activate(run, config_.activation, rows, y);
  run.save(ConstView{ids.data(), x.shape, Element::f32}, rows);  // ids: 32 bits each
}

bool Embedding::wants_gradients(const Run& run) const {
  return run.gradients != nullptr && (!table_.is_frozen() || is_adapted(table_, run.adapters));
}

void Embedding::add_rows(const Run& run, const ConstView& ids, std::size_t block, const ConstView& g,
                         double factor) const {
  const std::span<const std::int32_t> read(ids.as<std::int32_t>(), ids.shape.elements());
  if (void* const dtable = run.gradient(table_)) scatter_add_rows(run, read, factor, g, config_.vocab_size, dtable);
  adapt_rows_backward(run, table_, read, config_.embed_scale, g, block);
}

void Embedding::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const auto [ids, rows] = run.saved<2>();
  if (dx.data != nullptr) fill_zero(run, dx);
  if (!wants_gradients(run)) return;
  ConstView g = dy;
  if (!config_.activation.is_linear()) {
    const View slope = run.view(dy.shape, dy.element);
    activate_backward(run, config_.activation, rows, dy, slope);
    g = slope;
  }
  add_rows(run, ids, rows_of_block(rows.shape), g, config_.embed_scale);
}

void Embedding::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const auto [ids, rows] = run.saved<2>();
  if (d.data != nullptr) fill_zero(run, d);
  if (!wants_gradients(run)) return;
  ConstView g = e;
  if (!config_.activation.is_linear()) {
    const View before = run.view(e.shape, e.element);
    target_before_activation(run, rules, config_.activation, rows, e, before);
    g = before;
  }
  add_rows(run, ids, rows_of_block(rows.shape), g, 1);
}

}  // namespace loom
