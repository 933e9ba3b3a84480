// Layer kinds of a host's own over loom.h: that of the C example against the same equations in built-in layers, what
// callbacks may do wrong, and files.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/isa.h"
#include "capi/capi_test.h"
#include "dtypes/dtype.h"
#include "support/divided.h"
#include "support/files.h"
#include "support/own_kind_example.h"

namespace loom::kinds_test {
namespace {

using test::sized;
using test::take;

void register_highway() {
  static const loom_status once = own_kind_example::register_highway();
  EXPECT_EQ(once, LOOM_OK) << loom_last_error();
}

loom_network network(const std::string& layers, const std::string& more = "") {
  const std::string spec = R"({"seed":7,)" + more + R"("layers":[)" + layers + "]}";
  loom_network n = 0;
  EXPECT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &n), LOOM_OK) << loom_last_error();
  return n;
}

struct Way {
  int threads = 1;
  std::string isa;
};

loom_network_session session(loom_network n, const Way& way = {}) {
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.thread_count = way.threads, options.backward = 1, compute.isa = way.isa.empty() ? nullptr : way.isa.c_str();
  loom_network_session s = 0;
  EXPECT_EQ(loom_network_session_create(n, &options, &s), LOOM_OK) << loom_last_error();
  return s;
}

std::vector<float> drawn(std::size_t count, unsigned seed) {
  std::vector<float> out(count);
  for (float& v : out) v = static_cast<float>((seed = seed * 1664525U + 1013904223U) >> 8) / 8388608.0F - 1.0F;
  return out;
}

constexpr std::size_t kRows = 600, kWidth = 64;

std::vector<float> forward(loom_network_session s, const std::vector<float>& x) {
  loom_tensor y;
  EXPECT_EQ(test::forward(s, x, {kRows, kWidth}, y), LOOM_OK) << loom_last_error();
  return y.data == nullptr ? std::vector<float>() : test::values_of(y);
}
std::vector<float> backward(loom_network_session s, const std::vector<float>& dy) {
  loom_tensor dx;
  EXPECT_EQ(loom_network_session_clear_gradients(s), LOOM_OK);
  EXPECT_EQ(test::backward(s, dy, dx), LOOM_OK) << loom_last_error();
  return dx.data == nullptr ? std::vector<float>() : test::values_of(dx);
}
std::vector<float> gradient(loom_network_session s, const std::string& weight, std::size_t count) {
  std::vector<float> g(count);
  EXPECT_EQ(test::gradient(s, weight, g), LOOM_OK) << loom_last_error();
  return g;
}
void set_weight(loom_network n, const std::string& name, const std::vector<float>& values) {
  EXPECT_EQ(test::set_weight(n, name, values), LOOM_OK) << loom_last_error();
}

// Bits: a NaN is equal to itself, +0 is not -0.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Results of a pass, by name.
using Given = std::vector<std::pair<std::string, std::vector<float>>>;

Given of_highway(const std::string& type, const Way& way) {
  const loom_network n = network(R"({"type":"highway","width":64,"dtype":")" + type + "\"}");
  set_weight(n, "layers.0.h.weight", drawn(kWidth * kWidth, 1)), set_weight(n, "layers.0.h.bias", drawn(kWidth, 2));
  set_weight(n, "layers.0.t.weight", drawn(kWidth * kWidth, 3)), set_weight(n, "layers.0.t.bias", drawn(kWidth, 4));
  const loom_network_session s = session(n, way);
  Given given{{"y", forward(s, drawn(kRows * kWidth, 5))}};
  given.emplace_back("dx", backward(s, drawn(kRows * kWidth, 6)));
  for (const char* part : {"h", "t"}) {
    given.emplace_back(part, gradient(s, std::string("layers.0.") + part + ".weight", kWidth * kWidth));
    given.emplace_back(part, gradient(s, std::string("layers.0.") + part + ".bias", kWidth));
  }
  loom_release(s), loom_release(n);
  return given;
}

