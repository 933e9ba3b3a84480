#include "training/training_test.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/file.h"

namespace loom::training_test {
namespace {

NetworkSessionOptions on_threads(int threads) {
  NetworkSessionOptions options;
  options.threads = threads;
  return options;
}

TEST(Training, learns_blobs_and_reports_what_it_did) {  // T-01
  const Folder folder;
  folder.write("blobs.csv", blobs(400, 8, 4));
  std::vector<TrainEvent> events;
  const TrainResult result =
      run_all(small_config(), folder, {.out = folder.file("run")}, [&](const TrainProgress& p) -> Result<Continue> {
        events.push_back(p.event);
        return Continue::yes;
      });
  EXPECT_EQ(result.stop_reason, TrainingStop::Finished);
  ASSERT_EQ(result.loss_history.size(), 4u);
  EXPECT_LT(result.loss_history[3], 0.5 * result.loss_history[0]);
  ASSERT_TRUE(result.validation);
  EXPECT_GT(result.validation->accuracy(), 0.95);
  EXPECT_EQ(result.steps, 80u);  // 320 samples in batches of 16, four times
  EXPECT_EQ(events.front(), TrainEvent::TrainBegin);
  EXPECT_EQ(events.back(), TrainEvent::TrainEnd);
  EXPECT_EQ(std::ranges::count(events, TrainEvent::BatchEnd), 80);
  EXPECT_EQ(std::ranges::count(events, TrainEvent::EpochEnd), 4);
  auto saved = load_network(folder.file("run/model.entity"));
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(weight_hash(saved->network), result.hash);
}

TEST(Training, a_run_cut_off_anywhere_and_resumed_ends_with_the_same_bits) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(400, 8, 4));
  Json config = small_config();
  config["schedule"] = {{"name", "cosine"}, {"warmup_steps", 7}};
  config["checkpoint"] = {{"every_steps", 3}};
  const TrainResult whole = run_all(config, folder, {.out = folder.file("whole")});
  for (const std::uint64_t cut : {1u, 3u, 20u, 41u, 79u}) {
    const RunOptions options{.out = folder.file(fmt::format("cut{}", cut)), .start = RunStart::resume};
    // An error out of a callback ends the run as a crash does: nothing more is written.
    auto run = open_run(config, folder, options);
    const auto crashed = run->run([&](const TrainProgress& p) -> Result<Continue> {
      if (p.event == TrainEvent::BatchEnd && p.step == cut) return fail(Code::Cancelled, "power cut");
      return Continue::yes;
    });
    ASSERT_FALSE(crashed);
    EXPECT_EQ(crashed.error().text(), "power cut");
    const TrainResult resumed = run_all(config, folder, options);
    EXPECT_EQ(resumed.hash, whole.hash) << cut;
    EXPECT_EQ(resumed.loss_history, whole.loss_history) << cut;
    const auto a = read_text_file(options.out + "/journal.jsonl"),
               b = read_text_file(folder.file("whole/journal.jsonl"));
    ASSERT_TRUE(a && b);
    EXPECT_EQ(*a, *b) << cut;
  }
}

TEST(Training, one_run_cut_off_twenty_times_at_random_goes_on_each_time_with_other_threads) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(400, 8, 4));
  Json config = small_config();
  config["checkpoint"] = {{"every_steps", 2}};
  config["epochs"] = 8;
  const TrainResult whole = run_all(config, folder, {.out = folder.file("whole")});
  RunOptions options{.out = folder.file("cut"), .start = RunStart::resume};
  const RandomStream random{.seed = 60};
  const std::vector<Isa> isas = usable_isas();
  std::uint64_t cuts = 0, reached = 0;
  for (; cuts < 20 && reached < whole.steps; ++cuts) {
    options.session.threads = 1 + static_cast<int>(random.below(3 * cuts, 3));
    options.session.isa = isas[random.below(3 * cuts + 1, static_cast<std::uint32_t>(isas.size()))];
    const std::uint64_t cut = reached + 1 + random.below(3 * cuts + 2, static_cast<std::uint32_t>(whole.steps / 16));
    const auto crashed = open_run(config, folder, options)->run([&](const TrainProgress& p) -> Result<Continue> {
      reached = std::max(reached, p.step);
      if (p.event == TrainEvent::BatchEnd && p.step >= cut) return fail(Code::Cancelled, "power cut");
      return Continue::yes;
    });
    ASSERT_EQ(crashed.has_value(), reached >= whole.steps) << cuts;
  }
  EXPECT_EQ(cuts, 20u);
  EXPECT_EQ(run_all(config, folder, options).hash, whole.hash);
  EXPECT_EQ(*read_text_file(options.out + "/journal.jsonl"), *read_text_file(folder.file("whole/journal.jsonl")));
}

