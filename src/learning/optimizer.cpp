#include "learning/optimizer.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/checked.h"
#include "learning/names.h"
#include "ops/all.h"
#include "ops/finite.h"
#include "ops/for_rows.h"

namespace loom {

struct Optimizer::Spec {
  std::string_view name;
  double beta1, beta2, eps, decay;  // defaults
  bool has_betas, has_eps, has_momentum, has_amsgrad;
};

// In the order of UpdateKind.
const std::array<Optimizer::Spec, 6>& Optimizer::specs() {
  static constexpr std::array<Spec, 6> table = {{
      {"sgd", 0, 0, 0, 0, false, false, true, false},
      {"adam", 0.9, 0.999, 1e-8, 0, true, true, false, true},
      {"adamw", 0.9, 0.999, 1e-8, 0.01, true, true, false, true},
      {"rmsprop", 0, 0, 1e-8, 0, false, true, true, false},
      {"adagrad", 0, 0, 1e-10, 0, false, true, false, false},
      {"lion", 0.9, 0.99, 0, 0, true, false, false, false},
  }};
  return table;
}

namespace {

// Products of (1 - b) with a square of 2^-102 stay normal in f32.
constexpr double kLeastShare = 0x1p-24;

Result<void> check_share(std::string_view where, std::string_view key, double b) {
  if (b == 0) return {};
  return check_range(where, key, b, kLeastShare, 1 - kLeastShare);
}

}  // namespace

Result<Optimizer> Optimizer::create(const OptimizerConfig& config) {
  std::vector<std::string_view> names;
  for (const Spec& spec : specs()) names.push_back(spec.name);
  LOOM_TRY(const std::size_t index, find_name("optimizer", config.name, names));
  const Spec& spec = specs()[index];
  Optimizer o;
  o.kind_ = static_cast<UpdateKind>(index);
  o.config_ = config;
  o.config_.name = spec.name;
  o.beta1_ = config.beta1.value_or(spec.beta1);
  o.beta2_ = config.beta2.value_or(spec.beta2);
  o.alpha_ = config.alpha.value_or(0.99);
  o.eps_ = config.eps.value_or(spec.eps);
  o.decay_ = config.weight_decay.value_or(spec.decay);
  LOOM_TRY_VOID(o.check());
  return o;
}

Result<void> Optimizer::check() const {
  const OptimizerConfig& c = config_;
  const Spec& spec = specs()[static_cast<std::size_t>(kind_)];
  const auto refuse = [&](std::string_view key) { return fail(Code::InvalidConfig, "{} has no {}", spec.name, key); };
  if (!spec.has_betas && (c.beta1 || c.beta2)) return refuse("beta1, beta2");
  if (!spec.has_eps && c.eps) return refuse("eps");
  if (!spec.has_momentum && c.momentum != 0) return refuse("momentum");
  if (!spec.has_amsgrad && c.amsgrad) return refuse("amsgrad");
  if (kind_ != UpdateKind::Sgd && (c.nesterov || c.dampening != 0)) return refuse("nesterov, dampening");
  if (kind_ != UpdateKind::RmsProp && (c.alpha || c.centered)) return refuse("alpha, centered");
  LOOM_TRY_VOID(check_share(spec.name, "momentum", c.momentum));
  LOOM_TRY_VOID(check_range(spec.name, "dampening", c.dampening, 0, 1));
  LOOM_TRY_VOID(check_share(spec.name, "beta1", beta1_));
  LOOM_TRY_VOID(check_share(spec.name, "beta2", beta2_));
  LOOM_TRY_VOID(check_share(spec.name, "alpha", alpha_));
  LOOM_TRY_VOID(check_range(spec.name, "weight_decay", decay_, 0, 1e6));
  // A second moment may be 0 where the first is not: the quotient must stay finite.
  if (spec.has_eps) LOOM_TRY_VOID(check_range(spec.name, "eps", eps_, 1e-15, 1));
  if (c.decay_vectors && decay_ == 0) return fail(Code::InvalidConfig, "{}: decay_vectors asks for weight_decay", spec.name);
  if (c.nesterov && (c.momentum == 0 || c.dampening != 0))
    return fail(Code::InvalidConfig, "sgd: nesterov asks for momentum above 0 and dampening 0; given {} and {}", c.momentum, c.dampening);
  return {};
}

std::vector<std::string_view> Optimizer::slot_names() const {
  std::vector<std::string_view> names;
  switch (kind_) {
    case UpdateKind::Sgd:
      if (config_.momentum != 0) names = {"momentum"};
      break;
    case UpdateKind::Adam:
    case UpdateKind::AdamW:
      names = {"m", "v"};
      if (config_.amsgrad) names.push_back("v_max");
      break;
    case UpdateKind::RmsProp:
      names = {"square"};
      if (config_.centered) names.push_back("mean");
      if (config_.momentum != 0) names.push_back("momentum");
      break;
    case UpdateKind::Adagrad: names = {"square"}; break;
    case UpdateKind::Lion: names = {"m"}; break;
  }
  return names;
}

Result<void> Optimizer::prepare(std::vector<Parameter> parameters) {
  std::vector<std::array<Buffer, kUpdateSlots>> state(parameters.size());
  const std::size_t count = slot_names().size();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const Parameter& parameter = parameters[p];
    if (parameter.elements == 0) return fail(Code::EmptyTensor, "optimizer: weight {} has no elements", parameter.path);
    LOOM_TRY_VOID(check_range(parameter.path, "learning_rate_scale", parameter.rate_scale, 0, 1e12));
    LOOM_TRY(const std::size_t bytes, checked_mul(parameter.elements, bytes_of(parameter.element)));
    for (std::size_t s = 0; s < count; ++s) {
      LOOM_TRY(state[p][s], Buffer::create(bytes));
    }
  }
  parameters_ = std::move(parameters);
  state_ = std::move(state);
  steps_ = 0;
  forget_sizes();
  return {};
}

