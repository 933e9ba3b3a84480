// Modes of a trial beside those of whole networks: a step of target propagation in one call or in three, and calls with
// masks, lengths and a second input.

#include <array>

#include "backend/travel.h"
#include "verify/trial_options.h"
#include "verify/trial_run.h"

namespace loom {

// step() and its three parts have the same bits (engine W-03): "unfused" takes the parts, except on a device, where a
// step is one call.
Result<void> TrialRun::fused() {
  LOOM_TRY(Network net, network());
  LOOM_TRY(const TweenConfig config, tween_config_from_json(options_["tween"]));
  const auto made = TweenSession::create(net, plans_.forward, config,
                                         {.threads = way_.threads, .isa = way_.isa, .device = way_.device});
  if (!made) return answer(made.error());
  TweenSession& tween = **made;
  const bool in_three = flag_option(options_, "unfused") && way_.device == nullptr;
  const double rate = 0.05;
  for (std::size_t step = 0; step < number_option(options_, "steps", 1); ++step) {
    PassExtras extras;
    extras.training = flag_option(options_, "training"), extras.step = static_cast<std::uint32_t>(step);
    Memory input_memory, target_memory;
    LOOM_TRY(const ConstView x, sent(inputs(fmt::format("x{}", step)), input_, input_memory));
    const auto y = tween.forward(x, extras);
    if (!y) return answer(y.error());
    Buffer memory;
    const auto output = brought(way_.device, *y, memory);
    if (!output) return answer(output.error());
    show(fmt::format("output {}", step), *output);
    LOOM_TRY(const ConstView t, sent(uniform(fmt::format("t{}", step), y->shape.elements()), y->shape, target_memory));
    Result<void> moved;
    if (in_three) {
      moved = tween.backward({.values = t});
      if (moved) moved = tween.calculate_link_budgets();
      if (moved) moved = tween.apply(rate);
    } else {
      moved = tween.step({.values = t}, rate);
    }
    if (!moved) {
      // The cell that the error names depends on the order of the work; the weights stay in either.
      if (moved.error().code != Code::NonFinite) return answer(moved.error());
      show_text(fmt::format("not finite {}", step), {});
    } else {
      show(fmt::format("gap {}", step), tween.output_gap());
      for (const TweenUse& use : tween.uses())
        show(fmt::format("budget {} of {}", step, *use.path), use.budget),
            show(fmt::format("gap {} of {}", step, *use.path), use.gap),
            show(fmt::format("update {} of {}", step, *use.path), use.update_norm);
    }
    LOOM_TRY_VOID(fetched(net));
    show_weights(net, fmt::format("step {} ", step));
    if (!moved) break;
  }
  return {};
}

// Calls with what stands beside the input: "lengths" of the samples, a "mask" of so many keys, a second input
// "external" of [steps, columns] per sample. In parts of "part" samples forward alone runs.
Result<void> TrialRun::call() {
  LOOM_TRY(const Network net, network());
  const std::size_t batch = input_[0], part = std::min(batch, number_option(options_, "part", batch));
  const bool goes_back = flag_option(options_, "backward");
  const auto session = NetworkSession::create(
      net, plans_.forward, {.threads = way_.threads, .isa = way_.isa, .backward = goes_back, .device = way_.device});
  if (!session) return answer(session.error());
  const std::vector<std::size_t> lengths = list_option(options_, "lengths"),
                                 external = list_option(options_, "external");
  const std::size_t keys = number_option(options_, "mask");
  for (std::size_t call = 0; call < number_option(options_, "calls", 1); ++call) {
    const std::vector<double> x = inputs(fmt::format("x{}", call));
    Sha256 whole;
    for (std::size_t first = 0; first < batch; first += part) {
      const std::size_t count = std::min(part, batch - first);
      const auto rows = [&](const std::vector<double>& values,
                            std::span<const std::size_t> sample) -> Result<ConstView> {
        std::vector<std::size_t> extents{count};
        extents.insert(extents.end(), sample.begin(), sample.end());
        LOOM_TRY(const Shape shape, Shape::create(extents));
        const std::size_t each = shape.elements() / count;
        return view(std::span(values).subspan(first * each, count * each), shape);
      };
      PassExtras extras;
      extras.training = flag_option(options_, "training"), extras.step = static_cast<std::uint32_t>(call);
      extras.first_sample = first;
      if (lengths.size() == batch) extras.lengths = std::span(lengths).subspan(first, count);
      ConstView mask, second;
      if (keys != 0) {
        const std::vector<std::int32_t> kept = classes(fmt::format("mask{}", call), batch * keys, 4);
        std::vector<double> entries;
        entries.reserve(kept.size());
        for (const std::int32_t k : kept) entries.push_back(k > 0 ? 1 : 0);
        LOOM_TRY(mask, rows(entries, std::array{keys}));
        extras.mask = &mask;
      }
      if (external.size() == 2) {
        LOOM_TRY(second, rows(uniform(fmt::format("external{}", call), batch * external[0] * external[1]), external));
        extras.external = &second;
      }
      LOOM_TRY(const ConstView given, rows(x, std::span(trial_.input).subspan(1)));
      const auto y = (*session)->forward_host(given, extras);
      if (!y) return answer(y.error());
      whole.update({static_cast<const std::byte*>(y->data), y->shape.elements() * bytes_of(element_)});
      if (goes_back) LOOM_TRY_VOID(call_back(net, **session, *y, extras.external));
    }
    show_digest(fmt::format("output {}", call), whole.finish());
  }
  return {};
}

// The gradients of the input, of the second input and of the weights.
Result<void> TrialRun::call_back(const Network& net, NetworkSession& session, const ConstView& y,
                                 const ConstView* external) {
  Memory slopes, zeros;
  LOOM_TRY(const ConstView dy, sent(uniform("dy", y.shape.elements()), y.shape, slopes));
  View second;
  if (external != nullptr) {
    LOOM_TRY(zeros, Memory::create(way_.device, external->shape.elements() * bytes_of(element_)));
    second = {zeros.data(), external->shape, element_};
  }
  const auto dx = session.backward(dy, external == nullptr ? nullptr : &second);
  if (!dx) return answer(dx.error());
  Buffer memory;
  const auto gradient = brought(way_.device, *dx, memory);
  if (!gradient) return answer(gradient.error());
  show("input gradient", *gradient);
  if (external != nullptr) show_from_device("gradient of the second input", second);
  net.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    show_from_device("gradient of " + path, {session.gradients().of(w), Shape::of({1, w.elements()}), element_});
  });
  return checked();
}

}  // namespace loom