// Modes of the CPU give the same bits, those of a GPU are refused or reported; so is a network that asks for one.
TEST(Training, modes_of_the_cpu_agree_and_those_of_a_gpu_need_the_fallback) {  // T-02, G-70
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  Json config = small_config();
  config["epochs"] = 2;
  const Digest hash = run_all(config, folder).hash;
  const auto fallback = [](const std::vector<std::string>& warnings) {
    return std::ranges::any_of(warnings, [](const std::string& w) { return w.find("runs on the CPU") != w.npos; });
  };
  for (const Json& mode : {Json(0), Json("cpu"), Json(1), Json("cpu_tiled"), Json(2), Json("cpu_parallel")}) {
    config["mode"] = mode;
    RunOptions options;
    options.session.threads = 2;
    const auto run = open_run(config, folder, options);
    ASSERT_NE(run, nullptr) << mode;
    EXPECT_EQ(run->trainer().session().threads(), mode == 2 || mode == "cpu_parallel" ? 2 : 1) << mode;
    EXPECT_EQ(run->run()->hash, hash) << mode;
    EXPECT_FALSE(fallback(run->warnings())) << mode;
  }
  int runs = 0;
  for (const Json& mode : {Json(3), Json("gpu"), Json(4), Json("gpu_tiled"), Json(5), Json("gpu_parallel")}) {
    config["mode"] = mode, config["cpu_fallback"] = false;
    const auto refused = TrainingRun::create(read_train_config(config, folder.path).value(), {});
    ASSERT_FALSE(refused) << mode;
    EXPECT_EQ(refused.error().code, Code::Unsupported) << refused.error().text();
    EXPECT_EQ(refused.error().text().find("/mode: "), 0u) << refused.error().text();
    config["cpu_fallback"] = true;
    const RunOptions options{.out = folder.file(fmt::format("run{}", runs++))};
    const auto run = open_run(config, folder, options);
    ASSERT_NE(run, nullptr) << mode;
    EXPECT_TRUE(fallback(run->warnings())) << mode;
    EXPECT_EQ(run->run()->hash, hash) << mode;
    EXPECT_NE(read_text_file(options.out + "/report.html")->find("training runs on the CPU"), std::string::npos);
  }
  config.erase("mode");
  config["network"]["use_gpu"] = true;
  const auto run = open_run(config, folder);
  ASSERT_EQ(run->warnings().size(), 1u);
  EXPECT_NE(run->warnings()[0].find("use_gpu"), std::string::npos) << run->warnings()[0];
}

// Velocities, limits of low-bit masters; in mirror and dtp the optimiser's slots and the feedback weights.
TEST(Training, a_run_by_targets_goes_on_with_the_same_bits) {  // T-60, W-63
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  for (const std::string mode : {"chain", "layerwise", "mirror", "dtp"})
    for (const std::string dtype : {"float32", "ternary"}) {
      Json config = small_config();
      config["tween"] = {{"mode", mode}};
      if (mode != "mirror" && mode != "dtp") config["optimizer"]["name"] = "sgd";
      config["network"]["default_dtype"] = dtype;
      config["epochs"] = 3;
      config["checkpoint"] = {{"every_steps", 3}};
      const TrainResult whole = run_all(config, folder);
      const RunOptions options{.out = folder.file(mode + dtype), .start = RunStart::resume};
      for (const std::uint64_t cut : {7u, 19u}) {
        const auto run = open_run(config, folder, options);
        ASSERT_NE(run, nullptr);
        const auto crashed = run->run([&](const TrainProgress& p) -> Result<Continue> {
          if (p.event == TrainEvent::BatchEnd && p.step == cut) return fail(Code::Cancelled, "power cut");
          return Continue::yes;
        });
        ASSERT_FALSE(crashed);
      }
      EXPECT_EQ(run_all(config, folder, options).hash, whole.hash) << mode << " " << dtype;
    }
}

// Blobs as sequences of four pairs.
Json sequence_config(const Json& first, std::uint64_t batch_size, const Json& second = nullptr) {
  Json config = small_config();
  config["network"] = {{"id", "sequence"},
                       {"seed", 3},
                       {"input_shape", {4, 2}},
                       {"layers", {first, {{"type", "dense"}, {"input_height", 6}, {"output_height", 4}}}}};
  if (!second.is_null()) config["network"]["layers"].insert(config["network"]["layers"].begin() + 1, second);
  config["batch_size"] = batch_size, config["epochs"] = 3;
  config["checkpoint"] = {{"every_steps", 1}};
  return config;
}

// -100 is PyTorch's; a label outside of the classes counts as little as one inside of them.
TEST(Training, IgnoreIndexMayBeALabelOutsideOfTheClasses) {
  const Folder folder;
  Json config = small_config();
  const auto run = [&](int ignored, const char* out) {
    std::string text = blobs(60, 8, 3);
    for (std::size_t at = text.find(",1\n"); at != text.npos; at = text.find(",1\n", at + 1))
      text.replace(at, 3, fmt::format(",{}\n", ignored));
    folder.write("blobs.csv", text);
    config["loss"] = {{"name", "softmax_crossentropy"}, {"ignore_index", ignored}};
    return run_all(config, folder, {.out = folder.file(out)});
  };
  const TrainResult inside = run(3, "inside");
  for (const int ignored : {-100, -1, 255}) {
    const TrainResult outside = run(ignored, fmt::format("outside{}", ignored).c_str());
    EXPECT_EQ(outside.hash, inside.hash) << ignored;
    EXPECT_EQ(outside.loss_history, inside.loss_history) << ignored;
    ASSERT_TRUE(outside.validation);
    EXPECT_EQ(outside.validation->accuracy(), inside.validation->accuracy()) << ignored;
  }
  // Another label outside of the classes is refused.
  config["loss"]["ignore_index"] = -2;
  const auto refused = TrainingRun::create(read_train_config(config, folder.path).value(), {});
  EXPECT_FALSE(refused && (*refused)->run({}));
}

// The rates of transformers' schedules with a warm-up, in a run that says no total.
TEST(Training, SchedulesWithoutTotalEndWithTheRun) {
  const Folder folder;
  folder.write("blobs.csv", blobs(20, 8, 4));
  Json config = small_config();
  config["data"].erase("validation_split");
  config["optimizer"] = "sgd", config["learning_rate"] = 1.0, config["epochs"] = 1, config["batch_size"] = 2;
  for (const char* unit : {"step", "epoch"}) {
    const bool by_epoch = unit == std::string("epoch");
    config["epochs"] = by_epoch ? 10 : 1, config["batch_size"] = by_epoch ? 20 : 2;
    config["learning_rate"] = 1e-3;
    config["schedule"] = {{"name", "cosine"}, {"warmup_steps", 3}, {"unit", unit}};
    std::vector<double> rates;
    run_all(config, folder, {}, [&](const TrainProgress& p) -> Result<Continue> {
      if (p.event == TrainEvent::BatchEnd) rates.push_back(p.learning_rate);
      return Continue::yes;
    });
    const double wanted[] = {0.0,
                             1.0 / 3,
                             2.0 / 3,
                             1.0,
                             0.9504844339512095,
                             0.8117449009293668,
                             0.6112604669781572,
                             0.38873953302184283,
                             0.18825509907063326,
                             0.04951556604879043};
    ASSERT_EQ(rates.size(), 10u);
    for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], wanted[i] * 1e-3, 1e-15) << unit << " " << i;
  }
}

