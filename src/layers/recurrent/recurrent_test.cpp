// Properties of rnn, lstm and gru that golden files cannot show: state across calls, samples that do not see each
// other, refusals.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "layers/golden_test.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"

namespace loom::recurrent_test {
namespace {

struct Running {
  Network network = Network::create({}).value();
  Shape input;
  std::unique_ptr<NetworkSession> session;
};

Running running(const std::string& spec, const Shape& input) {
  Running r;
  auto layer = layer_from_json(parse_json(spec).value());
  EXPECT_TRUE(layer) << layer.error().text();
  EXPECT_TRUE(r.network.place({}, std::move(*layer)));
  EXPECT_TRUE(r.network.initialise());
  r.input = input;
  return r;
}
NetworkSession& start(Running& r, int threads = 1) {
  r.session = NetworkSession::create(r.network, r.input, {threads, std::nullopt, false}).value();
  return *r.session;
}

std::vector<float> wave(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 32.0f;
  return x;
}
std::vector<float> run(NetworkSession& session, const float* x, const Shape& shape, const PassExtras& extras = {}) {
  const auto y = session.forward({x, shape, Element::f32}, extras);
  EXPECT_TRUE(y) << y.error().text();
  return {y->as(), y->as() + y->shape.elements()};
}

class RecurrentKinds : public ::testing::TestWithParam<std::string> {
 protected:
  std::string spec(const std::string& rest = "") const {
    return R"({"type":")" + GetParam() + R"(","input_height":5,"output_height":19)" + rest + "}";
  }
};

TEST_P(RecurrentKinds, a_stateful_layer_goes_on_where_it_stopped) {  // L-62
  const Shape whole = Shape::of({1, 6, 5}), half = Shape::of({1, 3, 5});
  const std::vector<float> x = wave(30);
  Running plain = running(spec(), whole), stateful = running(spec(R"(,"stateful":true)"), half);
  const std::vector<float> expected = run(start(plain), x.data(), whole);
  NetworkSession& session = start(stateful);
  for (int round = 0; round < 2; ++round) {
    std::vector<float> y = run(session, x.data(), half);
    const std::vector<float> rest = run(session, x.data() + 15, half);
    y.insert(y.end(), rest.begin(), rest.end());
    EXPECT_EQ(y, expected) << "round " << round;
    session.reset();
  }
  // Another number of steps keeps the state, a given state replaces it for the next call alone.
  (void)run(session, x.data(), Shape::of({1, 2, 5}));
  const std::vector<float> rest = run(session, x.data() + 10, Shape::of({1, 4, 5}));
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), expected.begin() + 2 * 19));
}

TEST_P(RecurrentKinds, without_stateful_every_call_starts_anew) {  // L-62
  const Shape shape = Shape::of({1, 3, 5});
  const std::vector<float> x = wave(15), h(19, 0.5f);
  Running r = running(spec(), shape);
  NetworkSession& session = start(r);
  const std::vector<float> first = run(session, x.data(), shape);
  EXPECT_EQ(run(session, x.data(), shape), first);
  ASSERT_TRUE(session.set_state(0, {h.data(), Shape::of({1, 1, 19}), Element::f32}));
  EXPECT_NE(run(session, x.data(), shape), first);
  EXPECT_EQ(run(session, x.data(), shape), first);
  EXPECT_EQ(session.set_state(0, {h.data(), Shape::of({1, 19}), Element::f32}).error().code, Code::ShapeMismatch);
  EXPECT_EQ(session.set_state(1, {h.data(), Shape::of({1, 1, 19}), Element::f32}).error().code, Code::OutOfRange);
}

TEST_P(RecurrentKinds, a_sample_does_not_see_its_neighbours_threads_or_padding) {  // N-01
  const Shape batch = Shape::of({3, 4, 5}), one = Shape::of({4, 5});
  std::vector<float> x = wave(60);
  Running r = running(spec(R"(,"bidirectional":true)"), batch);
  const std::vector<float> together = run(start(r, 3), x.data(), batch);
  EXPECT_EQ(run(start(r), x.data(), batch), together);
  for (std::size_t b = 0; b < 3; ++b) {
    const std::vector<float> alone = run(start(r), x.data() + b * 20, one);
    EXPECT_TRUE(
        std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(b * alone.size())))
        << b;
  }
  // Two valid steps of the first sample give the same as two steps alone, whatever follows them.
  const std::vector<std::size_t> lengths = {2, 4, 0};
  PassExtras extras;
  extras.lengths = lengths;
  x[10] = std::nanf(""), x[41] = std::nanf("");
  const std::vector<float> padded = run(start(r), x.data(), batch, extras),
                           two = run(start(r), x.data(), Shape::of({2, 5}));
  EXPECT_TRUE(std::equal(two.begin(), two.end(), padded.begin()));
  EXPECT_TRUE(std::all_of(padded.begin() + 2 * 38, padded.begin() + 4 * 38, [](float v) { return v == 0; }));
  EXPECT_TRUE(std::all_of(padded.begin() + 8 * 38, padded.end(), [](float v) { return v == 0; }));
}

