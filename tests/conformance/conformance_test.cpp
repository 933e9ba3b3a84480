// Every layer kind in every type: what holds for all of them, whoever wrote the layer. A kind is tested the moment it
// stands in golden_layers(), and a test asks that every kind of layer_kinds() does, but for those that only run forward
// (src/network/graph_layer_test.cpp).

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "io/network_file.h"
#include "layers/all.h"
#include "verify/golden_parity.h"
#include "network/session/network_session.h"
#include "support/divided.h"

namespace loom {
namespace {

struct Result1 {
  std::vector<float> y, dx;
  std::vector<std::vector<float>> gradients;
  Shape shape;
  bool operator==(const Result1& o) const {
    return y == o.y && dx == o.dx && gradients == o.gradients && shape == o.shape;
  }
};

std::vector<float> copy_of(const ConstView& v) { return {v.as(), v.as() + v.shape.elements()}; }

// Forward and backward of `count` samples from `first` on, where `all` has as many as that.
Result1 run(const GoldenLayer& c, const Network& network, int threads, std::size_t first, std::size_t count,
            const std::vector<float>& all, std::size_t size) {
  std::vector<std::size_t> extents = c.input;
  extents[0] = count;
  const Shape shape = Shape::create(extents).value();
  const auto session = NetworkSession::create(network, shape, {threads, std::nullopt, true}).value();
  const auto y = session->forward({all.data() + first * size, shape});
  if (!y) {
    ADD_FAILURE() << y.error().text();
    return {};
  }
  Result1 out{copy_of(*y), {}, {}, y->shape};
  std::vector<float> dy(out.y.size());
  for (std::size_t i = 0; i < dy.size(); ++i)
    dy[i] = static_cast<float>(static_cast<int>((first * (dy.size() / count) + i) * 29 % 31) - 15) / 8.0f;
  const auto dx = session->backward({dy.data(), y->shape});
  if (!dx) {
    ADD_FAILURE() << dx.error().text();
    return out;
  }
  out.dx = copy_of(*dx);
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    if (const auto* g = static_cast<const float*>(session->gradients().of(w)))
      out.gradients.emplace_back(g, g + w.elements());
  });
  return out;
}

// Runs samples [first, first + count) of a case's input.
Result1 run(const GoldenLayer& c, const Network& network, int threads, std::size_t first, std::size_t count) {
  const std::vector<float> all = golden_input(c);
  return run(c, network, threads, first, count, all, all.size() / c.input[0]);
}
// Repeats the case's samples until inputs and outputs have 32 768 elements, below which work is never divided.
Result1 run_wide(const GoldenLayer& c, const Network& network, int threads) {
  const std::vector<float> once = golden_input(c);
  const std::size_t size = once.size() / c.input[0];
  const Shape shape = Shape::create(c.input).value();
  const std::size_t outputs = ForwardPlan::create(network, shape).value()->output_shape(shape).value().elements() /
                              c.input[0],
                    least = std::min(size, outputs);
  const std::size_t count = (32768 + least - 1) / least;
  std::vector<float> all;
  while (all.size() < count * size) all.insert(all.end(), once.begin(), once.end());
  return run(c, network, threads, 0, count, all, size);
}

