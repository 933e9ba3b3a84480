// Receipts: what is in them, and that replay notices each change.

#include "host/receipt.h"

#include <filesystem>
#include <random>
#include <set>

#include "core/config_writer.h"
#include "core/little_endian.h"
#include "host/chat.h"
#include "host/replay_receipt.h"
#include "host/shown_answers.h"
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

Json receipt_of_answer(const std::string& path, const Settings& settings, const std::string& text = "abc abc",
                       bool has_trace = false) {
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
  if (has_trace) {
    EXPECT_TRUE(add_trace(*receipt, **session));
  }
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

TEST(Receipt, AFormIsInTheReceiptAndIsAppliedAgain) {
  const std::string choices[] = {"yes", "no", "maybe"};
  const std::pair<std::string, std::shared_ptr<const Grammar>> forms[] = {
      {"schema", Grammar::from_schema(R"({"type":"object","properties":{"b":{"type":"integer"},"a":{}}})").value()},
      {"grammar", Grammar::from_gbnf("root ::= [a-c]+").value()},
      {"regex", Grammar::from_regex("[a-z]{2,9}").value()},
      {"choices", Grammar::from_choices(choices).value()}};
  for (const auto& [kind, grammar] : forms) {
    Settings settings = drawn();
    settings.generation.grammar = grammar;
    const Json receipt = receipt_of_answer(tiny(), settings, "abc abc", true);
    EXPECT_EQ(receipt["form"]["kind"], kind);
    EXPECT_EQ(receipt["form"]["texts"].size(), kind == "choices" ? 3u : 1u);
    EXPECT_EQ(difference(receipt), "") << kind;
    Json free = receipt;
    free.erase("form");
    EXPECT_NE(difference(resealed(free)), "") << kind;
    Json bad = receipt;
    bad["form"]["texts"] = Json::array();
    expect_refused(resealed(bad), "expected");
  }
  EXPECT_FALSE(receipt_of_answer(tiny(), drawn()).contains("form"));
}

// Random numbers that every standard library draws alike.
struct Draws {
  std::mt19937 engine;
  std::size_t below(std::size_t bound) { return engine() % bound; }
};

// The layer that replay is to name for a tensor of the golden model.
std::string layer_of(const std::string& tensor) {
  if (tensor.starts_with("model.layers.")) return "layer " + tensor.substr(std::string("model.layers.").size(), 1);
  return tensor.starts_with("model.embed") ? "embedding" : tensor.starts_with("model.norm") ? "norm" : "head";
}

// LOOM_FLIPS is another number of changes.
std::size_t num_flips() {
  const char* const given = std::getenv("LOOM_FLIPS");
  return given == nullptr ? 200 : static_cast<std::size_t>(std::atoi(given));
}

TEST(Receipt, AFlippedBitOfAWeightIsFoundAndItsLayerNamed) {
  const test::TempFolder folder;
  const std::string model = copy_of(tiny(), folder / "model"), file = model + "/model.safetensors";
  const Json receipt = receipt_of_answer(model, drawn(), "abc abc", true);
  EXPECT_EQ(difference(receipt), "");
  const std::string bytes = test::read_all(file);
  const std::size_t header = load_le<std::uint64_t>(std::as_bytes(std::span(bytes)).data());
  const Json tensors = parse_json(std::string_view(bytes).substr(8, header)).value();
  Draws rng{std::mt19937(20261129)};
  for (std::size_t i = 0; i < num_flips(); ++i) {
    const std::size_t bit = rng.below((bytes.size() - 8 - header) * 8);
    std::string changed = bytes;
    changed[8 + header + bit / 8] = static_cast<char>(changed[8 + header + bit / 8] ^ (1 << bit % 8));
    test::write_all(file, changed);
    std::string tensor;
    for (const auto& [name, entry] : tensors.items())
      if (entry.contains("data_offsets") &&
          as_int(entry["data_offsets"][0]).value() <= static_cast<std::int64_t>(bit / 8) &&
          as_int(entry["data_offsets"][1]).value() > static_cast<std::int64_t>(bit / 8))
        tensor = name;
    const std::string found = difference(receipt);
    EXPECT_TRUE(found.starts_with("SHA-256 of the model ")) << found;
    // A weight that is no finite number any more is refused by the name of its tensor.
    EXPECT_TRUE(found.ends_with("first layer whose weights differ: " + layer_of(tensor)) ||
                found.find(tensor) != found.npos)
        << tensor << ": " << found;
  }
}

TEST(Receipt, AFlippedTokenIsFoundAndNamed) {
  const Json receipt = receipt_of_answer(tiny(), drawn(), "abc abc", true);
  const std::size_t prompt = receipt["prompt"]["ids"].size(), answer = receipt["result"]["ids"].size();
  Draws rng{std::mt19937(7)};
  for (std::size_t i = 0; i < num_flips(); ++i) {
    const std::size_t at = rng.below(prompt + answer);
    Json forged = receipt;
    Json& id = at < prompt ? forged["prompt"]["ids"][at] : forged["result"]["ids"][at - prompt];
    id = *as_int(id) ^ (1 << rng.below(8));  // 256 tokens
    forged["prompt"]["is_exact"] = false;    // else the text gives it away
    EXPECT_EQ(difference(forged), "digest: the receipt was changed after it was written");
    const std::string found = difference(resealed(forged));
    const std::string place = fmt::format("the first token that differs is {} of {}", at + 1, prompt + answer - 1);
    // The last drawn token is fed to no layer.
    const bool is_last = at + 1 == prompt + answer;
    EXPECT_TRUE(is_last || found.find(place + ", the first layer embedding") != found.npos) << at << ": " << found;
    if (at >= prompt) {
      EXPECT_TRUE(found.starts_with(fmt::format("token {} of {}: ", at - prompt + 1, answer))) << found;
    }
  }
}

// Every character of the text that still leaves it a receipt.
TEST(Receipt, AFlippedCharacterIsFound) {
  const std::string text = dump_json(receipt_of_answer(tiny(), drawn(), "abc abc", true));
  Draws rng{std::mt19937(11)};
  std::size_t compared = 0;
  for (std::size_t i = 0; compared < num_flips(); ++i) {
    ASSERT_LT(i, 100 * num_flips());
    std::string changed = text;
    const std::size_t at = rng.below(text.size());
    changed[at] = static_cast<char>(changed[at] ^ (1 << rng.below(7)));
    const auto json = parse_json(changed, kReceiptLimits);
    if (!json || dump_json(*json) == text) continue;
    const auto replay = replay_receipt(*json, {.threads = 1});
    if (replay) {
      EXPECT_EQ(replay->difference, "digest: the receipt was changed after it was written") << changed;
    }
    ++compared;
  }
}

// A processor or a memory that errs once leaves such a trace: values of one layer, from one token on.
TEST(Receipt, AChangedTraceIsFoundAndItsPlaceNamed) {
  const Json receipt = receipt_of_answer(tiny(), drawn(), "abc abc", true);
  const auto changed = [&](auto change) {
    Json out = receipt;
    change(out["trace"]);
    return difference(resealed(out));
  };
  const auto flip = [](Json& hash) {
    std::string text = hash;
    text[5] = text[5] == '0' ? '1' : '0';
    hash = text;
  };
  EXPECT_EQ(changed([&](Json& t) { flip(t["tokens"][4]), flip(t["layers"][2]); }),
            fmt::format("trace: the first token that differs is 5 of {}, the first layer layer 1",
                        receipt["trace"]["tokens"].size()));
  EXPECT_EQ(changed([&](Json& t) { flip(t["weights"][1]); }), "first layer whose weights differ: layer 0");
  EXPECT_TRUE(changed([&](Json& t) { flip(t["root"]); }).starts_with("root of the trace: "));
  EXPECT_TRUE(changed([&](Json& t) { t["tokens"].erase(0); }).starts_with("trace: "));
  EXPECT_TRUE(changed([&](Json& t) { t["weights"].erase(0); }).starts_with("layers of the trace: "));
  Json without = receipt;
  without.erase("trace");
  EXPECT_EQ(difference(resealed(without)), "");
}

TEST(Receipt, OneWhoseAnswerIsNotReproducedIsNotWritten) {
  const LanguageModel model = tiny_model();
  const auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 64}).value();
  GenerationOptions options;
  options.max_tokens = 4;
  const std::vector<std::int32_t> prompt{1, 2, 3};
  const Generation answer = generate(*session, model, prompt, options).value();
  Receipt receipt = receipt_of(model, *session, options, answer, {}).value();
  ASSERT_TRUE(add_trace(receipt, *session));
  receipt.result.ids[1] ^= 1;
  EXPECT_EQ(add_trace(receipt, *session).error().code, Code::InvalidState);
}

