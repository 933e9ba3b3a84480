// Target propagation against engine 7.

#include "core/json.h"
#include "learning/tween/tween_test.h"
#include "ops/all.h"

#include "backend/cpu/isa.h"

namespace loom {
namespace {

using namespace test;

NetworkSessionOptions with(int threads, std::optional<Isa> isa = std::nullopt) {
  return {.threads = threads, .isa = isa};
}

struct Step {
  std::vector<float> x, target;
  Shape shape;
};

// A step of a golden layer towards random values.
Result<Step> golden_step(const GoldenLayer& c, const Network& network) {
  LOOM_TRY(const Shape shape, Shape::create(c.input));
  LOOM_TRY(const auto plan, ForwardPlan::create(network, shape));
  LOOM_TRY(const Shape out, plan->output_shape(shape));
  return Step{golden_input(c), random_values(std::string(c.name) + "/t", out.elements()), shape};
}

PassExtras extras_of(const GoldenLayer& c) {
  PassExtras extras;
  extras.training = c.training, extras.step = 3;
  return extras;
}

TEST(Tween, calls_out_of_order_and_bad_targets_are_errors) {  // W-03
  TestNetwork network = network_of({dense(3, 2)}, {4, 3});
  const auto session = TweenSession::create(network, network.plan, {}, with(1)).value();
  const std::vector<float> x = random_values("x", 12), t = random_values("t", 8);
  const TweenTarget target{.values = {t.data(), Shape::of({4, 2})}};
  EXPECT_EQ(session->backward(target).error().code, Code::InvalidState);
  EXPECT_EQ(session->calculate_link_budgets().error().code, Code::InvalidState);
  EXPECT_EQ(session->apply(0.1).error().code, Code::InvalidState);
  LOOM_OK(session->forward({x.data(), Shape::of({4, 3})}));
  EXPECT_EQ(session->apply(0.1).error().code, Code::InvalidState);
  EXPECT_EQ(session->step({.values = {t.data(), Shape::of({2, 4})}}, 0.1).error().code, Code::ShapeMismatch);
  LOOM_OK(session->forward({x.data(), Shape::of({4, 3})}));
  LOOM_OK(session->backward(target));
  EXPECT_EQ(session->backward(target).error().code, Code::InvalidState);
  LOOM_OK(session->calculate_link_budgets());
  LOOM_OK(session->apply(0.1));
  EXPECT_EQ(session->step(target, 0.1).error().code, Code::InvalidState);
}

TEST(Tween, settings_outside_their_range_and_unknown_names_are_errors) {  // W-01
  TestNetwork network = network_of({dense(3, 2)}, {4, 3});
  const auto code = [&](auto&& change) {
    TweenConfig config;
    change(config);
    const auto session = TweenSession::create(network, network.plan, config, with(1));
    return session ? std::optional<Code>() : std::optional<Code>(session.error().code);
  };
  EXPECT_EQ(code([](TweenConfig& c) { c.momentum = 1.5; }), Code::InvalidConfig);
  EXPECT_EQ(code([](TweenConfig& c) { c.activation_clamp = -1; }), Code::InvalidConfig);
  EXPECT_EQ(code([](TweenConfig&) {}), std::nullopt);
}

TEST(Tween, settings_from_json) {  // W-01
  const auto config = tween_config_from_json(
      parse_json(R"({"mode":"layerwise","momentum":0.5,"recompute_every":3,"use_chain_rule":false})").value());
  LOOM_OK(config);
  EXPECT_EQ(config->mode, TweenMode::Layerwise);
  EXPECT_EQ(config->momentum, 0.5);
  EXPECT_EQ(config->recompute_every, 3u);
  EXPECT_FALSE(config->use_chain_rule);
  const auto unknown = [](const char* json) { return tween_config_from_json(parse_json(json).value()).error(); };
  EXPECT_EQ(unknown(R"({"momemtum":0.5})").code, Code::UnknownKey);
  EXPECT_NE(unknown(R"({"momemtum":0.5})").message.find("nearest: momentum"), std::string::npos)
      << unknown(R"({"momemtum":0.5})").message;
  for (const std::string key : {"learning_rate", "batch_size"}) {  // once parsed and never read
    const Error error = unknown(fmt::format(R"({{"{}":7}})", key).c_str());
    EXPECT_EQ(error.code, Code::UnknownKey);
    EXPECT_EQ(error.text(), "/" + key + ": a key of the run, beside \"tween\"");
  }
  for (const char* unread :
       {R"({"output_step":0.5})", R"({"mode":"dtp","momentum":0.5})", R"({"mode":"layerwise","gradient_scale":0.1})",
        R"({"slope":"sign"})", R"({"mode":"mirror","depth_scale_layerwise":true})", R"({"mode":"dtp","slope":"sign"})",
        R"({"mode":"dtp","estimate":"average"})"}) {
    EXPECT_EQ(unknown(unread).code, Code::InvalidConfig) << unread;
    EXPECT_NE(unknown(unread).message.find("not read in mode"), std::string::npos) << unknown(unread).message;
  }
  EXPECT_EQ(tween_config_from_json(parse_json(R"({"mode":"Pure","target_scale":"weight-sum"})").value())->target_scale,
            TweenScale::WeightSum);
  EXPECT_EQ(name(mode_of(TweenConfig())), "chain");
  TweenConfig layerwise;
  layerwise.use_chain_rule = false;
  EXPECT_EQ(name(mode_of(layerwise)), "layerwise");
  EXPECT_EQ(name(mode_of(*tween_config_from_json({{"mode", "pure"}}))), "layerwise");
  const std::pair<const char*, const char*> wrong[] = {{"mode", "\"sideways\" is unknown; nearest: "},
                                                       {"mode", "\"3\" is unknown; nearest: "},
                                                       {"slope", "\"steep\" is unknown; nearest: "},
                                                       {"estimate", "\"guess\" is unknown; nearest: "},
                                                       {"target_scale", "\"all\" is unknown; nearest: "}};
  for (const auto& [key, message] : wrong) {
    const std::string given = std::string(message).substr(1, std::string(message).find('"', 1) - 1);
    const auto refused = tween_config_from_json({{key, given}});
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, Code::UnknownName) << key;
    EXPECT_EQ(refused.error().text().find("/" + std::string(key) + ": " + message), 0U) << refused.error().text();
  }
  EXPECT_EQ(unknown(R"({"mode":"dtp","use_chain_rule":true})").text(), "/use_chain_rule: true contradicts mode dtp");
  for (const char* bad : {R"({"momentum":"0.5"})", R"({"recompute_every":-1})", R"({"recompute_every":1.5})", "[]"})
    EXPECT_EQ(tween_config_from_json(parse_json(bad).value()).error().code, Code::InvalidConfig) << bad;
}

TEST(Tween, numbers_that_move_nothing_or_diverge_are_refused_by_name) {  // W-01
  const auto refusal = [](const char* json) {
    const auto config = tween_config_from_json(parse_json(json).value());
    return config ? std::string("accepted") : config.error().text();
  };
  EXPECT_EQ(refusal(R"({"momentum":1})"), "/momentum: expected a number from 0 to below 1, got 1");
  EXPECT_EQ(refusal(R"({"momentum":5})"), "/momentum: expected a number from 0 to below 1, got 5");
  EXPECT_EQ(refusal(R"({"mode":"mirror","output_step":0})"), "/output_step: expected a number above 0 to 1e+30, got 0");
  EXPECT_EQ(refusal(R"({"mode":"mirror","feedback_learning_rate":2})"),
            "/feedback_learning_rate: expected a number from 0 to below 2, got 2");
  EXPECT_EQ(refusal(R"({"mode":"dtp","feedback_learning_rate":0.5})"),
            "/feedback_learning_rate: expected a number from 0 to below 0.5, got 0.5");
  EXPECT_EQ(refusal(R"({"budget_threshold":1.5})"), "/budget_threshold: expected a number from 0 to 1, got 1.5");
  for (const char* fits : {R"({"momentum":0.999})", R"({"mode":"mirror","feedback_learning_rate":1.9})",
                           R"({"mode":"dtp","feedback_learning_rate":0.49})", R"({"mode":"dtp","output_step":1e-9})"})
    EXPECT_EQ(refusal(fits), "accepted") << fits;
}

// W[o, i] += lr (0.5 + 0.5 budget) (1 - momentum) mean_r x e, with x, e and the budget by hand.
TEST(Tween, update_of_a_dense_cell_by_hand) {  // G-71, L-21
  TestNetwork network = network_of({dense(3, 5, "linear", false)}, {2, 3});
  Weight* weight = nullptr;
  network.visit_weights([&](const std::string&, Weight& w, Layer&) { weight = &w; });
  const std::vector<float> before(weight->master().begin(), weight->master().end());
  TweenConfig config = layerwise();
  config.momentum = 0, config.budget_threshold = 0;
  const auto session = TweenSession::create(network, network.plan, config, with(1)).value();
  const std::vector<float> x = random_values("x", 6), t = random_values("t", 10);
  const auto y = session->forward({x.data(), Shape::of({2, 3})});
  LOOM_OK(y);
  const std::vector<float> out(y->as(), y->as() + 10);
  LOOM_OK(session->step({.values = {t.data(), Shape::of({2, 5})}}, 0.5));
  double at = 0, aa = 0, tt = 0, gap = 0;
  for (std::size_t i = 0; i < 10; ++i)
    at += out[i] * t[i], aa += out[i] * out[i], tt += t[i] * t[i], gap += (t[i] - out[i]) * (t[i] - out[i]);
  const double budget = (at / std::sqrt(aa * tt) + 1) / 2;
  ASSERT_EQ(session->uses().size(), 1u);
  EXPECT_NEAR(session->uses()[0].budget, budget, 1e-6);
  EXPECT_NEAR(session->uses()[0].gap, std::sqrt(gap / 10), 1e-6);
  EXPECT_NEAR(session->output_gap(), std::sqrt(gap / 10), 1e-6);
  double norm = 0;
  for (std::size_t o = 0; o < 5; ++o)
    for (std::size_t i = 0; i < 3; ++i) {
      const double mean = (x[i] * (t[o] - out[o]) + x[3 + i] * (t[5 + o] - out[5 + o])) / 2,
                   move = 0.5 * (0.5 + 0.5 * budget) * mean;
      EXPECT_NEAR(weight->master()[o * 3 + i], before[o * 3 + i] + move, 1e-6) << o << " " << i;
      norm += move * move;
    }
  EXPECT_NEAR(session->uses()[0].update_norm, std::sqrt(norm), 1e-6);
}

// The target of the hidden layer, by hand: tx = x + sum_o W e, weak paths and both scales.
TEST(Tween, the_target_of_an_input_by_hand) {  // W-20, W-21, W-22
  for (const TweenScale scale : {TweenScale::None, TweenScale::WeightSum})
    for (const TweenEstimate estimate : {TweenEstimate::Difference, TweenEstimate::Average}) {
      SCOPED_TRACE(fmt::format("{} {}", kTweenScales[static_cast<std::size_t>(scale)],
                               kTweenEstimates[static_cast<std::size_t>(estimate)]));
      TestNetwork network = network_of({dense(3, 5, "linear", false)}, {2, 3});
      Weight* weight = nullptr;
      network.visit_weights([&](const std::string&, Weight& w, Layer&) { weight = &w; });
      std::vector<float> w(weight->master().begin(), weight->master().end());
      for (std::size_t o = 0; o < 5; ++o) w[o * 3 + 1] = 0.0015f;  // |W| sums to less than the threshold
      LOOM_OK(weight->set(std::span<const float>(w)));
      TweenConfig config = layerwise();
      config.target_scale = scale, config.estimate = estimate;
      const auto session = TweenSession::create(network, network.plan, config, with(1)).value();
      const std::vector<float> x = random_values("x", 6), t = random_values("t", 10);
      const auto y = session->forward({x.data(), Shape::of({2, 3})});
      LOOM_OK(y);
      const std::vector<float> out(y->as(), y->as() + 10);
      LOOM_OK(session->backward({.values = {t.data(), Shape::of({2, 5})}}));
      for (std::size_t r = 0; r < 2; ++r)
        for (std::size_t i = 0; i < 3; ++i) {
          double pull = 0, size = 0, target = 0;
          for (std::size_t o = 0; o < 5; ++o) {
            pull += w[o * 3 + i] * (t[r * 5 + o] - out[r * 5 + o]);
            target += w[o * 3 + i] * t[r * 5 + o];
            size += std::fabs(w[o * 3 + i]);
          }
          const double gap = i == 1                               ? 0
                             : estimate == TweenEstimate::Average ? target / size - x[r * 3 + i]
                             : scale == TweenScale::None          ? pull
                                                                  : pull / size;
          EXPECT_NEAR(session->input_gap().as()[r * 3 + i], gap, 2e-6) << r << " " << i;
        }
    }
}

// A path is weak up to the threshold itself: sums of |W|, gains of norms.
TEST(Tween, a_path_of_exactly_the_threshold_is_weak) {  // W-22
  const float above = std::nextafter(0.5f, 1.0f);
  const std::vector<std::pair<std::string, std::vector<float>>> cells = {
      {dense(4, 2, "linear", false), {0.25f, -0.25f, 0.25f, above - 0.25f, 0.25f, 0.25f, -0.25f, -0.25f}},
      {R"({"type":"rmsnorm","input_height":4})", {0.5f, -0.5f, 0.5f, -above}},
      {R"({"type":"layernorm","input_height":4})", {0.5f, -0.5f, 0.5f, above}}};
  for (const auto& [cell, values] : cells) {
    SCOPED_TRACE(cell);
    TestNetwork network = network_of({cell}, {2, 4});
    network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
      if (!path.ends_with("bias") && !path.ends_with("beta")) LOOM_OK(w.set(std::span<const float>(values)));
    });
    TweenConfig config = layerwise();
    config.weight_threshold = 0.5;
    const auto session = TweenSession::create(network, network.plan, config, with(1)).value();
    const std::vector<float> x = random_values("x", 8);
    const auto y = session->forward({x.data(), Shape::of({2, 4})});
    LOOM_OK(y);
    const std::vector<float> t = random_values("t", y->shape.elements());
    LOOM_OK(session->backward({.values = {t.data(), y->shape}}));
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(session->input_gap().as()[i] != 0, i % 4 == 3) << i;
  }
}