// State that a stateful layer hands from batch to batch, and memory of a metacognition layer, within an epoch, at its
// end, and after a short batch, which begins from zeros.
TEST(Training, states_across_batches_go_on_with_the_same_bits) {  // T-60, L-62
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  const auto recurrent = [](const std::string& type, bool both, bool stateful = true) -> Json {
    return {{"type", type},         {"input_height", 2},     {"output_height", both ? 3 : 6},
            {"stateful", stateful}, {"bidirectional", both}, {"return_sequence", false}};
  };
  const Json meta = {{"type", "metacognition"},
                     {"meta_observed_layer", {{"type", "dense"}, {"input_height", 6}, {"output_height", 6}}},
                     {"meta_network",
                      {{"type", "rnn"},
                       {"input_height", 6},
                       {"output_height", 1},
                       {"return_sequence", false},
                       {"init", "uniform"},
                       {"init_scale", 0.001}}},
                     {"meta_source", "history"},
                     {"meta_effect", "gate"}};
  const std::vector<Isa> isas = usable_isas();
  const auto stateless = run_all(sequence_config(recurrent("lstm", false, false), 16), folder);
  int run = 0;
  const std::pair<Json, Json> cases[] = {{recurrent("lstm", false), {}},
                                         {recurrent("gru", true), {}},
                                         {recurrent("rnn", false), {}},
                                         {recurrent("rnn", false, false), meta}};
  for (const auto& [layer, second] : cases)
    for (const std::uint64_t batch_size : {16u, 24u}) {
      const Json config = sequence_config(layer, batch_size, second);
      const TrainResult whole = run_all(config, folder, {.out = folder.file(fmt::format("whole{}", run))});
      EXPECT_NE(whole.hash, stateless.hash);
      const std::uint64_t epoch = whole.steps / 3;
      for (const std::uint64_t cut : {std::uint64_t{2}, epoch - 1, epoch, epoch + 1, epoch + 4}) {
        RunOptions options{.out = folder.file(fmt::format("cut{}_{}", run, cut)), .start = RunStart::resume};
        const auto crashed = open_run(config, folder, options)->run([&](const TrainProgress& p) -> Result<Continue> {
          if (p.event == TrainEvent::BatchEnd && p.step == cut) return fail(Code::Cancelled, "power cut");
          return Continue::yes;
        });
        ASSERT_FALSE(crashed);
        options.session.threads = 1 + static_cast<int>(cut % 3), options.session.isa = isas[cut % isas.size()];
        EXPECT_EQ(run_all(config, folder, options).hash, whole.hash)
            << dump_json(layer) << dump_json(second) << " " << batch_size << " cut at " << cut;
        EXPECT_EQ(*read_text_file(options.out + "/journal.jsonl"),
                  *read_text_file(folder.file(fmt::format("whole{}/journal.jsonl", run))));
      }
      ++run;
    }
}

// Looking at held-out samples changes nothing of a training whose batches hand on states.
TEST(Training, validation_leaves_the_states_of_batches_alone) {  // T-05, L-62
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  folder.write("held_out.csv", blobs(50, 8, 4));
  const Json lstm = {
      {"type", "lstm"}, {"input_height", 2}, {"output_height", 6}, {"stateful", true}, {"return_sequence", false}};
  Json config = sequence_config(lstm, 25);
  config["data"].erase("validation_split");
  const TrainResult blind = run_all(config, folder);
  config["data"]["validation"] = {{"format", "csv"}, {"path", "held_out.csv"}};
  const TrainResult looks = run_all(config, folder);
  ASSERT_TRUE(looks.validation);
  EXPECT_EQ(looks.hash, blind.hash);
  config["shards"] = 5;
  auto read = read_train_config(config, folder.path);
  ASSERT_TRUE(read) << read.error().text();
  const auto sharded = TrainingRun::create(std::move(*read), {});
  ASSERT_FALSE(sharded);
  EXPECT_EQ(sharded.error().code, Code::Unsupported);
}

// W-03 with T-80: a step of 20 cells of 256 at a batch of 64, beside backpropagation with momentum.
TEST(Trainer, targets_by_segments_take_at_most_sixty_percent_of_the_memory) {  // T-80, W-03, L-07
  Json layers = Json::array();
  for (int i = 0; i < 20; ++i)
    layers.push_back(
        {{"type", "dense"}, {"input_height", 256}, {"output_height", 256}, {"bias", true}, {"activation", "tanh"}});
  const auto bytes = [&](const std::optional<TweenConfig>& tween) {
    Network network = network_of({{"id", "deep"}, {"seed", 1}, {"input_shape", {256}}, {"layers", layers}});
    EXPECT_TRUE(network.initialise());
    TrainerConfig config;
    config.loss.kind = LossKind::Mse, config.optimizer.momentum = tween ? 0 : 0.9, config.tween = tween;
    config.session.threads = 1;
    const auto trainer = Trainer::create(network, Shape::of({1, 256}), config);
    EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
    const std::vector<float> x(64 * 256, 0.5f), t(64 * 256, 0.25f);
    const auto step = (*trainer)->step({{x.data(), Shape::of({64, 256})}, {}, {t.data(), Shape::of({64, 256})}});
    EXPECT_TRUE(step) << (step ? "" : step.error().text());
    return static_cast<double>((*trainer)->resident_bytes());
  };
  TweenConfig tween;
  tween.mode = TweenMode::Layerwise;
  const double backprop = bytes({}), tape = bytes(tween);
  tween.recompute_every = 3;
  const double segments = bytes(tween);
  tween.undo_velocities = true;
  const double undo = bytes(tween);
  EXPECT_LT(segments, 0.6 * backprop);
  std::printf("backprop %.1f MB, targets %.1f, by segments %.1f, with undo %.1f\n", backprop / 1e6, tape / 1e6,
              segments / 1e6, undo / 1e6);
}

