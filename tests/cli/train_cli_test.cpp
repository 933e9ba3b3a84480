// loom train, replay and report as a stranger meets them: what a run leaves, bad data and configs, divergence, full
// disks, Ctrl-C, kill -9.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <thread>

#include "../support/program.h"

#include "core/json.h"

namespace loom::train_cli_test {
namespace {

using test::loom;
using test::Outcome;
using test::Program;
using test::read_all;
using test::write_all;
using Args = std::vector<std::string>;

constexpr const char* kNetwork = R"({"seed":1,"layers":[
  {"type":"dense","input_height":2,"output_height":8,"activation":"tanh"},
  {"type":"dense","input_height":8,"output_height":3,"activation":"linear"}]})";

class TrainCli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }

  // Points around three places, one class each.
  static std::string points(int rows) {
    std::string text = "x,y,kind\n";
    std::uint32_t state = 7;
    const auto next = [&] { return static_cast<double>((state = state * 1664525 + 1013904223) >> 16) / 65536 - 0.5; };
    for (int i = 0; i < rows; ++i) {
      const int kind = i % 3;
      const double x = next() + (kind == 1 ? 1.5 : 0), y = next() + (kind == 2 ? 1.5 : 0);
      text += fmt::format("{:.4f},{:.4f},{}\n", x, y, kind);
    }
    return text;
  }

  // Members of `changes` replace those of a config that works.
  std::string config(const std::string& changes = "{}", const std::string& name = "c.json") {
    Json json =
        parse_json(
            R"({"data":{"format":"csv","path":"points.csv","class_ids":true,"validation_split":0.25},"seed":5,"epochs":3,"batch_size":16,
      "shuffle":true,"loss":"softmax_crossentropy","optimizer":{"name":"adam","learning_rate":0.01}})")
            .value();
    json["network"] = parse_json(kNetwork).value();
    const auto given = parse_json(changes);
    EXPECT_TRUE(given) << given.error().text() << " in " << changes;
    if (given) json.merge_patch(*given);
    write_all(file(name), dump_json(json, 1));
    return file(name);
  }
  void SetUp() override { write_all(file("points.csv"), points(120)); }

  static Outcome train(const Args& more) {
    Args all = {"train"};
    all.insert(all.end(), more.begin(), more.end());
    if (std::ranges::find(more, "-t") == more.end()) all.insert(all.end(), {"-t", "1"});
    return loom(all);
  }
  static Json result(const Args& more) {
    Args all = more;
    all.push_back("--json");
    const Outcome run = train(all);
    EXPECT_EQ(run.status, 0) << run.err;
    return parse_json(run.out).value_or(Json());
  }
  static std::string hash_of(const Json& result) {
    const Json* hash = find(result, "hash");
    return hash == nullptr || as_string(*hash) == nullptr ? "none" : *as_string(*hash);
  }
  // One line on stderr with everything in `named`.
  static void expect_error(const Outcome& run, int status, const Args& named) {
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(run.err.rfind("loom: ", 0), 0u) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    for (const std::string& part : named)
      EXPECT_NE(run.err.find(part), std::string::npos) << run.err << "does not name " << part;
  }

  test::TempFolder folder_;
};

TEST_F(TrainCli, a_run_leaves_journal_model_timings_and_report_and_replays) {  // T-01
  const Json done = result({config()});
  EXPECT_EQ(done["stop_reason"], "finished");
  EXPECT_EQ(done["steps"], 18);
  for (const char* name :
       {"journal.jsonl", "timings.jsonl", "config.json", "checkpoint.entity", "model.entity", "report.html"})
    EXPECT_TRUE(is_file(file(std::string("c.run/") + name))) << name;
  const Outcome proof = loom({"replay", file("c.run")});
  EXPECT_EQ(proof.status, 0) << proof.err;
  EXPECT_TRUE(proof.out.starts_with("EQUAL  ")) << proof.out;
  EXPECT_NE(proof.out.find(hash_of(done)), std::string::npos) << proof.out;
  // A folder that holds a run is not overwritten unasked.
  expect_error(train({config()}), 2, {"c.run holds a run", "--resume", "--overwrite"});
  EXPECT_EQ(hash_of(result({config(), "--overwrite"})), hash_of(done));
  EXPECT_EQ(hash_of(result({config(), "--out", file("other"), "-t", "3"})), hash_of(done));
  // Another folder for relative paths.
  std::filesystem::create_directory(file("data"));
  std::filesystem::rename(file("points.csv"), file("data/points.csv"));
  EXPECT_EQ(hash_of(result({config(), "--folder", file("data"), "--overwrite"})), hash_of(done));
}