// Like of_highway(), from two dense layers with single operations on floats between them.
Given of_dense(const std::string& type, const Way& way) {
  const auto dense = [&](const char* activation, unsigned seed) {
    const loom_network n =
        network(R"({"type":"dense","input_height":64,"output_height":64,"bias":true,"activation":")" +
                std::string(activation) + R"(","dtype":")" + type + "\"}");
    set_weight(n, "layers.0.weight", drawn(kWidth * kWidth, seed));
    set_weight(n, "layers.0.bias", drawn(kWidth, seed + 1));
    return n;
  };
  const loom_network of_h = dense("tanh", 1), of_t = dense("sigmoid", 3);
  const loom_network_session sh = session(of_h, way), st = session(of_t, way);
  const auto x = drawn(kRows * kWidth, 5), dy = drawn(kRows * kWidth, 6), h = forward(sh, x), t = forward(st, x);
  std::vector<float> y(x.size()), dh(x.size()), dt(x.size()), dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float rest = h[i] - x[i];
    const float part = t[i] * rest;
    y[i] = x[i] + part, dh[i] = dy[i] * t[i], dt[i] = dy[i] * rest;
  }
  const auto dx_h = backward(sh, dh), dx_t = backward(st, dt);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float sum = dx_h[i] + dx_t[i], direct = dy[i] - dh[i];
    dx[i] = sum + direct;
  }
  Given given{{"y", y}, {"dx", dx}};
  for (const auto& [name, s] : {std::pair("h", sh), std::pair("t", st)}) {
    given.emplace_back(name, gradient(s, "layers.0.weight", kWidth * kWidth));
    given.emplace_back(name, gradient(s, "layers.0.bias", kWidth));
  }
  for (const loom_handle each : {sh, st, of_h, of_t}) loom_release(each);
  return given;
}

TEST(CapiKinds, the_examples_layer_has_the_bits_of_built_in_layers_in_every_type) {
  register_highway();
  for (const DTypeInfo& type : kDTypes) {
    if (is_block_format(type.dtype)) continue;
    const std::string of_type(type.name);
    const std::string weakest(name(usable_isas().front()));  // sanitizer builds have one
    const Given expected = of_dense(of_type, {1, weakest});
    for (const Way& way : {Way{1, weakest}, Way{1, ""}, Way{2, ""}}) {
      const test::ExpectDivided divided(way.threads);
      const Given given = of_highway(of_type, way);
      for (std::size_t i = 0; i < given.size(); ++i)
        EXPECT_TRUE(same_bits(given[i].second, expected[i].second))
            << of_type << " " << given[i].first << " " << way.threads << way.isa;
    }
  }
}

TEST(CapiKinds, gradients_of_the_example_in_f64_are_those_of_differences) {
  register_highway();
  const loom_network n =
      network(R"({"type":"highway","width":3})", R"("activations":"float64","default_dtype":"float64",)");
  const loom_network_session s = session(n);
  std::vector<double> x = {0.3, -0.7, 0.2, 1.1, 0.4, -0.9}, dy = {0.5, -1, 0.25, 2, -0.75, 1.5}, w(9);
  const auto loss = [&] {
    loom_tensor given;
    EXPECT_EQ(test::forward(s, x, {2, 3}, given), LOOM_OK) << loom_last_error();
    const std::vector<double> y = test::values_of<double>(given);
    double sum = 0;
    for (std::size_t i = 0; i < 6; ++i) sum += dy[i] * y[i];
    return sum;
  };
  static_cast<void>(loss());
  loom_tensor dx;
  ASSERT_EQ(test::backward(s, dy, dx), LOOM_OK) << loom_last_error();
  const std::vector<double> of_x = test::values_of<double>(dx);
  std::vector<double> of_w(9);
  ASSERT_EQ(test::gradient(s, "layers.0.t.weight", of_w), LOOM_OK) << loom_last_error();
  const std::vector<float> rounded(of_w.begin(), of_w.end());
  EXPECT_EQ(gradient(s, "layers.0.t.weight", 9), rounded);
  ASSERT_EQ(test::get_weight(n, "layers.0.t.weight", w), LOOM_OK) << loom_last_error();
  constexpr double kStep = 1e-5;
  const auto slope = [&](const auto& shift) {
    shift(kStep);
    const double above = loss();
    shift(-2 * kStep);
    const double below = loss();
    shift(kStep);
    return (above - below) / (2 * kStep);
  };
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(slope([&](double by) { x[i] += by; }), of_x[i], 1e-8) << i;
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(slope([&](double by) {
                  w[i] += by;
                  EXPECT_EQ(test::set_weight(n, "layers.0.t.weight", w), LOOM_OK);
                }),
                of_w[i], 1e-8)
        << i;
  loom_release(s), loom_release(n);
}

