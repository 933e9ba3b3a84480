// These tests show what commands write and what they leave alone: files of others in the folder of a run, files of
// another kind, their own input.

#include <gtest/gtest.h>

#include "../support/program.h"
#include "../support/small_model.h"
#include "../support/small_network.h"

namespace loom::outputs_cli_test {
namespace {

using test::kTwoLayers;
using test::loom;
using test::Outcome;
using test::read_all;
using test::source_path;
using test::write_all;
using Args = std::vector<std::string>;

class OutputsCli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  static std::string tiny() { return source_path("tests/golden/models/llama2_untied"); }

  void SetUp() override {
    write_all(file("net.json"), kTwoLayers);
    std::string points = "x,y,kind\n", text;
    for (int i = 0; i < 90; ++i)
      points +=
          fmt::format("{},{},{}\n", (i * 7 % 13) / 13.0 + (i % 3 == 1), (i * 5 % 11) / 11.0 + (i % 3 == 2), i % 3);
    for (int i = 0; i < 100; ++i) text += fmt::format("The {} wheel turns {} times. ", i % 7, i * i % 11);
    write_all(file("points.csv"), points), write_all(file("wheel.txt"), text);
    write_all(
        file("c.json"),
        fmt::format(
            R"({{"data":{{"format":"csv","path":"points.csv","class_ids":true}},"epochs":1,"loss":"softmax_crossentropy","network":{}}})",
            kTwoLayers));
    write_all(file("e.json"), R"({"task":"xor","population":8,"generations":2,"network":{"layers":[
      {"type":"dense","input_height":2,"output_height":3,"bias":true,"activation":"tanh"},{"type":"dense","input_height":3,"output_height":1,"bias":true}]}})");
  }
  Args train(const std::string& out, const Args& more = {}) const {
    return with({"train", file("c.json"), "-t", "1", "-q", "-o", file(out)}, more);
  }
  Args evolve(const std::string& out, const Args& more = {}) const {
    return with({"evolve", file("e.json"), "-t", "1", "-q", "-o", file(out)}, more);
  }
  Args finetune(const std::string& out, const Args& more = {}) const {
    return with({"finetune", tiny(), "--text", file("wheel.txt"), "--length", "8", "--steps", "2", "-t", "1", "-q",
                 "-o", file(out)},
                more);
  }
  static Args with(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static void expect_done(const Args& args) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 0) << testing::PrintToString(args) << run.err;
  }
  static void expect_line(const Args& args, int status, const std::string& said) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, status) << testing::PrintToString(args) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(said), std::string::npos) << run.err;
  }
  // Every file of a folder with its bytes.
  std::map<std::string, std::string> all_of(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(file(folder)))
      files[entry.path().string()] = entry.is_regular_file() ? read_all(entry.path().string()) : "";
    return files;
  }
  // One line with exit code 2 that names the file and --overwrite, and nothing written.
  void expect_refused(const Args& args, const std::string& named, const std::string& folder = ".") const {
    SCOPED_TRACE(testing::PrintToString(args));
    const auto before = all_of(folder);
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    for (const std::string& part : {named, std::string("--overwrite")})
      EXPECT_NE(run.err.find(part), std::string::npos) << run.err << " does not name " << part;
    EXPECT_TRUE(all_of(folder) == before) << "something was written";
  }

  test::TempFolder folder_;
};

