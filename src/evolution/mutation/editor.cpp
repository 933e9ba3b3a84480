#include "evolution/mutation/editor.h"

#include "network/clone.h"

namespace loom {

Result<Editor> Editor::create(Network& network, const Shape& input) {
  Editor editor(network, input);
  LOOM_TRY_VOID(network.prepare(input));
  if (network.num_cells() != 0) editor.output_ = network.shape_after(network.num_cells() - 1);
  return editor;
}

bool Editor::fits(Layer* parent) {
  if (parent != nullptr && !parent->build()) return false;
  return network_->prepare(input_) && network_->shape_after(network_->num_cells() - 1) == output_;
}

// What stood there before fitted.
void Editor::restore(Layer* parent) {
  const bool whole = (parent == nullptr || parent->build()) && network_->prepare(input_);
  LOOM_ASSERT(whole);
}

bool Editor::replace(const LayerPlace& place, LayerPtr layer) {
  const auto exchange = [&] {
    if (place.slot == nullptr) {
      layer = network_->exchange(place.cell, std::move(layer));
    } else {
      network_->unresolve();
      std::swap(*place.slot, layer);
    }
  };
  exchange();
  if (fits(place.parent)) return true;
  exchange();
  restore(place.parent);
  return false;
}

bool Editor::toggle(Layer& layer) {
  layer.common.is_disabled = !layer.common.is_disabled;
  if (fits(nullptr)) return true;
  layer.common.is_disabled = !layer.common.is_disabled;
  restore(nullptr);
  return false;
}

bool Editor::append(Layer& container, std::vector<LayerPtr>& children, LayerPtr child) {
  network_->unresolve();
  children.push_back(std::move(child));
  if (fits(&container)) return true;
  network_->unresolve();
  children.pop_back();
  restore(&container);
  return false;
}

bool Editor::remove(Layer& container, std::vector<LayerPtr>& children, std::size_t child) {
  network_->unresolve();
  LayerPtr taken = std::move(children[child]);
  const auto place = children.begin() + static_cast<std::ptrdiff_t>(child);
  children.erase(place);
  if (fits(&container)) return true;
  network_->unresolve();
  children.insert(children.begin() + static_cast<std::ptrdiff_t>(child), std::move(taken));
  restore(&container);
  return false;
}

bool Editor::wrap(std::size_t cell, LayerPtr parallel) {
  std::vector<LayerPtr>& branches = *child_list(*parallel, "parallel_branches");
  branches[0] = network_->exchange(cell, nullptr);
  network_->exchange(cell, std::move(parallel));
  if (fits(nullptr)) return true;
  parallel = network_->exchange(cell, nullptr);
  network_->exchange(cell, std::move(branches[0]));
  restore(nullptr);
  return false;
}

bool Editor::unwrap(const LayerPlace& place, std::vector<LayerPtr>& branches) {
  network_->unresolve();
  LayerPtr layer = std::move(branches[0]);
  const auto exchange = [&] {
    if (place.slot == nullptr)
      layer = network_->exchange(place.cell, std::move(layer));
    else
      std::swap(*place.slot, layer);
  };
  exchange();
  if (fits(place.parent)) return true;
  network_->unresolve();
  exchange();
  branches[0] = std::move(layer);
  restore(place.parent);
  return false;
}

}  // namespace loom
