// Learning in loom.h: one step, one batch at a time.

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "training/train_config.h"

namespace loom::capi {

Result<TakenTrainer> take_trainer(loom_trainer handle) {
  LOOM_TRY(auto use, Use<TrainerObject>::of(handle));
  LOOM_TRY(Turn turn, Turn::of(*use.operator->(), "trainer"));
  NetworkObject& network = *use->network;
  LOOM_TRY(Writing writing, Writing::of(network, use->device));
  if (!use->trainer->session().is_current())
    return fail(Code::InvalidState, "the network's layers or types were changed: make another trainer");
  if (network.values != use->values) {
    LOOM_TRY_VOID(fetch_values(network));
    LOOM_TRY_VOID(use->trainer->commit_masters());
  }
  use->values = network.values;
  return TakenTrainer{std::move(use), std::move(turn), std::move(writing)};
}

namespace {

Result<TrainConfig> config_of(const Json& json, const loom_compute_options* compute) {
  LOOM_TRY(TrainConfig config, read_step_config(json));
  LOOM_TRY_VOID(read_compute(compute, config.trainer.session));
  return config;
}

// After an error the network may have other types and plans than before.
Result<std::unique_ptr<Trainer>> trainer_of(NetworkObject& object, const TrainConfig& config, const Shape& batch) {
  Network& network = object.network;
  if (config.dtype) LOOM_TRY_VOID(network.morph_all(*config.dtype));
  LOOM_TRY_VOID(need_values(network));
  LOOM_TRY(const auto plan, plan_forward(object, batch));
  LOOM_TRY(auto trainer, Trainer::create(network, plan, config.trainer));
  LOOM_TRY_VOID(trainer->check_effects());
  return trainer;
}

Json info_of(TrainerObject& object) {
  Trainer& t = *object.trainer;
  const TrainerState& state = t.state();
  Json out{{"steps", state.steps},
           {"skipped", state.skipped},
           {"loss_scale", state.loss_scale},
           {"learning_rate", t.learning_rate()},
           {"resident_bytes", t.resident_bytes()},
           {"parameters", t.parameters().size()}};
  if (!t.tween_uses().empty()) out["tween"] = json_of(t.tween_uses());
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_trainer_create(loom_network network, const void* config, size_t config_size, const uint64_t* shape,
                                size_t shape_count, const loom_compute_options* compute, loom_trainer* trainer) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(trainer));
    LOOM_TRY(const Json json, config_json(config, config_size));
    LOOM_TRY(const Shape batch, shape_of(shape, shape_count, "shape"));
    LOOM_TRY(const TrainConfig wanted, config_of(json, compute));
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    const auto before = taken.network().kept();
    const Plans plans = taken.use->plans;
    auto made = trainer_of(*taken.use.operator->(), wanted, batch);
    if (!made) {
      taken.network().put_back(*before);
      taken.use->plans = plans;
      return tl::make_unexpected(std::move(made).error());
    }
    LOOM_TRY(*trainer, make_handle<TrainerObject>(taken.use.shared(), std::move(*made)));
    return {};
  });
}

loom_status loom_trainer_step(loom_trainer trainer, const loom_batch* batch, loom_cancel cancel,
                              loom_training_step* step) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(step));
    LOOM_TRY(const Samples samples, samples_of(batch));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const TakenTrainer t, take_trainer(trainer));
    LOOM_TRY_VOID(t->trainer->check_targets(samples));
    LOOM_TRY(StepReport report, t->trainer->step(samples, stop.flag()));
    t->values = ++t->network->values;
    if (t->device != nullptr) t->network->ahead = t->device;
    if (!report.changes.empty()) t->network->plans.forward = t->trainer->session().plan();
    t->why = std::move(report.why);
    loom_training_step out{};
    out.loss = report.loss, out.learning_rate = report.learning_rate, out.gradient_norm = report.gradient_norm;
    out.skipped = report.skipped ? 1 : 0;
    out.why = t->why.data(), out.why_size = t->why.size();
    write_struct(out, step, room);
    return {};
  });
}

loom_status loom_trainer_evaluate(loom_trainer trainer, const loom_batch* batch, double* loss, loom_tensor* output) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(loss));
    LOOM_TRY(const std::uint32_t room, room_in(output));
    LOOM_TRY(const Samples samples, samples_of(batch));
    LOOM_TRY(const TakenTrainer t, take_trainer(trainer));
    LOOM_TRY_VOID(t->trainer->check_targets(samples));
    LOOM_TRY(const Trainer::Evaluation found, t->trainer->evaluate(samples));
    *loss = found.loss.value;
    write_struct(tensor_of_view(found.output, t->output_shape), output, room);
    return {};
  });
}

loom_status loom_trainer_set_epoch(loom_trainer trainer, uint64_t epoch) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenTrainer t, take_trainer(trainer));
    t->trainer->set_epoch(epoch);
    return {};
  });
}

loom_status loom_trainer_observe(loom_trainer trainer, double metric) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const TakenTrainer t, take_trainer(trainer));
    t->trainer->observe(metric);
    return {};
  });
}

loom_status loom_trainer_info(loom_trainer trainer, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const TakenTrainer t, take_trainer(trainer));
    LOOM_TRY(*info, make_blob(info_of(*t.operator->())));
    return {};
  });
}
