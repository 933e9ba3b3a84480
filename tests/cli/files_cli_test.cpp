// The program in a hostile world: signals, files that are cut or made to mislead, streams that are closed. Tests with
// many runs of it are in tests/outside.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "../support/program.h"
#include "../support/small_model.h"
#include "../support/small_network.h"
#include "core/json.h"

namespace loom::files_cli_test {
namespace {

using test::kTwoLayers;
using test::leftovers;
using test::loom;
using test::Outcome;
using test::Program;
using test::read_all;
using test::source_path;
using test::wait_until;
using test::write_all;
using Args = std::vector<std::string>;

class FilesCli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  static std::string tiny() { return source_path("tests/golden/models/llama2_untied"); }
  void SetUp() override { write_all(file("net.json"), kTwoLayers); }

  static Args with_program(Args args) {
    args.insert(args.begin(), test::loom_binary());
    return args;
  }
  static void expect_one_line(const Outcome& run, int status, const std::string& named) {
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(run.err.rfind("loom: ", 0), 0u) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(named), std::string::npos) << run.err << "does not name " << named;
  }
  // A training, a fine-tuning and a breeding of which each takes a minute, and what is written when some of it is done.
  std::string training() {
    std::string points = "x,y,kind\n";
    for (int i = 0; i < 900; ++i)
      points +=
          fmt::format("{},{},{}\n", (i * 7 % 13) / 13.0 + (i % 3 == 1), (i * 5 % 11) / 11.0 + (i % 3 == 2), i % 3);
    write_all(file("points.csv"), points);
    Json json =
        parse_json(
            R"({"data":{"format":"csv","path":"points.csv","class_ids":true},"seed":5,"epochs":4000,"batch_size":4,
      "loss":"softmax_crossentropy","optimizer":{"name":"adam","learning_rate":0.01},"journal":{"hash_every":25}})")
            .value();
    json["network"] = parse_json(kTwoLayers).value();
    write_all(file("c.json"), dump_json(json));
    return file("c.json");
  }
  Args finetuning() {
    std::string text;
    for (int i = 0; i < 400; ++i) text += fmt::format("The {} wheel turns {} times. ", i % 7, i * i % 11);
    write_all(file("wheel.txt"), text);
    return {"finetune", tiny(), "--text",  file("wheel.txt"), "-o", file("a"), "--rank",       "4",
            "--length", "16",   "--steps", "100000",          "-t", "1",       "--hash-every", "7"};
  }
  Args breeding() {
    write_all(file("e.json"), R"({"task":{"name":"xor","target":1e9},"population":24,"generations":1000000,"seed":3,
      "network":{"depth":1,"rows":1,"cols":2,"layers_per_cell":1,"seed":1,"layers":[
        {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":2,"output_height":3,"bias":true,"activation":"tanh"},
        {"z":0,"y":0,"x":1,"l":0,"type":"dense","input_height":3,"output_height":1,"bias":true}]}})");
    return {"evolve", file("e.json"), "-t", "1", "-o", file("e"), "--save-every", "5", "--quiet"};
  }

  test::TempFolder folder_;
};

class StopSignals : public FilesCli, public testing::WithParamInterface<int> {
 protected:
  // Runs until `begun`, sends the signal, and expects the program to end by itself, soon, with 128 + the signal.
  template <class F>
  Outcome stopped(Args args, F begun) {
    Program program(with_program(std::move(args)));
    program.start();
    EXPECT_TRUE(wait_until(begun));
    program.interrupt(GetParam());
    const Outcome run = program.finish();
    EXPECT_EQ(run.status, 128 + GetParam()) << run.err;
    EXPECT_EQ(leftovers(file("")), std::vector<std::string>());
    return run;
  }
};

INSTANTIATE_TEST_SUITE_P(All, StopSignals, testing::Values(SIGINT, SIGTERM, SIGHUP), [](const auto& info) {
  return info.param == SIGINT ? "INT" : info.param == SIGTERM ? "TERM" : "HUP";
});