// L-06: e times (f(a + h) - f(a - h)) / 2h, h = 0.5 rms(a).
TEST(Tween, secant_slope_of_a_cell_by_hand) {  // L-06
  for (const std::string activation : {"tanh", "relu", "sign", "silu"}) {
    SCOPED_TRACE(activation);
    TestNetwork network = network_of({R"({"type":"activation","activation":")" + activation + "\"}"}, {2, 3});
    const auto session = TweenSession::create(network, network.plan, layerwise(), with(1)).value();
    const std::vector<float> x = random_values("x", 6), t = random_values("t", 6);
    const auto y = session->forward({x.data(), Shape::of({2, 3})});
    LOOM_OK(y);
    const std::vector<float> out(y->as(), y->as() + 6);
    LOOM_OK(session->backward({.values = {t.data(), Shape::of({2, 3})}}));
    double squares = 0;
    for (const float v : x) squares += v * v;
    const double h = 0.5 * std::sqrt(squares / 6);
    const auto f = [&](double a) {
      return activation == "tanh"   ? std::tanh(a)
             : activation == "relu" ? std::max(a, 0.0)
             : activation == "sign" ? (a >= 0 ? 1.0 : -1.0)
                                    : a / (1 + std::exp(-a));
    };
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(session->input_gap().as()[i], (t[i] - out[i]) * (f(x[i] + h) - f(x[i] - h)) / (2 * h), 3e-6) << i;
  }
}

