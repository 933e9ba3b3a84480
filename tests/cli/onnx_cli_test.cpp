// loom run, inspect and convert on a graph in ONNX: Silero's voice activity detection, which has three inputs.

#include <gtest/gtest.h>

#include "support/program.h"

#include "core/file.h"
#include "core/json.h"

namespace loom::test {
namespace {

class OnnxCli : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("loom_onnx_cli_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    const char* const data = getenv("LOOM_DATA");
    model_ = std::string(data != nullptr ? data : "LOOM_DATA is not set") + "/vad/silero_vad.onnx";
    std::string sound = "[[";
    for (int i = 0; i < 576; ++i) sound += (i == 0 ? "" : ",") + std::to_string(i % 50 * 0.004 - 0.1);
    std::string zeros;
    for (int i = 0; i < 128; ++i) zeros += i == 0 ? "0" : ",0";
    inputs_ = {"--input", "input=" + file("input.json", sound + "]]"),
               "--input", "state=" + file("state.json", "[[[" + zeros + "]],[[" + zeros + "]]]"),
               "--input", "sr=" + file("sr.json", "16000")};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text = {}) {
    const std::string path = (folder_ / name).string();
    if (!text.empty()) write_all(path, text);
    return path;
  }
  Outcome run(const std::string& graph, std::vector<std::string> more) {
    std::vector<std::string> args{"run", graph};
    args.insert(args.end(), inputs_.begin(), inputs_.end());
    args.insert(args.end(), more.begin(), more.end());
    return loom(args);
  }
  std::filesystem::path folder_;
  std::string model_;
  std::vector<std::string> inputs_;
};

TEST_F(OnnxCli, runs_a_graph_and_its_entity_with_the_same_bits) {  // F-42
  const Outcome first = run(model_, {"--json", "-t", "1"});
  ASSERT_EQ(first.status, 0) << first.err;
  const Json json = parse_json(first.out).value();
  EXPECT_EQ(json["outputs"][0]["shape"].dump(), "[1,1]");
  EXPECT_EQ(json["outputs"][1]["name"], "stateN");
  const double voice = json["outputs"][0]["values"][0][0].get<double>();
  EXPECT_TRUE(voice > 0 && voice < 1) << voice;

  const std::string entity = file("vad.entity");
  EXPECT_EQ(loom({"convert", model_, entity}).status, 0);
  EXPECT_EQ(loom({"convert", model_, entity}).status, 0);  // a file of the same kind is replaced
  const std::string other = file("other.entity");
  ASSERT_TRUE(write_file_atomically(other, std::as_bytes(std::span(std::string_view("notes")))));
  EXPECT_EQ(loom({"convert", model_, other}).status, 2);
  EXPECT_EQ(loom({"convert", model_, other, "--overwrite"}).status, 0);
  const Outcome second = run(entity, {"--json", "-t", "2"});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(parse_json(second.out).value()["hash"], json["hash"]);

  const Outcome facts = loom({"inspect", entity, "--json"});
  ASSERT_EQ(facts.status, 0) << facts.err;
  EXPECT_EQ(parse_json(facts.out).value()["operations"]["LSTM"], 4);
}

TEST_F(OnnxCli, outputs_go_by_name_into_one_file) {  // F-42
  const std::string out = file("out.json");
  EXPECT_EQ(run(model_, {"-o", out}).status, 0);
  EXPECT_EQ(run(model_, {"-o", out, "--overwrite"}).status, 0);
  const Json json = parse_json(read_all(out)).value();
  EXPECT_EQ(json["stateN"].size(), 2u);
  EXPECT_NE(run(model_, {"-o", file("out.npy")}).err.find("2 outputs do not fit"), std::string::npos);
}

TEST_F(OnnxCli, errors_name_the_input) {  // F-42
  const Outcome unnamed = loom({"run", model_, "--input", file("sr.json")});
  EXPECT_NE(unnamed.status, 0);
  EXPECT_NE(unnamed.err.find("NAME=FILE expected, with a name of input, state, sr"), std::string::npos) << unnamed.err;
  inputs_[5] = "sr=" + file("half.json", "0.5");
  EXPECT_NE(run(model_, {}).err.find("int64 expected"), std::string::npos);
  EXPECT_NE(loom({"diff", model_, model_}).status, 0);
}

}  // namespace
}  // namespace loom::test
