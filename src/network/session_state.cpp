// Serialised state that a session carries from call to call: a training checkpoint must hold it beside the weights.

#include "network/network_session.h"
#include "network/state_archive.h"

namespace loom {

// Slots that carry nothing take one byte: a layer that is not `stateful` starts from zeros, and so does one whose extents change.
template <class Archive>
Result<void> NetworkSession::visit_carried(Archive& archive) {
  Shape input = input_.value_or(Shape{});
  visit_extents(archive, input);
  if constexpr (Archive::kReads) {
    if (!archive.ok()) return fail(Code::CorruptData, "carried states: no shape of an input");
    if (input.rank() != 0) LOOM_TRY_VOID(prepare(input));
  }
  for (const std::size_t slot : recurrent_slots_) {
    RecurrentState& state = states_[slot];
    std::uint8_t carries = state.h != nullptr && state.stateful && state.continues;
    archive.flag(carries);
    if (carries == 0) continue;
    Shape shape = state.shape;
    visit_extents(archive, shape);
    if (state.h == nullptr || !state.stateful || !(shape == state.shape))
      return fail(Code::CorruptData, "carried states: one of shape {}, the layer's is {}", shape.text(), state.shape.text());
    for (void* const values : {state.h, state.has_cell ? state.c : nullptr})
      if (values != nullptr) archive.tensor(static_cast<std::byte*>(values), shape.elements(), element());
    state.continues = true;
  }
  for (MetaState& meta : metas_) visit_meta(archive, meta);
  return {};
}

std::vector<std::byte> NetworkSession::carried() {
  if (!input_) return {};
  const bool any = std::ranges::any_of(states_, &RecurrentState::stateful) || std::ranges::any_of(metas_, &MetaState::planned);
  if (!any) return {};
  StateWriter archive;
  (void)visit_carried(archive);
  return std::move(archive.out);
}

Result<void> NetworkSession::carry(std::span<const std::byte> carried) {
  reset();
  if (carried.empty()) return {};
  StateReader archive(carried);
  const auto read = visit_carried(archive);
  if (read && archive.done()) return {};
  reset();
  if (!read) return read;
  return fail(Code::CorruptData, "carried states: {} bytes do not fit the network", carried.size());
}

}  // namespace loom