TEST(Training, stopping_and_going_on_is_the_whole_run) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(400, 8, 4));
  const TrainResult whole = run_all(small_config(), folder);
  const RunOptions options{.out = folder.file("run"), .start = RunStart::resume};
  const TrainResult part = run_all(small_config(), folder, options, [](const TrainProgress& p) -> Result<Continue> {
    return p.event == TrainEvent::BatchEnd && p.step == 33 ? Continue::stop : Continue::yes;
  });
  EXPECT_EQ(part.stop_reason, TrainingStop::Stopped);
  EXPECT_EQ(part.steps, 33u);
  EXPECT_EQ(run_all(small_config(), folder, options).hash, whole.hash);
}

TEST(Training, a_torn_checkpoint_is_refused_and_so_is_that_of_another_training) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(100, 8, 4));
  const RunOptions options{.out = folder.file("run"), .start = RunStart::resume};
  run_all(small_config(), folder, options);
  const std::string path = folder.file("run/checkpoint.entity");
  auto bytes = read_text_file(path);
  ASSERT_TRUE(bytes);
  for (const std::size_t keep : {bytes->size() - 1, bytes->size() / 2, std::size_t{10}}) {
    folder.write("run/checkpoint.entity", bytes->substr(0, keep));
    auto config = read_train_config(small_config(), folder.path);
    const auto run = TrainingRun::create(std::move(*config), options);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Code::CorruptData) << run.error().text();
  }
  folder.write("run/checkpoint.entity", *bytes);
  Json other = small_config();
  other["network"]["layers"][0]["activation"] = "tanh";
  auto config = read_train_config(other, folder.path);
  const auto run = TrainingRun::create(std::move(*config), options);
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().text().find("/network/layers/0/activation: \"relu\" and \"tanh\""), std::string::npos)
      << run.error().text();
  Json longer = small_config();
  longer["epochs"] = 5;  // more of the same is welcome
  EXPECT_EQ(run_all(longer, folder, options).loss_history.size(), 5u);
}

TEST(Training, replay_proves_a_journal_and_finds_a_changed_one) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  const TrainResult result = run_all(small_config(), folder, {.out = folder.file("run")});
  const std::string journal = folder.file("run/journal.jsonl");
  const auto proved = replay(journal, "", on_threads(3));
  ASSERT_TRUE(proved) << proved.error().text();
  EXPECT_EQ(proved->hash, result.hash);
  EXPECT_EQ(proved->lines, read_journal(journal)->size());
  std::string text = *read_text_file(journal);
  const std::size_t at = text.rfind("\"hash\":\"") + 10;
  text[at] = text[at] == '0' ? '1' : '0';
  folder.write("run/changed.jsonl", text);
  const auto refused = replay(folder.file("run/changed.jsonl"), "", on_threads(1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("/hash"), std::string::npos) << refused.error().text();
  folder.write("blobs.csv", blobs(200, 8, 4, 2));
  const auto other_data = replay(journal, "", on_threads(1));
  ASSERT_FALSE(other_data);
  EXPECT_NE(other_data.error().text().find("/data/0/sha256"), std::string::npos) << other_data.error().text();
}

// Killed after its last epoch, before the line that ends it; the rates of a cosine are spread over the run.
TEST(Training, replay_proves_a_run_that_was_stopped_before_its_end_line) {  // E-45, T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  Json config = small_config();
  config["schedule"] = {{"name", "cosine"}}, config["journal"]["hash_every"] = 1;
  run_all(config, folder, {.out = folder.file("run")});
  const std::string whole = *read_text_file(folder.file("run/journal.jsonl"));
  const std::size_t end = whole.rfind("{\"event\":\"end\"");
  ASSERT_NE(end, whole.npos) << whole.substr(whole.size() - 300);
  folder.write("run/stopped.jsonl", whole.substr(0, end));
  const auto proved = replay(folder.file("run/stopped.jsonl"), "", on_threads(1));
  EXPECT_TRUE(proved) << (proved ? "" : proved.error().text());
}