TEST(Tween, sign_slopes_keep_targets_in_range_and_turn_where_the_activation_falls) {  // L-11, W-20
  TweenConfig config = layerwise();
  config.slope = TweenSlope::Sign;
  const std::vector<float> x = {0.5f, -0.25f, -3.0f, 2.0f}, t = {5, -5, 5, 0.5f};
  const auto gap = [&](const std::string& activation) {
    TestNetwork network = network_of({R"({"type":"activation","activation":")" + activation + "\"}"}, {1, 4});
    const auto session = TweenSession::create(network, network.plan, config, with(1)).value();
    EXPECT_TRUE(session->forward({x.data(), Shape::of({1, 4})}));
    EXPECT_TRUE(session->backward({.values = {t.data(), Shape::of({1, 4})}}));
    return std::vector<float>(session->input_gap().as(), session->input_gap().as() + 4);
  };
  const std::vector<float> tanh_gap = gap("tanh");
  EXPECT_NEAR(tanh_gap[0], 1 - std::tanh(0.5), 1e-6);
  EXPECT_NEAR(tanh_gap[1], -1 - std::tanh(-0.25), 1e-6);
  EXPECT_NEAR(tanh_gap[3], 0.5 - std::tanh(2.0), 1e-6);
  EXPECT_EQ(gap("relu")[1], 0.0f);
  EXPECT_NEAR(gap("silu")[2], -(5 - -3 / (1 + std::exp(3.0))), 1e-5);  // silu falls at -3
}

