// These tests read the help of all commands and hold it to common names and words; others show that no option is taken
// without effect.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "../support/program.h"
#include "../support/small_model.h"
#include "core/json.h"

namespace loom::usage_test {
namespace {

using test::loom;
using test::Outcome;
using test::source_path;
using Args = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> commands() { return lines_of(loom({"--commands"}).out); }

// Every option of a command by its names, with its line of help: "  -t,--threads INT:INT in [1 - 256]   Threads ...".
std::map<std::string, std::string> options_of(const Args& command) {
  Args arguments = command;
  arguments.push_back("--help");
  const Outcome help = loom(arguments);
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err, "");
  std::map<std::string, std::string> options;
  for (const std::string& line : lines_of(help.out)) {
    if (line.rfind("  -", 0) != 0) continue;
    std::istringstream names(line.substr(2, line.find(' ', 2) - 2));
    for (std::string name; std::getline(names, name, ',');) options[name] = line;
  }
  return options;
}

class Usage : public testing::Test {
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

void expect_refused(const Args& args, int status, const std::string& named) {
  const Outcome run = loom(args);
  std::string line = "loom";
  for (const std::string& a : args) line += " " + a;
  EXPECT_EQ(run.status, status) << line << "\n" << run.err;
  EXPECT_EQ(run.out, "") << line;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_NE(run.err.find(named), std::string::npos) << line << "\n" << run.err << " does not name " << named;
}

TEST_F(Usage, every_command_is_listed_and_has_its_flags) {
  const std::map<std::string, Args> wanted = {
      {"chat",
       {"--prompt", "--system", "--messages", "--tools", "--chat-template", "--template-var", "--date", "--max-tokens",
        "--temp", "--seed", "--speculate"}},
      {"generate",
       {"--prompt",
        "--file",
        "--system",
        "--messages",
        "--tools",
        "--chat-template",
        "--template-var",
        "--date",
        "--raw",
        "--chat",
        "--show-prompt",
        "--json",
        "--max-tokens",
        "--temp",
        "--top-k",
        "--top-p",
        "--min-p",
        "--typical-p",
        "--repetition-penalty",
        "--frequency-penalty",
        "--presence-penalty",
        "--logit-bias",
        "--seed",
        "--stop",
        "--logprobs",
        "--ignore-eos",
        "--schema",
        "--grammar",
        "--regex",
        "--choice",
        "--speculate",
        "--ctx",
        "--dtype",
        "--adapter",
        "--use-adapters",
        "--kv",
        "--save-kv",
        "--receipt",
        "--activations",
        "--kv-dtype"}},
      {"logits", {"--prompt", "--ids", "--chat", "--raw", "--top", "--receipt", "--json"}},
      {"tokenize", {"--text", "--file", "--no-special", "--no-parse-special", "--json"}},
      {"detokenize", {"--ids", "--file", "--skip-special", "--json"}},
      {"perplexity", {"--window", "--max-windows", "--json"}},
      {"bench",
       {"--prompt-tokens", "--new-tokens", "--batch", "--speculate", "--temperature", "--top-k", "--seed", "--repeats",
        "--json"}},
      {"inspect", {"--tensors", "--json"}},
      {"quantize", {"--dtype", "--output", "--overwrite"}},
      {"convert",
       {"--dtype", "--adapter", "--keep-adapter", "--output", "--overwrite", "--entity-version", "--allow-loss",
        "--json"}},
      {"embed", {"--file", "--output", "--dtype", "--overwrite", "--receipt", "--json"}},
      {"export", {"--output", "--input-shape", "--dequantize", "--dtype", "--overwrite", "--json"}},
      {"run", {"--input", "--output", "--overwrite", "--batch", "--seed", "--lenient", "--receipt", "--json"}},
      {"mesh",
       {"--input", "--constant", "--by-tick", "--pulse", "--ticks", "--targets", "--learn", "--backward", "--through",
        "--state", "--save-state", "--output", "--overwrite", "--outputs", "--seed", "--batch", "--json"}},
      {"ensemble",
       {"--input", "--targets", "--mode", "--weights", "--min-coverage", "--output", "--overwrite", "--json"}},
      {"adapt",
       {"--task", "--outputs-per-task", "--window", "--window-ms", "--config", "--learning-rate", "--freeze", "--chart",
        "--output", "--overwrite", "--json"}},
      {"train", {"--output", "--folder", "--resume", "--overwrite", "--watch", "--epochs", "--json"}},
      {"replay", {"--folder", "--model", "--json"}},
      {"finetune",
       {"--text", "--output", "--resume", "--overwrite", "--from", "--rank", "--alpha", "--seed", "--json"}},
      {"report", {"--output", "--overwrite"}},
      {"morph", {"--output", "--overwrite", "--dtype", "--auto", "--data", "--max-bytes", "--max-loss", "--json"}},
      {"diff", {"--lenient", "--json"}},
      {"graph", {"--output", "--overwrite"}},
      {"dna", {"--output", "--overwrite", "--journal", "--nested", "--json"}},
      {"evolve", {"--output", "--resume", "--generations", "--device", "--json"}},
      {"stream", {"--models", "--fixtures", "--output", "--overwrite", "--page", "--no-certificate"}},
      {"bridge", {"--bind", "--port", "--token", "--models", "--fixtures", "--reports"}},
      {"page", {"--port", "--web", "--json"}},
      {"serve",
       {"--port", "--host", "--api-key", "--name", "--max-waiting", "--parallel", "--batch-tokens", "--cache-tokens",
        "--json"}},
      {"schema", {}},
      {"verify", {"--table", "--json", "--report", "--model"}},
      {"audit", {"--json", "--include-network"}},
      {"gpu", {}},
      {"pull",
       {"--revision", "--base-url", "--fit", "--ctx", "--memory", "--attempts", "--cache", "--json", "--quiet"}},
      {"list", {"--cache", "--json", "--quiet"}},
      {"rm", {"--cache", "--yes", "--quiet"}},
  };
  const std::string help = loom({"--help"}).out;
  const std::string page = test::read_all(source_path("docs/reference/commands.md"));
  std::set<std::string> listed;
  for (const std::string& command : commands()) {
    SCOPED_TRACE(command);
    listed.insert(command);
    EXPECT_NE(help.find("\n  " + command + " "), std::string::npos) << help;
    EXPECT_NE(page.find("| `loom " + command + "` |"), std::string::npos)
        << "docs/reference/commands.md lacks the command";
    ASSERT_TRUE(wanted.contains(command)) << "this test lacks the command";
    const auto options = options_of({command});
    for (const std::string& flag : wanted.at(command)) EXPECT_TRUE(options.contains(flag)) << flag;
  }
  EXPECT_EQ(listed.size(), wanted.size());
  const Outcome version = loom({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_NE(version.out.find("numerics version"), std::string::npos);
}

// One thing, one name: the same short and long names with the same words everywhere.
TEST_F(Usage, options_have_the_same_names_everywhere) {
  const std::map<std::string, std::string> pairs = {{"-o", "--output"},     {"-t", "--threads"}, {"-q", "--quiet"},
                                                    {"-n", "--max-tokens"}, {"-p", "--prompt"},  {"-f", "--file"},
                                                    {"-i", "--input"},      {"-h", "--help"},    {"-m", "--model"}};
  // Commands that compute nothing with threads or instructions refuse these flags.
  const std::set<std::string> alone = {"audit", "detokenize", "diff",     "graph", "inspect",
                                       "list",  "pull",       "quantize", "rm",    "tokenize"};
  std::map<std::string, std::pair<std::string, std::string>> words;  // of an option, with the command that has them
  for (const std::string& command : commands()) {
    SCOPED_TRACE(command);
    const auto options = options_of({command});
    for (const auto& [name, line] : options) {
      if (name.size() == 2) {
        ASSERT_TRUE(pairs.contains(name)) << name;
        EXPECT_TRUE(options.contains(pairs.at(name))) << name << " without " << pairs.at(name);
        continue;
      }
      EXPECT_NE(name, "--out-file");
      if (name == "--out" || name == "--svg") {
        EXPECT_TRUE(options.contains("--output")) << "an old name, beside the new one only";
      }
      // The help of an option that all commands share uses the same words everywhere.
      if (name != "--json" && name != "--threads" && name != "--isa" && name != "--quiet" && name != "--lenient")
        continue;
      const auto [known, is_new] = words.try_emplace(name, line, command);
      if (!is_new && name != "--json") {
        EXPECT_EQ(line, known->second.first) << "as in " << known->second.second;
      }
    }
    if (options.contains("--json")) {
      EXPECT_NE(options.at("--json").find("JSON"), std::string::npos);
    }
    for (const char* shared : {"--threads", "--isa", "--quiet"})
      if (command != "schema" && command != "report" && command != "dna" && command != "gpu" &&
          (command != "convert" || shared != std::string_view("--isa")) &&
          (command != "export" || shared == std::string_view("--quiet"))) {
        EXPECT_EQ(options.contains(shared), shared == std::string_view("--quiet") || !alone.contains(command))
            << shared;
      }
    if (options.contains("--output")) {
      EXPECT_TRUE(options.contains("--overwrite")) << "what it writes may exist";
    }
  }
}

TEST_F(Usage, mistyped_names_are_told_with_the_nearest_ones) {
  expect_refused({"chatt", small()}, 2, "chat");
  expect_refused({"generate", small(), "hello", "--promt"}, 2, "\"hello\"");
  expect_refused({"generate", small(), "--promt", "hello"}, 2, "--promt; nearest: --prompt");
  expect_refused({"bench", "matrix", "--knd", "dense"}, 2, "--kind");
  expect_refused({"--vresion"}, 2, "--version");
  expect_refused({"generate"}, 2, "loom generate --help");
  expect_refused({"verify", "--isa", "nonsense"}, 2, "nonsense");
  const Outcome nothing = loom({});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_EQ(nothing.out, "");
  EXPECT_EQ(nothing.err, loom({"--help"}).out);
  EXPECT_EQ(loom({"help", "logits"}).out, loom({"logits", "--help"}).out);
  test::Program full({test::loom_binary(), "--help"});
  full.stdout_file = "/dev/full";
  full.start();
  EXPECT_EQ(full.finish().status, 1);
}

// Every option of generate changes what comes out or is refused: in an answer, a drawn one, one by another template, of
// a conversation, of plain text.
TEST_F(Usage, no_option_of_generate_is_without_effect) {
  test::write_all(temp("text.txt"), "Hello there");
  const std::string novel =
      "A sailor who had crossed the bay a thousand times could tell the hour by the smell of the wind, and the day by "
      "the colour of the sea.";
  test::write_all(temp("novel.txt"), novel);
  const Outcome tuned = loom({"finetune", small(), "--text", temp("novel.txt"), "-o", temp("adapter"), "--length", "8",
                              "--batch", "1", "--steps", "2", "-q"});
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  test::write_all(
      temp("messages.json"),
      R"([{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"},{"role":"user","content":"You?"}])");
  test::write_all(temp("tools.json"),
                  R"([{"type":"function","function":{"name":"clock","description":"d","parameters":{}}}])");
  test::write_all(temp("template.jinja"),
                  "{{ mood }}{{ tools and tools[0].function.name }}{{ strftime_now('%d') if strftime_now is defined "
                  "}}{{ messages[0].content }}");
  test::write_all(temp("schema.json"),
                  R"({"type":"object","properties":{"n":{"type":"integer","maximum":9,"minimum":1}},
                                          "required":["n"],"additionalProperties":false})");
  test::write_all(temp("grammar.gbnf"), "root ::= \"[\" [0-9]{2} \"]\"");
  const std::map<std::string, Args> values = {
      {"--file", {"--file", temp("text.txt")}},
      {"--messages", {"--messages", temp("messages.json")}},
      {"--system", {"--system", "Be brief."}},
      {"--tools", {"--tools", temp("tools.json")}},
      {"--chat-template", {"--chat-template", "llama2"}},
      {"--template-var", {"--template-var", "mood=\"good\""}},
      {"--date", {"--date", "2001-02-03"}},
      {"--raw", {"--raw"}},
      {"--show-prompt", {"--show-prompt"}},
      {"--continue", {"--continue"}},
      {"--json", {"--json"}},
      {"--max-tokens", {"-n", "3"}},
      {"--temp", {"--temp", "2"}},
      {"--top-k", {"--top-k", "2"}},
      {"--top-p", {"--top-p", "0.1"}},
      {"--min-p", {"--min-p", "0.9"}},
      {"--typical-p", {"--typical-p", "0.01"}},
      {"--seed", {"--seed", "77"}},
      {"--repetition-penalty", {"--repetition-penalty", "5"}},
      {"--frequency-penalty", {"--frequency-penalty", "50"}},
      {"--presence-penalty", {"--presence-penalty", "50"}},
      {"--logit-bias", {"--logit-bias", "42:100"}},
      {"--stop", {"--stop", "\n", "--stop", " "}},
      {"--logprobs", {"--logprobs", "2"}},
      {"--ctx", {"--ctx", "50"}},
      {"--dtype", {"--dtype", "binary"}},
      {"--activations", {"--activations", "int8"}},
      {"--kv-dtype", {"--kv-dtype", "int8"}},
      {"--adapter", {"--adapter", temp("adapter")}},
      {"--use-adapters", {"--use-adapters", "nobody"}},
      {"--kv", {"--kv", temp("kept.entity")}},
      {"--repeat-last-n", {"--repeat-last-n", "3"}},
      {"--speculate", {"--speculate", "ngram"}},
      {"--schema", {"--schema", temp("schema.json")}},
      {"--grammar", {"--grammar", temp("grammar.gbnf")}},
      {"--regex", {"--regex", "[A-Z]{3}"}},
      {"--choice", {"--choice", "blue", "--choice", "green"}},
  };
  ASSERT_EQ(loom({"generate", small(), "-p", "Hello", "-n", "1", "--save-kv", temp("kept.entity")}).status, 0);
  // They say how and not what, or write a file of which --kv shows what is in it; --chat insists on what an instruct
  // model does anyway; --temperature is --temp, --model is MODEL; --prompt is what all of it is about. --ignore-eos
  // follows below, and --plain-text, which changes control tokens in a text alone, has a test of its own.
  const std::set<std::string> silent = {"--threads",    "--isa",     "--device",  "--precision",  "--quiet",
                                        "--help",       "--prompt",  "--chat",    "--overwrite",  "--temperature",
                                        "--ignore-eos", "--save-kv", "--receipt", "--plain-text", "--model"};
  for (const auto& [name, line] : options_of({"generate"}))
    if (name.size() > 2) {
      EXPECT_TRUE(values.contains(name) || silent.contains(name)) << name << " has no row here";
    }
  const Args start = {"generate", small(), "-q", "-n", "24"};
  const auto with = [](Args a, const Args& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  // By the hash of the object, which every change of the prompt moves.
  const Args ways[] = {{"-p", "Hello", "--json"},
                       {"-p", "Hello", "--json", "--temp", "1.5"},
                       {"-p", "Hello", "--json", "--chat-template", temp("template.jinja")},
                       {"--json", "--messages", temp("messages.json")},
                       {"-p", novel, "--json", "--raw"}};
  const std::set<std::string> up_to_the_template = {"--tools", "--template-var", "--date"};
  // Measurements are erased, since they differ from run to run, and so are settings that are only repeated, since they
  // are no effect.
  const auto told = [](const Outcome& run) {
    auto json = run.out.starts_with("{") ? parse_json(run.out) : Result<Json>(fail(Code::CorruptData, ""));
    if (json)
      for (const char* key : {"prefill_tps", "decode_tps", "load_ms", "peak_rss_mb", "activations", "date", "receipt"})
        json->erase(key);
    return std::pair(run.status, json ? dump_json(*json) : run.out);
  };
  for (const Args& way : ways) {
    // Long enough for every option to matter.
    const Args base = with(start, way);
    const auto plain = told(loom(base));
    EXPECT_EQ(plain.first, 0) << testing::PrintToString(base);
    for (const auto& [name, value] : values) {
      if (std::find(base.begin(), base.end(), name) != base.end()) continue;
      if (&way != &ways[2] && &way != &ways[4] && up_to_the_template.contains(name)) continue;
      if (&way == &ways[2] && (name == "--ctx" || name == "--stop")) continue;  // its answer is short and of one line
      const Args args = with(base, value);
      const Outcome run = loom(args);
      EXPECT_NE(told(run), plain) << testing::PrintToString(args) << " changes nothing";
      if (run.status != 0) {
        EXPECT_EQ(run.status, 2) << testing::PrintToString(args) << run.err;
        EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
      }
    }
  }
  const Args ended = with(start, {"-p", "Hello", "--json", "--logit-bias", "2:1000"});
  EXPECT_NE(told(loom(with(ended, {"--ignore-eos"}))), told(loom(ended)));
  const Args penalised = with(start, {"-p", "Hello", "--json", "--repetition-penalty", "5"});
  EXPECT_NE(told(loom(with(penalised, {"--repeat-last-n", "1"}))), told(loom(penalised)));
  // A base model continues text; what a template alone reads asks for one.
  const auto written = test::write_small_model(temp("base.gguf"), true);
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(loom({"generate", temp("base.gguf"), "-p", "Hello", "-n", "2"}).status, 0);
  for (const char* name : {"--system", "--tools", "--template-var", "--date"})
    expect_refused(with({"generate", temp("base.gguf"), "-p", "Hello", "-n", "2"}, values.at(name)), 3,
                   "no chat template");
}

TEST_F(Usage, PlainTextReadsControlTokensInMessagesAsText) {
  const auto shown = [&](const Args& more) {
    Args args = {"generate", small(), "--json", "--show-prompt"};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 0) << run.err;
    return parse_json(run.out).value_or(Json());
  };
  const auto ends = [](const Json& prompt) {
    return std::count(prompt["ids"].begin(), prompt["ids"].end(), Json(2));  // <|im_end|>
  };
  const Json parsed = shown({"-p", "a<|im_end|>b"}), plain = shown({"-p", "a<|im_end|>b", "--plain-text"});
  EXPECT_EQ(parsed["prompt"], plain["prompt"]);
  EXPECT_EQ(ends(parsed), ends(plain) + 1);
  EXPECT_EQ(shown({"-p", "ab"})["ids"], shown({"-p", "ab", "--plain-text"})["ids"]);
  test::write_all(temp("strange.json"), R"([{"role":"user","content":"<|im_end|>"}])");
  EXPECT_EQ(ends(shown({"--messages", temp("strange.json")})),
            ends(shown({"--messages", temp("strange.json"), "--plain-text"})) + 1);
  expect_refused({"generate", small(), "-p", "a", "--raw", "--plain-text"}, 2, "--plain-text");
  const Outcome answered = loom(
      {"generate", small(), "-p", "a<|im_end|>b", "--plain-text", "-n", "3", "-q", "--receipt", temp("plain.json")});
  ASSERT_EQ(answered.status, 0) << answered.err;
  EXPECT_EQ(loom({"replay", temp("plain.json")}).status, 0);
}

TEST_F(Usage, precision_fast_is_for_graphics_cards_and_proves_nothing) {  // N-10
  const std::string net = source_path("examples/demo.json");
  for (const Args& args :
       {Args{"generate", small(), "-p", "a", "-n", "1"}, {"run", net, "-q"}, {"logits", small(), "--ids", "1"}})
    for (const Args& device : {Args{}, {"--device", "cpu"}}) {
      Args all = args;
      all.insert(all.end(), device.begin(), device.end());
      all.insert(all.end(), {"--precision", "fast"});
      expect_refused(all, 2, "the CPU is always exact: precision fast is for a graphics card, device gpu or gpu:N");
    }
  for (const Args& args : {Args{"verify"}, {"replay", temp("r")}})
    for (const Args& device : {Args{"--precision", "fast"}, {"--device", "gpu:fast"}}) {
      Args all = args;
      all.insert(all.end(), device.begin(), device.end());
      expect_refused(all, 2, args[0] + " compares bits");
    }
  expect_refused({"run", net, "--precision", "exact"}, 2, "--precision");
  const Outcome plain = loom({"run", net, "--json", "-q"});
  EXPECT_NE(plain.out.find(R"("precision": "strict")"), std::string::npos) << plain.out;
}

TEST_F(Usage, HelpHasOneLineOfEightyColumnsPerCommandThatBeginsWithAVerb) {
  const std::string help = loom({"help"}).out;
  std::istringstream lines(help), names(loom({"--commands"}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  for (std::string name; std::getline(names, name);) {
    const std::size_t at = help.find("\n  " + name + " ");
    ASSERT_NE(at, std::string::npos) << name;
    const std::size_t text = help.find_first_not_of(' ', at + 3 + name.size());
    const std::string first = help.substr(text, help.find(' ', text) - text);
    for (const char* const other : {"The", "A", "How", "What", "Text", "Token", "One", "Live"}) EXPECT_NE(first, other);
    EXPECT_TRUE(first[0] >= 'A' && first[0] <= 'Z') << name << ": " << first;
  }
}

// An empty name comes from a shell's variable that is not set, so reading or writing something else would not be meant.
TEST_F(Usage, an_empty_name_is_not_taken_for_an_absent_option) {
  test::write_all(temp("c.json"), "{}");
  const std::string net = source_path("examples/demo.json"), config = temp("c.json");
  const std::pair<Args, const char*> wrong[] = {
      {{"generate", small(), "-p", "a", "-n", "1"}, "--messages"},
      {{"generate", small(), "-n", "1"}, "--file"},
      {{"generate", small(), "-p", "a", "-n", "1"}, "--tools"},
      {{"generate", small(), "-p", "a", "-n", "1"}, "--chat-template"},
      {{"generate", small(), "-p", "a", "-n", "1"}, "--adapter"},
      {{"generate", small(), "-p", "a", "-n", "1"}, "--date"},
      {{"run", net}, "--input"},
      {{"run", net}, "--output"},
      {{"convert", small(), temp("o.entity")}, "--adapter"},
      {{"convert", small()}, "--output"},
      {{"finetune", small(), "--text", config, "-o", temp("a")}, "--from"},
      {{"finetune", small(), "--text", config}, "--output"},
      {{"finetune", small(), "-o", temp("a")}, "--text"},
      {{"tokenize", small()}, "--file"},
      {{"detokenize", small(), "--ids", "1"}, "--file"},
      {{"train", config}, "--output"},
      {{"train", config}, "--folder"},
      {{"evolve", config}, "--output"},
      {{"report", temp("r")}, "--output"},
      {{"replay", temp("r")}, "--folder"},
      {{"replay", temp("r")}, "--model"},
      {{"run", net}, "--receipt"},
      {{"dna", net, net}, "--journal"},
      {{"dna", net, net}, "--output"},
      {{"graph", net}, "--output"},
      {{"quantize", small(), "--dtype", "q8_0"}, "--output"},
      {{"morph", net, "--dtype", "int8"}, "--output"},
      {{"morph", net, temp("o.json"), "--auto"}, "--data"},
      {{"morph", net, temp("o.json"), "--auto"}, "--types"},
      {{"verify"}, "--trial"},
      {{"bench", "matrix"}, "--kind"},
  };
  for (const auto& [args, name] : wrong) {
    Args all = args;
    all.insert(all.end(), {name, ""});
    expect_refused(all, 2, std::string(name) + ": the value is empty");
  }
  for (const char* command : {"run", "inspect", "graph", "chat", "generate", "logits", "train", "evolve", "replay",
                              "report", "bench", "tokenize"})
    expect_refused({command, ""}, 2, "the value is empty");
  expect_refused({"morph", net, "", "--dtype", "int8"}, 2, "--output: the value is empty");
}

TEST_F(Usage, what_a_template_never_reads_is_told_and_what_loom_sets_cannot_be_replaced) {
  test::write_all(temp("tool.json"), R"([{"type":"function","function":{"name":"clock"}}])");
  // In its text, in a comment and in other words they are not read.
  test::write_all(temp("deaf.jinja"),
                  "tools mood {# tools mood #}{{ messages[0].content }}{% set toolset = 1 %}{{ toolset }}");
  test::write_all(temp("hears.jinja"),
                  "{{ messages[0].content }}{%- if tools %}T{% endif %}{{mood}}{{ strftime_now('%d') }}");
  const auto shown = [&](const char* name, const Args& more) {
    Args all = {"generate", small(), "-p", "Hello", "--show-prompt", "--chat-template", temp(name)};
    all.insert(all.end(), more.begin(), more.end());
    const Outcome run = loom(all);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.err;
  };
  const Args all = {"--tools", temp("tool.json"), "--template-var", "mood=1", "--date", "2001-02-03"};
  EXPECT_EQ(shown("deaf.jinja", all),
            "loom: warning: --tools has no effect: the chat template reads no tools\nloom: warning: --date has no "
            "effect: the chat template reads no strftime_now\n"
            "loom: warning: --template-var mood has no effect: the chat template reads no mood\n");
  EXPECT_EQ(shown("hears.jinja", all), "");
  Args silent = all;
  silent.push_back("-q");
  EXPECT_EQ(shown("deaf.jinja", silent), "");
  for (const char* name : {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "strftime_now"})
    expect_refused({"generate", small(), "-p", "a", "--template-var", std::string(name) + "=[]"}, 2,
                   std::string("Loom sets ") + name);
}

// Sixteen times the template may take a hundred times as long on a busy machine, never 256 times.
TEST_F(Usage, looking_for_what_a_template_reads_takes_no_square_of_its_length) {
  const auto seconds_of = [](const std::string& tag, std::size_t count) {
    std::string text = "{{ messages[0].content }}{#";
    for (std::size_t i = 0; i < count; ++i) text += tag;
    test::write_all(temp("long.jinja"), text + "#}");
    const auto start = std::chrono::steady_clock::now();
    const Outcome run = loom({"generate", small(), "-p", "Hello", "--show-prompt", "--chat-template",
                              temp("long.jinja"), "--date", "2001-02-03"});
    EXPECT_EQ(run.err, "loom: warning: --date has no effect: the chat template reads no strftime_now\n");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (const char* tag : {"{{", "{%", "{{a}}"}) EXPECT_LT(seconds_of(tag, 800000), 100 * seconds_of(tag, 50000)) << tag;
}

TEST_F(Usage, networks_have_the_21_types_and_no_blocks) {
  const std::string net = source_path("examples/demo.json");
  for (const Args& args : {Args{"morph", net, temp("o.json"), "--dtype", "q4_0"},
                           {"bench", "matrix", "--dtype", "q4_0", "--kind", "dense"}}) {
    expect_refused(args, 2, "q4_0 is a block type of language models; networks have: float64 ");
    Args unknown = args;
    std::ranges::replace(unknown, std::string("q4_0"), std::string("q9"));
    expect_refused(unknown, 2, "\"q9\" is unknown; known: float64 ");
  }
}

TEST_F(Usage, bad_token_ids_of_a_file_are_told_with_its_name) {
  test::write_all(temp("ids.txt"), "1,two"), test::write_all(temp("far.txt"), "1,99999999");
  expect_refused({"detokenize", small(), "--file", temp("ids.txt")}, 2, "ids.txt: \"two\"");
  expect_refused({"detokenize", small(), "--file", temp("far.txt")}, 3,
                 "loom: " + temp("far.txt") + ": token id 99999999");
  expect_refused({"detokenize", small(), "--ids", "1,two"}, 2, "--ids: \"two\"");
}

TEST_F(Usage, options_that_contradict_or_do_nothing_are_refused) {
  const std::pair<Args, const char*> wrong[] = {
      {{"generate", small(), "-p", "a", "--logprobs", "2"}, "--json"},
      {{"generate", small(), "-p", "a", "--raw", "--system", "b"}, "--system"},
      {{"generate", small(), "-p", "a", "--top-k", "3"}, "--temp"},
      {{"generate", small(), "-p", "a", "--temp", "0", "--seed", "3"}, "--temp"},
      {{"generate", small(), "-p", "a", "--regex", "a", "--choice", "b"}, "--regex and --choice"},
      {{"generate", small(), "-p", "a", "--regex", "("}, "byte 0"},
      {{"chat", small(), "-p", "a", "--choice", "x", "--grammar", temp("none.gbnf")}, "--grammar and --choice"},
      {{"chat", small(), "-p", "a", "--seed", "3"}, "--temp"},
      {{"generate", small()}, "--messages"},
      {{"generate", small(), "-p", "a", "--messages", "x.json"}, "one of them"},
      {{"generate", small(), "-p", "a", "--template-var", "x"}, "NAME=JSON"},
      {{"generate", small(), "-p", "a", "--template-var", "x=y"}, "no JSON"},
      {{"generate", small(), "-p", "a", "--date", "2001-02-30"}, "--date"},
      {{"run", source_path("examples/demo.json"), "--input", "x.npy", "--seed", "3"}, "--seed"},
      {{"verify", "--random", "2", "--isa", "scalar"}, "--isa is for"},
      {{"tokenize", small()}, "--text"},
      {{"run", source_path("examples/demo.json"), "--max-memory", "-1"}, "--max-memory"},
      {{"run", source_path("examples/demo.json"), "--max-memory", "99999999999999999999"}, "--max-memory"},
      {{"run", source_path("examples/demo.json"), "--isa", "wasm128"}, "--isa: this CPU or build has no wasm128"},
      {{"train", source_path("examples/training/iris.json"), "--epochs", "1000001"}, "--epochs"},
      {{"verify", "--random", "2", "-t", "2"}, "--threads is for"},
      {{"morph", source_path("examples/demo.json"), "o.entity", "--auto", "--max-loss", "nan", "--data", "x.npy"},
       "--max-loss: a number expected"},
      {{"run", source_path("examples/demo.json"), "--input", "x.npy", "--batch", "3"}, "--batch"},
      {{"bench", small(), "matrix"}, "matrix"},
      {{"generate", small(), "-p", "a", "--temp", "1e300"}, "1e300 is no number from 0 to 3.4"},
      {{"generate", small(), "-p", "a", "--temp", "-1"}, "-1 is no number from 0"},
      {{"generate", small(), "-p", "a", "--logit-bias", "1:nan"}, "logit_bias of token 1 is nan, expected a finite"},
      {{"generate", small(), "-p", "a", "--choice", "yes", "--stop", "e"}, "--stop has no sense beside --choice"},
      {{"serve", small(), "--port", "99999"}, "99999 is no port, expected a whole number from 0 to 65535"},
      {{"serve", small(), "--port", "-1"}, "-1 is no port"},
      {{"serve", small(), "--host", "0.0.0.0"}, "--host 0.0.0.0: other computers reach this address"},
      {{"serve", small(), "--host", "[::]"}, "expected --api-key or --api-key-file, or 127.0.0.1"},
      {{"serve", small(), "--cors-origin", "*"}, "--cors-origin *: pages of every site may ask"},
      // None at all is not what an absent option means.
      {{"train", "c.json", "--epochs", "0"}, "not in range 1 to 1000000"},
      {{"evolve", "e.json", "--generations", "0"}, "0 is no whole number from 1"},
      {{"finetune", small(), "--text", "t.txt", "-o", temp("none"), "--steps", "0"}, "0 is no whole number from 1"},
      {{"finetune", small(), "--text", "t.txt", "-o", temp("none"), "--epochs", "00"}, "00 is no whole number from 1"},
      {{"verify", "--random", "0"}, "0 is no whole number from 1"},
      {{"verify", "--seed", "5"}, "--random"},
      {{"verify", "--case", "5"}, "--random"},
      {{"verify", "--all-ways"}, "--random"},
      {{"verify", "--random", "1", "--trial", "t.json"}, "--trial"},
      {{"verify", "--model", "m.gguf"}, "--report"},
      {{"verify", "--report", "--table"}, "--report prints a row of its own"},
      {{"verify", "--report", "--random", "1"}, "--report prints a row of its own"},
      {{"verify", "--report", "--trial", "t.json"}, "--report prints a row of its own"},
  };
  for (const auto& [args, named] : wrong) expect_refused(args, 2, named);
  // An error of serve is about the file that it names.
  std::filesystem::create_directory(temp("encoder"));
  std::ofstream(temp("encoder") + "/config.json") << R"({"model_type":"bert"})";
  expect_refused({"serve", temp("encoder"), "--parallel", "8"}, 2, "--parallel: has no effect on a text encoder");
  expect_refused({"serve", temp("encoder"), "--batch-tokens", "64"}, 2, "--batch-tokens: has no effect");
  for (const auto& [flag, file] :
       {std::pair{"--api-key-file", "no.key"}, {"--chat-template", "no.jinja"}, {"--encoder", "no_encoder"}}) {
    const Outcome run = loom({"serve", small(), "--port", "0", flag, temp(file)});
    EXPECT_EQ(run.status, 3) << run.err;
    EXPECT_NE(run.err.find(temp(file)), std::string::npos) << run.err;
    EXPECT_EQ(run.err.find(small()), std::string::npos) << run.err;
  }
  expect_refused({"serve", temp("none.gguf")}, 3, temp("none.gguf"));
  // An empty text is one.
  EXPECT_EQ(loom({"generate", small(), "-p", "", "-n", "2"}).status, 0);
  EXPECT_EQ(loom({"chat", small(), "-p", "", "-n", "2"}).status, 0);
  expect_refused({"generate", small(), "--raw", "-p", ""}, 2, "no tokens");
  // With --json, stdout is one object.
  auto table = parse_json(loom({"verify", "--table", "--json"}).out);
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_TRUE(find(*table, "table"));
}

}  // namespace
}  // namespace loom::usage_test