// Settings that a run would never act on are refused before it begins, with one line.
TEST(Training, settings_that_nothing_reads_are_refused) {  // T-01, T-50
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  const auto refusal = [&](const Json& changes) -> std::string {
    Json json = small_config();
    json.merge_patch(changes);
    auto config = read_train_config(json, folder.path);
    if (!config) return config.error().text();
    auto run = TrainingRun::create(std::move(*config), {});
    return run ? "" : run.error().text();
  };
  const auto refused = [&](const char* changes, const char* message) {
    EXPECT_EQ(refusal(parse_json(changes).value()), message) << changes;
  };
  refused(R"({"loss":{"name":"mse","label_smoothing":0.1}})", "/loss/label_smoothing: mse has no label_smoothing");
  refused(R"({"loss":{"name":"mse","label_smoothing":0}})", "");
  refused(R"({"schedule":{"gamma":0.5}})", "/schedule/gamma: schedule constant has no gamma");
  refused(R"({"schedule":{"name":"step","gamma":0.5,"total":9}})", "/schedule/total: schedule step has no total");
  refused(R"({"schedule":{"name":"cosine","max":0.5}})", "/schedule/max: schedule cosine has no max");
  refused(R"({"schedule":{"unit":"epoch"}})", "/schedule/unit: schedule constant has no unit but with warmup_steps");
  refused(R"({"schedule":{"unit":"epoch","warmup_steps":1}})", "");
  refused(R"({"schedule":{"name":"one_cycle","total":90,"unit":"epoch"}})", "");
  refused(R"({"early_stop":{},"data":{"validation_split":null}})",
          "/early_stop: no samples to validate; expected /data/validation or /data/validation_split");
  refused(R"({"early_stop":{"metric":"mae"}})",
          "/early_stop/metric: expected loss, accuracy or top_5 of classes, got mae");
  refused(R"({"early_stop":{"metric":"r2"}})",
          "/early_stop/metric: expected loss, accuracy or top_5 of classes, got r2");
  refused(R"({"early_stop":{"metric":"top_5"}})", "/early_stop/metric: top_5 of 4 classes is always 1");
  const char* values =
      R"({"network":{"layers":[{"type":"dense","input_height":8,"output_height":1}]},"loss":"mse","data":{"class_ids":null,"target_kind":"values"}})";
  for (const char* metric : {"accuracy", "top_5"}) {
    Json changes = parse_json(values).value();
    changes["early_stop"]["metric"] = metric;
    EXPECT_EQ(refusal(changes), fmt::format("/early_stop/metric: expected loss, mae or r2 of values, got {}", metric));
  }
  for (const char* metric : {"loss", "mae", "r2"}) {
    Json changes = parse_json(values).value();
    changes["early_stop"]["metric"] = metric;
    EXPECT_EQ(refusal(changes), "") << metric;
  }
  Json ignores = parse_json(values).value();
  ignores["loss"] = {{"name", "softmax_crossentropy"}, {"ignore_index", 0}};
  EXPECT_EQ(refusal(ignores), "/loss/ignore_index: the targets are values, not classes");
  refused(R"({"tween":{"mode":"chain"}})",
          "tween: its mode has an update rule of its own, only mirror and dtp have an optimizer");
  refused(R"({"tween":{},"optimizer":{"name":"sgd"}})", "");
  for (const char* empty : {R"({"by":"element"})", "{}", R"("")"})
    refused(fmt::format(R"({{"data":{{"normalise":{}}}}})", empty).c_str(),
            "/data/normalise: expected a method, or offset and scale");
  refused(R"({"data":{"target_column":"y","target_index":1}})", "/data/target_index: target_column names one already");
  refused(R"({"data":{"validation_split":0.001}})", "/data/validation_split: 0.001 of 200 samples is none to validate");
  refused(R"({"loss":{"name":"softmax_crossentropy","ignore_index":4}})",
          "/loss/ignore_index: expected a class from 0 to 3, a label that occurs or a negative number, got 4");
  refused(R"({"data":{"split":"shuffled","validation_split":null}})", "/data/split: there is no validation_split");
  // A validation set has a limit; how it is split, normalised and augmented is the run's.
  const auto validation = [&](const char* changes) {
    Json held = small_config()["data"];
    held.erase("validation_split");
    held.merge_patch(parse_json(changes).value());
    return refusal({{"data", {{"validation_split", nullptr}, {"validation", held}}}});
  };
  EXPECT_EQ(validation("{}"), "");
  EXPECT_EQ(validation(R"({"limit":20})"), "");
  EXPECT_EQ(validation(R"({"limit":-1})").rfind("/data/validation/limit", 0), 0u);
  for (const char* key : {"validation_split", "split", "normalise", "augment", "validation"})
    EXPECT_EQ(validation(Json{{key, key == std::string("split") ? Json("last") : Json::object()}}.dump().c_str())
                  .rfind(fmt::format("/data/validation/{}", key), 0),
              0u)
        << key;
}

TEST(Training, early_stop_restores_the_best_weights) {  // T-50
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  Json config = small_config();
  config["epochs"] = 60;
  config["optimizer"] = {{"name", "sgd"}, {"learning_rate", 0.1}};
  config["early_stop"] = {{"metric", "accuracy"}, {"patience", 2}};
  std::vector<double> seen;
  const TrainResult result =
      run_all(config, folder, {.out = folder.file("run")}, [&](const TrainProgress& p) -> Result<Continue> {
        if (p.event == TrainEvent::ValidationEnd) seen.push_back(p.validation->accuracy());
        return Continue::yes;
      });
  EXPECT_EQ(result.stop_reason, TrainingStop::EarlyStop);
  EXPECT_LT(seen.size(), 60u);
  EXPECT_EQ(result.validation->accuracy(), *std::ranges::max_element(seen));
  EXPECT_EQ(run_all(config, folder).hash, result.hash);  // a run without a folder ends with the same weights
  const auto proved = replay(folder.file("run/journal.jsonl"), "", on_threads(1));
  EXPECT_TRUE(proved) << (proved ? "" : proved.error().text());
  // patience 2: the third without gain
  EXPECT_EQ(std::ranges::max_element(seen) - seen.begin(), static_cast<std::ptrdiff_t>(seen.size()) - 4);
}