TEST(Tween, budgets_of_zeros) {  // W-40, G-76
  const auto pool = ThreadPool::create(1).value();
  Arena arena = Arena::create(4096).value();
  const Exec exec{*pool, *kernels_for(best_isa()).value(), arena};
  // The budget of values a whose targets are a + e.
  const auto budget = [&](std::vector<float> a, std::vector<float> e) {
    float figures[kGapFigures], failed = 0;
    gap_figures(exec, {a.data(), 1, a.size()}, {e.data(), 1, e.size()}, {}, {figures, 1, kGapFigures, Element::f32},
                {&failed, 1, 1, Element::f32});
    return figures[kBudget];
  };
  EXPECT_EQ(budget({0, 0}, {0, 0}), 1.0f);
  EXPECT_EQ(budget({1, 1}, {-1, -1}), 0.5f);
  EXPECT_EQ(budget({0, 0}, {1, 1}), 0.5f);
  EXPECT_NEAR(budget({1, -1}, {-2, 2}), 0, 1e-7);
  EXPECT_EQ(budget({1, -1}, {1, -1}), 1.0f);
  // A dead cell moves again: its budget is a half, above the threshold.
  TestNetwork network = network_of({dense(3, 2, "relu")}, {4, 3});
  network.visit_weights([](const std::string&, Weight& w, Layer&) {
    std::vector<float> v(w.elements(), 0.0f);
    ASSERT_TRUE(w.set(std::span<const float>(v)));
  });
  TweenConfig config = layerwise();
  const auto session = TweenSession::create(network, network.plan, config, with(1)).value();
  const std::vector<float> x(12, 1.0f), t(8, 1.0f);
  double first = 0, last = 0;
  for (int i = 0; i < 200; ++i) {
    LOOM_OK(session->forward({x.data(), Shape::of({4, 3})}));
    LOOM_OK(session->step({.values = {t.data(), Shape::of({4, 2})}}, 0.1));
    if (i == 0) {
      EXPECT_EQ(session->uses()[0].budget, 0.5);
    }
    (i == 0 ? first : last) = session->output_gap();
  }
  EXPECT_LT(last, 0.1 * first);
}

