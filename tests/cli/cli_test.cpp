// The loom program as a user meets it: exit codes, messages, JSON, and that nothing it does is seen on the network.

#include <sys/resource.h>

#include "../support/program.h"
#include "../support/small_model.h"
#include "core/json.h"
#include "core/numerics_version.h"

namespace loom::cli_test {
namespace {

using test::loom;
using test::Outcome;
using test::Program;
using test::source_path;
using Args = std::vector<std::string>;

// No token of this model ends a text, so that -n decides the length.
std::string tiny() { return source_path("tests/golden/models/llama2_untied"); }

class Cli : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempFolder;
    auto written = test::write_small_model(small());
    ASSERT_TRUE(written) << written.error().text();
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string temp(const std::string& name) { return *folder_ / name; }
  static std::string small() { return temp("small.gguf"); }

 private:
  static inline test::TempFolder* folder_ = nullptr;
};

Args operator+(Args a, const Args& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string shown(const Args& args) {
  std::string line = "loom";
  for (const std::string& a : args) line += " " + a.substr(0, 60);
  return line;
}

Json json_of(const Outcome& run) {
  EXPECT_EQ(run.status, 0) << run.err;
  auto json = parse_json(run.out);
  if (json) return *json;
  ADD_FAILURE() << json.error().text() << ": " << run.out.substr(0, 300);
  return nullptr;
}

void expect_one_line(const Outcome& run, const std::string& named) {
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err.rfind("loom: ", 0), 0u) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_NE(run.err.find(named), std::string::npos) << run.err << "does not name " << named;
  EXPECT_EQ(run.err.find("  "), std::string::npos) << run.err;
}

TEST_F(Cli, wrong_usage_exits_2) {
  const Args generate = {"generate", tiny(), "-p", "a"};
  const Args wrong[] = {
      {},
      {"nothing"},
      {"--nothing"},
      {"generate"},
      {"generate", tiny()},
      generate + Args{"--nothing"},
      generate + Args{"extra"},
      generate + Args{"-n", "-1"},
      generate + Args{"-n", "many"},
      generate + Args{"-t", "0"},
      generate + Args{"-t", "257"},
      generate + Args{"--ctx", "0"},
      generate + Args{"--isa", "mmx"},
      generate + Args{"--dtype", "int3"},
      generate + Args{"--temp", "-1"},
      generate + Args{"--temp", "nan"},
      generate + Args{"--top-p", "1.5"},
      generate + Args{"--top-k", "-2"},
      generate + Args{"--min-p", "2"},
      generate + Args{"--typical-p", "0"},
      generate + Args{"--repetition-penalty", "0"},
      generate + Args{"--frequency-penalty", "inf"},
      generate + Args{"--logit-bias", "1"},
      generate + Args{"--logit-bias", "1:x"},
      generate + Args{"--logit-bias", ":1"},
      generate + Args{"--logit-bias", "256:1"},
      generate + Args{"--logit-bias", "1:inf"},
      generate + Args{"-f", "-"},
      generate + Args{"--raw", "--chat"},
      generate + Args{"--seed", "-1"},
      generate + Args{"--seed", "99999999999999999999"},
      generate + Args{"--logprobs", "-1"},
      {"logits", tiny(), "--ids", "1", "--top", "-1"},
      {"perplexity", tiny(), source_path("CMakeLists.txt"), "--max-windows", "-1"},
      {"logits", tiny()},
      {"logits", tiny(), "--ids", "1,x"},
      {"logits", tiny(), "--ids", "1,-2"},
      {"logits", tiny(), "--ids", "99999999999999999999"},
      {"logits", tiny(), "--ids", ","},
      {"logits", tiny(), "--ids", "1", "-p", "a"},
      {"detokenize", tiny()},
      {"detokenize", tiny(), "--ids", "x"},
      {"bench", tiny(), "--repeats", "0"},
      {"bench", tiny(), "--batch", "1000"},
      {"perplexity", tiny(), source_path("CMakeLists.txt"), "--window", "1"},
      {"quantize", small(), temp("out.gguf")},
      {"quantize", small(), temp("out.gguf"), "--dtype", "nothing"},
      {"verify", "--isa", "mmx"},
  };
  for (const Args& args : wrong) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 2) << shown(args) << ": " << run.err << run.out;
    EXPECT_FALSE(run.err.empty()) << shown(args);
  }
  const std::pair<Args, const char*> told[] = {
      {{"--logit-bias", "1:nan"}, "logit_bias of token 1 is nan, expected a finite number, or -inf to ban the token"},
      {{"--logit-bias", "256:1"}, "logit_bias id is 256, expected an id of the vocabulary"},
      {{"--temp", "1e300"}, "--temp: 1e300 is no number from 0 to 3.4028234663852886e+38"},
      {{"--choice", "yes", "--stop", "e"}, "--stop has no sense beside --choice"}};
  for (const auto& [args, line] : told) expect_one_line(loom(generate + args), line);
  EXPECT_FALSE(is_file(temp("out.gguf")));
}

