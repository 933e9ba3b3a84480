#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/philox.h"
#include "evolution/sums.h"
#include "evolution/tasks/task.h"
#include "network/plan/forward_plan.h"
#include "simd/math64.h"

namespace loom {
namespace {

struct Cart {
  double x = 0, speed = 0, angle = 0, turn = 0;
  std::size_t steps = 0;
  bool fallen = false;
};

// Equations of motion of Barto, Sutton & Anderson 1983, without friction.
void step(Cart& c, bool right) {
  constexpr double kGravity = 9.8, kPole = 0.1, kTotal = 1.1, kHalfLength = 0.5, kForce = 10, kSeconds = 0.02;
  const double cosine = cos64(c.angle), sine = sin64(c.angle), force = right ? kForce : -kForce;
  const double push = (force + kPole * kHalfLength * c.turn * c.turn * sine) / kTotal;
  const double turning =
      (kGravity * sine - cosine * push) / (kHalfLength * (4.0 / 3.0 - kPole * cosine * cosine / kTotal));
  const double moving = push - kPole * kHalfLength * turning * cosine / kTotal;
  c.x += kSeconds * c.speed, c.speed += kSeconds * moving;
  c.angle += kSeconds * c.turn, c.turn += kSeconds * turning;
  ++c.steps;
  constexpr double kFarthest = 2.4, kSteepest = 12 * 2 * 3.141592653589793 / 360;
  c.fallen = !(std::abs(c.x) <= kFarthest && std::abs(c.angle) <= kSteepest);
}

class CartPole final : public Task {
 public:
  explicit CartPole(const CartPoleConfig& config) : config_(config) {
    const RandomStream stream{config.seed, RandomDomain::Noise, 0, random_site("cart_pole")};
    const auto draw = [&](std::size_t i) { return (2 * static_cast<double>(stream.uniform(i)) - 1) * 0.05; };
    for (std::size_t e = 0; e < config.episodes; ++e)
      starts_.push_back({draw(4 * e), draw(4 * e + 1), draw(4 * e + 2), draw(4 * e + 3)});
  }
  TaskKind kind() const override { return TaskKind::CartPole; }
  Shape input() const override { return Shape::of({config_.episodes, 4}); }
  double target() const override { return 1; }

  Result<void> check_output(const Shape& output) const override {
    const std::size_t width = output.elements() / config_.episodes;
    if (output[0] == config_.episodes && (width == 1 || width == 2)) return {};
    return fail(Code::ShapeMismatch, "an output {} for {} episodes: {} outputs each, 1 or 2 expected", output.text(),
                config_.episodes, width);
  }

  Result<Fitness> judge(Runner& runner, const Candidate& candidate) const override {
    Fitness f;
    const auto carts = run(runner, candidate);
    const double all = static_cast<double>(config_.steps);
    for (std::size_t e = 0; e < config_.episodes; ++e) {
      f.behaviour.push_back(carts ? (*carts)[e].x : 0);
      f.behaviour.push_back(carts ? static_cast<double>((*carts)[e].steps) / all : 0);
    }
    f.objectives = {
        carts ? lanes16(carts->size(), [&](std::size_t e) { return static_cast<double>((*carts)[e].steps) / all; }) /
                    static_cast<double>(carts->size())
              : std::numeric_limits<double>::quiet_NaN()};
    return f;
  }

  Result<std::vector<bool>> right(Runner& runner, const Candidate& candidate) const override {
    LOOM_TRY(const std::vector<Cart> carts, run(runner, candidate));
    std::vector<bool> mask;
    mask.reserve(carts.size());
    for (const Cart& c : carts) mask.push_back(c.steps == config_.steps);
    return mask;
  }

