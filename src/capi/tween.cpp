// Target propagation of loom.h, in single calls.

#include <optional>

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "learning/tween/tween.h"

namespace loom::capi {

struct TweenObject : Object {
  static constexpr Kind kKind = Kind::Tween;
  TweenObject(std::shared_ptr<NetworkObject> of, std::unique_ptr<TweenSession> given, Device* on)
      : network(std::move(of)), tween(std::move(given)), device(on) {}
  const std::shared_ptr<NetworkObject> network;
  const std::unique_ptr<TweenSession> tween;
  Device* const device;
  std::vector<std::byte> input;  // of the last forward, which the step reads again
  Memory input_on_device, target_on_device;
  Buffer output_on_host;
  std::optional<Shape> output;  // of the last forward
  Extents output_shape;
};

Json json_of(std::span<const TweenUse> uses) {
  Json out = Json::array();
  for (const TweenUse& use : uses)
    out.push_back(Json{{"path", use.path == nullptr ? "" : *use.path},
                       {"gap", use.gap},
                       {"budget", use.budget},
                       {"is_skipped", use.skipped},
                       {"update_norm", use.update_norm}});
  return out;
}

namespace {

struct TakenTween {
  Use<TweenObject> use;
  Turn turn;
  Writing writing;
  DeviceTurn device_turn{use->device};
  TweenObject* operator->() const { return use.operator->(); }
};
Result<TakenTween> take_tween(loom_tween handle) {
  LOOM_TRY(auto use, Use<TweenObject>::of(handle));
  LOOM_TRY(Turn turn, Turn::of(*use.operator->(), "tween"));
  LOOM_TRY(Writing writing, Writing::of(*use->network, use->device));
  if (!use->tween->session().is_current())
    return fail(Code::InvalidState, "the network's layers or types were changed: make another tween");
  return TakenTween{std::move(use), std::move(turn), std::move(writing)};
}

Result<TweenTarget> target_of(TweenObject& t, const loom_tensor* target) {
  if (!t.output) return fail(Code::InvalidState, "a target without a forward");
  LOOM_TRY(const ConstView values, values_of(target, *t.output, "target"));
  LOOM_TRY_VOID(need_element(t.network->network.settings.activations, values.element, "target"));
  LOOM_TRY(const ConstView there, sent(t.device, values, t.target_on_device));
  return TweenTarget{.values = there};
}

Json info_of(const TweenSession& t) {
  return Json{{"output_gap", t.output_gap()}, {"loss", t.loss()}, {"uses", json_of(t.uses())}};
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_tween_create(loom_network network, const void* config, size_t config_size, const uint64_t* shape,
                              size_t shape_count, const loom_compute_options* compute, loom_tween* tween) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(tween));
    LOOM_TRY(const Shape batch, shape_of(shape, shape_count, "shape"));
    NetworkSessionOptions running;
    LOOM_TRY_VOID(read_compute(compute, running));
    LOOM_TRY(const Json json, config_json(config, config_size));
    LOOM_TRY(const TweenConfig wanted, tween_config_from_json(json));
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    LOOM_TRY_VOID(need_values(taken.network()));
    LOOM_TRY(const auto plan, plan_forward(*taken.use.operator->(), batch));
    running.backward = true;
    settle_device(taken.network(), plan, running);
    LOOM_TRY(auto made, TweenSession::create(taken.network(), plan, wanted, running));
    LOOM_TRY(*tween, make_handle<TweenObject>(taken.use.shared(), std::move(made), running.device));
    return {};
  });
}

loom_status loom_tween_forward(loom_tween tween, const loom_tensor* input, loom_tensor* output) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(output));
    LOOM_TRY(const ConstView given, view_of(input, "input"));
    LOOM_TRY(const TakenTween t, take_tween(tween));
    LOOM_TRY_VOID(need_element(t->network->network.settings.activations, given.element, "input"));
    LOOM_TRY(const ConstView x, sent(t->device, kept_copy(given, t->input), t->input_on_device));
    LOOM_TRY(const ConstView there, t->tween->forward(x));
    LOOM_TRY(const ConstView y, brought(t->device, there, t->output_on_host));
    t->output = y.shape;
    write_struct(tensor_of_view(y, t->output_shape), output, room);
    return {};
  });
}

loom_status loom_tween_step(loom_tween tween, const loom_tensor* target, double learning_rate) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenTween t, take_tween(tween));
    LOOM_TRY(const TweenTarget wanted, target_of(*t.operator->(), target));
    ++t->network->values;
    if (t->device != nullptr) t->network->ahead = t->device;
    return t->tween->step(wanted, learning_rate);
  });
}

loom_status loom_tween_backward(loom_tween tween, const loom_tensor* target) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenTween t, take_tween(tween));
    LOOM_TRY(const TweenTarget wanted, target_of(*t.operator->(), target));
    return t->tween->backward(wanted);
  });
}

loom_status loom_tween_budgets(loom_tween tween) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenTween t, take_tween(tween));
    return t->tween->calculate_link_budgets();
  });
}

loom_status loom_tween_apply(loom_tween tween, double learning_rate) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenTween t, take_tween(tween));
    ++t->network->values;
    if (t->device != nullptr) t->network->ahead = t->device;
    return t->tween->apply(learning_rate);
  });
}

loom_status loom_tween_info(loom_tween tween, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const TakenTween t, take_tween(tween));
    LOOM_TRY(*info, make_blob(info_of(*t->tween)));
    return {};
  });
}
