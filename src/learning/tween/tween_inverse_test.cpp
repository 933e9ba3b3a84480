// Difference target propagation: what its feedback weights descend, what they become, and the targets that follow.

#include "core/fp_environment.h"
#include "learning/tween/tween_feedback.h"
#include "learning/tween/tween_test.h"
#include "ops/noise/noise.h"

namespace loom {
namespace {

using namespace test;

std::vector<double> numbers(const std::string& name, std::size_t n, double size = 1) {
  const std::vector<float> v = random_values(name, n, size);
  return {v.begin(), v.end()};
}

// The transposed map of a layer with V in place of its weights, by plain loops: rows of features, or one axis of
// positions.
struct Transposed {
  bool backwards = false;                    // a transposed convolution
  std::size_t samples = 1, in = 1, out = 1;  // features or channels
  std::size_t from = 1, to = 1;              // positions of x, and of u
  std::size_t kernel = 1, stride = 1, padding = 0, groups = 1;
  std::size_t rows() const { return samples * from; }
  std::size_t weights() const { return out * in / groups * kernel; }

  std::vector<double> of(const std::vector<double>& v, const std::vector<double>& c,
                         const std::vector<double>& u) const {
    std::vector<double> s(samples * in * from);
    for (std::size_t b = 0; b < samples; ++b)
      for (std::size_t i = 0; i < in; ++i)
        for (std::size_t p = 0; p < from; ++p) {
          double sum = c[i];
          const std::size_t group = i / (in / groups), filters = out / groups;
          for (std::size_t f = group * filters; f < (group + 1) * filters; ++f)
            for (std::size_t o = 0; o < to; ++o)
              for (std::size_t k = 0; k < kernel; ++k) {
                const bool meets = backwards ? o + padding == p * stride + k : o * stride + k == p + padding;
                if (meets) sum += v[(f * (in / groups) + i % (in / groups)) * kernel + k] * u[(b * out + f) * to + o];
              }
          s[(b * in + i) * from + p] = sum;
        }
    return s;
  }
};

struct Case {
  std::string cell;
  std::vector<std::size_t> input;
  Transposed map;
  double size;  // of the weights: squares of u on both sides of the bound
};

double tanh_error(const Case& c, const std::vector<double>& v, const std::vector<double>& shift,
                  const std::vector<double>& u, const std::vector<double>& xn) {
  const std::vector<double> s = c.map.of(v, shift, u);
  double sum = 0;
  for (std::size_t i = 0; i < s.size(); ++i) sum += std::pow(std::tanh(s[i]) - xn[i], 2);
  return sum / static_cast<double>(c.map.rows());
}

std::vector<double> noisy(const NetworkSession& session, const TweenConfig& config, std::uint32_t site,
                          std::vector<double> x) {
  std::vector<double> noise(x.size());
  Arena arena;
  const FpEnvironment environment;
  ThreadPool& pool = const_cast<NetworkSession&>(session).pool();
  normal_noise({pool, session.kernels(), arena}, *config.feedback_noise, {1, RandomDomain::Noise, 7, site},
               {noise.data(), 1, noise.size(), Element::f64});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += noise[i];
  return x;
}

// One feedback phase moves V and c down the slope of the error, measured by differences.
void expect_descent(const Case& c) {
  TestNetwork network = network_of({c.cell}, c.input, 1, Element::f64, "float64");
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    ASSERT_TRUE(w.set(std::span<const double>(numbers(path, w.elements(), c.size))));
  });
  TweenConfig config;
  config.mode = TweenMode::Dtp, config.feedback_noise = 0.5, config.feedback_learning_rate = 0.3;
  const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
  const auto plain = NetworkSession::create(network, network.plan, {1}).value();
  const Shape shape = Shape::create(c.input).value();
  const std::vector<double> x = numbers("x", shape.elements());
  const std::vector<double> xn = noisy(session->session(), config, network.cell(0).layer->site, x);
  const auto answer = plain->forward({xn.data(), shape, Element::f64});
  LOOM_OK(answer);
  const std::vector<double> u(answer->as<double>(), answer->as<double>() + answer->shape.elements());
  std::vector<std::vector<double>> before, after;
  const auto read = [&](std::vector<std::vector<double>>& to) {
    session->feedback()->visit_weights(
        [&](const std::string&, Weight& w) { to.emplace_back(w.master64().begin(), w.master64().end()); });
  };
  const auto y = session->forward({x.data(), shape, Element::f64}, at_step(7));
  LOOM_OK(y);
  const std::vector<double> t = numbers("t", y->shape.elements());
  read(before);
  LOOM_OK(session->step({.values = {t.data(), y->shape, Element::f64}}, 0));
  read(after);
  ASSERT_EQ(before.size(), 2u);
  ASSERT_EQ(before[0].size(), c.map.weights());
  ASSERT_EQ(before[1].size(), c.map.in);
  double m = 0;
  for (const double value : u) m += value * value;
  m *= static_cast<double>(c.map.kernel) / static_cast<double>(c.map.rows());
  EXPECT_EQ(m > 1, c.size > 1) << m;
  for (std::size_t which = 0; which < 2; ++which)
    for (std::size_t i = 0; i < before[which].size(); ++i) {
      constexpr double kStep = 1e-5;
      auto up = before, down = before;
      up[which][i] += kStep, down[which][i] -= kStep;
      const double slope = (tanh_error(c, up[0], up[1], u, xn) - tanh_error(c, down[0], down[1], u, xn)) / (2 * kStep);
      const double rate = which == 0 ? 0.3 / std::max(1.0, m) : 0.3;
      // The bound adds 1e-6 to the norm that it divides by.
      ASSERT_NEAR(after[which][i] - before[which][i], -rate * slope, 1e-7 + 1e-5 * std::fabs(rate * slope))
          << which << " " << i;
    }
}

