#include "layers/layer.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "layers/tween.h"

namespace loom {

Result<Gradients> Gradients::create(std::span<const std::size_t> elements, Element element) {
  return create_shared(elements, std::vector<std::size_t>(elements.size()), element);
}

Result<Gradients> Gradients::create_shared(std::span<const std::size_t> elements, std::span<const std::size_t> groups, Element element) {
  Gradients g;
  g.element_ = element;
  std::size_t bytes = 0, most = 0;
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0 && groups[i] != groups[i - 1]) bytes = 0;
    offsets.push_back(bytes);
    LOOM_TRY(const std::size_t size, checked_mul(elements[i], bytes_of(element)));
    g.slots_.push_back({nullptr, size, false});
    LOOM_TRY(bytes, checked_add(bytes, round_up(size, Buffer::kAlignment)));
    most = std::max(most, bytes);
  }
  LOOM_TRY(g.memory_, Buffer::create(most));
  for (std::size_t i = 0; i < offsets.size(); ++i) g.slots_[i].data = g.memory_.data() + offsets[i];
  return g;
}

void* Gradients::of(const Weight& weight) const {
  if (slots_.empty() || weight.is_frozen()) return nullptr;
  Slot& slot = slots_[weight.slot()];
  if (slot.fresh && slot.bytes != 0) std::memset(slot.data, 0, slot.bytes);
  slot.fresh = false;
  return slot.data;
}

Gradients::Target Gradients::target(const Exec& exec, const Weight& weight) const {
  if (slots_.empty() || weight.is_frozen()) return {nullptr, false};
  Slot& slot = slots_[weight.slot()];
  const Target target{slot.data, slot.fresh};
  if (!exec.rehearsal()) slot.fresh = false;
  return target;
}

void Gradients::clear() {
  for (Slot& slot : slots_) slot.fresh = true;
}

void Gradients::clear(const Weight& weight) {
  if (!slots_.empty()) slots_[weight.slot()].fresh = true;
}

void* Statistics::put(const Weight& weight) {
  for (Entry& e : entries_)
    if (e.weight == &weight) {
      e.written = true;
      return e.memory.data();
    }
  return entries_.emplace_back(Entry{&weight, std::vector<double>(weight.elements()), true}).memory.data();
}

const void* Statistics::latest(const Weight& weight) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& e) { return e.weight == &weight && e.written; });
  return found == entries_.end() ? nullptr : found->memory.data();
}

void Statistics::visit(const std::function<void(const Weight&, const void*)>& visit) const {
  for (const Entry& e : entries_)
    if (e.written) visit(*e.weight, e.memory.data());
}

void Statistics::clear() {
  for (Entry& e : entries_) e.written = false;
}

void Layer::visit_all_weights(const std::function<void(Weight&)>& visit) {
  visit_weights([&](Weight& w) {
    visit(w);
    for (Adapter& adapter : w.adapters()) visit(adapter.a), visit(adapter.b);
  });
}

void run_forward(const Layer& layer, const Exec& exec, const Pass& pass, const ConstView& x, const View& y) {
  if (pass.batches && exec.rehearsal() && x.shape.rank() <= layer.sample_rank()) {
    exec.status = Error{Code::ShapeMismatch, fmt::format("{}: a batch {} whose samples have {} axes, one needs {}; a reshape layer before it adds what is missing",
                                                         layer.kind(), x.shape.text(), x.shape.rank() - std::min<std::size_t>(1, x.shape.rank()), layer.sample_rank())};
    return;
  }
  layer.forward(exec, pass, x, y);
  if (pass.watch != nullptr && !exec.rehearsal() && !exec.status) pass.watch->after_forward(layer, x, y);
}

void run_backward(const Layer& layer, const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) {
  layer.backward(exec, pass, dy, dx);
  if (pass.targets != nullptr && dx.data != nullptr && !exec.status) pass.targets->replace(exec, layer, dy, dx);
  if (pass.tween != nullptr && pass.tween->activation_clamp > 0 && dx.data != nullptr) clamp(exec, pass.tween->activation_clamp, dx);
  if (pass.watch != nullptr && !exec.rehearsal() && !exec.status) pass.watch->after_backward(layer, dy, dx);
}

void visit_layers(const std::string& path, Layer& layer, const std::function<void(const std::string&, Layer&)>& visit) {
  visit(path, layer);
  layer.visit_children([&](const std::string& below, Layer& child) {
    visit_layers(path.empty() ? below : below.empty() ? path : path + "." + below, child, visit);  // a link's own operation has its path
  });
}

void visit_weights(const std::string& path, Layer& layer, const std::function<void(const std::string&, Weight&, Layer&)>& visit) {
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
    return fail(Code::UnknownName, "init \"{}\" is unknown; known: auto uniform he xavier normal zeros identity none", common.init.substr(0, 40));
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
