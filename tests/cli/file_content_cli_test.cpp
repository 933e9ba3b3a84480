// Files go by their content under every name, and what a newcomer types first gets an answer that says what to do.

#include <gtest/gtest.h>

#include <algorithm>

#include "../support/program.h"
#include "../support/small_model.h"
#include "../support/small_network.h"
#include "core/json.h"

namespace loom::file_content_cli_test {
namespace {

using test::loom;
using test::Outcome;
using test::read_all;
using test::source_path;
using test::write_all;
using Args = std::vector<std::string>;

class AnyFileCli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  void SetUp() override {
    ASSERT_TRUE(test::write_small_model(file("model.gguf")));
    write_all(file("net.json"), test::kTwoLayers);
    expect_done({"convert", file("model.gguf"), file("model.entity"), "-q"});
    expect_done({"convert", file("net.json"), file("net.entity"), "-q"});
    expect_done({"export", file("net.json"), file("net.onnx"), "-q"});
    expect_done({"export", file("net.json"), file("net.safetensors"), "-q"});
    expect_done({"convert", file("net.onnx"), file("graph.entity"), "-q"});
  }
  static void expect_done(const Args& args) {
    const Outcome run = loom(args);
    ASSERT_EQ(run.status, 0) << run.err;
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t i = 0; (i = text.find(from, i)) != text.npos; i += to.size()) text.replace(i, from.size(), to);
    return text;
  }
  // Returns the answer of a command to these bytes under this name, without name, times and sizes.
  Outcome said(const Args& command, const std::string& bytes, const std::string& name) const {
    const std::string path = file(name), out = file("out");
    write_all(path, bytes);
    Args args = command;
    for (std::string& word : args) word = replaced(replaced(word, "FILE", path), "OUT", out);
    Outcome run = loom(args);
    for (std::string* text : {&run.out, &run.err}) *text = replaced(*text, path, "FILE");
    if (auto json = parse_json(run.out); json && json->is_object()) {
      for (const char* key : {"load_ms", "peak_rss_mb", "prefill_tps", "decode_tps", "receipt"}) json->erase(key);
      run.out = dump_json(*json);
    }
    return run;
  }
  static void expect_one_line(const Outcome& run, int status, const std::string& named) {
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(run.err.rfind("loom: ", 0), 0u) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(named), std::string::npos) << run.err << "does not name " << named;
  }
  test::TempFolder folder_;
};

TEST_F(AnyFileCli, EveryCommandTakesAFileAsWhatItHoldsUnderEveryName) {
  const std::vector<Args> of_models = {{"inspect", "FILE", "--json"},
                                       {"generate", "FILE", "-p", "a", "-n", "2", "--json", "-t", "1"},
                                       {"tokenize", "FILE", "--text", "a b"},
                                       {"convert", "FILE", "OUT.entity", "--json", "--overwrite"}},
                          of_networks = {{"inspect", "FILE", "--json"},
                                         {"run", "FILE", "--json", "-t", "1"},
                                         {"run", "FILE", "--input", "OUT.missing"},
                                         {"convert", "FILE", "OUT.entity", "--json", "--overwrite"},
                                         {"export", "FILE", "OUT.onnx", "--json", "--overwrite"},
                                         {"graph", "FILE", "-o", "OUT.svg", "--overwrite"}};
  const std::pair<const char*, const std::vector<Args>&> kinds[] = {
      {"model.gguf", of_models},       {"model.entity", of_models}, {"net.json", of_networks},
      {"net.entity", of_networks},     {"net.onnx", of_networks},   {"graph.entity", of_networks},
      {"net.safetensors", of_networks}};
  for (const auto& [right, commands] : kinds) {
    const std::string bytes = read_all(file(right));
    for (const Args& command : commands) {
      const Outcome wanted = said(command, bytes, std::string("named_") + right);
      for (const char* name :
           {"noending", "x.bin", "x.gguf", "x.onnx", "x.npz", "x.safetensors", "x.json", "x.entity"}) {
        const Outcome got = said(command, bytes, name);
        EXPECT_EQ(got.status, wanted.status) << command[0] << " of " << right << " as " << name << ": " << got.err;
        EXPECT_EQ(got.out, wanted.out) << command[0] << " of " << right << " as " << name;
        EXPECT_EQ(got.err, wanted.err) << command[0] << " of " << right << " as " << name;
      }
      for (const char* name : {right, "noending"})
        if (const Outcome torn = said(command, bytes.substr(0, bytes.size() / 2), name); torn.err != "")
          expect_one_line(torn, torn.status == 2 ? 2 : 3, "FILE");
    }
  }
}

