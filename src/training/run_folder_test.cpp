// Checks of a resumed run: its checkpoint, journal, best network, data; and other writers in its folder.

#include <filesystem>
#include <fstream>

#include "io/entity/entity.h"
#include "training/run_page.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

constexpr RunStart kResume = RunStart::resume;

Result<std::unique_ptr<TrainingRun>> opened(const Json& json, const Folder& folder, RunStart start = kResume) {
  LOOM_TRY(TrainConfig config, read_train_config(json, folder.path));
  RunOptions options{.out = folder.file("run"), .start = start};
  options.session.threads = 1;
  return TrainingRun::create(std::move(config), options);
}

void expect_refused(const Json& json, const Folder& folder, Code code, const std::string& named,
                    RunStart start = kResume) {
  const auto run = opened(json, folder, start);
  ASSERT_FALSE(run) << named;
  EXPECT_EQ(run.error().code, code) << run.error().text();
  EXPECT_NE(run.error().text().find(named), std::string::npos) << run.error().text();
}

// A run of small_config() that was stopped after some steps.
TrainResult stopped_at(const Json& json, const Folder& folder, std::uint64_t step, RunStart start = RunStart::fresh) {
  return run_all(json, folder, {.out = folder.file("run"), .start = start},
                 [&](const TrainProgress& p) -> Result<Continue> {
                   return p.event == TrainEvent::BatchEnd && p.step == step ? Continue::stop : Continue::yes;
                 });
}

// A finished run whose weights are those of its best epoch.
Json best_config() {
  Json json = small_config();
  json["early_stop"] = {{"metric", "loss"}, {"patience", 50}};
  return json;
}

void rewrite(const std::string& path, const std::function<void(Json& train, std::vector<std::byte>& optim)>& change) {
  auto checkpoint = read_checkpoint(path);
  ASSERT_TRUE(checkpoint) << checkpoint.error().text();
  change(checkpoint->train, checkpoint->optimizer);
  const auto file = MappedFile::open(path);
  const auto reader = EntityReader::parse((*file)->bytes());
  EntityWriter writer;
  ASSERT_TRUE(writer.add_all(*reader));
  EXPECT_TRUE(writer.remove("train"));
  writer.remove("optim");
  ASSERT_TRUE(writer.add_text("train", 0, 0, dump_canonical(checkpoint->train).value()));
  if (!checkpoint->optimizer.empty()) {
    ASSERT_TRUE(writer.add("optim", 0, 0, checkpoint->optimizer));
  }
  ASSERT_TRUE(writer.write(path));
}

TEST(RunFolder, a_best_network_of_fewer_weights_or_of_another_run_is_refused) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  const TrainResult whole = run_all(best_config(), folder, {.out = folder.file("run")});
  const std::string path = folder.file("run/best.entity"), own = *read_text_file(path);
  EXPECT_EQ(opened(best_config(), folder).value()->run()->hash, whole.hash);
  Json other = best_config();
  other["network"]["layers"].erase(2);
  other["network"]["layers"][0]["output_height"] = 4;
  const Network fewer = network_of(other["network"]);
  const Json same_shapes = [] {
    Json json = best_config();
    json["network"]["seed"] = 99;
    return json;
  }();
  const Network equal = network_of(same_shapes["network"]);
  for (const Network* network : {&fewer, &equal}) {
    ASSERT_TRUE(save_network(path, *network, {.keep_master = true}));
    const auto run = opened(best_config(), folder);
    ASSERT_TRUE(run) << run.error().text();
    const auto ended = (*run)->run();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, Code::CorruptData);
    EXPECT_NE(ended.error().text().find("best.entity: holds other weights"), std::string::npos) << ended.error().text();
  }
  // Also where somebody made the checkpoint fit.
  ASSERT_TRUE(save_network(path, fewer, {.keep_master = true}));
  rewrite(folder.file("run/checkpoint.entity"),
          [&](Json& train, std::vector<std::byte>&) { train["position"]["best_hash"] = to_hex(weight_hash(fewer)); });
  const auto ended = opened(best_config(), folder).value()->run();
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().text().find("best.entity"), std::string::npos) << ended.error().text();
  folder.write("run/best.entity", own);
}

TEST(RunFolder, pairs_of_lbfgs_in_a_checkpoint_of_adam_are_refused) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  stopped_at(small_config(), folder, 7);
  rewrite(folder.file("run/checkpoint.entity"), [](Json& train, std::vector<std::byte>& optim) {
    train["pairs"] = {1};
    optim.resize(optim.size() + 16);
  });
  expect_refused(small_config(), folder, Code::ShapeMismatch, "pairs of L-BFGS");
}

