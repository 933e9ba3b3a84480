#pragma once
// The host's copies of the weights of a language model that was loaded from a file. They leave the memory of the host
// once a graphics card has copies of its own, and are made again from the file for whoever reads them on the host
// (dtypes/panel_pages.h): a session on the CPU, a session that has lost its card, an operation without a form for
// cards, the trial of a shader.

#include <vector>

#include "backend/device.h"
#include "core/thread_pool.h"
#include "dtypes/panel_pages.h"
#include "network/network.h"

namespace loom {

// The view that one session has of them.
class HostWeights {
 public:
  HostWeights() = default;
  explicit HostWeights(const Network& network);

  // All copies are on the host from now on, as long as this lives. Errors of PanelPages::hold().
  Result<void> hold(ThreadPool& pool);
  // After a pass on a device, in its turn: the copies leave that it has too, and that nobody has read since the last
  // call. Copies that somebody holds stay.
  void leave(Device& device, ThreadPool& pool);

  // Bytes that are on the host at this moment.
  std::size_t bytes_on_host() const;

 private:
  std::vector<MatrixPtr> matrices_;     // that may leave
  std::vector<const Matrix*> leaving_;  // filled per call, reserved before
  std::vector<PanelHold> held_;
};

// Bytes of Network::resident_bytes() that are in the memory of the host at this moment.
std::size_t bytes_on_host(const Network& network);

}  // namespace loom