TEST(Training, an_error_of_a_callback_ends_the_run_with_it) {  // T-51
  const Folder folder;
  folder.write("blobs.csv", blobs(100, 8, 4));
  const auto run = open_run(small_config(), folder);
  const auto result = run->run([](const TrainProgress& p) -> Result<Continue> {
    if (p.event == TrainEvent::BatchEnd && p.step == 2) return fail(Code::InvalidArgument, "the caller's own");
    return Continue::yes;
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().text(), "the caller's own");
}

// Scales are estimated again when an updated master is encoded: int8 must not wrap, nor stand still.
TEST(Training, int8_learns_ten_blobs_as_int16_does) {  // G-31, D-07, D-37
  const Folder folder;
  folder.write("blobs.csv", blobs(1000, 10, 10));
  Json config = small_config();
  config["network"]["input_shape"] = {10};
  config["network"]["layers"][0]["input_height"] = 10;
  config["network"]["layers"][2]["output_height"] = 10;
  config["epochs"] = 2;  // 100 steps
  const auto accuracy = [&](const char* dtype) {
    config["network"]["default_dtype"] = dtype;
    const TrainResult result = run_all(config, folder);
    EXPECT_EQ(result.steps, 100u);
    EXPECT_TRUE(result.validation);
    return result.validation ? result.validation->accuracy() : 0;
  };
  const double wide = accuracy("int16");
  EXPECT_GT(wide, 0.8);
  EXPECT_GE(accuracy("int8"), wide - 0.02);
}

// A network of two dense layers on one batch, without files.
struct Bench {
  explicit Bench(const Json& first = Json::object(), TrainerConfig config = {}, const Json& second = Json::object())
      : network(network_of(spec(first, second))) {
    config.session.threads = 1;
    auto made = Trainer::create(network, Shape::of({4, 3}), config);
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    if (made) trainer = std::move(*made);
  }
  static Json spec(const Json& first, const Json& second) {
    Json dense{{"type", "dense"}, {"input_height", 3}, {"output_height", 5}, {"bias", true}, {"activation", "tanh"}};
    Json last{{"type", "dense"}, {"input_height", 5}, {"output_height", 2}};
    dense.update(first), last.update(second);
    return {{"seed", 1}, {"layers", {dense, last}}};
  }
  Samples batch() const {
    return {{x.data(), Shape::of({4, 3}), Element::f32}, {}, {t.data(), Shape::of({4, 2}), Element::f32}};
  }
  std::vector<float> values(const std::string& path) const {
    std::vector<float> out;
    network.visit_weights([&](const std::string& name, Weight& w, Layer&) {
      if (name == path) out.assign(w.master().begin(), w.master().end());
    });
    return out;
  }
  Network network;
  std::unique_ptr<Trainer> trainer;
  std::vector<float> x = {0.5f, -1, 2, 1, 0.25f, -0.5f, -2, 1, 0, 0.125f, 3, -1};
  std::vector<float> t = {1, 0, 0, 1, -1, 0.5f, 0.25f, 0};
};

TEST(Trainer, one_step_of_sgd_moves_each_weight_against_its_gradient) {  // T-01
  Bench bench;
  const std::vector<float> before = bench.values("layers.1.weight");
  const auto report = bench.trainer->step(bench.batch());
  ASSERT_TRUE(report) << report.error().text();
  const std::vector<float> after = bench.values("layers.1.weight");
  std::vector<float> gradient;
  bench.network.visit_weights([&](const std::string& name, Weight& w, Layer&) {
    const float* g = static_cast<const float*>(bench.trainer->session().gradients().of(w));
    if (name == "layers.1.weight") gradient.assign(g, g + w.elements());
  });
  ASSERT_EQ(gradient.size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(after[i], before[i] - 0.01f * gradient[i]) << i;
  const auto next = bench.trainer->step(bench.batch());
  EXPECT_LT(next->loss, report->loss);
}

TEST(Trainer, frozen_layers_keep_their_weights_and_rates_are_scaled) {  // T-06
  Bench plain, frozen(Json{{"trainable", false}}), slow(Json{{"learning_rate_scale", 0.5}});
  for (Bench* b : {&plain, &frozen, &slow}) ASSERT_TRUE(b->trainer->step(b->batch()));
  const std::vector<float> start = [] {
    Bench b;
    return b.values("layers.0.weight");
  }();
  EXPECT_EQ(frozen.values("layers.0.weight"), start);
  EXPECT_EQ(frozen.values("layers.1.weight"), plain.values("layers.1.weight"));
  const std::vector<float> moved = plain.values("layers.0.weight"), half = slow.values("layers.0.weight");
  for (std::size_t i = 0; i < start.size(); ++i)
    // weights below 1 are rounded by up to 3e-8
    EXPECT_NEAR(half[i] - start[i], 0.5 * (moved[i] - start[i]), 6e-8) << i;
}

// The keys of a cell are those of the operation that the link feeds, not of both.
TEST(Trainer, a_fed_cell_scales_its_rate_once) {  // T-06
  const Json none = Json::object(), fed{{"is_remote_link", true}, {"link_mode", "feed"}, {"target_l", 0}};
  Json scaled = fed;
  scaled["learning_rate_scale"] = 0.5;
  Bench start(none, {}, fed), plain(none, {}, fed), slow(none, {}, scaled);
  for (Bench* b : {&plain, &slow}) ASSERT_TRUE(b->trainer->step(b->batch()));
  const std::vector<float> at = start.values("layers.1.weight"), moved = plain.values("layers.1.weight"),
                           half = slow.values("layers.1.weight");
  ASSERT_EQ(at.size(), 10u);
  ASSERT_NE(at, moved);
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(half[i] - at[i], 0.5 * (moved[i] - at[i]), 6e-8) << i;
}

TEST(Trainer, a_batch_that_is_not_finite_is_skipped_and_ten_end_the_training) {  // T-04
  Bench bench;
  const Digest before = weight_hash(bench.network);
  bench.x[4] = std::numeric_limits<float>::infinity();
  bench.x[5] = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < 10; ++i) {
    const auto report = bench.trainer->step(bench.batch());
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->skipped);
    EXPECT_EQ(weight_hash(bench.network), before);
  }
  EXPECT_EQ(bench.trainer->state().skipped, 10u);
  const auto over = bench.trainer->step(bench.batch());
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::InvalidState);
}

