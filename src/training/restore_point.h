#pragma once
// State that forward passes change beside activations: running statistics (batchnorm) and states that sessions carry
// from batch to batch. A restore point keeps it before a step and puts it back where the step is skipped.

#include <vector>

#include "network/session/network_session.h"

namespace loom {

class RestorePoint {
 public:
  void watch(std::vector<Weight*> statistics, Device* device);
  std::span<Weight* const> statistics() const { return statistics_; }
  // Returns whether statistics are kept on a graphics card.
  bool is_on_card() const { return device_ != nullptr && device_->records(); }

  Result<void> keep(const Exec& exec, std::span<NetworkSession* const> sessions);
  Result<void> put_back(const Exec& exec, std::span<NetworkSession* const> sessions);
  // Brings statistics that moved on a device back to the host.
  Result<void> fetch();

 private:
  std::vector<Weight*> statistics_;
  Device* device_ = nullptr;
  std::vector<std::vector<double>> kept_statistics_;
  std::vector<Memory> kept_on_card_;
  std::vector<std::vector<std::byte>> kept_states_;  // empty where sessions keep them on their card
};

}  // namespace loom
