#pragma once
// What changes while a network runs: activations, gradients, threads, state. Many sessions may share one network. A step allocates
// nothing: its memory is planned at prepare() by rehearsing it.

#include <atomic>
#include <memory>
#include <optional>

#include "network/network.h"

namespace loom {

struct NetworkSessionOptions {
  int threads = 0;              // 0: physical cores
  std::optional<Isa> isa;       // absent: the best of this machine
  bool backward = false;        // forward keeps what backward needs
};

// What one call brings along beside the input.
struct PassExtras {
  bool training = false;
  std::uint32_t step = 0;
  std::span<const std::size_t> lengths;
  const ConstView* external = nullptr;
};

class NetworkSession {
 public:
  // The network has been prepared for some input shape (Network::prepare) and must outlive the session.
  static Result<std::unique_ptr<NetworkSession>> create(const Network& network, const NetworkSessionOptions& options = {});

  // Plans for inputs of this shape, checked against the network: forward() prepares itself when the shape changes.
  Result<void> prepare(const Shape& input);

  // x of prepare()'s shape, in the network's element type (Network::settings). The result is valid until the next call.
  // ShapeMismatch, NonFinite inputs are allowed; IndexOutOfRange, Cancelled.
  Result<ConstView> forward(const ConstView& x, const PassExtras& extras = {});
  // After a forward of a session with `backward`: dy of the output's shape. Adds to gradients(); the result is dx.
  Result<ConstView> backward(const ConstView& dy);

  Gradients& gradients() { return gradients_; }
  Element element() const { return network_->settings.activations; }
  const Shape& output_shape() const { return output_; }
  std::size_t scratch_bytes() const { return arena_.size(); }
  int threads() const { return pool_->threads(); }
  std::atomic<bool>& cancel() { return cancel_; }

 private:
  NetworkSession() = default;
  Exec exec() { return {*pool_, *kernels_, arena_, &cancel_, Activations::int16}; }
  ConstView run_forward(const Exec& exec, const ConstView& x);
  ConstView run_backward(const Exec& exec, const ConstView& dy);

  const Network* network_ = nullptr;
  NetworkSessionOptions options_;
  std::unique_ptr<ThreadPool> pool_;
  const KernelTable* kernels_ = nullptr;
  Arena arena_;
  Tape tape_;
  Gradients gradients_;
  std::vector<ConstView> cells_;  // outputs that links and skips want
  std::vector<View> d_cells_;
  Pass pass_;
  std::optional<Shape> input_;
  Shape output_;
  bool has_forward_ = false;   // the tape holds a forward that no backward has taken
  std::atomic<bool> cancel_{false};
};

}  // namespace loom