TEST(RunFolder, one_process_writes_a_folder_at_a_time) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  stopped_at(small_config(), folder, 7);
  const std::string journal = *read_text_file(folder.file("run/journal.jsonl"));
  {
    const auto first = opened(small_config(), folder);
    ASSERT_TRUE(first) << first.error().text();
    for (const RunStart start : {RunStart::resume, RunStart::overwrite, RunStart::fresh})
      expect_refused(small_config(), folder, Code::InvalidState, "run: another process", start);
    EXPECT_EQ(*read_text_file(folder.file("run/journal.jsonl")), journal);
    ASSERT_TRUE(report_html(folder.file("run"))) << "who only reads needs no lock";
    ASSERT_TRUE((*first)->run([&](const TrainProgress& p) -> Result<Continue> {
      if (p.event == TrainEvent::BatchEnd && p.step == 9)
        expect_refused(small_config(), folder, Code::InvalidState, "another process");
      return Continue::yes;
    }));
  }
  EXPECT_TRUE(opened(small_config(), folder)) << "the end of a run frees the folder";
  // Two that find no folder: the second one sees the first one's run.
  std::filesystem::remove_all(folder.file("run"));
  const auto one = opened(small_config(), folder, RunStart::fresh),
             two = opened(small_config(), folder, RunStart::fresh);
  ASSERT_TRUE(one && two);
  ASSERT_TRUE((*one)->run());
  const auto late = (*two)->run();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::InvalidArgument) << late.error().text();
}

TEST(RunFolder, data_or_a_network_file_that_changed_are_refused) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  folder.write("held_out.csv", blobs(50, 8, 4));
  folder.write("net.json", dump_json(small_config()["network"]));
  Json json = small_config();
  json["network"] = "net.json";
  json["data"].erase("validation_split");
  json["data"]["validation"] = {{"format", "csv"}, {"path", "held_out.csv"}, {"header", false}, {"class_ids", true}};
  stopped_at(json, folder, 7);
  folder.write("blobs.csv", blobs(200, 8, 4, 2));
  expect_refused(json, folder, Code::InvalidConfig,
                 "checkpoint.entity: the checkpoint belongs to another run: /data/0: ");
  folder.write("blobs.csv", blobs(200, 8, 4));
  folder.write("held_out.csv", blobs(50, 8, 4, 2));
  expect_refused(json, folder, Code::InvalidConfig, "/data/1: ");
  folder.write("held_out.csv", blobs(50, 8, 4));
  folder.write("net.json", dump_json(small_config()["network"]) + " ");
  expect_refused(json, folder, Code::InvalidConfig, "/network: ");
  folder.write("net.json", dump_json(small_config()["network"]));
  const auto run = opened(json, folder);
  ASSERT_TRUE(run) << run.error().text();
  ASSERT_TRUE((*run)->run());
  EXPECT_TRUE(replay(folder.file("run/journal.jsonl"), "", NetworkSessionOptions()));
}

TEST(RunFolder, a_journal_ahead_of_its_checkpoint_is_cut_back_and_one_behind_it_or_of_another_run_refused) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(400, 8, 4));
  const TrainResult whole = run_all(small_config(), folder, {.out = folder.file("whole")});
  stopped_at(small_config(), folder, 33);
  const std::string path = folder.file("run/journal.jsonl"), journal = *read_text_file(path);
  for (const std::size_t keep : {std::size_t{0}, journal.find('\n') + 1, journal.size() - 1}) {
    folder.write("run/journal.jsonl", journal.substr(0, keep));
    expect_refused(small_config(), folder, Code::CorruptData, "journal.jsonl: ends");
  }
  std::string other = journal;
  other[other.size() / 2] ^= 1;
  folder.write("run/journal.jsonl", other);
  expect_refused(small_config(), folder, Code::CorruptData, "journal.jsonl: is not the journal of the checkpoint");
  ASSERT_TRUE(std::filesystem::remove(path));
  expect_refused(small_config(), folder, Code::NotFound, "journal.jsonl");
  // Whole lines, a torn one and zeros, as a power cut may leave them.
  folder.write("run/journal.jsonl", journal + "{\"event\":\"steps\",\"step\":35}\n{\"even" + std::string(100, '\0'));
  EXPECT_EQ(opened(small_config(), folder).value()->run()->hash, whole.hash);
  EXPECT_EQ(*read_text_file(path), *read_text_file(folder.file("whole/journal.jsonl")));
}

