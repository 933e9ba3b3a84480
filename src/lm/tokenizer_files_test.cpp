// Folders of tokenizer files give the ids and texts of transformers' AutoTokenizer, which
// tools/golden/tokenizer_folders.py writes to tests/golden/tokenizers/folders.json.

#include "lm/tokenizer_files.h"

#include <algorithm>
#include <map>
#include <set>

#include "lm/tokenizer_class.h"
#include "support/files.h"
#include "text/tokenizer/tokenizer.h"

namespace loom::tokenizer_files_test {
namespace {

const Json& golden() {
  static const Json all = test::read_json(test::source_path("tests/golden/tokenizers/folders.json"));
  return all;
}

void write_folder(const test::TempFolder& folder, const Json& tokenizer, const Json& files) {
  test::write_all(folder / "tokenizer.json", dump_json(tokenizer));
  for (const auto& [name, content] : files.items()) test::write_all(folder / name, dump_json(content));
}

Json tokenizer_of_case(const Json& c) {
  Json tokenizer = golden()["bases"][*as_string(c["base"])];
  if (const Json* const part = find(c, "part"))
    for (const auto& [key, value] : part->items()) tokenizer[key] = value;
  return tokenizer;
}

struct Outcome {
  std::vector<std::int32_t> ids;
  std::string decoded, shown;
};
Result<Outcome> outcome_of(const text::Tokenizer& tokenizer, const std::string& text) {
  Outcome out;
  LOOM_TRY_VOID(tokenizer.encode(text, {}, out.ids));
  out.decoded = tokenizer.decode(out.ids), out.shown = tokenizer.decode(out.ids, {.skip_special_tokens = false});
  return out;
}

void expect_outcomes(const Json& c) {
  const std::string& title = *as_string(c["title"]);
  const test::TempFolder folder;
  Json files = c["files"];
  files["config.json"] = c["config.json"];
  write_folder(folder, tokenizer_of_case(c), files);
  const auto read = read_folder_tokenizer(FileSet::folder(folder.path()));
  ASSERT_TRUE(read) << title << ": " << read.error().text();
  const auto tokenizer = text::Tokenizer::from_json(read->json);
  ASSERT_TRUE(tokenizer) << title << ": " << tokenizer.error().text();
  for (const Json& expected : c["outcomes"]) {
    const std::string& text = *as_string(expected["text"]);
    const auto got = outcome_of(*tokenizer, text);
    ASSERT_TRUE(got) << title << ": " << got.error().text();
    EXPECT_EQ(Json(got->ids), expected["ids"]) << title << ": " << text;
    EXPECT_EQ(got->decoded, *as_string(expected["decoded"])) << title << ": " << text;
    EXPECT_EQ(got->shown, *as_string(expected["shown"])) << title << ": " << text;
  }
  Json special = Json::object();
  for (const auto& [name, text] : read->special_tokens) special[name] = text;
  std::map<std::string, Json> expected;
  for (const auto& [name, text] : c["special"].items()) expected[name] = text;
  EXPECT_EQ(special, Json(expected)) << title;
}

TEST(TokenizerFiles, GiveIdsTextsAndSpecialTokensOfTransformers) {
  std::size_t compared = 0;
  for (const Json& c : golden()["cases"]) {
    if (c["outcomes"].is_null()) continue;
    expect_outcomes(c);
    ++compared;
  }
  EXPECT_GT(compared, 380u);
}

// Reads a folder with a tokenizer_config.json over a tokenizer.json of the golden file.
Result<FolderTokenizer> read_with(const std::string& base, const Json& config, const Json& model_config = nullptr,
                                  const Json& part = Json::object()) {
  const test::TempFolder folder;
  Json tokenizer = golden()["bases"][base];
  for (const auto& [key, value] : part.items()) tokenizer[key] = value;
  write_folder(
      folder, tokenizer,
      {{"tokenizer_config.json", config}, {"config.json", model_config.is_null() ? Json::object() : model_config}});
  return read_folder_tokenizer(FileSet::folder(folder.path()));
}
std::string result_of(const Result<FolderTokenizer>& read) {
  if (!read) return "refused";
  std::string out = read->json;
  for (const auto& [name, text] : read->special_tokens) out += fmt::format("\n{}={}", name, text);
  return out;
}

struct SettingRow {
  const char *key, *base, *config, *value;
};
// A value of every key that is read, and a folder whose tokenizer it changes.
constexpr SettingRow kRead[] = {
    {"add_prefix_space", "gpt2", R"({"tokenizer_class":"GPT2Tokenizer"})", "true"},
    {"added_tokens_decoder", "gpt2", "{}", R"({"900":{"content":"<new>"}})"},
    {"additional_special_tokens", "gpt2", "{}", R"(["<new>"])"},
    {"auto_map", "gpt2", "{}", R"({"AutoTokenizer":["own.Tokenizer",null]})"},
    {"chat_control_tokens", "gpt2", "{}", R"(["he"])"},
    {"clean_up_tokenization_spaces", "t5", "{}", "true"},
    {"clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", "gpt2",
     R"({"clean_up_tokenization_spaces":true})", "true"},
    {"do_lower_case", "bert", R"({"tokenizer_class":"BertTokenizer"})", "false"},
    {"extra_ids", "t5", R"({"tokenizer_class":"T5Tokenizer"})", "7"},
    {"extra_special_tokens", "gpt2", "{}", R"(["<new>"])"},
    {"legacy", "llama", R"({"tokenizer_class":"LlamaTokenizer"})", "true"},
    {"model_specific_special_tokens", "gpt2", "{}", R"({"image_token":"<new>"})"},
    {"padding_side", "gpt2", "{}", R"("middle")"},
    {"split_special_tokens", "gpt2", "{}", "true"},
    {"strip_accents", "bert", R"({"tokenizer_class":"BertTokenizer"})", "false"},
    {"tokenize_chinese_chars", "bert", R"({"tokenizer_class":"BertTokenizer"})", "false"},
    {"tokenizer_class", "llama", "{}", R"("LlamaTokenizer")"},
    {"truncation_side", "gpt2", "{}", R"("middle")"},
};
// Keys that other tests show: templates (prompts_test.cpp), a vocabulary of more than 100 000 tokens (below).
const std::set<std::string_view> kShownElsewhere = {"chat_template", "fix_mistral_regex"};

TEST(TokenizerFiles, EveryKeyOfTheConfigChangesTheTokenizerOrIsKnownToChangeNothing) {
  for (const TokenizerSetting& setting : tokenizer_settings()) {
    const std::string key(setting.key);
    if (setting.use == SettingUse::Read) {
      const auto row = std::ranges::find(kRead, setting.key, &SettingRow::key);
      ASSERT_TRUE(row != std::end(kRead) || kShownElsewhere.contains(key)) << key << " has no row in kRead";
      if (row == std::end(kRead)) continue;
      Json config = *parse_json(row->config);
      const std::string before = result_of(read_with(row->base, config));
      config[key] = *parse_json(row->value);
      EXPECT_NE(before, result_of(read_with(row->base, config))) << key;
    } else if (setting.use == SettingUse::Harmless) {
      EXPECT_FALSE(setting.reason.empty()) << key;
      for (const char* base : {"llama", "bert"})
        for (const char* value : {"true", "5", R"("x")", R"(["x"])", R"({"x":1})"}) {
          Json config = {{"tokenizer_class", std::string(base) == "bert" ? "BertTokenizer" : "LlamaTokenizer"}};
          const std::string before = result_of(read_with(base, config));
          config[key] = *parse_json(value);
          EXPECT_EQ(before, result_of(read_with(base, config))) << key << ": " << value;
        }
    } else {
      const auto read = read_with("gpt2", {{key, Json::array({"x"})}});
      ASSERT_FALSE(read) << key;
      EXPECT_NE(read.error().text().find("/" + key), std::string::npos) << read.error().text();
      EXPECT_TRUE(read_with("gpt2", {{key, Json::array()}})) << key;
    }
  }
}

TEST(TokenizerFiles, UnknownKeysAndClassesAreRefusedByName) {
  struct Row {
    const char *config, *named;
  };
  for (const Row& row :
       {Row{R"({"do_upper_case":true})", "/do_upper_case"},
        Row{R"({"tokenizer_class":"AlbertTokenizer"})", "AlbertTokenizer"},
        Row{R"({"tokenizer_class":"CohereTokenizerFast"})", "CohereTokenizer"}, Row{R"({"bos_token":5})", "/bos_token"},
        Row{R"({"bos_token":{"content":"<s>","blue":true}})", "blue"},
        Row{R"({"added_tokens_decoder":{"5":{"content":"<s>","blue":true}}})", "/added_tokens_decoder/5"},
        Row{R"({"added_tokens_decoder":{"five":{"content":"<s>"}}})", "/added_tokens_decoder/five"},
        Row{R"({"added_tokens_decoder":[]})", "/added_tokens_decoder"},
        Row{R"({"additional_special_tokens":[5]})", "/additional_special_tokens/0"},
        Row{R"({"clean_up_tokenization_spaces":"no"})", "/clean_up_tokenization_spaces"},
        Row{R"({"tokenizer_class":"GPT2Tokenizer","add_prefix_space":"no"})", "/add_prefix_space"}}) {
    const auto read = read_with("gpt2", *parse_json(row.config));
    ASSERT_FALSE(read) << row.config;
    EXPECT_NE(read.error().text().find(row.named), std::string::npos) << read.error().text();
    EXPECT_NE(read.error().text().find("tokenizer_config.json"), std::string::npos) << read.error().text();
  }
  EXPECT_TRUE(read_with("gpt2", {{"do_upper_case", nullptr}}));
}

// transformers 5.24 drops steps of a tokenizer.json that the class does not have; the vocabulary was made with them.
TEST(TokenizerFiles, StepsThatTheClassDoesNotHaveStay) {
  const Json config = {{"tokenizer_class", "GPT2Tokenizer"}, {"add_prefix_space", false}};
  const auto read = read_with("gpt2 with digits", config);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_NE(read->json.find("individual_digits"), std::string::npos);
  // A setting that only the steps of the class would follow is no longer silently without effect.
  const auto refused =
      read_with("gpt2 with digits", {{"tokenizer_class", "GPT2Tokenizer"}, {"add_prefix_space", true}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("/add_prefix_space"), std::string::npos) << refused.error().text();
}

TEST(TokenizerFiles, FixMistralRegexWritesThePatternOfMistralsLargeVocabularies) {
  Json model = golden()["bases"]["qwen2"]["model"];
  for (int i = 0; i < 100001; ++i)
    model["vocab"].get_ptr<Json::object_t*>()->emplace_back(fmt::format("word{}", i), 1000 + i);
  const auto pattern_of = [&](bool fixes, const char* type, const char* version) {
    const auto read = read_with("qwen2", {{"fix_mistral_regex", fixes}},
                                {{"model_type", type}, {"transformers_version", version}}, {{"model", model}});
    EXPECT_TRUE(read);
    return *as_string((*parse_json(read->json))["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]);
  };
  const std::string own = pattern_of(false, "mistral", "4.57.1");
  EXPECT_TRUE(pattern_of(true, "mistral", "4.57.1").starts_with(R"([^\r\n\p{L}\p{N}]?[\p{Lu})"));
  EXPECT_EQ(pattern_of(true, "mistral", "5.0.0"), own);
  EXPECT_EQ(pattern_of(true, "llama", "4.57.1"), own);
}

}  // namespace
}  // namespace loom::tokenizer_files_test
