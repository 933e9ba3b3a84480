// Receipts of the program: every command that writes one, and replay on the result.

#include <algorithm>
#include <filesystem>

#include "../support/program.h"
#include "../support/small_model.h"
#include "core/json.h"

namespace loom::receipt_cli_test {
namespace {

using test::loom;
using test::Outcome;
using Args = std::vector<std::string>;

std::string tiny() { return test::source_path("tests/golden/models/llama2_untied"); }
std::string demo() { return test::source_path("examples/demo.json"); }

class ReceiptCli : public testing::Test {
 protected:
  std::string temp(const std::string& name) const { return folder_ / name; }
  // Runs a command with a receipt, and replays it.
  Json receipt_of(Args args, const std::string& name) {
    args.insert(args.end(), {"--receipt", temp(name), "-q"});
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 0) << run.err;
    const Outcome replay = loom({"replay", temp(name)});
    EXPECT_EQ(replay.status, 0) << replay.out << replay.err;
    EXPECT_TRUE(replay.out.starts_with("EQUAL  " + args[0] + ", hash ")) << replay.out;
    return test::read_json(temp(name));
  }
  test::TempFolder folder_;
};

TEST_F(ReceiptCli, EveryCommandWritesAReceiptThatReplayComputesAgain) {
  const Json answer =
      receipt_of({"generate", tiny(), "-p", "abc", "-n", "5", "--temp", "0.5", "--seed", "3", "--raw"}, "answer.json");
  EXPECT_EQ(answer["generation"]["seed"], "3");
  EXPECT_EQ(answer["generation"]["temperature"], 0.5);
  receipt_of({"logits", tiny(), "-p", "abc"}, "logits.json");
  const Json ids = receipt_of({"logits", tiny(), "--ids", "1,2,3"}, "ids.json");
  EXPECT_EQ(ids["prompt"]["ids"], Json::array({1, 2, 3}));
  EXPECT_EQ(ids["prompt"]["is_exact"], false);
  receipt_of({"embed", test::data_path("minilm"), "It rains.", "The sun shines."}, "vectors.json");
  const Json prompted =
      receipt_of({"embed", test::data_path("minilm"), "It rains.", "--prompt", "query: "}, "prompted.json");
  EXPECT_EQ(prompted["text_prompt"], "query: ");
  receipt_of({"run", demo(), "--seed", "7", "--batch", "2"}, "drawn.json");
}

// Every command names what computed its result, and a replay uses the same where it exists.
TEST_F(ReceiptCli, TheInstructionSetAndTheDeviceOfEveryCommandAreRecordedAndUsedAgain) {
  test::write_all(temp("graph.json"), R"({"input_shape":[2],"layers":[{"type":"dense","input_height":2,
    "output_height":3}]})");
  ASSERT_EQ(loom({"export", temp("graph.json"), temp("graph.onnx"), "-q"}).status, 0);
  const std::vector<Args> commands = {{"generate", tiny(), "-p", "abc", "-n", "3", "--raw"},
                                      {"logits", tiny(), "--ids", "1,2,3"},
                                      {"embed", test::data_path("minilm"), "It rains."},
                                      {"run", demo()},
                                      {"run", temp("graph.onnx")}};
  for (const Args& command : commands)
    for (const std::string isa : {"scalar", ""}) {
      SCOPED_TRACE(command[0] + " " + command[1] + " " + isa);
      Args args = command;
      args.insert(args.end(), {"-t", "1"});
      if (!isa.empty()) args.insert(args.end(), {"--isa", isa});
      const Json receipt = receipt_of(args, "machine.json");
      EXPECT_EQ(receipt["machine"]["device"], "cpu");
      EXPECT_EQ(receipt["machine"]["threads"], 1);
      const std::string used = receipt["machine"]["isa"];
      EXPECT_TRUE(isa.empty() ? !used.empty() : used == isa) << used;
      const auto replayed = [&](const Args& more) {
        Args replay = {"replay", temp("machine.json"), "--json"};
        replay.insert(replay.end(), more.begin(), more.end());
        return parse_json(loom(replay).out).value_or(Json::object());
      };
      EXPECT_EQ(replayed({})["isa"], used);
      EXPECT_EQ(replayed({})["device"], "cpu");
      EXPECT_EQ(replayed({"--isa", "scalar"})["isa"], "scalar");
    }
}

