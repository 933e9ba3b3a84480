#include "layers/lora/lora.h"

#include "layers/adapter.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind Lora::kKind{
    .id = 24,
    .name = "lora",
    .help = "a layer in which W x becomes W x + (alpha / rank) B (A x) for every matrix W",
    .shapes = "as in the layer inside",
    .make = make_layer<Lora>,
    .inside = Inside::Wrapped};

void Lora::fields(FieldVisitor& visit) {
  visit({"rank", "Rank of the adapters; 0: there are none"}, config_.rank, {0, 65536});
  visit({"alpha", "Each B (A x) counts alpha / rank times"}, config_.alpha);
  visit({"base_layer", "Required. The layer; matrices of layers inside it get adapters too"}, base_);
}

Result<void> Lora::build() {
  if (!base_) return fail(Code::InvalidConfig, "lora: base_layer, the layer to adapt, is missing");
  if (config_.rank == 0) return {};
  std::optional<Error> error;
  std::size_t matrices = 0;
  visit_layers("base_layer", *base_, [&](const std::string& place, Layer& layer) {
    layer.visit_weights([&](Weight& w) {
      if (common.freeze_base) w.freeze(true);
      if (error || w.role() != WeightRole::Matrix) return;
      ++matrices;
      if (auto done = attach_adapter(w, {"", w.name(), config_.rank, config_.alpha, true}); !done)
        error = std::move(done.error().under(path_steps(place)));
    });
  });
  if (error) return tl::make_unexpected(*std::move(error));
  if (matrices == 0) return fail(Code::InvalidConfig, "lora: base_layer has no matrix to adapt");
  return {};
}

void Lora::visit_children(const std::function<void(const std::string&, Layer&)>& visit) { visit("base_layer", *base_); }

Result<Shape> Lora::wired_shape(const Wiring* wiring, const Shape& input) const {
  if (base_->common.is_disabled) return input;
  auto out = base_->wired_shape(wiring, input);
  if (!out) return under({"base_layer"}, std::move(out).error());
  return out;
}

void Lora::forward(const Run& run, const ConstView& x, const View& y) const {
  base_->common.is_disabled ? copy(run, x, y) : run_forward(*base_, run, x, y);
}

void Lora::take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const {
  if (!base_->common.is_disabled) return run_backward(*base_, run, dy, dx, rules);
  if (dx.data != nullptr) copy(run, dy, dx);
}

}  // namespace loom
