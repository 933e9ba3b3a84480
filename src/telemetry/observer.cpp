#include "telemetry/observer.h"

#include "backend/rehearsal.h"
#include "dtypes/dtype.h"
#include "layers/share/share.h"
#include "ops/all.h"

namespace loom {

Result<std::unique_ptr<ObserverHub>> ObserverHub::create(const Network& network) {
  std::unique_ptr<ObserverHub> hub(new ObserverHub);
  hub->network_ = &network;
  LOOM_TRY(hub->alone_, ThreadPool::create(1));
  LOOM_TRY(hub->kernels_, kernels_for(best_isa()));
  network.each_layer([&](std::size_t i, const std::string& path, Layer& layer) { hub->places_[&layer] = {path, i}; });
  return hub;
}

std::size_t ObserverHub::add(std::string name, std::unique_ptr<Observer> observer) {
  observers_.push_back({std::move(name), std::move(observer)});
  ++active_;
  return observers_.size() - 1;
}

std::unique_ptr<Observer> ObserverHub::remove(std::size_t number) {
  if (number >= observers_.size() || !observers_[number].observer) return nullptr;
  --active_;
  return std::move(observers_[number].observer);
}

void ObserverHub::begin(PassKind kind, std::uint64_t step, const Wiring& wiring) {
  kind_ = kind, step_ = step, wiring_ = &wiring;
  for (const Entry& entry : observers_)
    if (entry.observer) entry.observer->begin(kind);
}

void ObserverHub::after_forward(const Layer& layer, const ConstView& /*x*/, const ConstView& y) {
  if (active_ != 0) report(layer, kind_ == PassKind::Tick ? PassKind::Tick : PassKind::Forward, y);
}

void ObserverHub::after_backward(const Layer& layer, const ConstView& dy, const ConstView& dx) {
  const PassKind pass = kind_ == PassKind::Tween ? PassKind::Tween : PassKind::Backward;
  if (active_ != 0) report(layer, pass, dx.data != nullptr ? dx : dy);
}

// Zeros where memory lacks.
TensorStats ObserverHub::figures_of(const ConstView& tensor) {
  double memory[TensorStats::kCount] = {};
  const Tensor figures{memory, 1, TensorStats::kCount, tensor.element};
  const Exec exec{*alone_, *kernels_, arena_};
  const auto measure = [&](const Exec& now) { tensor_statistics(now, tensor, figures); };
  if (!plan_scratch(exec, measure)) return {};
  measure(exec);
  return TensorStats::read(figures);
}

void ObserverHub::report(const Layer& layer, PassKind pass, const ConstView& tensor) {
  const auto place = places_.find(&layer);
  if (place == places_.end() || tensor.data == nullptr) return;
  LayerEvent event;
  event.mode = kind_ == PassKind::Tween  ? EventMode::Tween
               : kind_ == PassKind::Tick ? EventMode::Step
                                         : EventMode::Plain;
  event.pass = pass;
  event.index = place->second.cell, event.cell = network_->address_of(event.index);
  event.path = place->second.path, event.layer_type = layer.kind(), event.dtype = name(layer.common.encoding.dtype);
  event.stats = figures_of(tensor);
  event.step_count = step_, event.model_id = network_->settings.id, event.tensor = tensor, event.layer = &layer;
  const Share* const share = layer_as<Share>(layer);
  event.runs_target = share != nullptr && share->target_in(wiring_) != nullptr;
  for (Entry& entry : observers_) {
    if (!entry.observer) continue;
    auto done = entry.observer->observe(event);
    if (done) continue;
    detached_.push_back({entry.name, std::move(done).error()});
    entry.observer.reset();
    --active_;
  }
}

}  // namespace loom
