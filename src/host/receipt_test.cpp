// Receipts: what is in them, and that replay notices each change.

#include "host/receipt.h"

#include <filesystem>
#include <set>

#include "core/config_writer.h"
#include "host/chat.h"
#include "host/replay_receipt.h"
#include "lm/peft.h"
#include "support/files.h"

namespace loom::host_receipt_test {
namespace {

std::string tiny() { return test::source_path("tests/golden/models/llama2_untied"); }

LanguageModel tiny_model() {
  ModelOptions options;
  options.threads = 1;
  return load_language_model(tiny(), options).value();
}

// A copy of a golden model, so that the test may change it.
std::string copy_of(const std::string& model, const std::string& to) {
  std::filesystem::copy(model, to, std::filesystem::copy_options::recursive);
  return to;
}

struct Settings {
  SessionOptions session{.threads = 1, .context_tokens = 256};
  GenerationOptions generation;
  std::string dtype;
  std::vector<std::string> adapters;
};

Settings drawn() {
  Settings out;
  out.generation.max_tokens = 6;
  out.generation.sampling.temperature = 0.7f, out.generation.sampling.seed = 0xffffffffffffffffu;
  return out;
}

Json receipt_of_answer(const std::string& path, const Settings& settings, const std::string& text = "abc abc") {
  ModelOptions options;
  options.threads = 1, options.adapters = settings.adapters;
  if (!settings.dtype.empty()) options.decoder.dtype = dtype_from_name(settings.dtype).value();
  const auto model = load_language_model(path, options);
  if (!model) {
    ADD_FAILURE() << model.error().text();
    return {};
  }
  const auto session = Session::create(model->decoder, settings.session);
  std::vector<std::int32_t> ids;
  EXPECT_TRUE(model->tokenizer->encode(text, {}, ids));
  const auto answer = generate(**session, *model, ids, settings.generation);
  EXPECT_TRUE(answer) << answer.error().text();
  auto receipt = receipt_of(*model, **session, settings.generation, *answer, prompt_of_text(text, true));
  EXPECT_TRUE(receipt) << receipt.error().text();
  auto sealed = seal(*receipt);
  EXPECT_TRUE(sealed) << sealed.error().text();
  return *sealed;
}

// The digest belongs to the changed receipt: only computing it again can show the change.
Json resealed(Json receipt) {
  receipt.erase("digest");
  Sha256 hash;
  const std::string text = dump_canonical(receipt).value();
  hash.update(std::as_bytes(std::span(text)));
  receipt["digest"] = to_hex(hash.finish());
  return receipt;
}

std::string difference(const Json& receipt, ReceiptReplayOptions options = {}) {
  options.threads = 1;
  const auto replay = replay_receipt(receipt, options);
  EXPECT_TRUE(replay) << replay.error().text();
  return replay ? replay->difference : "error";
}

void expect_refused(const Json& receipt, const std::string& what) {
  const auto replay = replay_receipt(receipt, {.threads = 1});
  ASSERT_FALSE(replay) << what;
  EXPECT_NE(replay.error().text().find(what), std::string::npos) << replay.error().text();
  EXPECT_EQ(replay.error().text().find('\n'), std::string::npos);
}

TEST(Receipt, TheSameCommandWritesTheSameReceiptAndItsReplayIsEqual) {
  const Json first = receipt_of_answer(tiny(), drawn()), second = receipt_of_answer(tiny(), drawn());
  EXPECT_EQ(dump_json(first), dump_json(second));
  EXPECT_EQ(first["generation"]["seed"], "18446744073709551615");
  EXPECT_EQ(first["generation"]["temperature"], 0.7);
  EXPECT_EQ(first["prompt"]["text"], "abc abc");
  EXPECT_EQ(first["result"]["ids"].size(), 6u);
  EXPECT_EQ(difference(first), "");
  const auto parsed = parse_json(dump_json(first, 2), kReceiptLimits);
  EXPECT_EQ(difference(*parsed), "");
}

// Every option that may change a result changes the receipt, and replay refuses the receipt with it changed by hand.
TEST(Receipt, EveryOptionIsInTheReceiptAndAChangeIsNoticed) {
  struct Case {
    const char* part;
    const char* key;
    void (*change)(Settings&);
  };
  const Case cases[] = {
      {"generation", "max_tokens", [](Settings& s) { s.generation.max_tokens = 5; }},
      {"generation", "min_tokens", [](Settings& s) { s.generation.min_tokens = 2; }},
      {"generation", "temperature", [](Settings& s) { s.generation.sampling.temperature = 0.9f; }},
      {"generation", "top_k", [](Settings& s) { s.generation.sampling.top_k = 2; }},
      {"generation", "top_p", [](Settings& s) { s.generation.sampling.top_p = 0.5f; }},
      {"generation", "min_p", [](Settings& s) { s.generation.sampling.min_p = 0.2f; }},
      {"generation", "typical_p", [](Settings& s) { s.generation.sampling.typical_p = 0.5f; }},
      {"generation", "repetition_penalty", [](Settings& s) { s.generation.sampling.repetition_penalty = 1.5f; }},
      {"generation", "repetition_window", [](Settings& s) { s.generation.sampling.repetition_window = -1; }},
      {"generation", "frequency_penalty", [](Settings& s) { s.generation.sampling.frequency_penalty = 0.5f; }},
      {"generation", "presence_penalty", [](Settings& s) { s.generation.sampling.presence_penalty = 0.5f; }},
      {"generation", "biased_ids", [](Settings& s) { s.generation.sampling.logit_bias = {{5, 9.0f}}; }},
      {"generation", "biases", [](Settings& s) { s.generation.sampling.logit_bias = {{5, 9.0f}}; }},
      {"generation", "banned_ids", [](Settings& s) { s.generation.sampling.banned = {5}; }},
      {"generation", "seed", [](Settings& s) { s.generation.sampling.seed = 3; }},
      {"generation", "stop", [](Settings& s) { s.generation.stop = {"q"}; }},
      {"generation", "stop_ids", [](Settings& s) { s.generation.stop_ids = {7}; }},
      {"generation", "ignore_eos", [](Settings& s) { s.generation.ignore_eos = true; }},
      {"generation", "sampling_session", [](Settings& s) { s.generation.sampling_session = 1; }},
      {"session", "dtype", [](Settings& s) { s.dtype = "int8"; }},
      {"session", "activations", [](Settings& s) { s.session.activations = Activations::int8; }},
      {"session", "kv_dtype", [](Settings& s) { s.session.kv_dtype = DType::bfloat16; }},
      {"session", "context", [](Settings& s) { s.session.context_tokens = 128; }},
  };
  const Json plain = receipt_of_answer(tiny(), drawn());
  std::set<std::string> tried;
  for (const Case& c : cases) {
    Settings settings = drawn();
    c.change(settings);
    const Json changed = receipt_of_answer(tiny(), settings);
    EXPECT_NE(changed[c.part][c.key], plain[c.part][c.key]) << c.key;
    EXPECT_EQ(difference(changed), "") << c.key;
    Json forged = plain;
    forged[c.part][c.key] = changed[c.part][c.key];
    if (std::string_view(c.key).starts_with("bias"))  // a bias belongs to each id
      for (const char* const key : {"biased_ids", "biases"}) forged[c.part][key] = changed[c.part][key];
    EXPECT_EQ(difference(forged), "digest: the receipt was changed after it was written") << c.key;
    tried.insert(std::string(c.part) + "." + c.key);
  }
  // adapters have a test of their own
  for (const char* part : {"generation", "session"})
    for (const auto& [key, value] : plain[part].items())
      EXPECT_TRUE(tried.contains(std::string(part) + "." + key) || key == "adapters") << part << "." << key;
}

TEST(Receipt, ReplayNamesTheFirstDifference) {
  const Json receipt = receipt_of_answer(tiny(), drawn());
  const auto changed = [&](auto change) {
    Json out = receipt;
    change(out);
    return difference(resealed(out));
  };
  EXPECT_TRUE(changed([](Json& r) { r["model"]["sha256"] = "00"; }).starts_with("SHA-256 of the model "));
  EXPECT_TRUE(changed([](Json& r) { r["program"]["numerics_version"] = 1; }).starts_with("numerics version: 1 in the"));
  EXPECT_TRUE(changed([](Json& r) { r["prompt"]["ids"][0] = 9; }).starts_with("prompt id 1 of "));
  EXPECT_TRUE(changed([](Json& r) { r["prompt"]["text"] = "abd abc"; }).starts_with("prompt id "));
  EXPECT_TRUE(changed([](Json& r) { r["result"]["ids"][3] = 9; }).starts_with("token 4 of 6: 9 in the receipt, "));
  EXPECT_EQ(changed([](Json& r) { r["result"]["ids"].erase(5); }), "number of tokens: 5 in the receipt, 6 computed");
  EXPECT_EQ(changed([](Json& r) { r["result"]["ids"].push_back(1); }),
            "number of tokens: 7 in the receipt, 6 computed");
  EXPECT_EQ(changed([](Json& r) { r["result"]["stop_reason"] = "eos"; }),
            "reason of the end: eos in the receipt, length computed");
  EXPECT_EQ(changed([](Json& r) { r["result"]["text"] = "x"; }), "the text of the answer differs");
  EXPECT_TRUE(
      changed([](Json& r) { r["result"]["hash"] = "00"; }).starts_with("hash of the ids and the last logits: 00"));
  EXPECT_TRUE(changed([](Json& r) { r["generation"]["seed"] = "4"; }).starts_with("token "));
  // what no result depends on may be another
  EXPECT_EQ(changed([](Json& r) { r["machine"]["isa"] = "abacus", r["machine"]["threads"] = 77; }), "");
}

// Unless the caller asks for others. An unknown name belongs to another machine.
TEST(Receipt, ReplayUsesTheInstructionSetAndDeviceOfTheReceipt) {
  for (const Isa isa : usable_isas()) {
    Settings settings = drawn();
    settings.session.isa = isa;
    const Json receipt = receipt_of_answer(tiny(), settings);
    EXPECT_EQ(receipt["machine"]["isa"], name(isa));
    EXPECT_EQ(receipt["machine"]["device"], "cpu");
    const Json again = to_json(replay_receipt(receipt, {.threads = 1}).value());
    EXPECT_EQ(again["isa"], name(isa));
    EXPECT_EQ(again["device"], "cpu");
    EXPECT_EQ(again["equal"], true);
    const Isa other = usable_isas().front();
    EXPECT_EQ(to_json(replay_receipt(receipt, {.threads = 1, .isa = other}).value())["isa"], name(other));
    Json elsewhere = receipt;
    elsewhere["machine"]["isa"] = "abacus";
    EXPECT_EQ(to_json(replay_receipt(resealed(elsewhere), {.threads = 1}).value())["isa"], name(best_isa()));
  }
}

TEST(Receipt, AChangedByteOfTheModelIsNoticedAndAMovedModelIsFound) {
  const test::TempFolder folder;
  const std::string model = copy_of(tiny(), folder / "model");
  const Json receipt = receipt_of_answer(model, drawn());
  const std::string file = model + "/model.safetensors", bytes = test::read_all(file);
  ASSERT_FALSE(bytes.empty());
  std::string changed = bytes;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  test::write_all(file, changed);
  EXPECT_TRUE(difference(receipt).starts_with("SHA-256 of the model "));
  test::write_all(file, bytes);
  EXPECT_EQ(difference(receipt), "");
  test::write_all(model + "/README.md", "not read");
  EXPECT_EQ(difference(receipt), "");
  std::filesystem::rename(model, folder / "moved");
  expect_refused(receipt, "--model PATH says where the model is now");
  EXPECT_EQ(difference(receipt, {.model = folder / "moved"}), "");
}

TEST(Receipt, AHashThatIsRememberedIsThatOfTheFileAsItIs) {
  const test::TempFolder folder;
  const std::string file = folder / "weights.gguf";
  test::write_all(file, "one");
  const Digest one = content_hash(file).value();
  test::write_all(file, "two");
  EXPECT_NE(to_hex(content_hash(file).value()), to_hex(one));
  EXPECT_EQ(to_hex(content_hash(file).value()), to_hex(content_hash(file, HashCache::fresh).value()));
  EXPECT_EQ(content_hash(folder / "none").error().code, Code::NotFound);
  EXPECT_EQ(content_hash(folder.path()).error().code, Code::NotFound);
}

TEST(Receipt, AStoppedAnswerHasNone) {
  const LanguageModel model = tiny_model();
  const auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 64}).value();
  Generation g;
  EXPECT_EQ(receipt_of(model, *session, {}, g, {}).error().code, Code::InvalidState);
  g.stop_reason = StopReason::Cancelled;
  EXPECT_EQ(receipt_of(model, *session, {}, g, {}).error().code, Code::InvalidState);
}

