#include "host/run_network.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "core/json.h"
#include "network/spec/spec.h"

namespace loom::host_run_network_test {
namespace {

Network made(const char* spec) {
  auto read = network_from_json(std::string_view(spec));
  EXPECT_TRUE(read) << read.error().text();
  return std::move(read->network);
}

constexpr char kSpec[] = R"({"seed":3,"input_shape":[5],"layers":[
  {"type":"dense","input_height":5,"output_height":4,"activation":"tanh"},
  {"type":"dense","input_height":4,"output_height":3}]})";

TEST(HostRunNetwork, the_output_is_that_of_a_session_and_the_last_cell_has_its_hash) {
  Network network = made(kSpec), other = made(kSpec);
  const TensorValues input = drawn_input(network, 2, 7, 1 << 20).value();
  EXPECT_EQ(input.shape, Shape::of({2, 5}));
  const auto out = run_network(network, input, {.threads = 1, .cells = true});
  ASSERT_TRUE(out) << out.error().text();
  const std::vector<float> x(input.values.begin(), input.values.end());
  const auto session = NetworkSession::create(other, input.shape, {.threads = 1}).value();
  const ConstView y = session->forward({x.data(), input.shape, Element::f32}).value();
  ASSERT_EQ(out->shape, y.shape);
  EXPECT_EQ(std::memcmp(out->bytes.data(), y.data, out->bytes.size()), 0);
  ASSERT_EQ(out->cells.size(), 2u);
  EXPECT_EQ(out->cells[1].hash, out->hash);
  EXPECT_NE(out->cells[0].hash, out->hash);
  EXPECT_EQ(out->cells[0].kind, "dense");
  EXPECT_EQ(out->cells[0].shape, Shape::of({2, 4}));
  double sum = 0, most = -1e9;
  for (std::size_t i = 0; i < 6; ++i)
    sum += static_cast<double>(y.as<float>()[i]), most = std::max(most, static_cast<double>(y.as<float>()[i]));
  EXPECT_NEAR(out->cells[1].mean, sum / 6, 1e-12);
  EXPECT_EQ(out->cells[1].largest, most);
  EXPECT_FALSE(out->non_finite);
  const Json said = to_json(*out, true, true);
  EXPECT_EQ(said["shape"], Json({2, 3}));
  EXPECT_EQ(said["output"][1][2], y.as<float>()[5]);
  EXPECT_EQ(said["cells"][1]["hash"], said["hash"]);
  EXPECT_FALSE(to_json(*out, false, false).contains("output"));
}

TEST(HostRunNetwork, numbers_that_are_not_finite_are_named_and_written_as_words) {
  Network network = made(R"({"seed":3,"layers":[{"type":"dense","input_height":1,"output_height":2}]})");
  network.visit_weights(
      [](const std::string&, Weight& w, Layer&) { ASSERT_TRUE(w.set(std::vector<double>(w.elements(), 3e38))); });
  const auto out = run_network(network, {{3.0}, Shape::of({1, 1})}, {.threads = 1});
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->non_finite, 0u);
  EXPECT_EQ(dump_json(nested_json(out->view())), R"([["Infinity","Infinity"]])");
}

TEST(HostRunNetwork, bad_input_is_refused) {
  Network network = made(kSpec);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto named = run_network(network, {{1, nan, 0, 0, 0}, Shape::of({1, 5})}, {.input_name = "x.npy"});
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, Code::NonFinite);
  EXPECT_TRUE(named.error().text().starts_with("x.npy: ")) << named.error().text();
  EXPECT_EQ(run_network(network, {{1, 2}, Shape::of({1, 5})}).error().code, Code::ShapeMismatch);
  EXPECT_EQ(run_network(network, {{1, 2}, Shape::of({1, 2})}).error().code, Code::ShapeMismatch);
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(run_network(network, {{1, 2, 3, 4, 5}, Shape::of({1, 5})}, {.cancel = &cancel}).error().code,
            Code::Cancelled);
  EXPECT_EQ(drawn_input(network, 1000, 1, 1000).error().code, Code::OutOfMemory);
  const Network nameless = made(R"({"layers":[{"type":"dense","input_height":1,"output_height":2}]})");
  EXPECT_EQ(drawn_input(nameless, 1, 1, 1000).error().code, Code::InvalidArgument);
}

}  // namespace
}  // namespace loom::host_run_network_test