TEST_F(ReceiptCli, AReceiptWithoutACommandIsNoReceipt) {
  test::write_all(temp("bare.json"), R"({"loom_receipt":1,"digest":"x"})");
  const auto bare = loom({"replay", temp("bare.json")});
  EXPECT_EQ(bare.status, 3);
  EXPECT_NE(bare.err.find("/command"), std::string::npos) << bare.err;
}

TEST_F(ReceiptCli, KeysAndValuesThatAnAnswerWentOnFromAreNamed) {
  const Args ask = {"generate", tiny(), "-p", "abc abc", "-n", "3", "--raw"};
  const auto with = [&](Args more) {
    more.insert(more.begin(), ask.begin(), ask.end());
    return more;
  };
  const Json plain = receipt_of(ask, "plain.json");
  EXPECT_TRUE(plain["kv"].empty());
  const Json saved = receipt_of(with({"--save-kv", temp("kv.entity")}), "saved.json");
  EXPECT_TRUE(saved["kv"].empty()) << "it was written, not read";
  const Json receipt = receipt_of(with({"--kv", temp("kv.entity")}), "kv.json");
  ASSERT_EQ(receipt["kv"].size(), 1u);
  EXPECT_EQ(receipt["kv"][0]["path"], temp("kv.entity"));
  const std::string hash = receipt["kv"][0]["sha256"];
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(receipt["result"], plain["result"]);
  // This command writes the file that it reads: the hash is that of the bytes that it read.
  const Json both = receipt_of(with({"--kv", temp("kv.entity"), "--save-kv", temp("kv.entity")}), "both.json");
  EXPECT_EQ(both["kv"][0]["sha256"], hash);
  std::filesystem::remove(temp("kv.entity"));
  EXPECT_EQ(loom({"replay", temp("kv.json")}).status, 0) << "a replay reads the whole prompt";
}

TEST_F(ReceiptCli, LogitsOfAChatAreThoseOfThePromptThatGenerateShows) {
  ASSERT_TRUE(test::write_small_model(temp("model.gguf")));
  const auto hash_of = [&](Args args) {
    args.insert(args.begin(), {"logits", temp("model.gguf")});
    args.push_back("--json");
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 0) << run.err;
    return parse_json(run.out).value_or(Json::object())["hash"];
  };
  const Outcome shown = loom({"generate", temp("model.gguf"), "-p", "Hello", "--show-prompt", "--json"});
  std::string ids = dump_json(parse_json(shown.out).value()["ids"]);
  EXPECT_EQ(hash_of({"-p", "Hello", "--chat"}), hash_of({"--ids", ids}));
  EXPECT_EQ(hash_of({"-p", "Hello", "--raw"}), hash_of({"-p", "Hello"}));
  EXPECT_NE(hash_of({"-p", "Hello", "--raw"}), hash_of({"-p", "Hello", "--chat"}));
  EXPECT_EQ(loom({"logits", temp("model.gguf"), "-p", "a", "--raw", "--chat"}).status, 2);
}

TEST_F(ReceiptCli, InputsOfARunAreHashedAndFoundBesideAMovedReceipt) {
  const Json drawn = receipt_of({"run", demo(), "-o", temp("y.json")}, "drawn.json");
  ASSERT_FALSE(drawn.is_null());
  test::write_all(temp("net.json"),
                  R"({"input_shape":[1,2],"layers":[{"type":"dense","input_height":2,"output_height":1}]})");
  test::write_all(temp("x.json"), "[[1,2]]");
  const Json receipt = receipt_of({"run", temp("net.json"), "-i", temp("x.json")}, "fed.json");
  EXPECT_EQ(receipt["input"]["files"].size(), 1u);
  test::write_all(temp("x.json"), "[[1,3]]");
  const Outcome differs = loom({"replay", temp("fed.json")});
  EXPECT_EQ(differs.status, 1);
  EXPECT_TRUE(differs.out.starts_with("DIFFERS  SHA-256 of the input ")) << differs.out;
}