TEST_F(AnyFileCli, ArraysOfNumpyAreANetworkUnderEveryName) {
  const std::string bytes = read_all(source_path("tests/golden/npy/compressed.npz"));
  const Outcome wanted = said({"inspect", "FILE"}, bytes, "right.npz");
  EXPECT_EQ(wanted.err.find("GGUF"), std::string::npos) << wanted.err;
  for (const char* name : {"noending", "x.gguf", "x.onnx"}) {
    const Outcome got = said({"inspect", "FILE"}, bytes, name);
    EXPECT_EQ(got.err, wanted.err);
    EXPECT_EQ(got.out, wanted.out);
  }
}

TEST_F(AnyFileCli, EmptyFilesAndPointersOfGitLfsAreNamedByEveryCommand) {
  const Args commands[] = {{"inspect", "FILE"},
                           {"generate", "FILE", "-p", "a"},
                           {"run", "FILE"},
                           {"convert", "FILE", "OUT.entity"},
                           {"export", "FILE", "OUT.onnx"},
                           {"graph", "FILE"},
                           {"train", "FILE"},
                           {"evolve", "FILE"},
                           {"replay", "FILE"},
                           {"tokenize", "FILE", "--text", "a"}};
  for (const Args& command : commands)
    for (const char* name : {"e.json", "e.gguf", "e.onnx", "e.entity", "e"}) {
      expect_one_line(said(command, "", name), 3, "empty");
      expect_one_line(said(command, "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n", name), 3,
                      "FILE");
    }
  for (const Args& command : {commands[0], commands[1], commands[2], commands[3]})
    expect_one_line(said(command, "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n", "m"), 3,
                    "git lfs pull");
}

TEST_F(AnyFileCli, APathInPlaceOfACommandSaysWhatItIsAndWhatTakesIt) {
  write_all(file("train.json"), R"({"network": {}, "data": {}})");
  write_all(file("messages.json"), R"([{"role": "user", "content": "a"}])");
  write_all(file("text"), "Once upon a time");
  const std::pair<const char*, const char*> hints[] = {{"model.gguf", "a GGUF file; loom chat "},
                                                       {"net.json", "a JSON object; loom run "},
                                                       {"net.onnx", "ONNX file; loom run "},
                                                       {"net.entity", "a network in an .entity file; loom run "},
                                                       {"train.json", "loom train "},
                                                       {"messages.json", "loom generate MODEL --messages "},
                                                       {"text", "is a file of an unknown kind"},
                                                       {"", "is a folder, no command"}};
  for (const auto& [name, hint] : hints) {
    const Outcome run = loom({*name == 0 ? folder_.path() : file(name)});
    expect_one_line(run, 2, hint);
    EXPECT_NE(run.err.find(folder_.path()), std::string::npos) << run.err;
  }
  expect_one_line(loom({"generat"}), 2, "nearest: generate");
}

TEST_F(AnyFileCli, FirstAttemptsAreUnderstoodOrAnsweredWithTheRightForm) {
  const std::string model = file("model.gguf");
  const Outcome with_option = loom({"generate", "-m", model, "-p", "a", "-n", "2", "-q"}),
                with_place = loom({"generate", model, "-p", "a", "-n", "2", "-q"});
  EXPECT_EQ(with_option.status, 0) << with_option.err;
  EXPECT_EQ(with_option.out, with_place.out);
  EXPECT_EQ(loom({"tokenize", "--model", model, "--text", "a"}).out, loom({"tokenize", model, "--text", "a"}).out);
  for (const char* command : {"generate", "chat"})
    expect_one_line(loom({command, model, "What is this?"}), 2, "give the text with -p");
  expect_one_line(loom({"gpu"}), 2, "loom gpu report");
}

TEST_F(AnyFileCli, AReceiptThatCannotBeWrittenIsRefusedBeforeTheAnswer) {
  const std::string model = file("model.gguf");
  for (const auto& [path, status] : {std::pair(file("none/r.json"), 3), std::pair(folder_.path(), 2)}) {
    const Outcome run = loom({"generate", model, "-p", "a", "-n", "2", "-q", "--receipt", path});
    expect_one_line(run, status, path);
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(test::leftovers(folder_.path()), Args());
}

TEST_F(AnyFileCli, ReplayNamesWhatIsNoReceipt) {
  write_all(file("text"), "Once upon a time\n");
  write_all(file("object.json"), "{\"a\": 1}\n");
  for (const auto& [name, what] :
       {std::pair("model.gguf", "a GGUF file"), std::pair("text", "a file of an unknown kind"),
        std::pair("object.json", "a JSON object"), std::pair("net.entity", "a network in an .entity file")})
    expect_one_line(loom({"replay", file(name)}), 3, std::string(what) + "; expected a receipt");
  expect_one_line(loom({"replay", file("none")}), 3, "none");
}

}  // namespace
}  // namespace loom::file_content_cli_test