TEST(Receipt, HostileReceiptsAreRefusedInOneLine) {
  const Json receipt = receipt_of_answer(tiny(), drawn());
  const auto with = [&](auto change) {
    Json out = receipt;
    change(out);
    return resealed(out);
  };
  expect_refused(Json::array(), "no receipt");
  expect_refused(Json{{"loom_receipt", 1}}, "/digest");
  expect_refused(with([](Json& r) { r["loom_receipt"] = 2; }), "/loom_receipt");
  expect_refused(with([](Json& r) { r["command"] = "rm"; }), "/command");
  expect_refused(with([](Json& r) { r["mystery"] = 1; }), "/mystery");
  expect_refused(with([](Json& r) { r["generation"]["tempreature"] = 1; }), "nearest: temperature");
  expect_refused(with([](Json& r) { r["generation"]["seed"] = "0x12"; }), "/generation/seed");
  expect_refused(with([](Json& r) { r["generation"]["seed"] = 12; }), "/generation/seed");
  expect_refused(with([](Json& r) { r["generation"]["biases"] = {1, 2}; }), "/generation/biases");
  expect_refused(with([](Json& r) { r["generation"]["top_p"] = -1; }), "top_p");
  expect_refused(with([](Json& r) { r["generation"]["temperature"] = 1e300; }), "/generation/temperature");
  expect_refused(with([](Json& r) { r["session"]["context"] = std::uint64_t{1} << 40; }), "/session/context");
  expect_refused(with([](Json& r) { r["session"]["context"] = 0; }), "/session/context");
  expect_refused(with([](Json& r) { r["session"]["kv_dtype"] = "int4"; }), "/session/kv_dtype");
  expect_refused(with([](Json& r) { r["session"]["dtype"] = "int5"; }), "int5");
  expect_refused(with([](Json& r) { r["session"]["adapters"] = {"none"}; }), "none");
  expect_refused(with([](Json& r) { r["prompt"]["ids"] = Json::array(); }), "/prompt/ids");
  expect_refused(with([](Json& r) { r["prompt"]["ids"] = {-5}, r["prompt"]["is_exact"] = false; }), "-1");
  expect_refused(with([](Json& r) { r["prompt"]["ids"] = {1 << 30}, r["prompt"]["is_exact"] = false; }), "1073741824");
  expect_refused(with([](Json& r) { r["model"]["path"] = "/dev/zero"; }), "/dev/zero");
  expect_refused(with([](Json& r) { r["adapters"] = {{{"name", "0"}, {"path", "/nowhere"}}}; }), "/nowhere");
  const std::string deep(100, '['), text = R"({"loom_receipt":)" + deep;
  EXPECT_FALSE(parse_json(text, kReceiptLimits));
}

