// Reports layers of a pass to a host (telemetry/observer.h).

#include "capi/watching.h"

#include <algorithm>
#include <chrono>

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "telemetry/adaptation.h"
#include "telemetry/blueprint.h"
#include "telemetry/observers.h"
#include "telemetry/remote.h"

namespace loom::capi {

Result<void> Watching::rebuild(const Network& network, std::array<std::unique_ptr<Observer>, 3> observers) {
  constexpr const char* kNames[] = {"layers", "windows", "reports"};
  std::unique_ptr<ObserverHub> made;
  std::array<std::optional<std::size_t>, 3> numbers;
  for (std::size_t role = 0; role < observers.size(); ++role) {
    if (observers[role] == nullptr) continue;
    if (made == nullptr) {
      LOOM_TRY(made, ObserverHub::create(network));
    }
    numbers[role] = made->add(kNames[role], std::move(observers[role]));
  }
  hub_ = std::move(made), numbers_ = numbers;
  return {};
}

Result<void> Watching::set(Role role, const Network& network, std::unique_ptr<Observer> observer) {
  std::array<std::unique_ptr<Observer>, 3> all;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (numbers_[r]) all[r] = hub_->remove(*numbers_[r]);
  all[static_cast<std::size_t>(role)] = std::move(observer);
  return rebuild(network, std::move(all));
}

Result<void> Watching::renew(const Network& network) {
  if (hub_ == nullptr) return {};
  std::array<std::unique_ptr<Observer>, 3> all;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (numbers_[r]) all[r] = hub_->remove(*numbers_[r]);
  return rebuild(network, std::move(all));
}

namespace {

Result<void> end_of_watch(bool goes_on) {
  return goes_on ? Result<void>{} : fail(Code::Cancelled, "the host ended the watch");
}

class LayerCallback final : public Observer {
 public:
  LayerCallback(loom_on_layer call, void* user) : call_(call), user_(user) {}
  Result<void> observe(const LayerEvent& e) override {
    const std::string path(e.path), layer(e.layer_type), dtype(e.dtype);
    Extents extents;
    const loom_tensor values = tensor_of_view(e.tensor, extents);
    const loom_layer_event event{.struct_size = sizeof event,
                                 .pass = static_cast<loom_pass_kind>(e.pass),
                                 .path = path.c_str(),
                                 .layer = layer.c_str(),
                                 .dtype = dtype.c_str(),
                                 .cell = e.index,
                                 .step = e.step_count,
                                 .mean = e.stats.avg,
                                 .deviation = e.stats.std,
                                 .greatest = e.stats.max,
                                 .least = e.stats.min,
                                 .active = static_cast<std::uint64_t>(e.stats.active),
                                 .values = &values};
    return end_of_watch(continues(call_(user_, &event), "on_layer"));
  }