// f(case, its network) for every kind and type.
template <class F>
void each_kind_and_type(F&& f) {
  for (const GoldenLayer& c : golden_layers())
    for (std::size_t t = 0; t < (c.typed ? kNumTypes : 1); ++t) {
      const auto dtype = static_cast<DType>(t);
      SCOPED_TRACE(std::string(c.name) + (c.typed ? " " + std::string(name(dtype)) : ""));
      auto network = golden_network(c, dtype);
      ASSERT_TRUE(network) << network.error().text();
      f(c, *network, dtype);
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(Conformance, every_kind_stands_among_the_golden_layers) {
  std::set<std::string> seen;
  for (const GoldenLayer& c : golden_layers()) {
    auto network = golden_network(c, DType::float32);
    ASSERT_TRUE(network) << c.name << ": " << network.error().text();
    visit_layers("", *network->cell(0).layer,
                 [&](const std::string&, Layer& layer) { seen.insert(std::string(layer.kind())); });
  }
  for (const LayerKind* kind : layer_kinds())
    EXPECT_TRUE(kind->forward_only || kind->name == "activation" || seen.contains(std::string(kind->name)))
        << kind->name;
}

// The f32 pass over packed weights is compared with the f64 pass over their decoded values, which shows the error that
// a type costs. parity_bound() has the bounds.
TEST(Conformance, every_type_is_near_the_f64_pass_over_its_decoded_weights) {  // D-31, D-32, D-33
  each_kind_and_type([](const GoldenLayer& c, const Network& network, DType dtype) {
    const auto exact = run_golden_exact(c, network, false), actual = run_golden(c, network, false);
    ASSERT_TRUE(exact && actual);
    ASSERT_EQ(actual->y.size(), exact->y.size());
    const ParityResult result = compare_parity(actual->y, exact->y, parity_bound(c, dtype));
    EXPECT_NE(result.parity, Parity::Beyond) << result.error;
  });
}

TEST(Conformance, one_thread_and_three_give_the_same_bits) {  // N-01, V-10
  each_kind_and_type([](const GoldenLayer& c, const Network& network, DType) {
    EXPECT_EQ(run(c, network, 1, 0, c.input[0]), run(c, network, 3, 0, c.input[0]));
  });
}

// Golden layers with as many samples as threads need to divide the work (the golden batches are too small).
TEST(Conformance, threads_that_divide_a_wide_batch_give_the_same_bits) {  // N-01, V-10
  for (const GoldenLayer& c : golden_layers())
    for (const DType dtype : {DType::float32, DType::int8}) {
      if (dtype != DType::float32 && !c.typed) continue;
      SCOPED_TRACE(std::string(c.name) + " " + std::string(name(dtype)));
      const Network network = golden_network(c, dtype).value();
      const Result1 one = run_wide(c, network, 1);
      EXPECT_GE(one.shape.elements(), 32768u);
      for (const int threads : {2, 3, 7}) {
        const test::ExpectDivided divided(threads);
        EXPECT_EQ(run_wide(c, network, threads), one) << threads;
      }
    }
}

TEST(Conformance, an_item_alone_equals_the_item_in_its_batch) {  // N-01, S-02
  each_kind_and_type([](const GoldenLayer& c, const Network& network, DType) {
    // moves the batch away; draws noise by row (engine 3.13)
    if (c.name == "permute" || c.name == "softmax gumbel") return;
    const Result1 batch = run(c, network, 1, 0, c.input[0]);
    const std::size_t last = c.input[0] - 1, y_size = batch.y.size() / c.input[0],
                      x_size = batch.dx.size() / c.input[0];
    const Result1 alone = run(c, network, 1, last, 1);
    EXPECT_TRUE(std::equal(alone.y.begin(), alone.y.end(), batch.y.begin() + static_cast<std::ptrdiff_t>(last * y_size),
                           batch.y.end()));
    EXPECT_TRUE(std::equal(alone.dx.begin(), alone.dx.end(),
                           batch.dx.begin() + static_cast<std::ptrdiff_t>(last * x_size), batch.dx.end()));
  });
}

// Micro-batches of sixteen samples add up to the bits of the whole batch.
TEST(Conformance, gradients_of_micro_batches_equal_those_of_the_batch) {  // N-05, T-41
  each_kind_and_type([](const GoldenLayer& c, const Network& network, DType dtype) {
    if (!c.typed || c.input[0] <= 16 || dtype > DType::int8) return;
    const Result1 whole = run(c, network, 1, 0, c.input[0]);
    const Shape shape = Shape::create(c.input).value();
    const auto session = NetworkSession::create(network, shape, {1, std::nullopt, true}).value();
    const std::vector<float> x = golden_input(c);
    const std::size_t x_size = x.size() / c.input[0], y_size = whole.y.size() / c.input[0];
    for (std::size_t first = 0; first < c.input[0]; first += 16) {
      std::vector<std::size_t> extents = c.input;
      extents[0] = std::min<std::size_t>(16, c.input[0] - first);
      const auto y = session->forward({x.data() + first * x_size, Shape::create(extents).value()});
      ASSERT_TRUE(y) << y.error().text();
      std::vector<float> dy(y->shape.elements());
      for (std::size_t i = 0; i < dy.size(); ++i)
        dy[i] = static_cast<float>(static_cast<int>((first * y_size + i) * 29 % 31) - 15) / 8.0f;
      ASSERT_TRUE(session->backward({dy.data(), y->shape}));
    }
    std::size_t i = 0;
    network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
      const auto* g = static_cast<const float*>(session->gradients().of(w));
      EXPECT_EQ(whole.gradients[i++], std::vector<float>(g, g + w.elements())) << path;
    });
  });
}

TEST(Conformance, saved_and_loaded_networks_compute_the_same_bits) {  // F-04, F-03
  each_kind_and_type([](const GoldenLayer& c, const Network& network, DType) {
    const Result1 expected = run(c, network, 1, 0, c.input[0]);
    const auto bytes = network_to_entity(network);
    ASSERT_TRUE(bytes) << bytes.error().text();
    auto loaded = network_from_entity(*bytes);
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(run(c, loaded->network, 1, 0, c.input[0]), expected);
    EXPECT_EQ(network_to_entity(loaded->network).value(), *bytes);
    const auto text = network_to_checkpoint(network);
    ASSERT_TRUE(text) << text.error().text();
    auto parsed = network_from_json(*text);
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(run(c, parsed->network, 1, 0, c.input[0]).y, expected.y);
  });
}

}  // namespace
}  // namespace loom
