// These tests of s6 show what its golden values do not: fresh weights, refusals, a state that goes on, sums in blocks
// of sixteen samples, and which weights targets move.

#include "layers/s6/s6.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "backend/rehearsal.h"
#include "core/fp_environment.h"
#include "core/philox.h"
#include "layers/golden_test.h"
#include "layers/tween.h"
#include "ops/all.h"

namespace loom::s6_test {
namespace {

std::vector<float> wave(std::size_t n, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 2 * random.uniform(i) - 1;
  return v;
}

// A layer with its weights, and one place to run it.
class Bench {
 public:
  explicit Bench(const S6Config& config, std::uint64_t seed = 3) : layer(config) {
    EXPECT_TRUE(layer.build());
    EXPECT_TRUE(initialise_weights("layer", layer, seed));
    std::vector<const Weight*> weights;
    layer.visit_weights([&](Weight& w) { weights.push_back(&w); });
    gradients_ = Gradients::create(weights, Element::f32).value();
    gradients_.clear();
    wiring_.add_state(layer, 0);
  }

  Weight& weight(std::string_view name) { return *find_weight(layer, name); }
  std::vector<float> gradient(std::string_view name) {
    const Weight& w = weight(name);
    const auto* from = static_cast<const float*>(gradients_.of(w));
    return {from, from + w.elements()};
  }
  bool moves(std::string_view name) { return gradients_.written(weight(name)); }

  // y of these samples; with dy also dx, and gradients added; with rules as targets.
  std::vector<float> run(const std::vector<float>& x, const Shape& shape, const std::vector<float>* dy = nullptr,
                         std::vector<float>* dx = nullptr, const TweenRules* rules = nullptr) {
    Call call;
    Tape tape;
    call.states.recurrent = {&state, 1}, call.wiring = &wiring_;
    if (dy != nullptr) call.tape = &tape, call.gradients = &gradients_;
    const loom::Run pass(exec_, call);
    arena_.clear();
    std::vector<float> y(x.size());
    layer.forward(pass, {x.data(), shape}, {y.data(), shape});
    if (dy == nullptr) return y;
    const View to{dx != nullptr ? dx->data() : nullptr, shape};
    rules != nullptr ? layer.target(pass, *rules, {dy->data(), shape}, to)
                     : layer.backward(pass, {dy->data(), shape}, to);
    EXPECT_EQ(tape.size(), 0u);
    return y;
  }

  S6 layer;
  RecurrentState state;

