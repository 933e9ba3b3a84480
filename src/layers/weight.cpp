#include "layers/weight.h"

#include <utility>

namespace loom {

Result<void> Weight::declare(std::string name, WeightRole role, std::span<const std::size_t> extents,
                             const WeightInit& init, std::size_t parts) {
  auto shape = Shape::create(extents);
  if (!shape) return at(name, std::move(shape).error());
  *this = Weight();
  form_ = {std::move(name), role, *shape, parts}, init_ = init;
  LOOM_ASSERT(rows() % parts == 0);
  own_ = values_ = std::make_shared<WeightValues>(form_);
  return {};
}

Result<void> Weight::tie(const Weight& owner) {
  const WeightForm& form = owner.values_->form();
  if (!(form.shape == shape()))
    return fail(Code::ShapeMismatch, "{} of shape {} is tied to {} of shape {}", name(), shape().text(), form.name,
                form.shape.text());
  values_ = owner.values_;
  return {};
}

}  // namespace loom
