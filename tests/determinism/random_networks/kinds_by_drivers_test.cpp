// Every kind of layer under every driver: training by each rule, resumed and stopped early, step meshes with backward
// passes and targets, evolution. Faults stand where two features meet, which random networks meet rarely. CI takes one
// type for each pair, by rotation; LOOM_PAIRS=21 takes all.

#include <gtest/gtest.h>

#include "dtypes/dtype.h"
#include "io/network_file.h"
#include "network/spec/spec.h"
#include "support/environment.h"
#include "training/training_run.h"
#include "training/weight_hash.h"
#include "verify/own_folder.h"
#include "verify/random_network.h"
#include "verify/recipes.h"
#include "verify/trial.h"

namespace loom {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(LOOM_SANITIZED)
constexpr std::size_t kForms = 1;
#else
constexpr std::size_t kForms = 2;  // drawn of each kind
#endif

// A batch that the kind reads.
Shape input_for(const Recipe& recipe) {
  switch (recipe.axes) {
    case 2: return Shape::of({4, 3, 6});
    case 3: return Shape::of({3, 2, 4, 4});
    case 4: return Shape::of({2, 2, 3, 3, 3});
    default:
      return recipe.kind == "maxpool" || recipe.kind == "avgpool" || recipe.kind == "instancenorm" ||
                     recipe.kind == "batchnorm" || recipe.kind == "groupnorm"
                 ? Shape::of({4, 3, 6})
                 : Shape::of({4, 6});
  }
}

struct Drawn {
  Json network;
  Shape input;
  std::size_t ids = 0;
};

// A network of one layer of the kind, and a dense one that makes three numbers of what it gives.
std::optional<Drawn> network_of(const Recipe& recipe, std::size_t form) {
  for (std::uint32_t attempt = 0; attempt < 40; ++attempt) {
    Draw draw(77, static_cast<std::uint32_t>(form * 40 + attempt), recipe.kind);
    Drawn out{Json::object(), input_for(recipe), recipe.kind == "embedding" ? std::size_t{9} : std::size_t{0}};
    Site site{draw, out.input, out.ids, 4000, 0, nullptr};
    const auto layer = recipe.make(site);
    if (!layer || layer->output[0] != out.input[0]) continue;
    const std::size_t width = layer->output.elements() / layer->output[0];
    if (width > 400) continue;
    Json flat = layer_of("reshape"), last = layer_of("dense");
    flat["shape"] = Json::array({width}), last["input_height"] = width, last["output_height"] = 3;
    Json layers = Json::array({layer->spec, flat, last});
    for (std::size_t l = 0; l < layers.size(); ++l)
      layers[l]["z"] = 0, layers[l]["y"] = 0, layers[l]["x"] = 0, layers[l]["l"] = l;
    out.network = Json{{"depth", 1}, {"rows", 1}, {"cols", 1}, {"layers_per_cell", 3}, {"seed", 7}};
    out.network["layers"] = std::move(layers);
    auto read = network_from_json(out.network);
    if (read && ForwardPlan::create(read->network, out.input)) return out;
  }
  return std::nullopt;
}

struct Driver {
  std::string name;
  TrialMode mode = TrialMode::Train;
  Json options;
  std::vector<Json> variants;
};
std::vector<Driver> drivers() {
  const Json resumed{{"save_after", 1}};
  const Json loss{{"name", "softmax_crossentropy"}};
  std::vector<Driver> all;
  for (const char* optimizer : {"sgd", "adam"})
    all.push_back({optimizer,
                   TrialMode::Train,
                   Json{{"steps", 3}, {"config", {{"loss", loss}, {"optimizer", optimizer}, {"learning_rate", 0.05}}}},
                   {resumed}});
  for (const char* mode : {"chain", "layerwise", "mirror", "dtp"})
    all.push_back({std::string("tween ") + mode,
                   TrialMode::Tween,
                   Json{{"steps", 3}, {"config", {{"loss", loss}, {"tween", {{"mode", mode}}}}}},
                   {resumed}});
  all.push_back({"mesh", TrialMode::Mesh, Json{{"ticks", 5}, {"backward", 3}}, {Json{{"through_snapshot", true}}}});
  for (const char* mode : {"chain", "layerwise"})
    all.push_back({std::string("mesh tween ") + mode,
                   TrialMode::MeshTween,
                   Json{{"ticks", 4}, {"steps", 2}, {"backward", 2}, {"tween", {{"mode", mode}}}},
                   {}});
  all.push_back({"evolve", TrialMode::Evolve, Json{{"mutations", 2}, {"splice", "blend"}, {"rates", 0.4}}, {}});
  return all;
}

// The type as the training's config has it where there is one, else as that of the network.
Trial trial_of(const Drawn& drawn, const Driver& driver, DType type) {
  Trial trial;
  trial.network = drawn.network, trial.ids = drawn.ids, trial.data = 5, trial.mode = driver.mode;
  trial.input.assign(drawn.input.extents().begin(), drawn.input.extents().end());
  trial.options = driver.options, trial.variants = driver.variants;
  if (trial.options.contains("config"))
    trial.options["config"]["dtype"] = std::string(name(type));
  else
    trial.network["default_dtype"] = std::string(name(type));
  return trial;
}

TEST(KindsByDrivers, EveryWayGivesTheSameBits) {
  const std::size_t types = std::min<std::size_t>(test::asked_for("LOOM_PAIRS", 1), kNumTypes);
  std::size_t turn = 0, ran = 0;
  for (const Recipe& recipe : recipes())
    for (std::size_t form = 0; form < kForms; ++form) {
      const auto drawn = network_of(recipe, form);
      ASSERT_TRUE(drawn) << recipe.kind << ": no small network of this kind";
      for (const Driver& driver : drivers())
        for (std::size_t t = 0; t < types; ++t, ++turn) {
          const auto type = static_cast<DType>(turn % kNumTypes);
          const Trial trial = trial_of(*drawn, driver, type);
          if (!trial.options.contains("config")) {
            auto read = network_from_json(trial.network);  // some types refuse some scales
            if (!read || !read->network.initialise()) continue;
            const bool ticks = is_mesh(driver.mode);
            if (ticks && !StepPlan::create(read->network, drawn->input)) continue;
          }
          const TrialVerdict verdict = check_trial(trial, trial_ways(trial, turn));
          EXPECT_TRUE(verdict.passed()) << recipe.kind << ", " << driver.name << ", " << name(type) << ": "
                                        << verdict.difference << "\n"
                                        << dump_json(trial_to_json(trial));
          ++ran;
        }
    }
  EXPECT_GE(ran, recipes().size() * kForms * 6);
}

// A run in a folder: whole, stopped after a few steps and resumed, and stopped early.
struct FolderRun {
  const Drawn& drawn;
  Json config;
  std::string folder;
  std::vector<float> inputs, ids;
  std::vector<std::int32_t> targets;