// An ONNX model is a graph whose weights learn; what was trained is saved, runs and replays.
TEST_F(TrainCli, AnOnnxModelIsFineTuned) {
  const std::string once = R"({"epochs":1,"network":)" + std::string(kNetwork) + "}";
  result({config(once)});
  const Outcome exported = loom({"export", file("c.run/model.entity"), file("m.onnx"), "--input-shape", "2"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  const auto with = [&](const std::string& keys, int epochs, const std::string& name) {
    return config(
        fmt::format(R"({{"epochs":{},"network":{{"layers":[{{"type":"graph","graph":"m.onnx"{}}}]}}}})", epochs, keys),
        name);
  };
  const auto loss = [](const Json& done) { return as_number(done["validation"]["loss"]).value_or(-1); };
  const std::string all = R"(,"train_weights":["*"])";
  const Json first = result({with(all, 1, "first.json")}), last = result({with(all, 30, "last.json")});
  EXPECT_GT(loss(first), 0);
  EXPECT_LT(loss(last), 0.7 * loss(first)) << dump_json(first) << dump_json(last);
  for (const char* const threads : {"2", "7"})
    EXPECT_EQ(hash_of(result({with(all, 30, "last.json"), "--overwrite", "-t", threads})), hash_of(last)) << threads;
  const Outcome proof = loom({"replay", file("last.run")});
  EXPECT_EQ(proof.status, 0) << proof.err;
  std::filesystem::remove(file("m.onnx"));
  const Outcome shown = loom({"inspect", file("last.run/model.entity")});
  EXPECT_EQ(shown.status, 0) << shown.err;
}

// All operations that carry no gradient, in one line and before the first step.
TEST_F(TrainCli, AGraphWithoutGradientsIsRefusedByName) {
  const std::string graph =
      R"({"epochs":1,"network":{"layers":[{"type":"graph","train_weights":["*"],"graph":{"inputs":[
      {"name":"x","type":"float32","shape":[-1,2]}],"outputs":["y"],
    "constants":[{"name":"w","type":"float32","shape":[2,3]},{"name":"a","type":"int64","shape":[],"values":[1]}],
    "nodes":[{"op":"MatMul","inputs":["x","w"],"outputs":["m"]},
      {"op":"CumSum","name":"running","inputs":["m","a"],"outputs":["c"]},
      {"op":"LpNormalization","name":"unit","inputs":["c"],"outputs":["y"]}]}}]}})";
  expect_error(train({config(graph)}), 3,
               {"train_weights", "no gradient passes through CumSum \"running\", LpNormalization \"unit\""});
}