TEST_P(StopSignals, train_saves_and_can_go_on) {  // T-60
  const std::string config = training();
  const Outcome run = stopped({"train", config, "-t", "1"}, [&] {
    return read_all(file("c.run/journal.jsonl")).find("\"step\":500") != std::string::npos;
  });
  EXPECT_NE(run.err.find("--resume goes on"), std::string::npos) << run.err;
  EXPECT_TRUE(is_file(file("c.run/checkpoint.entity")));
  EXPECT_EQ(loom({"replay", file("c.run")}).status, 0);
}

TEST_P(StopSignals, finetune_saves_and_can_go_on) {  // T-60
  const Outcome run = stopped(
      finetuning(), [&] { return read_all(file("a/run/journal.jsonl")).find("\"step\":21") != std::string::npos; });
  EXPECT_NE(run.err.find("--resume goes on"), std::string::npos) << run.err;
  EXPECT_TRUE(is_file(file("a/run/checkpoint.entity")));
  EXPECT_TRUE(is_file(file("a/adapter_model.safetensors")));
}

TEST_P(StopSignals, evolve_saves) {  // E-25
  stopped(breeding(), [&] { return is_file(file("e/best.entity")); });
  EXPECT_TRUE(is_file(file("e/state.json")));
}

TEST_P(StopSignals, quantize_and_convert_leave_nothing) {  // F-03
  for (const char* ending : {"gguf", "entity"}) {
    const std::string out = file(std::string("out.") + ending);
    write_all(out, "");
    const Args args = ending == std::string("gguf") ? Args{"quantize", test::smollm2(), out, "--dtype", "float32"}
                                                    : Args{"convert", test::smollm2(), out, "--dtype", "float64"};
    stopped(args, [&] { return !leftovers(file("")).empty(); });
    EXPECT_EQ(read_all(out), "") << "what was there stays";
  }
}

TEST_P(StopSignals, commands_that_do_not_look_end_too) {  // F-03
  Program program(with_program({"tokenize", tiny(), "--file", "-"}));
  program.start();
  usleep(300000);
  program.interrupt(GetParam());
  EXPECT_EQ(program.finish().status, 128 + GetParam());
}

TEST_F(FilesCli, chat_ends_with_sigterm_while_it_answers_and_while_it_waits) {  // F-03
  for (const bool answers : {true, false}) {
    Program program(with_program({"chat", test::smollm2(), "-n", "100000", "--ignore-eos", "--ctx", "100000"}));
    program.start();
    if (answers) {
      program.send("Tell a story\n");
      ASSERT_TRUE(program.wait_for_output(20));
    } else {
      program.send("/help\n");
      ASSERT_TRUE(program.wait_for_text("/quit"));
    }
    program.interrupt(SIGTERM);
    // Standard input stays open: the program must not wait for it.
    EXPECT_TRUE(program.wait_for_end());
    EXPECT_EQ(program.finish().status, 128 + SIGTERM);
  }
}

TEST_F(FilesCli, what_was_ignored_at_the_start_stays_ignored) {  // T-60
  const std::string config = training();
  Program program(with_program({"train", config, "-t", "1"}));
  program.ignored_signal = SIGHUP;
  program.start();
  ASSERT_TRUE(program.wait_for_text("epoch 1/"));
  program.interrupt(SIGHUP);
  ASSERT_TRUE(program.wait_for_text("epoch 20/")) << program.output();
  program.interrupt(SIGTERM);
  EXPECT_EQ(program.finish().status, 128 + SIGTERM);
}

