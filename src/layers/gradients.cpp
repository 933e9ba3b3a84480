#include "layers/gradients.h"

#include <algorithm>
#include <utility>

#include "core/checked.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

Result<Gradients> Gradients::create(std::span<const Weight* const> weights, Element element, Device* device) {
  return create_shared(weights, std::vector<std::size_t>(weights.size()), element, device);
}

Result<Gradients> Gradients::create_shared(std::span<const Weight* const> weights, std::span<const std::size_t> groups,
                                           Element element, Device* device) {
  Gradients g;
  g.element_ = element, g.index_ = WeightIndex(weights);
  std::size_t bytes = 0, most = 0;
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (i > 0 && groups[i] != groups[i - 1]) bytes = 0;
    offsets.push_back(bytes);
    const std::size_t elements = weights[i]->is_frozen() ? 0 : weights[i]->elements();
    LOOM_TRY(const std::size_t size, checked_mul(elements, bytes_of(element)));
    g.slots_.push_back({nullptr, size, false});
    LOOM_TRY(bytes, checked_add(bytes, round_up(size, Buffer::kAlignment)));
    most = std::max(most, bytes);
  }
  auto made = Memory::create(device, most);
  if (!made) return at("gradients", std::move(made).error());
  g.memory_ = *std::move(made);
  for (std::size_t i = 0; i < offsets.size(); ++i) g.slots_[i].data = g.memory_.data() + offsets[i];
  return g;
}

void* Gradients::of(const Exec& exec, const Weight& weight) const {
  const Target to = target(exec, weight);
  if (to.fresh) fill_zero(exec, {to.data, 1, weight.elements(), element_});
  return to.data;
}

void* Gradients::of(const Weight& weight) const {
  if (slots_.empty() || weight.is_frozen()) return nullptr;
  Slot& slot = slot_of(weight);
  if (std::exchange(slot.fresh, false) && slot.bytes != 0)
    memory_.write(static_cast<std::size_t>(static_cast<std::byte*>(slot.data) - memory_.data()),
                  std::vector<std::byte>(slot.bytes));
  return slot.data;
}

Gradients::Target Gradients::target(const Exec& exec, const Weight& weight) const {
  if (slots_.empty() || weight.is_frozen()) return {nullptr, false};
  Slot& slot = slot_of(weight);
  const Target target{slot.data, slot.fresh};
  if (!exec.rehearsal()) slot.fresh = false;
  return target;
}

void Gradients::clear() {
  for (Slot& slot : slots_) slot.fresh = true;
}

void Gradients::clear(const Weight& weight) {
  if (!slots_.empty()) slot_of(weight).fresh = true;
}

void* Statistics::put(const Exec& exec, const Weight& weight, Element element) {
  const std::size_t bytes = weight.elements() * bytes_of(element);
  auto found = std::ranges::find_if(entries_, [&](const Entry& e) { return e.weight == &weight; });
  if (found == entries_.end()) found = entries_.insert(found, Entry{&weight, {}, false});
  if (found->memory.size() != bytes) {
    auto made = Memory::create(device_, bytes);
    if (!made) {
      exec.status = std::move(made).error();
      return nullptr;
    }
    found->memory = *std::move(made);
  }
  found->written = true;
  return found->memory.data();
}

const void* Statistics::latest(const Weight& weight) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& e) { return e.weight == &weight && e.written; });
  return found == entries_.end() ? nullptr : found->memory.data();
}

void Statistics::each(const std::function<void(const Weight&, const void*)>& visit) const {
  for (const Entry& e : entries_)
    if (e.written) visit(*e.weight, e.memory.data());
}

void Statistics::visit(const std::function<void(const Weight&, const void*)>& visit) const {
  std::vector<std::byte> values;
  for (const Entry& e : entries_) {
    if (!e.written) continue;
    values.resize(e.memory.size());
    e.memory.read(0, values);
    visit(*e.weight, values.data());
  }
}

void Statistics::clear() {
  for (Entry& e : entries_) e.written = false;
}

}  // namespace loom