TEST_F(TrainCli, the_report_stands_alone_and_escapes_any_text) {  // T-50
  const std::string hostile = "</pre><script>alert('x')</script>\"&";
  Json names = {hostile, "two", "three"};
  const std::string path = config(fmt::format(R"({{"data":{{"class_names":{}}}}})", dump_json(names)), "a<b>&.json");
  ASSERT_EQ(train({path}).status, 0);
  const std::string html = read_all(file("a<b>&.run/report.html"));
  ASSERT_GT(html.size(), 5000u);
  for (const char* bad : {"<script", "http:", "https:", " src=", " href=", "url(", "@import", "<b>&.run"})
    EXPECT_EQ(html.find(bad), std::string::npos)
        << bad << " at " << html.substr(html.find(bad) == html.npos ? 0 : html.find(bad), 80);
  for (const char* part :
       {"default-src 'none'", "&lt;script&gt;", "Confusion matrix", "layers.0", "layers.1", "[1, 2]", "Learning rate",
        "SHA-256", "a&lt;b&gt;&amp;.run", "prefers-color-scheme:dark", "@media print", "threads"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  // The report has every epoch's whole hash.
  std::istringstream lines(read_all(file("a<b>&.run/journal.jsonl")));
  int epochs = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json json = parse_json(line).value();
    if (json["event"] != "epoch") continue;
    ++epochs;
    EXPECT_NE(html.find(*as_string(json["hash"])), std::string::npos);
  }
  EXPECT_EQ(epochs, 3);
  // The same page again, and elsewhere.
  EXPECT_EQ(loom({"report", file("a<b>&.run"), "-o", file("page.html")}).status, 0);
  EXPECT_EQ(read_all(file("page.html")), html);
}

TEST_F(TrainCli, a_report_shows_gaps_of_cells_and_what_is_missing) {  // T-50
  std::filesystem::create_directory(file("r"));
  write_all(file("r/journal.jsonl"),
            "{\"event\":\"start\",\"numerics_version\":1,\"config\":{},\"folder\":\"\",\"data\":[],\"parameters\":3,"
            "\"hash\":\"00\"}\n"
            "{\"event\":\"cells\",\"step\":1,\"cells\":[{\"path\":\"layers.0\",\"budget\":0.5,\"gap\":0.25,\"skipped\":"
            "false,\"update_norm\":0.125}]}\n"
            "{\"event\":\"cells\",\"step\":2,\"cells\":[{\"path\":\"layers.0\",\"budget\":0.75,\"gap\":null,"
            "\"skipped\":true,\"update_norm\":\"x\"},{},7]}\n");
  ASSERT_EQ(loom({"report", file("r")}).status, 0);
  const std::string html = read_all(file("r/report.html"));
  for (const char* part : {"Tween", "layers.0", "0.75", "timings.jsonl is missing", "No table of layers", "unfinished"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  expect_error(loom({"report", file("nothing")}), 3, {"nothing/journal.jsonl"});
  write_all(file("r/journal.jsonl"), "{}\n");
  expect_error(loom({"report", file("r")}), 3, {"first line"});
  write_all(file("r/journal.jsonl"), "no json\n");
  expect_error(loom({"report", file("r")}), 3, {"line 1"});
}

TEST_F(TrainCli, bad_configs_name_the_key) {  // T-01
  const std::pair<const char*, Args> cases[] = {
      {R"({"epochs":0})", {"c.json", "epochs", "from 1"}},
      {R"({"epoch":3})", {"c.json", "epoch", "unknown key", "epochs"}},
      {R"({"loss":"softmax_crossentropi"})", {"c.json", "softmax_crossentropi", "softmax_crossentropy"}},
      {R"({"optimizer":{"name":"adan"}})", {"c.json", "adan", "adam"}},
      {R"({"optimizer":{"name":"adam","beta":1}})", {"/optimizer/beta", "beta1"}},
      {R"({"schedule":{"name":"cosine","unit":"hour"}})", {"/schedule/unit"}},
      {R"({"data":{"format":"cvs"}})", {"cvs", "csv"}},
      {R"({"data":{"path":null}})", {"/data/path"}},
      {R"({"data":{"clases":3}})", {"/data/clases"}},
      {R"({"data":{"validation_split":2}})", {"validation"}},
      {R"({"network":7})", {"network"}},
      {R"({"network":{"layers":[{"type":"dense","input_height":2,"output_height":3,"activation":7}]}})",
       {"c.json: /network/layers/0/activation"}},
      {R"({"network":{"layers":[{"type":"dense","input_height":5,"output_height":3}]}})",
       {"c.json: /network/layers/0: "}},
      {R"({"optimizer":"lbfgs","clip_norm":1})", {"c.json: lbfgs"}},
      {R"({"network":"missing.json"})", {"missing.json"}},
      {R"({"dtype":"int3"})", {"int3"}},
      {R"({"batch_size":200,"drop_last":true})", {"200", "90 samples"}},
      {R"({"learning_rate":-1,"optimizer":"sgd"})", {"c.json: /learning_rate"}},
      {R"({"loss":{"name":"mse","label_smoothing":0.1}})", {"c.json", "mse has no label_smoothing"}},
      {R"({"schedule":{"name":"constant","gamma":0.5}})", {"c.json", "schedule constant has no gamma"}},
      {R"({"early_stop":{"metric":"mae"}})", {"c.json: /early_stop/metric", "accuracy"}},
      {R"({"early_stop":{},"data":{"validation_split":0}})", {"c.json: /early_stop", "/data/validation"}},
      {R"({"tween":{"mode":"layerwise"},"optimizer":{"name":"adam"}})", {"c.json: tween", "mirror", "dtp"}},
      {R"({"mode":"cuda"})", {"c.json: /mode", "cuda", "cpu"}},
      {R"({"mode":6})", {"c.json: /mode", "6"}},
      {R"({"data":{"normalise":{"by":"element"}}})", {"c.json: /data/normalise"}},
  };
  for (const auto& [changes, named] : cases) {
    SCOPED_TRACE(changes);
    const Outcome run = train({config(changes)});
    EXPECT_TRUE(run.status == 2 || run.status == 3) << run.status;
    expect_error(run, run.status, named);
    EXPECT_FALSE(is_directory(file("c.run"))) << "a run folder for nothing";
  }
  write_all(file("c.json"), "{\"epochs\": }");
  expect_error(train({file("c.json")}), 3, {"c.json", "byte"});
  expect_error(train({file("none.json")}), 3, {"none.json"});
}

TEST_F(TrainCli, bad_data_names_file_row_and_column) {  // T-01
  const auto with = [&](const std::string& rows, const std::string& changes = "{}") {
    write_all(file("points.csv"), "x,y,kind\n0.1,0.2,0\n" + rows);
    return train({config(changes)});
  };
  expect_error(with("0.5,oops,1\n"), 3, {"points.csv", "line 3", "column 2", "(y)", "oops"});
  expect_error(with("0.5,1\n"), 3, {"points.csv", "line 3", "2 fields", "3"});
  expect_error(with("0.5,nan,1\n"), 3, {"points.csv", "line 3", "column 2"});
  expect_error(with("0.5,0.5,1.5\n"), 3, {"points.csv", "line 3", "column 3", "class id"});
  expect_error(with("0.5,0.5,7\n", R"({"data":{"class_names":["a","b","c"]}})"), 3,
               {"points.csv", "line 3", "column 3", "7", "0 to 2"});
  expect_error(with("", R"({"data":{"target_column":"knid"}})"), 3, {"knid", "kind"});
  expect_error(with("", R"({"data":{"path":"absent.csv"}})"), 3, {"absent.csv"});
  write_all(file("points.csv"), "x,y,kind\n");
  expect_error(train({config()}), 3, {"points.csv", "no records"});
  // IDX: a header that promises more than there is; as many labels as images.
  const auto idx = [](std::string magic, std::string extents, std::size_t bytes) {
    return magic + extents + std::string(bytes, '\1');
  };
  write_all(file("x.idx"), idx({0, 0, 8, 2}, {0, 0, 0, 4, 0, 0, 0, 2}, 7));
  write_all(file("y.idx"), idx({0, 0, 8, 1}, {0, 0, 0, 3}, 3));
  const char* images =
      R"({"data":{"format":"idx","inputs":"x.idx","targets":"y.idx","path":null,"class_ids":null,"validation_split":0}})";
  expect_error(train({config(images)}), 3, {"x.idx"});
  write_all(file("x.idx"), idx({0, 0, 8, 2}, {0, 0, 0, 4, 0, 0, 0, 2}, 8));
  expect_error(train({config(images)}), 3, {"4", "3"});
}

TEST_F(TrainCli, a_network_that_does_not_fit_the_data_is_told_before_training) {  // T-01
  const auto layers = [&](const char* spec) {
    return train({config(fmt::format(R"({{"network":{{"seed":1,"layers":[{}]}}}})", spec))});
  };
  expect_error(layers(R"({"type":"dense","input_height":2,"output_height":2})"), 3, {"3 classes", "2", "points.csv"});
  expect_error(layers(R"({"type":"dense","input_height":5,"output_height":3})"), 3, {"/network/layers/0: ", "5", "2"});
  expect_error(train({config(R"({"data":{"target_kind":"values","class_ids":null},"loss":"mse"})")}), 3,
               {"[1, 3]", "[1]"});
  EXPECT_FALSE(is_directory(file("c.run")));
  // A batch that is larger than the data is all of it.
  EXPECT_EQ(result({config(R"({"batch_size":5000})")})["steps"], 3);
}

TEST_F(TrainCli, a_training_that_diverges_stops_names_the_layer_and_keeps_the_last_good_state) {  // T-04
  const std::string path = config(R"({"optimizer":{"name":"sgd","learning_rate":1e12},"network":{"layers":[
    {"type":"dense","input_height":2,"output_height":8,"activation":"linear"},{"type":"dense","input_height":8,"output_height":3,"activation":"linear"}]}})");
  const Outcome run = train({path});
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_NE(run.err.find("diverged"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("layers."), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("learning rate"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("checkpoint.entity"), std::string::npos) << run.err;
  EXPECT_FALSE(is_file(file("c.run/model.entity")));
  EXPECT_EQ(loom({"inspect", file("c.run/checkpoint.entity")}).status, 0);
  EXPECT_EQ(loom({"replay", file("c.run")}).status, 0) << "a run that diverged is proved too";
  EXPECT_NE(read_all(file("c.run/report.html")).find("diverged"), std::string::npos);
}

TEST_F(TrainCli, a_loss_that_explodes_is_told) {  // T-04
  std::string rows = "x,t\n";
  for (int i = 0; i < 64; ++i) rows += fmt::format("{},{}\n", i % 8, 3 * (i % 8));
  write_all(file("points.csv"), rows);
  const Outcome run = train({config(
      R"({"data":{"target_kind":"values","class_ids":null,"validation_split":0},"loss":"mse","batch_size":8,"epochs":6,
    "network":{"layers":[{"type":"dense","input_height":1,"output_height":1,"activation":"linear"}]},"optimizer":{"name":"sgd","learning_rate":0.15}})")});
  EXPECT_NE(run.err.find("may be too high"), std::string::npos) << run.err;
  EXPECT_NE(read_all(file("c.run/report.html")).find("may be too high"), std::string::npos);
}

TEST_F(TrainCli, settings_out_of_range_are_reported_at_their_keys) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"learning_rate":1e13})", ": /learning_rate: expected a number from 0 to"},
      {R"({"optimizer":{"name":"adam","learning_rate":1e13}})", ": /optimizer/learning_rate: expected a number from 0"},
      {R"({"schedule":{"name":"cosine","total":-5}})", ": /schedule/total: expected an integer of at least 1, got -5"},
      {R"({"schedule":{"name":"cosine","total":0}})", ": /schedule/total: expected an integer of at least 1, got 0"},
      {R"({"workers":4})", ": /workers: expected an integer from 1 to 1, since each worker computes"},
      {R"({"tween":{"momentum":1}})", ": /tween/momentum: expected a number from 0 to below 1, got 1"},
      {R"({"tween":{"momentum":"x","slope":3}})", "got \"x\"; /tween/slope: \"3\" is unknown"},
      {R"({"network":{"layers":[{"type":"dense"}]}})",
       ": /network/layers/0/in_features: is missing; /network/layers/0/out_features: is missing"},
      {R"({"network":{"layers":[{"type":"dense","in_features":2,"out_features":3,"learning_rate_scale":-1}]}})",
       ": /network/layers/0/learning_rate_scale: expected a number from 0 to"}};
  for (const auto& [setting, said] : wrong) expect_error(train({config(setting)}), 3, {said});
  write_all(file("points.csv"), "x,y,kind\n1,2,0\n2,1,2\n3,3,0\n1,0,1\n");
  expect_error(train({config(R"({"data":{"class_ids":null,"target_kind":"values","validation_split":0},"loss":"bce",
    "network":{"layers":[{"type":"dense","in_features":2,"out_features":1}]}})"),
                      "-q"}),
               3, {"points.csv: bce: target ", " is 2, expected a number from 0 to 1"});
}