TEST(CapiKinds, files_name_the_kind_and_need_it) {
  ASSERT_EQ(own_kind_example::highway_declare == nullptr, false);
  auto callbacks = sized<loom_kind_callbacks>();
  callbacks.forward = own_kind_example::highway_forward, callbacks.declare = own_kind_example::highway_declare;
  const std::string description = R"({"name":"road","settings":[{"key":"width","type":"integer","min":1},
    {"key":"activation","type":"activation","default":"tanh"}]})";
  ASSERT_EQ(loom_layer_kind_register(description.data(), description.size(), &callbacks), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_layer_kind_register(description.data(), description.size(), &callbacks), LOOM_INVALID_ARGUMENT);
  const loom_network n = network(R"({"type":"road","width":5,"activation":"relu"})");
  const test::TempFolder folder;
  const std::string entity = folder / "net.entity", json = folder / "net.json";
  loom_blob b = 0;
  ASSERT_EQ(loom_network_hash(n, &b), LOOM_OK);
  const std::string hash = take(b);
  for (const std::string& path : {entity, json}) {
    ASSERT_EQ(loom_network_save(n, path.c_str(), 1), LOOM_OK) << loom_last_error();
    loom_network again = 0;
    ASSERT_EQ(loom_network_open(path.c_str(), nullptr, &again), LOOM_OK) << loom_last_error();
    ASSERT_EQ(loom_network_hash(again, &b), LOOM_OK);
    EXPECT_EQ(take(b), hash);
    EXPECT_EQ(loom_layer_kind_unregister("road"), LOOM_INVALID_STATE);
    loom_release(again);
  }
  // A kind without a backward pass infers and does not learn.
  const std::vector<float> x(10);
  const loom_network_session s = session(n);
  loom_tensor y;
  EXPECT_EQ(test::forward(s, x, {2, 5}, y), LOOM_UNSUPPORTED);
  EXPECT_NE(std::string(loom_last_error()).find("/layers/0: road: the kind has no backward pass"), std::string::npos)
      << loom_last_error();
  loom_release(s), loom_release(n);
  EXPECT_EQ(loom_layer_kind_unregister("road"), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_layer_kind_unregister("road"), LOOM_UNKNOWN_NAME);
  for (const std::string& path : {entity, json}) {
    loom_network again = 0;
    EXPECT_EQ(loom_network_open(path.c_str(), nullptr, &again), LOOM_UNKNOWN_NAME);
    EXPECT_NE(std::string(loom_last_error()).find("\"road\" is neither built in nor registered"), std::string::npos)
        << loom_last_error();
  }
}

// Values that a test's callback saw.
struct Seen {
  loom_layer layer = 0;
  loom_status answer = LOOM_OK;
  bool errs = false;
  loom_status (*way)(loom_layer layer, std::uint64_t x) = nullptr;  // of going wrong
};

loom_status found_out(void* user, loom_layer layer) {
  auto& seen = *static_cast<Seen*>(user);
  seen.layer = layer;
  std::uint64_t x = 0, y = 0, rank = 0, extents[2] = {};
  EXPECT_EQ(loom_layer_input(layer, &x), LOOM_OK);
  EXPECT_EQ(loom_layer_shape(layer, x, extents, 1, &rank), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom_layer_shape(layer, x, extents, 2, &rank), LOOM_OK);
  EXPECT_EQ(extents[1], 4u);
  loom_status elsewhere = LOOM_OK;
  std::thread([&] { elsewhere = loom_layer_scale(layer, x, 2, &y); }).join();  // any thread may ask
  EXPECT_EQ(elsewhere, LOOM_OK);
  if (seen.errs) {
    EXPECT_EQ(seen.way(layer, x), LOOM_INVALID_ARGUMENT);
    EXPECT_EQ(loom_layer_scale(layer, x, 2, &y), LOOM_INVALID_ARGUMENT) << "the first error is that of all that follow";
  }
  static_cast<void>(loom_layer_result(layer, y));
  return seen.answer;
}

