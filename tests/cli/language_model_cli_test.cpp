// The program on language models: options of generation, numbers that are not finite, parts of a model that cannot be
// read.

#include <algorithm>
#include <cmath>
#include <limits>

#include "../support/program.h"
#include "../support/small_model.h"
#include "core/json.h"
#include "io/npy/npy.h"
#include "io/safetensors/safetensors.h"

namespace loom::language_model_cli_test {
namespace {

using test::loom;
using test::Outcome;
using Args = std::vector<std::string>;

std::string tiny() { return test::source_path("tests/golden/models/llama2_untied"); }

Json json_of(const Outcome& run) {
  EXPECT_EQ(run.status, 0) << run.err;
  auto json = parse_json(run.out);
  return json ? *json : Json();
}

void expect_error(const Outcome& run, int status, const std::string& named) {
  EXPECT_EQ(run.status, status) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_NE(run.err.find(named), std::string::npos) << run.err << "does not name " << named;
}

TEST(LanguageModelCli, the_window_of_the_penalties_is_an_option) {  // X-21
  const Outcome help = loom({"generate", "--help"});
  EXPECT_NE(help.out.find("--repeat-last-n"), std::string::npos);
  EXPECT_NE(help.out.find("=64"), std::string::npos);
  const auto ids = [](const Args& more) {
    Args args = {"generate", tiny(), "-p", std::string(90, 'a'), "-n", "20", "--json", "--repetition-penalty", "3"};
    args.insert(args.end(), more.begin(), more.end());
    return json_of(loom(args))["ids"];
  };
  const Json plain = json_of(loom({"generate", tiny(), "-p", std::string(90, 'a'), "-n", "20", "--json"}))["ids"];
  EXPECT_EQ(ids({"--repeat-last-n", "0"}), plain);
  EXPECT_EQ(ids({}), ids({"--repeat-last-n", "64"}));
  EXPECT_NE(ids({}), plain);
  EXPECT_EQ(ids({"--repeat-last-n", "-1"}), ids({"--repeat-last-n", "1000"}));
  expect_error(loom({"generate", tiny(), "-p", "a", "--repeat-last-n", "-2"}), 2, "repeat-last-n");
}

TEST(LanguageModelCli, a_bias_counts_for_every_id_that_it_names) {  // X-21
  const Json j = json_of(loom({"generate", tiny(), "-p", "Hello", "-n", "40", "--json", "--logit-bias", "42,43:100",
                               "--temp", "5", "--seed", "3"}));
  std::size_t counts[2] = {};
  for (const Json& id : j["ids"]) {
    ASSERT_TRUE(id == 42 || id == 43) << id;
    ++counts[*as_int(id) - 42];
  }
  EXPECT_TRUE(counts[0] > 0 && counts[1] > 0);
  expect_error(loom({"generate", tiny(), "-p", "a", "--logit-bias", ":5"}), 2, "no token ids");
}

TEST(LanguageModelCli, a_context_beyond_the_training_is_mentioned) {
  const Outcome more = loom({"generate", tiny(), "-p", "Hello", "-n", "1", "--ctx", "1000"});
  EXPECT_EQ(more.status, 0);
  expect_error(more, 0, "a context of 1000 tokens is more than the 256");
  EXPECT_EQ(loom({"generate", tiny(), "-p", "Hello", "-n", "1", "--ctx", "1000", "-q"}).err, "");
  EXPECT_EQ(loom({"generate", tiny(), "-p", "Hello", "-n", "1", "--ctx", "256"}).err, "");
  expect_error(loom({"generate", tiny(), "-p", "Hello", "--ctx", "3"}), 3,
               "the prompt has 5 tokens, the context holds 3");
}

// A gain of the last norm that overflows: every logit is an infinity or NaN.
TEST(LanguageModelCli, logits_that_are_not_finite_are_an_error) {  // S-05
  const test::TempFolder folder;
  const auto opened = SafetensorsModel::open(tiny());
  ASSERT_TRUE(opened) << opened.error().text();
  SafetensorsWriter writer;
  const std::vector<float> gains(48, 3e38f);
  for (const SafeTensor* t : opened->tensors())
    ASSERT_TRUE(writer.add(t->name, t->dtype, t->shape,
                           t->name == "model.norm.weight" ? std::as_bytes(std::span(gains)) : t->bytes));
  ASSERT_TRUE(writer.write(folder / "model.safetensors"));
  for (const char* file : {"config.json", "tokenizer.json"})
    test::write_all(folder / file, test::read_all(tiny() + "/" + file));
  test::write_all(folder / "text.txt", std::string(600, 'a'));
  const std::string model = folder.path();
  for (const Args& args : {Args{"logits", model, "-p", "Hello"},
                           {"logits", model, "-p", "Hello", "--json"},
                           {"generate", model, "-p", "Hello"},
                           {"perplexity", model, folder / "text.txt", "--window", "64"},
                           {"perplexity", model, folder / "text.txt", "--window", "64", "--json"}}) {
    const Outcome run = loom(args);
    expect_error(run, 3, args[0] == "perplexity" ? "not finite" : "logit of token 0");
    EXPECT_EQ(run.out, "");
  }
}

TEST(LanguageModelCli, run_gives_an_output_that_is_not_finite_and_fails) {  // S-05
  const test::TempFolder folder;
  test::write_all(folder / "net.json",
                  R"({"layers":[{"type":"dense","input_size":1,"output_size":2,"weights":{"weight":[1,-3e38]}}]})");
  test::write_all(folder / "x.json", "[[2]]");
  const Outcome text = loom({"run", folder / "net.json", "--input", folder / "x.json", "-q"});
  expect_error(text, 3, "element 1 of the output is not finite");
  EXPECT_NE(text.out.find("Infinity"), std::string::npos) << text.out;
  const Outcome json = loom({"run", folder / "net.json", "--input", folder / "x.json", "--json"});
  EXPECT_EQ(json.status, 3);
  EXPECT_TRUE(parse_json(json.out)) << json.out;
}

// 2^24 + 1 is no f32.
TEST(LanguageModelCli, whole_numbers_of_an_array_keep_every_digit) {  // V-12
  const test::TempFolder folder;
  test::write_all(
      folder / "net.json",
      R"({"activations":"float64","default_dtype":"float64","layers":[{"type":"layernorm","input_height":2,"is_disabled":true}]})");
  const std::size_t shape[] = {1, 2};
  const auto answer = [&]<class T>(DType type, T value) {
    const T x[] = {value, 1};
    EXPECT_TRUE(write_npy(folder / "x.npy", type, shape, std::as_bytes(std::span(x))));
    return loom({"run", folder / "net.json", "--input", folder / "x.npy", "-q"}).out;
  };
  for (const std::string& out :
       {answer(DType::int32, std::int32_t{16777217}), answer(DType::uint32, std::uint32_t{16777217}),
        answer(DType::int64, std::int64_t{16777217}), answer(DType::uint64, std::uint64_t{16777217}),
        answer(DType::float64, 16777217.0)})
    EXPECT_NE(out.find("16777217"), std::string::npos) << out;
}

// An activation may make a finite number of NaN, so that the output does not show it.
TEST(LanguageModelCli, inputs_that_are_not_finite_are_refused_with_their_place) {  // S-05
  const test::TempFolder folder;
  const auto net = [&](const std::string& activation, const std::string& type = "float32") {
    test::write_all(
        folder / "net.json",
        fmt::format(
            R"({{"activations":"{}","layers":[{{"type":"dense","input_size":2,"output_size":3,"activation":"{}"}}]}})",
            type, activation));
  };
  const auto input = [&](double bad) {
    const double x[] = {1, 2, 3, bad};
    const std::size_t shape[] = {2, 2};
    ASSERT_TRUE(write_npy(folder / "x.npy", DType::float64, shape, std::as_bytes(std::span(x))));
  };
  const Args run = {"run", folder / "net.json", "--input", folder / "x.npy", "-q"},
             morph = {"morph",  folder / "net.json", folder / "o.entity",
                      "--auto", "--max-bytes",       "1000",
                      "--data", folder / "x.npy",    "-q"};
  const auto refused = [&](const std::string& what) {
    for (const Args& args : {run, morph}) {
      const Outcome outcome = loom(args);
      expect_error(outcome, 3, "x.npy: number [1, 1] is " + what);
      EXPECT_TRUE(outcome.out.empty()) << outcome.out;
    }
  };
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    input(bad);
    for (const char* activation : {"relu", "softplus", "step", "linear"}) {
      net(activation);
      refused(std::isnan(bad) ? "nan" : bad > 0 ? "inf" : "-inf");
    }
  }
  input(1e300);  // a number, but none of f32
  net("tanh");
  refused("1e+300, beyond float32");
  net("tanh", "float64");
  EXPECT_EQ(loom(run).status, 0);
  input(3e38);
  net("tanh");
  EXPECT_EQ(loom(run).status, 0);
}

TEST(LanguageModelCli, a_broken_template_or_tokenizer_blocks_only_what_needs_it) {
  const test::TempFolder folder;
  ASSERT_TRUE(test::write_small_model(folder / "small.gguf"));
  const auto file = GgufFile::open(folder / "small.gguf");
  ASSERT_TRUE(file) << file.error().text();
  const auto write = [&](const char* key, const char* value, const std::string& path) {
    GgufWriter writer;
    for (const GgufValue& v : file->metadata()) writer.copy(v);
    writer.set(key, value);
    for (const GgufTensor& t : file->tensors()) ASSERT_TRUE(writer.add_tensor(t.name, t.dtype, t.shape(), t.bytes));
    ASSERT_TRUE(writer.write(path));
  };
  const std::string no_template = folder / "template.gguf", no_tokenizer = folder / "tokenizer.gguf",
                    text = folder / "text.txt";
  write("tokenizer.chat_template", "{% if", no_template);
  write("tokenizer.ggml.pre", "of another day", no_tokenizer);
  std::string words;
  for (int i = 0; i < 40; ++i) words += "One more word. ";
  test::write_all(text, words);
  const Args raw[] = {{"generate", no_template, "--raw", "-p", "Hello", "-n", "2"},
                      {"logits", no_template, "-p", "Hello"},
                      {"perplexity", no_template, text, "--window", "16"},
                      {"logits", no_tokenizer, "--ids", "28,29"}};
  for (const Args& args : raw) EXPECT_EQ(loom(args).status, 0) << args[0];
  expect_error(loom({"generate", no_template, "-p", "Hello"}), 3, "chat template");
  expect_error(loom({"chat", no_template, "-p", "Hello"}), 3, "chat template");
  for (const Args& args : {Args{"generate", no_tokenizer, "--raw", "-p", "Hello"},
                           {"logits", no_tokenizer, "-p", "Hello"},
                           {"chat", no_tokenizer, "-p", "a"},
                           {"perplexity", no_tokenizer, text}})
    expect_error(loom(args), 3, "of another day");
}

}  // namespace
}  // namespace loom::language_model_cli_test