TEST(Receipt, ThoseOfASavedResponseAreRead) {
  const test::TempFolder folder;
  const Json receipt = receipt_of_answer(tiny(), drawn());
  const auto choice = [&](int index) {
    return Json{{"index", index}, {"loom", {{"hash", receipt["result"]["hash"]}, {"receipt", receipt}}}};
  };
  const std::string whole = folder / "whole.json", events = folder / "events.txt", none = folder / "none.json";
  test::write_all(whole, dump_json({{"id", "x"}, {"choices", Json::array({choice(0), choice(1)})}}));
  test::write_all(events, "data: " + dump_json({{"choices", Json::array({Json{{"index", 0}}})}}) + "\n\ndata: " +
                              dump_json({{"choices", Json::array({choice(0)})}}) + "\r\n\r\ndata: [DONE]\n\n");
  test::write_all(none, R"({"choices": [{"index": 0}]})");
  for (const std::string& path : {whole, events, none}) EXPECT_TRUE(may_hold_receipts(path)) << path;
  EXPECT_EQ(read_receipts(whole).value().size(), 2u);
  ASSERT_EQ(read_receipts(events).value().size(), 1u);
  EXPECT_EQ(difference(read_receipts(events).value()[0]), "");
  EXPECT_EQ(read_receipts(none).error().code, Code::NotFound);
  test::write_all(none, "data: {\n");
  EXPECT_EQ(read_receipts(none).error().code, Code::CorruptData);
  test::write_all(none, "data: [DONE]\n");
  EXPECT_FALSE(may_hold_receipts(none));
}