TEST(Trainer, names_the_layer_whose_output_is_not_finite_first) {  // T-04
  Bench bench(Json{{"activation", "relu"}});
  std::fill(bench.x.begin(), bench.x.end(), 3e38f);
  const auto report = bench.trainer->step(bench.batch());
  ASSERT_TRUE(report);
  ASSERT_TRUE(report->skipped);
  EXPECT_NE(report->why.find("layers.0 (dense)"), std::string::npos) << report->why;
}

// Forwards that keep no tape are looked at too: what a skipped step says is no matter of memory.
TEST(Trainer, names_the_same_layer_when_activations_are_recomputed) {  // T-04, T-80
  for (const std::size_t cells : {1u, 2u}) {
    TrainerConfig config;
    config.session.checkpoint_every = cells;
    Bench bench(Json{{"activation", "relu"}}, config);
    std::fill(bench.x.begin(), bench.x.end(), 3e38f);
    const auto report = bench.trainer->step(bench.batch());
    ASSERT_TRUE(report);
    ASSERT_TRUE(report->skipped);
    EXPECT_NE(report->why.find("layers.0 (dense)"), std::string::npos) << report->why;
  }
}

TEST(Trainer, evaluating_changes_nothing) {  // T-05
  Network network = network_of({{"seed", 2},
                                {"layers",
                                 {{{"type", "dense"}, {"input_height", 3}, {"output_height", 6}},
                                  {{"type", "batchnorm"}, {"input_height", 6}},
                                  {{"type", "dropout"}, {"rate", 0.5}},
                                  {{"type", "dense"}, {"input_height", 6}, {"output_height", 2}}}}});
  auto trainer = Trainer::create(network, Shape::of({4, 3}), {});
  ASSERT_TRUE(trainer) << trainer.error().text();
  const Bench bench;
  ASSERT_TRUE((*trainer)->step(bench.batch()));
  const Digest before = weight_hash(network);
  const auto first = (*trainer)->evaluate(bench.batch());
  ASSERT_TRUE(first) << first.error().text();
  const double loss = first->loss.value;
  EXPECT_EQ((*trainer)->evaluate(bench.batch())->loss.value, loss);
  EXPECT_EQ(weight_hash(network), before);
}

TEST(Trainer, mixed_precision_rounds_what_passes_between_cells) {  // T-70
  for (const Mixed mixed : {Mixed::bf16, Mixed::f16, Mixed::fp8}) {
    TrainerConfig config;
    config.session.mixed = mixed;
    config.schedule.learning_rate = 0.05;
    Bench bench(Json::object(), config);
    const auto seen = bench.trainer->evaluate(bench.batch());
    ASSERT_TRUE(seen);
    const std::uint32_t dropped = mixed == Mixed::bf16 ? 0xffffu : mixed == Mixed::f16 ? 0x1fffu : 0xfffffu;
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, seen->output.as<float>() + i, 4);
      EXPECT_EQ(bits & dropped, 0u) << static_cast<int>(mixed);
    }
    double first = 0, last = 0;
    for (int i = 0; i < 60; ++i) {
      const auto report = bench.trainer->step(bench.batch());
      ASSERT_TRUE(report) << report.error().text();
      (i == 0 ? first : last) = report->loss;
    }
    EXPECT_LT(last, 0.5 * first) << static_cast<int>(mixed);
  }
}

TEST(Trainer, an_f16_overflow_halves_the_loss_scale_and_skips_the_step) {  // T-70
  TrainerConfig config;
  config.session.mixed = Mixed::f16;
  Bench bench(Json::object(), config);
  std::fill(bench.t.begin(), bench.t.end(), 60000.0f);  // gradients times 2^16 leave the range of f16
  const Digest before = weight_hash(bench.network);
  const auto report = bench.trainer->step(bench.batch());
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->skipped);
  EXPECT_EQ(bench.trainer->state().loss_scale, 32768.0);
  EXPECT_EQ(weight_hash(bench.network), before);
}

TEST(Trainer, lbfgs_lowers_the_loss_of_its_batch) {  // T-24
  TrainerConfig config;
  config.lbfgs_history = 5, config.schedule.learning_rate = 1;
  Bench bench(Json::object(), config);
  const double first = bench.trainer->evaluate(bench.batch())->loss.value;
  double last = first;
  for (int i = 0; i < 10; ++i) {
    const auto report = bench.trainer->step(bench.batch());
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_LE(report->loss, last);
    last = report->loss;
  }
  EXPECT_LT(last, 0.01 * first);
}

// Layers of every sort that recomputing could get wrong: masks, batch statistics, recurrence, attention.
Json deep_spec() {
  return {{"seed", 4},
          {"layers",
           {{{"type", "dense"}, {"input_height", 6}, {"output_height", 8}, {"activation", "gelu"}},
            {{"type", "lstm"}, {"input_height", 8}, {"output_height", 8}},
            {{"type", "dropout"}, {"rate", 0.3}},
            {{"type", "mha"}, {"d_model", 8}, {"num_heads", 2}},
            {{"type", "layernorm"}, {"input_height", 8}},
            {{"type", "dense"}, {"input_height", 8}, {"output_height", 3}}}}};
}