// A meta network whose effect carries no target has no record; every record that is listed is complete.
TEST(Tween, UsesAreCompleteOrNotListed) {
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp})
    for (const char* effect : {"none", "gate", "noise", "intervention"})
      for (const bool nested : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name(mode), effect, nested));
        const std::string observed = dense(4, 4, "tanh"), meta_network = dense(4, 5);
        const auto watched = [&](const std::string& inner) {
          return fmt::format(
              R"({{"type":"metacognition","meta_effect":"{}","meta_observed_layer":{},"meta_network":{}}})", effect,
              inner, meta_network);
        };
        TestNetwork network =
            network_of({dense(4, 4), nested ? watched(watched(observed)) : watched(observed), dense(4, 2)}, {3, 4});
        TweenConfig config;
        config.mode = mode;
        const auto session = TweenSession::create(network, network.plan, config, with(1)).value();
        const std::vector<float> x = random_values("x", 12), t = random_values("t", 6);
        ASSERT_TRUE(session->forward({x.data(), Shape::of({3, 4})}));
        LOOM_OK(session->step({.values = {t.data(), Shape::of({3, 2})}}, 0.1));
        std::size_t cells = 0, observed_uses = 0;
        for (const TweenUse& use : session->uses()) {
          ASSERT_NE(use.path, nullptr);
          EXPECT_TRUE(std::isfinite(use.gap) && use.gap > 0) << *use.path;
          EXPECT_TRUE(std::isfinite(use.update_norm)) << *use.path;
          cells += use.is_cell;
          observed_uses += use.path->ends_with("meta_observed_layer");
        }
        EXPECT_EQ(cells, 3);
        EXPECT_EQ(observed_uses, nested ? 2 : 1);
      }
}

// A step that was cancelled before every layer had its target lists nothing.
TEST(Tween, UsesAreEmptyAfterACancelledStep) {
  TestNetwork network = network_of({dense(4, 4), dense(4, 4), dense(4, 2)}, {3, 4});
  const auto session = TweenSession::create(network, network.plan, {}, with(1)).value();
  const std::vector<float> x = random_values("x", 12), t = random_values("t", 6);
  ASSERT_TRUE(session->forward({x.data(), Shape::of({3, 4})}));
  const std::atomic<bool> cancel{true};
  const auto stopped = session->step({.values = {t.data(), Shape::of({3, 2})}}, 0.1, &cancel);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::Cancelled);
  for (const TweenUse& use : session->uses()) EXPECT_NE(use.path, nullptr);
}