TEST(Tween, a_feedback_phase_descends_the_error_of_reconstruction) {  // W-60, W-61
  const auto conv = [](const char* kind, const char* rest) {
    return fmt::format(
        R"({{"type":"{}","input_channels":4,"filters":6,"kernel_size":3,"stride":2,"activation":"tanh","bias":true{}}})",
        kind, rest);
  };
  for (const double size : {0.1, 2.0}) {
    expect_descent({dense(5, 4, "tanh"), {3, 5}, {.samples = 3, .in = 5, .out = 4}, size});
    expect_descent({dense(3, 6, "tanh"), {2, 4, 3}, {.samples = 8, .in = 3, .out = 6}, size});
    expect_descent(
        {conv("cnn1", R"(,"padding":1,"groups":2)"),
         {2, 4, 8},
         {.samples = 2, .in = 4, .out = 6, .from = 8, .to = 4, .kernel = 3, .stride = 2, .padding = 1, .groups = 2},
         size});
    // One channel, which a spec leaves out.
    expect_descent({R"({"type":"cnn1","filters":3,"kernel_size":3,"activation":"tanh","bias":true})",
                    {2, 1, 9},
                    {.samples = 2, .in = 1, .out = 3, .from = 9, .to = 7, .kernel = 3},
                    size});
    expect_descent({conv("convtransposed1", ""),
                    {2, 4, 3},
                    {.backwards = true, .samples = 2, .in = 4, .out = 6, .from = 3, .to = 7, .kernel = 3, .stride = 2},
                    size});
  }
}

// G of a linear layer becomes its inverse, and the target of the input the one of Gauss and Newton: x + W^-1 e.
TEST(Tween, feedback_of_an_invertible_layer_becomes_its_inverse_and_targets_those_of_gauss_newton) {  // W-60, W-62
  constexpr std::size_t kWidth = 4, kRows = 16;
  TestNetwork network = network_of({dense(kWidth, kWidth)}, {kRows, kWidth}, 1, Element::f64, "float64");
  std::vector<double> w = numbers("w", kWidth * kWidth, 0.3);
  for (std::size_t i = 0; i < kWidth; ++i) w[i * kWidth + i] += 1;
  network.visit_weights([&](const std::string&, Weight& weight, Layer&) {
    const std::vector<double> b = numbers("b", kWidth);
    ASSERT_TRUE(weight.set(std::span<const double>(weight.role() == WeightRole::Matrix ? w : b)));
  });
  TweenConfig config;
  config.mode = TweenMode::Dtp, config.feedback_noise = 1, config.feedback_learning_rate = 0.3,
  config.feedback_steps = 20;
  const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
  const Shape shape = Shape::of({kRows, kWidth});
  const std::vector<double> x = numbers("x", kRows * kWidth), t = numbers("t", kRows * kWidth);
  std::vector<double> gap;  // e = (t - y) / outputs of a row, for the loss mse and an output_step of 1/2
  for (std::uint32_t step = 0; step < 150; ++step) {
    const auto y = session->forward({x.data(), shape, Element::f64}, at_step(step));
    LOOM_OK(y);
    gap.clear();
    for (std::size_t i = 0; i < t.size(); ++i) gap.push_back((t[i] - y->as<double>()[i]) / kWidth);
    LOOM_OK(session->step({.values = {t.data(), shape, Element::f64}}, 0));
  }
  std::vector<double> v;
  session->feedback()->visit_weights([&](const std::string&, Weight& weight) {
    if (weight.role() == WeightRole::Matrix) v.assign(weight.master64().begin(), weight.master64().end());
  });
  for (std::size_t i = 0; i < kWidth; ++i)
    for (std::size_t k = 0; k < kWidth; ++k) {
      double sum = 0;  // of V^T W
      for (std::size_t o = 0; o < kWidth; ++o) sum += v[o * kWidth + i] * w[o * kWidth + k];
      EXPECT_NEAR(sum, i == k ? 1 : 0, 1e-6) << i << " " << k;
    }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t o = 0; o < kWidth; ++o) {
      double sum = 0;  // of W d
      for (std::size_t i = 0; i < kWidth; ++i)
        sum += w[o * kWidth + i] * session->input_gap().as<double>()[r * kWidth + i];
      EXPECT_NEAR(sum, gap[r * kWidth + o], 1e-6) << r << " " << o;
    }
}

