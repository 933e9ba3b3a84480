#include "layers/gradients.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"

namespace loom {

Result<Gradients> Gradients::create(std::span<const std::size_t> elements, Element element) {
  return create_shared(elements, std::vector<std::size_t>(elements.size()), element);
}

Result<Gradients> Gradients::create_shared(std::span<const std::size_t> elements, std::span<const std::size_t> groups, Element element) {
  Gradients g;
  g.element_ = element;
  std::size_t bytes = 0, most = 0;
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0 && groups[i] != groups[i - 1]) bytes = 0;
    offsets.push_back(bytes);
    LOOM_TRY(const std::size_t size, checked_mul(elements[i], bytes_of(element)));
    g.slots_.push_back({nullptr, size, false});
    LOOM_TRY(bytes, checked_add(bytes, round_up(size, Buffer::kAlignment)));
    most = std::max(most, bytes);
  }
  LOOM_TRY(g.memory_, Buffer::create(most));
  for (std::size_t i = 0; i < offsets.size(); ++i) g.slots_[i].data = g.memory_.data() + offsets[i];
  return g;
}

void* Gradients::of(const Weight& weight) const {
  if (slots_.empty() || weight.is_frozen()) return nullptr;
  Slot& slot = slots_[weight.slot()];
  if (slot.fresh && slot.bytes != 0) std::memset(slot.data, 0, slot.bytes);
  slot.fresh = false;
  return slot.data;
}

Gradients::Target Gradients::target(const Exec& exec, const Weight& weight) const {
  if (slots_.empty() || weight.is_frozen()) return {nullptr, false};
  Slot& slot = slots_[weight.slot()];
  const Target target{slot.data, slot.fresh};
  if (!exec.rehearsal()) slot.fresh = false;
  return target;
}

void Gradients::clear() {
  for (Slot& slot : slots_) slot.fresh = true;
}

void Gradients::clear(const Weight& weight) {
  if (!slots_.empty()) slots_[weight.slot()].fresh = true;
}

void* Statistics::put(const Weight& weight) {
  for (Entry& e : entries_)
    if (e.weight == &weight) {
      e.written = true;
      return e.memory.data();
    }
  return entries_.emplace_back(Entry{&weight, std::vector<double>(weight.elements()), true}).memory.data();
}

const void* Statistics::latest(const Weight& weight) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& e) { return e.weight == &weight && e.written; });
  return found == entries_.end() ? nullptr : found->memory.data();
}

void Statistics::visit(const std::function<void(const Weight&, const void*)>& visit) const {
  for (const Entry& e : entries_)
    if (e.written) visit(*e.weight, e.memory.data());
}

void Statistics::clear() {
  for (Entry& e : entries_) e.written = false;
}

}  // namespace loom
