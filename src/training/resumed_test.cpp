// Runs that go on where nothing is left to do, or further than was planned; validation sets that are not cut from the
// training set.

#include <cmath>

#include "core/journal.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

std::string journal_of(const Folder& folder, const std::string& run) { return folder.file(run + "/journal.jsonl"); }

void expect_replays(const Folder& folder, const std::string& run) {
  NetworkSessionOptions options;
  options.threads = 1;
  const auto proved = replay(journal_of(folder, run), "", options);
  EXPECT_TRUE(proved) << (proved ? "" : proved.error().text());
}

Json stopping_config(bool restore_best) {
  Json config = small_config();
  config["epochs"] = 60;
  config["optimizer"] = {{"name", "sgd"}, {"learning_rate", 0.1}};
  config["early_stop"] = {{"metric", "accuracy"}, {"patience", 1}, {"restore_best", restore_best}};
  return config;
}

TEST(Resumed, a_run_that_stopped_early_stays_stopped) {  // T-50, T-60
  for (const bool restore_best : {false, true}) {
    const Folder folder;
    folder.write("blobs.csv", blobs(200, 8, 4));
    const TrainResult first = run_all(stopping_config(restore_best), folder, {.out = folder.file("run")});
    ASSERT_EQ(first.stop_reason, TrainingStop::EarlyStop);
    const auto journal = read_text_file(journal_of(folder, "run")),
               model = read_text_file(folder.file("run/model.entity"));
    // as after a kill between the last checkpoint and the end
    std::filesystem::remove(folder.file("run/model.entity"));
    const TrainResult again =
        run_all(stopping_config(restore_best), folder, {.out = folder.file("run"), .start = RunStart::resume});
    EXPECT_EQ(again.stop_reason, TrainingStop::EarlyStop);
    EXPECT_EQ(again.hash, first.hash);
    EXPECT_EQ(again.loss_history.size(), first.loss_history.size());
    EXPECT_EQ(*read_text_file(journal_of(folder, "run")), *journal);
    EXPECT_EQ(*read_text_file(folder.file("run/model.entity")), *model);
    expect_replays(folder, "run");
  }
}

// The callback stops the run after the last batch of an epoch, whose line about the cells is written by the process
// that goes on.
TEST(Resumed, the_line_of_an_epochs_cells_outlives_a_stop) {  // T-60, W-41
  for (const std::string mode : {"chain", "layerwise", "mirror", "dtp"}) {
    SCOPED_TRACE(mode);
    const Folder folder;
    folder.write("blobs.csv", blobs(100, 8, 4));
    Json config = small_config();
    config["data"].erase("validation_split");
    config["network"]["layers"].erase(1);
    config["optimizer"] = "sgd";
    config["tween"] = {{"mode", mode}};
    run_all(config, folder, {.out = folder.file("whole")});
    const TrainResult stopped =
        run_all(config, folder, {.out = folder.file("run")}, [](const TrainProgress& p) -> Result<Continue> {
          return p.event == TrainEvent::BatchEnd && p.step == 14 ? Continue::stop
                                                                 : Continue::yes;  // two epochs of seven
        });
    ASSERT_EQ(stopped.stop_reason, TrainingStop::Stopped);
    run_all(config, folder, {.out = folder.file("run"), .start = RunStart::resume});
    EXPECT_EQ(*read_text_file(journal_of(folder, "run")), *read_text_file(journal_of(folder, "whole")));
    expect_replays(folder, "run");
  }
}

TEST(Resumed, a_prolonged_run_is_replayed_to_its_end) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(100, 8, 4));
  Json config = small_config();
  config["epochs"] = 2;
  run_all(config, folder, {.out = folder.file("run")});
  config["epochs"] = 4;
  const auto stop_in_third = [](const TrainProgress& p) -> Result<Continue> {
    return p.event == TrainEvent::BatchEnd && p.step == 13 ? Continue::stop : Continue::yes;
  };
  run_all(config, folder, {.out = folder.file("run"), .start = RunStart::resume}, stop_in_third);
  expect_replays(folder, "run");
  const TrainResult longer = run_all(config, folder, {.out = folder.file("run"), .start = RunStart::resume});
  EXPECT_EQ(longer.loss_history.size(), 4u);
  expect_replays(folder, "run");
  EXPECT_EQ(run_all(config, folder).hash, longer.hash);
}