TEST_P(RecurrentKinds, refusals) {  // S-03
  Running r = running(spec(R"(,"return_sequence":false)"), Shape::of({2, 3, 5}));
  NetworkSession& session = start(r);
  const std::vector<float> x = wave(60);
  const auto code = [&](const Shape& shape) { return session.forward({x.data(), shape, Element::f32}).error().code; };
  EXPECT_EQ(code(Shape::of({5})), Code::ShapeMismatch);
  EXPECT_EQ(code(Shape::of({2, 3, 4})), Code::ShapeMismatch);
  EXPECT_EQ(code(Shape::of({1, 2, 3, 5})), Code::ShapeMismatch);
  const std::vector<std::size_t> few = {3}, longer = {3, 4};
  PassExtras extras;
  extras.lengths = few;
  EXPECT_EQ(session.forward({x.data(), Shape::of({2, 3, 5}), Element::f32}, extras).error().code, Code::ShapeMismatch);
  extras.lengths = longer;
  EXPECT_EQ(session.forward({x.data(), Shape::of({2, 3, 5}), Element::f32}, extras).error().code, Code::OutOfRange);
  EXPECT_EQ(session.forward({x.data(), Shape::of({2, 3, 5}), Element::f32})->shape.text(), "[2, 19]");
  EXPECT_FALSE(layer_from_json(parse_json(spec(R"(,"activation":"gelu")")).value()));
}

TEST_P(RecurrentKinds, every_type_computes_with_the_values_it_stands_for) {  // L-02
  const Shape shape = Shape::of({2, 3, 5});
  const std::vector<float> x = wave(30);
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const auto type = std::string(name(static_cast<DType>(t)));
    Running typed = running(spec(R"(,"dtype":")" + type + "\""), shape), decoded = running(spec(), shape);
    std::vector<std::vector<float>> values;
    typed.network.visit_weights([&](const std::string&, Weight& w, Layer&) {
      w.decode(0, w.elements(), values.emplace_back(w.elements()).data());
    });
    std::size_t next = 0;
    decoded.network.visit_weights(
        [&](const std::string&, Weight& w, Layer&) { EXPECT_TRUE(w.set(std::span<const float>(values[next++]))); });
    const std::vector<float> y = run(start(typed), x.data(), shape), expected = run(start(decoded), x.data(), shape);
    // Inputs of integer types are rounded to eight bits.
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 0.03f) << type << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentKinds, ::testing::Values("rnn", "lstm", "gru"),
                         [](const auto& info) { return info.param; });

TEST(Recurrent, fresh_weights_lie_within_the_root_and_the_forget_bias_is_one) {  // J-02
  Running r = running(R"({"type":"lstm","input_height":5,"output_height":16})", Shape::of({2, 3, 5}));
  std::string order;
  r.network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    order += path.substr(path.find('.', 7) + 1) + " ";
    std::vector<float> v(w.elements());
    w.decode(0, v.size(), v.data());
    for (const float value : v) {
      if (w.role() == WeightRole::Matrix) {
        EXPECT_LE(std::abs(value), 0.25f);
      } else {
        EXPECT_EQ(value, w.name() == "f.bias" ? 1.0f : 0.0f);
      }
    }
  });
  EXPECT_EQ(order,
            "i.weight_ih i.weight_hh i.bias f.weight_ih f.weight_hh f.bias g.weight_ih g.weight_hh g.bias o.weight_ih "
            "o.weight_hh o.bias ");
}

TEST(Recurrent, equals_pytorch) {  // L-02
  for (const char* kind : {"rnn", "lstm", "gru"}) expect_goldens(kind);
}

}  // namespace
}  // namespace loom::recurrent_test