// A cell alone descends the loss itself; the one before it aims at its output + G(t) - G(y).
TEST(Tween, weights_descend_the_distance_to_the_difference_target) {  // W-62
  const std::vector<std::string> cells = {dense(3, 4, "tanh"), dense(4, 2, "tanh")};
  TestNetwork network = network_of(cells, {2, 3}, 1, Element::f64, "float64"),
              first = network_of({cells[0]}, {2, 3}, 1, Element::f64, "float64");
  TweenConfig config;
  config.mode = TweenMode::Dtp, config.budget_threshold = 0, config.activation_clamp = 0;
  const auto session = TweenSession::create(network, network.plan, config, on_threads(1)).value();
  const std::vector<double> x = numbers("x", 6), t = numbers("t", 4);
  const auto hidden = NetworkSession::create(first, first.plan, {1}).value();
  const auto h = hidden->forward({x.data(), Shape::of({2, 3}), Element::f64});
  LOOM_OK(h);
  std::vector<double> target(h->as<double>(), h->as<double>() + 8);
  const auto y = session->forward({x.data(), Shape::of({2, 3}), Element::f64}, at_step(0));
  LOOM_OK(y);
  const std::vector<double> out(y->as<double>(), y->as<double>() + 4);
  LOOM_OK(session->step({.values = {t.data(), Shape::of({2, 2}), Element::f64}}, 0.1));
  std::vector<std::vector<double>> v;
  session->feedback()->visit_weights(
      [&](const std::string&, Weight& w) { v.emplace_back(w.master64().begin(), w.master64().end()); });
  ASSERT_EQ(v.size(), 4u);  // of both cells
  const Transposed map{.samples = 2, .in = 4, .out = 2};
  std::vector<double> wanted = out;
  for (std::size_t i = 0; i < 4; ++i) wanted[i] += (t[i] - out[i]) / 2;
  const std::vector<double> at_target = map.of(v[2], v[3], wanted), at_output = map.of(v[2], v[3], out);
  for (std::size_t i = 0; i < 8; ++i) target[i] += std::tanh(at_target[i]) - std::tanh(at_output[i]);
  // The first cell by itself: sgd at 0.1 down the mean over rows of |f(x) - target|^2, four times the mean over
  // elements.
  config.output_step = 2;
  const auto alone = TweenSession::create(first, first.plan, config, on_threads(1, false)).value();
  LOOM_OK(alone->forward({x.data(), Shape::of({2, 3}), Element::f64}, at_step(0)));
  LOOM_OK(alone->step({.values = {target.data(), Shape::of({2, 4}), Element::f64}}, 0.1));
  std::vector<double> together, apart;
  for (const auto& [from, to] : {std::pair{&network, &together}, {&first, &apart}})
    from->visit_weights([&](const std::string& path, Weight& w, Layer&) {
      if (path.starts_with("layers.0")) to->insert(to->end(), w.master64().begin(), w.master64().end());
    });
  ASSERT_EQ(together.size(), apart.size());
  for (std::size_t i = 0; i < apart.size(); ++i) EXPECT_NEAR(together[i], apart[i], 1e-9) << i;
}

// A gap of 0 stays 0: feedback learns, the weights rest.
TEST(Tween, an_output_at_its_target_moves_no_weight) {  // W-21, W-62
  TestNetwork network = network_of({dense(5, 8, "relu"), dense(8, 6, "tanh"), dense(6, 3)}, {4, 5});
  TweenConfig config;
  config.mode = TweenMode::Dtp;
  const auto session = TweenSession::create(network, network.plan, config, on_threads(2)).value();
  const std::vector<float> x = random_values("x", 20);
  const auto y = session->forward({x.data(), Shape::of({4, 5})}, at_step(0));
  LOOM_OK(y);
  const std::vector<float> same(y->as(), y->as() + 12);
  const std::string before = hash_of(network);
  LOOM_OK(session->step({.values = {same.data(), Shape::of({4, 3})}}, 0.1));
  EXPECT_EQ(hash_of(network), before);
  for (const TweenUse& use : session->uses()) EXPECT_EQ(use.gap, 0) << *use.path;
}

}  // namespace
}  // namespace loom