TEST_F(TrainCli, a_checkpoint_of_another_training_is_refused_with_the_first_difference) {  // T-60
  result({config()});
  expect_error(train({config(R"({"batch_size":8})"), "--resume"}), 3,
               {"checkpoint.entity", "another run", "/batch_size", "16", "8"});
  expect_error(train({config(R"({"network":{"seed":9}})"), "--resume"}), 3, {"/network/seed", "1", "9"});
  expect_error(train({config(R"({"optimizer":"sgd"})"), "--resume"}), 3, {"/optimizer"});
  // More epochs are no other training.
  EXPECT_EQ(result({config(R"({"epochs":5})"), "--resume"})["steps"], 30);
  EXPECT_EQ(loom({"replay", file("c.run")}).status, 0);
  // Torn files, and files of another run.
  const std::string whole = read_all(file("c.run/checkpoint.entity"));
  write_all(file("c.run/checkpoint.entity"), whole.substr(0, whole.size() / 2));
  expect_error(train({config(R"({"epochs":5})"), "--resume"}), 3, {"checkpoint.entity"});
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  write_all(file("c.run/checkpoint.entity"), flipped);
  expect_error(train({config(R"({"epochs":5})"), "--resume"}), 3, {"checkpoint.entity"});
  std::filesystem::copy_file(file("c.run/model.entity"), file("c.run/checkpoint.entity"),
                             std::filesystem::copy_options::overwrite_existing);
  expect_error(train({config(R"({"epochs":5})"), "--resume"}), 3, {"checkpoint.entity", "no checkpoint"});
}

