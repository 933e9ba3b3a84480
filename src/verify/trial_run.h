#pragma once
// One trial in one way. Its modes are in run_trial.cpp, those of learning rules and calls in run_rules.cpp.

#include <deque>

#include "network/plan/plans.h"
#include "network/session/network_session.h"
#include "network/mesh/step_mesh.h"
#include "training/trainer.h"
#include "verify/trial.h"

namespace loom {

class TrialRun {
 public:
  TrialRun(const Trial& trial, const TrialWay& way) : trial_(trial), way_(way), options_(trial.options) {
    if (way.variant > 0) options_.merge_patch(trial.variants[way.variant - 1]);
  }

  Result<TrialRecord> run();
  Result<Network> network();
  std::vector<double> inputs(std::string_view purpose) const;

 private:
  // Data.
  std::vector<double> uniform(std::string_view purpose, std::size_t n) const {
    const RandomStream stream{trial_.data, RandomDomain::Noise, 0, random_site(purpose)};
    std::vector<double> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = 2.0 * static_cast<double>(stream.uniform(i)) - 1.0;
    return v;
  }
  std::vector<std::int32_t> classes(std::string_view purpose, std::size_t n, std::size_t below) const {
    const RandomStream stream{trial_.data, RandomDomain::Noise, 1, random_site(purpose)};
    std::vector<std::int32_t> v(n);
    for (std::size_t i = 0; i < n; ++i)
      v[i] = static_cast<std::int32_t>(stream.below(i, static_cast<std::uint32_t>(below)));
    return v;
  }
  // In the network's element type; the memory lives as long as this.
  ConstView view(std::span<const double> values, const Shape& shape) {
    if (element_ == Element::f64) return {kept64_.emplace_back(values.begin(), values.end()).data(), shape, element_};
    std::vector<float>& to = kept_.emplace_back();
    for (const double v : values) to.push_back(static_cast<float>(v));
    return {to.data(), shape, element_};
  }
  // Like view(), in memory of this way's device, which `memory` owns; on the host without a device.
  Result<ConstView> sent(std::span<const double> values, const Shape& shape, Memory& memory) {
    const ConstView here = view(values, shape);
    if (way_.device == nullptr) return here;
    LOOM_TRY(memory, Memory::create(way_.device, shape.elements() * bytes_of(element_)));
    memory.write(0, {here.as<std::byte>(), memory.size()});
    return ConstView{memory.data(), shape, element_};
  }
  // Returns the error of the device, if any.
  Result<void> checked() const { return way_.device != nullptr ? way_.device->check() : Result<void>(); }
  Result<void> fetched(const Network& network) const {
    Result<void> done;
    network.visit_weights([&](const std::string&, Weight& w, Layer&) {
      if (auto fetch = w.fetch(); !fetch) done = std::move(fetch);
    });
    return done ? checked() : done;
  }

  // The record.
  void show(std::string name, std::span<const std::byte> bytes) { record_.show(std::move(name), bytes); }
  void show(std::string name, double value, bool of_whole_batch = false) {
    record_.show(std::move(name), value, of_whole_batch);
  }
  void show(std::string name, const ConstView& v) {
    if (v.data != nullptr)
      show(std::move(name), {static_cast<const std::byte*>(v.data), v.shape.elements() * bytes_of(v.element)});
  }
  // A tensor of the device.
  void show_from_device(std::string name, const ConstView& v) {
    if (way_.device == nullptr || v.data == nullptr) return show(std::move(name), v);
    std::vector<std::byte> here(v.shape.elements() * bytes_of(v.element));
    way_.device->read(v.as<std::byte>(), here);
    show(std::move(name), here);
  }
  void show_text(std::string name, std::string_view text) {
    show(std::move(name), std::as_bytes(std::span(text.data(), text.size())));
  }
  void show_digest(std::string name, const Digest& digest) { record_.entries.push_back({std::move(name), digest}); }
  void show_weights(const Network& network, const std::string& when, bool between_steps = false);
  // Records an error that the values may lead to, in every way alike; any other error is a fault of the trial or of the
  // engine.
  Result<void> answer(const Error& error) {
    if (error.code != Code::NonFinite && error.code != Code::Unsupported) return tl::make_unexpected(error);
    if (error.code == Code::Unsupported) record_.unsupported = error.message;
    show_text(fmt::format("{}: {}", code_name(error.code), error.text()), {});
    return {};
  }
  Result<void> answer(const Result<void>& done) { return done ? done : answer(done.error()); }

  Result<void> stir(Network& network);
  // By the plan of plans_.
  Result<void> forward_calls(const Network& network, std::string_view label, std::size_t calls);
  Result<void> forward();
  Result<void> backward();
  Result<void> train();
  Result<void> files();
  Result<void> morph();
  Result<void> mesh();
  Result<void> mesh_backward(const Network& net, StepMesh& mesh, StepState& state, std::size_t back);
  Result<void> mesh_tween();
  Result<void> fused();
  Result<void> call();
  Result<void> call_back(const Network& net, NetworkSession& session, const ConstView& y, const ConstView* external);
  Result<void> evolve();
  Result<void> population();

  struct Training {
    Network network;
    std::unique_ptr<Trainer> trainer;
  };
  Result<std::unique_ptr<Training>> resumed(Training& from, const TrainerConfig& config);

  const Trial& trial_;
  const TrialWay way_;
  Json options_;
  Shape input_;
  Plans plans_;  // of the network that was made last, for input_
  Element element_ = Element::f32;
  std::deque<std::vector<float>> kept_;
  std::deque<std::vector<double>> kept64_;
  TrialRecord record_;
};

}  // namespace loom
