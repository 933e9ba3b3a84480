#include "evolution/population/runner.h"

#include <cstring>

#include "evolution/evolution_test.h"
#include "layers/activation_fields.h"
#include "support/gpu.h"

namespace loom {
namespace {

using namespace evolution_test;

std::vector<float> noise(std::uint32_t site, std::size_t n) {
  const RandomStream stream{7, RandomDomain::Noise, 0, site};
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 8 * stream.uniform(i) - 4;
  return x;
}

Network ready(const std::string& spec) {
  Network network = read(spec);
  EXPECT_TRUE(network.initialise());
  network.visit_weights([](const std::string& path, Weight& w, Layer&) {
    if (w.role() != WeightRole::Vector) return;
    EXPECT_TRUE(w.set(std::span<const float>(noise(random_site(path), w.elements()))));
  });
  return network;
}

// A runner that just ran `before` must give the same result for x as a fresh session.
void expect_same(Runner& runner, const Network& network, Isa isa, const Shape& shape, const std::string& what) {
  const std::vector<float> x = noise(random_site(what), shape.elements());
  const auto plan = ForwardPlan::create(network, shape);
  ASSERT_TRUE(plan) << what << plan.error().text();
  const auto session = NetworkSession::create(network, *plan, {1, isa, false});
  ASSERT_TRUE(session);
  const auto wanted = (*session)->forward({x.data(), shape});
  ASSERT_TRUE(wanted) << what << wanted.error().text();
  runner.use({network, **plan});
  for (int again = 0; again < 2; ++again) {
    const auto y = runner.forward({x.data(), shape});
    ASSERT_TRUE(y) << what << y.error().text();
    ASSERT_EQ(y->shape.text(), wanted->shape.text()) << what;
    EXPECT_EQ(std::memcmp(y->data, wanted->data, 4 * y->shape.elements()), 0) << what << " " << name(isa);
  }
}

TEST(Runner, chains_of_dense_cells_give_the_bits_of_a_session_on_every_target) {  // E-30
  std::vector<std::unique_ptr<Runner>> runners;
  for (const Isa isa : usable_isas()) runners.push_back(Runner::create(isa).value());
  const std::vector<std::string> types = {"float32", "float32", "float16", "bfloat16", "fp8e4m3", "int8", "float64"};
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    const RandomStream draws{seed, RandomDomain::Noise, 0, 1};
    std::uint64_t next = 0;
    const auto below = [&](std::uint32_t n) { return draws.below(next++, n); };
    const auto width = [&]() -> std::size_t { return 1 + (below(4) == 0 ? below(90) : below(8)); };
    const std::size_t cells = 1 + below(5), rows = below(5) == 0 ? 1 + below(200) : 1 + below(9), first = width();
    std::size_t in = first;
    std::vector<std::string> layers;
    for (std::size_t c = 0; c < cells; ++c) {
      if (below(5) == 0 && cells > 1) {
        layers.emplace_back();
        continue;
      }
      const bool disabled = below(8) == 0;
      const std::size_t out = disabled ? in : width();
      layers.push_back(dense(in, out,
                             fmt::format(R"("activation":"{}","bias":{},"is_disabled":{},"dtype":"{}")",
                                         name(static_cast<Activation>(below(kNumActivations))), below(2) == 0, disabled,
                                         types[below(static_cast<std::uint32_t>(types.size()))])));
      in = out;
    }
    const std::string spec = row_of(layers, fmt::format(R"("seed":{},)", seed));
    for (const Shape& shape : {Shape::of({rows, first}), Shape::of({2, rows, first})}) {
      const Network network = ready(spec);
      for (std::size_t i = 0; i < runners.size(); ++i)
        expect_same(*runners[i], network, usable_isas()[i], shape, fmt::format("{} {}", seed, spec));
    }
  }
}

TEST(Runner, networks_that_are_no_chains_run_as_before) {  // E-30
  const auto runner = Runner::create().value();
  const Shape shape = Shape::of({3, 4});
  const std::vector<std::string> others = {
      R"({"type":"softmax"})",
      R"({"type":"sequential","residual":true,"sequential_layers":[{"type":"dense","input_height":4,"output_height":4}]})",
      R"({"type":"dense","input_height":4,"output_height":4,"adapters":[{"rank":2}]})",
      R"({"type":"dense","input_height":4,"output_height":4,"is_remote_link":true,"link_mode":"feed"})",  // a link with a dense operation
      R"({"type":"dense","input_height":8,"output_height":4,"is_remote_link":true,"link_mode":"feed","link_merge":"concat"})",
      R"({"is_remote_link":true})"};
  for (const std::string& other : others) {
    const Network network = ready(row_of({dense(4, 4), other, dense(4, 2)}, R"("seed":1,)"));
    expect_same(*runner, network, best_isa(), shape, other);
  }
}

TEST(Runner, errors_are_those_of_the_network) {  // E-30
  const auto runner = Runner::create().value();
  const Network network = ready(row_of({dense(4, 3), dense(3, 2)}));
  const auto plan = ForwardPlan::create(network, Shape::of({3, 4})).value();
  runner->use({network, *plan});
  const std::vector<float> x(15);
  const auto wrong = runner->forward({x.data(), Shape::of({3, 5})});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::ShapeMismatch);
  EXPECT_EQ(wrong.error().text(), plan->output_shape(Shape::of({3, 5})).error().text());
  EXPECT_TRUE(runner->forward({x.data(), Shape::of({3, 4})}));
}

// Networks that a card cannot run (f64, wide integers, the last two) run on the host.
TEST(GpuRunner, networks_of_every_sort_have_the_bits_of_a_session_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto runner = Runner::create({}, device).value();
  const std::vector<std::string> others = {
      R"({"type":"softmax"})",
      R"({"type":"sequential","residual":true,"sequential_layers":[{"type":"dense","input_height":40,"output_height":40}]})",
      R"({"type":"dense","input_height":40,"output_height":40,"adapters":[{"rank":2}]})",
      R"({"type":"dense","input_height":80,"output_height":40,"is_remote_link":true,"link_mode":"feed","link_merge":"concat"})",
      R"({"is_remote_link":true})",
      R"({"type":"dense","input_height":40,"output_height":40,"dtype":"int8","activation":"gelu"})",
      R"({"type":"dense","input_height":40,"output_height":40,"dtype":"int32"})"};
  for (const std::string& other : others)
    for (const std::size_t rows : {67u, 3u}) {
      const Shape shape = Shape::of({rows, 40});
      const Network network = ready(row_of({dense(40, 40), other, dense(40, 2)}, R"("seed":1,)"));
      const std::uint64_t before = device->counters().dispatches;
      expect_same(*runner, network, best_isa(), shape, other);
      EXPECT_EQ(device->counters().dispatches > before + 2, other != others.back()) << other;
    }
  const Network wide = ready(row_of({dense(40, 2)}, R"("seed":1,"activations":"float64","default_dtype":"float64",)"));
  const auto plan = ForwardPlan::create(wide, Shape::of({3, 40})).value();
  runner->use({wide, *plan});
  const std::vector<double> x(120, 0.25);
  const auto y = runner->forward({x.data(), Shape::of({3, 40}), Element::f64});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ(y->element, Element::f64);
}

}  // namespace
}  // namespace loom
