// Tests of the serialised state that sessions carry from call to call.

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/rehearsal.h"
#include "core/json.h"
#include "core/philox.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "ops/all.h"

namespace loom {
namespace {

constexpr const char* kSpec = R"({"seed":2,"layers":[
  {"type":"lstm","input_height":2,"output_height":3,"stateful":true},
  {"type":"gru","input_height":3,"output_height":3},
  {"type":"metacognition","meta_observed_layer":{"type":"gru","input_height":3,"output_height":2,"stateful":true,"bidirectional":true}}]})";

struct Caller {
  explicit Caller(const char* spec = kSpec, int threads = 2)
      : network(network_from_json(parse_json(spec).value()).value().network) {
    NetworkSessionOptions options;
    options.threads = threads, options.backward = true;
    session = NetworkSession::create(network, Shape::of({2, 3, 2}), options).value();
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

TEST(SessionState, what_one_session_carries_another_goes_on_with) {  // L-62, T-60
  Caller one;
  EXPECT_TRUE(one.session->save_state().empty()) << "before the first call";
  one.call(0.5f), one.call(0.25f);
  const std::vector<std::byte> carried = one.session->save_state();
  Caller fresh, other(kSpec, 3);
  ASSERT_TRUE(other.session->restore_state(carried));
  EXPECT_EQ(other.session->save_state(), carried);
  const std::vector<float> next = one.call(1);
  EXPECT_NE(fresh.call(1), next);
  EXPECT_EQ(other.call(1), next);
  EXPECT_EQ(other.session->save_state(), one.session->save_state());
  EXPECT_EQ(std::ranges::max(other.session->metas(), {}, &MetaState::calls).calls, 3u);
  // Empty bytes start the session again; a network without stateful layers carries nothing.
  ASSERT_TRUE(other.session->restore_state({}));
  EXPECT_EQ(std::ranges::max(other.session->metas(), {}, &MetaState::calls).calls, 0u);
  Caller plain(R"({"seed":2,"layers":[{"type":"lstm","input_height":2,"output_height":3}]})");
  plain.call(1);
  EXPECT_TRUE(plain.session->save_state().empty());
}

struct CancelAfterTheFirst final : LayerWatch {
  void after_forward(const Layer&, const ConstView&, const ConstView&) override { cancel = true; }
  void after_backward(const Layer&, const ConstView&, const ConstView&) override {}
  std::atomic<bool> cancel{false};
};

// Else the first layer would stand a call ahead of the others.
TEST(SessionState, a_call_that_was_cancelled_leaves_no_state_half_advanced) {  // L-62
  Caller one, fresh;
  one.call(0.5f);
  CancelAfterTheFirst watch;
  one.session->watch(&watch);
  const std::vector<float> x(12, 0.5f);
  EXPECT_EQ(
      one.session->forward({x.data(), Shape::of({2, 3, 2}), Element::f32}, {.training = true, .cancel = &watch.cancel})
          .error()
          .code,
      Code::Cancelled);
  one.session->watch(nullptr);
  EXPECT_EQ(one.call(1), fresh.call(1));
}

// The layers before the cancelled one have looked at their outputs; what they saw counts for nothing.
TEST(SessionState, a_call_that_was_cancelled_leaves_the_memories_of_metacognition_layers) {  // L-62
  const auto meta = [](int out) {
    return fmt::format(
        R"({{"type":"metacognition","meta_observed_layer":{{"type":"dense","input_height":2,"output_height":{}}}}})",
        out);
  };
  Caller one(fmt::format(R"({{"layers":[{},{}]}})", meta(2), meta(3)).c_str());
  one.call(0.5f);
  const std::vector<std::byte> before = one.session->save_state();
  CancelAfterTheFirst watch;
  one.session->watch(&watch);
  const std::vector<float> x(12, 0.25f);
  EXPECT_EQ(
      one.session->forward({x.data(), Shape::of({2, 3, 2}), Element::f32}, {.cancel = &watch.cancel}).error().code,
      Code::Cancelled);
  one.session->watch(nullptr);
  EXPECT_EQ(one.session->save_state(), before);
  for (const MetaState& state : one.session->metas()) EXPECT_EQ(state.calls, 1u);
}

// The tape belongs to a call whose settings the failed one has replaced.
TEST(SessionState, no_backward_pass_after_a_call_that_failed) {  // L-02
  Caller one(R"({"layers":[{"type":"rnn","input_height":2,"output_height":3}]})");
  const std::vector<float> x(12, 0.5f), dy(18, 1.0f);
  const std::vector<std::size_t> lengths{3, 2}, others{1};
  const ConstView gradient{dy.data(), Shape::of({2, 3, 3}), Element::f32};
  const auto forward = [&](const Shape& shape, std::span<const std::size_t> given) {
    return one.session->forward({x.data(), shape, Element::f32}, {.training = true, .lengths = given});
  };
  ASSERT_TRUE(forward(Shape::of({2, 3, 2}), lengths));
  EXPECT_FALSE(forward(Shape::of({1, 3, 4}), others));
  EXPECT_EQ(one.session->backward(gradient).error().code, Code::InvalidState);
  ASSERT_TRUE(forward(Shape::of({2, 3, 2}), lengths));
  EXPECT_TRUE(one.session->backward(gradient));
  ASSERT_TRUE(forward(Shape::of({2, 3, 2}), lengths));
  EXPECT_FALSE(one.session->prepare(Shape::of({2, 3, 5})));
  EXPECT_EQ(one.session->backward(gradient).error().code, Code::InvalidState);
}

TEST(SessionState, a_given_state_and_recomputed_segments_exclude_each_other) {  // L-62, T-80
  Network network =
      network_from_json(parse_json(R"({"layers":[{"type":"gru","input_height":2,"output_height":3}]})").value())
          .value()
          .network;
  const auto session =
      NetworkSession::create(network, Shape::of({1, 3, 2}), {.threads = 1, .backward = true, .checkpoint_every = 1})
          .value();
  ASSERT_TRUE(session->prepare(Shape::of({1, 3, 2})));
  const std::vector<float> h(3, 1.0f);
  EXPECT_EQ(session->set_state(0, {h.data(), Shape::of({1, 1, 3}), Element::f32}).error().code, Code::Unsupported);
}

TEST(SessionState, bytes_that_do_not_fit_are_refused) {  // L-62, T-60
  Caller one, other;
  one.call(0.5f);
  const std::vector<std::byte> carried = one.session->save_state();
  for (std::size_t keep = 1; keep < carried.size(); ++keep)
    EXPECT_FALSE(other.session->restore_state(std::span(carried).first(keep))) << keep;
  std::vector<std::byte> longer = carried;
  longer.push_back(std::byte{0});
  EXPECT_EQ(other.session->restore_state(longer).error().code, Code::CorruptData);
  Caller narrow(R"({"seed":2,"layers":[{"type":"lstm","input_height":2,"output_height":4,"stateful":true}]})");
  EXPECT_EQ(narrow.session->restore_state(carried).error().code, Code::CorruptData);
  EXPECT_TRUE(other.session->restore_state(carried));
  // A shape of the input without extents, so that no states can follow it.
  Caller lstm(R"({"seed":2,"layers":[{"type":"lstm","input_height":2,"output_height":3,"stateful":true}]})");
  lstm.call(1);
  std::vector<std::byte> flat = lstm.session->save_state();
  flat.erase(flat.begin(), flat.begin() + 4 * 8);  // the rank and extents of the input
  flat.insert(flat.begin(), 2 * 8, std::byte{0});
  EXPECT_EQ(lstm.session->restore_state(flat).error().code, Code::CorruptData);
  // A second layer of another shape: the first one's state is not kept either.
  const auto two = [](int width) {
    return fmt::format(
        R"({{"seed":2,"layers":[{{"type":"gru","input_height":2,"output_height":3,"stateful":true}},{{"type":"gru","input_height":3,"output_height":{},"stateful":true}}]}})",
        width);
  };
  Caller wide(two(4).c_str()), small(two(5).c_str()), fresh(two(5).c_str());
  wide.call(0.5f);
  EXPECT_FALSE(small.session->restore_state(wide.session->save_state()));
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
    auto made = NetworkSession::create(network, Shape::of({1, 4, kWidth}), options);
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

TEST(SessionState, a_context_takes_a_sequence_in_any_pieces) {  // L-74
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

TEST(SessionState, a_context_is_rewound_and_handed_on) {  // L-74
  const std::vector<float> x = sequences(2);
  const std::vector<float> whole = Reader(kDecoder, {.threads = 2}).read(x, 0, kSteps).value();
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8}) {
    const NetworkSessionOptions options{.threads = 2, .context = kSteps, .kv_dtype = dtype};
    Reader reader(kDecoder, options);
    const std::vector<float> first = reader.read(x, 0, 50).value(), second = reader.read(x, 50, 80).value();
    ASSERT_TRUE(reader.session->rewind(50));
    EXPECT_EQ(reader.session->length(), 50u);
    Reader other(kDecoder, options);
    const std::vector<std::byte> carried = reader.session->save_state();
    ASSERT_TRUE(other.session->restore_state(carried));
    EXPECT_EQ(other.session->save_state(), carried);
    EXPECT_EQ(reader.read(x, 50, 80).value(), second) << name(dtype);
    EXPECT_EQ(other.read(x, 50, 80).value(), second) << name(dtype);
    EXPECT_EQ(second == rows(whole, 50, 80), dtype == DType::float32);
    EXPECT_EQ(reader.session->rewind(81).error().code, Code::OutOfRange);
    ASSERT_TRUE(reader.session->rewind(0));
    EXPECT_EQ(reader.read(x, 0, 50).value(), first);
    // Damaged bytes are refused, and the session starts again from the beginning.
    for (std::size_t i = 1; i < carried.size(); i += 97) {
      EXPECT_FALSE(other.session->restore_state(std::span(carried).first(i))) << i;
      EXPECT_EQ(other.session->length(), 0u);
    }
    EXPECT_EQ(other.read(x, 0, 50).value(), first);
  }
  // A length without the keys and values of its positions.
  Reader short_one(R"({"layers":[{"type":"mha","d_model":32,"num_heads":4}]})", {.threads = 1, .context = kSteps});
  ASSERT_TRUE(short_one.read(x, 0, 3));
  const std::vector<std::byte> all = short_one.session->save_state();
  std::size_t refused = 0;
  for (std::size_t at = 0; at + 8 <= all.size() && at < 128; at += 8) {
    std::vector<std::byte> none = all;
    none.resize(at);
    for (const std::byte b : {std::byte{3}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
                              std::byte{0}, std::byte{0}})
      none.push_back(b);
    refused += short_one.session->restore_state(none) ? 0 : 1;
  }
  EXPECT_EQ(refused, 16u);
  Reader mixed(kMixed, {.threads = 1, .context = kSteps});
  ASSERT_TRUE(mixed.read(x, 0, 9));
  EXPECT_EQ(mixed.session->rewind(3).error().code, Code::Unsupported);
  EXPECT_TRUE(mixed.session->rewind(0));
}

TEST(SessionState, what_a_context_cannot_take_is_told_at_once) {  // L-74
  const auto refused = [](const char* spec, NetworkSessionOptions options) {
    Network network = network_from_json(parse_json(spec).value()).value().network;
    return NetworkSession::create(network, Shape::of({1, 4, kWidth}), options).error().code;
  };
  EXPECT_EQ(refused(kDecoder, {.threads = 1, .backward = true, .context = 8}), Code::Unsupported);
  EXPECT_EQ(
      refused(R"({"layers":[{"type":"mha","d_model":32,"num_heads":4,"causal":false}]})", {.threads = 1, .context = 8}),
      Code::Unsupported);
  EXPECT_EQ(refused(R"({"activations":"float64","layers":[{"type":"mha","d_model":32,"num_heads":4}]})",
                    {.threads = 1, .context = 8}),
            Code::Unsupported);
}

// Where addresses have 32 bits networks of a few gigabytes reach this.
TEST(SessionState, a_rehearsal_says_when_memory_cannot_be_counted) {  // S-05
  Arena none;
  const auto pool = ThreadPool::create(1).value();
  const Exec exec{*pool, *kernels_for(best_isa()).value(), none};
  const auto taking = [&](std::size_t elements, int times) {
    return rehearse(exec, [&](const Exec& now) {
      for (int i = 0; i < times; ++i) now.arena.take<double>(elements);
    });
  };
  EXPECT_TRUE(taking(std::size_t{1} << 20, 4));
  EXPECT_EQ(taking(~std::size_t{0} / 32, 4).error().code, Code::OutOfMemory);
  EXPECT_EQ(taking(~std::size_t{0} / 4, 1).error().code, Code::OutOfMemory);
}

}  // namespace
}  // namespace loom