TEST(Tween, a_cell_below_the_threshold_rests_and_depth_counts_up_to_eight) {  // W-11
  TestNetwork network = network_of({dense(4, 4), dense(4, 4), dense(4, 4)}, {5, 4});
  const std::vector<float> x = random_values("x", 20);
  const auto norms = [&](TweenConfig config, bool opposite) {
    TestNetwork copy = network_of({dense(4, 4), dense(4, 4), dense(4, 4)}, {5, 4});
    const auto session = TweenSession::create(copy, copy.plan, config, with(1)).value();
    const auto y = session->forward({x.data(), Shape::of({5, 4})});
    std::vector<float> t(y->as(), y->as() + 20);
    for (float& v : t) v *= opposite ? -1.0f : 1.5f;
    EXPECT_TRUE(session->step({.values = {t.data(), Shape::of({5, 4})}}, 0.1));
    std::vector<double> out;
    for (const TweenUse& use : session->uses())
      out.push_back(use.skipped ? -1 : use.update_norm / (0.5 + 0.5 * use.budget));
    return out;
  };
  TweenConfig config;
  config.gradient_scale = 0.01;
  EXPECT_EQ(norms(config, true).back(), -1);  // cos -1
  const std::vector<double> plain = norms(config, false);
  config.depth_scale_factor = 2;
  const std::vector<double> two = norms(config, false);
  config.depth_scale_factor = 5;
  const std::vector<double> five = norms(config, false);
  EXPECT_NEAR(two[2] / plain[2], 1, 1e-5);
  EXPECT_NEAR(two[1] / plain[1], 2 / 1.1, 1e-4);
  EXPECT_NEAR(two[0] / plain[0], 4 / 1.21, 1e-4);
  EXPECT_NEAR(five[0] / plain[0], 8 / 1.21, 1e-4);
  config.mode = TweenMode::Layerwise;
  const std::vector<double> flat = norms(config, false);
  config.depth_scale_layerwise = true;
  EXPECT_NEAR(norms(config, false)[1] / flat[1], 5, 1e-3);
}

// Every kind, batches and sequences, in both modes and types: a step goes through, four calls give the bits of one, and
// a gap of 0 changes nothing.
TEST(Tween, every_kind_moves_and_rests_alike_in_one_call_and_four) {  // W-03, W-04, W-21, W-24
  for (const GoldenLayer& c : golden_layers())
    for (const std::string mode : {"chain", "layerwise", "sign", "average"}) {
      SCOPED_TRACE(std::string(c.name) + " " + mode);
      TweenConfig config;
      config.mode = mode == "chain" ? TweenMode::Chain : TweenMode::Layerwise;
      if (mode == "sign") config.slope = TweenSlope::Sign, config.target_scale = TweenScale::WeightSum;
      if (mode == "average") config.estimate = TweenEstimate::Average;
      config.budget_threshold = 0;
      Network one = golden_network(c, DType::float32).value(), four = golden_network(c, DType::float32).value();
      const Step step = golden_step(c, one).value();
      const auto fused = TweenSession::create(one, step.shape, config, with(1)).value(),
                 calls = TweenSession::create(four, step.shape, config, with(1)).value();
      const std::string fresh = hash_of(one);
      auto y = fused->forward({step.x.data(), step.shape}, extras_of(c));
      LOOM_OK(y);
      const Shape out = y->shape;
      if (!c.training && mode != "average") {
        const std::vector<float> same(y->as(), y->as() + out.elements());
        LOOM_OK(fused->step({.values = {same.data(), out}}, 0.1));
        EXPECT_EQ(hash_of(one), fresh) << "a gap of 0 moved weights";
        EXPECT_EQ(fused->output_gap(), 0);
        LOOM_OK(fused->forward({step.x.data(), step.shape}, extras_of(c)));
      }
      const TweenTarget target{.values = {step.target.data(), out}};
      LOOM_OK(fused->step(target, 0.1));
      LOOM_OK(calls->forward({step.x.data(), step.shape}, extras_of(c)));
      LOOM_OK(calls->backward(target));
      LOOM_OK(calls->calculate_link_budgets());
      LOOM_OK(calls->apply(0.1));
      EXPECT_EQ(hash_of(one), hash_of(four));
      bool has_weights = false;
      one.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
        has_weights |= w.role() != WeightRole::Statistic && !w.is_frozen();
      });
      EXPECT_EQ(has_weights, hash_of(one) != fresh);
      ASSERT_EQ(fused->uses().size(), calls->uses().size());
      for (std::size_t u = 0; u < fused->uses().size(); ++u) {
        EXPECT_EQ(fused->uses()[u].gap, calls->uses()[u].gap);
        EXPECT_EQ(fused->uses()[u].budget, calls->uses()[u].budget);
        EXPECT_EQ(fused->uses()[u].update_norm, calls->uses()[u].update_norm);
      }
    }
}

TEST(Tween, the_same_bits_for_every_isa_and_number_of_threads) {  // N-01
  for (const GoldenLayer& c : golden_layers())
    for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise})
      for (const DType dtype : {DType::float32, DType::int8, DType::ternary}) {
        if (dtype != DType::float32 && (!c.typed || mode == TweenMode::Chain)) continue;
        SCOPED_TRACE(fmt::format("{} {}", c.name, name(mode)));
        TweenConfig config;
        config.mode = mode, config.budget_threshold = 0;
        std::string first;
        for (const Isa isa : usable_isas())
          for (const int threads : {1, 2, 3, 7}) {
            if (isa != best_isa() && threads != 2) continue;
            Network network = golden_network(c, dtype).value();
            const Step step = golden_step(c, network).value();
            const auto session = TweenSession::create(network, step.shape, config, with(threads, isa)).value();
            const auto y = session->forward({step.x.data(), step.shape}, extras_of(c));
            LOOM_OK(y);
            LOOM_OK(session->step({.values = {step.target.data(), y->shape}}, 0.1));
            std::string bits = hash_of(network);
            for (const TweenUse& use : session->uses())
              bits += fmt::format(" {} {} {}", use.gap, use.budget, use.update_norm);
            if (first.empty()) first = bits;
            EXPECT_EQ(bits, first) << static_cast<int>(isa) << " " << threads;
          }
      }
}