TEST_F(TrainCli, a_full_disk_loses_nothing) {  // T-60
  const std::string six = config(R"({"epochs":6})");
  const std::string expected = hash_of(result({six, "--out", file("straight")}));
  result({six, "--epochs", "3"});
  const std::string before = read_all(file("c.run/checkpoint.entity"));
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit tight{before.size() - 1, old.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_DFL);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Outcome full = train({six, "--resume", "-q"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  expect_error(full, 3, {"checkpoint.entity"});
  EXPECT_EQ(read_all(file("c.run/checkpoint.entity")), before);
  EXPECT_EQ(test::leftovers(file("c.run")), std::vector<std::string>());
  EXPECT_EQ(hash_of(result({six, "--resume"})), expected);
}

TEST_F(TrainCli, ctrl_c_and_kill_9_then_resume_give_the_bits_of_an_uninterrupted_run) {  // T-60
  write_all(file("points.csv"), points(1200));
  const std::string path =
      config(R"({"epochs":40,"batch_size":8,"checkpoint":{"every_steps":50},"journal":{"hash_every":25},
    "optimizer":{"name":"adam","learning_rate":0.005},"schedule":"cosine"})");
  const std::string expected = hash_of(result({path, "--out", file("straight")}));
  const auto start = [&](const Args& more) {
    Args all = {test::loom_binary(), "train", path, "-t", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  {
    Program program(start({}));
    program.start();
    ASSERT_TRUE(program.wait_for_text("epoch 2/")) << program.output();
    program.interrupt();
    const Outcome stopped = program.finish();
    EXPECT_EQ(stopped.status, 130) << stopped.err;
    EXPECT_NE(stopped.err.find("--resume goes on"), std::string::npos) << stopped.err;
  }
  EXPECT_NE(read_all(file("c.run/report.html")).find("unfinished"), std::string::npos);
  {
    Program program(start({"--resume"}));
    program.start();
    ASSERT_TRUE(program.wait_for_text("epoch ")) << program.output();
  }  // SIGKILL
  EXPECT_EQ(loom({"report", file("c.run")}).status, 0) << "of a run that was killed";
  EXPECT_EQ(hash_of(result({path, "--resume"})), expected);
  EXPECT_EQ(read_all(file("c.run/journal.jsonl")), read_all(file("straight/journal.jsonl")))
      << "the journal knows nothing of interruptions";
  EXPECT_EQ(read_all(file("c.run/dna.jsonl")), read_all(file("straight/dna.jsonl"))) << "nor does the record of drift";
  EXPECT_EQ(std::ranges::count(read_all(file("c.run/dna.jsonl")), '\n'), 41);
  EXPECT_EQ(loom({"replay", file("c.run")}).status, 0);
}

TEST_F(TrainCli, a_second_process_in_the_folder_is_told_and_harms_nothing) {  // T-60
  write_all(file("points.csv"), points(1200));
  const std::string path = config(R"({"epochs":60,"batch_size":8,"checkpoint":{"every_steps":20}})");
  const std::string expected = hash_of(result({path, "--out", file("straight")}));
  Program first({test::loom_binary(), "train", path, "-t", "1"});
  first.start();
  ASSERT_TRUE(first.wait_for_text("epoch 2/")) << first.output();
  for (const char* how : {"--resume", "--overwrite", "-q"})
    expect_error(train({path, how}), 1, {"c.run: another process"});
  EXPECT_EQ(loom({"report", file("c.run"), "-o", file("page.html")}).status, 0);
  const Outcome ended = first.finish();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find(expected), std::string::npos) << ended.out;
  EXPECT_EQ(read_all(file("c.run/journal.jsonl")), read_all(file("straight/journal.jsonl")));
}

TEST_F(TrainCli, data_that_changed_and_journals_that_do_not_fit_are_refused) {  // T-60
  result({config(), "--epochs", "2"});
  const std::string journal = read_all(file("c.run/journal.jsonl")), data = read_all(file("points.csv"));
  write_all(file("points.csv"), points(120).replace(10, 1, "5"));
  expect_error(train({config(), "--resume"}), 3, {"checkpoint.entity", "another run", "/data/0"});
  write_all(file("points.csv"), data);
  write_all(file("c.run/journal.jsonl"), journal.substr(0, journal.find('\n') + 1));
  expect_error(train({config(), "--resume"}), 3, {"journal.jsonl", "before the checkpoint"});
  std::filesystem::remove(file("c.run/checkpoint.entity"));
  write_all(file("c.run/journal.jsonl"), journal);
  expect_error(train({config(), "--resume"}), 3, {"checkpoint.entity is missing"});
  EXPECT_EQ(read_all(file("c.run/journal.jsonl")), journal);
  expect_error(train({config(), "--resume", "--overwrite"}), 2, {"--resume"});
}

// Characters that a line shows, without its escapes.
int width_of(const std::string& line) {
  int width = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (i < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) == 0) ++i;
      continue;
    }
    width += (static_cast<unsigned char>(line[i]) & 0xc0) != 0x80 && line[i] != '\r';
  }
  return width;
}

