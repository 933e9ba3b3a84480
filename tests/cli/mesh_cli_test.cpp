// loom mesh, ensemble and adapt.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/json.h"
#include "support/program.h"

namespace loom::mesh_cli_test {
namespace {

using test::loom;
using test::Outcome;

class Watched : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("loom_mesh_cli_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text = {}) const {
    const std::string path = (folder_ / name).string();
    if (!text.empty()) test::write_all(path, text);
    return path;
  }
  static Json json_of(const std::vector<std::string>& args) {
    std::vector<std::string> all = args;
    all.insert(all.end(), {"--json", "-q"});
    const Outcome run = loom(all);
    EXPECT_EQ(run.status, 0) << run.err;
    return parse_json(run.out).value_or(Json::object());
  }
  static void expect_refused(const std::vector<std::string>& args, int status, const std::string& part) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, status) << run.out << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  }

 private:
  std::filesystem::path folder_;
};

using MeshCli = Watched;
using EnsembleCli = Watched;
using AdaptCli = Watched;

constexpr const char* kNet = R"({"seed":3,"input_shape":[3],"layers":[
  {"type":"dense","input_height":3,"output_height":4,"activation":"tanh"},
  {"type":"dense","input_height":4,"output_height":2}]})";

TEST_F(MeshCli, AHeldInputSettlesToTheBitsOfRun) {
  const std::string net = file("n.json", kNet), x = file("x.json", "[[1,2,3],[-1,0,1]]");
  const Json plain = json_of({"run", net, "-i", x}),
             mesh = json_of({"mesh", net, "-i", x, "--ticks", "4", "--outputs"});
  ASSERT_EQ(mesh["ticks"].size(), 4u);
  EXPECT_EQ(mesh["ticks"][0]["has_output"], false);
  for (std::size_t t = 1; t < 4; ++t) {
    EXPECT_EQ(mesh["ticks"][t]["output_hash"], plain["hash"]) << t;
    EXPECT_EQ(mesh["ticks"][t]["output"], plain["output"]) << t;
  }
  EXPECT_EQ(mesh["hash"], mesh["ticks"][3]["state_hash"]);
  for (const char* threads : {"1", "3"})
    EXPECT_EQ(json_of({"mesh", net, "-i", x, "--ticks", "4", "-t", threads})["hash"], mesh["hash"]);
  EXPECT_EQ(json_of({"mesh", net, "-i", x, "--ticks", "4", "--isa", "scalar"})["hash"], mesh["hash"]);
}

TEST_F(MeshCli, EveryWayOfInputGivesAnotherState) {
  const std::string net = file("n.json", kNet);
  const std::string two = file("two.json", "[[[1,2,3]],[[3,2,1]]]"), one = file("one.json", "[[1,2,3]]");
  const Json by_tick = json_of({"mesh", net, "-i", two, "--by-tick", "--outputs"});
  EXPECT_EQ(by_tick["ticks"].size(), 2u);
  EXPECT_EQ(by_tick["ticks"][0], json_of({"mesh", net, "-i", one, "--outputs"})["ticks"][0]);
  std::set<std::string> hashes{by_tick["hash"]};
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"-i", one}, {"-i", one, "--pulse"}, {"--constant", "0.5"}, {"--seed", "4"}, {}}) {
    std::vector<std::string> args{"mesh", net, "--ticks", "2"};
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_TRUE(hashes.insert(json_of(args)["hash"]).second) << more.size();
  }
  EXPECT_EQ(json_of({"mesh", net, "--batch", "5"})["input_shape"], Json({5, 3}));
}

TEST_F(MeshCli, AStateThatWasSavedGoesOn) {
  const std::string net = file("n.json", kNet), state = file("state");
  const Json whole = json_of({"mesh", net, "--ticks", "5"});
  json_of({"mesh", net, "--ticks", "2", "--save-state", state});
  const Json rest = json_of({"mesh", net, "--ticks", "3", "--state", state});
  EXPECT_EQ(rest["hash"], whole["hash"]);
  // The state reads on what it held, whatever that was.
  const std::string held = file("held");
  json_of({"mesh", net, "--constant", "0.25", "--ticks", "2", "--save-state", held});
  EXPECT_EQ(json_of({"mesh", net, "--state", held, "--ticks", "3"})["hash"],
            json_of({"mesh", net, "--constant", "0.25", "--ticks", "5"})["hash"]);
  EXPECT_NE(json_of({"mesh", net, "--state", held, "--ticks", "3", "--seed", "0"})["hash"],
            json_of({"mesh", net, "--state", held, "--ticks", "3"})["hash"]);
  EXPECT_EQ(rest["ticks"][0]["tick"], 3);
  expect_refused({"mesh", net, "--save-state", state}, 2, "--overwrite");
  expect_refused({"mesh", net, "--state", file("bad", "nonsense")}, 3, "bad");
}

