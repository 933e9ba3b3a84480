#pragma once
// Forward passes of many small networks, one after the other: one arena and one table of kernels serve them all, where
// a session would set up its own. One runner per worker; it keeps no state between calls, so recurrent layers begin at
// 0.

#include <memory>
#include <optional>
#include <vector>

#include "evolution/population/dense_chain.h"
#include "network/plan/forward_plan.h"

namespace loom {

// A network and its plan, as whoever judges it gets them.
struct Candidate {
  const Network& network;
  const ForwardPlan& plan;
};

class Runner {
 public:
  // Runners take turns on a device; networks that it cannot run, run on the host, with the same bits. The device
  // outlives them; null: the host.
  static Result<std::unique_ptr<Runner>> create(std::optional<Isa> isa = std::nullopt, Device* device = nullptr);

  // Sets the network that forward() runs; it stays as it is while it runs, and its plan outlives that.
  void use(const Candidate& candidate);
  // x in the network's element type, in memory of the host; so is the result, which is valid until the next call.
  // ShapeMismatch; errors of layers.
  Result<ConstView> forward(const ConstView& x);
  ThreadPool& pool() { return *pool_; }

 private:
  // Where passes run, and the input that its arena is planned for.
  struct Place {
    Device* device = nullptr;
    Arena arena;
    std::optional<Shape> planned;
  };
  Runner() = default;
  Result<void> plan(Place& place, const Shape& input);
  Result<ConstView> forward_at(Place& place, const ConstView& x);
  Result<ConstView> forward_on_device(const ConstView& x);
  Result<ConstView> forward_on_host(const ConstView& x);
  Exec exec(Place& place) { return {*pool_, *kernels_, place.arena, nullptr, network_->settings.quantized_inputs}; }
  Run run_on(const Exec& exec);

  std::unique_ptr<ThreadPool> pool_;  // of the calling thread alone
  const KernelTable* kernels_ = nullptr;
  Place host_, device_;
  Memory input_;   // on the device
  Buffer output_;  // read from the device
  const Network* network_ = nullptr;
  const ForwardPlan* plan_ = nullptr;
  bool runs_on_device_ = false;  // the network
  DenseChain chain_;
  bool is_chain_ = false;
  std::vector<ConstView> cells_;
};

// A runner for every worker of a pool.
class Workers {
 public:
  // On `pool`, which others may share, or on one of its own with so many threads.
  static Result<Workers> create(int threads, std::optional<Isa> isa = std::nullopt,
                                std::shared_ptr<ThreadPool> pool = nullptr, Device* device = nullptr);
  ThreadPool& pool() { return *pool_; }
  Runner& runner(int worker) { return *runners_[static_cast<std::size_t>(worker)]; }

  // body(part, runner) -> Result<void> for every part; the error of the lowest part that failed.
  template <class F>
  Result<void> each(std::size_t parts, F&& body) {
    std::vector<Result<void>> done(parts);
    pool_->run(parts, [&](std::size_t part, int worker) { done[part] = body(part, runner(worker)); });
    for (auto& d : done)
      if (!d) return std::move(d);
    return {};
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

}  // namespace loom