// A response that shows another answer than its receipt proves nothing.
TEST(Receipt, AnAnswerThatASavedResponseShowsIsThatOfItsReceipt) {
  const test::TempFolder folder;
  const std::string path = folder / "response";
  const auto difference = [&](std::string_view written, const Json& shown, bool in_events = false) {
    Json choice = shown;
    choice["index"] = 0;
    const Json receipt{{"loom_receipt", 1}, {"result", {{"text", written}}}};
    const Json last{{"index", 0}, {"delta", Json::object()}, {"loom", {{"receipt", receipt}}}};
    if (!in_events) choice["loom"] = last["loom"];
    std::string text = dump_json({{"choices", Json::array({choice})}});
    if (in_events) text = "data: " + text + "\n\ndata: " + dump_json({{"choices", Json::array({last})}}) + "\n\n";
    test::write_all(path, text);
    return shown_difference(path).value_or("error");
  };
  const auto call = [](const char* name, const char* arguments, const char* part = "message") {
    const Json function{{"name", name}, {"arguments", arguments}};
    return Json{{part, {{"content", nullptr}, {"tool_calls", Json::array({Json{{"function", function}}})}}}};
  };
  const auto said = [](const char* text) { return Json{{"message", {{"content", text}}}}; };
  EXPECT_EQ(difference("Yes, it is.", said("Yes, it is.")), "");
  EXPECT_EQ(difference("Yes, it is.", said("Yes")), "the text of the response: Yes, of its receipt: Yes, it is.");
  EXPECT_EQ(difference("Yes", {{"text", "Yes"}}), "");
  EXPECT_NE(difference("Yes", {{"text", "No"}}), "");
  EXPECT_EQ(difference("Yes", {{"delta", {{"content", "Yes"}}}}, true), "");
  EXPECT_NE(difference("Yes", {{"delta", {{"content", "No"}}}}, true), "");
  constexpr std::string_view kJson = R"({"name": "f", "arguments": {"a": [1, "}"], "b": 2}})";
  EXPECT_EQ(difference(kJson, call("f", R"({"a":[1,"}"],"b":2})")), "");
  EXPECT_EQ(difference(kJson, call("f", R"({"a":[1,"}"],"b":2})", "delta"), true), "");
  EXPECT_TRUE(difference(kJson, call("f", R"({"a":[1,"}"],"b":3})")).starts_with("the arguments of the response"));
  EXPECT_TRUE(difference(kJson, call("g", R"({"a":[1,"}"],"b":2})")).starts_with("the function of the response"));
  constexpr std::string_view kTags = "<f>\n<a>\n1e1\n</a>\n<b>x y</b></f>";
  EXPECT_EQ(difference(kTags, call("f", R"({"a":10,"b":"x y"})")), "");
  EXPECT_NE(difference(kTags, call("f", R"({"a":11,"b":"x y"})")), "");
  EXPECT_NE(difference(kTags, call("f", R"({"a":10,"b":"y x"})")), "");
  const Json thought{{"message", {{"content", "Yes."}, {"reasoning_content", "I see."}}}};
  EXPECT_EQ(difference("<think>\nI see.\n</think>\n\nYes.", thought), "");
  EXPECT_NE(difference("<think>\nI saw.\n</think>\n\nYes.", thought), "");
  EXPECT_NE(difference("<think>\nI see.\n</think>\n\nNo.", thought), "");
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
  EXPECT_EQ(shown_difference(path).value(), "");
  Json changed = test::read_json(path);
  changed["messages"][3]["content"] = "something else";
  test::write_all(folder / "changed.json", dump_json(changed));
  EXPECT_TRUE(shown_difference(folder / "changed.json").value().starts_with("answer 2: the text of"));
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
