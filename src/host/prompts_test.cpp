#include "host/prompts.h"

#include <algorithm>
#include <filesystem>

#include "core/path.h"
#include "host/conversation.h"
#include "support/files.h"

namespace loom::host_prompts_test {
namespace {

std::string tiny() { return test::source_path("tests/golden/models/llama2_untied"); }

Result<LanguageModel> model_with(const test::TempFolder& folder, const Json& files) {
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"})
    test::write_all(folder / name, test::read_all(tiny() + "/" + name));
  for (const auto& [path, text] : files.items()) {
    std::filesystem::create_directories(path_of(folder / path).parent_path());
    test::write_all(folder / path, *as_string(text));
  }
  return load_language_model(folder.path());
}

Result<std::string> prompt_of(const Json& c) {
  const test::TempFolder folder;
  LOOM_TRY(const LanguageModel model, model_with(folder, c["files"]));
  Prompts prompts = Prompts::of(model);
  prompts.tools = c["tools"];
  prompts.continue_final_message = *as_bool(c["continues"]);
  LOOM_TRY_VOID(prompts.choose(model, c["name"].is_null() ? std::string() : *as_string(c["name"])));
  LOOM_TRY(const Json messages, conversation_from_json(c["messages"]));
  return prompts.render(messages);
}

// Cases and prompts of transformers, written by tools/golden/template_choice.py.
TEST(Prompts, X_12_templates_members_and_tokens_are_those_of_transformers) {
  const Json cases = test::read_json(test::source_path("tests/golden/template/template_choice.json"));
  ASSERT_GT(cases.size(), 80u);
  for (const Json& c : cases) {
    const auto prompt = prompt_of(c);
    const std::string title = dump_json(c["title"]) + " with tools " + dump_json(c["tools"]);
    if (c["prompt"].is_null()) {
      EXPECT_FALSE(prompt) << title << ": " << *prompt;
    } else {
      ASSERT_TRUE(prompt) << title << ": " << prompt.error().text();
      EXPECT_EQ(*prompt, *as_string(c["prompt"])) << title;
    }
  }
}

TEST(Prompts, X_12_chat_template_json_counts_where_no_other_file_has_a_template) {
  const Json processor = R"({"chat_template": "P"})";
  const Json c = {{"tools", nullptr},
                  {"name", nullptr},
                  {"continues", false},
                  {"messages", Json::array()},
                  {"files", {{"chat_template.json", processor}}}};
  EXPECT_EQ(prompt_of(c).value(), "P");
  for (const auto& [path, text] :
       {std::pair("tokenizer_config.json", R"({"chat_template": "C"})"), std::pair("chat_template.jinja", "C")}) {
    Json both = c;
    both["files"][path] = text;
    EXPECT_EQ(prompt_of(both).value(), "C");
  }
}

TEST(Prompts, X_12_settings_that_hold_no_template_are_refused_by_name) {
  for (const char* setting :
       {"5", "[5]", R"([{"name":"default"}])", R"([{"name":5,"template":"x"}])", R"({"default":5})", "true"}) {
    const test::TempFolder folder;
    const auto model =
        model_with(folder, {{"tokenizer_config.json", fmt::format(R"({{"chat_template":{}}})", setting)}});
    ASSERT_FALSE(model) << setting;
    EXPECT_NE(model.error().text().find("chat_template"), std::string::npos) << model.error().text();
  }
}

TEST(Prompts, X_12_a_template_that_does_not_parse_blocks_only_its_own_name) {
  const test::TempFolder folder;
  const auto model =
      model_with(folder, {{"chat_template.jinja", "D"}, {"additional_chat_templates/tool_use.jinja", "{% if"}});
  ASSERT_TRUE(model) << model.error().text();
  Prompts prompts = Prompts::of(*model);
  EXPECT_EQ(prompts.render(Json::array()).value(), "D");
  prompts.tools = Json::array();
  const auto chosen = prompts.choose(*model);
  ASSERT_FALSE(chosen);
  EXPECT_NE(chosen.error().text().find("tool_use"), std::string::npos) << chosen.error().text();
  EXPECT_NE(prompts.choose(*model, "nope").error().text().find("default, tool_use"), std::string::npos);
}

TEST(Prompts, X_12_a_message_that_is_written_twice_is_continued_at_its_last_place) {
  Prompts prompts;
  prompts.chat_template = ChatTemplate::parse("{{ messages[-1].content }}|{{ messages[-1].content }}.").value();
  prompts.continue_final_message = true;
  EXPECT_EQ(prompts.render(Json::array({message("assistant", "So ")})).value(), "So |So ");
  EXPECT_EQ(prompts.render(Json::array()).error().code, Code::InvalidArgument);
  EXPECT_EQ(prompts.render(Json::array({{{"role", "assistant"}}})).error().code, Code::InvalidArgument);
}

// A model whose tokenizer has a control token, and a template that writes it.
Result<LanguageModel> model_with_control_token(const test::TempFolder& folder) {
  Json tokenizer = test::read_json(tiny() + "/tokenizer.json");
  tokenizer["added_tokens"].push_back({{"id", 5}, {"content", "<|end|>"}, {"special", true}});
  return model_with(folder,
                    {{"tokenizer.json", dump_json(tokenizer)},
                     {"tokenizer_config.json",
                      R"({"chat_template":"{% for m in messages %}{{ m.content }}<|end|>{% endfor %}{{ x }}"})"}});
}

TEST(Prompts, PlainTextReadsControlTokensOfMessagesAndVariablesAsText) {
  const test::TempFolder folder;
  const auto model = model_with_control_token(folder);
  ASSERT_TRUE(model) << model.error().text();
  Prompts prompts = Prompts::of(*model);
  prompts.variables["x"] = "<|end|>";
  const auto ends = [&](const char* content) {
    std::vector<std::int32_t> ids;
    const std::string rendered = prompts.render(Json::array({message("user", content)})).value();
    EXPECT_TRUE(prompts.encode(rendered, 1000, ids));
    EXPECT_EQ(prompts.describe(rendered).text, std::string(content) + "<|end|><|end|>");
    return std::ranges::count(ids, 5);
  };
  EXPECT_EQ(ends("a<|end|>b"), 3);
  prompts.plain_text = true;
  EXPECT_EQ(ends("a<|end|>b"), 1);
  EXPECT_EQ(ends("ab"), 1);
  // A receipt holds the ids of a text with marks, and encodes any other again.
  EXPECT_FALSE(prompts.describe(prompts.render(Json::array({message("user", "<|end|>")})).value()).is_exact);
  prompts.variables.erase("x");
  EXPECT_TRUE(prompts.describe(prompts.render(Json::array({message("user", "a")})).value()).is_exact);
}

TEST(Prompts, FieldsOfAnswersInConfigJsonCountWithoutGenerationConfigJson) {
  Json config = test::read_json(tiny() + "/config.json");
  config["suppress_tokens"] = {5};
  const test::TempFolder folder;
  const auto refused = model_with(folder, {{"config.json", dump_json(config)}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("config.json: /suppress_tokens"), std::string::npos) << refused.error().text();
  EXPECT_TRUE(model_with(folder, {{"config.json", dump_json(config)}, {"generation_config.json", "{}"}}));
}

}  // namespace
}  // namespace loom::host_prompts_test