TEST(Tween, observers_see_targets_and_weights_move_by_the_same_bits) {  // E-40
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp}) {
    SCOPED_TRACE(name(mode));
    const auto run = [&](auto&& between) {
      TestNetwork network = network_of(
          {dense(6, 8, "tanh"), R"({"type":"sequential","sequential_layers":[)" + dense(8, 8) + "]}", dense(8, 4)},
          {5, 6});
      TweenConfig config;
      config.mode = mode;
      const auto session = TweenSession::create(network, network.plan, config, with(1)).value();
      const std::vector<float> x = random_values("x", 30), t = random_values("t", 20);
      const std::string fresh = hash_of(network);
      for (std::uint32_t step = 0; step < 3; ++step) {
        between(session->session());
        EXPECT_TRUE(session->forward({x.data(), Shape::of({5, 6})}, at_step(step)));
        EXPECT_TRUE(session->step({.values = {t.data(), Shape::of({5, 4})}}, 0.1));
      }
      EXPECT_NE(hash_of(network), fresh);
      return hash_of(network);
    };
    const std::string alone = run([](NetworkSession&) {});
    Onlooker observer, passing;
    EXPECT_EQ(run([&](NetworkSession& session) { session.observe(&observer); }), alone);
    EXPECT_EQ(observer.forwards, 3 * 4u);
    EXPECT_EQ(observer.backwards, 3 * 4u);
    ASSERT_EQ(observer.passes.size(), 6u);
    EXPECT_EQ(observer.passes[0], PassKind::Forward);
    EXPECT_EQ(observer.passes[1], PassKind::Tween);
    // A watch that comes and goes leaves the session's own in place.
    EXPECT_EQ(run([&](NetworkSession& session) {
                session.watch(&passing);
                session.watch(nullptr);
              }),
              alone);
    EXPECT_EQ(passing.forwards, 0u);
    // So does one that stays while the network's layers are looked up again.
    EXPECT_EQ(run([&](NetworkSession& session) { session.observe(nullptr); }), alone);
  }
}

// The first step's velocities are (1 - momentum) r g with the bits of backprop's g, and the gap of the input is its dx.
void expect_bits_of_backprop(Network& network, const ConstView& x, const PassExtras& extras,
                             const std::vector<float>& target) {
  constexpr double kRate = 0.3;
  const auto plain = NetworkSession::create(network, x.shape, {1, std::nullopt, true}).value();
  TweenConfig config;
  config.mode = TweenMode::Chain, config.budget_threshold = 0;
  const auto session = TweenSession::create(network, x.shape, config, with(1)).value();
  const auto y = session->forward(x, extras);
  LOOM_OK(y);
  const Shape out = y->shape;
  LOOM_OK(session->backward({.values = {target.data(), out}}));
  LOOM_OK(plain->forward(x, extras));
  const auto dx = plain->backward(session->gap_of(session->uses().size() - 1));
  LOOM_OK(dx);
  const std::size_t wide = dx->shape.elements();
  EXPECT_TRUE(std::equal(dx->as(), dx->as() + wide, session->input_gap().as())) << "the gap of the input";
  LOOM_OK(session->calculate_link_budgets());
  LOOM_OK(session->apply(kRate));
  std::map<std::string, const TweenUse*> uses;
  for (const TweenUse& use : session->uses()) uses[*use.path] = &use;
  EXPECT_EQ(uses.size(), session->uses().size());
  std::map<std::string, ConstTensor> velocities;
  for (const TweenVelocity& v : session->velocities()) velocities[v.path] = v.values;
  network.visit_weights([&](const std::string& path, Weight& w, Layer& layer) {
    const auto found = velocities.find(path);
    if (found == velocities.end()) return;
    const TweenUse& use = *uses.at(path.substr(0, path.size() - w.name().size() - 1));
    double depth = 1;
    for (std::size_t behind = use.cell + 1; behind < network.num_cells(); ++behind) depth *= 1.1;
    const auto base =
        static_cast<float>(kRate * depth * layer.common.learning_rate_scale / static_cast<double>(out.rows()));
    const float rate = base * (0.5f + 0.5f * static_cast<float>(use.budget));
    const bool written = plain->gradients().written(w);
    for (std::size_t i = 0; i < w.elements(); ++i) {
      const float g = written ? static_cast<const float*>(plain->gradients().of(w))[i] : 0;
      const float v = static_cast<float>(1 - 0.9) * (rate * g);
      ASSERT_EQ(found->second.as<float>()[i], v) << path << " " << i;
    }
  });
}

