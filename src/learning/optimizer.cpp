#include "learning/optimizer.h"

#include <algorithm>
#include <tuple>

#include "backend/rehearsal.h"
#include "core/checked.h"
#include "core/nearest.h"
#include "learning/names.h"
#include "ops/elementwise/elementwise.h"
#include "ops/magnitude/magnitude.h"

namespace loom {
namespace {

// Products of (1 - b) with a square of 2^-102 stay normal in f32.
constexpr double kLeastShare = 0x1p-24;

Result<void> check_share(std::string_view where, std::string_view key, double b) {
  if (b == 0) return {};
  return check_range(where, key, b, kLeastShare, 1 - kLeastShare);
}

// Sizes and gradients up to this bound are so far inside the range of every type that no update leaves it.
constexpr double kMostTame = 0x1p40;

bool fit(const UpdateSizes& sizes) {
  return sizes.weight <= kMostTame && std::ranges::all_of(sizes.slot, [](double size) { return size <= kMostTame; });
}

UpdateSizes sizes_after(const UpdateRow& row, const UpdateRule& rule, double gradient, UpdateSizes sizes) {
  row.grow(rule, gradient, sizes);
  constexpr double kRounding = 1 + 0x1p-18;  // in f32, and of the coefficients to it
  sizes.weight *= kRounding;
  for (double& size : sizes.slot) size *= kRounding;
  return sizes;
}

}  // namespace

Result<Optimizer> Optimizer::create(const OptimizerConfig& config) {
  std::vector<std::string_view> names;
  for (const UpdateRow& row : update_rows()) names.push_back(row.name);
  LOOM_TRY(const std::size_t index, find_name("optimizer", config.name, names));
  const UpdateRow& row = update_rows()[index];
  Optimizer o;
  o.config_ = config;
  o.config_.name = row.name;
  o.rule_ = {.kind = static_cast<UpdateKind>(index),
             .decay = config.weight_decay.value_or(row.decay),
             .beta1 = config.beta1.value_or(row.beta1),
             .beta2 = config.beta2.value_or(row.beta2),
             .alpha = config.alpha.value_or(0.99),
             .eps = config.eps.value_or(row.eps),
             .momentum = config.momentum,
             .dampening = config.dampening,
             .nesterov = config.nesterov,
             .centered = config.centered,
             .amsgrad = config.amsgrad};
  LOOM_TRY_VOID(o.check());
  return o;
}

Result<void> Optimizer::check() const {
  const OptimizerConfig& c = config_;
  const std::string_view name = row().name;
  const std::vector<std::string_view> read = split_names(row().reads);
  const auto reads = [&](std::string_view key) { return std::ranges::count(read, key) != 0; };
  const std::tuple<std::string_view, std::string_view, bool> settings[] = {
      {"betas", "beta1, beta2", c.beta1 || c.beta2},
      {"eps", "eps", c.eps.has_value()},
      {"momentum", "momentum", c.momentum != 0},
      {"amsgrad", "amsgrad", c.amsgrad},
      {"dampening", "nesterov, dampening", c.nesterov || c.dampening != 0},
      {"centered", "alpha, centered", c.alpha || c.centered}};
  for (const auto& [key, told, given] : settings)
    if (given && !reads(key)) return fail(Code::InvalidConfig, "{} has no {}", name, told);
  LOOM_TRY_VOID(check_share(name, "momentum", rule_.momentum));
  LOOM_TRY_VOID(check_range(name, "dampening", rule_.dampening, 0, 1));
  LOOM_TRY_VOID(check_share(name, "beta1", rule_.beta1));
  LOOM_TRY_VOID(check_share(name, "beta2", rule_.beta2));
  LOOM_TRY_VOID(check_share(name, "alpha", rule_.alpha));
  LOOM_TRY_VOID(check_range(name, "weight_decay", rule_.decay, 0, 1e6));
  // A second moment may be 0 where the first is not: the quotient must stay finite.
  if (reads("eps")) LOOM_TRY_VOID(check_range(name, "eps", rule_.eps, 1e-15, 1));
  if (c.decay_vectors && rule_.decay == 0)
    return fail(Code::InvalidConfig, "{}: decay_vectors asks for weight_decay", name);
  if (c.nesterov && (c.momentum == 0 || c.dampening != 0))
    return fail(Code::InvalidConfig, "sgd: nesterov asks for momentum above 0 and dampening 0; given {} and {}",
                c.momentum, c.dampening);
  return {};
}

std::vector<std::string_view> Optimizer::slot_names() const {
  std::vector<std::string_view> names;
  for (const char* name : row().slots(rule_).name)
    if (name != nullptr) names.emplace_back(name);
  return names;
}

Result<void> Optimizer::prepare(std::vector<Parameter> parameters, Device* device) {
  std::vector<std::array<Memory, kUpdateSlots>> state(parameters.size());
  const std::size_t count = slot_names().size();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const Parameter& parameter = parameters[p];
    if (parameter.elements == 0) return fail(Code::EmptyTensor, "optimizer: weight {} has no elements", parameter.path);
    if (!(parameter.rate_scale >= 0 && parameter.rate_scale <= 1e12))
      return fail(Code::InvalidConfig,
                  "{}: the learning_rate_scale of its layer and those around it is {}, expected 0 to 1e12",
                  parameter.path, parameter.rate_scale);
    LOOM_TRY(const std::size_t bytes, checked_mul(parameter.elements, bytes_of(parameter.element)));
    for (std::size_t s = 0; s < count; ++s) {
      auto made = Memory::create(device, bytes);
      if (!made) return at(fmt::format("{}.{}", parameter.path, slot_names()[s]), std::move(made).error());
      state[p][s] = *std::move(made);
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
  sizes_[parameter] = {};
  std::vector<OptimizerSlot> out;
  out.reserve(names.size());
  const UpdateState values = state_of(parameter);
  for (std::size_t s = 0; s < names.size(); ++s) out.push_back({names[s], values[s]});
  return out;
}

UpdateState Optimizer::state_of(std::size_t parameter) const {
  const Parameter& p = parameters_[parameter];
  UpdateState out;
  for (std::size_t s = 0; s < kUpdateSlots; ++s)
    if (const Memory& values = state_[parameter][s]; values.size() != 0)
      out[s] = {values.data(), 1, p.elements, p.element};
  return out;
}

Result<void> Optimizer::check_step(std::span<const Tensor> weights, std::span<const ConstTensor> gradients,
                                   double learning_rate) const {
  if (!(learning_rate >= 0 && learning_rate <= 1e12))
    return fail(Code::InvalidArgument, "learning rate is {}, expected 0 to 1e12", learning_rate);
  if (weights.size() != parameters_.size() || gradients.size() != parameters_.size())
    return fail(Code::ShapeMismatch, "optimizer: {} weights and {} gradients, {} were prepared", weights.size(),
                gradients.size(), parameters_.size());
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Parameter& want = parameters_[p];
    const std::size_t w = weights[p].rows * weights[p].cols, g = gradients[p].rows * gradients[p].cols;
    if (weights[p].data == nullptr || gradients[p].data == nullptr) continue;
    if (w != want.elements || g != want.elements || weights[p].element != want.element ||
        gradients[p].element != want.element)
      return fail(Code::ShapeMismatch, "optimizer: weight {} has {} elements and its gradient {}, {} were prepared",
                  want.path, w, g, want.elements);
  }
  return {};
}

Result<void> Optimizer::step(const Exec& exec, std::span<const Tensor> weights, std::span<const ConstTensor> gradients,
                             double learning_rate) {
  Figures figures;
  LOOM_TRY(const Tensor failed, figures.take(1, 1, Element::f32));
  LOOM_TRY_VOID(check_step(weights, gradients, learning_rate));
  LOOM_TRY_VOID(plan_scratch(exec, [&](const Exec& rehearsal) {
    (void)record(rehearsal, weights, gradients, learning_rate, figures, failed);
  }));
  fill_zero(exec, failed);
  LOOM_TRY_VOID(record(exec, weights, gradients, learning_rate, figures, failed));
  return finish(figures);
}

namespace {

Tensor figure_of(const Tensor& all, std::size_t i) {
  return {static_cast<std::byte*>(all.data) + i * bytes_of(all.element), 1, 1, all.element};
}

}  // namespace

// Weights and slots are measured only where what earlier steps can have made of them may be too large: reading them all
// would cost a tenth of a step. With sizes up to 2^40, decay up to 2^20, eps from 2^-50, 1 - b^t from 2^-20 and rates
// up to 2^10 the largest number in any of the equations (Adam's m / (1 - b1^t) / eps times the rate) is 2^120, that of
// second moments 2^120; f32 ends at 2^128. Such updates need not be tried.
Result<void> Optimizer::plan(const Exec& exec, std::size_t p, ConstTensor weight, ConstTensor gradient,
                             Figures& figures) {
  Move& move = moves_[p];
  const Element element = gradient.element;
  const bool are_small = fit(sizes_[p]);
  if (!are_small) {
    const UpdateState state = state_of(p);
    LOOM_TRY(move.weight, figures.take(1, 1, element));
    magnitude_bound(exec, weight, move.weight);
    for (std::size_t s = 0; s < kUpdateSlots; ++s) {
      if (state[s].data == nullptr) continue;
      LOOM_TRY(move.slot[s], figures.take(1, 1, element));
      magnitude_bound(exec, state[s], move.slot[s]);
    }
  }
  const bool is_mild = move.rule.rate <= 0x1p10 && move.rule.correct1 >= 0x1p-20 && move.rule.correct2 >= 0x1p-20;
  move.most = is_mild && are_small ? kMostTame : 0;
  return {};
}

Result<void> Optimizer::record(const Exec& exec, std::span<const Tensor> weights,
                               std::span<const ConstTensor> gradients, double learning_rate, Figures& figures,
                               Tensor failed) {
  if (exec.rehearsal()) {
    std::vector<UpdateTrial> trials;
    for (const ConstTensor& gradient : gradients) trials.push_back({rule_, gradient, gradient, {}, {}, 0});
    magnitude_bounds(exec, gradients, {});
    try_updates(exec, trials, {});
    return {};
  }
  LOOM_TRY_VOID(check_step(weights, gradients, learning_rate));
  moves_.assign(parameters_.size(), {});
  std::vector<ConstTensor> moving;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    moves_[p].moves = weights[p].data != nullptr && gradients[p].data != nullptr;
    if (moves_[p].moves) moving.push_back(gradients[p]);
  }
  if (moving.empty()) return {};
  // All of them at once: on a graphics card each kernel waits for the one before.
  LOOM_TRY(const Tensor bounds, figures.take(1, moving.size(), moving[0].element));
  LOOM_TRY(const Tensor outcomes, figures.take(1, moving.size(), moving[0].element));
  magnitude_bounds(exec, moving, bounds);
  std::vector<UpdateTrial> trials;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    Move& move = moves_[p];
    if (!move.moves) continue;
    move.bound = figure_of(bounds, trials.size()), move.outcome = figure_of(outcomes, trials.size());
    move.learning_rate = learning_rate, move.rule = rule_of(parameters_[p], learning_rate, steps_ + 1);
    LOOM_TRY_VOID(plan(exec, p, weights[p], gradients[p], figures));
    trials.push_back({move.rule, weights[p], gradients[p], state_of(p), move.bound, move.most});
  }
  try_updates(exec, trials, outcomes);
  check_finite(exec, outcomes, failed);
  for (std::size_t p = 0; p < parameters_.size(); ++p)
    if (moves_[p].moves) update(exec, moves_[p].rule, weights[p], gradients[p], state_of(p), failed);
  return {};
}

