// Tests of the serialised state that sessions carry from call to call.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/philox.h"
#include "network/network_session.h"
#include "network/spec.h"

namespace loom {
namespace {

constexpr const char* kSpec = R"({"seed":2,"layers":[
  {"type":"lstm","input_height":2,"output_height":3,"stateful":true},
  {"type":"gru","input_height":3,"output_height":3},
  {"type":"metacognition","meta_observed_layer":{"type":"gru","input_height":3,"output_height":2,"stateful":true,"bidirectional":true}}]})";

struct Caller {
  explicit Caller(const char* spec = kSpec, int threads = 2)
      : network(network_from_json(parse_json(spec).value()).value().network) {
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
  EXPECT_EQ(one.session->forward({x.data(), Shape::of({2, 3, 2}), Element::f32}, {.training = true}).error().code,
            Code::Cancelled);
  one.session->watch(nullptr), one.session->cancel() = false;
  EXPECT_EQ(one.call(1), fresh.call(1));
}

TEST(SessionState, L_62_T_80_a_given_state_and_recomputed_segments_exclude_each_other) {
  Network network =
      network_from_json(parse_json(R"({"layers":[{"type":"gru","input_height":2,"output_height":3}]})").value())
          .value()
          .network;
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
    return fmt::format(
        R"({{"seed":2,"layers":[{{"type":"gru","input_height":2,"output_height":3,"stateful":true}},{{"type":"gru","input_height":3,"output_height":{},"stateful":true}}]}})",
        width);
  };
  Caller wide(two(4).c_str()), small(two(5).c_str()), fresh(two(5).c_str());
  wide.call(0.5f);
  EXPECT_FALSE(small.session->carry(wide.session->carried()));
  EXPECT_EQ(small.call(1), fresh.call(1));
}

// A decoder whose second half sees eleven positions, with a recurrent layer and a link between cells.
constexpr const char* kDecoder = R"({"seed":4,"layers":[
  {"type":"mha","d_model":32,"num_heads":4,"num_kv_heads":2,"qkv_bias":true},
  {"type":"rmsnorm","input_height":32},
  {"type":"mha","d_model":32,"num_heads":2,"sliding_window":11,"logit_softcap":3},
  {"type":"dense","input_height":32,"output_height":32,"activation":"tanh"}]})";
constexpr const char* kMixed = R"({"seed":4,"layers":[
  {"type":"mha","d_model":32,"num_heads":4},
  {"type":"lstm","input_height":32,"output_height":32},
  {"type":"mha","d_model":32,"num_heads":4,"rope":false}]})";

constexpr std::size_t kSteps = 90, kWidth = 32;

std::vector<float> sequences(std::size_t samples) {
  const RandomStream random{.seed = 3};
  std::vector<float> x(samples * kSteps * kWidth);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = random.uniform(i) - 0.5f;
  return x;
}

struct Reader {
  Reader(const char* spec, NetworkSessionOptions options)
      : network(network_from_json(parse_json(spec).value()).value().network) {
    EXPECT_TRUE(network.prepare(Shape::of({1, 4, kWidth})));
    auto made = NetworkSession::create(network, options);
    EXPECT_TRUE(made) << made.error().text();
    session = std::move(*made);
  }
  // Positions [begin, end) of all samples; an error's code, or the answers in [sample][position] order.
  Result<std::vector<float>> read(const std::vector<float>& x, std::size_t begin, std::size_t end) {
    const std::size_t samples = x.size() / (kSteps * kWidth), steps = end - begin;
    std::vector<float> part;
    for (std::size_t s = 0; s < samples; ++s)
      part.insert(part.end(), x.begin() + static_cast<std::ptrdiff_t>((s * kSteps + begin) * kWidth),
                  x.begin() + static_cast<std::ptrdiff_t>((s * kSteps + end) * kWidth));
    LOOM_TRY(const ConstView y, session->forward({part.data(), Shape::of({samples, steps, kWidth}), Element::f32}));
    return std::vector<float>(y.as<float>(), y.as<float>() + y.shape.elements());
  }
  Network network;
  std::unique_ptr<NetworkSession> session;
};

// Rows [begin, end) of every sample of answers to whole sequences.
std::vector<float> rows(const std::vector<float>& whole, std::size_t begin, std::size_t end) {
  std::vector<float> out;
  for (std::size_t s = 0; s < whole.size() / (kSteps * kWidth); ++s)
    out.insert(out.end(), whole.begin() + static_cast<std::ptrdiff_t>((s * kSteps + begin) * kWidth),
               whole.begin() + static_cast<std::ptrdiff_t>((s * kSteps + end) * kWidth));
  return out;
}

