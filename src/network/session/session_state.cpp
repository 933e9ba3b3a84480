// Serialised state that a session carries from call to call: a training checkpoint must hold it beside the weights.

#include "network/session/network_session.h"

namespace loom {

template <class Archive>
Result<void> NetworkSession::visit_state(Archive& archive) {
  Shape input = planned_ ? planned_->input : Shape{};
  visit_extents(archive, input);
  if constexpr (Archive::kReads) {
    if (!archive.ok()) return fail(Code::CorruptData, "saved state: no shape of an input");
    if (input.rank() != 0) LOOM_TRY_VOID(prepare(input));
  }
  return states_.visit(archive);
}

Result<void> NetworkSession::keep_states(const Exec& exec) {
  kept_for_.reset();
  if (!planned_ || !states_.is_stateful()) return {};
  kept_for_ = planned_->input;
  return states_.keep(exec);
}

Result<void> NetworkSession::put_states_back(const Exec& exec) {
  reset();
  if (!kept_for_) return {};
  LOOM_TRY_VOID(prepare(*kept_for_));
  states_.put_back(exec);
  return {};
}

std::vector<std::byte> NetworkSession::save_state() {
  if (!planned_) return {};
  const bool any = states_.is_stateful() || std::ranges::any_of(states_.metas(), &MetaState::planned);
  if (!any) return {};
  StateWriter archive;
  (void)visit_state(archive);
  return std::move(archive.out);
}

Result<void> NetworkSession::restore_state(std::span<const std::byte> saved) {
  reset();
  if (saved.empty()) return {};
  StateReader archive(saved);
  auto read = visit_state(archive);
  if (read && archive.done()) return {};
  reset();
  if (!read) return read;
  return fail(Code::CorruptData, "saved state: {} bytes do not fit the network", saved.size());
}

}  // namespace loom