TEST(RunFolder, without_a_checkpoint_no_journal_is_lost) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  const TrainResult whole = run_all(small_config(), folder, {.out = folder.file("run"), .start = kResume});
  const std::string path = folder.file("run/journal.jsonl"), journal = *read_text_file(path);
  ASSERT_TRUE(std::filesystem::remove(folder.file("run/checkpoint.entity")));
  expect_refused(small_config(), folder, Code::CorruptData, "checkpoint.entity is missing");
  // A plain start says the same: --resume is no way on.
  expect_refused(small_config(), folder, Code::InvalidArgument,
                 "holds a run, but checkpoint.entity is missing: --overwrite starts a new run", RunStart::fresh);
  EXPECT_EQ(*read_text_file(path), journal);
  // Killed before the first checkpoint: there is nothing to lose.
  folder.write("run/journal.jsonl", journal.substr(0, journal.find('\n') + 1));
  EXPECT_EQ(opened(small_config(), folder).value()->run()->hash, whole.hash);
  EXPECT_EQ(*read_text_file(path), journal);
}

TEST(RunFolder, beginning_anew_takes_the_old_run_away_first) {  // T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  run_all(best_config(), folder, {.out = folder.file("run")});
  for (const char* name : {"model.entity", "best.entity", "report.html"})
    EXPECT_TRUE(is_file(folder.file(std::string("run/") + name))) << name;
  Json other = small_config();
  other["seed"] = 77;
  const auto killed =
      opened(other, folder, RunStart::overwrite).value()->run([](const TrainProgress& p) -> Result<Continue> {
        if (p.event == TrainEvent::BatchBegin) return fail(Code::Cancelled, "killed");
        return Continue::yes;
      });
  ASSERT_FALSE(killed);
  for (const char* name : {"model.entity", "best.entity", "report.html"})
    EXPECT_FALSE(is_file(folder.file(std::string("run/") + name))) << name;
  EXPECT_TRUE(opened(other, folder).value()->run());
}

TEST(RunFolder, a_result_says_what_the_run_and_its_epochs_took) {  // T-03
  const Folder folder;
  folder.write("blobs.csv", blobs(200, 8, 4));
  const TrainResult result = run_all(small_config(), folder);
  ASSERT_EQ(result.epoch_times_ms.size(), 4u);
  double sum = 0;
  for (const double ms : result.epoch_times_ms) {
    EXPECT_GT(ms, 0);
    sum += ms;
  }
  EXPECT_GE(result.total_time_ms, sum);
  EXPECT_LT(result.total_time_ms, 600e3);  // milliseconds, not something else
  // A resumed run has the times of the epochs since it was resumed.
  EXPECT_TRUE(stopped_at(small_config(), folder, 3).epoch_times_ms.empty());
  EXPECT_EQ(opened(small_config(), folder).value()->run()->epoch_times_ms.size(), 4u);
}

TEST(RunFolder, crossentropy_behind_a_softmax_is_told_by_any_of_its_names) {  // T-10
  const Folder folder;
  folder.write("blobs.csv", blobs(100, 8, 4));
  const auto warnings = [&](const char* loss, const char* last) {
    Json json = small_config();
    json["loss"] = loss;
    if (*last != '\0') json["network"]["layers"].push_back({{"type", last}});
    return open_run(json, folder)->warnings();
  };
  for (const char* loss : {"crossentropy", "cross_entropy_probs"}) {
    const auto said = warnings(loss, "softmax");
    ASSERT_EQ(said.size(), 1u) << loss;
    EXPECT_NE(said[0].find("through its Jacobian"), std::string::npos) << said[0];
  }
  for (const char* loss : {"softmax_crossentropy", "cross_entropy", "ce"}) {
    const auto said = warnings(loss, "softmax");
    ASSERT_EQ(said.size(), 1u) << loss;
    EXPECT_NE(said[0].find("applied twice"), std::string::npos) << said[0];
    EXPECT_TRUE(warnings(loss, "").empty()) << loss;
  }
}

