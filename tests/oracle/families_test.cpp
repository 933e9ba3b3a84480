// Small models of every family against transformers in f32 (tools/golden/small_models.py).

#include <cmath>

#include "../support/files.h"
#include "io/safetensors/safetensors.h"
#include "lm/language_model.h"
#include "lm/sampling.h"
#include "lm/session.h"

namespace loom {
namespace {

using test::ids_of;
using test::numbers_of;

constexpr double kTolerance = 1e-4;
constexpr double kClearGap = 1e-3;  // a closer call may go either way
// BitNet rounds every input of a matrix to 8 bits: a last bit of difference before may be a step after it, in these
// models 1 % of the largest logit at most. Its first row, before few such steps, stays within kTolerance.
constexpr double kBitnetTolerance = 0.01;

std::string folder_of(const std::string& name) { return test::source_path("tests/golden/models/" + name); }

class Family : public testing::TestWithParam<std::string> {};

TEST_P(Family, logits_and_greedy_tokens_equal_the_reference) {  // F-55
  const std::string folder = folder_of(GetParam());
  const Json reference = test::read_json(folder + "/reference.json");
  ASSERT_TRUE(reference.is_object());
  auto model = load_language_model(folder);
  ASSERT_TRUE(model) << model.error().text();
  auto session = Session::create(model->decoder, {.threads = 1});
  ASSERT_TRUE(session) << session.error().text();

  const std::vector<std::int32_t> ids = ids_of(reference["ids"]);
  const std::vector<std::int32_t> rows = ids_of(reference["rows"]);
  ASSERT_EQ(ids.size(), 64u);
  ASSERT_FALSE(rows.empty());
  const bool is_bitnet = GetParam().rfind("bitnet", 0) == 0;
  const double tolerance = is_bitnet ? kBitnetTolerance * *as_number(reference["max_abs_logit"]) : kTolerance;
  std::size_t compared = 0;
  double worst = 0;
  std::vector<float> last;
  auto fed = (*session)->feed_all(ids, [&](std::size_t i, std::span<const float> logits) {
    last.assign(logits.begin(), logits.end());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (static_cast<std::size_t>(rows[r]) != i) continue;
      const std::vector<double> expected = numbers_of(reference["logits"][r]);
      ASSERT_EQ(expected.size(), logits.size());
      for (std::size_t v = 0; v < expected.size(); ++v) {
        const double error = std::abs(static_cast<double>(logits[v]) - expected[v]);
        EXPECT_TRUE(error <= (i == 0 ? kTolerance : tolerance))
            << "row " << i << " id " << v << ": " << logits[v] << ", expected " << expected[v];
        worst = std::max(worst, error);
      }
      ++compared;
    }
  });
  ASSERT_TRUE(fed) << fed.error().text();
  EXPECT_EQ(compared, rows.size());
  RecordProperty("worst_error", fmt::format("{:.2e}", worst));

  const std::vector<std::int32_t> greedy = ids_of(reference["greedy"]);
  const std::vector<double> gaps = numbers_of(reference["gaps"]);
  ASSERT_EQ(greedy.size(), gaps.size());
  ASSERT_EQ(greedy.size(), 32u);
  std::size_t clear = 0;
  for (std::size_t n = 0; n < greedy.size(); ++n) {
    if (gaps[n] > (is_bitnet ? 2 * tolerance : kClearGap)) {
      ++clear;
      EXPECT_EQ(argmax(last), greedy[n]) << "greedy token " << n;
    }
    // the reference's own token: one close call does not spoil the rest
    auto next = (*session)->feed(std::span(&greedy[n], 1));
    ASSERT_TRUE(next) << next.error().text();
    last.assign(next->begin(), next->end());
  }
  EXPECT_GE(clear, is_bitnet ? 16u : 24u);
}

INSTANTIATE_TEST_SUITE_P(Supported, Family,
                         testing::Values("bitnet_divided", "bitnet_multiplied", "llama2_no_gqa", "llama2_untied",
                                         "llama3_scaled", "llama_biases", "llama_linear", "llama_yarn",
                                         "mistral_window", "qwen2_biases", "qwen3_head_norm"),
                         [](const auto& info) { return info.param; });

TEST(Families, others_are_refused_by_name) {  // F-54
  const std::pair<const char*, const char*> refused[] = {
      {"gemma1", "gemma"}, {"phi3_fused", "phi3"}, {"smollm3_nope", "smollm3"}};
  for (const auto& [folder, family] : refused) {
    SCOPED_TRACE(folder);
    auto model = load_language_model(folder_of(folder));
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, Code::Unsupported);
    const std::string& message = model.error().text();
    EXPECT_NE(message.find(folder_of(folder)), message.npos) << message;
    EXPECT_NE(message.find("\"" + std::string(family) + "\""), message.npos) << message;
    for (const char* supported : {"llama", "mistral", "qwen2", "qwen3", "bitnet"})
      EXPECT_NE(message.find(supported), message.npos) << message;
    EXPECT_EQ(message.find('\n'), message.npos);
  }
}

// Packed ternary weights and their scales belong together, in both directions.
TEST(Families, bitnet_tensors_that_do_not_fit_are_refused) {  // D-24
  const std::string source = folder_of("bitnet_multiplied"), folder = testing::TempDir() + "loom_bitnet_parts";
  const auto file = SafetensorsFile::open(source + "/model.safetensors");
  ASSERT_TRUE(file);
  const std::string weight = "model.layers.1.mlp.up_proj.weight", inf("\x80\x7f", 2);
  const auto refusal = [&](auto change) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    std::filesystem::copy_file(source + "/config.json", folder + "/config.json");
    SafetensorsWriter writer;
    for (SafeTensor t : file->tensors())
      if (change(t)) {
        EXPECT_TRUE(writer.add(t.name, t.dtype, t.shape, t.bytes));
      }
    EXPECT_TRUE(writer.write(folder + "/model.safetensors"));
    const auto model = load_language_model(folder);
    EXPECT_TRUE(model || model.error().text().find(weight) != std::string::npos) << model.error().text();
    return model ? std::optional<Code>() : model.error().code;
  };
  EXPECT_EQ(refusal([](SafeTensor&) { return true; }), std::nullopt);
  EXPECT_EQ(refusal([&](SafeTensor& t) { return t.name != weight + "_scale"; }), Code::NotFound);
  EXPECT_EQ(refusal([&](SafeTensor& t) { return t.name != weight; }), Code::Unsupported);
  EXPECT_EQ(refusal([&](SafeTensor& t) {
              if (t.name == weight) t.shape = {t.shape[0] / 2, t.shape[1] * 2};
              return true;
            }),
            Code::ShapeMismatch);
  EXPECT_EQ(refusal([&](SafeTensor& t) {
              if (t.name == weight + "_scale") t.bytes = std::as_bytes(std::span(inf));
              return true;
            }),
            Code::NonFinite);
  std::filesystem::remove_all(folder);
}

// A folder that nobody lists above would be a reference that nothing compares.
TEST(Families, every_golden_folder_is_tested) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of("")))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  const std::vector<std::string> known = {"bitnet_divided",  "bitnet_multiplied", "gemma1",       "llama2_no_gqa",
                                          "llama2_untied",   "llama3_scaled",     "llama_biases", "llama_linear",
                                          "llama_yarn",      "mistral_window",    "phi3_fused",   "qwen2_biases",
                                          "qwen3_head_norm", "smollm3_nope"};
  EXPECT_EQ(names, known);
}

}  // namespace
}  // namespace loom
