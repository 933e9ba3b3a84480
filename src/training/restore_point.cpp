#include "training/restore_point.h"

#include "backend/pass_error.h"
#include "backend/travel.h"
#include "ops/all.h"

namespace loom {

void RestorePoint::watch(std::vector<Weight*> statistics, Device* device) {
  statistics_ = std::move(statistics);
  device_ = device;
}

Result<void> RestorePoint::keep(const Exec& exec, std::span<NetworkSession* const> sessions) {
  kept_states_.clear();
  for (NetworkSession* session : sessions) {
    if (session->keeps_states_on_device()) {
      LOOM_TRY_VOID(session->keep_states(exec));
    } else {
      kept_states_.push_back(session->save_state());
    }
  }
  if (!is_on_card()) {
    kept_statistics_.resize(statistics_.size());
    for (std::size_t i = 0; i < statistics_.size(); ++i) {
      kept_statistics_[i].resize(statistics_[i]->elements());
      statistics_[i]->decode(0, kept_statistics_[i].size(), kept_statistics_[i].data());
    }
    return {};
  }
  kept_on_card_.resize(statistics_.size());
  for (std::size_t i = 0; i < statistics_.size(); ++i) {
    LOOM_TRY_VOID(statistics_[i]->ensure_master());
    const Tensor values = statistics_[i]->master_for_update(exec);
    LOOM_TRY_VOID(status_of_pass(exec));
    LOOM_TRY_VOID(make_room(device_, values.bytes(), kept_on_card_[i]));
    copy(exec, values, {kept_on_card_[i].data(), values.rows, values.cols, values.element});
  }
  return status_of_pass(exec);
}

Result<void> RestorePoint::put_back(const Exec& exec, std::span<NetworkSession* const> sessions) {
  std::size_t next = 0;
  for (NetworkSession* session : sessions) {
    if (session->keeps_states_on_device()) {
      LOOM_TRY_VOID(session->put_states_back(exec));
    } else if (next < kept_states_.size()) {
      LOOM_TRY_VOID(session->restore_state(kept_states_[next++]));
    }
  }
  LOOM_TRY_VOID(status_of_pass(exec));
  for (std::size_t i = 0; i < statistics_.size(); ++i)
    LOOM_TRY_VOID(is_on_card() ? statistics_[i]->take(exec, kept_on_card_[i].data())
                               : statistics_[i]->set(std::span<const double>(kept_statistics_[i])));
  return {};
}

Result<void> RestorePoint::fetch() {
  for (Weight* w : statistics_) LOOM_TRY_VOID(w->fetch());
  return {};
}

}  // namespace loom