struct Sequences {
  explicit Sequences(std::size_t samples = 32, std::size_t steps = 10) : samples(samples), steps(steps) {
    const RandomStream stream{9, RandomDomain::Noise, 0, random_site("sequences")};
    for (std::size_t i = 0; i < samples * steps * 6; ++i) x.push_back(static_cast<float>(stream.uniform(i)) - 0.5f);
    for (std::size_t i = 0; i < samples * steps; ++i) labels.push_back(static_cast<std::int32_t>(i * i % 3));
  }
  Samples batch() const { return {{x.data(), Shape::of({samples, steps, 6}), Element::f32}, labels, {}}; }
  std::size_t samples, steps;
  std::vector<float> x;
  std::vector<std::int32_t> labels;
};

struct Trained {
  Digest hash{};
  double loss = 0;
  std::size_t scratch = 0;
};

Trained trained(const Json& spec, TrainerConfig config, const Sequences& data = Sequences(), int steps = 3) {
  config.loss.kind = LossKind::SoftmaxCrossEntropy, config.optimizer.name = "adam";
  if (config.session.threads == 0) config.session.threads = 2;
  Network network = network_of(spec);
  auto trainer = Trainer::create(network, Shape::of({data.samples, data.steps, 6}), config);
  EXPECT_TRUE(trainer) << (trainer ? "" : trainer.error().text());
  if (!trainer) return {};
  Trained out;
  for (int i = 0; i < steps; ++i) {
    const auto report = (*trainer)->step(data.batch());
    EXPECT_TRUE(report) << (report ? "" : report.error().text());
    if (report) out.loss = report->loss;
  }
  out.hash = weight_hash(network), out.scratch = (*trainer)->session().scratch_bytes();
  return out;
}

TEST(Trainer, recomputed_activations_give_the_same_bits_in_less_memory) {  // T-80
  const Trained plain = trained(deep_spec(), {});
  for (const std::size_t cells : {1u, 2u, 4u, 6u, 100u}) {
    TrainerConfig config;
    config.session.checkpoint_every = cells;
    const Trained segments = trained(deep_spec(), config);
    EXPECT_EQ(segments.hash, plain.hash) << cells;
    EXPECT_EQ(segments.loss, plain.loss) << cells;
    if (cells < 4) {
      EXPECT_LT(segments.scratch, plain.scratch) << cells;
    }
  }
}

TEST(Trainer, truncated_bptt_with_all_steps_is_the_whole_one_and_with_fewer_another) {  // T-81
  Json spec = deep_spec();
  spec["layers"].erase(3);  // attention sees the chunk alone
  TrainerConfig config;
  const Trained whole = trained(spec, config);
  config.tbptt_steps = 10;
  EXPECT_EQ(trained(spec, config).hash, whole.hash);
  config.tbptt_steps = 4;
  const Trained cut = trained(spec, config, Sequences(), 1);
  EXPECT_NE(cut.hash, whole.hash);
}

TEST(Trainer, states_go_on_from_chunk_to_chunk) {  // T-81
  // Without dropout the forward pass of chunks is that of the whole: the first step's loss is the same to rounding.
  Json spec = deep_spec();
  spec["layers"].erase(3), spec["layers"].erase(2);
  TrainerConfig config;
  const Trained whole = trained(spec, config, Sequences(), 1);
  config.tbptt_steps = 3;
  EXPECT_NEAR(trained(spec, config, Sequences(), 1).loss, whole.loss, 1e-12);
}

TEST(Trainer, shards_give_the_same_bits_on_any_number_of_workers) {  // T-41
  TrainerConfig config;
  config.shards = 8;
  const Trained one = trained(deep_spec(), config);
  for (const std::size_t workers : {2u, 5u, 8u}) {
    config.workers = workers;
    EXPECT_EQ(trained(deep_spec(), config).hash, one.hash) << workers;
  }
  EXPECT_NEAR(one.loss, trained(deep_spec(), {}).loss, 1e-5);
  config.workers = 3;  // the last shards have no sample
  const Trained few = trained(deep_spec(), config, Sequences(5));
  config.workers = 1;
  EXPECT_EQ(trained(deep_spec(), config, Sequences(5)).hash, few.hash);
}

TEST(Trainer, clips_the_norm_when_the_first_worker_has_no_sample) {  // T-40, T-41
  TrainerConfig config;
  config.shards = 8, config.clip_norm = 0.1;
  const Trained one = trained(deep_spec(), config, Sequences(2));
  for (const std::size_t workers : {3u, 8u}) {
    config.workers = workers;
    EXPECT_EQ(trained(deep_spec(), config, Sequences(2)).hash, one.hash) << workers;
  }
}

TEST(Trainer, stateful_layers_are_refused_with_shards_whatever_the_workers) {  // T-41, L-62
  Json spec = deep_spec();
  spec["layers"][1]["stateful"] = true;
  for (const std::size_t workers : {1u, 2u, 8u}) {
    Network network = network_of(spec);
    TrainerConfig config;
    config.loss.kind = LossKind::SoftmaxCrossEntropy, config.session.threads = 1, config.shards = 8,
    config.workers = workers;
    const auto made = Trainer::create(network, Shape::of({1, 10, 6}), config);
    ASSERT_FALSE(made) << workers;
    EXPECT_EQ(made.error().code, Code::Unsupported);
    EXPECT_NE(made.error().text().find("stateful"), std::string::npos) << made.error().text();
  }
}

TEST(TrainConfig, J_keys_that_nobody_reads_are_errors_with_the_nearest) {
  Json config = small_config();
  config["epoch"] = 3;
  const auto read = read_train_config(config, "");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::UnknownKey);
  EXPECT_NE(read.error().text().find("epochs"), std::string::npos);
  Json nested = small_config();
  nested["optimizer"]["learning_rat"] = 1;
  const auto inner = read_train_config(nested, "");
  ASSERT_FALSE(inner);
  EXPECT_NE(inner.error().text().find("/optimizer/learning_rat"), std::string::npos) << inner.error().text();
}

}  // namespace
}  // namespace loom::training_test
