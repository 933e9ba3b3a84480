// Trainings in every type, whatever names it: they resume, stop early and are read back with the bits of a run that was
// never stopped.

#include "dtypes/dtype.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

struct Typed {
  std::string what;
  Json config;
};

// The key that names the type: of the config, of one layer, of the network; f64 sums beside each.
std::vector<Typed> typed_configs() {
  std::vector<Typed> all;
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const std::string type(name(static_cast<DType>(t)));
    for (const char* activations : {"float32", "float64"})
      for (const char* place : {"dtype", "layer", "default_dtype"}) {
        Json config = small_config();
        Json& network = config["network"];
        network["activations"] = activations;
        network["layers"].push_back({{"type", "rmsnorm"}, {"input_height", 4}});
        network["layers"][0]["adapters"] = Json::array({{{"rank", 2}}});
        network["layers"][0]["freeze_base"] = false;
        if (place == std::string("dtype")) config["dtype"] = type;
        if (place == std::string("layer")) network["layers"][0]["dtype"] = network["layers"][3]["dtype"] = type;
        if (place == std::string("default_dtype")) network["default_dtype"] = type;
        all.push_back({fmt::format("{} {} activations {}", type, place, activations), std::move(config)});
      }
  }
  return all;
}

std::string text_of(const Folder& folder, const std::string& file) {
  const auto text = read_text_file(folder.file(file));
  EXPECT_TRUE(text) << file << (text ? "" : text.error().text());
  return text ? *text : std::string();
}

TEST(TypedTraining, ResumedRunHasTheBitsOfOneThatNeverStopped) {
  const Folder folder;
  folder.write("blobs.csv", blobs(60, 8, 4));
  std::size_t run = 0;
  for (const Typed& typed : typed_configs()) {
    SCOPED_TRACE(typed.what);
    const std::string whole = fmt::format("whole{}", run), parts = fmt::format("parts{}", run++);
    const TrainResult never = run_all(typed.config, folder, {.out = folder.file(whole)});
    const auto stop = [](const TrainProgress& p) -> Result<Continue> {
      return p.event == TrainEvent::BatchEnd && p.step == 5 ? Continue::stop : Continue::yes;
    };
    ASSERT_EQ(run_all(typed.config, folder, {.out = folder.file(parts)}, stop).stop_reason, TrainingStop::Stopped);
    const TrainResult resumed = run_all(typed.config, folder, {.out = folder.file(parts), .start = RunStart::resume});
    EXPECT_EQ(resumed.hash, never.hash);
    EXPECT_EQ(text_of(folder, parts + "/journal.jsonl"), text_of(folder, whole + "/journal.jsonl"));
    EXPECT_EQ(text_of(folder, parts + "/model.entity"), text_of(folder, whole + "/model.entity"));
    const auto model = load_network(folder.file(whole + "/model.entity"));
    ASSERT_TRUE(model) << (model ? "" : model.error().text());
    EXPECT_EQ(weight_hash(model->network), never.hash);
  }
}

TEST(TypedTraining, EarlyStopRestoresTheBestWeights) {
  const Folder folder;
  folder.write("blobs.csv", blobs(60, 8, 4));
  std::size_t run = 0;
  for (Typed& typed : typed_configs()) {
    SCOPED_TRACE(typed.what);
    const std::string out = fmt::format("run{}", run++);
    typed.config["early_stop"] = {{"metric", "loss"}, {"min_delta", 1e9}, {"patience", 1}};  // the first is the best
    const TrainResult on_disk = run_all(typed.config, folder, {.out = folder.file(out)});
    EXPECT_EQ(on_disk.stop_reason, TrainingStop::EarlyStop);
    const TrainResult in_memory = run_all(typed.config, folder);
    EXPECT_EQ(in_memory.hash, on_disk.hash);
    const auto model = load_network(folder.file(out + "/model.entity"));
    ASSERT_TRUE(model) << (model ? "" : model.error().text());
    EXPECT_EQ(weight_hash(model->network), on_disk.hash);
  }
}

// Values that float32 does not hold are not rounded without a word.
TEST(TypedTraining, Float64ValuesInAFloat32NetworkAreRefusedByTheKeyThatHelps) {
  Network network = network_of(
      Json{{"layers", {{{"type", "dense"}, {"input_height", 1}, {"output_height", 1}, {"dtype", "float64"}}}}});
  ASSERT_TRUE(network.initialise());
  network.visit_weights([](const std::string&, Weight& w, Layer&) {
    const std::vector<double> values(w.elements(), 0.1);
    EXPECT_TRUE(w.set(std::span<const double>(values)));
  });
  const auto trainer = Trainer::create(network, Shape::of({2, 1}), {});
  ASSERT_FALSE(trainer);
  EXPECT_EQ(trainer.error().code, Code::Unsupported);
  EXPECT_NE(trainer.error().text().find("\"activations\": \"float64\""), std::string::npos) << trainer.error().text();
}

}  // namespace
}  // namespace loom::training_test