TEST_F(FilesCli, a_model_that_is_cut_while_it_is_read_is_told) {  // F-03
  for (const char* command : {"quantize", "convert"}) {
    SCOPED_TRACE(command);
    const std::string model = file("m.gguf"), out = file(command == std::string("convert") ? "o.entity" : "o.gguf");
    std::filesystem::copy_file(test::smollm2(), model, std::filesystem::copy_options::overwrite_existing);
    Program program(with_program({command, model, out, "--dtype", "float32", "-q"}));
    program.start();
    ASSERT_TRUE(wait_until([&] { return !leftovers(file("")).empty(); }));
    std::filesystem::resize_file(model, 2 << 20);
    const Outcome run = program.finish();
    expect_one_line(run, 3, "became shorter");
    EXPECT_EQ(leftovers(file("")), std::vector<std::string>());
    EXPECT_FALSE(is_file(out));
  }
  // A program that answers may have read all it needs: either it does not notice or it says so.
  for (const int pause : {30000, 100000, 300000, 800000}) {
    const std::string model = file("m.gguf");
    std::filesystem::copy_file(test::smollm2(), model, std::filesystem::copy_options::overwrite_existing);
    Program program(with_program({"generate", model, "-p", "Hello", "-n", "3", "-q"}));
    program.start();
    usleep(pause);
    std::filesystem::resize_file(model, 1 << 20);
    const Outcome run = program.finish();
    if (run.status != 0) expect_one_line(run, 3, model);
  }
}

TEST_F(FilesCli, files_of_another_kind_are_not_destroyed) {  // F-03
  write_all(file("c.entity"), ""), write_all(file("notes.txt"), "keep me");
  ASSERT_EQ(loom({"morph", file("net.json"), file("c.entity"), "--dtype", "int8", "-q"}).status, 0)
      << "an empty file may be replaced";
  auto written = test::write_small_model(file("small.gguf"));
  ASSERT_TRUE(written) << written.error().text();
  std::filesystem::create_directory(file("run"));
  const std::string config = training();
  ASSERT_EQ(loom({"train", config, "--epochs", "1", "-q", "-t", "1", "--out", file("run")}).status, 0);
  const std::string journal = file("run/journal.jsonl"), spec = file("net.json"), entity = file("c.entity"),
                    notes = file("notes.txt"), gguf = file("small.gguf");
  const std::pair<std::string, Args> wrong[] = {
      {spec, {"graph", spec, "-o", spec}},
      {spec, {"dna", spec, spec, "--svg", spec}},
      {spec, {"run", spec, "-o", spec}},
      {journal, {"report", file("run"), "-o", journal}},
      {entity, {"quantize", gguf, entity, "--dtype", "q8_0"}},
      {notes, {"quantize", gguf, notes, "--dtype", "q8_0"}},
      {notes, {"morph", spec, notes, "--dtype", "int8"}},
      {notes, {"run", spec, "-o", notes}},
  };
  for (const auto& [path, args] : wrong) {
    SCOPED_TRACE(args[0] + " " + path);
    const std::string before = read_all(path);
    const Outcome run = loom(args);
    expect_one_line(run, 2, path);
    EXPECT_NE(run.err.find("--overwrite"), std::string::npos) << run.err;
    EXPECT_EQ(read_all(path), before);
  }
  std::filesystem::copy_file(gguf, file("x.entity"));
  expect_one_line(loom({"convert", gguf, file("x.entity")}), 2, "x.entity");
  // The same kind may be replaced, and anything when it is asked for.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(loom({"graph", spec, "-o", file("g.svg"), "-q"}).status, 0);
    EXPECT_EQ(loom({"report", file("run")}).status, 0);
    EXPECT_EQ(loom({"run", spec, "-o", file("y.json"), "-q"}).status, 0);
    EXPECT_EQ(loom({"run", spec, "-o", file("y.npy"), "-q"}).status, 0);
    EXPECT_EQ(loom({"quantize", gguf, file("q.gguf"), "--dtype", "q8_0", "-q"}).status, 0);
    EXPECT_EQ(loom({"convert", gguf, file("q.entity"), "-q"}).status, 0);
  }
  EXPECT_EQ(loom({"graph", spec, "-o", notes, "--overwrite", "-q"}).status, 0);
  EXPECT_EQ(read_all(notes).rfind("<svg", 0), 0u);
}