TEST_F(MeshCli, LearningMovesTheOutputTowardsTheTargets) {
  const std::string net = file("n.json", kNet), x = file("x.json", "[[1,2,3]]"), t = file("t.json", "[[0.5,-0.5]]");
  const std::vector<std::string> learn = {"mesh", net, "-i", x, "--targets", t, "--ticks", "60", "--learn"};
  const Json run = json_of(learn);
  EXPECT_LT(run["ticks"][59]["error"].get<double>(), run["ticks"][1]["error"].get<double>() / 4);
  std::vector<std::string> again = learn;
  again.insert(again.end(), {"-t", "3", "-o", file("learnt.entity")});
  EXPECT_EQ(json_of(again)["weights_hash"], run["weights_hash"]);
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--learning-rate", "0.01"},
                                               {"--through", "1"},
                                               {"--tween", file("tween.json", R"({"mode":"layerwise"})")}}) {
    std::vector<std::string> args = learn;
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_NE(json_of(args)["weights_hash"], run["weights_hash"]) << more[0];
  }
  const Json after = json_of({"run", file("learnt.entity"), "-i", x});
  EXPECT_NEAR(after["output"][0][0].get<double>(), 0.5, 0.3);
}

// The expected value is the derivative by hand: 2 (y - t) x for a dense layer of one output.
TEST_F(MeshCli, BackwardGivesGradientsThroughTheTicks) {
  const std::string plain =
      file("d.json", R"({"seed":1,"layers":[{"type":"dense","input_height":2,"output_height":1}]})");
  const std::string x = file("x.json", "[[3,4]]"), t = file("t.json", "[[1]]");
  const Json run = json_of({"mesh", plain, "-i", x, "--targets", t, "--backward"});
  const double y = run["ticks"][0]["output"][0][0].get<double>();
  ASSERT_FALSE(run["gradients"].empty());
  EXPECT_EQ(run["gradients"][0]["weight"], "layers.0.weight");
  EXPECT_NEAR(run["gradients"][0]["norm"].get<double>(), std::abs(2 * (y - 1) * 5), 1e-5);
  const std::string net = file("n.json", kNet), u = file("u.json", "[[1,2]]");
  EXPECT_NE(json_of({"mesh", net, "--ticks", "4", "--targets", u, "--backward", "--through", "1"})["gradients"],
            json_of({"mesh", net, "--ticks", "4", "--targets", u, "--backward"})["gradients"]);
}

TEST_F(MeshCli, CtrlCKeepsTheStateOfTheTicksBefore) {
  const std::string net = file("n.json", kNet), state = file("state");
  test::Program run({test::loom_binary(), "mesh", net, "--ticks", "1000000", "--save-state", state, "-q"});
  run.start();
  ASSERT_TRUE(run.wait_for_text("tick 3 "));
  run.interrupt();
  const Outcome outcome = run.finish();
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  const std::size_t ticks = static_cast<std::size_t>(std::ranges::count(outcome.out, '\n')) - 1;  // and the output
  ASSERT_GT(ticks, 2u);
  const Json straight = json_of({"mesh", net, "--ticks", std::to_string(ticks + 1)});
  EXPECT_EQ(json_of({"mesh", net, "--state", state, "--ticks", "1"})["hash"], straight["hash"]);
}

TEST_F(MeshCli, ContradictionsAreRefusedInOneLine) {
  const std::string net = file("n.json", kNet), x = file("x.json", "[[1,2,3]]"), t = file("t.json", "[[0.5,-0.5]]");
  expect_refused({"mesh", net, "--targets", t}, 2, "--targets has no effect");
  expect_refused({"mesh", net, "--learn"}, 2, "--targets");
  expect_refused({"mesh", net, "--learning-rate", "1"}, 2, "--learning-rate has no effect");
  expect_refused({"mesh", net, "-o", file("y.entity")}, 2, "--output has no effect");
  expect_refused({"mesh", net, "--outputs", "--json", "--ticks", "1000000", "--max-memory", "1M", "-q"}, 4,
                 "1000000 ticks");
  expect_refused({"mesh", net, "--outputs"}, 2, "--outputs has no effect");
  expect_refused({"mesh", net, "--through", "2"}, 2, "--through has no effect");
  expect_refused({"mesh", net, "--by-tick"}, 2, "--by-tick");
  expect_refused({"mesh", net, "--constant", "1", "--seed", "2"}, 2, "--seed");
  expect_refused({"mesh", net, "-i", x, "--constant", "1"}, 2, "--constant");
  expect_refused({"mesh", net, "-i", x, "--targets", t, "--learn", "--backward"}, 2, "--backward");
  const std::string y = file("y.json");
  expect_refused({"mesh", net, "-i", x, "--targets", t, "--learn", "-o", y, "--save-state", y, "-q"}, 2, "one file");
  expect_refused({"mesh", net, "-i", x, "--targets", file("w.json", "[[1,2,3]]"), "--backward", "--ticks", "3", "-q"},
                 3, "w.json");
  expect_refused({"mesh", net, "-i", file("bad.json", "[[1,2]]"), "-q"}, 3, "2 input features");
}

