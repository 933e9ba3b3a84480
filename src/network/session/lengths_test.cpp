// Lengths of samples (PassExtras::lengths): padding after the valid steps reaches none of them, or the kind refuses.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/json.h"
#include "layers/running_test.h"
#include "verify/golden_layers.h"

namespace loom {
namespace {

using test::Running;
using test::running;

struct Ragged {
  std::vector<std::size_t> lengths;
  std::size_t steps = 0, of_step = 0;  // positions of a sample, numbers of a position

  // Every second sample is a step short; two axes are one sample.
  explicit Ragged(const Shape& input) {
    const bool one = input.rank() < 3;
    steps = one ? input[0] : input[1];
    for (std::size_t b = 0; b < (one ? 1 : input[0]); ++b) lengths.push_back(b % 2 == 0 ? steps - 1 : steps);
    of_step = input.elements() / (lengths.size() * steps);
  }
  bool valid(std::size_t element, std::size_t per_step) const {
    return element / per_step % steps < lengths[element / per_step / steps];
  }
};

// Returns the outputs of the valid steps, which `padding` follows; nothing where the network refuses lengths.
std::vector<float> valid_outputs(NetworkSession& session, const Shape& shape, std::vector<float> x, float padding,
                                 PassExtras extras) {
  const Ragged ragged(shape);
  extras.lengths = ragged.lengths;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!ragged.valid(i, ragged.of_step)) x[i] = padding;
  const auto y = session.forward({x.data(), shape, Element::f32}, extras);
  if (!y) {
    EXPECT_EQ(y.error().code, Code::Unsupported) << y.error().text();
    return {};
  }
  const std::vector<float> all = test::values(*y);
  const std::size_t rows = ragged.lengths.size() * ragged.steps;
  const bool has_steps =
      shape.rank() < 3 ? y->shape[0] == ragged.steps : y->shape.rank() > 2 && y->shape[1] == ragged.steps;
  if (!has_steps) return all;
  std::vector<float> valid;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (ragged.valid(i, all.size() / rows)) valid.push_back(all[i]);
  return valid;
}

// Whether the session takes lengths; that padding changes nothing then.
bool takes(NetworkSession& session, const Shape& shape, const std::vector<float>& x, float a, float b, bool training) {
  PassExtras extras;
  extras.training = training;
  const std::vector<float> one = valid_outputs(session, shape, x, a, extras);
  const std::vector<float> other = valid_outputs(session, shape, x, b, extras);
  EXPECT_EQ(one, other);
  EXPECT_TRUE(session.forward({x.data(), shape, Element::f32})) << "it goes on without lengths";
  return !one.empty();
}

TEST(Lengths, padding_reaches_no_valid_step_of_any_kind_or_is_refused) {  // S-07
  std::set<std::string_view> refuse;
  for (const GoldenLayer& c : golden_layers()) {
    SCOPED_TRACE(c.name);
    if (c.input.size() < 2) continue;
    const Shape shape = *Shape::create(c.input);
    const Network network = golden_network(c, DType::float32).value();
    const std::vector<float> x = golden_input(c);
    for (const bool training : {false, true}) {
      const auto session = NetworkSession::create(network, shape, {.threads = 1, .backward = true}).value();
      const float other = c.ids != 0 ? static_cast<float>(c.ids - 1) : 100.0f;
      if (!takes(*session, shape, x, 0, other, training)) refuse.insert(network.cell(0).layer->kind());
    }
  }
  // Of mha what is not causal, of metacognition what has an effect; batchnorm in training; lora what it holds.
  EXPECT_EQ(refuse, (std::set<std::string_view>{"avgpool", "batchnorm", "cnn1", "cnn2", "cnn3", "convtransposed1",
                                                "convtransposed2", "convtransposed3", "groupnorm", "instancenorm",
                                                "lora", "maxpool", "metacognition", "mha", "permute", "reshape"}));
}

TEST(Lengths, settings_that_join_steps) {  // S-07
  const std::string dense = R"({"type":"dense","input_height":4,"output_height":4})";
  const std::string two = R"("parallel_branches":[)" + dense + "," + dense + "]";
  const std::string gate = R"(,"filter_gate":{"type":"dense","input_height":4,"output_height":2})";
  const std::pair<std::string, std::array<bool, 2>> cases[] = {
      {R"({"type":"mha","d_model":4,"num_heads":1})", {true, true}},
      {R"({"type":"mha","d_model":4,"num_heads":1,"sliding_window":2})", {true, true}},
      {R"({"type":"mha","d_model":4,"num_heads":1,"causal":false})", {false, false}},
      {R"({"type":"mha","d_model":4,"num_heads":1,"causal":false,"sliding_window":2})", {false, false}},
      {R"({"type":"batchnorm","input_height":3})", {true, false}},
      {R"({"type":"instancenorm","input_height":3})", {false, false}},
      {R"({"type":"groupnorm","input_height":3})", {false, false}},
      {R"({"type":"layernorm","input_height":4})", {true, true}},
      {R"({"type":"cnn1","input_channels":3,"filters":2,"kernel_size":1})", {false, false}},
      {R"({"type":"avgpool","kernel_size":2})", {false, false}},
      {R"({"type":"permute","axes":[0,2,1]})", {false, false}},
      {R"({"type":"permute","axes":[0,1,2]})", {true, true}},
      {R"({"type":"reshape"})", {false, false}},
      {R"({"type":"reshape","shape":[0,2,2]})", {true, true}},
      {R"({"type":"parallel",)" + two + "}", {true, true}},
      {R"({"type":"parallel","concat_axis":1,)" + two + "}", {false, false}},
      {R"({"type":"parallel","flatten":true,)" + two + "}", {false, false}},
      {R"({"type":"parallel","combine_mode":"filter",)" + two + gate + "}", {true, true}},
      {R"({"type":"parallel","combine_mode":"filter","gate_scope":"sample",)" + two + gate + "}", {false, false}},
      {R"({"type":"sequential","sequential_layers":[{"type":"gru","input_height":4,"output_height":4,"return_sequence":false},{"type":"batchnorm","input_height":4}]})",
       {true, true}}};
  const Shape shape = Shape::of({2, 3, 4});
  std::vector<float> x(24);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 5 % 17) / 8 - 1;
  for (const auto& [spec, expected] : cases)
    for (const bool training : {false, true}) {
      SCOPED_TRACE(spec);
      auto r = running(spec.c_str(), shape);
      ASSERT_TRUE(r) << r.error().text();
      EXPECT_EQ(takes(*r->session, shape, x, 0, 100, training), expected[training]) << training;
    }
  // The balance of a gate counts rows; it is part of what backward goes from.
  auto r =
      running((R"({"type":"parallel","combine_mode":"filter","gate_aux_weight":1,)" + two + gate + "}").c_str(), shape);
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_FALSE(takes(*r->session, shape, x, 0, 100, true));
  const auto forward_only = NetworkSession::create(*r->network, shape, {.threads = 1}).value();
  EXPECT_TRUE(takes(*forward_only, shape, x, 0, 100, false));
}

