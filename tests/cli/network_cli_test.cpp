// loom inspect, graph, dna, run and morph on specs by other people: huge ones, links, single cells.

#include <gtest/gtest.h>

#include "support/program.h"

#include "core/json.h"

namespace loom::test {
namespace {

class NetworkCli : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("loom_network_cli_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text = {}) {
    const std::string path = (folder_ / name).string();
    if (!text.empty()) write_all(path, text);
    return path;
  }
  static void expect_one_line(const Outcome& run, int status, const std::string& part) {
    EXPECT_EQ(run.status, status) << run.out << run.err;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  }
  std::filesystem::path folder_;
};

// The seconds are processor time, so other work of the machine does not count.
double seconds_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

TEST_F(NetworkCli, inspect_tells_unknown_keys_and_a_model_is_no_network) {  // J-21
  const std::string net =
      file("k.json", R"({"layers":[{"type":"dense","input_height":4,"output_height":4,"frobnicate":1}]})");
  const Outcome seen = loom({"inspect", net});
  expect_one_line(seen, 0, "/layers/0/frobnicate: unknown key");
  EXPECT_NE(seen.out.find("dense"), std::string::npos) << seen.out;
  const std::string model = file("m.gguf", "GGUF and more");
  for (const char* command : {"run", "graph"})
    expect_one_line(loom({command, model}), 3, "a language model in GGUF, no network");
}

TEST_F(NetworkCli, run_tells_each_cells_output_and_time_on_request) {  // V-12
  const std::string net = file("cells.json", R"({"layers":[
    {"type":"dense","input_height":6,"output_height":5,"activation":"relu"},
    {"type":"sequential","sequential_layers":[{"type":"dense","input_height":5,"output_height":4}]},
    {"type":"softmax"}]})");
  const std::string x = file("x.json", "[[1,2,3,4,5,6],[0,-1,0,1,0,2]]");
  const Outcome plain = loom({"run", net, "-i", x, "--json"}), told = loom({"run", net, "-i", x, "--json", "--cells"});
  ASSERT_EQ(told.status, 0) << told.err;
  const Json out = parse_json(told.out).value();
  EXPECT_FALSE(parse_json(plain.out).value().contains("cells"));
  EXPECT_EQ(out["hash"], parse_json(plain.out).value()["hash"]);
  ASSERT_EQ(out["cells"].size(), 3u);
  EXPECT_EQ(out["cells"][0]["type"], "dense");
  EXPECT_EQ(out["cells"][0]["least"].get<double>() >= 0, true);
  EXPECT_EQ(out["cells"][1]["shape"], Json({2, 4}));
  EXPECT_EQ(out["cells"][2]["hash"], out["hash"]);
  for (const Json& cell : out["cells"]) EXPECT_GE(cell["ms"].get<double>(), 0);
  const Outcome table = loom({"run", net, "-i", x, "--cells", "-o", file("y.json")});
  EXPECT_EQ(std::ranges::count(table.err, '\n'), 5) << table.err;
}

// 70 bytes that ask for 3.6 GB of weights, 7.2 GB with their masters.
TEST_F(NetworkCli, commands_that_only_look_draw_no_weights_and_others_have_a_limit) {
  const std::string huge = file("huge.json", R"({"layers":[{"type":"dense","input_size":30000,"output_size":30000}]})");
  const double begin = seconds_of_children();
  const Outcome inspected = loom({"inspect", huge, "--json"});
  ASSERT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_EQ(parse_json(inspected.out).value()["resident_bytes"], 3600000000);
  const Outcome drawn = loom({"graph", huge, "-o", file("huge.svg")});
  EXPECT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_NE(read_all(file("huge.svg")).find("3600.00 MB"), std::string::npos);
  expect_one_line(loom({"dna", huge, huge}), 4, "900000000 weights take 7.2 GB, at most 4.3 GB are allowed");
  expect_one_line(loom({"run", huge}), 4, "7.2 GB");
  expect_one_line(loom({"morph", huge, file("o.entity"), "--dtype", "int8"}), 4, "7.2 GB");
  expect_one_line(loom({"diff", huge, huge}), 4, "7.2 GB");
  EXPECT_FALSE(is_file(file("o.entity")));
  EXPECT_LT(seconds_of_children() - begin, 20);
  const std::string small = file("small.json", R"({"layers":[{"type":"dense","input_size":300,"output_size":300}]})");
  expect_one_line(loom({"dna", small, small, "--max-memory", "100K"}), 4, "at most");
  EXPECT_EQ(loom({"dna", small, small, "--max-memory", "1M"}).status, 0);
  EXPECT_EQ(loom({"dna", small, small, "--max-memory", "much"}).status, 2);
}

TEST_F(NetworkCli, inputs_that_take_too_much_are_refused_before_they_are_drawn) {
  const std::string wide =
      file("wide.json", R"({"input_shape":[1000000000],"layers":[{"type":"activation","activation":"relu"}]})");
  expect_one_line(loom({"run", wide, "-q"}), 4,
                  "input_shape: a batch [1, 1000000000] takes 12.0 GB, at most 4.3 GB are allowed");
  const std::string grows = file(
      "grows.json",
      R"({"input_shape":[1000000],"layers":[{"type":"reshape","shape":[1000000,1]},{"type":"dense","input_height":1,"output_height":5000}]})");
  expect_one_line(loom({"run", grows, "-q"}), 4, "at most 4.3 GB are allowed");
}