 private:
  loom_on_layer call_;
  void* user_;
};

std::unique_ptr<Observer> watcher(loom_on_layer call, void* user) {
  return call == nullptr ? nullptr : std::make_unique<LayerCallback>(call, user);
}

Result<std::unique_ptr<Observer>> watcher(std::uint64_t layers, loom_on_window call, void* user) {
  if (call == nullptr) return nullptr;
  if (layers == 0) return fail(Code::InvalidArgument, "layers is 0: a window has at least 1");
  return std::make_unique<AggregatingObserver>(static_cast<std::size_t>(layers), [=](const WindowFigures& w) {
    const loom_window_event event{.struct_size = sizeof event,
                                  .layers = w.events,
                                  .mean = w.avg,
                                  .deviation = w.std,
                                  .greatest = w.max,
                                  .least = w.min,
                                  .active = w.active,
                                  .sparsity = w.sparsity,
                                  .first_step = w.first_step,
                                  .last_step = w.last_step};
    return end_of_watch(continues(call(user, &event), "on_window"));
  });
}

Result<std::unique_ptr<Observer>> watcher(const char* address) {
  if (address == nullptr) return nullptr;
  return remote_observer(address);
}

Result<void> need_values_on_host(const Device* device) {
  return device == nullptr ? Result<void>() : fail(Code::Unsupported, kWatchedHere);
}

// set(handle, role, observer) for each kind of object that can be watched.
Result<void> watch_session(loom_network_session session, Watching::Role role, std::unique_ptr<Observer> observer) {
  LOOM_TRY(const auto s, take<NetworkSessionObject>(session, "network session"));
  LOOM_TRY_VOID(need_values_on_host(s->device()));
  LOOM_TRY(const Reading reading, Reading::of(*s->network));
  LOOM_TRY_VOID(s->watching.set(role, s->network->network, std::move(observer)));
  if (s->session != nullptr) s->session->observe(s->watching.watch());
  return {};
}
Result<void> watch_trainer(loom_trainer trainer, Watching::Role role, std::unique_ptr<Observer> observer) {
  LOOM_TRY(const TakenTrainer t, take_trainer(trainer));
  LOOM_TRY_VOID(need_values_on_host(t->device));
  if (t->trainer->save_states().size() > 1)
    return fail(Code::Unsupported, "the trainer's shards run side by side: their layers have no order");
  LOOM_TRY_VOID(t->watching.set(role, t->network->network, std::move(observer)));
  t->trainer->session().observe(t->watching.watch());
  return {};
}
Result<void> watch_mesh(loom_step_mesh mesh, Watching::Role role, std::unique_ptr<Observer> observer) {
  LOOM_TRY(const auto m, take<StepMeshObject>(mesh, "step mesh"));
  LOOM_TRY_VOID(need_values_on_host(m->mesh->device()));
  LOOM_TRY(const Reading reading, Reading::of(*m->network));
  LOOM_TRY_VOID(m->mesh->check_current());
  LOOM_TRY_VOID(m->watching.set(role, m->network->network, std::move(observer)));
  m->mesh->watch(m->watching.watch());
  return {};
}

struct AdaptationObject : Object {
  static constexpr Kind kKind = Kind::Adaptation;
  explicit AdaptationObject(AdaptationTracker given) : tracker(std::move(given)) {}
  AdaptationTracker tracker;
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Json info_of(AdaptationTracker& tracker) {
  tracker.finish();
  Json out = adaptation_json(tracker.windows(), tracker.changes());
  out["outputs"] = tracker.outputs(), out["accuracy"] = tracker.accuracy(), out["throughput"] = tracker.throughput();
  out["availability"] = tracker.availability(), out["score"] = tracker.score();
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;
using Role = Watching::Role;

loom_status loom_network_session_watch(loom_network_session session, loom_on_layer layer, void* user) {
  return guard([&] { return watch_session(session, Role::layers, watcher(layer, user)); });
}

loom_status loom_network_session_watch_windows(loom_network_session session, uint64_t layers, loom_on_window window,
                                               void* user) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(auto observer, watcher(layers, window, user));
    return watch_session(session, Role::windows, std::move(observer));
  });
}

loom_status loom_network_session_report_to(loom_network_session session, const char* address) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(auto observer, watcher(address));
    return watch_session(session, Role::reports, std::move(observer));
  });
}

loom_status loom_trainer_watch(loom_trainer trainer, loom_on_layer layer, void* user) {
  return guard([&] { return watch_trainer(trainer, Role::layers, watcher(layer, user)); });
}

loom_status loom_trainer_watch_windows(loom_trainer trainer, uint64_t layers, loom_on_window window, void* user) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(auto observer, watcher(layers, window, user));
    return watch_trainer(trainer, Role::windows, std::move(observer));
  });
}

loom_status loom_trainer_report_to(loom_trainer trainer, const char* address) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(auto observer, watcher(address));
    return watch_trainer(trainer, Role::reports, std::move(observer));
  });
}

loom_status loom_step_mesh_watch(loom_step_mesh mesh, loom_on_layer layer, void* user) {
  return guard([&] { return watch_mesh(mesh, Role::layers, watcher(layer, user)); });
}

loom_status loom_step_mesh_watch_windows(loom_step_mesh mesh, uint64_t layers, loom_on_window window, void* user) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(auto observer, watcher(layers, window, user));
    return watch_mesh(mesh, Role::windows, std::move(observer));
  });
}

loom_status loom_step_mesh_report_to(loom_step_mesh mesh, const char* address) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(auto observer, watcher(address));
    return watch_mesh(mesh, Role::reports, std::move(observer));
  });
}

loom_status loom_network_blueprint(loom_network network, loom_blob* out) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(out));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(*out, make_blob(to_json(blueprint(taken.network(), taken.use->current_plans()))));
    return {};
  });
}

loom_status loom_adaptation_create(double window_ms, double total_ms, const char* task, loom_adaptation* adaptation) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(adaptation));
    LOOM_TRY(const std::string_view name, need_text(task, "task"));
    LOOM_TRY(auto made, AdaptationTracker::create(window_ms, total_ms, now_ms, std::string(name)));
    LOOM_TRY(*adaptation, make_handle<AdaptationObject>(std::move(made)));
    return {};
  });
}

loom_status loom_adaptation_record(loom_adaptation adaptation, int32_t correct) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto taken, take<AdaptationObject>(adaptation, "adaptation"));
    taken->tracker.record(correct != 0);
    return {};
  });
}

loom_status loom_adaptation_mark(loom_adaptation adaptation, const char* task) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view name, need_text(task, "task"));
    LOOM_TRY(const auto taken, take<AdaptationObject>(adaptation, "adaptation"));
    taken->tracker.mark_task_change(std::string(name));
    return {};
  });
}

loom_status loom_adaptation_info(loom_adaptation adaptation, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto taken, take<AdaptationObject>(adaptation, "adaptation"));
    LOOM_TRY(*info, make_blob(info_of(taken->tracker)));
    return {};
  });
}
