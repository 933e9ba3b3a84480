#pragma once
// Small trainings for tests: data made by a rule, networks of a few layers.

#include <gtest/gtest.h>

#include <filesystem>

#include "core/file.h"
#include "core/philox.h"
#include "io/network_file.h"
#include "network/spec/spec.h"
#include "training/training_run.h"
#include "training/weight_hash.h"

namespace loom::training_test {

// A folder of its own that goes when the test ends.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "loom_training_XXXXXX").string();
    path = mkdtemp(name.data()) == nullptr ? std::string() : name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file_atomically(file(name), std::as_bytes(std::span(text))));
  }
  std::string path;
};

// Points of `classes` blobs in `width` dimensions as CSV, the class last.
inline std::string blobs(std::size_t samples, std::size_t width, std::size_t classes, std::uint64_t seed = 1) {
  const RandomStream stream{seed, RandomDomain::Noise, 0, random_site("blobs")};
  std::string text;
  for (std::size_t s = 0; s < samples; ++s) {
    const std::size_t c = s * 7 % classes;
    for (std::size_t i = 0; i < width; ++i) {
      const double centre = (i + 3 * c) % classes < 2 ? 1.0 : -0.5;
      text += fmt::format("{:.4f},", centre + 0.8 * (static_cast<double>(stream.uniform(s * width + i)) - 0.5));
    }
    text += fmt::format("{}\n", c);
  }
  return text;
}

inline Json small_config() {
  return {
      {"network",
       {{"id", "small"},
        {"seed", 3},
        {"input_shape", {8}},
        {"layers",
         {{{"type", "dense"}, {"input_height", 8}, {"output_height", 16}, {"bias", true}, {"activation", "relu"}},
          {{"type", "dropout"}, {"rate", 0.2}},
          {{"type", "dense"}, {"input_height", 16}, {"output_height", 4}, {"bias", true}}}}}},
      {"data",
       {{"format", "csv"}, {"path", "blobs.csv"}, {"header", false}, {"class_ids", true}, {"validation_split", 0.2}}},
      {"loss", "softmax_crossentropy"},
      {"optimizer", {{"name", "adam"}, {"learning_rate", 0.01}}},
      {"epochs", 4},
      {"batch_size", 16},
      {"shuffle", true},
      {"seed", 5},
      {"journal", {{"hash_every", 5}}}};
}

inline std::unique_ptr<TrainingRun> open_run(const Json& json, const Folder& folder, RunOptions options = {}) {
  auto config = read_train_config(json, folder.path);
  EXPECT_TRUE(config) << (config ? "" : config.error().text());
  if (!config) return nullptr;
  if (options.session.threads == 0) options.session.threads = 2;
  auto run = TrainingRun::create(std::move(*config), options);
  EXPECT_TRUE(run) << (run ? "" : run.error().text());
  return run ? std::move(*run) : nullptr;
}

inline TrainResult run_all(const Json& json, const Folder& folder, RunOptions options = {},
                           const TrainingRun::Callback& callback = nullptr) {
  const auto run = open_run(json, folder, std::move(options));
  if (run == nullptr) return {};
  auto result = run->run(callback);
  EXPECT_TRUE(result) << (result ? "" : result.error().text());
  return result ? std::move(*result) : TrainResult{};
}

inline Network network_of(const Json& spec) {
  auto read = network_from_json(spec);
  EXPECT_TRUE(read) << (read ? "" : read.error().text());
  return std::move(read->network);
}

}  // namespace loom::training_test