TEST_F(TrainCli, watch_fits_the_terminal_and_is_plain_lines_elsewhere) {  // T-51
  write_all(file("points.csv"), points(600));
  const std::string path = config(R"({"epochs":60,"batch_size":4})");
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const std::string name = ptsname(terminal);
  // else a read fails before the program has opened it
  const int keep = open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  winsize size{24, 80, 0, 0};
  ASSERT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
  setenv("TERM", "xterm", 1);
  std::string shown;
  std::thread reader([&] {
    char buffer[4096];
    bool resized = false;
    for (ssize_t n; (n = read(terminal, buffer, sizeof buffer)) > 0;) {
      shown.append(buffer, static_cast<std::size_t>(n));
      if (shown.find("END OF TEST") != shown.npos) break;
      if (!resized && shown.size() > 4000) {
        winsize small{12, 50, 0, 0};
        ioctl(terminal, TIOCSWINSZ, &small);
        resized = true;
      }
    }
  });
  Program program({test::loom_binary(), "train", path, "--watch", "-t", "1"});
  program.stdout_file = name;
  program.start();
  const Outcome run = program.finish();
  EXPECT_EQ(write(keep, "END OF TEST", 11), 11);
  reader.join();
  close(keep), close(terminal);
  EXPECT_EQ(run.status, 0) << run.err;
  int pictures = 0, columns = 80, rows = 24;
  for (std::size_t at = 0, end; (at = shown.find("\x1b[H", at)) != shown.npos; at = end) {
    end = std::min(shown.find("\x1b[H", at + 3), shown.find("\x1b[J", at));
    if (end == shown.npos) break;
    const std::string picture = shown.substr(at, end - at);
    if (pictures > 0 && at >= 4 && shown.substr(at - 4, 4) == "\x1b[2J") columns = 50, rows = 12;
    ++pictures;
    std::istringstream lines(picture);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(width_of(line), columns) << line;
    EXPECT_LT(count, rows) << picture;
  }
  EXPECT_GE(pictures, 2);
  for (const char* part : {"loss", "validation loss", "accuracy", "rate", "ETA", "hash", "Ctrl-C", "⠒"})
    EXPECT_NE(shown.find(part), std::string::npos) << part;
  const Outcome plain = train({path, "--watch", "--overwrite", "--epochs", "2"});
  EXPECT_EQ(plain.status, 0);
  EXPECT_EQ(plain.out.find('\x1b'), std::string::npos);
  EXPECT_NE(plain.out.find("epoch 2/2  loss"), std::string::npos) << plain.out;
}

}  // namespace
}  // namespace loom::train_cli_test
