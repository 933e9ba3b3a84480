#include "layers/layer.h"

#include <algorithm>

#include "layers/tween.h"

namespace loom {

void Layer::visit_all_weights(const std::function<void(Weight&)>& visit) {
  visit_weights([&](Weight& w) {
    visit(w);
    for (Adapter& adapter : w.adapters()) visit(adapter.a), visit(adapter.b);
  });
}

Error no_backward(const Layer& layer) {
  return {Code::Unsupported,
          fmt::format("{} has no backward for targets: nothing in it or before it can learn by target propagation; "
                      "\"trainable\": false keeps the cells before it as they are",
                      layer.kind())};
}

void run_forward(const Layer& layer, const Run& run, const ConstView& x, const View& y) {
  if (run.batches && run.rehearsal() && x.shape.rank() <= layer.sample_rank()) {
    return run.fail(
        {Code::ShapeMismatch,
         fmt::format(
             "{}: a batch {} whose samples have {} axes, one needs {}; a reshape layer before it adds what is missing",
             layer.kind(), x.shape.text(), x.shape.rank() - std::min<std::size_t>(1, x.shape.rank()),
             layer.sample_rank())});
  }
  layer.forward(run, x, y);
  ran_forward(layer, run, x, y);
}

void ran_forward(const Layer& layer, const Run& run, const ConstView& x, const ConstView& y) {
  if (run.watch == nullptr || (run.rehearsal() && !run.watch->sees_rehearsals()) || run.exec.status) return;
  run.watch->after_forward(layer, x, y);
}

void run_backward(const Layer& layer, const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) {
  rules == nullptr ? layer.backward(run, dy, dx) : layer.target(run, *rules, dy, dx);
  ran_backward(layer, run, dy, dx, rules);
}

void ran_backward(const Layer& layer, const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) {
  if (run.targets != nullptr && dx.data != nullptr && !run.exec.status) run.targets->replace(run, layer, dy, dx);
  if (rules != nullptr && rules->activation_clamp > 0 && dx.data != nullptr) clamp(run, rules->activation_clamp, dx);
  if (run.watch == nullptr || run.rehearsal() || run.exec.status) return;
  rules == nullptr ? run.watch->after_backward(layer, dy, dx) : run.watch->after_target(layer, dy, dx, rules->rate);
}

StateSlots StateSlots::from(std::size_t first) const {
  const auto rest = [first](auto span) { return span.subspan(std::min(first, span.size())); };
  return {rest(attention), rest(recurrent), rest(metas)};
}

void visit_layers(const std::string& path, Layer& layer, const std::function<void(const std::string&, Layer&)>& visit) {
  visit(path, layer);
  layer.visit_children([&](const std::string& below, Layer& child) {
    visit_layers(path.empty() ? below : path + "." + below, child, visit);
  });
}

void visit_weights(const std::string& path, Layer& layer,
                   const std::function<void(const std::string&, Weight&, Layer&)>& visit) {
  visit_layers(path, layer, [&](const std::string& place, Layer& l) {
    l.visit_all_weights([&](Weight& w) { visit(place.empty() ? w.name() : place + "." + w.name(), w, l); });
  });
}

namespace {

Result<WeightInit> rule_for(const Weight& weight, const CommonSettings& common) {
  using Rule = WeightInit::Rule;
  WeightInit init = weight.initial();
  // Named rules change matrices; biases stay 0 and gains 1.
  if (weight.role() != WeightRole::Matrix || common.init.empty() || common.init == "auto") return init;
  if (common.init == "uniform") {
    init.rule = Rule::Uniform, init.size = common.init_scale > 0 ? common.init_scale : 0.1;
  } else if (common.init == "normal") {
    init.rule = Rule::Normal, init.size = common.init_scale > 0 ? common.init_scale : 0.02;
  } else if (common.init == "he") {
    init.rule = Rule::He;
  } else if (common.init == "xavier") {
    init.rule = Rule::Glorot;
  } else if (common.init == "zeros" || common.init == "none") {
    init.rule = Rule::Zeros;
  } else if (common.init == "identity") {
    init.rule = Rule::Identity;
  } else {
    return fail(Code::UnknownName, "init \"{}\" is unknown; known: auto uniform he xavier normal zeros identity none",
                common.init.substr(0, 40));
  }
  return init;
}

}  // namespace

Result<void> initialise_weights(const std::string& path, Layer& layer, std::uint64_t seed) {
  std::optional<Error> error;
  visit_weights(path, layer, [&](const std::string& name, Weight& weight, Layer& owner) {
    if (error || weight.is_tied() || weight.has_value()) return;
    const auto fill = [&]() -> Result<void> {
      LOOM_TRY_VOID(weight.morph(owner.common.encoding));
      LOOM_TRY(const WeightInit init, rule_for(weight, owner.common));
      return weight.initialise(init, seed, random_site(name));
    };
    if (auto done = fill(); !done) error = std::move(done).error();
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return {};
}

Weight* find_weight(Layer& layer, std::string_view name) {
  Weight* found = nullptr;
  layer.visit_all_weights([&](Weight& w) {
    if (w.name() == name) found = &w;
  });
  return found;
}

}  // namespace loom
