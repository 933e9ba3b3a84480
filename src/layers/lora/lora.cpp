#include "layers/lora/lora.h"

#include "layers/adapter.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

void Lora::fields(FieldVisitor& visit) {
  visit("rank", config_.rank, {0, 65536});
  visit("alpha", config_.alpha);
  visit("base_layer", base_);
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
        error = Error{done.error().code, fmt::format("lora: {}: {}", place, done.error().message)};
    });
  });
  if (error) return tl::make_unexpected(*std::move(error));
  if (matrices == 0) return fail(Code::InvalidConfig, "lora: base_layer has no matrix to adapt");
  return {};
}

void Lora::visit_children(const std::function<void(const std::string&, Layer&)>& visit) { visit("base_layer", *base_); }

Result<Shape> Lora::output_shape(const Shape& input) const {
  if (base_->common.is_disabled) return input;
  auto out = base_->output_shape(input);
  if (!out) return at("base_layer", std::move(out).error());
  return out;
}

void Lora::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  base_->common.is_disabled ? copy(exec, x, y) : run_forward(*base_, exec, pass, x, y);
}

void Lora::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  if (!base_->common.is_disabled) return run_backward(*base_, exec, pass, dy, dx);
  if (dx.data != nullptr) copy(exec, dy, dx);
}

}  // namespace loom