 private:
  FpEnvironment environment_;
  std::unique_ptr<ThreadPool> pool_ = ThreadPool::create(1).value();
  Arena arena_ = Arena::create(std::size_t{32} << 20).value();
  Exec exec_{*pool_, *kernels_for(usable_isas().back()).value(), arena_};
  Gradients gradients_;
  Wiring wiring_;
};

// A layer stores no slot: the wiring of the plan that runs says which state is its own.
TEST(S6, StateComesFromTheWiringOfThePlan) {
  S6 layer({.input_height = 5, .state_size = 3});
  ASSERT_TRUE(layer.build());
  ASSERT_TRUE(initialise_weights("layer", layer, 3));
  const auto needs = layer.state_needs();
  ASSERT_TRUE(needs);
  EXPECT_TRUE(needs->recurrent);
  Wiring wiring;
  wiring.add_state(layer, 1);
  const auto pool = ThreadPool::create(1).value();
  Arena arena = Arena::create(std::size_t{1} << 20).value();
  const Exec exec{*pool, *kernels_for(usable_isas().back()).value(), arena};
  std::array<RecurrentState, 2> states;
  Call call;
  call.states.recurrent = states, call.wiring = &wiring;
  const std::vector<float> x = wave(2 * 5, 1);
  std::vector<float> y(10);
  ASSERT_TRUE(rehearse(exec, [&](const Exec& rehearsal) {
    layer.forward({rehearsal, call}, {x.data(), Shape::of({1, 2, 5})}, {y.data(), Shape::of({1, 2, 5})});
  }));
  EXPECT_FALSE(states[0].planned);
  EXPECT_TRUE(states[1].planned);
}

std::vector<float> values_of(Bench& bench, std::string_view name) {
  std::vector<float> v(bench.weight(name).elements());
  bench.weight(name).decode(0, v.size(), v.data());
  return v;
}

TEST(S6, a_fresh_layer_is_the_paper_s) {  // L-160, J-02
  Bench bench({.input_height = 40, .state_size = 16});
  EXPECT_EQ(bench.weight("dt_in.weight").shape().text(), "[3, 40]");
  const std::vector<float> a_log = values_of(bench, "a_log"), skip = values_of(bench, "d_skip"),
                           bias = values_of(bench, "dt.bias");
  for (std::size_t i = 0; i < a_log.size(); ++i)
    EXPECT_FLOAT_EQ(a_log[i], std::log(static_cast<float>(1 + i % 16))) << i;
  for (const float v : skip) EXPECT_EQ(v, 1.0f);
  std::size_t small = 0;
  for (const float v : bias) {
    const double dt = std::log1p(std::exp(static_cast<double>(v)));
    EXPECT_GE(dt, 0.000999);
    EXPECT_LE(dt, 0.1001);
    small += dt < 0.01;  // the middle of the logarithms
  }
  EXPECT_GT(small, 10u);
  EXPECT_LT(small, 30u);
  Bench other({.input_height = 40}, 4);
  EXPECT_NE(values_of(other, "dt.bias"), bias);
}

TEST(S6, shapes_that_do_not_fit_are_refused) {  // L-160
  S6 layer({.input_height = 5, .state_size = 3});
  ASSERT_TRUE(layer.build());
  EXPECT_EQ(layer.output_shape(Shape::of({2, 7, 5})).value().text(), "[2, 7, 5]");
  EXPECT_EQ(layer.output_shape(Shape::of({7, 5})).value().text(), "[7, 5]");
  for (const Shape& shape : {Shape::of({5}), Shape::of({2, 7, 4}), Shape::of({1, 2, 7, 5})}) {
    const auto out = layer.output_shape(shape);
    ASSERT_FALSE(out) << shape.text();
    EXPECT_EQ(out.error().code, Code::ShapeMismatch);
  }
  S6 huge({.input_height = 5, .state_size = 0x7fffffff});
  EXPECT_FALSE(huge.output_shape(Shape::of({1024, 1024, 5})));
}

TEST(S6, a_state_goes_on_where_it_stopped) {  // L-160, L-62
  Bench whole({.input_height = 19, .state_size = 4}), parts({.input_height = 19, .state_size = 4, .stateful = true});
  const std::vector<float> x = wave(7 * 19, 1);
  const std::vector<float> wanted = whole.run(x, Shape::of({1, 7, 19}));
  std::vector<float> h(4 * 19);
  parts.state.plan({1, 1, h.size()}, false, true);
  parts.state.h = h.data();
  std::vector<float> y;
  for (const auto& [first, steps] : {std::pair{0, 3}, std::pair{3, 4}}) {
    const std::vector<float> part(x.begin() + first * 19, x.begin() + (first + steps) * 19);
    const std::vector<float> more = parts.run(part, Shape::of({1, static_cast<std::size_t>(steps), 19}));
    y.insert(y.end(), more.begin(), more.end());
    parts.state.continues = true;
  }
  EXPECT_EQ(y, wanted);
}

TEST(S6, gradients_of_sixteen_and_sixteen_samples_are_those_of_thirty_two) {  // N-05
  constexpr std::size_t kSample = 3 * 18;
  const S6Config config{.input_height = 18, .state_size = 5, .dt_rank = 4};
  const std::vector<float> x = wave(37 * kSample, 1), dy = wave(37 * kSample, 2);
  Bench whole(config), parts(config);
  std::vector<float> dx(x.size()), dx_parts;
  whole.run(x, Shape::of({37, 3, 18}), &dy, &dx);
  for (const auto& [first, count] : {std::pair{0, 16}, std::pair{16, 16}, std::pair{32, 5}}) {
    const auto cut = [&](const std::vector<float>& v) {
      return std::vector<float>(v.begin() + first * long{kSample}, v.begin() + (first + count) * long{kSample});
    };
    const std::vector<float> own_dy = cut(dy);
    std::vector<float> own_dx(own_dy.size());
    parts.run(cut(x), Shape::of({static_cast<std::size_t>(count), 3, 18}), &own_dy, &own_dx);
    dx_parts.insert(dx_parts.end(), own_dx.begin(), own_dx.end());
  }
  EXPECT_EQ(dx_parts, dx);
  for (const char* name : {"dt_in.weight", "dt.weight", "dt.bias", "b.weight", "c.weight", "a_log", "d_skip"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(parts.gradient(name), whole.gradient(name));
    EXPECT_TRUE(std::ranges::any_of(whole.gradient(name), [](float v) { return v != 0; }));
  }
}

TEST(S6, targets_move_the_skip_alone_and_weak_inputs_get_no_gap) {  // L-162
  Bench bench({.input_height = 5, .state_size = 3});
  const Shape shape = Shape::of({2, 4, 5});
  const std::vector<float> x = wave(40, 1), e = wave(40, 2);
  std::vector<float> skip(5, 0.5f), d(40);
  skip[2] = 0;  // and what the states carry is less than the threshold, as step sizes are small
  ASSERT_TRUE(bench.weight("d_skip").set(std::span<const float>(skip)));
  TweenRules rules;
  rules.weight_threshold = 0.4;
  bench.run(x, shape, &e, &d, &rules);
  for (const char* name : {"dt_in.weight", "dt.weight", "dt.bias", "b.weight", "c.weight", "a_log"})
    EXPECT_FALSE(bench.moves(name)) << name;
  const std::vector<float> products = bench.gradient("d_skip");
  for (std::size_t c = 0; c < 5; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < 8; ++r) sum += static_cast<double>(e[r * 5 + c]) * static_cast<double>(x[r * 5 + c]);
    EXPECT_NEAR(static_cast<double>(products[c]), sum, 1e-6) << c;
  }
  for (std::size_t i = 0; i < d.size(); ++i) {
    EXPECT_EQ(d[i] == 0, i % 5 == 2) << i;
    EXPECT_LE(std::abs(d[i]), 1.0f) << i;  // a mean of gaps
  }
  // Gaps of 0 ask for nothing.
  const std::vector<float> none(40, 0.0f);
  bench.run(x, shape, &none, &d, &rules);
  EXPECT_EQ(d, none);
}

TEST(S6, lengths_that_do_not_fit_are_refused) {  // L-160
  Bench bench({.input_height = 5, .state_size = 3});
  const auto refused = [&](const std::vector<std::size_t>& lengths) -> std::optional<Code> {
    const FpEnvironment environment;
    const auto pool = ThreadPool::create(1).value();
    Arena arena = Arena::create(std::size_t{1} << 20).value();
    const Exec exec{*pool, *kernels_for(usable_isas().back()).value(), arena};
    Call call;
    call.inputs.lengths = lengths;
    const std::vector<float> x = wave(30, 1);
    std::vector<float> y(30);
    bench.layer.forward(loom::Run(exec, call), {x.data(), Shape::of({2, 3, 5})}, {y.data(), Shape::of({2, 3, 5})});
    return exec.status ? std::optional(exec.status->code) : std::nullopt;
  };
  EXPECT_EQ(refused({3, 0}), std::nullopt);
  EXPECT_EQ(refused({3}), Code::ShapeMismatch);
  EXPECT_EQ(refused({3, 4}), Code::OutOfRange);
}

// L-02
TEST(S6, equals_pytorch) { expect_goldens("s6"); }

}  // namespace
}  // namespace loom::s6_test