TEST(Receipt, AdaptersCountByTheirContentAndByTheirUse) {
  const test::TempFolder folder;
  {
    const LanguageModel model = tiny_model();
    DecoderModel& decoder = *std::const_pointer_cast<DecoderModel>(model.decoder);
    PeftConfig config;
    ASSERT_TRUE(add_peft(decoder, config, 5));
    ASSERT_TRUE(save_peft(decoder, config, folder / "adapter"));
  }
  Settings with = drawn();
  with.adapters = {folder / "adapter"};
  const Json receipt = receipt_of_answer(tiny(), with);
  ASSERT_EQ(receipt["adapters"].size(), 1u);
  EXPECT_EQ(receipt["session"]["adapters"], Json::array({"0"}));
  EXPECT_EQ(difference(receipt), "");
  const std::string file = folder / "adapter" + "/adapter_model.safetensors";
  std::string bytes = test::read_all(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 0x40);
  test::write_all(file, bytes);
  EXPECT_TRUE(difference(receipt).starts_with("SHA-256 of the adapter "));
}

TEST(Receipt, AConversationKeepsAReceiptPerAnswerAndForgetsThoseOfEditedMessages) {
  const test::TempFolder folder;
  const LanguageModel model = tiny_model();
  const auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 512}).value();
  ChatOptions options;
  options.prompt.chat_template = ChatTemplate::parse("{% for m in messages %}{{ m.content }}\n{% endfor %}").value();
  options.generation.max_tokens = 4;
  Chat chat = Chat::create(model, *session, std::move(options)).value();
  EXPECT_EQ(chat.receipt().error().code, Code::InvalidState);
  for (const char* const text : {"a", "b", "c"}) ASSERT_TRUE(chat.ask(text));
  const std::string path = folder / "chat.json";
  ASSERT_TRUE(chat.save(path));
  const std::vector<Json> receipts = read_receipts(path).value();
  ASSERT_EQ(receipts.size(), 3u);
  for (const Json& receipt : receipts) EXPECT_EQ(difference(receipt), "");
  EXPECT_EQ(dump_json(chat.receipt().value()), dump_json(receipts[2]));
  EXPECT_TRUE(may_hold_receipts(path));
  EXPECT_EQ(write_receipt(path, receipts[0]).error().code, Code::InvalidArgument);

  ASSERT_TRUE(chat.load(path));
  ASSERT_TRUE(chat.edit(2, "d"));
  ASSERT_TRUE(chat.begin_answer());
  while (chat.is_answering()) ASSERT_TRUE(chat.next());
  ASSERT_TRUE(chat.save(path));
  const Json file = test::read_json(path);
  ASSERT_EQ(file["receipts"].size(), 2u);
  EXPECT_EQ(file["receipts"][0]["message"], 1);
  EXPECT_EQ(file["receipts"][1]["message"], 3);
  EXPECT_EQ(difference(file["receipts"][1]["receipt"]), "");
}

// The page lists the keys of all receipts.
TEST(Receipt, ThePageDescribesEveryKey) {
  Receipt receipt;
  const Json schema = object_schema([&](ConfigVisitor& visit) { receipt.fields(visit); });
  const std::string page = test::read_all(test::source_path("docs/guide/audit.md"));
  for (const KeyRow& row : key_rows(schema)) {
    const std::string last = row.key.substr(row.key.rfind('.') + 1);
    EXPECT_NE(page.find("`" + last + "`"), std::string::npos) << row.key;
  }
}

}  // namespace
}  // namespace loom::host_receipt_test
