#include "evolution/mutation/editor.h"

#include <algorithm>
#include <optional>

#include "layers/lora/lora.h"
#include "network/spec/clone.h"

namespace loom {
namespace {

// Number of layers that a forward pass runs. Links to links double it with every step, so each cell is counted once.
// The network is planned: no cycles.
class Operations {
 public:
  explicit Operations(const Network& network) : network_(network), known_(network.num_cells()) {}
  std::size_t all() {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < known_.size(); ++i)
      if (network_.cell(i).runs()) sum += of_cell(i);
    return sum;
  }

 private:
  std::size_t of_cell(std::size_t index) {
    const Cell& cell = network_.cell(index);
    if (!known_[index]) known_[index] = cell.is_fed() + (cell.operation() != nullptr ? of(*cell.operation()) : 0);
    return *known_[index];
  }
  std::size_t of(Layer& layer) {
    std::size_t sum = 1;
    if (const Share* share = layer_as<Share>(layer)) return sum + of_cell(network_.target_of(*share).value());
    layer.visit_children([&](const std::string&, Layer& child) { sum += of(child); });
    return sum;
  }
  const Network& network_;
  std::vector<std::optional<std::size_t>> known_;
};

}  // namespace

Result<Editor> Editor::create(Network& network, const Shape& input, std::size_t max_operations) {
  Editor editor(network, input);
  LOOM_TRY(editor.plan_, ForwardPlan::create(network, input));
  editor.max_operations_ = std::max(max_operations, Operations(network).all());
  if (network.num_cells() != 0) editor.output_ = editor.plan_->shape_after(network.num_cells() - 1);
  return editor;
}

bool Editor::replan() {
  auto plan = ForwardPlan::create(*network_, input_);
  if (plan) plan_ = *std::move(plan);
  return plan_->is_of(*network_);
}

bool Editor::fits(Layer* parent) {
  if (parent != nullptr && !parent->build()) return false;
  return replan() && plan_->shape_after(network_->num_cells() - 1) == output_ &&
         Operations(*network_).all() <= max_operations_;
}

// Cannot fail: the layers that it restores fitted before.
void Editor::restore(Layer* parent) {
  const bool whole = (parent == nullptr || parent->build()) && replan();
  LOOM_ASSERT(whole);
}

bool Editor::replace(const LayerPlace& place, LayerPtr layer) {
  Cell other(std::move(layer));
  const auto exchange = [&] {
    if (place.slot == nullptr) {
      other = network_->exchange(place.cell, std::move(other));
    } else {
      network_->edit();
      std::swap(*place.slot, other.layer);
    }
  };
  exchange();
  if (fits(place.parent)) return true;
  exchange();
  restore(place.parent);
  return false;
}

bool Editor::toggle(const LayerPlace& place) {
  CommonSettings& settings = place.slot != nullptr ? (*place.slot)->common : network_->cell(place.cell).settings();
  Layer* parent = place.parent;
  // its build() would attach the adapters once more
  if (parent != nullptr && layer_as<Lora>(*parent) != nullptr) parent = nullptr;
  network_->edit();
  settings.is_disabled = !settings.is_disabled;
  if (fits(parent)) return true;
  network_->edit();
  settings.is_disabled = !settings.is_disabled;
  restore(parent);
  return false;
}

bool Editor::append(Layer& container, std::vector<LayerPtr>& children, LayerPtr child) {
  network_->edit();
  children.push_back(std::move(child));
  if (fits(&container)) return true;
  network_->edit();
  children.pop_back();
  restore(&container);
  return false;
}

bool Editor::remove(Layer& container, std::vector<LayerPtr>& children, std::size_t child) {
  network_->edit();
  LayerPtr taken = std::move(children[child]);
  const auto place = children.begin() + static_cast<std::ptrdiff_t>(child);
  children.erase(place);
  if (fits(&container)) return true;
  network_->edit();
  children.insert(children.begin() + static_cast<std::ptrdiff_t>(child), std::move(taken));
  restore(&container);
  return false;
}

bool Editor::wrap(std::size_t cell, LayerPtr parallel) {
  std::vector<LayerPtr>& branches = *child_list(*parallel, "parallel_branches");
  branches[0] = network_->exchange(cell, {}).layer;
  network_->exchange(cell, std::move(parallel));
  if (fits(nullptr)) return true;
  parallel = network_->exchange(cell, {}).layer;
  network_->exchange(cell, std::move(branches[0]));
  restore(nullptr);
  return false;
}

bool Editor::unwrap(const LayerPlace& place, std::vector<LayerPtr>& branches) {
  network_->edit();
  LayerPtr layer = std::move(branches[0]);
  const auto exchange = [&] {
    if (place.slot == nullptr)
      layer = network_->exchange(place.cell, std::move(layer)).layer;
    else
      std::swap(*place.slot, layer);
  };
  exchange();
  if (fits(place.parent)) return true;
  network_->edit();
  exchange();
  branches[0] = std::move(layer);
  restore(place.parent);
  return false;
}

}  // namespace loom