// Codes of a few bits beside exact masters; the limits of masters and frozen scales are those of the beginning,
// whenever a run goes on.
TEST(RunFolder, a_run_in_a_few_bits_by_gradients_goes_on_with_the_same_bits) {  // G-69, D-36, D-37
  const Folder folder;
  folder.write("blobs.csv", blobs(400, 8, 4));
  Digest before{};
  for (const auto& [dtype, scale, name] : {std::array<const char*, 3>{"int4", "dynamic", "a"},
                                           {"int4", "frozen", "b"},
                                           {"ternary", "dynamic", "c"},
                                           {"binary", "dynamic", "d"},
                                           {"binary", "frozen", "e"}}) {
    Json json = small_config();
    json["dtype"] = dtype, json["qat_scale"] = scale;
    json["optimizer"]["learning_rate"] = 0.05;  // masters reach their limits
    json["checkpoint"] = {{"every_steps", 3}};
    const TrainResult whole = run_all(json, folder);
    EXPECT_NE(whole.hash, before);
    before = whole.hash;
    const RunOptions options{.out = folder.file(name), .start = kResume};
    for (const std::uint64_t cut : {5u, 20u, 44u}) {
      const auto crashed = open_run(json, folder, options)->run([&](const TrainProgress& p) -> Result<Continue> {
        if (p.event == TrainEvent::BatchEnd && p.step == cut) return fail(Code::Cancelled, "power cut");
        return Continue::yes;
      });
      ASSERT_FALSE(crashed);
    }
    EXPECT_EQ(run_all(json, folder, options).hash, whole.hash) << dtype;
    const auto saved = load_network(folder.file(std::string(name) + "/model.entity"));
    ASSERT_TRUE(saved) << saved.error().text();
    EXPECT_EQ(weight_hash(saved->network), whole.hash);
  }
}

// A page holds so many epochs, however many a run had.
TEST(RunFolder, ReportsOfLongRunsAreThinned) {
  const Folder folder;
  {
    auto journal = Journal::create(folder.file("journal.jsonl"));
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->write(
        {{"event", "start"}, {"numerics_version", 1}, {"config", Json::object()}, {"data", Json::array()}}));
    for (int epoch = 1; epoch <= 20000; ++epoch) {
      for (int i = 1; i >= 0; --i)
        ASSERT_TRUE(
            journal->write({{"event", "steps"}, {"step", 2 * epoch - i}, {"loss", 0.5}, {"learning_rate", 0.1}}));
      ASSERT_TRUE(
          journal->write({{"event", "epoch"}, {"epoch", epoch}, {"step", 2 * epoch}, {"loss", 0.5}, {"hash", "00"}}));
    }
    ASSERT_TRUE(journal->write({{"event", "steps"}, {"step", 40001}, {"loss", 0.25}, {"learning_rate", 0.1}}));
  }
  const auto page = report_html(folder.path);
  ASSERT_TRUE(page) << page.error().text();
  EXPECT_NE(page->find("Of 20000 epochs every 8th is shown."), page->npos);
  EXPECT_NE(page->find("40,001"), page->npos) << "steps, also of the last line";
  EXPECT_LT(page->size(), std::size_t{8} << 20);
}

// A journal of more than any text that is read whole.
TEST(RunFolder, journals_beyond_256_megabytes_are_read_line_by_line) {  // T-60
  const Folder folder;
  const std::string path = folder.file("journal.jsonl");
  JournalMark mark;
  {
    auto journal = Journal::create(path);
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->write(
        {{"event", "start"}, {"numerics_version", 1}, {"config", Json::object()}, {"data", Json::array()}}));
    const Json line{{"event", "steps"}, {"step", 5}, {"loss", 0.5}, {"pad", std::string(std::size_t{45} << 20, 'x')}};
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(journal->write(line));
    mark = *journal->sync();
    ASSERT_TRUE(journal->write({{"event", "end"}, {"step", 6}}));
  }
  ASSERT_GT(mark.bytes, std::size_t{256} << 20);
  ASSERT_TRUE(report_html(folder.path));
  const auto start = read_journal_start(path);
  ASSERT_TRUE(start);
  ASSERT_TRUE(Journal::resume(path, mark));
  EXPECT_EQ(std::filesystem::file_size(path), mark.bytes);
  auto reader = JournalReader::open(path);
  std::uint64_t lines = 0;
  for (;; ++lines) {
    const auto line = reader->next();
    ASSERT_TRUE(line) << line.error().text();
    if (!*line) break;
  }
  EXPECT_EQ(lines, 7u);
}

}  // namespace
}  // namespace loom::training_test