// A prompt that is read once: in a file of its own, in the model's, for another prompt that begins like it.
TEST_F(FilesCli, a_prompt_is_kept_and_gone_on_from) {  // X-24, F-32
  const std::string gguf = file("small.gguf"), entity = file("model.entity"), kept = file("kept.entity");
  ASSERT_TRUE(test::write_small_model(gguf));
  ASSERT_EQ(loom({"convert", gguf, entity}).status, 0);
  const std::string text = "Twenty wheels went over the hill and none of them", more = text + " came back";
  const auto generate = [&](const std::string& model, const std::string& prompt, Args with) {
    Args args = {"generate", model, "--raw", "-p", prompt, "-n", "6", "--ignore-eos", "--json", "-t", "2"};
    args.insert(args.end(), with.begin(), with.end());
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 0) << run.err;
    return parse_json(run.out).value_or(Json::object());
  };
  const auto answer = [](const Json& run) { return Json{run["ids"], run["hash"], run["prompt_tokens"]}; };
  const Json plain = generate(gguf, text, {}), longer = generate(gguf, more, {});
  const auto tokens = *as_int(plain["prompt_tokens"]);
  EXPECT_EQ(answer(generate(gguf, text, {"--save-kv", kept})), answer(plain));
  for (const auto& [model, from] : {std::pair(gguf, kept), std::pair(entity, kept)}) {
    const Json again = generate(model, text, {"--kv", from});
    EXPECT_EQ(answer(again), answer(plain));
    EXPECT_EQ(again["kv_tokens"], tokens - 1);
    EXPECT_EQ(answer(generate(model, more, {"--kv", from})), answer(longer));
  }
  EXPECT_EQ(answer(generate(entity, text, {"--save-kv", entity})), answer(plain));
  EXPECT_EQ(answer(generate(entity, more, {"--kv", entity})), answer(longer));
  EXPECT_EQ(loom({"chat", entity, "--kv", entity, "-p", "Hello", "-n", "5"}).out,
            loom({"chat", gguf, "-p", "Hello", "-n", "5"}).out);
  // An existing file, a snapshot that does not fit, and options that would have no effect.
  const auto refused = [&](Args with, int status, const std::string& named) {
    Args args = {"generate", gguf, "--raw", "-p", text, "-n", "1"};
    args.insert(args.end(), with.begin(), with.end());
    expect_one_line(loom(args), status, named);
  };
  refused({"--save-kv", file("net.json")}, 2, "net.json");
  refused({"--save-kv", entity}, 2, "model.entity");
  refused({"--save-kv", gguf}, 2, "is what is read");
  refused({"--kv", file("none.entity")}, 3, "none.entity");
  refused({"--kv", gguf}, 3, "small.gguf");
  refused({"--kv", kept, "--kv-dtype", "int8"}, 3, "kept.entity");
  expect_one_line(loom({"generate", gguf, "-p", text, "--show-prompt", "--kv", kept}), 2, "--kv");
  EXPECT_EQ(leftovers(folder_.path()), std::vector<std::string>());
}