// Every command that reads a model, against everything that is none.
TEST_F(Cli, bad_files_exit_3_with_one_line_that_names_them) {
  const std::string whole = test::read_all(small());
  ASSERT_GT(whole.size(), 1000000u);
  const auto made = [&](const std::string& name, const std::string& bytes) {
    test::write_all(temp(name), bytes);
    return temp(name);
  };
  const std::string no_config = temp("no_config"), bad_config = temp("bad_config"), no_weights = temp("no_weights");
  for (const std::string& folder : {no_config, bad_config, no_weights}) std::filesystem::create_directory(folder);
  test::write_all(bad_config + "/config.json", "{\"model_type\": \"llama\", ");
  std::filesystem::copy_file(tiny() + "/config.json", no_weights + "/config.json");
  const std::string bad[] = {
      temp("missing.gguf"),
      made("empty.gguf", ""),
      made("short.gguf", whole.substr(0, 30)),
      made("head.gguf", whole.substr(0, 100000)),
      made("half.gguf", whole.substr(0, whole.size() / 2)),
      made("cut.gguf", whole.substr(0, whole.size() - 1)),
      made("text.gguf", "this is no model\n"),
      no_config,
      bad_config,
      no_weights,
      test::data_path("vocabs/bert-bge.gguf"),
      source_path("tests/golden/models/gemma1"),
      made("new\nline.gguf", "x"),
      "/dev/null",
      "/dev/zero",
  };
  const auto commands = [&](const std::string& path) -> std::vector<Args> {
    return {{"generate", path, "-p", "a"},  {"chat", path, "-p", "a"},
            {"logits", path, "--ids", "1"}, {"perplexity", path, source_path("CMakeLists.txt")},
            {"bench", path, "--json"},      {"inspect", path},
            {"inspect", path, "--json"}};
  };
  for (const std::string& path : bad)
    for (const Args& args : commands(path)) {
      SCOPED_TRACE(shown(args));
      const Outcome run = loom(args);
      EXPECT_EQ(run.status, 3);
      expect_one_line(run, path == temp("new\nline.gguf") ? temp("new\\x0aline.gguf") : path);
    }
  for (const std::string& path : {bad[0], bad[1], bad[2], bad[3], bad[4], bad[5], bad[6], no_config}) {
    SCOPED_TRACE(path);
    const Outcome run = loom({"quantize", path, temp("never.gguf"), "--dtype", "q8_0"});
    EXPECT_EQ(run.status, 3);
    expect_one_line(run, path);
    const Outcome tokens = loom({"tokenize", path, "--text", "a"});
    EXPECT_EQ(tokens.status, 3);
    expect_one_line(tokens, path);
  }
  EXPECT_FALSE(is_file(temp("never.gguf")));
  EXPECT_EQ(test::leftovers(temp("")), std::vector<std::string>());
  for (const Args& args : {Args{"generate", tiny(), "-f", temp("missing.txt")},
                           {"tokenize", tiny(), "--file", temp("missing.txt")},
                           {"perplexity", tiny(), temp("missing.txt")}}) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 3) << shown(args);
    expect_one_line(run, temp("missing.txt"));
  }
}

TEST_F(Cli, ids_and_contexts_that_do_not_fit_exit_3) {
  const std::pair<Args, const char*> runs[] = {
      {{"logits", tiny(), "--ids", "256"}, "256"},
      {{"logits", tiny(), "--ids", "1,2147483647"}, "2147483647"},
      {{"detokenize", tiny(), "--ids", "70000"}, "70000"},
      {{"generate", tiny(), "--ctx", "4", "-p", "five tokens and more"}, "holds 4"},
      {{"chat", small(), "--ctx", "4", "-p", "five tokens and more"}, "holds 4"},
      {{"bench", tiny(), "--ctx", "4", "--repeats", "1"}, "context of 4"},
  };
  for (const auto& [args, named] : runs) {
    SCOPED_TRACE(shown(args));
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 3);
    expect_one_line(run, named);
  }
  // A context that fills up while it writes is an end like another.
  const Json j = json_of(loom({"generate", tiny(), "--ctx", "8", "-p", "abcd", "-n", "100", "--json"}));
  EXPECT_EQ(j["stop_reason"], "context");
  EXPECT_EQ(j["ids"].size(), 5u);
}

TEST_F(Cli, a_model_without_a_template_says_so) {
  for (const Args& args : {Args{"chat", tiny(), "-p", "a"}, {"generate", tiny(), "--chat", "-p", "a"}}) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 3);
    expect_one_line(run, tiny());
    EXPECT_NE(run.err.find("--raw"), std::string::npos) << run.err;
  }
}

TEST_F(Cli, json_of_generate_has_every_field) {
  const Json j = json_of(loom({"generate", small(), "-p", "Hello", "-n", "6", "--json", "-t", "1", "--logprobs", "2"}));
  ASSERT_TRUE(j.is_object());
  for (const char* field : {"text", "hash", "isa"}) EXPECT_TRUE(find(j, field) && j[field].is_string()) << field;
  for (const char* field :
       {"prompt_tokens", "prefill_tps", "decode_tps", "load_ms", "peak_rss_mb", "threads", "numerics_version"}) {
    ASSERT_TRUE(find(j, field) && j[field].is_number()) << field;
    EXPECT_GT(*as_number(j[field]), 0) << field;
  }
  ASSERT_TRUE(j["ids"].is_array());
  EXPECT_EQ(j["ids"].size(), 6u);
  EXPECT_EQ(as_string(j["hash"])->size(), 64u);
  EXPECT_EQ(*as_int(j["threads"]), 1);
  ASSERT_EQ(j["logprobs"].size(), 6u);
  EXPECT_EQ(j["logprobs"][0]["top"].size(), 2u);
  EXPECT_EQ(j["logprobs"][0]["id"], j["ids"][0]);
  // Without --json the same text is written.
  const Outcome plain = loom({"generate", small(), "-p", "Hello", "-n", "6", "-t", "1"});
  EXPECT_EQ(plain.out, *as_string(j["text"]) + "\n");
  EXPECT_EQ(plain.err, "");
}

