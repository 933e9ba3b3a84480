// Trains a head on the features of a graph that somebody else trained (examples/training/fashion_features.json).

#include "core/json.h"
#include "support/divided.h"
#include "support/files.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

// The example, shorter: fewer pictures and epochs.
Json features() {
  Json config = test::read_json(test::source_path("examples/training/fashion_features.json"));
  config["data"]["limit"] = 400;
  config["epochs"] = 4;
  return config;
}

TEST(Features, a_head_learns_behind_a_graph_and_the_graph_stays) {  // L-172, T-06
  const test::ExpectDivided divided(2);
  TrainResult first;
  for (const int threads : {1, 2}) {
    auto config = read_train_config(features(), test::data_path(""));
    ASSERT_TRUE(config) << config.error().text();
    RunOptions options;
    options.session.threads = threads;
    const auto run = TrainingRun::create(std::move(*config), options);
    ASSERT_TRUE(run) << run.error().text();
    const auto graph = [&] {
      std::string bits;
      (*run)->network().visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
        if (!path.starts_with("layers.1.")) return;
        std::vector<float> v(w.elements());
        w.decode(0, v.size(), v.data());
        bits.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float));
      });
      return bits;
    };
    const std::string before = graph();
    EXPECT_GT(before.size(), 400'000u);
    const auto result = (*run)->run();
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(graph(), before);
    EXPECT_GT(result->validation->accuracy(), 0.35);
    if (threads == 1)
      first = *result;
    else
      EXPECT_EQ(to_hex(result->hash), to_hex(first.hash));
  }
}

// L-172
TEST(Features, ALayerBeforeTheGraphLearnsThroughItOrIsKept) {
  Json config = features();
  Json& layers = config["network"]["layers"];
  const Json before = {{"type", "cnn2"}, {"input_channels", 1}, {"filters", 1}, {"kernel_size", 1}};
  layers.insert(layers.begin(), before);
  const auto open = [&] {
    auto read = read_train_config(config, test::data_path(""));
    EXPECT_TRUE(read) << read.error().text();
    return TrainingRun::create(std::move(*read), {});
  };
  // Resize carries no gradient.
  const auto refused = open().and_then([](const auto& run) { return run->run(); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Unsupported) << refused.error().text();
  EXPECT_NE(refused.error().text().find("/layers/1: no gradient passes through Resize \"large\""), std::string::npos)
      << refused.error().text();
  layers[0]["trainable"] = false;
  config["epochs"] = 1, config["data"]["limit"] = 100;
  const auto frozen = open().and_then([](const auto& run) { return run->run(); });
  ASSERT_TRUE(frozen) << frozen.error().text();
}

}  // namespace
}  // namespace loom::training_test