  Result<std::unique_ptr<TrainingRun>> open(const std::string& name, RunStart start) {
    const auto raw = [](const auto& values, DType type, std::vector<std::size_t> shape) {
      RawArray array;
      array.name = "array", array.dtype = type, array.shape = std::move(shape);
      array.bytes = std::as_bytes(std::span(values));
      return array;
    };
    const std::size_t samples = targets.size();
    std::vector<std::size_t> shape(drawn.input.extents().begin(), drawn.input.extents().end());
    shape[0] = samples;
    LOOM_TRY(SpecResult read, network_from_json(drawn.network));
    LOOM_TRY_VOID(read.network.initialise());
    TrainingInput input;
    input.network = std::make_shared<Network>(std::move(read.network));
    input.samples = TrainingArrays{{raw(inputs, DType::float32, shape), raw(targets, DType::int32, {samples})}, {}};
    LOOM_TRY(TrainConfig c, read_train_config(config, "", {.network = true, .samples = true}));
    RunOptions options;
    options.out = folder + "/" + name, options.start = start, options.session.threads = 1;
    return TrainingRun::create(std::move(c), options, std::move(input));
  }
};

TEST(KindsByDrivers, RunsResumeAndStopEarlyInEveryType) {
  const std::size_t types = std::min<std::size_t>(test::asked_for("LOOM_PAIRS", 1), kNumTypes);
  std::size_t turn = 0, ran = 0;
  for (const Recipe& recipe : recipes()) {
    const auto drawn = network_of(recipe, 0);
    ASSERT_TRUE(drawn) << recipe.kind;
    for (const char* rule : {"", "chain", "layerwise", "mirror", "dtp"})
      for (std::size_t t = 0; t < types; ++t, ++turn) {
        const std::string type(name(static_cast<DType>(turn % kNumTypes)));
        SCOPED_TRACE(fmt::format("{} {} {}", recipe.kind, rule, type));
        OwnFolder own;
        FolderRun run{*drawn, {}, own.create().value(), {}, {}, {}};
        const std::size_t samples = 12, each = drawn->input.elements() / drawn->input[0];
        for (std::size_t i = 0; i < samples * each; ++i)
          run.inputs.push_back(drawn->ids != 0 ? static_cast<float>(i % drawn->ids)
                                               : static_cast<float>(i * 37 % 19) / 9.5f - 1);
        for (std::size_t i = 0; i < samples; ++i) run.targets.push_back(static_cast<std::int32_t>(i % 3));
        run.config = Json{{"epochs", 3},   {"batch_size", 4},       {"loss", "softmax_crossentropy"},
                          {"dtype", type}, {"learning_rate", 0.01}, {"data", {{"validation_split", 0.34}}}};
        if (*rule != '\0') run.config["tween"] = Json{{"mode", rule}};
        auto whole = run.open("whole", RunStart::fresh);
        // some types refuse some scales, some kinds some rules; the same before any file is written
        if (!whole) continue;
        const auto finished = (*whole)->run({});
        if (!finished && finished.error().code == Code::NonFinite) continue;
        ASSERT_TRUE(finished) << finished.error().text();
        auto part = run.open("parts", RunStart::fresh);
        ASSERT_TRUE(part) << part.error().text();
        const auto stop = [](const TrainProgress& p) -> Result<Continue> {
          return p.event == TrainEvent::BatchEnd && p.step == 3 ? Continue::stop : Continue::yes;
        };
        const auto stopped = (*part)->run(stop);
        ASSERT_TRUE(stopped) << stopped.error().text();
        part->reset();
        if (stopped->stop_reason == TrainingStop::Stopped) {
          auto again = run.open("parts", RunStart::resume);
          ASSERT_TRUE(again) << again.error().text();
          const auto resumed = (*again)->run({});
          ASSERT_TRUE(resumed) << resumed.error().text();
          EXPECT_EQ(resumed->hash, finished->hash);
        }
        run.config["early_stop"] = Json{{"metric", "loss"}, {"min_delta", 1e9}, {"patience", 1}};
        auto early = run.open("early", RunStart::fresh);
        ASSERT_TRUE(early) << early.error().text();
        const auto ended = (*early)->run({});
        ASSERT_TRUE(ended) << ended.error().text();
        ++ran;
      }
  }
  EXPECT_GE(ran, recipes().size() * 3);
}

}  // namespace
}  // namespace loom