TEST(CapiKinds, callbacks_that_fail_are_the_error_of_the_call) {
  static Seen seen;
  auto callbacks = sized<loom_kind_callbacks>();
  callbacks.forward = found_out, callbacks.user = &seen;
  const std::string description = R"({"name":"found_out"})";
  ASSERT_EQ(loom_layer_kind_register(description.data(), description.size(), &callbacks), LOOM_OK) << loom_last_error();
  const loom_network n = network(R"({"type":"dense","input_height":4,"output_height":4},{"type":"found_out"})");
  std::uint64_t rows = 1;
  const auto prepare = [&] {
    const std::uint64_t shape[] = {++rows, 4}, *out = nullptr;
    std::size_t count = 0;
    return loom_network_prepare(n, shape, 2, &out, &count);
  };
  EXPECT_EQ(prepare(), LOOM_OK) << loom_last_error();
  std::uint64_t y = 0;
  EXPECT_EQ(loom_layer_input(seen.layer, &y), LOOM_BAD_HANDLE);  // its time is over
  for (const auto& [answer, status] : {std::pair(LOOM_NOT_FOUND, LOOM_NOT_FOUND), std::pair(-5, LOOM_INVALID_STATE),
                                       std::pair(1000, LOOM_INVALID_STATE)}) {
    seen.answer = answer;
    EXPECT_EQ(prepare(), status);
    EXPECT_NE(std::string(loom_last_error()).find("/layers/1: found_out: forward: the callback returned"),
              std::string::npos)
        << loom_last_error();
  }
  seen.answer = LOOM_OK, seen.errs = true;
  using Way = loom_status (*)(loom_layer, std::uint64_t);
  const std::pair<const char*, Way> ways[] = {
      {"0x4d is no tensor of this call",
       [](loom_layer l, std::uint64_t x) {
         std::uint64_t y = 0;
         return loom_layer_add(l, x, 77, &y);
       }},
      {"a result is NULL", [](loom_layer l, std::uint64_t x) { return loom_layer_scale(l, x, 2, nullptr); }},
      {"activation is NULL",
       [](loom_layer l, std::uint64_t x) {
         std::uint64_t y = 0;
         return loom_layer_activate(l, x, nullptr, &y);
       }},
      {"name is NULL", [](loom_layer l, std::uint64_t x) { return loom_layer_add_gradient(l, nullptr, x); }},
  };
  for (const auto& [what, way] : ways) {
    seen.way = way;
    EXPECT_EQ(prepare(), LOOM_INVALID_ARGUMENT);  // the callback says all is well, and it is not
    EXPECT_NE(std::string(loom_last_error()).find(what), std::string::npos) << loom_last_error();
  }
  loom_release(n);
  EXPECT_EQ(loom_layer_kind_unregister("found_out"), LOOM_OK) << loom_last_error();
}

TEST(CapiKinds, a_kind_is_refused_with_a_reason) {
  auto callbacks = sized<loom_kind_callbacks>();
  const auto add = [&](const std::string& text) {
    return loom_layer_kind_register(text.data(), text.size(), &callbacks);
  };
  EXPECT_EQ(add(R"({"name":"fine"})"), LOOM_INVALID_ARGUMENT);  // without forward
  callbacks.forward = found_out;
  EXPECT_EQ(add("{"), LOOM_CORRUPT_DATA);
  EXPECT_EQ(add(R"({"name":"fine","setting":[]})"), LOOM_UNKNOWN_KEY);
  EXPECT_EQ(add(R"({"name":"dense"})"), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(add(R"({"name":"fine","settings":[{"key":"dtype"}]})"), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_layer_kind_register("{}", 2, nullptr), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_layer_kind_unregister("dense"), LOOM_UNKNOWN_NAME);
  EXPECT_EQ(loom_layer_kind_unregister(nullptr), LOOM_INVALID_ARGUMENT);
}

TEST(CapiKinds, the_example_learns) {
  register_highway();
  const test::TempFolder folder;
  std::string program = "own_kind", file = folder / "net.entity";
  char* arguments[] = {program.data(), file.data()};
  EXPECT_EQ(own_kind_example::learn_and_save(file.c_str(), "float32", "2", nullptr), 0);
  EXPECT_EQ(own_kind_example::whole_program(1, arguments), 2);
}

}  // namespace
}  // namespace loom::kinds_test