TEST_F(FilesCli, a_pipe_is_refused_at_once) {  // F-03
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  std::filesystem::create_directories(file("pictures/a"));
  ASSERT_EQ(mkfifo(file("pictures/a/x.png").c_str(), 0600), 0);
  write_all(
      file("p.json"),
      R"({"network":{"layers":[{"type":"dense","input_size":3,"output_size":1}]},"data":{"format":"images","path":"pictures"},"loss":"mse"})");
  for (const Args& args : {Args{"inspect", file("pipe")},
                           {"run", file("pipe")},
                           {"train", file("pipe")},
                           {"train", file("p.json")},
                           {"tokenize", file("pipe"), "--text", "a"},
                           {"tokenize", tiny(), "--file", file("pipe")},
                           {"graph", file("pipe")}}) {
    const Outcome run = loom(args);
    EXPECT_EQ(run.status, 3) << args[0] << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

// Every large request and every call of a save: tests/outside.
TEST_F(FilesCli, memory_may_end_while_a_file_is_written) {  // F-03
  Program program(with_program({"convert", test::smollm2(), file("o.entity"), "-q", "-t", "1"}));
  program.memory_limit = std::size_t{200} << 20;
  program.start();
  expect_one_line(program.finish(), 4, "");
  EXPECT_EQ(leftovers(file("")), std::vector<std::string>());
}

TEST_F(FilesCli, names_in_files_cannot_steer_a_terminal) {  // F-03
  Json spec = parse_json(kTwoLayers).value();
  const std::string name =
      "a\x1b]0;owned\x07\r\xc2\x9b"
      "2J\xe2\x80\xae"
      "b";
  spec["id"] = name;
  spec["layers"][0]["name"] = name;
  write_all(file("evil.json"), dump_json(spec));
  const auto expect_clean = [](const std::string& text) {
    for (const char* bad : {"\x1b", "\x07", "\r", "\xc2\x9b", "\xe2\x80\xae"})
      EXPECT_EQ(text.find(bad), std::string::npos) << text;
  };
  for (const Args& args : {Args{"inspect"},
                           {"inspect", "--json"},
                           {"run", "--json"},
                           {"dna", file("net.json")},
                           {"diff", file("net.json")},
                           {"diff", "--json", file("net.json")}}) {
    Args all = args;
    all.insert(all.begin() + 1, file("evil.json"));
    const Outcome run = loom(all);
    expect_clean(run.out);
    expect_clean(run.err);
  }
  const Outcome shown = loom({"inspect", file("evil.json")});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("a\\x1b]0;owned\\x07\\x0d\\u009b2J\\u202eb"), std::string::npos) << shown.out;
  const auto json = parse_json(loom({"inspect", "--json", file("evil.json")}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(*as_string((*json)["id"]), name) << "JSON tells the same name, escaped";
  const Outcome error = loom({"inspect", file("no" + name)});
  EXPECT_EQ(error.status, 3);
  expect_clean(error.err);
}

TEST_F(FilesCli, errors_name_the_file_at_fault) {  // F-03
  auto written = test::write_small_model(file("small.gguf"));
  ASSERT_TRUE(written) << written.error().text();
  write_all(file("t.jinja"), "{{ nobody.name }}");
  expect_one_line(
      loom({"generate", file("small.gguf"), "-p", "Hi", "--chat-template", file("t.jinja"), "--show-prompt"}), 3,
      "t.jinja: template");
  std::filesystem::copy(tiny(), file("hub"));
  Json tokenizer = test::read_json(file("hub/tokenizer.json"));
  tokenizer["pre_tokenizer"] =
      parse_json(R"({"type":"Split","pattern":{"Regex":"(a|a)*b"},"behavior":"Isolated","invert":false})").value();
  write_all(file("hub/tokenizer.json"), dump_json(tokenizer));
  const std::string explosive(40, 'a');
  write_all(file("a.txt"), explosive);
  for (const Args& args : {Args{"tokenize", file("hub"), "--text", explosive},
                           {"generate", file("hub"), "--raw", "-p", explosive},
                           {"logits", file("hub"), "-p", explosive},
                           {"perplexity", file("hub"), file("a.txt"), "--window", "4"},
                           {"finetune", file("hub"), "--text", file("a.txt"), "-o", file("a"), "--length", "4"}})
    expect_one_line(loom(args), 3, "hub: pattern needs more than");
  std::string weights = read_all(file("hub/model.safetensors"));
  weights.replace(weights.size() - 4, 4, std::string("\0\0\xc0\x7f", 4));
  write_all(file("hub/model.safetensors"), weights);
  expect_one_line(loom({"convert", file("hub"), file("o.entity"), "--dtype", "int8"}), 3, file("hub"));
}

TEST_F(FilesCli, messages_are_short) {  // F-03
  Json spec = parse_json(kTwoLayers).value();
  for (int i = 0; i < 60; ++i) spec["layers"][0][fmt::format("key_{}_{}", i, std::string(300, 'x'))] = 1;
  write_all(file("many.json"), dump_json(spec));
  for (const Args& args : {Args{"run", file("many.json")}, {"run", file("many.json"), "--lenient"}}) {
    const Outcome run = loom(args);
    std::istringstream lines(run.err);
    for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 1200u) << line;
  }
}

TEST_F(FilesCli, what_is_wrong_in_a_file_exits_3) {  // F-03
  std::string nested = R"({"type":"dense","input_size":2,"output_size":2})";
  for (int i = 0; i < 70; ++i) nested = R"({"type":"sequential","sequential_layers":[)" + nested + "]}";
  const std::pair<const char*, std::string> bad[] = {
      {"deep.json", R"({"layers":[)" + nested + "]}"},
      {"kind.json", R"({"layers":[{"type":"dens","input_size":2,"output_size":2}]})"},
      {"activation.json", R"({"layers":[{"type":"dense","input_size":2,"output_size":2,"activation":"rellu"}]})"},
      {"dtype.json", R"({"layers":[{"type":"dense","input_size":2,"output_size":2,"dtype":"int3"}]})"},
  };
  for (const auto& [name, text] : bad) {
    write_all(file(name), text);
    expect_one_line(loom({"inspect", file(name)}), 3, name == std::string("deep.json") ? "nest deeper than" : name);
    expect_one_line(loom({"run", file(name)}), 3, name);
  }
  write_all(file("x.json"), R"([["a"]])");
  expect_one_line(loom({"run", file("net.json"), "--input", file("x.json")}), 3, "x.json: nested lists");
  // Cases of loom verify that nobody drew.
  const std::string network =
      R"("network":{"layers":[{"type":"sequential","sequential_layers":[{"type":"dense","input_size":2,"output_size":2},0]}]})";
  for (const std::string& trial : std::vector<std::string>{
           R"({"mode":"train","options":{"config":4},"input":[2,2],)" + network + "}",
           R"({"mode":"train","input":[2,2],"variants":[1],)" + network + "}",
           R"({"mode":"train","input":[2],"network":{"layers":[{"type":"dense","input_size":1,"output_size":1}]}})",
           R"({"mode":"evolve","options":{"rates":0.4},"input":[1,2],)" + network + "}"}) {
    write_all(file("trial.json"), trial);
    const Outcome run = loom({"verify", "--trial", file("trial.json"), "-t", "1"});
    EXPECT_TRUE(run.status == 1 || run.status == 3) << run.status << trial << run.err;
  }
  // The same names typed are wrong usage.
  for (const Args& args : {Args{"morph", file("net.json"), file("o.json"), "--dtype", "int3"},
                           {"inspect", file("net.json"), "--isa", "mmx"},
                           {"bench", "--matrix", "--dtype", "int3"},
                           {"graph", file("net.json"), "--isa", "mmx"}})
    EXPECT_EQ(loom(args).status, 2) << args[0];
}

TEST_F(FilesCli, streams_that_cannot_be_read_or_written_are_told) {  // F-03
  for (const Args& args : {Args{"--help"}, {"--version"}, {"run", "--help"}, {"schema"}}) {
    Program program(with_program(args));
    program.stdout_file = "/dev/full";
    program.start();
    const Outcome run = program.finish();
    expect_one_line(run, 1, "standard output");
  }
  Program closed(with_program({"tokenize", tiny(), "--file", "-"}));
  closed.close_stdin = true;
  closed.start();
  expect_one_line(closed.finish(), 3, "standard input");
  const Outcome of_proc = loom({"tokenize", tiny(), "--file", "/proc/version"});
  EXPECT_EQ(of_proc.status, 0) << of_proc.err;
  EXPECT_GT(of_proc.out.size(), 20u) << of_proc.out;
}

}  // namespace
}  // namespace loom::files_cli_test