TEST(Tween, chain_mode_moves_every_kind_by_the_bits_of_backprop_times_its_rate) {  // W-10, W-11
  for (const GoldenLayer& c : golden_layers()) {
    SCOPED_TRACE(c.name);
    Network network = golden_network(c, DType::float32).value();
    const Step step = golden_step(c, network).value();
    expect_bits_of_backprop(network, {step.x.data(), step.shape}, extras_of(c), step.target);
  }
  TestNetwork deep = network_of({dense(5, 6, "tanh"), dense(6, 6, "silu"), dense(6, 6), dense(6, 3)}, {4, 5});
  const std::vector<float> x = random_values("x", 20), t = random_values("t", 12);
  expect_bits_of_backprop(deep, {x.data(), Shape::of({4, 5})}, {}, t);
}

// Dropout is a layer of fixed factors: a gap goes where the value came from, by the factor that it came by.
TEST(Tween, a_gap_passes_dropout_by_the_factors_of_the_forward) {  // L-112
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise}) {
    TestNetwork network = network_of({R"({"type":"dropout","rate":0.4})"}, {8, 16});
    TweenConfig config;
    config.mode = mode;
    const auto session = TweenSession::create(network, network.plan, config, with(1)).value();
    const std::vector<float> x = random_values("x", 128), t = random_values("t", 128);
    const auto y = session->forward({x.data(), Shape::of({8, 16})}, at_step(3, true));
    LOOM_OK(y);
    const std::vector<float> out(y->as(), y->as() + 128);
    LOOM_OK(session->step({.values = {t.data(), Shape::of({8, 16})}}, 0.1));
    std::size_t dropped = 0;
    for (std::size_t i = 0; i < 128; ++i) {
      dropped += out[i] == 0;
      EXPECT_NEAR(session->input_gap().as()[i], out[i] == 0 ? 0 : (t[i] - out[i]) / 0.6, 1e-6) << i;
    }
    EXPECT_GT(dropped, 30u);
    EXPECT_LT(dropped, 75u);
  }
}

// Weights of 32 768 elements and more, whose updates and norms threads divide: several steps, since a velocity shows in
// the next one.
TEST(Tween, large_weights_and_their_figures_are_the_same_for_every_number_of_threads) {  // N-01, W-11, W-41
  const struct {
    std::vector<std::string> cells;
    std::vector<std::size_t> input;
  } nets[] = {
      {{dense(784, 256, "relu"), dense(256, 128, "tanh"), dense(128, 10)}, {4, 784}},
      {{R"({"type":"cnn2","input_channels":64,"filters":72,"kernel_size":3,"padding":1,"bias":true,"activation":"relu"})"},
       {2, 64, 4, 4}},
      {{R"({"type":"lstm","input_height":192,"output_height":192})"}, {2, 3, 192}},
      {{R"({"type":"mha","d_model":192,"num_heads":3})"}, {2, 3, 192}},
  };
  for (const auto& net : nets)
    for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp}) {
      SCOPED_TRACE(fmt::format("{} {}", net.cells[0], name(mode)));
      TweenConfig config;
      config.mode = mode;
      const Shape in = Shape::create(net.input).value();
      const std::vector<float> x = random_values("x", in.elements());
      std::string first;
      for (const int threads : {1, 2, 3, 7}) {
        const ExpectDivided divided(threads);
        TestNetwork network = network_of(net.cells, net.input);
        const auto session = TweenSession::create(network, network.plan, config, with(threads)).value();
        std::string bits;
        for (std::uint32_t step = 0; step < 4; ++step) {
          const auto y = session->forward({x.data(), in}, at_step(step));
          LOOM_OK(y);
          const std::vector<float> target = random_values("t", y->shape.elements());
          LOOM_OK(session->step({.values = {target.data(), y->shape}}, 0.01));
          for (const TweenUse& use : session->uses())
            bits += fmt::format("{} {} {} {}\n", *use.path, use.gap, use.budget, use.update_norm);
        }
        bits += hash_of(network);
        if (first.empty()) first = bits;
        EXPECT_EQ(bits, first) << threads;
      }
    }
}

}  // namespace
}  // namespace loom
