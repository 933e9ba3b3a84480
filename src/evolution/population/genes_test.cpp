#include "evolution/population/genes.h"

#include <cstring>

#include "evolution/evolution_test.h"
#include "evolution/population/population.h"
#include "network/spec/clone.h"

namespace loom {
namespace {

using namespace evolution_test;

const Shape kInput = Shape::of({4, 3});

Network ready(const std::string& spec, std::uint64_t seed) {
  Network network = read(spec);
  network.settings.seed = seed;
  EXPECT_TRUE(network.initialise());
  network.settings.seed = 0;
  return network;
}

Digest digest(const Network& network) { return network_digest(network, {}); }

TEST(Genes, children_in_dead_networks_are_those_of_splice_and_mutate) {  // E-10, E-20
  const std::string spec =
      row_of({dense(3, 20, R"("activation":"tanh","bias":true)"), "", dense(20, 5, R"("trainable":false)"),
              R"({"type":"layernorm","input_height":5})", dense(5, 2, R"("bias":true)")});
  const Network a = ready(spec, 1), b = ready(spec, 2);
  const Genes from_a(a), from_b(b);
  ASSERT_TRUE(from_a.usable());
  const auto pool = ThreadPool::create(1).value();
  std::size_t moved = 0, more = 0;
  for (std::uint32_t key = 0; key < 300; ++key) {
    MutationConfig config;
    config.weight_perturb_rate = 0.6, config.weight_perturb_scale = key % 7 == 0 ? 0 : 0.4;
    config.activation_rate = config.node_rate = config.layer_toggle_rate = 0.03;
    SpliceConfig splicing;
    splicing.mode = static_cast<SpliceConfig::Mode>(key % 3), splicing.seed = key, splicing.step = 5;
    if (key % 2 == 0) splicing.fitness_a = 1.5, splicing.fitness_b = 0.5 + key % 5;
    const bool splices = key % 4 != 0;
    Network child = (splices ? splice(a, b, splicing) : clone_network(a)).value();
    // A dead network shares versions with a living one, or has its own.
    Network living = ready(spec, 3), dead = key % 2 == 0 ? clone_network(living).value() : ready(spec, 4);
    Genes genes(dead);
    ASSERT_TRUE(genes.take(from_a, splices ? &from_b : nullptr, splicing));
    MutationReport report, wanted;
    const bool is_done = genes.move(config, {9, key}, report);
    ASSERT_TRUE(genes.commit(*pool));
    if (!is_done) {
      EXPECT_EQ(digest(dead), digest(child)) << key;
      ASSERT_TRUE(mutate(dead, kInput, config, {9, key}, &report));
    }
    ASSERT_TRUE(mutate(child, kInput, config, {9, key}, &wanted));
    ++(is_done ? moved : more);
    EXPECT_EQ(digest(dead), digest(child)) << key;
    EXPECT_EQ(report.made, wanted.made) << key;
    EXPECT_EQ(spec_digest(dead), spec_digest(child)) << key;
    EXPECT_EQ(dead.resident_bytes(), child.resident_bytes()) << key;
    EXPECT_EQ(digest(living), digest(ready(spec, 3))) << key;
    std::vector<float> x(kInput.elements());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.25f * static_cast<float>(i) - 1;
    EXPECT_EQ(outputs(dead, kInput, x), outputs(child, kInput, x)) << key;
  }
  EXPECT_GT(moved, 100u);
  EXPECT_GT(more, 50u);
}

TEST(Genes, networks_with_more_than_plain_weights_are_left_to_copies) {  // E-20
  const std::vector<std::string> others = {
      R"({"type":"sequential","sequential_layers":[{"type":"dense","input_height":3,"output_height":3}]})",
      R"({"type":"dense","input_height":3,"output_height":3,"dtype":"int8"})",
      R"({"is_remote_link":true,"target_z":0,"target_y":0,"target_x":0,"target_l":0})"};
  for (const std::string& other : others) {
    const Network network = ready(row_of({dense(3, 3), other}), 1);
    EXPECT_FALSE(Genes(network).usable()) << other;
  }
  const Network frozen = ready(row_of({dense(3, 3)}), 1);
  EXPECT_TRUE(Genes(frozen).usable());
  frozen.visit_weights([](const std::string&, Weight& w, Layer&) { w.freeze(true); });
  EXPECT_FALSE(Genes(frozen).usable());
}

TEST(Genes, mixtures_that_are_no_finite_numbers_are_errors) {  // E-10
  const std::string spec = row_of({dense(3, 3)});
  Network a = ready(spec, 1), b = ready(spec, 2), dead = ready(spec, 3);
  fill(a, 0, std::vector<double>(9, 3e38));
  fill(b, 0, std::vector<double>(9, -3e38));
  SpliceConfig splicing;
  splicing.blend_alpha = 4;
  const Genes from_b(b);
  EXPECT_EQ(Genes(dead).take(Genes(a), &from_b, splicing).error().code, Code::NonFinite);
  EXPECT_EQ(splice(a, b, splicing).error().code, Code::NonFinite);
}

}  // namespace
}  // namespace loom
