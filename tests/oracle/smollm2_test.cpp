// SmolLM2-135M-Instruct as Hugging Face folders of f32 and bf16 against transformers
// (tools/golden/smollm2_reference.py). The folders are made from the GGUF by tools/make_smollm2_folder.py with the
// Python that LOOM_PYTHON names (numpy and gguf needed).

#include <sys/wait.h>

#include <cmath>

#include "../support/files.h"
#include "lm/language_model.h"
#include "lm/sampling.h"
#include "lm/session.h"

namespace loom::smollm2_test {
namespace {

using test::ids_of;
using test::numbers_of;

constexpr double kTolerance = 2e-3;  // logits reach 25; sums run in another order than in torch

// Runs a program without a shell and returns its stdout, "" with a failure when it does not end well.
std::string output_of(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    close(ends[0]), close(ends[1]);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  ADD_FAILURE() << arguments[0] << " " << arguments[1] << " failed: LOOM_PYTHON must name a Python with numpy and gguf";
  return {};
}

class Smollm2 : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Weights, Smollm2, testing::Values("F32", "BF16"),
                         [](const auto& info) { return std::string(info.param); });

void compare(Session& session, const LanguageModel& model, const Json& c, const std::vector<std::int32_t>& sample_ids) {
  std::vector<std::int32_t> ids;
  ASSERT_TRUE(
      model.tokenizer->encode(*as_string(c["prompt"]), {.add_special_tokens = false, .parse_special = true}, ids));
  EXPECT_EQ(ids, ids_of(c["ids"]));
  ids = ids_of(c["ids"]);
  ASSERT_TRUE(session.rewind(0));
  auto row = session.feed(ids);
  ASSERT_TRUE(row) << row.error().text();
  double worst = 0;
  const auto near = [&](const std::vector<std::int32_t>& at, const std::vector<double>& expected) {
    ASSERT_EQ(at.size(), expected.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto logit = static_cast<double>((*row)[static_cast<std::size_t>(at[i])]);
      EXPECT_NEAR(logit, expected[i], kTolerance) << "id " << at[i];
      worst = std::max(worst, std::abs(logit - expected[i]));
    }
  };
  near(ids_of(c["top_ids"]), numbers_of(c["top_logits"]));
  near(sample_ids, numbers_of(c["sample_logits"]));
  testing::Test::RecordProperty("worst_error", fmt::format("{:.2e}", worst));

  constexpr std::size_t kTokens = 24;
  const std::vector<std::int32_t> greedy = ids_of(c["greedy"]);
  const std::vector<double> gaps = numbers_of(c["gaps"]);
  ASSERT_GE(greedy.size(), kTokens);
  ASSERT_EQ(greedy.size(), gaps.size());
  std::size_t clear = 0;
  for (std::size_t n = 0; n < kTokens; ++n) {
    if (gaps[n] > 2 * kTolerance) {
      ++clear;
      EXPECT_EQ(argmax(*row), greedy[n]) << "greedy token " << n;
    }
    row = session.feed(std::span(&greedy[n], 1));
    ASSERT_TRUE(row) << row.error().text();
  }
  EXPECT_GE(clear, kTokens - 4);
}

TEST_P(Smollm2, logits_and_greedy_tokens_equal_the_reference) {  // F-55
  const char* python = std::getenv("LOOM_PYTHON");
  ASSERT_NE(python, nullptr) << "LOOM_PYTHON is not set: it names a Python with the packages numpy and gguf";
  const Json reference = test::read_json(test::source_path("tests/golden/smollm2_reference.json"));
  ASSERT_TRUE(reference.is_object());
  const Json& weights = reference["weights"][GetParam()];
  const test::TempFolder folder;
  const std::string made = output_of({python, test::source_path("tools/make_smollm2_folder.py"), test::smollm2(),
                                      folder.path(), "--dtype", GetParam()});
  ASSERT_NE(made.find(*as_string(weights["tensors_sha256"])), std::string::npos)
      << "the folder holds other weights than the reference's: " << made;

  auto model = load_language_model(folder.path());
  ASSERT_TRUE(model) << model.error().text();
  ASSERT_TRUE(model->tokenizer);
  EXPECT_TRUE(model->chat_template);
  auto session = Session::create(model->decoder, {.context_tokens = 512});
  ASSERT_TRUE(session) << session.error().text();
  const std::vector<std::int32_t> sample_ids = ids_of(reference["sample_ids"]);
  ASSERT_GE(weights["cases"].size(), 4u);
  for (const Json& c : weights["cases"]) {
    SCOPED_TRACE(as_string(c["prompt"])->substr(0, 60));
    compare(**session, *model, c, sample_ids);
  }
}

}  // namespace
}  // namespace loom::smollm2_test