TEST_F(Cli, hashes_are_equal_for_every_instruction_set_and_thread_count) {
  const Json audit = json_of(loom({"audit", "--json"}));
  const std::vector<Args> work = {
      {"generate", small(), "-p", "The capital of France is", "-n", "24", "--ignore-eos"},
      {"generate", small(), "-p", "The capital of France is", "-n", "24", "--ignore-eos", "--temp", "3", "--top-p",
       "0.99", "--seed", "5"},
      {"generate", source_path("tests/golden/models/mistral_window"), "-p",
       "Once upon a time there was a ring of sixteen tokens", "-n", "60"},
      {"logits", source_path("tests/golden/models/qwen3_head_norm"), "--ids", "1,2,3,4,5,6,7,8,9"}};
  for (const Args& args : work) {
    SCOPED_TRACE(shown(args));
    std::string first;
    std::size_t runs = 0;
    for (const Json& isa : audit["isas"])
      for (const char* threads : {"1", "2"}) {
        const Json j = json_of(loom(args + Args{"--json", "--isa", *as_string(isa), "-t", threads}));
        ASSERT_TRUE(j.is_object());
        EXPECT_EQ(j["isa"], isa);
        const std::string hash = *as_string(j["hash"]) + dump_json(j["ids"]);
        if (first.empty()) first = hash;
        EXPECT_EQ(hash, first) << isa << " " << threads;
        ++runs;
      }
    EXPECT_GE(runs, 2u);
  }
  // Each of them is a function of its input as well.
  EXPECT_NE(json_of(loom(work[0] + Args{"--json"}))["hash"], json_of(loom(work[1] + Args{"--json"}))["hash"]);
}

TEST_F(Cli, stop_strings_and_lengths) {  // X-23
  const Json whole = json_of(loom({"generate", small(), "-p", "Hello", "-n", "20", "--json", "--ignore-eos"}));
  EXPECT_EQ(whole["stop_reason"], "length");
  const std::string text = *as_string(whole["text"]);
  ASSERT_GT(text.size(), 12u);
  const std::string stop = text.substr(6, 3);
  const Json cut =
      json_of(loom({"generate", small(), "-p", "Hello", "-n", "20", "--json", "--ignore-eos", "--stop", stop}));
  EXPECT_EQ(cut["stop_reason"], "stop");
  EXPECT_EQ(*as_string(cut["text"]), text.substr(0, text.find(stop)));
  const Json none = json_of(loom({"generate", small(), "-p", "Hello", "-n", "0", "--json"}));
  EXPECT_EQ(none["ids"].size(), 0u);
  EXPECT_EQ(none["text"], "");
}

TEST_F(Cli, tokenize_and_detokenize_are_inverse) {
  const std::string text = "Hello, W\xc3\xb6rld! 12345\n\t<|im_end|> \xf0\x9f\x98\x80 end";
  for (const std::string& model :
       {small(), tiny(), test::data_path("vocabs/qwen2.gguf"), test::data_path("vocabs/llama-bpe.gguf")}) {
    SCOPED_TRACE(model);
    const Outcome ids = loom({"tokenize", model, "--text", text, "--no-special", "--no-parse-special"});
    ASSERT_EQ(ids.status, 0) << ids.err;
    const Outcome back = loom({"detokenize", model, "--ids", ids.out.substr(0, ids.out.size() - 1)});
    EXPECT_EQ(back.status, 0) << back.err;
    EXPECT_EQ(back.out, text + "\n");
    EXPECT_EQ(loom({"detokenize", model, "--file", "-"}, ids.out).out, text + "\n");
    EXPECT_EQ(loom({"tokenize", model, "--file", "-", "--no-special", "--no-parse-special"}, text).out, ids.out);
    const Json j = json_of(loom({"tokenize", model, "--text", text, "--no-special", "--no-parse-special", "--json"}));
    EXPECT_EQ(j["ids"].size(), j["tokens"].size());
    EXPECT_EQ(*as_int(j["count"]), static_cast<std::int64_t>(j["ids"].size()));
    EXPECT_EQ(json_of(loom({"detokenize", model, "--ids", dump_json(j["ids"]), "--json"}))["text"], text);
  }
  EXPECT_EQ(loom({"tokenize", tiny(), "--text", ""}).out, "\n");
}

