#pragma once
// Objects of the handles of networks, and their locks. A network is read by any number of passes at the same time, or
// changed by one call; a call that comes in between is Busy.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/objects.h"
#include "capi/tensors.h"
#include "backend/travel.h"
#include "capi/watching.h"
#include "network/plan/plans.h"
#include "network/session/network_session.h"
#include "network/mesh/step_mesh.h"
#include "training/trainer.h"

namespace loom::capi {

struct NetworkObject : Object {
  static constexpr Kind kKind = Kind::Network;
  NetworkObject(Network given, std::vector<std::string> told, Plans made = {})
      : network(std::move(given)), plans(std::move(made)), warnings(std::move(told)) {}
  // The last plans that calls made of the network, without those that an edit has ended.
  Plans current_plans() const {
    Plans current = plans;
    current.drop_old(network);
    return current;
  }
  Network network;
  Plans plans;  // as they were made: current_plans() for use
  const std::vector<std::string> warnings;
  std::atomic<int> passes{0};           // that read the network now; -1: a call that changes it
  std::uint64_t values = 1;             // how often values were changed: a Reading or Writing keeps it
  std::atomic<Device*> ahead{nullptr};  // where a training moved its values; who reads them elsewhere brings them first
  Extents output_shape;
};
// Values that another device than `on` has. Busy while another call uses the network; errors of the device.
Result<void> bring_values(NetworkObject& object, const Device* on);
// For the holder of a Writing: values of any device.
Result<void> fetch_values(NetworkObject& object);

// Plans the network and keeps the plan in plans.forward, for the holder of a Writing. After an error there is none.
Result<std::shared_ptr<const ForwardPlan>> plan_forward(NetworkObject& object, const Shape& input);

// A pass on a device over a network that leaves it as it is. Busy while a call changes it.
class Reading {
 public:
  static Result<Reading> of(NetworkObject& object, const Device* on = nullptr) {
    LOOM_TRY_VOID(bring_values(object, on));
    int passes = object.passes.load(std::memory_order_relaxed);
    while (passes >= 0)
      if (object.passes.compare_exchange_weak(passes, passes + 1, std::memory_order_acquire)) return Reading(&object);
    return fail(Code::Busy, "the network is being changed by another call");
  }
  Reading(Reading&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reading& operator=(Reading&&) = delete;
  ~Reading() {
    if (object_ != nullptr) object_->passes.fetch_sub(1, std::memory_order_release);
  }

 private:
  explicit Reading(NetworkObject* object) : object_(object) {}
  NetworkObject* object_;
};

// A call that changes a network, on a device. Busy while another call uses it.
class Writing {
 public:
  static Result<Writing> of(NetworkObject& object, const Device* on = nullptr) {
    LOOM_TRY_VOID(bring_values(object, on));
    int none = 0;
    if (!object.passes.compare_exchange_strong(none, -1, std::memory_order_acquire))
      return fail(Code::Busy, "the network is in use by another call");
    return Writing(&object);
  }
  Writing(Writing&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Writing& operator=(Writing&&) = delete;
  ~Writing() {
    if (object_ != nullptr) object_->passes.store(0, std::memory_order_release);
  }

 private:
  explicit Writing(NetworkObject* object) : object_(object) {}
  NetworkObject* object_;
};

// A network of a handle for a call that reads it, or changes it.
template <class Access>
struct TakenNetwork {
  Use<NetworkObject> use;
  Access access;
  Network& network() const { return use->network; }
};
template <class Access>
Result<TakenNetwork<Access>> take_network(loom_network handle) {
  LOOM_TRY(auto use, Use<NetworkObject>::of(handle));
  LOOM_TRY(Access access, Access::of(*use.operator->()));
  return TakenNetwork<Access>{std::move(use), std::move(access)};
}

// NotFound.
Result<Weight*> weight_of(const Network& network, std::string_view path);

// Writes the gradient of a weight, 0 where none was added, into room for all its values.
Result<void> give_gradient(const Gradients& gradients, const Weight& weight, Device* device, const Room& to);

// Result of target propagation at each weight of the last step: a list of objects.
Json json_of(std::span<const TweenUse> uses);

// NoValue with the path of a weight that nobody has given a value: such a network can be changed, not run.
Result<void> need_values(const Network& network);

// z, y, x, l as a caller gives them.
Result<Address> address_of(const std::uint64_t* given, std::size_t count);

inline constexpr const char* kWatchedHere = "layers are watched on the CPU alone";

struct NetworkSessionObject : Object {
  static constexpr Kind kKind = Kind::NetworkSession;
  NetworkSessionObject(std::shared_ptr<NetworkObject> of, NetworkSessionOptions given)
      : network(std::move(of)), options(std::move(given)) {}
  // The caller's memory of loom_network_session_bind().
  struct Bound {
    ConstView input{};
    void* output = nullptr;
    std::size_t bytes = 0;  // of the output
  };
  // Inputs of a session with backward, which reads them again, and those beside x.
  struct Kept {
    std::vector<std::byte> input, external, mask;
    ConstView external_view{}, mask_view{};
    std::vector<std::size_t> lengths;
  };
  const std::shared_ptr<NetworkObject> network;
  const NetworkSessionOptions options;
  std::unique_ptr<NetworkSession> session;  // null until the network is prepared and has values
  Kept kept;
  Bound bound;
  Extents output_shape;
  Watching watching;
  Device* device() const { return session != nullptr ? session->device() : options.device; }
};

struct TrainerObject : Object {
  static constexpr Kind kKind = Kind::Trainer;
  TrainerObject(std::shared_ptr<NetworkObject> of, std::unique_ptr<Trainer> given)
      : network(std::move(of)), trainer(std::move(given)), device(trainer->device()), values(network->values) {}
  const std::shared_ptr<NetworkObject> network;
  const std::unique_ptr<Trainer> trainer;
  Device* const device;
  std::uint64_t values;  // of the network, that the trainer knows
  std::string why;       // of the last step, where it was skipped
  Extents output_shape;
  Watching watching;
};

// The trainer of a handle, and its network, for a call that changes both.
struct TakenTrainer {
  Use<TrainerObject> use;
  Turn turn;
  Writing writing;
  TrainerObject* operator->() const { return use.operator->(); }
};
Result<TakenTrainer> take_trainer(loom_trainer handle);

struct StepMeshObject : Object {
  static constexpr Kind kKind = Kind::StepMesh;
  StepMeshObject(std::shared_ptr<NetworkObject> of, std::unique_ptr<StepMesh> given)
      : network(std::move(of)), mesh(std::move(given)) {}
  const std::shared_ptr<NetworkObject> network;
  const std::unique_ptr<StepMesh> mesh;
  Buffer input_gradient;  // of a device
  Extents gradient_shape;
  Watching watching;
};

}  // namespace loom::capi