// A mask says which keys count, whatever the lengths; keys of another tensor are no steps of the input.
TEST(Lengths, attention_with_a_mask_or_a_second_input_takes_lengths) {  // S-07
  const Shape shape = Shape::of({2, 3, 4});
  std::vector<float> x(24), external(40);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 5 % 17) / 8 - 1;
  for (std::size_t i = 0; i < external.size(); ++i) external[i] = static_cast<float>(i * 3 % 11) / 8;
  PassExtras extras;
  const std::vector<float> kept = {1, 1, 0, 1, 1, 1};
  const ConstView mask{kept.data(), Shape::of({2, 3}), Element::f32};
  const ConstView second{external.data(), Shape::of({2, 5, 4}), Element::f32};
  for (const char* spec : {R"({"type":"mha","d_model":4,"num_heads":1,"causal":false})",
                           R"({"type":"mha","d_model":4,"num_heads":1,"cross":true})"}) {
    SCOPED_TRACE(spec);
    auto r = running(spec, shape);
    ASSERT_TRUE(r) << r.error().text();
    const bool cross = std::string_view(spec).find("cross") != std::string_view::npos;
    extras.mask = cross ? nullptr : &mask, extras.external = cross ? &second : nullptr;
    const std::vector<float> one = valid_outputs(*r->session, shape, x, 0, extras);
    EXPECT_FALSE(one.empty());
    EXPECT_EQ(valid_outputs(*r->session, shape, x, 100, extras), one);
  }
}

TEST(Lengths, lengths_that_do_not_fit_are_refused_whatever_the_layers) {  // S-07
  const std::string dense = R"({"type":"dense","input_height":4,"output_height":4})";
  for (const std::string& spec : {dense, std::string(R"({"type":"mha","d_model":4,"num_heads":1})"),
                                  std::string(R"({"type":"lstm","input_height":4,"output_height":4})")}) {
    SCOPED_TRACE(spec);
    auto r = running(spec.c_str(), Shape::of({2, 3, 4}));
    ASSERT_TRUE(r) << r.error().text();
    const std::vector<float> x(24, 0.5f);
    const auto code = [&](const Shape& shape, const std::vector<std::size_t>& lengths) {
      PassExtras extras;
      extras.lengths = lengths;
      const auto y = r->session->forward({x.data(), shape, Element::f32}, extras);
      return y ? Code{} : y.error().code;
    };
    const Shape batch = Shape::of({2, 3, 4}), one = Shape::of({3, 4});
    EXPECT_EQ(code(batch, {3, 0}), Code{});
    EXPECT_EQ(code(batch, {3}), Code::ShapeMismatch);
    EXPECT_EQ(code(batch, {3, 3, 3}), Code::ShapeMismatch);
    EXPECT_EQ(code(batch, {4, 3}), Code::OutOfRange);
    EXPECT_EQ(code(batch, {3, 77}), Code::OutOfRange);
    EXPECT_EQ(code(one, {3}), Code{});
    EXPECT_EQ(code(one, {4}), Code::OutOfRange);
    EXPECT_EQ(code(one, {77, 99}), Code::ShapeMismatch);
  }
}

}  // namespace
}  // namespace loom
