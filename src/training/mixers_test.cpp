// The mixers of examples/networks, which chain most kinds of layers: they run, learn, and come back from a file to the
// bit.

#include <cstring>

#include "support/paths.h"
#include "training/trainer.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

constexpr std::size_t kSamples = 20;

// Volumes of token ids (the first mixer takes them as plain numbers), and a target for each.
struct Volumes {
  std::vector<float> x = std::vector<float>(kSamples * 8), t = x;
  Shape in = Shape::of({kSamples, 1, 2, 2, 2}), out = Shape::of({kSamples, 8});
  Volumes() {
    const RandomStream stream{5, RandomDomain::Noise, 0, random_site("volumes")};
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(stream.below(i, 16)), t[i] = 0.05f * x[i] - 0.4f;
  }
  Samples samples() const { return {{x.data(), in}, {}, {t.data(), out}}; }
};

std::vector<std::uint32_t> bits_of(Network& network, const Volumes& volumes) {
  const auto session = NetworkSession::create(network, volumes.in, {}).value();
  const auto y = session->forward(volumes.samples().inputs);
  if (!y) {
    ADD_FAILURE() << y.error().text();
    return {};
  }
  std::vector<std::uint32_t> bits(y->shape.elements());
  std::memcpy(bits.data(), y->data, bits.size() * sizeof(float));
  return bits;
}

class Mixers : public ::testing::TestWithParam<std::string> {};

TEST_P(Mixers, learn_and_come_back_from_a_file_to_the_bit) {  // F-04
  const Volumes volumes;
  auto loaded = load_network(test::source_path("examples/networks/") + GetParam() + ".json");
  ASSERT_TRUE(loaded) << loaded.error().text();
  Network network = std::move(loaded->network);
  const Digest fresh = weight_hash(network);
  TrainerConfig config;
  config.loss.kind = LossKind::Mse;
  config.optimizer.name = "adam";
  config.schedule.learning_rate = 0.02;
  auto trainer = Trainer::create(network, volumes.in, config);
  ASSERT_TRUE(trainer) << trainer.error().text();
  double first = 0, last = 0;
  for (int i = 0; i < 30; ++i) {
    const auto report = (*trainer)->step(volumes.samples());
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_FALSE(report->skipped) << report->why;
    (i == 0 ? first : last) = report->loss;
  }
  EXPECT_LT(last, 0.9 * first);
  trainer->reset();
  const Digest learned = weight_hash(network);
  EXPECT_NE(to_hex(learned), to_hex(fresh));
  const std::vector<std::uint32_t> y = bits_of(network, volumes);

  const Folder folder;
  const std::string file = folder.file("mixer.entity");
  const auto root = save_network(file, network, {.keep_master = true});
  ASSERT_TRUE(root) << root.error().text();
  auto again = load_network(file);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_hex(weight_hash(again->network)), to_hex(learned));
  EXPECT_EQ(bits_of(again->network, volumes), y);
  const std::string second = folder.file("again.entity");
  const auto same = save_network(second, again->network, {.keep_master = true});
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ(to_hex(*same), to_hex(*root));
}

INSTANTIATE_TEST_SUITE_P(Examples, Mixers, ::testing::Values("mixer_v1", "mixer_v2"),
                         [](const auto& info) { return info.param; });

// The tokens replace the output of the convolutions, so that no layer after them asks for their gradients.
TEST(Mixers, tokens_replace_the_volume_s_half) {  // V-22
  const Volumes volumes;
  Network network = load_network(test::source_path("examples/networks/mixer_v2.json")).value().network;
  const auto session = NetworkSession::create(network, volumes.in, {1, std::nullopt, true}).value();
  ASSERT_TRUE(session->forward(volumes.samples().inputs));
  session->gradients().clear();
  ASSERT_TRUE(session->backward({volumes.t.data(), volumes.out}));
  network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    const auto* const g = static_cast<const float*>(session->gradients().of(w));
    const bool before = path[path.find('.') + 1] < '7' && path[path.find('.') + 2] == '.';  // layers.0 to layers.6
    EXPECT_EQ(std::all_of(g, g + w.elements(), [](float v) { return v == 0; }), before) << path;
  });
}

}  // namespace
}  // namespace loom::training_test
