// The output of every layer of random networks is compared with loops in double over the equations (reference.h),
// within a bound that grows with the operations: at each layer from the inputs that the engine gave it, and at the
// output from those of the network.

#include <gtest/gtest.h>

#include <set>

#include "layers/all.h"
#include "network/session/network_session.h"
#include "reference_network.h"
#include "support/environment.h"
#include "verify/random_network.h"
#include "verify/trial.h"

namespace loom::test {
namespace {

constexpr std::uint64_t kSeed = 2;
#if defined(__SANITIZE_THREAD__) || defined(LOOM_SANITIZED)
constexpr std::uint32_t kCases = 30;
#else
constexpr std::uint32_t kCases = 150;
#endif

std::vector<std::size_t> extents_of(const Shape& shape) { return {shape.extents().begin(), shape.extents().end()}; }

double value(const ConstView& v, std::size_t i) {
  return v.element == Element::f64 ? v.as<double>()[i] : static_cast<double>(v.as<float>()[i]);
}

Tensor tensor_of(const ConstView& view) {
  Tensor t{extents_of(view.shape), {}};
  for (std::size_t i = 0; i < view.shape.elements(); ++i) t.v.push_back(exactly(value(view, i)));
  return t;
}

// "element 3 of [2, 5]: 0.25 given, 0.5 +- 1e-6 expected"; empty: all within their bounds.
std::size_t compared = 0, close = 0;  // values, and those whose bound says something
std::string difference(const ConstView& given, const Tensor& expected) {
  if (extents_of(given.shape) != expected.shape)
    return fmt::format("shape {} given, [{}] expected", given.shape.text(), fmt::join(expected.shape, ", "));
  for (std::size_t i = 0; i < expected.v.size(); ++i) {
    const Num e = expected.v[i];
    const double y = value(given, i);
    ++compared, close += e.e <= 0.05 * std::max(1.0, std::abs(e.v));
    if (!std::isfinite(e.v) || !std::isfinite(e.e)) continue;
    if (!(std::abs(y - e.v) <= e.e + tiny))  // stored values are snapped
      return fmt::format("element {} of {}: {} given, {} +- {} expected", i, given.shape.text(), y, e.v, e.e);
  }
  return {};
}

class Watch final : public LayerWatch {
 public:
  explicit Watch(ReferenceNetwork& reference) : reference_(reference) {}
  void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) override {
    const Json* spec = reference_.spec_of(layer);
    if (spec == nullptr || layer_as<Share>(layer) != nullptr || !difference_.empty()) return;
    const auto expected = reference_.layer(*spec, const_cast<Layer&>(layer), tensor_of(x));
    if (!expected) return;
    kinds.insert(std::string(layer.kind()));
    const std::string found = difference(y, *expected);
    if (!found.empty())
      difference_ = fmt::format("{} on {}: {}\n{}", layer.kind(), x.shape.text(), found, dump_json(*spec));
  }
  void after_backward(const Layer&, const ConstView&, const ConstView&) override {}
  const std::string& difference_found() const { return difference_; }
  std::set<std::string> kinds;

 private:
  ReferenceNetwork& reference_;
  std::string difference_;
};

TEST(RandomNetworks, forward_agrees_with_plain_loops_in_double) {
  const auto cases = static_cast<std::uint32_t>(test::asked_for("LOOM_TRIALS", kCases));
  std::set<std::string> kinds;
  for (std::uint32_t k = 0; k < cases; ++k) {
    Trial trial = random_trial(kSeed, k);
    if (is_mesh(trial.mode) || is_of_language(trial) || trial.inputs == "non-finite") continue;
    SCOPED_TRACE(fmt::format("case {} of seed {}", k, kSeed));
    auto network = trial_network(trial);
    ASSERT_TRUE(network) << network.error().text();
    const bool wide = network->settings.activations == Element::f64;
    const std::vector<double> x = trial_input(trial, "x0");
    const std::vector<float> narrow(x.begin(), x.end());
    const ConstView view{wide ? static_cast<const void*>(x.data()) : narrow.data(), Shape::create(trial.input).value(),
                         network->settings.activations};
    ReferenceNetwork reference(*network, trial.network);
    Watch watch(reference);
    NetworkSessionOptions options;
    options.threads = 1;
    const auto session = NetworkSession::create(*network, view.shape, options).value();
    session->watch(&watch);
    const auto y = session->forward(view);
    ASSERT_TRUE(y) << y.error().text();
    EXPECT_EQ(watch.difference_found(), "") << dump_json(trial_to_json(trial));
    const auto expected = reference.run(tensor_of(view));
    EXPECT_EQ(expected ? difference(*y, *expected) : "", "")
        << "the whole network: " << dump_json(trial_to_json(trial));
    kinds.merge(watch.kinds);
  }
  EXPECT_GT(close, compared / 20 * 17) << compared;  // the rest: after inputs that were rounded to 127 levels (D-33)
  if (cases < 150) return;
  for (const LayerKind* kind : layer_kinds())
    EXPECT_TRUE(kind->forward_only || kinds.contains(std::string(kind->name)))
        << kind->name << " was in none of the cases";
}

// Returns false where a derivative does not exist, is defined otherwise or is not taken: differences would not show it.
bool has_plain_derivatives(const Json& spec) {
  return !any_layer(spec, [](const Json& layer) {
    const Settings s(layer);
    const std::string f = s.text("activation"), kind = s.text("type"), source = s.text("meta_source", "input");
    if (f == "sign" || f == "step" || s.flag("gumbel_hard") || layer.contains("gate_aux_weight")) return true;
    // Figures have no gradient, and a meta network that is not trained none by its weights.
    return kind == "metacognition" && s.text("meta_effect", "none") != "none" &&
           (source == "stats" || source == "history" || !s.flag("train_meta"));
  });
}

struct Direction {
  std::vector<double> x;
  std::map<std::string, std::vector<double>> weights;
};

// The sum of dy y along a random direction of input and weights: what backward says against the engine's own forward,
// which the test above holds against loops in double. In f64, with every weight as it is.
class Slope {
 public:
  Slope(const Trial& trial, std::uint32_t number) : trial_(trial), stream_{kSeed, RandomDomain::Noise, number, 0} {}