// Rates that fall over all epochs are those of no undisturbed run once there are more.
TEST(Resumed, epochs_that_shape_the_rates_stay) {  // T-60, T-30
  const Folder folder;
  folder.write("blobs.csv", blobs(100, 8, 4));
  for (const bool total : {false, true}) {
    Json config = small_config();
    config["schedule"] = {{"name", "cosine"}};
    if (total) config["schedule"]["total"] = 10;
    const RunOptions options{.out = folder.file(total ? "total" : "run"), .start = RunStart::resume};
    run_all(config, folder, options);
    config["epochs"] = 6;
    const auto longer = TrainingRun::create(*read_train_config(config, folder.path), options);
    EXPECT_EQ(longer.has_value(), total);
    if (!longer) {
      EXPECT_NE(longer.error().text().find("/config/epochs: 4 and 6"), std::string::npos) << longer.error().text();
    }
  }
}

// Classes by name come in another order in the file that validates; the ids must be those of the training set.
TEST(Resumed, names_of_a_validation_set_stand_for_the_training_sets_classes) {  // T-42, T-50
  const Folder folder;
  const std::string rows = blobs(200, 8, 4);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < rows.size(); at = rows.find('\n', at) + 1) {
    std::string line = rows.substr(at, rows.find('\n', at) + 1 - at);
    line.insert(line.rfind(',') + 1, "class-");
    lines.push_back(line);
  }
  std::string forward, backward;
  for (const std::string& line : lines) forward += line, backward = line + backward;
  folder.write("train.csv", forward);
  folder.write("same.csv", forward);
  folder.write("held.csv", backward);
  folder.write("other.csv", forward + "0,0,0,0,0,0,0,0,class-9\n");
  Json config = small_config();
  config["data"] = {{"format", "csv"}, {"path", "train.csv"}, {"header", false}};
  const auto accuracy = [&](const std::string& file) {
    config["data"]["validation"] = {{"format", "csv"}, {"path", file}, {"header", false}};
    return run_all(config, folder).validation->accuracy();
  };
  EXPECT_GT(accuracy("same.csv"), 0.9);
  EXPECT_EQ(accuracy("held.csv"), accuracy("same.csv"));
  config["data"]["validation"]["class_ids"] = false;  // as by default
  EXPECT_TRUE(TrainingRun::create(*read_train_config(config, folder.path), {}));
  config["data"]["validation"]["path"] = "other.csv";
  const auto unknown = TrainingRun::create(*read_train_config(config, folder.path), {});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text().find("class-9"), std::string::npos) << unknown.error().text();
  config["data"]["validation"] = {{"format", "csv"},
                                  {"path", "held.csv"},
                                  {"header", false},
                                  {"class_names", {"class-3", "class-2", "class-1", "class-0"}}};
  EXPECT_EQ(TrainingRun::create(*read_train_config(config, folder.path), {}).error().code, Code::InvalidConfig);
}

TEST(Resumed, columns_of_a_validation_table_are_those_of_the_training_table) {  // T-50
  const Folder folder;
  folder.write("train.csv", "x,y,t\n1,2,0\n2,1,1\n3,0,0\n");
  folder.write("held.csv", "y,x,t\n2,1,0\n1,2,1\n");
  folder.write("series.csv", "p,q\n1,2\n2,3\n3,4\n4,5\n");
  folder.write("turned.csv", "q,p\n1,2\n2,3\n3,4\n4,5\n");
  for (const auto& [training, held] : {std::pair(R"({"format":"csv","path":"train.csv","class_ids":true})",
                                                 R"({"format":"csv","path":"held.csv","class_ids":true})"),
                                       std::pair(R"({"format":"series","path":"series.csv","length":1})",
                                                 R"({"format":"series","path":"turned.csv","length":1})")}) {
    Json data = parse_json(training).value();
    data["validation"] = data;
    EXPECT_TRUE(open_training_data(data, folder.path, {}));
    data["validation"] = parse_json(held).value();
    const auto refused = open_training_data(data, folder.path, {});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("its columns ("), std::string::npos) << refused.error().text();
  }
}

