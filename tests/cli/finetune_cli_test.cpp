// loom finetune as a stranger meets it: what a run leaves, going on after Ctrl-C, kill -9 and a full disk, and its
// proof.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "../support/program.h"
#include "../support/small_model.h"
#include "core/json.h"
#include "core/run_folder.h"

namespace loom::finetune_cli_test {
namespace {

using test::loom;
using test::Outcome;
using test::Program;
using test::read_all;
using test::source_path;
using test::write_all;
using Args = std::vector<std::string>;

class FinetuneCli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  static std::string tiny() { return source_path("tests/golden/models/llama2_untied"); }

  void SetUp() override {
    std::string text;
    for (int i = 0; i < 400; ++i) text += fmt::format("The {} wheel turns {} times. ", i % 7, i * i % 11);
    write_all(file("wheel.txt"), text);
  }
  Args args(const std::string& out, const Args& more = {}, int steps = 60) const {
    Args all = {"finetune", tiny(), "--text",  file("wheel.txt"),     "-o", file(out), "--rank", "4",
                "--length", "16",   "--steps", std::to_string(steps), "-t", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Json json_of(Args args) {
    args.push_back("--json");
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 0) << run.err;
    return parse_json(run.out).value_or(Json());
  }
  std::string journal(const std::string& out) const { return read_all(file(out + "/run/journal.jsonl")); }
  void expect_refused(const Args& args, int status, const Args& named) const {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, status) << run.err;
    const std::size_t at = run.err.find("loom: ");
    for (const std::string& part : named)
      EXPECT_NE(run.err.find(part, at == run.err.npos ? 0 : at), std::string::npos)
          << run.err << "does not name " << part;
  }

