#pragma once
// Helpers shared by the tests of target propagation.

#include <gtest/gtest.h>

#include <cmath>

#include "core/philox.h"
#include "core/sha256.h"
#include "learning/tween/tween.h"
#include "verify/golden_layers.h"
#include "network/spec/spec.h"
#include "support/divided.h"

namespace loom::test {

inline double number(const RandomStream& stream, std::size_t i) {
  return 2.0 * static_cast<double>(stream.uniform(i)) - 1.0;
}
inline std::vector<float> random_values(const std::string& name, std::size_t n, double size = 1) {
  const RandomStream stream{20261122, RandomDomain::Init, 0, random_site(name)};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(size * number(stream, i));
  return v;
}

// A network with its plan for the input of a test.
struct TestNetwork : Network {
  std::shared_ptr<const ForwardPlan> plan;
};

// Cells one after the other, planned for `input` and initialised.
inline TestNetwork network_of(const std::vector<std::string>& cells, const std::vector<std::size_t>& input,
                              std::uint64_t seed = 1, Element element = Element::f32,
                              const std::string& dtype = "float32") {
  std::string layers;
  for (std::size_t l = 0; l < cells.size(); ++l) {
    std::string cell = cells[l];
    layers += (l == 0 ? "" : ",") + cell.insert(1, fmt::format(R"("z":0,"y":0,"x":0,"l":{},)", l));
  }
  const std::string spec = fmt::format(
      R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":{},"activations":"{}","default_dtype":"{}","seed":{},"layers":[{}]}})",
      cells.size(), element == Element::f64 ? "float64" : "float32", dtype, seed, layers);
  auto read = network_from_json(std::string_view(spec));
  EXPECT_TRUE(read) << (read ? "" : read.error().text()) << "\n" << spec;
  TestNetwork network{std::move(read->network), nullptr};
  const auto initialised = network.initialise();
  EXPECT_TRUE(initialised) << (initialised ? "" : initialised.error().text());
  const auto planned = ForwardPlan::create(network, Shape::create(input).value());
  EXPECT_TRUE(planned) << (planned ? "" : planned.error().text());
  if (planned) network.plan = *planned;
  return network;
}

inline std::string dense(std::size_t in, std::size_t out, const std::string& activation = "linear", bool bias = true) {
  return fmt::format(R"({{"type":"dense","input_height":{},"output_height":{},"activation":"{}","bias":{}}})", in, out,
                     activation, bias);
}

inline NetworkSessionOptions on_threads(int threads, bool input_gradient = true) {
  NetworkSessionOptions options;
  options.threads = threads, options.input_gradient = input_gradient;
  return options;
}
inline PassExtras at_step(std::uint32_t step, bool training = false) {
  PassExtras extras;
  extras.step = step, extras.training = training;
  return extras;
}

// Counts what it is shown.
class Onlooker final : public PassWatch {
 public:
  std::vector<PassKind> passes;
  std::size_t forwards = 0, backwards = 0;
  void begin(PassKind kind, std::uint64_t /*step*/, const Wiring&) override { passes.push_back(kind); }
  void after_forward(const Layer& /*layer*/, const ConstView& /*x*/, const ConstView& /*y*/) override { ++forwards; }
  void after_backward(const Layer& /*layer*/, const ConstView& /*dy*/, const ConstView& /*dx*/) override {
    ++backwards;
  }
};

inline TweenConfig layerwise() {
  TweenConfig c;
  c.mode = TweenMode::Layerwise;
  return c;
}

inline std::string hash_of(const Network& network) {
  Sha256 hash;
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    std::vector<float> values(w.elements());
    w.decode(0, w.elements(), values.data());
    hash.update_floats(values);
    hash.update_floats(w.master());
    if (!w.master64().empty()) hash.update(std::as_bytes(w.master64()));
  });
  return to_hex(hash.finish());
}

#define LOOM_OK(expression)                             \
  do {                                                  \
    const auto loom_done = (expression);                \
    ASSERT_TRUE(loom_done) << loom_done.error().text(); \
  } while (false)

}  // namespace loom::test