Result<void> Optimizer::finish(const Figures& figures) {
  for (std::size_t p = 0; p < parameters_.size(); ++p)
    if (moves_[p].moves && figures.at(moves_[p].outcome) != 0)
      return fail(Code::NonFinite, "{}: its update is not finite (learning rate {})", parameters_[p].path,
                  moves_[p].learning_rate);
  ++steps_;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Move& move = moves_[p];
    if (!move.moves) continue;
    UpdateSizes& sizes = sizes_[p];
    if (move.weight.data != nullptr) {
      sizes.weight = figures.at(move.weight);
      for (std::size_t s = 0; s < kUpdateSlots; ++s)
        sizes.slot[s] = move.slot[s].data == nullptr ? 0 : figures.at(move.slot[s]);
    }
    const double largest = figures.at(move.bound);
    const bool is_known = fit(sizes) && largest <= kMostTame;
    sizes = is_known ? sizes_after(row(), move.rule, largest, sizes) : UpdateSizes();
  }
  return {};
}

double Optimizer::largest_gradient(const Figures& figures) const {
  double largest = 0;
  for (const Move& move : moves_)
    if (move.moves) largest = std::max(largest, figures.at(move.bound));
  return largest;
}

UpdateRule Optimizer::rule_of(const Parameter& parameter, double learning_rate, std::uint64_t step) const {
  UpdateRule rule = rule_;
  rule.rate = learning_rate * parameter.rate_scale;
  if (parameter.vector && !config_.decay_vectors) rule.decay = 0;
  rule.correct1 = 1 - whole_power(rule.beta1, step), rule.correct2 = 1 - whole_power(rule.beta2, step),
  rule.first = step == 1;
  return rule;
}

}  // namespace loom