TEST_F(ReceiptCli, JsonOutputsCarryTheReceiptAndDifferInTimesAlone) {
  const Args args = {"generate", tiny(), "-p", "abc", "-n", "5", "--raw", "--json"};
  Json outputs[2];
  for (Json& output : outputs) {
    const Outcome run = loom(args);
    ASSERT_EQ(run.status, 0) << run.err;
    output = parse_json(run.out).value();
    EXPECT_EQ(output["receipt"]["result"]["hash"], output["hash"]);
    for (const char* const key : {"load_ms", "prefill_tps", "decode_tps", "peak_rss_mb"}) output.erase(key);
  }
  EXPECT_EQ(dump_json(outputs[0]), dump_json(outputs[1]));
  for (const Args& command : {Args{"logits", tiny(), "--ids", "1", "--json"}, {"run", demo(), "--json", "-q"}}) {
    const Outcome run = loom(command);
    ASSERT_EQ(run.status, 0) << run.err;
    const Json output = parse_json(run.out).value();
    EXPECT_EQ(output["receipt"]["result"]["hash"], output["hash"]) << command[0];
  }
}

TEST_F(ReceiptCli, ReplaySaysWhatDiffersFirstAndWhereAModelIs) {
  ASSERT_TRUE(test::write_small_model(temp("model.gguf")));
  const Args ask = {"generate", temp("model.gguf"), "-p", "Hello", "-n", "4", "--receipt", temp("r.json"), "-q"};
  ASSERT_EQ(loom(ask).status, 0);
  ASSERT_EQ(rename(temp("model.gguf").c_str(), temp("moved.gguf").c_str()), 0);
  const Outcome missing = loom({"replay", temp("r.json")});
  EXPECT_EQ(missing.status, 3);
  EXPECT_NE(missing.err.find("--model PATH"), std::string::npos) << missing.err;
  EXPECT_EQ(loom({"replay", temp("r.json"), "--model", temp("moved.gguf"), "-t", "1"}).status, 0);
  Json receipt = test::read_json(temp("r.json"));
  receipt["result"]["ids"][0] = 1;
  test::write_all(temp("forged.json"), dump_json(receipt));
  const Outcome forged = loom({"replay", temp("forged.json"), "--model", temp("moved.gguf"), "--json"});
  EXPECT_EQ(forged.status, 1);
  const Json report = parse_json(forged.out).value();
  EXPECT_EQ(report["equal"], false);
  EXPECT_EQ(report["difference"], "digest: the receipt was changed after it was written");
  std::string bytes = test::read_all(temp("moved.gguf"));
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 4);
  test::write_all(temp("moved.gguf"), bytes);
  const Outcome changed = loom({"replay", temp("r.json"), "--model", temp("moved.gguf")});
  EXPECT_EQ(changed.status, 1);
  EXPECT_TRUE(changed.out.starts_with("DIFFERS  SHA-256 of the model ")) << changed.out;
}

TEST_F(ReceiptCli, AConversationOfChatIsReplayed) {
  ASSERT_TRUE(test::write_small_model(temp("model.gguf")));
  test::Program chat({test::loom_binary(), "chat", temp("model.gguf"), "-n", "4"});
  chat.start();
  chat.send("Hello\nAgain\n/save " + temp("talk.json") + "\n/quit\n");
  ASSERT_EQ(chat.finish().status, 0);
  const Outcome replay = loom({"replay", temp("talk.json")});
  EXPECT_EQ(replay.status, 0) << replay.out << replay.err;
  EXPECT_NE(replay.out.find("EQUAL  answer 2: generate, hash "), std::string::npos) << replay.out;
}

TEST_F(ReceiptCli, BadUseIsRefusedInOneLine) {
  test::write_all(temp("notes.txt"), "mine");
  const auto refused = [](const Args& args, int status, const std::string& what) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(what), std::string::npos) << run.err;
  };
  refused({"logits", tiny(), "--ids", "1", "--receipt", temp("notes.txt")}, 2, "holds no receipt");
  EXPECT_EQ(test::read_all(temp("notes.txt")), "mine");
  refused({"generate", tiny(), "-p", "a", "--show-prompt", "--receipt", temp("r.json")}, 2, "--receipt has no effect");
  test::write_all(temp("bad.json"), R"({"loom_receipt": 1, "digest": "0", "modle": {}})");
  refused({"replay", temp("bad.json")}, 3, "nearest: model");
  test::write_all(temp("cut.json"), R"({"loom_receipt": 1, )");
  refused({"replay", temp("cut.json")}, 3, "byte");
  refused({"replay", temp("notes.txt"), "--model", tiny()}, 2, "--model is for receipts");
}

}  // namespace
}  // namespace loom::receipt_cli_test