 private:
  // All episodes go on together, one row each, until the last has ended.
  Result<std::vector<Cart>> run(Runner& runner, const Candidate& candidate) const {
    const Element element = candidate.network.settings.activations;
    const bool wide = element == Element::f64;
    runner.use(candidate);
    std::vector<Cart> carts = starts_;
    std::vector<double> seen(4 * carts.size());
    std::vector<float> narrow(seen.size());
    const Shape shape = input();
    for (std::size_t t = 0; t < config_.steps; ++t) {
      bool any = false;
      for (std::size_t e = 0; e < carts.size(); ++e) {
        any = any || !carts[e].fallen;
        seen[4 * e] = carts[e].x, seen[4 * e + 1] = carts[e].speed, seen[4 * e + 2] = carts[e].angle,
                 seen[4 * e + 3] = carts[e].turn;
      }
      if (!any) break;
      if (!wide) narrow.assign(seen.begin(), seen.end());
      LOOM_TRY(const ConstView y,
               runner.forward({wide ? static_cast<const void*>(seen.data()) : narrow.data(), shape, element}));
      LOOM_TRY_VOID(check_output(y.shape));
      const std::size_t width = y.shape.elements() / carts.size();
      const auto out = [&](std::size_t i) { return wide ? y.as<double>()[i] : static_cast<double>(y.as<float>()[i]); };
      for (std::size_t e = 0; e < carts.size(); ++e)
        if (!carts[e].fallen) step(carts[e], width == 1 ? out(e) > 0 : out(2 * e + 1) > out(2 * e));
    }
    return carts;
  }
  CartPoleConfig config_;
  std::vector<Cart> starts_;
};

// Matrices of a layer for an input of that shape.
double multiply_adds(const Candidate& candidate, Layer& layer, const Shape& in, bool always = false) {
  const auto& [network, plan] = candidate;
  if (layer.common.is_disabled && !always) return 0;
  if (const Share* share = layer_as<Share>(layer)) {
    Layer* const operation = network.cell(*network.target_of(*share)).operation();
    return operation == nullptr ? 0 : multiply_adds(candidate, *operation, in, true);
  }
  const auto out = layer.wired_shape(&plan.wiring(), in);
  double sum = 0;
  Shape shape = in;
  const bool is_sequence = layer.kind_row().inside == Inside::Chain;
  layer.visit_children([&](const std::string&, Layer& child) {
    sum += multiply_adds(candidate, child, shape);
    if (!is_sequence || child.common.is_disabled) return;
    if (const auto next = child.wired_shape(&plan.wiring(), shape)) shape = *next;
  });
  const MatrixUse use = layer.kind_row().matrix;
  if (use == MatrixUse::Lookup || !out) return sum;
  layer.visit_weights([&](Weight& w) {
    if (w.role() != WeightRole::Matrix) return;
    // Each filter meets every place of its output, each row of another matrix every row of the input.
    const double places = use == MatrixUse::Places
                              ? static_cast<double>(out->elements()) / static_cast<double>((*out)[0] * w.rows())
                              : static_cast<double>(in.rows()) / static_cast<double>(in[0]);
    sum += static_cast<double>(w.elements()) * places;
  });
  return sum;
}

}  // namespace

std::unique_ptr<Task> cart_pole_task(const CartPoleConfig& config) { return std::make_unique<CartPole>(config); }

double multiply_adds(const Candidate& candidate) {
  const auto& [network, plan] = candidate;
  double sum = 0;
  for (std::size_t i = 0; i < network.num_cells(); ++i) {
    const Cell& cell = network.cell(i);
    if (!cell.runs() || cell.operation() == nullptr) continue;
    sum += multiply_adds(candidate, *cell.operation(), i == 0 ? plan.input() : plan.shape_after(i - 1));
  }
  return sum;
}

Result<FitnessFunction> fitness_of(const Task& task, const std::vector<std::string>& names) {
  std::vector<Objective> objectives;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(kObjectives, name);
    if (found == kObjectives.end())
      return fail(Code::UnknownName, "objective \"{}\" is unknown; known: {}", name.substr(0, 40),
                  fmt::join(kObjectives, " "));
    objectives.push_back(static_cast<Objective>(found - kObjectives.begin()));
  }
  if (objectives.empty() || objectives[0] != Objective::Score)
    return fail(Code::InvalidConfig, "the first objective is \"score\"");
  return FitnessFunction([&task, objectives](Runner& runner, const Candidate& candidate) -> Result<Fitness> {
    LOOM_TRY(Fitness f, task.judge(runner, candidate));
    for (std::size_t i = 1; i < objectives.size(); ++i)
      f.objectives.push_back(objectives[i] == Objective::Bytes
                                 ? -static_cast<double>(candidate.network.resident_bytes())
                                 : -multiply_adds(candidate));
    return f;
  });
}

}  // namespace loom