TEST_F(OutputsCli, a_run_begins_in_no_folder_of_others) {  // F-03
  std::filesystem::copy(tiny(), file("hub"));
  expect_refused(train("hub"), "hub/config.json");
  expect_refused(train("hub", {"--resume"}), "hub/config.json");
  // An adapter from elsewhere.
  expect_done(finetune("made"));
  std::filesystem::create_directory(file("peft"));
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors"})
    std::filesystem::copy_file(file(std::string("made/") + name), file(std::string("peft/") + name));
  expect_refused(finetune("peft"), "peft/adapter_config.json");
  expect_refused(train("peft"), "peft/adapter_config.json");
  // Runs of other kinds, though this run would write none of their names.
  expect_done(train("t"));
  expect_done(evolve("e"));
  expect_refused(evolve("t"), "t/journal.jsonl");
  expect_refused(evolve("t", {"--resume"}), "t/journal.jsonl");
  expect_refused(finetune("t"), "t/journal.jsonl");
  expect_refused(train("e"), "e/lineage.jsonl");
  expect_refused(finetune("e"), "e/lineage.jsonl");
  expect_refused(evolve("made"), "made/adapter_config.json");
  // One file of a name that the run would write: a folder or a link that leads nowhere too.
  std::filesystem::create_directories(file("best/best.entity"));
  expect_refused(evolve("best"), "best/best.entity");
  std::filesystem::create_directory(file("link"));
  std::filesystem::create_symlink("nowhere", file("link/report.html"));
  expect_refused(train("link"), "link/report.html");
}

TEST_F(OutputsCli, a_name_that_promises_another_format_is_refused) {  // F-03
  const auto refused = [&](const Args& args, const std::string& said) { expect_line(args, 2, said); };
  for (const std::string more : {"", "--overwrite"})
    for (const char* name : {"n.onnx", "n.SafeTensors", "n.csv", "n.pt"}) {
      Args args{"morph", file("net.json"), file(name), "--dtype", "int8", "-q"};
      if (!more.empty()) args.push_back(more);
      refused(args, std::string(name) + ": a file that ends in");
      EXPECT_FALSE(std::filesystem::exists(file(name)));
    }
  refused({"morph", file("net.json"), file("n.svg"), "--dtype", "int8", "-q"},
          "is no network; expected .entity or .json");
  refused({"run", file("net.json"), "-o", file("y.csv"), "-q"}, "is no JSON list of numbers; expected .json");
  refused({"graph", file("net.json"), "-o", file("n.html"), "-q"}, "is no SVG picture; expected .svg");
  for (const char* name : {"n.entity", "n.json", "n.JSON", "n", "n.v2"})
    expect_done({"morph", file("net.json"), file(name), "--dtype", "int8", "-q"});
  EXPECT_TRUE(read_all(file("n.JSON")).starts_with("{")) << "an ending counts in any case";
}

TEST_F(OutputsCli, a_step_keeps_to_the_memory_that_it_may_take) {
  expect_line(train("t", {"--max-memory", "1k"}), 4, "of memory, at most 0.0 GB are allowed");
  expect_line(finetune("f", {"--max-memory", "1k"}), 4, "of memory, at most 0.0 GB are allowed");
  expect_done(train("t2", {"--max-memory", "500M"}));
  expect_done(finetune("f2", {"--max-memory", "500M"}));
}

TEST_F(OutputsCli, a_resume_without_a_run_is_an_error_and_begins_none) {  // F-03
  const auto refused = [&](const std::string& what, const Args& args) {
    expect_line(args, 3, "new: holds no " + what + " to resume; leave out --resume to begin one");
    EXPECT_FALSE(std::filesystem::exists(file("new/journal.jsonl"))) << what;
  };
  refused("training", train("new", {"--resume"}));
  refused("evolution", evolve("new", {"--resume"}));
  expect_line(finetune("new", {"--resume"}), 3, "new/run: holds no fine-tuning to resume");
  EXPECT_FALSE(std::filesystem::exists(file("new")));
  std::filesystem::create_directory(file("new"));
  refused("training", train("new", {"--resume"}));
  // A run that was killed before its first line has left its lock.
  write_all(file("new/lock"), "");
  expect_done(train("new", {"--resume"}));
}

