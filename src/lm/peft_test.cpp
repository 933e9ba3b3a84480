// Adapters as PEFT writes them: logits of tests/golden/adapters (tools/golden/peft_adapters.py), and every field of
// adapter_config.json.

#include <filesystem>
#include <set>

#include "core/json.h"
#include "io/safetensors/safetensors.h"
#include "lm/language_model.h"
#include "lm/model_entity.h"
#include "lm/peft.h"
#include "lm/session.h"
#include "lm/singular_vectors.h"
#include "support/files.h"

namespace loom::peft_test {
namespace {

const std::string kFolder = test::source_path("tests/golden/adapters");

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.is_directory() && entry.path().filename() != "bases") names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string base_of(const std::string& name) {
  return kFolder + "/bases/" + *as_string(test::read_json(kFolder + "/" + name + "/logits.json")["base"]);
}

// Compares the logits at two positions with PEFT's, which computes in f32.
void expect_golden(const LanguageModel& model, const std::string& name, double bound) {
  const Json golden = test::read_json(kFolder + "/" + name + "/logits.json");
  std::vector<std::int32_t> ids;
  for (const Json& id : golden["ids"]) ids.push_back(static_cast<std::int32_t>(*as_int(id)));
  const auto session = Session::create(model.decoder, {.threads = 1});
  ASSERT_TRUE(session) << session.error().text();
  std::size_t fed = 0;
  for (const std::size_t end : {std::size_t{3}, ids.size()}) {
    const auto logits = (*session)->feed(std::span(ids).subspan(fed, end - fed));
    ASSERT_TRUE(logits) << logits.error().text();
    fed = end;
    const std::vector<double> expected = test::numbers_of(golden["logits"][end - 1]);
    ASSERT_EQ(logits->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(static_cast<double>((*logits)[i]), expected[i], bound) << "position " << end - 1 << ", token " << i;
  }
}

// f32 against f32 in another order of sums, at logits of up to 30 after layers that double such differences.
constexpr double kBound = 2e-4;

TEST(Peft, LogitsOfEveryAdapterMatchPeft) {
  const std::vector<std::string> names = cases();
  ASSERT_GE(names.size(), 40u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    ModelOptions options;
    options.threads = 1;
    options.adapters = {kFolder + "/" + name + "/adapter"};
    const auto model = load_language_model(base_of(name), options);
    EXPECT_TRUE(model) << model.error().text();
    if (model) expect_golden(*model, name, kBound);
  }
}

TEST(Peft, MergedAdaptersMatchPeft) {
  const test::TempFolder folder;
  for (const std::string& name : cases()) {
    SCOPED_TRACE(name);
    auto contents = read_model(base_of(name));
    ASSERT_TRUE(contents);
    auto delta = PeftDelta::read(kFolder + "/" + name + "/adapter", contents->source.config);
    ASSERT_TRUE(delta) << delta.error().text();
    const auto settled = delta->settle_to_merge(contents->source);
    ASSERT_TRUE(settled) << settled.error().text();
    const std::string path = folder / "merged.entity";
    ASSERT_TRUE(write_model_entity(path, *contents, {.threads = 1, .adapter = &*delta}));
    const auto model = load_language_model(path);
    ASSERT_TRUE(model) << model.error().text();
    expect_golden(*model, name, kBound);
  }
}

TEST(Peft, PairsWithScalesOfTheirOwnLiveBesideTheWeightsOfAnEntity) {
  const test::TempFolder folder;
  for (const std::string name :
       {"rank_pattern", "alpha_pattern", "patterns_rslora", "pissa", "olora_rslora", "layers"}) {
    SCOPED_TRACE(name);
    const auto contents = read_model(base_of(name));
    ASSERT_TRUE(contents);
    auto delta = PeftDelta::read(kFolder + "/" + name + "/adapter", contents->source.config);
    ASSERT_TRUE(delta && delta->rename("x"));
    DecoderSource source = contents->source;
    ASSERT_TRUE(delta->settle(source));
    const std::string path = folder / "beside.entity";
    const auto written = write_model_entity(path, *contents, {.threads = 1, .beside = std::span(&*delta, 1)});
    ASSERT_TRUE(written) << written.error().text();
    const auto model = load_language_model(path);
    ASSERT_TRUE(model) << model.error().text();
    expect_golden(*model, name, kBound);
    // Also as a folder that is written again.
    const auto saved = save_peft(*model->decoder, PeftConfig{"x", 2, 3, delta->config().targets}, folder / "again");
    ASSERT_TRUE(saved) << saved.error().text();
    ModelOptions options;
    options.adapters = {folder / "again"};
    const auto again = load_language_model(base_of(name), options);
    ASSERT_TRUE(again) << again.error().text();
    expect_golden(*again, name, kBound);
  }
}

TEST(Peft, AdaptersOfTheModelsOwnTensorsCannotBeSwitchedOff) {
  const std::string adapter = kFolder + "/save_head/adapter";
  ModelOptions options;
  options.adapters = {adapter};
  const auto model = load_language_model(base_of("save_head"), options);
  ASSERT_TRUE(model);
  EXPECT_EQ(Session::create(model->decoder, {.adapters = std::vector<std::string>{}}).error().code, Code::Unsupported);
  EXPECT_TRUE(Session::create(model->decoder, {.adapters = std::vector<std::string>{"0"}}));
  const auto contents = read_model(base_of("save_head"));
  const auto delta = PeftDelta::read(adapter, contents->source.config);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->to_bytes().error().code, Code::Unsupported);
  options.adapters = {adapter, adapter};
  EXPECT_EQ(load_language_model(base_of("save_head"), options).error().code, Code::Unsupported);
}

// A value of a field that Loom must treat otherwise than the default.
struct Probe {
  std::string_view field;
  const char* value;
  bool refused;  // else the logits move, or the file no longer fits
};
constexpr Probe kProbes[] = {
    {"peft_type", "\"IA3\"", true},
    {"task_type", "\"SEQ_CLS\"", true},
    {"r", "3", true},
    {"lora_alpha", "11", false},
    {"target_modules", "[\"k_proj\"]", true},
    {"exclude_modules", "[\"q_proj\"]", true},
    {"layers_to_transform", "[0]", true},
    {"layers_pattern", "[\"blocks\"]", true},
    {"rank_pattern", "{\"q_proj\": 1}", true},
    {"alpha_pattern", "{\"q_proj\": 1}", false},
    {"use_rslora", "true", false},
    {"use_dora", "true", true},
    {"lora_bias", "true", true},
    {"bias", "\"some\"", true},
    {"modules_to_save", "[\"lm_head\"]", true},
    {"trainable_token_indices", "[1]", true},
    {"init_lora_weights", "\"pissa\"", false},
    {"init_lora_weights", "\"olora\"", false},
    {"init_lora_weights", "\"pissa_niter_4\"", true},
    {"init_lora_weights", "\"corda\"", true},
    {"init_lora_weights", "\"loftq\"", true},
    {"init_lora_weights", "\"lora_ga\"", true},
    {"init_lora_weights", "\"nonsense\"", true},
    {"megatron_config", "{\"a\": 1}", true},
    {"layer_replication", "[[0, 2]]", true},
    {"target_parameters", "[\"q_proj.weight\"]", true},
    {"use_qalora", "true", true},
    {"use_bdlora", "{\"nblocks\": 2}", true},
    {"alora_invocation_tokens", "[1]", true},
    {"arrow_config", "{\"top_k\": 2}", true},
    {"kasa_config", "{\"beta\": 2}", true},
    {"monteclora_config", "{\"num_samples\": 2}", true},
    {"velora_config", "{\"scale\": 2}", true},
    {"enable_lora", "[true, false]", true},
    {"a_field_of_tomorrow", "1", true},
};

class Fields : public ::testing::Test {
 protected:
  // The last logits of the plain base with the adapter of a case and one field changed; an error where it is refused.
  Result<std::vector<float>> logits(std::string_view field, const char* value, const std::string& base = "plain") {
    const std::string to = folder_ / "adapter";
    std::filesystem::create_directories(to);
    std::filesystem::copy(kFolder + "/init_true/adapter/adapter_model.safetensors", to + "/adapter_model.safetensors",
                          std::filesystem::copy_options::overwrite_existing);
    Json config = test::read_json(kFolder + "/init_true/adapter/adapter_config.json");
    if (!field.empty()) config[std::string(field)] = parse_json(value).value();
    test::write_all(to + "/adapter_config.json", dump_json(config));
    ModelOptions options;
    options.adapters = {to};
    LOOM_TRY(const auto model, load_language_model(kFolder + "/bases/" + base, options));
    LOOM_TRY(const auto session, Session::create(model.decoder, {.threads = 1}));
    const std::int32_t ids[] = {5, 6, 7};
    LOOM_TRY(const auto logits, session->feed(ids));
    return std::vector<float>(logits.begin(), logits.end());
  }
  test::TempFolder folder_;
};

TEST_F(Fields, EveryFieldOfPeftIsInTheTableAndChangesSomethingOrSaysWhyNot) {
  std::set<std::string> known;
  for (const LoraField& field : lora_fields()) {
    EXPECT_TRUE(known.insert(std::string(field.name)).second) << field.name;
    EXPECT_EQ(field.reason.empty(), field.use == LoraFieldUse::Read) << field.name;
  }
  for (const Json& field : test::read_json(kFolder + "/fields.json"))
    EXPECT_TRUE(known.contains(*as_string(field))) << *as_string(field);
  const auto plain = logits("", "");
  ASSERT_TRUE(plain) << plain.error().text();
  std::set<std::string_view> probed = {"ensure_weight_tying"};  // below
  for (const Probe& probe : kProbes) {
    probed.insert(probe.field);
    const auto changed = logits(probe.field, probe.value);
    EXPECT_EQ(!changed, probe.refused) << probe.field << ": " << (changed ? "accepted" : changed.error().text());
    if (changed) {
      EXPECT_NE(*changed, *plain) << probe.field;
    }
    const bool is_named = changed || changed.error().text().find(probe.field) != std::string::npos ||
                          probe.field == "r" || probe.field == "rank_pattern";  // those name the tensor
    EXPECT_TRUE(is_named) << probe.field << ": " << changed.error().text();
  }
  for (const LoraField& field : lora_fields()) {
    if (field.use != LoraFieldUse::NoEffect) {
      EXPECT_TRUE(probed.contains(field.name)) << field.name;
      continue;
    }
    const auto same = logits(field.name, "true");
    ASSERT_TRUE(same) << field.name << ": " << same.error().text();
    EXPECT_EQ(*same, *plain) << field.name;
  }
}

TEST_F(Fields, EnsureWeightTyingNeedsTheHeadToo) {
  auto settings = test::read_json(kFolder + "/embedding_tied/adapter/adapter_config.json");
  settings["ensure_weight_tying"] = true;
  const std::string to = folder_ / "tied";
  std::filesystem::copy(kFolder + "/embedding_tied/adapter", to, std::filesystem::copy_options::recursive);
  test::write_all(to + "/adapter_config.json", dump_json(settings));
  const auto contents = read_model(kFolder + "/bases/tied");
  EXPECT_EQ(PeftDelta::read(to, contents->source.config).error().code, Code::CorruptData);
}

// A known spectrum. LogitsOfEveryAdapterMatchPeft compares with PyTorch's SVD of tests/golden/adapters.
TEST(SingularVectors, SpanTheLargestDirections) {
  const std::size_t rows = 60, cols = 40;
  std::vector<float> w(rows * cols);
  // w = 5 e0 e1^T + 3 e2 e0^T + 2.999 e7 e9^T + e3 e3^T
  w[0 * cols + 1] = 5, w[2 * cols + 0] = 3, w[7 * cols + 9] = 2.999f, w[3 * cols + 3] = 1;
  const auto u = left_singular_vectors(w, rows, cols, 3);
  ASSERT_TRUE(u) << u.error().text();
  const std::size_t axes[] = {0, 2, 7};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::abs((*u)[i * rows + axes[i]]), 1, 1e-9) << i;
  EXPECT_FALSE(left_singular_vectors(w, rows, cols, 41));
}

}  // namespace
}  // namespace loom::peft_test