std::vector<OptimizerSlot> Optimizer::slots(std::size_t parameter) const {
  const std::vector<std::string_view> names = slot_names();
  const Parameter& p = parameters_[parameter];
  sizes_[parameter] = {};
  std::vector<OptimizerSlot> out;
  for (std::size_t s = 0; s < names.size(); ++s)
    out.push_back({names[s], {const_cast<std::byte*>(state_[parameter][s].data()), 1, p.elements, p.element}});
  return out;
}

Result<void> Optimizer::step(const Exec& exec, std::span<const Tensor> weights, std::span<const ConstTensor> gradients, double learning_rate,
                             std::optional<double> largest_gradient) {
  if (!(learning_rate >= 0 && learning_rate <= 1e12)) return fail(Code::InvalidArgument, "learning rate is {}, expected 0 to 1e12", learning_rate);
  if (weights.size() != parameters_.size() || gradients.size() != parameters_.size())
    return fail(Code::ShapeMismatch, "optimizer: {} weights and {} gradients, {} were prepared", weights.size(), gradients.size(),
                parameters_.size());
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Parameter& want = parameters_[p];
    const std::size_t w = weights[p].rows * weights[p].cols, g = gradients[p].rows * gradients[p].cols;
    if (weights[p].data == nullptr || gradients[p].data == nullptr) continue;
    if (w != want.elements || g != want.elements || weights[p].element != want.element || gradients[p].element != want.element)
      return fail(Code::ShapeMismatch, "optimizer: weight {} has {} elements and its gradient {}, {} were prepared", want.path, w, g, want.elements);
  }
  if (exec.rehearsal()) return {};
  sizes_after_.assign(parameters_.size(), {});
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (weights[p].data == nullptr || gradients[p].data == nullptr) continue;
    const UpdateRule rule = rule_of(parameters_[p], learning_rate, steps_ + 1);
    const double largest = largest_gradient ? *largest_gradient : magnitude_bound(exec, gradients[p]);
    sizes_after_[p] = is_tame(exec, p, rule, weights[p], largest) ? sizes_after(rule, largest, sizes_[p]) : Sizes();
    bool fine = sizes_after_[p].weight < std::numeric_limits<double>::infinity();
    if (!fine) with_element(parameters_[p].element, [&]<class T>() { fine = stays_finite<T>(exec, p, rule, weights[p], gradients[p]); });
    if (!fine) return fail(Code::NonFinite, "{}: its update is not finite (learning rate {})", parameters_[p].path, learning_rate);
  }
  ++steps_;
  sizes_.swap(sizes_after_);
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (weights[p].data == nullptr || gradients[p].data == nullptr) continue;
    const UpdateRule rule = rule_of(parameters_[p], learning_rate, steps_);
    with_element(parameters_[p].element, [&]<class T>() {
      for_elements(exec, parameters_[p].elements, [&](std::size_t first, std::size_t count) {
        UpdateRun<T> run{weights[p].as<T>() + first, gradients[p].as<T>() + first, {}, count};
        for (std::size_t s = 0; s < kUpdateSlots; ++s)
          if (state_[p][s].size() != 0) run.slot[s] = reinterpret_cast<T*>(const_cast<std::byte*>(state_[p][s].data())) + first;
        exec.kernels.update.of<T>().update(rule, run);
      });
    });
  }
  return {};
}

UpdateRule Optimizer::rule_of(const Parameter& parameter, double learning_rate, std::uint64_t step) const {
  UpdateRule rule{.kind = kind_, .rate = learning_rate * parameter.rate_scale};
  rule.decay = parameter.vector && !config_.decay_vectors ? 0 : decay_;
  rule.beta1 = beta1_, rule.beta2 = beta2_, rule.alpha = alpha_, rule.eps = eps_;
  rule.momentum = config_.momentum, rule.dampening = config_.dampening, rule.nesterov = config_.nesterov, rule.centered = config_.centered;
  rule.correct1 = 1 - whole_power(beta1_, step), rule.correct2 = 1 - whole_power(beta2_, step), rule.first = step == 1;
  return rule;
}