TEST_F(NetworkCli, morph_of_single_cells) {  // D-21
  const std::string net = file("net.json", R"({"layers":[{"type":"dense","input_size":32,"output_size":32},
    {"type":"sequential","sequential_layers":[{"type":"dense","input_size":32,"output_size":32},{"type":"dense","input_size":32,"output_size":32}]}]})");
  const auto types = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"morph", net, file("o.entity"), "--dtype", "int8"});
    const Outcome run = loom(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    std::string all;
    const Json told = parse_json(loom({"inspect", file("o.entity"), "--json"}).out).value_or(Json::object());
    for (const Json& layer : told["layers"])
      if (layer["weights"] != 0) all += layer["dtype"].get<std::string>() + " ";
    return all;
  };
  EXPECT_EQ(types({}), "int8 int8 int8 ");
  EXPECT_EQ(types({"--cell", "0,0,0,0"}), "int8 float32 float32 ");
  EXPECT_EQ(types({"--cell", "0,0,0,1"}), "float32 int8 int8 ");
  EXPECT_EQ(types({"--cell", "layers.1.sequential_layers.1", "--cell", "layers.0"}), "int8 float32 int8 ");
  for (const char* bad : {"0,0,0", "0,0,0,0,0", "layers.7", "0,0,0,2", ",", "99999999999999999999,0,0,0"}) {
    std::filesystem::remove(file("o.entity"));
    const Outcome run = loom({"morph", net, file("o.entity"), "--dtype", "int8", "--cell", bad});
    EXPECT_TRUE(run.status == 2 || run.status == 3) << bad << run.err;
    EXPECT_FALSE(is_file(file("o.entity"))) << bad;
  }
  expect_one_line(
      loom({"morph", net, file("o.entity"), "--auto", "--data", "x.npz", "--max-bytes", "9", "--cell", "layers.0"}), 2,
      "--cell");
}

TEST_F(NetworkCli, a_bad_input_is_named_and_not_the_network) {
  const std::string net = file("net.json", R"({"layers":[{"type":"dense","input_size":2,"output_size":2}]})");
  for (const auto& [name, text] :
       {std::pair("bad.json", "[[1,2"), std::pair("list.json", "[[1,[2]]]"), std::pair("word.json", "[\"a\"]"),
        std::pair("bad.npy", "NUMPY"), std::pair("none.json", "")}) {
    SCOPED_TRACE(name);
    const std::string input = file(name, text);
    expect_one_line(loom({"run", net, "-i", input}), 3, name);
    expect_one_line(loom({"morph", net, file("o.json"), "--auto", "--data", input, "--max-loss", "1"}), 3, name);
  }
}

// A dense cell that is fed by a link: evolution once took it for a Dense and died.
TEST_F(NetworkCli, evolve_takes_a_network_with_a_feed_link) {
  const std::string config = file("evolve.json", R"({"task":"xor","population":4,"generations":2,"network":{"layers":[
    {"type":"dense","input_height":2,"output_height":2},
    {"type":"dense","input_height":2,"output_height":1,"is_remote_link":true,"target_l":0,"link_mode":"feed"}]}})");
  const Outcome run = loom({"evolve", config, "-o", file("run")});
  EXPECT_EQ(run.status, 0) << run.err;
  const Outcome svg =
      loom({"graph", file("evolve_net.json", R"({"layers":[{"type":"dense","input_height":2,"output_height":2},
    {"type":"dense","input_height":2,"output_height":1,"is_remote_link":true,"target_l":0,"link_mode":"feed"}]})")});
  EXPECT_EQ(svg.status, 0) << svg.err;
  EXPECT_NE(svg.out.find("fed by (0, 0, 0, 0)"), std::string::npos);
}

TEST_F(NetworkCli, schema_describes_networks_trainings_and_evolutions) {  // J-01, T-01
  const std::pair<std::vector<std::string>, const char*> cases[] = {{{"schema"}, "default_dtype"},
                                                                    {{"schema", "network"}, "default_dtype"},
                                                                    {{"schema", "training"}, "optimizer"},
                                                                    {{"schema", "evolution"}, "mutation"}};
  for (const auto& [args, key] : cases) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 0) << run.err;
    const auto schema = parse_json(run.out);
    ASSERT_TRUE(schema) << key;
    EXPECT_TRUE((*schema)["properties"].contains(key)) << key;
  }
  EXPECT_EQ(loom({"schema", "weather"}).status, 2);
}

// Cells of a grid are named by their address, those of a list by their number.
TEST_F(NetworkCli, a_network_that_does_not_fit_names_the_cell) {  // G-70
  const auto refusal = [&](const char* name, const std::string& spec) {
    return loom({"run", file(name, spec), "--input", file("x.json", "[[1,2,3]]")}).err;
  };
  const std::string dense = R"("type":"dense","input_height":4,"output_height":2)";
  EXPECT_NE(refusal("list.json", R"({"layers":[{)" + dense + "}]}").find("/layers/0: dense: "), std::string::npos);
  EXPECT_NE(
      refusal("grid.json",
              R"({"depth":1,"rows":2,"cols":1,"layers_per_cell":1,"layers":[{"z":0,"y":1,"x":0,"l":0,)" + dense + "}]}")
          .find("/layers/0,1,0,0: dense: "),
      std::string::npos);
}

}  // namespace
}  // namespace loom::test