  // Relative difference of the two; nothing where the network does not run in f64.
  Result<double> difference() {
    LOOM_TRY_VOID(build());
    std::vector<double> x = trial_input(trial_, "x0");
    const Shape shape = Shape::create(trial_.input).value();
    LOOM_TRY(const ConstView y, session_->forward({x.data(), shape, Element::f64}, extras_));
    const std::vector<double> dy = draw(y.shape.elements());
    double size = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) size += std::abs(dy[i] * y.as<double>()[i]);
    session_->gradients().clear();
    LOOM_TRY(const ConstView dx, session_->backward({dy.data(), y.shape, Element::f64}));
    std::vector<double> vx = draw(x.size());
    if (trial_.ids != 0) vx.assign(x.size(), 0);
    double said = 0;
    for (std::size_t i = 0; i < x.size(); ++i) said += vx[i] * dx.as<double>()[i];
    std::vector<std::pair<Weight*, std::vector<double>>> moves;
    network_->visit_weights([&](const std::string&, Weight& w, Layer&) {
      const void* g = session_->gradients().of(w);
      if (g == nullptr || w.role() == WeightRole::Statistic) return;
      std::vector<double> v = draw(w.elements());
      for (std::size_t i = 0; i < v.size(); ++i) said += v[i] * static_cast<const double*>(g)[i];
      moves.emplace_back(&w, std::move(v));
    });
    // The best of some steps: rounding spoils small ones, kinks on the way large ones.
    double best = std::numeric_limits<double>::infinity();
    for (const double h : {1e-5, 1e-6, 1e-7, 1e-4, 1e-8}) {
      LOOM_TRY(const double up, loss(x, vx, moves, dy, h));
      LOOM_TRY(const double down, loss(x, vx, moves, dy, -h));
      const double measured = (up - down) / (2 * h), noise = 1e-13 * size / h;
      best = std::min(best, std::max(0.0, std::abs(measured - said) - noise) / std::max(1e-3, std::abs(said)));
    }
    LOOM_TRY_VOID(loss(x, vx, moves, dy, 0).map([](double) {}));
    return best;
  }

 private:
  Result<void> build() {
    Trial wide = trial_;
    wide.network["activations"] = "float64", wide.network["default_dtype"] = "float64";
    const std::function<void(Json&)> strip = [&](Json& at) {
      if (at.is_object()) at.erase("dtype");
      if (at.is_structured())
        for (Json& inner : at) strip(inner);
    };
    strip(wide.network["layers"]);
    LOOM_TRY(Network made, trial_network(wide));
    network_.emplace(std::move(made));
    NetworkSessionOptions options;
    options.threads = 1, options.backward = true;
    LOOM_TRY(const Shape input, Shape::create(wide.input));
    LOOM_TRY(session_, NetworkSession::create(*network_, input, options));
    extras_.training = false, extras_.step = 3;
    return {};
  }
  std::vector<double> draw(std::size_t n) {
    std::vector<double> v(n);
    for (double& e : v) e = 2.0 * static_cast<double>(stream_.uniform(next_++)) - 1.0;
    return v;
  }
  Result<double> loss(const std::vector<double>& x, const std::vector<double>& vx,
                      const std::vector<std::pair<Weight*, std::vector<double>>>& moves, const std::vector<double>& dy,
                      double h) {
    for (const auto& [w, v] : moves) {
      auto& base = bases_[w];
      if (base.empty()) base.resize(w->elements()), w->decode(0, base.size(), base.data());
      std::vector<double> now = base;
      for (std::size_t i = 0; i < now.size(); ++i) now[i] += h * v[i];
      LOOM_TRY_VOID(w->set(std::span<const double>(now)));
    }
    std::vector<double> at = x;
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += h * vx[i];
    session_->reset();
    LOOM_TRY(const ConstView y,
             session_->forward({at.data(), Shape::create(trial_.input).value(), Element::f64}, extras_));
    double sum = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) sum += dy[i] * y.as<double>()[i];
    return sum;
  }

  const Trial& trial_;
  RandomStream stream_;
  std::uint64_t next_ = 0;
  std::optional<Network> network_;
  std::unique_ptr<NetworkSession> session_;
  PassExtras extras_;
  std::map<Weight*, std::vector<double>> bases_;
};

TEST(RandomNetworks, gradients_agree_with_differences) {
  const auto cases = static_cast<std::uint32_t>(test::asked_for("LOOM_TRIALS", kCases));
  std::size_t checked = 0;
  for (std::uint32_t k = 0; k < cases; ++k) {
    const Trial trial = random_trial(kSeed + 1, k);
    if (is_mesh(trial.mode) || is_of_language(trial) || trial.inputs != "uniform" ||
        !has_plain_derivatives(trial.network))
      continue;
    const auto difference = Slope(trial, k).difference();
    ASSERT_TRUE(difference) << difference.error().text() << "\n" << dump_json(trial_to_json(trial));
    EXPECT_LT(*difference, 1e-5) << "case " << k << " of seed " << kSeed + 1 << ": " << dump_json(trial_to_json(trial));
    ++checked;
  }
  EXPECT_GT(checked, cases / 5);
}

}  // namespace
}  // namespace loom::test