TEST_F(OutputsCli, a_run_begins_among_files_that_it_does_not_write_and_anywhere_when_asked) {  // F-03
  for (const char* folder : {"t", "e", "f"})
    std::filesystem::create_directory(file(folder)), write_all(file(std::string(folder) + "/notes.txt"), "keep me");
  expect_done(train("t"));
  expect_done(evolve("e"));
  expect_done(finetune("f"));
  for (const char* folder : {"t", "e", "f"}) EXPECT_EQ(read_all(file(std::string(folder) + "/notes.txt")), "keep me");
  expect_done(train("t", {"--resume"}));
  expect_done(evolve("e", {"--resume"}));
  expect_done(finetune("f", {"--resume"}));
  std::filesystem::copy(tiny(), file("hub"));
  std::filesystem::create_directory(file("peft"));
  std::filesystem::copy_file(file("f/adapter_config.json"), file("peft/adapter_config.json"));
  expect_done(train("hub", {"--overwrite"}));
  expect_done(finetune("peft", {"--overwrite"}));
  expect_done(evolve("t", {"--overwrite"}));
}

TEST_F(OutputsCli, a_language_model_a_network_and_a_checkpoint_are_kinds_of_their_own) {  // F-03
  ASSERT_TRUE(test::write_small_model(file("m.gguf")));
  expect_done({"convert", file("m.gguf"), file("m.entity"), "-q"});
  expect_done({"morph", file("net.json"), file("n.entity"), "--dtype", "int8", "-q"});
  expect_done({"morph", file("net.json"), file("n.json"), "--dtype", "int8", "-q"});
  expect_done(train("t"));
  const Args morph = {"morph", file("net.json"), "--dtype", "int4", "-q", "-o"},
             convert = {"convert", file("m.gguf"), "-q", "-o"};
  expect_refused(with(convert, {file("n.entity")}), "n.entity");
  expect_refused(with(convert, {file("t/checkpoint.entity")}), "checkpoint.entity");
  expect_refused(with(morph, {file("m.entity")}), "m.entity");
  expect_refused(with(morph, {file("t/checkpoint.entity")}), "checkpoint.entity");
  expect_refused(with(morph, {file("c.json")}), "c.json");
  write_all(file("talk.json"), R"([{"role":"user","content":"Hello"}])");
  expect_refused({"run", file("net.json"), "-q", "-o", file("talk.json")}, "talk.json");
  // Their own kind may be replaced.
  for (const char* name : {"n.entity", "n.json"}) expect_done(with(morph, {file(name)}));
  expect_done(with(convert, {file("m.entity")}));
  for (const char* numbers : {"[[1, 2]]", "[\"NaN\"]", "[\n [-1]]"}) {
    write_all(file("y.json"), numbers);
    expect_done({"run", file("net.json"), "-q", "-o", file("y.json")});
  }
}

TEST_F(OutputsCli, what_is_read_is_not_replaced_by_any_name) {  // F-03
  ASSERT_TRUE(test::write_small_model(file("m.gguf")));
  expect_done({"convert", file("m.gguf"), file("m.entity"), "-q"});
  write_all(file("x.json"), "[[0.5,1]]");
  for (const char* name : {"m.gguf", "m.entity", "net.json", "x.json"}) {
    std::filesystem::create_hard_link(file(name), file(std::string("hard.") + name));
    std::filesystem::create_symlink(name, file(std::string("soft.") + name));
  }
  for (const std::string way : {"", "./", "hard.", "soft."}) {
    expect_refused({"quantize", file("m.gguf"), file(way + "m.gguf"), "--dtype", "q8_0"}, way + "m.gguf");
    expect_refused({"convert", file("m.entity"), file(way + "m.entity")}, way + "m.entity");
    expect_refused({"morph", file("net.json"), file(way + "net.json"), "--dtype", "int8"}, way + "net.json");
    expect_refused({"run", file("net.json"), "-i", file("x.json"), "-o", file(way + "x.json")}, way + "x.json");
  }
  expect_done({"quantize", file("m.gguf"), file("m.gguf"), "--dtype", "q8_0", "-q", "--overwrite"});
  expect_done({"convert", file("m.entity"), file("m.entity"), "-q", "--overwrite"});
  expect_done({"morph", file("net.json"), file("net.json"), "--dtype", "int8", "-q", "--overwrite"});
}

}  // namespace
}  // namespace loom::outputs_cli_test