TEST_F(EnsembleCli, MeanVoteAndMatchesOfThreeNetworks) {
  std::vector<std::string> nets;
  for (int i = 0; i < 3; ++i)
    nets.push_back(file(
        "n" + std::to_string(i) + ".json",
        R"({"seed":)" + std::to_string(i + 1) + R"(,"layers":[{"type":"dense","input_height":2,"output_height":2}]})"));
  const std::string x = file("x.json", R"({"inputs":[[1,0],[0,1],[1,1],[-1,2]],"targets":[0,1,0,1]})");
  std::vector<Json> single;
  for (const std::string& n : nets)
    single.push_back(json_of({"run", n, "-i", file("i.json", "[[1,0],[0,1],[1,1],[-1,2]]")}));
  std::vector<std::string> args{"ensemble", nets[0], nets[1], nets[2], "-i", x};
  const Json mean = json_of(args);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 2; ++c) {
      double sum = 0;
      for (const Json& one : single) sum += one["output"][r][c].get<double>();
      EXPECT_DOUBLE_EQ(mean["output"][r][c].get<double>(), sum / 3);
    }
  args.insert(args.end(), {"--mode", "vote"});
  const Json vote = json_of(args);
  for (std::size_t r = 0; r < 4; ++r) {
    int ones = 0;
    for (const Json& one : single) ones += one["output"][r][1].get<double>() > one["output"][r][0].get<double>();
    EXPECT_EQ(vote["classes"][r], ones >= 2 ? 1 : 0);
  }
  ASSERT_EQ(vote["matches"].size(), 3u);
  for (const Json& match : vote["matches"]) {
    const auto right = [&](std::size_t m, std::size_t r) {
      const Json& y = single[m]["output"][r];
      return (y[1].get<double>() > y[0].get<double>() ? 1 : 0) == (r % 2);
    };
    double either = 0, both = 0, in_a = 0, in_b = 0;
    for (std::size_t r = 0; r < 4; ++r) {
      const bool a = right(match["a"], r), b = right(match["b"], r);
      either += a || b, both += a && b, in_a += a, in_b += b;
    }
    EXPECT_DOUBLE_EQ(match["coverage"].get<double>(), either / 4);
    EXPECT_DOUBLE_EQ(match["overlap"].get<double>(), both / 4);
    if (in_a * in_b > 0) {
      EXPECT_NEAR(match["cosine"].get<double>(), both / std::sqrt(in_a * in_b), 1e-12);
    }
  }
  args.insert(args.end(), {"--weights", "0,0,5"});
  const Json third = json_of(args);
  EXPECT_EQ(third["accuracy"], third["members"][2]["accuracy"]);
  EXPECT_EQ(json_of({"ensemble", nets[0], nets[1], "-i", x, "--min-coverage", "1"})["matches"].size() <= 1, true);
}

TEST_F(EnsembleCli, WrongUseIsRefusedInOneLine) {
  const std::string a = file("a.json", kNet), b = file("b.json", R"({"input_shape":[3],"layers":[
    {"type":"dense","input_height":3,"output_height":5}]})");
  const std::string x = file("x.json", "[[1,2,3]]");
  expect_refused({"ensemble", a, b, "-i", x, "-q"}, 3, "[1, 5]");
  expect_refused({"ensemble", a, a, "-i", x, "--weights", "1", "-q"}, 2, "1 weights for 2");
  expect_refused({"ensemble", a, a, "-i", x, "--weights", "0,0", "-q"}, 2, "all weights are 0");
  expect_refused({"ensemble", a, a, "-i", x, "--weights", "1e308,1e308", "-q"}, 2, "the weights add up to inf");
  expect_refused({"ensemble", a, a, "-i", x, "--min-coverage", "0.5", "-q"}, 2, "--min-coverage has no effect");
  expect_refused({"ensemble", a, a, "-i", x, "--targets", file("t.json", "[7]"), "-q"}, 2, "class id");
  expect_refused({"ensemble", a, "-i", x}, 2, "NETWORK");
  expect_refused({"ensemble", a, file("none.json"), "-i", x, "-q"}, 3, "loom: " + file("none.json") + ": cannot open");
  expect_refused({"ensemble", a, a, "-i", file("none.npy"), "-q"}, 3, "loom: " + file("none.npy") + ": cannot open");
}