TEST(Resumed, characters_of_a_validation_text_have_the_training_texts_ids) {  // T-42, T-50
  const Folder folder;
  std::string text, held;
  for (int i = 0; i < 200; ++i) text += "abcdefgh", held += "bcdefgh";
  folder.write("train.txt", text);
  folder.write("held.txt", held);
  folder.write("other.txt", held + "bcxbcxbcx");
  Json config = small_config();
  config["network"] = {{"seed", 1},
                       {"layers",
                        {{{"type", "embedding"}, {"vocab_size", 8}, {"embedding_dim", 16}},
                         {{"type", "dense"}, {"input_height", 16}, {"output_height", 8}}}}};
  config["data"] = {{"format", "text"}, {"path", "train.txt"}, {"unit", "characters"}, {"length", 8}};
  config["data"]["validation"] = {{"format", "text"}, {"path", "held.txt"}, {"unit", "characters"}, {"length", 8}};
  config["optimizer"]["learning_rate"] = 0.1;
  EXPECT_GT(run_all(config, folder).validation->accuracy(), 0.8);  // every letter but h, which b follows
  config["data"]["validation"]["path"] = "other.txt";
  EXPECT_FALSE(TrainingRun::create(*read_train_config(config, folder.path), {}));
}

// The answer to an image of one value is that value times the sum of the weights that see the image.
TEST(Resumed, images_that_validate_are_cropped_in_the_middle) {  // T-43, T-50
  const Folder folder;
  std::string images = "\x93NUMPY", targets = images;
  const auto header = [](const std::string& shape) {
    std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    text.resize(118 - 1, ' ');
    return std::string("\x01\x00\x76\x00", 4) + text + "\n";
  };
  images += header("(20, 8, 8)"), targets += header("(20, 1)");
  for (int i = 0; i < 20; ++i) {
    const float value = static_cast<float>(i) / 8;
    targets.append(reinterpret_cast<const char*>(&value), 4);
    for (int k = 0; k < 64; ++k) images.append(reinterpret_cast<const char*>(&value), 4);
  }
  folder.write("x.npy", images);
  folder.write("y.npy", targets);
  for (const int crop : {4, 8, 24}) {
    Json config = small_config();
    config["network"] = {
        {"seed", 1},
        {"input_shape", {crop * crop}},
        {"layers", {{{"type", "dense"}, {"input_height", crop * crop}, {"output_height", 1}, {"bias", false}}}}};
    config["data"] = {
        {"format", "npy"},
        {"inputs", "x.npy"},
        {"targets", "y.npy"},
        {"target_kind", "values"},
        {"validation_split", 0.5},
        {"augment",
         {{"crop_height", crop}, {"crop_width", crop}, {"padding", crop == 24 ? 8 : 0}, {"flip_horizontal", true}}}};
    config["loss"] = "mse";
    config["epochs"] = 1;
    config["optimizer"] = {{"name", "sgd"}, {"learning_rate", 1e-9}};
    const auto run = open_run(config, folder);
    ASSERT_NE(run, nullptr);
    const auto result = run->run({});
    ASSERT_TRUE(result) << result.error().text();
    double sum = 0, expected = 0;
    run->network().visit_weights([&](const std::string&, const Weight& w, const Layer&) {
      for (int i = 0; i < crop * crop; ++i) {
        const bool inside = crop != 24 || (i / 24 >= 8 && i / 24 < 16 && i % 24 >= 8 && i % 24 < 16);
        if (inside) sum += static_cast<double>(w.master()[static_cast<std::size_t>(i)]);
      }
    });
    for (int i = 10; i < 20; ++i) expected += (sum - 1) * (sum - 1) * i * i / 64 / 10;
    ASSERT_TRUE(result->validation);
    EXPECT_NEAR(result->validation->loss(), expected, 1e-5 * expected) << crop;
  }
}

}  // namespace
}  // namespace loom::training_test