TEST(SessionState, L_74_a_context_takes_a_sequence_in_any_pieces) {
  const std::vector<float> x = sequences(3);
  for (const char* spec : {kDecoder, kMixed}) {
    const std::vector<float> whole = Reader(spec, {.threads = 1}).read(x, 0, kSteps).value();
    for (const int threads : {1, 3})
      for (const std::size_t piece : {1, 7, 64, 90}) {
        Reader reader(spec, {.threads = threads, .context = kSteps});
        for (std::size_t begin = 0; begin < kSteps; begin += piece) {
          const std::size_t end = std::min(begin + piece, kSteps);
          EXPECT_EQ(reader.read(x, begin, end).value(), rows(whole, begin, end)) << piece << " from " << begin;
        }
        EXPECT_EQ(reader.session->length(), kSteps);
        // Full: refused, and nothing is lost by the attempt.
        EXPECT_EQ(reader.read(x, 0, 1).error().code, Code::ContextFull);
        EXPECT_EQ(reader.session->length(), kSteps);
        reader.session->reset();
        EXPECT_EQ(reader.read(x, 0, 5).value(), rows(whole, 0, 5));
      }
  }
}

TEST(SessionState, L_74_a_context_is_rewound_and_handed_on) {
  const std::vector<float> x = sequences(2);
  const std::vector<float> whole = Reader(kDecoder, {.threads = 2}).read(x, 0, kSteps).value();
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8}) {
    const NetworkSessionOptions options{.threads = 2, .context = kSteps, .kv_dtype = dtype};
    Reader reader(kDecoder, options);
    const std::vector<float> first = reader.read(x, 0, 50).value(), second = reader.read(x, 50, 80).value();
    ASSERT_TRUE(reader.session->rewind(50));
    EXPECT_EQ(reader.session->length(), 50u);
    Reader other(kDecoder, options);
    const std::vector<std::byte> carried = reader.session->carried();
    ASSERT_TRUE(other.session->carry(carried));
    EXPECT_EQ(other.session->carried(), carried);
    EXPECT_EQ(reader.read(x, 50, 80).value(), second) << name(dtype);
    EXPECT_EQ(other.read(x, 50, 80).value(), second) << name(dtype);
    EXPECT_EQ(second == rows(whole, 50, 80), dtype == DType::float32);
    EXPECT_EQ(reader.session->rewind(81).error().code, Code::OutOfRange);
    ASSERT_TRUE(reader.session->rewind(0));
    EXPECT_EQ(reader.read(x, 0, 50).value(), first);
    // Damaged bytes are refused, and leave a session that begins anew.
    for (std::size_t i = 1; i < carried.size(); i += 97) {
      EXPECT_FALSE(other.session->carry(std::span(carried).first(i))) << i;
      EXPECT_EQ(other.session->length(), 0u);
    }
    EXPECT_EQ(other.read(x, 0, 50).value(), first);
  }
  Reader mixed(kMixed, {.threads = 1, .context = kSteps});
  ASSERT_TRUE(mixed.read(x, 0, 9));
  EXPECT_EQ(mixed.session->rewind(3).error().code, Code::Unsupported);
  EXPECT_TRUE(mixed.session->rewind(0));
}

TEST(SessionState, L_74_what_a_context_cannot_take_is_told_at_once) {
  const auto refused = [](const char* spec, NetworkSessionOptions options) {
    Network network = network_from_json(parse_json(spec).value()).value().network;
    EXPECT_TRUE(network.prepare(Shape::of({1, 4, kWidth})));
    return NetworkSession::create(network, options).error().code;
  };
  EXPECT_EQ(refused(kDecoder, {.threads = 1, .backward = true, .context = 8}), Code::Unsupported);
  EXPECT_EQ(
      refused(R"({"layers":[{"type":"mha","d_model":32,"num_heads":4,"causal":false}]})", {.threads = 1, .context = 8}),
      Code::Unsupported);
  EXPECT_EQ(refused(R"({"activations":"float64","layers":[{"type":"mha","d_model":32,"num_heads":4}]})",
                    {.threads = 1, .context = 8}),
            Code::Unsupported);
}

}  // namespace
}  // namespace loom