TEST_F(AdaptCli, TheReportIsEqualOnEveryMachineAndCountsChanges) {
  const std::string net =
      file("n.json", R"({"seed":5,"layers":[{"type":"dense","input_height":2,"output_height":2}]})");
  const std::string first = file("a.json", R"({"inputs":[[1,0],[0,1]],"targets":[0,1]})"),
                    other = file("b.json", R"({"inputs":[[1,0],[0,1]],"targets":[1,0]})");
  const std::vector<std::string> args = {
      "adapt", net,        "--task", "same=" + first,   "--task", "swapped=" + other, "--outputs-per-task",
      "200",   "--window", "20",     "--learning-rate", "0.5"};
  const Json r = json_of(args);
  EXPECT_EQ(r["outputs"], 400);
  ASSERT_EQ(r["windows"].size(), 20u);
  ASSERT_EQ(r["changes"].size(), 1u);
  EXPECT_EQ(r["changes"][0]["task"], "swapped");
  EXPECT_EQ(r["changes"][0]["at_ms"], 200);
  EXPECT_EQ(r["changes"][0]["accuracy_before"], 100);
  EXPECT_EQ(r["windows"][9]["accuracy"], 100);
  EXPECT_LT(r["windows"][10]["accuracy"].get<double>(), 100);
  EXPECT_GT(r["changes"][0]["recovery_outputs"].get<int>(), 0);
  std::vector<std::string> again = args;
  again.insert(again.end(), {"-t", "2", "--isa", "scalar", "--chart", file("c.svg"), "-o", file("after.entity")});
  EXPECT_EQ(json_of(again), r);
  const std::string svg = test::read_all(file("c.svg"));
  EXPECT_NE(svg.find(">swapped</text>"), std::string::npos);
  EXPECT_EQ(json_of({"run", file("after.entity"), "-i", file("x.json", "[[1,0]]")})["shape"], Json({1, 2}));
  std::vector<std::string> frozen(args.begin(), args.end() - 2);
  frozen.push_back("--freeze");
  const Json still = json_of(frozen);
  EXPECT_NE(still["weights_hash"], r["weights_hash"]);
  std::vector<std::string> timed(args.begin(), args.end() - 4);
  timed.insert(timed.end(), {"--window-ms", "1"});
  EXPECT_EQ(json_of(timed)["clock"], "milliseconds");
}

TEST_F(AdaptCli, WrongUseIsRefusedInOneLine) {
  const std::string net = file("n.json", R"({"layers":[{"type":"dense","input_height":2,"output_height":2}]})");
  const std::string a = file("a.json", R"({"inputs":[[1,0]],"targets":[0]})"), x = file("x.json", "[[1,0]]");
  expect_refused({"adapt", net}, 2, "--task");
  expect_refused({"adapt", net, "--task", a}, 2, "NAME=FILE");
  expect_refused({"adapt", net, "--task", "x=" + x, "-q"}, 2, "no targets");
  expect_refused({"adapt", net, "--task", "a=" + file("c.json", R"({"inputs":[[1,0]],"targets":[2]})"), "-q"}, 2,
                 "class id");
  expect_refused(
      {"adapt", net, "--task", "a=" + a, "--task", "b=" + file("d.json", R"({"inputs":[[1]],"targets":[0]})"), "-q"}, 3,
      "task b");
  expect_refused({"adapt", net, "--task", "a=" + file("none.npz"), "-q"}, 3, "loom: task a: " + file("none.npz"));
  expect_refused({"adapt", net, "--task", "a=" + a, "--freeze", "--learning-rate", "1"}, 2, "--freeze");
  expect_refused({"adapt", net, "--task", "a=" + a, "--task", "b=" + a, "--outputs-per-task", "9223372036854775809"}, 3,
                 "expected at most");
  expect_refused({"adapt", net, "--task", "a=" + a, "--config", file("q.json", R"({"qat_scale":"frozen"})"), "-q"}, 3,
                 "qat_scale");
  expect_refused({"adapt", net, "--task", "a=" + a, "--config", file("k.json", R"({"frob":1})"), "-q"}, 3, "k.json");
}

}  // namespace
}  // namespace loom::mesh_cli_test
