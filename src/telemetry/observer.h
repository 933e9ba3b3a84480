#pragma once
// Observers of running networks (engine E-40): a hub stands between a session or a step mesh and any number of
// observers, and notifies each of every layer that ran, children before their container, on the calling thread.
// Observers see values and change none.

#include <memory>
#include <string>
#include <map>
#include <vector>

#include "network/network.h"
#include "network/session/pass_watch.h"
#include "ops/statistics/statistics.h"

namespace loom {

// The kind of object that ran a pass.
enum class EventMode : std::uint8_t { Plain, Step, Tween };
inline constexpr std::string_view kEventModes[] = {"plain", "step", "tween"};
constexpr std::string_view name(EventMode mode) { return kEventModes[static_cast<std::size_t>(mode)]; }

// Event of one layer; views and texts are valid during the call.
struct LayerEvent {
  EventMode mode = EventMode::Plain;
  PassKind pass = PassKind::Forward;
  Address cell;                 // of the grid cell that holds the operation; of a shared one, its owner
  std::size_t index = 0;        // flat
  std::string_view path;        // "layers.3.sequential_layers.0"
  std::string_view layer_type;  // "dense"
  std::string_view dtype;       // "float32"
  TensorStats stats;            // of `tensor`
  std::uint64_t step_count = 0;
  std::string_view model_id;  // the network's id
  // forward, tick: the output; backward, tween: the gradient or target of the input, of the output where that of the
  // input is not computed
  ConstView tensor;
  const Layer* layer = nullptr;
  bool runs_target = false;  // a link that has run another cell's operation
};

class Observer {
 public:
  virtual ~Observer() = default;
  // After an error the observer is not called again; ObserverHub::detached() says why.
  virtual Result<void> observe(const LayerEvent& event) = 0;
  // A pass begins.
  virtual void begin(PassKind /*kind*/) {}
};

class ObserverHub final : public PassWatch {
 public:
  // Creates a hub for a network that outlives it; layers are looked up now, so a new hub is needed after cells were
  // exchanged.
  static Result<std::unique_ptr<ObserverHub>> create(const Network& network);

  // The observer's number, for remove(). `name` appears in reports.
  std::size_t add(std::string name, std::unique_ptr<Observer> observer);
  std::unique_ptr<Observer> remove(std::size_t number);
  struct Detached {
    std::string name;
    Error error;
  };
  // Observers that returned an error, in that order.
  const std::vector<Detached>& detached() const { return detached_; }

  void begin(PassKind kind, std::uint64_t step, const Wiring& wiring) override;
  void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) override;
  void after_backward(const Layer& layer, const ConstView& dy, const ConstView& dx) override;

 private:
  struct Place {
    std::string path;
    std::size_t cell = 0;
  };
  struct Entry {
    std::string name;
    std::unique_ptr<Observer> observer;  // null: removed or detached
  };
  ObserverHub() = default;
  TensorStats figures_of(const ConstView& tensor);
  void report(const Layer& layer, PassKind pass, const ConstView& tensor);

  const Network* network_ = nullptr;
  std::map<const Layer*, Place> places_;  // looked up, never walked: addresses have no order that means anything
  std::vector<Entry> observers_;
  std::size_t active_ = 0;
  std::vector<Detached> detached_;
  std::unique_ptr<ThreadPool> alone_;
  const KernelTable* kernels_ = nullptr;
  Arena arena_;  // scratch of figures, for the largest tensor so far
  PassKind kind_ = PassKind::Forward;
  std::uint64_t step_ = 0;
  const Wiring* wiring_ = nullptr;  // of the plan of the pass
};

}  // namespace loom