  test::TempFolder folder_;
};

TEST_F(FinetuneCli, a_run_leaves_an_adapter_a_journal_and_a_checkpoint_and_replays) {  // L-141
  const Json done = json_of(args("a"));
  EXPECT_EQ(done["steps"], 60);
  EXPECT_EQ(done["losses"].size(), 60u);
  for (const char* name :
       {"adapter_config.json", "adapter_model.safetensors", "run/journal.jsonl", "run/checkpoint.entity"})
    EXPECT_TRUE(is_file(file(std::string("a/") + name))) << name;
  EXPECT_LT(read_all(file("a/run/checkpoint.entity")).size(), 6 * read_all(file("a/adapter_model.safetensors")).size())
      << "no weights of the model";
  EXPECT_EQ(loom({"generate", tiny(), "--adapter", file("a"), "-p", "The", "-n", "3"}).status, 0);
  const Outcome proof = loom({"replay", file("a/run"), "-t", "2"});
  EXPECT_EQ(proof.status, 0) << proof.err;
  EXPECT_TRUE(proof.out.starts_with("EQUAL  ")) << proof.out;
  EXPECT_NE(proof.out.find(*as_string(done["hash"])), std::string::npos) << proof.out;
  EXPECT_EQ(loom({"replay", file("a"), "-t", "1"}).out, proof.out) << "the run of an adapter";
  // Another text, another loss.
  std::string lines = journal("a");
  const std::size_t digit = lines.rfind("\"hash\":\"") + 8;
  lines[digit] = lines[digit] == '0' ? '1' : '0';
  write_all(file("changed.jsonl"), lines);
  expect_refused({"replay", file("changed.jsonl")}, 3, {"changed.jsonl", "line 9", "/hash"});
  write_all(file("wheel.txt"), read_all(file("wheel.txt")) + "The end.");
  expect_refused({"replay", file("a/run")}, 3, {"line 1", "/data/0/sha256"});
}

// SmolLM2's first block, with a chat template: an adapter that changes its answers, and what chat says with it, without
// it and between.
TEST_F(FinetuneCli, chat_switches_loads_and_drops_adapters_while_the_model_stays) {  // L-141
  const std::string model = file("small.gguf");
  ASSERT_TRUE(test::write_small_model(model));
  ASSERT_EQ(loom({"finetune", model, "--text", file("wheel.txt"), "-o", file("wheel adapter"), "--length", "8",
                  "--batch", "1", "--steps", "3", "--learning-rate", "0.1", "--warmup", "0", "-t", "1"})
                .status,
            0);
  const auto chat = [&](const std::string& input, const Args& more = {}, int status = 0) {
    Args all = {"chat", model, "-n", "5", "--ignore-eos", "-t", "1"};
    all.insert(all.end(), more.begin(), more.end());
    const Outcome run = loom(all, input);
    EXPECT_EQ(run.status, status) << run.err;
    return run.out;
  };
  const auto answer = [&](const Args& more) {
    Args all = {"generate", model, "-p", "Hello", "-n", "5", "--ignore-eos", "--json", "-t", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return *as_string(parse_json(loom(all).out).value()["text"]);
  };
  const Args with = {"--adapter", file("wheel adapter")};
  const std::string plain = answer({}) + "\n", tuned = answer(with) + "\n";
  ASSERT_NE(plain, tuned);
  // From the start, with names for what there is.
  const std::string listed = chat(
      "/adapter\nHello\n/reset\n/adapter 0 off\n/adapter\nHello\n/reset\n/adapter 0 on\n/adapter 0 on\nHello\n", with);
  const std::string about = "  rank 8, alpha 16, 4 matrices, ";
  EXPECT_EQ(listed.rfind("0  on" + about, 0), 0u) << listed;
  EXPECT_NE(listed.find("  " + file("wheel adapter") + "\n" + tuned +
                        "The conversation is empty.\nAdapter 0 is off.\n0  off" + about),
            std::string::npos)
      << listed;
  EXPECT_NE(
      listed.find("\n" + plain + "The conversation is empty.\nAdapter 0 is on.\nAdapter 0 is on already.\n" + tuned),
      std::string::npos)
      << listed;
  // In the middle of a conversation: the next answer is that of a session that never met the other adapter.
  const std::string saved = file("chat.json");
  const std::string turned = chat("Hello\n/save " + saved + "\n/adapter 0 off\nAnd you?\n", with);
  const std::string notice = "Adapter 0 is off; the conversation is read again with the next message.\n";
  EXPECT_EQ(turned, tuned + "Saved.\n" + notice +
                        chat("/load " + saved + "\nAnd you?\n").substr(std::string("Loaded.\n").size()));
  // Loaded and dropped; the folder's name has a blank.
  const std::string load = "/adapter load " + file("wheel adapter");
  EXPECT_EQ(chat("/adapter\n" + load + "\nHello\n/reset\n/adapter drop 0\nHello\n/reset\n" + load +
                 " wheel\n/adapter wheel off\nHello\n"),
            "No adapters; /adapter load FOLDER adds one.\nAdapter 0 is on.\n" + tuned +
                "The conversation is empty.\nAdapter 0 is gone.\n" + plain +
                "The conversation is empty.\nAdapter wheel is on.\nAdapter wheel is off.\n" + plain);
  // Two of them, and what cannot be.
  const std::string wrong = chat(load + " a\n" + load + " a\n" + load + "\n/adapter load " + file("nothing") +
                                     "\n/adapter b on\n/adapter drop b\n/adapter a maybe\n/adapter a\n" + load +
                                     " b/c\n/adapter\n/adapter drop a\n/adapter drop 0\nHello\n",
                                 {}, 1);
  for (const char* part : {"Error: the model has adapters named \"a\"", "nothing", "Error: no adapter b",
                           "/adapter NAME on|off", "letters, digits", "\na  on", "\n0  on"})
    EXPECT_NE(wrong.find(part), std::string::npos) << part << " is missing in\n" << wrong;
  EXPECT_EQ(wrong.find("\nb"), std::string::npos) << wrong;
  EXPECT_EQ(wrong.substr(wrong.size() - plain.size()), plain) << "nothing of them remains";
  EXPECT_NE(chat("/help\n").find("/adapter load FOLDER"), std::string::npos);
  // Beside the weights of one file, by the folder's name.
  ASSERT_EQ(loom({"finetune", model, "--text", file("wheel.txt"), "-o", file("wheel"), "--length", "8", "--batch", "1",
                  "--steps", "3", "--learning-rate", "0.1", "--warmup", "0", "-t", "1"})
                .status,
            0);
  const Outcome kept = loom({"convert", model, file("both.entity"), "--keep-adapter", file("wheel")});
  ASSERT_EQ(kept.status, 0) << kept.err;
  EXPECT_EQ(loom({"chat", file("both.entity"), "-n", "5", "--ignore-eos", "-t", "1"},
                 "Hello\n/reset\n/adapter wheel off\nHello\n/reset\n/adapter wheel on\nHello\n")
                .out,
            tuned + "The conversation is empty.\nAdapter wheel is off.\n" + plain +
                "The conversation is empty.\nAdapter wheel is on.\n" + tuned);
  const auto of_file = [&](const Args& more) {
    Args all = {"generate", file("both.entity"), "-p", "Hello", "-n", "5", "--ignore-eos", "--json", "-t", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return *as_string(parse_json(loom(all).out).value_or(Json::object())["text"]) + "\n";
  };
  EXPECT_EQ(of_file({}), tuned);
  EXPECT_EQ(of_file({"--use-adapters", "-"}), plain);
  EXPECT_EQ(of_file({"--use-adapters", "wheel"}), tuned);
  EXPECT_EQ(of_file({"--adapter", file("wheel adapter"), "--use-adapters", "0"}), tuned) << "not both";
  EXPECT_NE(of_file({"--adapter", file("wheel adapter"), "--use-adapters", "0,wheel"}), tuned);
  expect_refused({"generate", file("both.entity"), "-p", "x", "--use-adapters", "wheel,none"}, 2, {"\"none\""});
  expect_refused({"convert", model, file("c.entity"), "--keep-adapter", file("wheel adapter")}, 3, {"wheel adapter"});
  expect_refused({"convert", file("both.entity"), file("c.entity"), "--keep-adapter", file("wheel")}, 3, {"\"wheel\""});
  expect_refused({"export", file("both.entity"), file("c.gguf")}, 3, {"adapters"});
  expect_refused({"finetune", file("both.entity"), "--text", file("wheel.txt"), "-o", file("c"), "--length", "8"}, 3,
                 {"adapters"});
  // Folders whose names stand in the command's own words.
  for (const char* name : {"a", "d", "o", "load"}) {
    SCOPED_TRACE(name);
    EXPECT_NE(chat(std::string("/adapter load ") + name + "\n", {}, 1)
                  .find(std::string("Error: ") + name + "/adapter_config.json"),
              std::string::npos);
  }
}

TEST_F(FinetuneCli, a_folder_with_a_run_is_gone_on_with_or_begun_anew_when_asked) {  // T-60
  const Json first = json_of(args("a"));
  expect_refused(args("a"), 2, {"holds a run", "--resume", "--overwrite"});
  EXPECT_EQ(json_of(args("a", {"--overwrite"}))["hash"], first["hash"]);
  // Nothing is left to do, and nothing needs to be said again.
  const Json again = json_of({"finetune", "-o", file("a"), "--resume"});
  EXPECT_EQ(again["hash"], first["hash"]);
  EXPECT_EQ(again["new_steps"], 0);
  expect_refused({"finetune", "-o", file("a"), "--resume", "--rank", "8"}, 3,
                 {"checkpoint.entity", "another run", "/config/rank: 4 and 8"});
  expect_refused({"finetune", "-o", file("a"), "--resume", "--warmup", "3"}, 3,
                 {"/config/schedule/warmup_steps: 10 and 3"});
  expect_refused({"finetune", "-o", file("a"), "--resume", "--dtype", "int8"}, 3, {"/base"});
  write_all(file("other.txt"), read_all(file("wheel.txt")).substr(7));
  expect_refused({"finetune", "-o", file("a"), "--resume", "--text", file("other.txt")}, 3, {"/text"});
  expect_refused({"finetune", "-o", file("b"), "--resume"}, 3, {"b/run: holds no fine-tuning to resume"});
  expect_refused({"finetune", "-o", file("b")}, 2, {"--model and --text"});
  // Killed as it began: an empty journal holds nothing.
  std::filesystem::create_directories(file("early/run"));
  write_all(file("early/run/journal.jsonl"), "");
  expect_refused({"finetune", "-o", file("early"), "--resume"}, 2, {"--model and --text"});
  EXPECT_EQ(json_of(args("early", {"--resume"}))["hash"], first["hash"]);
  EXPECT_EQ(journal("early"), journal("a"));
  const std::string whole = read_all(file("a/run/checkpoint.entity"));
  write_all(file("a/run/checkpoint.entity"), whole.substr(0, whole.size() / 2));
  expect_refused({"finetune", "-o", file("a"), "--resume"}, 3, {"a/run/checkpoint.entity"});
}

TEST_F(FinetuneCli, what_has_no_effect_or_cannot_be_is_refused_before_anything_is_written) {  // L-141
  ASSERT_EQ(json_of(args("a", {}, 2))["steps"], 2);
  const Args plain = {"finetune", tiny(), "--text", file("wheel.txt"), "-o", file("b"), "--length", "16",
                      "-t",       "1",    "-q"};
  const std::pair<Args, Args> wrong[] = {
      {{"--adapter", file("nothing")}, {"--adapter"}},
      {{"--activations", "int8"}, {"--activations"}},
      {{"--ctx", "64"}, {"--ctx"}},
      {{"--steps", "2", "--epochs", "3"}, {"--steps", "--epochs"}},
      {{"--steps", "2", "--from", file("a"), "--rank", "4"}, {"--rank", "--from"}},
      {{"--steps", "2", "--from", file("a"), "--alpha", "4"}, {"--alpha", "--from"}},
      {{"--steps", "2", "--from", file("a"), "--targets", "q_proj"}, {"--targets", "--from"}},
      {{"--clip-norm", "-1"}, {"--clip-norm", "-1"}},
      {{"--clip-norm", "nan"}, {"--clip-norm", "nan"}},
      {{"--alpha", "nan"}, {"--alpha", "nan"}},
      {{"--alpha", "0"}, {"--alpha", "0"}},
      {{"--learning-rate", "-1"}, {"--learning-rate", "-1"}},
      {{"--learning-rate", "inf"}, {"--learning-rate", "inf"}},
  };
  for (const auto& [more, named] : wrong) {
    SCOPED_TRACE(testing::PrintToString(more));
    Args all = plain;
    all.insert(all.end(), more.begin(), more.end());
    expect_refused(all, 2, named);
    EXPECT_FALSE(is_directory(file("b")));
  }
  // The trainer refuses this value, which the parser of options lets through.
  Args all = plain;
  all.insert(all.end(), {"--steps", "2", "--warmup", "18446744073709551615"});
  expect_refused(all, 3, {"warmup_steps"});
  EXPECT_FALSE(is_directory(file("b")));
  // A run that began so goes on so.
  all = plain;
  all.insert(all.end(), {"--steps", "2", "--from", file("a")});
  ASSERT_EQ(loom(all).status, 0);
  expect_refused({"finetune", "-o", file("b"), "--resume", "--rank", "4"}, 2, {"--rank", "--from"});
}

// The adapter that a run began with is what its replay begins with.
TEST_F(FinetuneCli, an_adapter_is_not_learned_on_over_itself) {  // T-60
  json_of(args("a"));
  const auto everything = [&] {
    return journal("a") + read_all(file("a/adapter_model.safetensors")) + read_all(file("a/run/checkpoint.entity"));
  };
  const std::string before = everything();
  std::filesystem::create_symlink(file("a"), file("link"));
  for (const std::string& from : {file("a"), file("a/."), file("a/"), file("link")})
    for (const char* how : {"--overwrite", "--resume", "-q"})
      expect_refused(args("a", {"--from", from, how}), 2, {"--from " + from, "overwrite", "--output"});
  EXPECT_EQ(everything(), before);
  json_of({"finetune", tiny(), "--text", file("wheel.txt"), "-o", file("b"), "--from", file("a"), "--length", "16",
           "--steps", "60", "-t", "1"});
  EXPECT_EQ(loom({"replay", file("b/run")}).status, 0);
  EXPECT_EQ(everything(), before);
  // A run that began elsewhere and was moved onto what it learns on with.
  std::filesystem::rename(file("b"), file("moved"));
  std::filesystem::remove_all(file("a"));
  std::filesystem::rename(file("moved"), file("a"));
  expect_refused({"finetune", "-o", file("a"), "--resume"}, 2, {"--from " + file("a")});
}

TEST_F(FinetuneCli, a_locked_folder_is_left_alone_and_checkpoints_can_be_inspected) {  // T-60
  const Json first = json_of(args("a"));
  const std::string journal = read_all(file("a/run/journal.jsonl")),
                    adapter = read_all(file("a/adapter_model.safetensors"));
  {
    const auto lock = FolderLock::take(file("a/run"));
    ASSERT_TRUE(lock) << lock.error().text();
    expect_refused(args("a", {"--overwrite"}), 1, {"a/run: another process"});
    expect_refused({"finetune", "-o", file("a"), "--resume"}, 1, {"a/run: another process"});
    EXPECT_EQ(loom({"replay", file("a/run")}).status, 0);
  }
  EXPECT_EQ(read_all(file("a/run/journal.jsonl")), journal);
  EXPECT_EQ(read_all(file("a/adapter_model.safetensors")), adapter);
  const Json seen = json_of({"inspect", file("a/run/checkpoint.entity"), "--tensors"});
  EXPECT_EQ(seen["step"], first["steps"]);
  EXPECT_EQ(seen["values"], 3 * first["adapter_parameters"].get<std::uint64_t>()) << "masters, and two moments each";
  EXPECT_EQ(seen["config"]["rank"], 4);
  const Outcome text = loom({"inspect", file("a/run/checkpoint.entity")});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("fine-tuning at step"), std::string::npos) << text.out;
  // A journal that ends before its checkpoint, and a missing checkpoint.
  write_all(file("a/run/journal.jsonl"), journal.substr(0, journal.size() / 2));
  expect_refused({"finetune", "-o", file("a"), "--resume"}, 3, {"journal.jsonl: ends"});
  write_all(file("a/run/journal.jsonl"), journal);
  std::filesystem::remove(file("a/run/checkpoint.entity"));
  expect_refused({"finetune", "-o", file("a"), "--resume"}, 3, {"checkpoint.entity is missing"});
  EXPECT_EQ(read_all(file("a/run/journal.jsonl")), journal);
}

TEST_F(FinetuneCli, ctrl_c_and_kill_9_then_resume_give_the_bits_of_an_uninterrupted_run) {  // T-60
  const Args more = {"--hash-every", "7"};
  const auto start = [&](Args all) {
    all.insert(all.begin(), test::loom_binary());
    auto program = std::make_unique<Program>(all);
    program->start();
    return program;
  };
  const auto wait_for_step = [&](int step) {
    return test::wait_until(
        [&] { return journal("cut").find(fmt::format("\"step\":{},", step)) != std::string::npos; });
  };
  auto program = start(args("cut", more, 700));
  ASSERT_TRUE(wait_for_step(70));
  program->interrupt();
  const Outcome stopped = program->finish();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("stopped at step"), std::string::npos) << stopped.err;
  EXPECT_NE(stopped.err.find("--resume goes on"), std::string::npos) << stopped.err;
  EXPECT_TRUE(is_file(file("cut/adapter_model.safetensors"))) << "the adapter as of there";
  EXPECT_EQ(loom({"replay", file("cut/run")}).status, 0) << "of an unfinished run";
  program = start({"finetune", "-o", file("cut"), "--resume", "-t", "2"});
  ASSERT_TRUE(wait_for_step(210));
  program.reset();  // SIGKILL
  const Json resumed = json_of({"finetune", "-o", file("cut"), "--resume"}), whole = json_of(args("whole", more, 700));
  EXPECT_LT(resumed["new_steps"], 700);
  EXPECT_EQ(resumed["hash"], whole["hash"]);
  EXPECT_EQ(resumed["losses"], whole["losses"]);
  EXPECT_EQ(journal("cut"), journal("whole"));
  EXPECT_EQ(read_all(file("cut/adapter_model.safetensors")), read_all(file("whole/adapter_model.safetensors")));
}

TEST_F(FinetuneCli, a_full_disk_loses_nothing) {  // T-60
  const Json whole = json_of(args("whole", {}, 400));
  Program program([&] {
    Args all = args("a", {}, 400);
    all.insert(all.begin(), test::loom_binary());
    return all;
  }());
  program.start();
  ASSERT_TRUE(test::wait_until([&] { return journal("a").find("\"step\":50,") != std::string::npos; }));
  program.interrupt();
  ASSERT_EQ(program.finish().status, 130);
  const std::string before = read_all(file("a/run/checkpoint.entity"));
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit tight{before.size() - 1, old.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_DFL);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Outcome full = loom({"finetune", "-o", file("a"), "--resume", "-q"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(full.status, 3) << full.err;
  EXPECT_EQ(read_all(file("a/run/checkpoint.entity")), before);
  EXPECT_EQ(test::leftovers(file("a/run")), std::vector<std::string>());
  EXPECT_EQ(json_of({"finetune", "-o", file("a"), "--resume"})["hash"], whole["hash"]);
  EXPECT_EQ(journal("a"), journal("whole"));
}

}  // namespace
}  // namespace loom::finetune_cli_test
