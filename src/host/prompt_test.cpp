#include "host/prompt.h"

#include <algorithm>
#include <filesystem>

#include "core/path.h"
#include "host/conversation.h"
#include "support/files.h"

namespace loom::host_prompt_test {
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
  PromptRequest request{.form = PromptForm::Chat, .tools = c["tools"]};
  request.continue_final_message = *as_bool(c["continues"]);
  if (!c["name"].is_null()) {
    LOOM_TRY(request.chat_template, named_template(model, *as_string(c["name"])));
  }
  LOOM_TRY(request.messages, conversation_from_json(c["messages"]));
  return render_prompt(model, std::move(request));
}

// Cases and prompts of transformers, written by tools/golden/template_choice.py.
TEST(Prompt, templates_members_and_tokens_are_those_of_transformers) {  // X-12
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

TEST(Prompt, chat_template_json_counts_where_no_other_file_has_a_template) {  // X-12
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

TEST(Prompt, settings_that_hold_no_template_are_refused_by_name) {  // X-12
  for (const char* setting :
       {"5", "[5]", R"([{"name":"default"}])", R"([{"name":5,"template":"x"}])", R"({"default":5})", "true"}) {
    const test::TempFolder folder;
    const auto model =
        model_with(folder, {{"tokenizer_config.json", fmt::format(R"({{"chat_template":{}}})", setting)}});
    ASSERT_FALSE(model) << setting;
    EXPECT_NE(model.error().text().find("chat_template"), std::string::npos) << model.error().text();
  }
}

TEST(Prompt, a_template_that_does_not_parse_blocks_only_its_own_name) {  // X-12
  const test::TempFolder folder;
  const auto model =
      model_with(folder, {{"chat_template.jinja", "D"}, {"additional_chat_templates/tool_use.jinja", "{% if"}});
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(render_prompt(*model, {.messages = Json::array()}).value(), "D");
  const auto with_tools = render_prompt(*model, {.messages = Json::array(), .tools = Json::array()});
  ASSERT_FALSE(with_tools);
  EXPECT_NE(with_tools.error().text().find("tool_use"), std::string::npos) << with_tools.error().text();
  EXPECT_EQ(named_template(*model, "default").value().source(), "D");
  EXPECT_EQ(named_template(*model, "nope").error().code, Code::NoTemplate);
}

TEST(Prompt, a_message_that_is_written_twice_is_continued_at_its_last_place) {  // X-12
  PromptRequest request;
  request.chat_template = ChatTemplate::parse("{{ messages[-1].content }}|{{ messages[-1].content }}.").value();
  request.continue_final_message = true;
  const auto continued = [&](Json messages) {
    request.messages = std::move(messages);
    return render_prompt({}, request);
  };
  EXPECT_EQ(continued(Json::array({message("assistant", "So ")})).value(), "So |So ");
  EXPECT_EQ(continued(Json::array()).error().code, Code::InvalidArgument);
  EXPECT_EQ(continued(Json::array({{{"role", "assistant"}}})).error().code, Code::InvalidArgument);
  EXPECT_EQ(continued(nullptr).error().code, Code::InvalidArgument);
}

std::optional<ChatTemplate> model_template(const char* source) { return ChatTemplate::parse(source).value(); }

// A model whose tokenizer has a control token, and a template that writes it.
Result<LanguageModel> model_with_control_token(const test::TempFolder& folder) {
  Json tokenizer = test::read_json(tiny() + "/tokenizer.json");
  tokenizer["added_tokens"].push_back({{"id", 5}, {"content", "<|end|>"}, {"special", true}});
  return model_with(folder,
                    {{"tokenizer.json", dump_json(tokenizer)},
                     {"tokenizer_config.json",
                      R"({"chat_template":"{% for m in messages %}{{ m.content }}<|end|>{% endfor %}{{ x }}"})"}});
}

TEST(Prompt, PlainTextReadsControlTokensOfMessagesAndVariablesAsText) {
  const test::TempFolder folder;
  const auto model = model_with_control_token(folder);
  ASSERT_TRUE(model) << model.error().text();
  PromptRequest request{.variables = {{"x", "<|end|>"}}};
  const auto made = [&](const char* content) {
    request.text = content;
    return make_prompt(*model, request).value();
  };
  const auto ends = [&](const char* content) {
    const Prompt prompt = made(content);
    EXPECT_EQ(prompt.text, std::string(content) + "<|end|><|end|>");
    EXPECT_EQ(prompt.described.text, prompt.text);
    return std::ranges::count(prompt.ids, 5);
  };
  EXPECT_EQ(ends("a<|end|>b"), 3);
  request.plain_text = true;
  EXPECT_EQ(ends("a<|end|>b"), 1);
  EXPECT_EQ(ends("ab"), 1);
  // A receipt holds the ids of a text with marks, and encodes any other again.
  EXPECT_FALSE(made("<|end|>").described.is_exact);
  request.variables.erase("x");
  EXPECT_TRUE(made("a").described.is_exact);
}

TEST(Prompt, EverySettingChangesThePromptOfATemplateAndIsRefusedByNameOfARawOne) {
  const test::TempFolder folder;
  const auto model = model_with_control_token(folder);
  ASSERT_TRUE(model) << model.error().text();
  const auto with = [](auto change) {
    PromptRequest request{.text = "a<|end|>"};
    request.chat_template =
        ChatTemplate::parse(
            "{{ messages[0].content }}|{{ tools }}|{{ x }}|{% if strftime_now is defined %}{{ strftime_now('%Y') }}"
            "{% endif %}|{{ add_generation_prompt }}")
            .value();
    change(request);
    return request;
  };
  const std::vector<std::int32_t> plain = make_prompt(*model, with([](PromptRequest&) {})).value().ids;
  const std::pair<const char*, PromptRequest> settings[] = {
      {"messages", with([](PromptRequest& r) { r.messages = Json::array({message("user", "b")}); })},
      {"tools", with([](PromptRequest& r) { r.tools = Json::array({{{"name", "f"}}}); })},
      {"template_variables", with([](PromptRequest& r) { r.variables["x"] = 5; })},
      {"date", with([](PromptRequest& r) { r.date = parse_template_date("2026-11-28").value(); })},
      {"plain_text", with([](PromptRequest& r) { r.plain_text = true; })},
      {"chat_template", with([](PromptRequest& r) { r.chat_template = model_template("b"); })},
  };
  for (auto [name, request] : settings) {
    EXPECT_NE(make_prompt(*model, request).value().ids, plain) << name;
    request.form = PromptForm::Raw;
    if (std::string_view(name) != "chat_template") request.chat_template.reset();
    const auto raw = make_prompt(*model, request);
    ASSERT_FALSE(raw) << name;
    EXPECT_EQ(raw.error().code, Code::InvalidArgument);
    EXPECT_TRUE(raw.error().text().starts_with(name)) << raw.error().text();
  }
  EXPECT_NE(make_prompt(*model, with([](PromptRequest& r) { r.add_generation_prompt = false; })).value().ids, plain);
  for (const char* own : {"messages", "tools", "strftime_now"}) {
    const auto refused = make_prompt(*model, with([&](PromptRequest& r) { r.variables[own] = 1; }));
    ASSERT_FALSE(refused) << own;
    EXPECT_NE(refused.error().text().find(own), std::string::npos) << refused.error().text();
  }
  EXPECT_EQ(make_prompt(*model, with([](PromptRequest& r) { r.tools = 5; })).error().code, Code::CorruptData);
}

TEST(Prompt, EncodingEndsAtFourTimesTheContext) {
  const test::TempFolder folder;
  const auto model = model_with_control_token(folder);
  ASSERT_TRUE(model) << model.error().text();
  for (const PromptForm form : {PromptForm::Raw, PromptForm::Chat}) {
    PromptRequest request{.text = std::string(400, 'a'), .form = form, .context_tokens = 8};
    const auto refused = make_prompt(*model, request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::ContextFull);
    EXPECT_EQ(refused.error().text(), "the prompt has more than 32 tokens, the context holds 8");
    request.context_tokens = 1000;
    EXPECT_TRUE(make_prompt(*model, request));
  }
}

TEST(Prompt, FieldsOfAnswersInConfigJsonCountWithoutGenerationConfigJson) {
  Json config = test::read_json(tiny() + "/config.json");
  config["suppress_tokens"] = {5};
  const test::TempFolder folder;
  const auto refused = model_with(folder, {{"config.json", dump_json(config)}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("config.json: /suppress_tokens"), std::string::npos) << refused.error().text();
  EXPECT_TRUE(model_with(folder, {{"config.json", dump_json(config)}, {"generation_config.json", "{}"}}));
}

}  // namespace
}  // namespace loom::host_prompt_test