TEST_F(Cli, arguments_need_not_be_utf8) {
  const std::string bytes = "a\xff\xfe\xc3(";
  const Outcome run = loom({"generate", tiny(), "-p", bytes, "-n", "3", "--json"});
  EXPECT_EQ(json_of(run)["ids"].size(), 3u);
  EXPECT_EQ(loom({"generate", small(), "-p", bytes, "-n", "3", "--json"}).status, 0);
  const Outcome ids = loom({"tokenize", tiny(), "--text", bytes});
  EXPECT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(loom({"tokenize", tiny(), "--text", bytes, "--json"}).status, 0);
  const Outcome missing = loom({"inspect", temp("\xff\xfe.gguf")});
  EXPECT_EQ(missing.status, 3);
  expect_one_line(missing, temp("\\xff\\xfe.gguf"));
  EXPECT_EQ(loom({"generate", tiny(), "-p", "a", "-n", "3", "--stop", "\xff"}).status, 0);
  for (const std::vector<std::string>& stops :
       {std::vector<std::string>{"--stop", ""}, {"--stop", "x", "--stop", ""}}) {
    std::vector<std::string> args = {"generate", tiny(), "-p", "a", "-n", "3"};
    args.insert(args.end(), stops.begin(), stops.end());
    const auto refused = loom(args);
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.err.find("--stop: an empty text"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(loom({"generate", tiny(), "-p", "a", "--isa", "\xff"}).status, 2);
}

TEST_F(Cli, inspect_tells_what_is_inside) {
  for (const std::string& model : {small(), tiny()}) {
    const Json j = json_of(loom({"inspect", model, "--json", "--tensors"}));
    EXPECT_EQ(j["architecture"], "llama");
    EXPECT_EQ(j["path"], model);
    std::size_t parameters = 0;
    for (const Json& t : j["tensors"]) {
      std::size_t n = 1;
      for (const Json& d : t["shape"]) n *= static_cast<std::size_t>(*as_int(d));
      parameters += n;
    }
    EXPECT_EQ(*as_int(j["parameters"]), static_cast<std::int64_t>(parameters));
    EXPECT_GT(parameters, 1000u);
    const Outcome text = loom({"inspect", model, "--tensors"});
    EXPECT_EQ(text.status, 0);
    for (const Json& t : j["tensors"]) EXPECT_NE(text.out.find(*as_string(t["name"])), std::string::npos);
  }
}

TEST_F(Cli, quantize_writes_what_generate_reads) {  // F-41
  for (const char* dtype : {"q8_0", "q4_0", "float16", "bfloat16", "float32"}) {
    SCOPED_TRACE(dtype);
    const std::string out = temp(std::string("q_") + dtype + ".gguf");
    const Outcome run = loom({"quantize", small(), out, "--dtype", dtype, "-q"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out + run.err, "");
    const Json said = json_of(loom({"quantize", small(), out, "--dtype", dtype, "--overwrite", "--json"}));
    EXPECT_EQ(said["bytes"], std::filesystem::file_size(out)) << dump_json(said);
    const Json types = json_of(loom({"inspect", out, "--json"}))["types"];
    EXPECT_TRUE(find(types, dtype)) << dump_json(types);
    const Json j = json_of(loom({"generate", out, "-p", "Hello", "-n", "4", "--json", "--ignore-eos"}));
    EXPECT_EQ(j["ids"].size(), 4u);
    // On load or beforehand: the same codes.
    const Json direct = json_of(loom({"logits", small(), "--ids", "1,2,3", "--dtype", dtype, "--json"}));
    EXPECT_EQ(json_of(loom({"logits", out, "--ids", "1,2,3", "--json"}))["hash"], direct["hash"]);
    EXPECT_EQ(test::leftovers(temp("")), std::vector<std::string>());
    std::filesystem::remove(out);
  }
}

TEST_F(Cli, quantize_never_leaves_half_a_file) {
  // A file that is no model is not replaced.
  const std::string letter = temp("letter.txt");
  test::write_all(letter, "keep me");
  const Outcome kept = loom({"quantize", small(), letter, "--dtype", "q8_0"});
  EXPECT_EQ(kept.status, 2);
  expect_one_line(kept, letter);
  EXPECT_EQ(test::read_all(letter), "keep me");

  // A disk that is full at the third write.
  const std::string out = temp("full.gguf");
  Program program({test::loom_binary(), "quantize", small(), out, "--dtype", "q8_0"});
  program.environment = {"LD_PRELOAD=" + test::binary_path("bin/loom_faults.so"), "LOOM_FAIL_SAVE=4"};
  program.start();
  const Outcome full = program.finish();
  EXPECT_EQ(full.status, 3);
  expect_one_line(full, out);
  EXPECT_NE(full.err.find("No space left"), std::string::npos) << full.err;
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(test::leftovers(temp("")), std::vector<std::string>());

  // A device as target is not replaced by a file. By way of a link, so that a failure of this test costs no device.
  const std::string device = temp("device.gguf");
  std::filesystem::create_symlink("/dev/full", device);
  const Outcome refused = loom({"quantize", small(), device, "--dtype", "q8_0"});
  EXPECT_EQ(refused.status, 3);
  expect_one_line(refused, device);
  EXPECT_TRUE(std::filesystem::is_symlink(device));

  const Outcome nowhere = loom({"quantize", small(), temp("no_such_folder/out.gguf"), "--dtype", "q8_0"});
  EXPECT_EQ(nowhere.status, 3);
  expect_one_line(nowhere, temp("no_such_folder/out.gguf"));
  const Outcome folder = loom({"quantize", small(), temp(""), "--dtype", "q8_0"});
  EXPECT_EQ(folder.status, 3);
}

TEST_F(Cli, verify_passes_and_audit_names_what_is_used) {
  const Json j = json_of(loom({"verify", "--json"}));
  EXPECT_EQ(j["pass"], true);
  EXPECT_EQ(j["digest"], j["expected"]);
  const Json audit = json_of(loom({"audit", "--json"}));
  for (const char* field :
       {"cpu", "physical_cores", "memory_mb", "caches", "isas", "chosen_isa", "tiles", "version", "numerics_version"})
    EXPECT_TRUE(find(audit, field)) << field;
  EXPECT_EQ(audit["chosen_isa"], audit["isas"].back());
  const Outcome text = loom({"audit"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find(*as_string(audit["chosen_isa"])), std::string::npos);
}

TEST_F(Cli, verify_reports_a_row_about_this_machine) {
  const Outcome run = loom({"verify", "--report", "--json", "-t", "2", "--isa", "scalar", "--model", tiny()});
  const Json j = json_of(run);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(j["pass"], true);
  const std::string digest = *as_string(json_of(loom({"verify", "--json"}))["expected"]);
  EXPECT_EQ(j["digest"], digest);
  // Python's and Node's packages give this hash too (js/test/answers.test.mjs compares them).
  const std::string steps = "aebbbb09f7ac587e4372493951c9564a93aacec28ef177fe705d472a5743d817";
  EXPECT_EQ(j["training_steps"], steps);
  EXPECT_EQ(j["isa"], "scalar");
  EXPECT_EQ(j["threads"], 2);
  EXPECT_EQ(j["numerics_version"], kNumericsVersion);
  EXPECT_EQ(j["version"], LOOM_VERSION);
  for (const char* field : {"target", "compiler", "cpu"}) EXPECT_FALSE(as_string(j[field])->empty()) << field;
  EXPECT_EQ(j["answer"], json_of(loom({"generate", tiny(), "-p", "What is the capital of France?", "--json"}))["hash"]);
  EXPECT_EQ(as_string(j["model_sha256"])->size(), 64u);
  // The text is a row of a table, with the same values; without a model there is no answer.
  const Outcome text = loom({"verify", "--report", "-t", "1", "--isa", "scalar"});
  EXPECT_EQ(text.status, 0);
  const std::string end = "| scalar | 1 | " + digest + " | not run | " + steps + " |\n";
  EXPECT_TRUE(text.out.starts_with("| ")) << text.out;
  EXPECT_TRUE(text.out.ends_with(end)) << text.out;
  EXPECT_EQ(std::ranges::count(text.out, '\n'), 1) << text.out;
  const Outcome missing = loom({"verify", "--report", "--model", temp("none.gguf")});
  EXPECT_EQ(missing.status, 3);
  expect_one_line(missing, temp("none.gguf"));
}

TEST_F(Cli, speculation_writes_the_same_text) {  // X-25
  const Args start = {"generate", tiny(), "-p", "abcabcabcabcabcabc", "-n", "40", "--json", "-t", "1"};
  const auto with = [&](const Args& more) {
    Args args = start;
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  const Json plain = json_of(loom(start));
  EXPECT_FALSE(find(plain, "speculation"));
  for (const std::string& by : {std::string("ngram"), tiny()}) {
    const Json told = json_of(loom(with({"--speculate", by})));
    EXPECT_EQ(told["hash"], plain["hash"]) << by;
    EXPECT_EQ(told["text"], plain["text"]) << by;
    const Json& counts = told["speculation"];
    EXPECT_EQ(*as_int(counts["passes"]) + *as_int(counts["accepted"]), 39) << by;
    EXPECT_EQ(*as_int(counts["drafted"]) > 0, by == "ngram") << by;
  }
  const Outcome chat =
      loom({"chat", small(), "-n", "24", "--ignore-eos", "--speculate", "ngram"}, "A A A A A A\n/stats\n");
  EXPECT_EQ(chat.status, 0) << chat.err;
  EXPECT_NE(chat.out.find("came true"), std::string::npos) << chat.out;
  const Outcome without = loom({"chat", small(), "-n", "24", "--ignore-eos"}, "A A A A A A\n");
  EXPECT_EQ(chat.out.substr(0, without.out.size() - 1), without.out.substr(0, without.out.size() - 1));
  const Json bench = json_of(loom({"bench", tiny(), "--json", "--repeats", "1", "--prompt-tokens", "60", "--new-tokens",
                                   "20", "--batch", "2", "--speculate", "ngram"}));
  EXPECT_EQ(*as_int(bench["speculation"]["passes"]) + *as_int(bench["speculation"]["accepted"]), 40);
  for (const auto& [by, status, named] : {std::tuple{temp("missing"), 3, temp("missing")},
                                          {small(), 2, std::string("the same tokens")},
                                          {std::string(""), 2, std::string("--speculate")}}) {
    const Outcome refused = loom(with({"--speculate", by}));
    EXPECT_EQ(refused.status, status) << refused.err;
    EXPECT_NE(refused.err.find(named), std::string::npos) << refused.err;
  }
}

TEST_F(Cli, bench_and_perplexity_report) {
  const Json j = json_of(loom(
      {"bench", tiny(), "--json", "--repeats", "2", "--prompt-tokens", "20", "--new-tokens", "5", "--batch", "3"}));
  for (const char* field : {"prefill_tps", "decode_tps", "load_ms", "peak_rss_mb", "weights_mb"})
    EXPECT_GT(*as_number(j[field]), 0) << field;
  EXPECT_EQ(j["weights_on_host_mb"], j["weights_mb"]);
  EXPECT_FALSE(j.contains("sampling"));
  const Json drawn = json_of(loom({"bench", tiny(), "--json", "--repeats", "1", "--prompt-tokens", "20", "--new-tokens",
                                   "5", "--temperature", "0.5", "--top-k", "40", "--seed", "3"}));
  EXPECT_EQ(*as_number(drawn["sampling"]["temperature"]), 0.5);
  EXPECT_EQ(*as_int(drawn["sampling"]["top_k"]), 40);
  const Outcome refused = loom({"bench", tiny(), "--top-k", "40"});
  EXPECT_EQ(refused.status, 2);
  expect_one_line(refused, "no effect at temperature 0");
  std::string text;
  for (int i = 0; i < 400; ++i) text += static_cast<char>('a' + i * i % 26);
  test::write_all(temp("text.txt"), text);
  const Json p = json_of(loom({"perplexity", tiny(), temp("text.txt"), "--window", "64", "--json"}));
  EXPECT_EQ(*as_int(p["windows"]), 6);
  EXPECT_EQ(*as_int(p["scored"]), 6 * 63);
  EXPECT_GT(*as_number(p["perplexity"]), 1);
}

TEST_F(Cli, chat_commands) {
  const std::string saved = temp("chat.json");
  const std::string input = "/help\nHello\n/stats\n/save " + saved + "\n/reset\n/stats\n/load " + saved +
                            "\nAnd you?\n/system Be brief.\n/nothing\n/save\n/load " + temp("missing.json") +
                            "\n\n/quit\nnever asked\n";
  const Outcome run = loom({"chat", small(), "-n", "5", "--ignore-eos"}, input);
  EXPECT_EQ(run.status, 1) << "a script must hear of what failed: " << run.err;
  EXPECT_EQ(run.err, "");
  for (const char* text : {"/system TEXT", "/save FILE", "/load FILE", "/stats", "/reset", "tokens in the context",
                           "last answer:", "Saved.", "The conversation is empty.", "Loaded.", "System message set",
                           "unknown command /nothing", "give a file name"})
    EXPECT_NE(run.out.find(text), std::string::npos) << text << " is missing in:\n" << run.out;
  EXPECT_NE(run.out.find(temp("missing.json")), std::string::npos);
  EXPECT_NE(run.out.find("\n0 of "), std::string::npos) << run.out;  // after /reset
  const Json chat = test::read_json(saved);
  ASSERT_EQ(chat["messages"].size(), 2u);
  EXPECT_EQ(chat["messages"][0]["role"], "user");
  EXPECT_EQ(chat["messages"][0]["content"], "Hello");
  EXPECT_EQ(chat["messages"][1]["role"], "assistant");
  // The first answer is the one that generate gives.
  const Json same = json_of(loom({"generate", small(), "-p", "Hello", "-n", "5", "--ignore-eos", "--json"}));
  EXPECT_EQ(chat["messages"][1]["content"], same["text"]);

  // A conversation that was loaded goes on like the one that was saved; a cache that is kept gives the text of one that
  // is not.
  const Outcome on = loom({"chat", small(), "-n", "5", "--ignore-eos"}, "Hello\nAnd you?\n"),
                loaded = loom({"chat", small(), "-n", "5", "--ignore-eos"}, "/load " + saved + "\nAnd you?\n");
  EXPECT_EQ(on.out, *as_string(same["text"]) + "\n" + loaded.out.substr(loaded.out.find('\n') + 1));
}

TEST_F(Cli, chat_refuses_damaged_conversations_and_goes_on) {
  std::string input;
  for (const char* text :
       {"", "{", "[1]", "{\"messages\": 3}", "{\"messages\": [1]}", "{\"messages\": [{\"role\": \"user\"}]}",
        "{\"messages\": [{\"role\": 1, \"content\": \"a\"}]}"}) {
    const std::string path = temp("damaged" + std::to_string(input.size()) + ".json");
    test::write_all(path, text);
    input += "/load " + path + "\n";
  }
  const Outcome run = loom({"chat", small(), "-n", "3"}, input + "/load " + tiny() + "\nHello\n");
  EXPECT_EQ(run.status, 1);
  std::size_t errors = 0;
  for (std::size_t at = 0; (at = run.out.find("Error: ", at)) != std::string::npos; ++at) ++errors;
  EXPECT_EQ(errors, 8u) << run.out;
  EXPECT_EQ(run.out.find("Loaded."), std::string::npos);
}

TEST_F(Cli, chat_says_when_the_context_is_full_and_goes_on) {
  const Outcome run =
      loom({"chat", small(), "--ctx", "40", "-n", "1000", "--ignore-eos"}, "Hello\nHello again\n/reset\n/stats\n");
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.out.find("(the context is full)"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("/reset empties it"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("0 of 40 tokens"), std::string::npos) << run.out;
}

TEST_F(Cli, interrupt_ends_generate_with_130) {
  Program program({test::loom_binary(), "generate", test::smollm2(), "-p", "Tell a story", "-n", "100000",
                   "--ignore-eos", "--ctx", "100000"});
  program.start();
  ASSERT_TRUE(program.wait_for_output(20));
  program.interrupt();
  const Outcome run = program.finish();
  EXPECT_EQ(run.status, 130);
  EXPECT_GE(run.out.size(), 20u);
  EXPECT_EQ(run.out.back(), '\n');

  // While it still reads the prompt.
  std::string words;
  for (int i = 0; i < 30000; ++i) words += "word ";
  Program reading({test::loom_binary(), "generate", test::smollm2(), "--raw", "-f", "-", "--ctx", "40000", "-q"});
  reading.start();
  reading.send(words.substr(0, 60000));  // what a pipe takes
  reading.end_input();
  ASSERT_TRUE(reading.wait_for_work(1));
  reading.interrupt();
  const Outcome early = reading.finish();
  EXPECT_EQ(early.status, 130);
  EXPECT_EQ(early.out, "");
  EXPECT_LE(std::count(early.err.begin(), early.err.end(), '\n'), 1) << early.err;
}

TEST_F(Cli, interrupt_stops_an_answer_of_chat_only) {
  Program program({test::loom_binary(), "chat", test::smollm2(), "-n", "100000", "--ignore-eos", "--ctx", "100000"});
  program.start();
  program.send("Tell a story\n");
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(program.wait_for_output(20));
    program.interrupt();
    const std::size_t before = program.output().size();
    program.send("/stats\n");
    ASSERT_TRUE(program.wait_for_text("(stopped)")) << program.output();
    ASSERT_TRUE(program.wait_for_text("last answer:")) << program.output();
    EXPECT_LT(program.output().size() - before, 4000u);
    if (turn == 0) program.send("Another\n");
  }
  program.send("/quit\n");
  const Outcome run = program.finish();
  EXPECT_EQ(run.status, 0) << run.err;

  Program once({test::loom_binary(), "chat", test::smollm2(), "-p", "Tell a story", "-n", "100000", "--ignore-eos",
                "--ctx", "100000"});
  once.start();
  ASSERT_TRUE(once.wait_for_output(20));
  once.interrupt();
  EXPECT_EQ(once.finish().status, 130);
}

TEST_F(Cli, streams_that_are_closed_or_full) {
  const Args args = {test::loom_binary(), "generate", tiny(), "-p", "a", "-n", "3"};
  {
    Program program(args);
    program.close_stdout = true;
    program.start();
    const Outcome run = program.finish();
    EXPECT_EQ(run.status, 1);
    EXPECT_NE(run.err.find("standard output"), std::string::npos) << run.err;
  }
  {
    Program program(args);
    program.stdout_file = "/dev/full";
    program.start();
    const Outcome run = program.finish();
    EXPECT_EQ(run.status, 1);
    EXPECT_NE(run.err.find("standard output"), std::string::npos) << run.err;
  }
  {
    Program program({test::loom_binary(), "chat", small()});
    program.close_stdin = true;
    program.start();
    EXPECT_EQ(program.finish().status, 0);
  }
  // With the number of stdout free, the output file must not get what is meant for people.
  Program program({test::loom_binary(), "quantize", small(), temp("closed.gguf"), "--dtype", "q8_0"});
  program.close_stdout = true;
  program.close_stdin = true;
  program.start();
  (void)program.finish();
  EXPECT_EQ(loom({"quantize", small(), temp("open.gguf"), "--dtype", "q8_0"}).status, 0);
  EXPECT_TRUE(test::read_all(temp("closed.gguf")) == test::read_all(temp("open.gguf")));
}

TEST_F(Cli, a_converted_model_answers_as_its_source) {  // F-04
  const std::string out = temp("model.entity");
  const Json made = json_of(loom({"convert", small(), out, "--json"}));
  EXPECT_EQ(made["bytes"], test::read_all(out).size());
  for (const Args& args :
       {Args{"logits", "-p", "Hello", "--json"}, Args{"generate", "-p", "Hello", "-n", "6", "--json"}}) {
    Args source = args, converted = args;
    source.insert(source.begin() + 1, small()), converted.insert(converted.begin() + 1, out);
    EXPECT_EQ(json_of(loom(source))["hash"], json_of(loom(converted))["hash"]) << args[0];
  }
  EXPECT_EQ(json_of(loom({"inspect", out, "--json"}))["architecture"], "llama");
  EXPECT_EQ(loom({"tokenize", out, "--text", "Hello"}).out, loom({"tokenize", small(), "--text", "Hello"}).out);
  expect_one_line(loom({"run", out}), "holds a language model");
  expect_one_line(loom({"convert", small(), temp("model.gguf")}), "must end in .entity");
  test::write_all(temp("letter.entity"), "Dear");
  expect_one_line(loom({"convert", small(), temp("letter.entity")}), "not overwritten");
  expect_one_line(loom({"convert", small(), out, "--dtype", "int3"}), "int3");
}

TEST_F(Cli, morph_auto_reads_examples_and_reports) {  // D-21
  const std::string net = source_path("examples/demo.json"), data = temp("examples.json"), out = temp("auto.entity");
  test::write_all(data, R"({"inputs":[[1,2,3,4,5,6,7,8],[8,7,6,5,4,3,2,1],[0,1,0,-1,0,1,0,-1]]})");
  const Json j = json_of(loom({"morph", net, out, "--auto", "--data", data, "--max-loss", "0.05", "--json"}));
  EXPECT_LE(j["loss"].get<double>(), 0.05);
  EXPECT_LT(j["bytes"].get<double>(), j["bytes_float32"].get<double>());
  EXPECT_EQ(json_of(loom({"inspect", out, "--json"}))["resident_bytes"], j["bytes"]);
  const std::string never = temp("never.entity");
  const Args start = {"morph", net, never, "--auto"};
  expect_one_line(loom(start), "--max-bytes or --max-loss");
  expect_one_line(loom(start + Args{"--max-loss", "1"}), "--data");
  expect_one_line(loom(start + Args{"--data", data, "--max-bytes", "10"}), "the smallest this network can be is");
  expect_one_line(loom(start + Args{"--data", temp("nothing.npz"), "--max-loss", "1"}), "nothing.npz");
  expect_one_line(loom(start + Args{"--data", data, "--max-loss", "1", "--dtype", "int8"}), "--dtype");
  expect_one_line(loom({"morph", net, never}), "--dtype");
  expect_one_line(loom({"morph", net, never, "--dtype", "int8", "--max-loss", "1"}), "belong to --auto");
  EXPECT_FALSE(is_file(never));
}

TEST_F(Cli, bench_matrix_times_a_kind_in_every_type) {
  const Json j = json_of(loom({"bench", "matrix", "--kind", "rmsnorm", "--seconds", "0", "--json", "-t", "2"}));
  EXPECT_EQ(j["rows"].size(), 2u * kNumTypes);
  for (const Json& row : j["rows"]) {
    EXPECT_TRUE(row["same_bits"].get<bool>());
    EXPECT_NE(row["parity"], "beyond") << row.dump();
    EXPECT_GE(row["timings"].size(), 2u);
    EXPECT_LE(row["timings"][0]["least_us"].get<double>(), row["timings"][0]["median_us"].get<double>());
  }
  const Outcome csv =
      loom({"bench", "matrix", "--kind", "reshape", "--pass", "forward", "--seconds", "0", "--csv", "-q", "-t", "1"});
  EXPECT_EQ(csv.out.rfind("kind,type,pass,isa,", 0), 0u) << csv.out;
  expect_one_line(loom({"bench", "matrix", "--kind", "nothing"}), "known: adapters");
  expect_one_line(loom({"bench"}), "needs a MODEL");
}

TEST_F(Cli, no_call_touches_the_network) {  // N-13
  test::write_all(temp("quiet.json"), "[[1,2,3,4,5,6,7,8]]");
  for (const Args& args : {Args{"generate", small(), "-p", "Hello", "-n", "4", "-t", "2"},
                           {"chat", small(), "-p", "Hello", "-n", "4"},
                           {"audit"},
                           {"inspect", small()},
                           {"convert", small(), temp("quiet.entity")},
                           {"run", source_path("examples/demo.json"), "-i", temp("quiet.json")},
                           {"verify", "--random", "1", "--seed", "1"},
                           {"list", "--cache", temp("no_cache")}}) {
    SCOPED_TRACE(shown(args));
    const std::string trace = temp("trace.txt");
    Program program(Args{"strace", "-f", "-e", "trace=network", "-o", trace, test::loom_binary()} + args);
    program.start();
    const Outcome run = program.finish();
    ASSERT_EQ(run.status, 0) << "strace is needed for this test: " << run.err;
    const std::string calls = test::read_all(trace);
    EXPECT_NE(calls.find("+++ exited with 0 +++"), std::string::npos) << calls;
    EXPECT_EQ(calls.find('('), std::string::npos) << calls;
  }
}

// pull alone loads the library that connects.
TEST_F(Cli, only_pull_loads_libcurl) {
  const auto opens_it = [&](const Args& args) {
    const std::string trace = temp("opened.txt");
    Program program(Args{"strace", "-f", "-e", "trace=open,openat", "-o", trace, test::loom_binary()} + args);
    program.start();
    program.finish();
    const std::string calls = test::read_all(trace);
    EXPECT_NE(calls.find("exited with"), std::string::npos) << "strace is needed for this test";
    return calls.find("libcurl") != std::string::npos;
  };
  EXPECT_TRUE(opens_it({"pull", "org/name", "--base-url", "http://127.0.0.1:1", "--cache", temp("no_cache")}));
  EXPECT_FALSE(opens_it({"inspect", small()}));
  EXPECT_FALSE(opens_it({"list", "--cache", temp("no_cache")}));
  EXPECT_FALSE(opens_it({"rm", "org/name", "--yes", "--cache", temp("no_cache")}));
}

}  // namespace
}  // namespace loom::cli_test
