// Tests of the serialised state that sessions carry from call to call.

#include <gtest/gtest.h>

#include <algorithm>

#include "network/network_session.h"
#include "network/spec.h"

namespace loom {
namespace {

constexpr const char* kSpec = R"({"seed":2,"layers":[
  {"type":"lstm","input_height":2,"output_height":3,"stateful":true},
  {"type":"gru","input_height":3,"output_height":3},
  {"type":"metacognition","meta_observed_layer":{"type":"gru","input_height":3,"output_height":2,"stateful":true,"bidirectional":true}}]})";

struct Caller {
  explicit Caller(const char* spec = kSpec, int threads = 2) : network(network_from_json(parse_json(spec).value()).value().network) {
    EXPECT_TRUE(network.prepare(Shape::of({2, 3, 2})));
    NetworkSessionOptions options;
    options.threads = threads, options.backward = true;
    session = NetworkSession::create(network, options).value();
  }
  std::vector<float> call(float scale) {
    std::vector<float> x;
    for (int i = 0; i < 12; ++i) x.push_back(scale * static_cast<float>(i % 5 - 2));
    PassExtras extras;
    extras.training = true;
    const auto y = session->forward({x.data(), Shape::of({2, 3, 2}), Element::f32}, extras);
    EXPECT_TRUE(y) << (y ? "" : y.error().text());
    return {y->as<float>(), y->as<float>() + y->shape.elements()};
  }
  Network network;
  std::unique_ptr<NetworkSession> session;
};

TEST(SessionState, L_62_T_60_what_one_session_carries_another_goes_on_with) {
  Caller one;
  EXPECT_TRUE(one.session->carried().empty()) << "before the first call";
  one.call(0.5f), one.call(0.25f);
  const std::vector<std::byte> carried = one.session->carried();
  Caller fresh, other(kSpec, 3);
  ASSERT_TRUE(other.session->carry(carried));
  EXPECT_EQ(other.session->carried(), carried);
  const std::vector<float> next = one.call(1);
  EXPECT_NE(fresh.call(1), next);
  EXPECT_EQ(other.call(1), next);
  EXPECT_EQ(other.session->carried(), one.session->carried());
  EXPECT_EQ(std::ranges::max(other.session->metas(), {}, &MetaState::calls).calls, 3u);
  // Nothing begins anew; where nothing is stateful nothing is carried.
  ASSERT_TRUE(other.session->carry({}));
  EXPECT_EQ(std::ranges::max(other.session->metas(), {}, &MetaState::calls).calls, 0u);
  Caller plain(R"({"seed":2,"layers":[{"type":"lstm","input_height":2,"output_height":3}]})");
  plain.call(1);
  EXPECT_TRUE(plain.session->carried().empty());
}

struct CancelAfterTheFirst final : LayerWatch {
  explicit CancelAfterTheFirst(NetworkSession& s) : session(s) {}
  void after_forward(const Layer&, const ConstView&, const ConstView&) override { session.cancel() = true; }
  void after_backward(const Layer&, const ConstView&, const ConstView&) override {}
  NetworkSession& session;
};

// Else the first layer would stand a call ahead of the others.
TEST(SessionState, L_62_a_call_that_was_cancelled_leaves_no_state_half_advanced) {
  Caller one, fresh;
  one.call(0.5f);
  CancelAfterTheFirst watch(*one.session);
  one.session->watch(&watch);
  const std::vector<float> x(12, 0.5f);
  EXPECT_EQ(one.session->forward({x.data(), Shape::of({2, 3, 2}), Element::f32}, {.training = true}).error().code, Code::Cancelled);
  one.session->watch(nullptr), one.session->cancel() = false;
  EXPECT_EQ(one.call(1), fresh.call(1));
}

TEST(SessionState, L_62_T_80_a_given_state_and_recomputed_segments_exclude_each_other) {
  Network network = network_from_json(parse_json(R"({"layers":[{"type":"gru","input_height":2,"output_height":3}]})").value()).value().network;
  ASSERT_TRUE(network.prepare(Shape::of({1, 3, 2})));
  const auto session = NetworkSession::create(network, {.threads = 1, .backward = true, .checkpoint_every = 1}).value();
  ASSERT_TRUE(session->prepare(Shape::of({1, 3, 2})));
  const std::vector<float> h(3, 1.0f);
  EXPECT_EQ(session->set_state(0, {h.data(), Shape::of({1, 1, 3}), Element::f32}).error().code, Code::Unsupported);
}

TEST(SessionState, L_62_T_60_bytes_that_do_not_fit_are_refused) {
  Caller one, other;
  one.call(0.5f);
  const std::vector<std::byte> carried = one.session->carried();
  for (std::size_t keep = 1; keep < carried.size(); ++keep)
    EXPECT_FALSE(other.session->carry(std::span(carried).first(keep))) << keep;
  std::vector<std::byte> longer = carried;
  longer.push_back(std::byte{0});
  EXPECT_EQ(other.session->carry(longer).error().code, Code::CorruptData);
  Caller narrow(R"({"seed":2,"layers":[{"type":"lstm","input_height":2,"output_height":4,"stateful":true}]})");
  EXPECT_EQ(narrow.session->carry(carried).error().code, Code::CorruptData);
  EXPECT_TRUE(other.session->carry(carried));
  // A second layer of another shape: the first one's state is not kept either.
  const auto two = [](int width) {
    return fmt::format(R"({{"seed":2,"layers":[{{"type":"gru","input_height":2,"output_height":3,"stateful":true}},{{"type":"gru","input_height":3,"output_height":{},"stateful":true}}]}})", width);
  };
  Caller wide(two(4).c_str()), small(two(5).c_str()), fresh(two(5).c_str());
  wide.call(0.5f);
  EXPECT_FALSE(small.session->carry(wide.session->carried()));
  EXPECT_EQ(small.call(1), fresh.call(1));
}

}  // namespace
}  // namespace loom