// Whether all that goes into an update lies so far inside the range of its type that nothing can leave it; most steps are like that. With sizes
// up to 2^40, decay up to 2^20, eps from 2^-50, 1 - b^t from 2^-20 and rates up to 2^10 the largest number in any of the equations (Adam's
// m / (1 - b1^t) / eps times the rate) is 2^120, that of second moments 2^120; f32 ends at 2^128. Weights and slots are looked at only where
// what earlier steps can have made of them may be too large: reading them all would cost a tenth of a step.
bool Optimizer::is_tame(const Exec& exec, std::size_t p, const UpdateRule& rule, const ConstTensor& weight, double gradient) const {
  static constexpr double kMost = 0x1p40;
  if (rule.rate > 0x1p10 || rule.correct1 < 0x1p-20 || rule.correct2 < 0x1p-20 || !(gradient <= kMost)) return false;
  Sizes& sizes = sizes_[p];
  const auto fit = [&] { return sizes.weight <= kMost && std::ranges::all_of(sizes.slot, [](double size) { return size <= kMost; }); };
  if (fit()) return true;
  sizes.weight = magnitude_bound(exec, weight);
  for (std::size_t s = 0; s < kUpdateSlots; ++s)
    sizes.slot[s] = state_[p][s].size() == 0 ? 0 : magnitude_bound(exec, {state_[p][s].data(), 1, parameters_[p].elements, parameters_[p].element});
  return fit();
}

// Bounds on the sizes after one update, by the equations of the rule.
Optimizer::Sizes Optimizer::sizes_after(const UpdateRule& rule, double gradient, const Sizes& before) {
  const double g = gradient + rule.decay * before.weight;
  Sizes after = before;
  double kept = before.weight, move = g;
  switch (rule.kind) {
    case UpdateKind::Sgd:
      if (rule.momentum == 0) break;
      after.slot[0] = rule.momentum * before.slot[0] + g;
      move = rule.nesterov ? g + rule.momentum * after.slot[0] : after.slot[0];
      break;
    case UpdateKind::Adam:
    case UpdateKind::AdamW: {
      const double used = rule.kind == UpdateKind::Adam ? g : gradient;
      if (rule.kind == UpdateKind::AdamW) kept *= std::max(1.0, rule.rate * rule.decay);
      after.slot[0] = std::max(before.slot[0], used), after.slot[1] = std::max(before.slot[1], used * used);
      after.slot[2] = std::max(before.slot[2], after.slot[1]);
      move = after.slot[0] / rule.correct1 / rule.eps;
      break;
    }
    case UpdateKind::RmsProp: {
      after.slot[0] = std::max(before.slot[0], g * g);
      if (rule.centered) after.slot[1] = std::max(before.slot[1], g);
      move = g / rule.eps;
      double& buffer = after.slot[rule.centered ? 2 : 1];
      if (rule.momentum != 0) buffer = move = rule.momentum * buffer + move;
      break;
    }
    case UpdateKind::Adagrad:
      after.slot[0] = before.slot[0] + g * g, move = g / rule.eps;
      break;
    case UpdateKind::Lion:
      after.slot[0] = std::max(before.slot[0], gradient), move = 1 + rule.decay * before.weight;
      break;
  }
  constexpr double kRounding = 1 + 0x1p-18;  // in f32, and of the coefficients to it
  after.weight = (kept + rule.rate * move) * kRounding;
  for (double& size : after.slot) size *= kRounding;
  return after;
}

// The update of copies.
template <class T>
bool Optimizer::stays_finite(const Exec& exec, std::size_t p, const UpdateRule& rule, const ConstTensor& weight, const ConstTensor& gradient) const {
  constexpr std::size_t kPiece = 256;
  std::atomic<bool> fine{true};
  for_elements(exec, parameters_[p].elements, [&](std::size_t begin, std::size_t count) {
    std::array<std::array<T, kPiece>, kUpdateSlots + 1> copies;
    for (std::size_t first = begin; first < begin + count; first += kPiece) {
      const std::size_t n = std::min(kPiece, begin + count - first);
      UpdateRun<T> run{copies[kUpdateSlots].data(), gradient.as<T>() + first, {}, n};
      std::copy_n(weight.as<T>() + first, n, run.w);
      for (std::size_t s = 0; s < kUpdateSlots; ++s) {
        if (state_[p][s].size() == 0) continue;
        run.slot[s] = copies[s].data();
        std::copy_n(reinterpret_cast<const T*>(state_[p][s].data()) + first, n, run.slot[s]);
      }
      exec.kernels.update.of<T>().update(rule, run);
      const auto bad = [&](const T* values) { return values != nullptr && !std::all_of(values, values + n, [](T v) { return v - v == 0; }); };
      if (bad(run.w) || std::any_of(run.slot.begin(), run.slot.end(), bad)) fine.store(false, std::memory_order_relaxed);
    }
  });
  return fine;
}

}  // namespace loom
