#include "brain.h"

#include <cmath>

#include "core/json.h"
#include "network/spec/spec.h"
#include "simd/math64.h"
#include "training/weight_hash.h"

namespace creature {
namespace {

// The expectation learns by squares, which a linear output feels far more than the bounded gaps of probabilities.
constexpr float kCalm = 0.15f;

std::string plan(std::uint32_t seed) {
  return fmt::format(R"({{"id":"creature","seed":{},"input_shape":[{}],"layers":[)"
                     R"({{"type":"dense","input_height":{},"output_height":{},"bias":true,"activation":"tanh"}},)"
                     R"({{"type":"dense","input_height":{},"output_height":{},"bias":true}}]}})",
                     seed, kInputs, kInputs, kHidden, kHidden, kOutputs);
}

// From logits; exp is Loom's own, as libm differs between systems.
std::array<double, kBehaviours> softmax(const float* logits) {
  const double top = static_cast<double>(*std::max_element(logits, logits + kBehaviours));
  std::array<double, kBehaviours> p;
  double sum = 0;
  for (std::size_t b = 0; b < kBehaviours; ++b) sum += p[b] = loom::exp64(static_cast<double>(logits[b]) - top);
  for (double& v : p) v /= sum;
  return p;
}

// Returns the probabilities of the behaviours that the row aims at.
std::array<double, kBehaviours> wanted(const Row& row, const std::array<double, kBehaviours>& p) {
  std::array<double, kBehaviours> t{};
  const auto b = static_cast<std::size_t>(row.behaviour);
  switch (row.aim) {
    case Row::Aim::as_it_is: return p;
    case Row::Aim::behaviour: t[b] = 1; break;
    case Row::Aim::nothing_special: t.fill(1.0 / kBehaviours); break;
    case Row::Aim::anything_else: {
      // The others share what it had, each at least a little, so that something else is tried next.
      constexpr double kLittle = 0.05;
      const double sum = 1 - p[b] + kLittle * (kBehaviours - 1);
      for (std::size_t i = 0; i < kBehaviours; ++i) t[i] = i == b ? 0 : (p[i] + kLittle) / sum;
    }
  }
  return t;
}

}  // namespace

// Keeps what the hidden layer puts out: it is the only one with kHidden columns.
class Brain::CellWatch final : public loom::PassWatch {
 public:
  void begin(loom::PassKind, std::uint64_t, const loom::Wiring&) override {}
  void after_forward(const loom::Layer&, const loom::ConstView&, const loom::ConstView& y) override {
    if (y.shape.elements() == kHidden) std::copy_n(y.as(), kHidden, cells.begin());
  }
  void after_backward(const loom::Layer&, const loom::ConstView&, const loom::ConstView&) override {}
  std::array<float, kHidden> cells{};
};

Brain::Brain() = default;
Brain::Brain(Brain&&) noexcept = default;
Brain& Brain::operator=(Brain&&) noexcept = default;
Brain::~Brain() = default;

Behaviour Guess::best() const {
  return static_cast<Behaviour>(std::max_element(sure.begin(), sure.end()) - sure.begin());
}

loom::Result<Brain> Brain::create(std::uint32_t seed, const Machine& machine) {
  LOOM_TRY(loom::SpecResult spec, loom::network_from_json(plan(seed)));
  return of(std::move(spec.network), machine);
}

loom::Result<Brain> Brain::of(loom::Network network, const Machine& machine) {
  // The plan of its own seed is what it must be; another build may have other senses.
  loom::SpecOptions plan_only;
  plan_only.initialise = false;
  LOOM_TRY(const loom::SpecResult expected,
           loom::network_from_json(plan(static_cast<std::uint32_t>(network.settings.seed)), plan_only));
  if (loom::network_to_json(network) != loom::network_to_json(expected.network))
    return loom::fail(loom::Code::CorruptData, "its network is none that this program grows");
  std::string broken;
  network.visit_weights([&](const std::string& path, loom::Weight& w, loom::Layer&) {
    for (const float v : w.master())
      if (!std::isfinite(v)) broken = path;
  });
  if (!broken.empty()) return loom::fail(loom::Code::CorruptData, "{} holds a value that is not finite", broken);

  Brain brain;
  brain.network_ = std::make_unique<loom::Network>(std::move(network));
  brain.cells_ = std::make_unique<CellWatch>();
  loom::NetworkSessionOptions options;
  options.threads = machine.threads, options.isa = machine.isa, options.input_gradient = false;
  LOOM_TRY(const auto plan, loom::ForwardPlan::create(*brain.network_, loom::Shape::of({kRows, kInputs})));
  LOOM_TRY(brain.thinking_, loom::NetworkSession::create(*brain.network_, plan, options));
  brain.thinking_->observe(brain.cells_.get());
  loom::TweenConfig config;
  config.mode = loom::TweenMode::Layerwise;
  config.momentum = 0;  // so that between two steps the weights are all there is to keep
  config.budget_threshold = 0;
  LOOM_TRY(brain.learning_, loom::TweenSession::create(*brain.network_, plan, config, options));
  return brain;
}

loom::Result<Guess> Brain::guess(const Situation& situation) {
  std::array<float, kInputs> x;
  sense(situation, x);
  LOOM_TRY(const loom::ConstView y, thinking_->forward({x.data(), loom::Shape::of({1, kInputs})}));
  Guess guess;
  guess.sure = softmax(y.as());
  guess.expectation = static_cast<int>(std::clamp(y.as()[kBehaviours], -1.0f, 1.0f) * 1000.0f);
  guess.cells = cells_->cells;
  return guess;
}

loom::Result<TweenReport> Brain::step(std::span<const Row, kRows> rows, double rate) {
  std::array<float, kRows * kInputs> x;
  for (std::size_t r = 0; r < kRows; ++r)
    sense(rows[r].situation, std::span<float, kInputs>(x.data() + r * kInputs, kInputs));
  LOOM_TRY(const loom::ConstView y, learning_->forward({x.data(), loom::Shape::of({kRows, kInputs})}));

  std::array<float, kRows * kOutputs> target;
  for (std::size_t r = 0; r < kRows; ++r) {
    const float* out = y.as() + r * kOutputs;
    const std::array<double, kBehaviours> p = softmax(out), t = wanted(rows[r], p);
    // Logits have no value of their own to aim at: they move by what their probabilities lack.
    for (std::size_t b = 0; b < kBehaviours; ++b) target[r * kOutputs + b] = out[b] + static_cast<float>(t[b] - p[b]);
    const float expectation = out[kBehaviours];
    target[r * kOutputs + kBehaviours] =
        expectation + kCalm * (static_cast<float>(rows[r].expected) / 1000.0f - expectation);
  }
  LOOM_TRY_VOID(learning_->step({.values = {target.data(), loom::Shape::of({kRows, kOutputs})}}, rate));

  TweenReport report{.gap = learning_->output_gap()};
  double squares = 0;
  for (const loom::TweenUse& use : learning_->uses()) {
    report.budget += use.budget / static_cast<double>(learning_->uses().size());
    squares += use.update_norm * use.update_norm;
  }
  report.moved = std::sqrt(squares);
  return report;
}

std::string Brain::hash() const { return loom::to_hex(loom::weight_hash(*network_)); }

std::size_t Brain::num_weights() const {
  std::size_t count = 0;
  network_->visit_weights([&](const std::string&, loom::Weight& w, loom::Layer&) { count += w.elements(); });
  return count;
}

}  // namespace creature
