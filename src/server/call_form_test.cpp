#include "server/call_form.h"

#include <gtest/gtest.h>

#include <map>

#include "core/json.h"
#include "host/conversation.h"
#include "server/call_reader.h"
#include "server/tools.h"
#include "support/files.h"

namespace loom::server_call_form_test {
namespace {

using server::CallForm;
using server::Function;

Result<CallForm> form_of(const std::string& file) {
  const std::string source = test::read_all(test::data_path("vocabs/templates/" + file + ".jinja"));
  LOOM_TRY(const ChatTemplate parsed, ChatTemplate::parse(source));
  return server::call_form_of(parsed, {.bos_token = "<s>", .eos_token = "</s>"});
}

// The text that a template writes for a call of "go".
std::string call_text(const std::string& file, const CallForm& form, const Json& arguments) {
  const std::string source = test::read_all(test::data_path("vocabs/templates/" + file + ".jinja"));
  const ChatTemplate parsed = ChatTemplate::parse(source).value();
  Json answer = message("assistant", "");
  answer["tool_calls"] = Json::array(
      {Json{{"id", "call12345"}, {"type", "function"}, {"function", {{"name", "go"}, {"arguments", arguments}}}}});
  ChatContext context;
  context.messages = Json::array({message("user", "Question?"), answer});
  context.bos_token = "<s>", context.eos_token = "</s>";
  const std::string text = parsed.render(chat_context(context).value(), {}, TemplateTime{.year = 2026}).value();
  const std::size_t begin = text.rfind(form.tagged.exact_open + "go");
  const std::size_t end = text.rfind(form.tagged.exact_close);
  EXPECT_TRUE(begin != text.npos && end != text.npos) << text;
  return text.substr(begin, end + form.tagged.exact_close.size() - begin);
}

struct Row {
  const char *file, *open, *middle, *between, *close;
};
constexpr const char* kHermesOpen = "<tool_call>\n{\"name\": \"";
constexpr const char* kArguments = "\", \"arguments\": ";
constexpr const char* kHermesBetween = "}\n</tool_call>\n<tool_call>\n{\"name\": \"";
constexpr const char* kHermesClose = "}\n</tool_call>";

// The forms of published templates, which jinja2 renders alike (tests/golden/template).
TEST(CallForm, IsReadFromPublishedTemplates) {
  constexpr Row kRows[] = {
      {"Qwen-Qwen2.5-7B-Instruct", kHermesOpen, kArguments, kHermesBetween, kHermesClose},
      {"Qwen-Qwen3-0.6B", kHermesOpen, kArguments, kHermesBetween, kHermesClose},
      {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", kHermesOpen, kArguments, kHermesBetween, kHermesClose},
      {"meta-llama-Llama-3.1-8B-Instruct", "{\"name\": \"", "\", \"parameters\": ", "", "}"},
      {"meta-llama-Llama-3.2-3B-Instruct", "{\"name\": \"", "\", \"parameters\": ", "", "}"},
      {"mistralai-Mistral-Nemo-Instruct-2407", "[TOOL_CALLS][{\"name\": \"", kArguments, "}, {\"name\": \"", "}]"},
      {"unsloth-mistral-Devstral-Small-2507", "[TOOL_CALLS]", "[ARGS]", "[TOOL_CALLS]", ""},
      {"meetkai-functionary-medium-v3.1", "<function=", ">", "</function><function=", "</function>"},
  };
  for (const Row& row : kRows) {
    const auto form = form_of(row.file);
    ASSERT_TRUE(form) << row.file << ": " << form.error().text();
    EXPECT_EQ(form->open, row.open) << row.file;
    EXPECT_EQ(form->middle, row.middle) << row.file;
    EXPECT_EQ(form->between, row.between) << row.file;
    EXPECT_EQ(form->close, row.close) << row.file;
    EXPECT_EQ(form->several, *row.between != '\0') << row.file;
  }
  for (const char* file : {"deepseek-ai-DeepSeek-V3.2", "google-gemma-4-31B-it", "LFM2-8B-A1B", "MiniMax-M3"}) {
    const auto form = form_of(file);
    ASSERT_FALSE(form) << file << ": " << form->open;
    EXPECT_EQ(form.error().code, Code::Unsupported) << file;
  }
  for (const char* file : {"llama-cpp-rwkv-world", "microsoft-Phi-3.5-mini-instruct"}) {
    const auto form = form_of(file);
    ASSERT_TRUE(form) << file << ": " << form.error().text();
    EXPECT_EQ(form->kind, CallForm::Kind::Own) << file;
  }
}

TEST(CallForm, TagsOfArgumentsAreReadFromPublishedTemplates) {
  struct Tags {
    const char *file, *marker, *prefix, *middle, *open;
    std::vector<std::string> inside;
    const char *close, *end, *ending;
    bool on_lines = false;
  };
  const Tags rows[] = {
      {"Qwen3-Coder",
       "<tool_call>",
       "<function=",
       ">",
       "<parameter=",
       {">"},
       "</parameter>",
       "</function>",
       "</tool_call>",
       true},
      {"GLM-4.6",
       "<tool_call>",
       "",
       "",
       "<arg_key>",
       {"</arg_key>", "<arg_value>"},
       "</arg_value>",
       "</tool_call>",
       ""},
      {"MiniMax-M2",
       "<minimax:tool_call>",
       "<invoke name=\"",
       "\">",
       "<parameter name=\"",
       {"\">"},
       "</parameter>",
       "</invoke>",
       "</minimax:tool_call>"},
      {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
       "<tool_call>",
       "<function=",
       ">",
       "<parameter=",
       {">"},
       "</parameter>",
       "</function>",
       "</tool_call>",
       true},
      {"openbmb-MiniCPM5-1B", "<function name=\"", "", "\">", "<param name=\"", {"\">"}, "</param>", "</function>", ""},
  };
  for (const Tags& row : rows) {
    const auto form = form_of(row.file);
    ASSERT_TRUE(form) << row.file << ": " << form.error().text();
    EXPECT_EQ(form->kind, CallForm::Kind::Tagged) << row.file;
    EXPECT_EQ(form->marker, row.marker) << row.file;
    EXPECT_EQ(form->middle, row.middle) << row.file;
    EXPECT_EQ(form->ending, row.ending) << row.file;
    EXPECT_EQ(form->tagged.prefix, row.prefix) << row.file;
    EXPECT_EQ(form->tagged.open, row.open) << row.file;
    EXPECT_EQ(form->tagged.middle, row.inside) << row.file;
    EXPECT_EQ(form->tagged.close, row.close) << row.file;
    EXPECT_EQ(form->tagged.end, row.end) << row.file;
    EXPECT_EQ(form->tagged.on_lines, row.on_lines) << row.file;
  }
}

// A forced call is the text that the template writes for it, and is read as this call.
TEST(CallForm, ForcedCallsInTagsAreThoseOfTheTemplate) {
  const Json schema = parse_json(R"({"type":"object","properties":{"city":{"type":"string"},"n":{"$ref":"#/$defs/n"},
      "unit":{"type":"string","enum":["C","F"]},"list":{"type":"array","items":{"type":"boolean"}}},
      "required":["n"],"additionalProperties":false,"$defs":{"n":{"type":"integer","minimum":1,"maximum":99}}})")
                          .value();
  const std::vector<Function> list = {
      {.name = "go", .description = "goes", .parameters = schema},
      {.name = "halt", .description = {}, .parameters = Json{{"type", "object"}, {"properties", Json::object()}}}};
  // MiniCPM5's template writes marks of XML around "<" and lists as Python does.
  const std::vector<Json> plain = {Json{{"n", 7}}, Json{{"city", "New York"}, {"n", 42}, {"unit", "F"}}};
  std::vector<Json> all = plain;
  all.push_back(Json{{"city", "New\nYork <b"}, {"n", 42}});
  all.push_back(Json{{"city", "Rome"}, {"n", 99}, {"unit", "C"}, {"list", {true, false}}});
  for (const char* file :
       {"Qwen3-Coder", "GLM-4.6", "MiniMax-M2", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "openbmb-MiniCPM5-1B"}) {
    const auto form = form_of(file);
    ASSERT_TRUE(form) << file;
    const auto made = call_grammar(*form, list, false, false), strict = call_grammar(*form, list, false, true);
    ASSERT_TRUE(made) << file << made.error().text();
    ASSERT_TRUE(strict) << file << strict.error().text();
    const auto read = [&](const std::string& text) {
      server::CallReader reader(*form, {"go", "halt"});
      for (const Function& function : list) reader.describe(function.name, function.parameters);
      auto found = reader.push(text);
      const auto rest = reader.finish();
      found.calls.insert(found.calls.end(), rest.calls.begin(), rest.calls.end());
      return found.calls;
    };
    for (const Json& each : file == std::string_view("openbmb-MiniCPM5-1B") ? plain : all) {
      const std::string text = call_text(file, *form, each);
      EXPECT_TRUE((*made)->matches(text).value()) << file << ": " << text;
      EXPECT_TRUE((*strict)->matches("So: " + text).value()) << file << ": " << text;
      EXPECT_FALSE((*made)->matches("So: " + text).value()) << file << ": " << text;
      const auto calls = read(text);
      ASSERT_EQ(calls.size(), 1u) << file << ": " << text;
      EXPECT_EQ(parse_json(calls[0].arguments).value(), each) << file;
    }
    const std::string halt = form->tagged.exact_open + "halt" + form->tagged.exact_none;
    EXPECT_TRUE((*made)->matches(halt).value()) << file << ": " << halt;
    ASSERT_EQ(read(halt).size(), 1u) << file << ": " << halt;
    EXPECT_EQ(read(halt)[0].arguments, "{}") << file;
    for (const Json& wrong : {Json{{"city", "Rome"}}, Json{{"n", 100}}, Json{{"n", 1}, {"unit", "K"}}, Json{{"m", 1}},
                              Json{{"n", 1}, {"list", {1}}}, Json{{"n", 1}, {"city", "Rome"}}})
      EXPECT_FALSE((*made)->matches(call_text(file, *form, wrong)).value()) << file << wrong;
    EXPECT_TRUE((*strict)->matches("No call.").value());
    const auto again = Grammar::from_source((*made)->source());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE((*again)->matches(halt).value()) << file;
  }
}

TEST(CallForm, SchemasThatTagsCannotHoldAreNamed) {
  const CallForm form = form_of("Qwen3-Coder").value();
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"anyOf":[{}]})", "/anyOf"},
      {R"({"properties":{"a":{"type":"string","pattern":"a+"}}})", "/properties/a/pattern"},
      {R"({"properties":{"a":{"type":"string","enum":["x</parameter>"]}}})", "/properties/a/enum"},
      {R"({"properties":{"a":{"type":"string","const":7}}})", "/properties/a/const"},
      {R"({"properties":{"a":{"not":{}}}})", "/properties/a/not"},
      {R"({"required":["a"]})", "/required"}};
  for (const auto& [schema, place] : wrong) {
    const std::vector<Function> list = {{.name = "go", .description = {}, .parameters = parse_json(schema).value()}};
    const auto made = call_grammar(form, list, false, false);
    ASSERT_FALSE(made) << schema;
    EXPECT_EQ(made.error().code, Code::InvalidConfig);
    EXPECT_NE(made.error().text().find("/tools: function 0"), std::string::npos) << made.error().text();
    EXPECT_NE(made.error().text().find(place), std::string::npos) << made.error().text();
  }
}

std::vector<Function> functions() {
  Json schema = parse_json(R"({"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9}},
                               "required":["n"],"additionalProperties":false})")
                    .value();
  return {{.name = "add", .description = {}, .parameters = schema},
          {.name = "go", .description = {}, .parameters = Json{{"type", "object"}, {"additionalProperties", false}}}};
}

TEST(CallForm, ForcedCallsHaveTheFormAndFitTheirSchemas) {
  const auto form = form_of("Qwen-Qwen2.5-7B-Instruct").value();
  const std::string call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"n\": 3}}\n</tool_call>";
  const auto list = functions();
  const auto forced = call_grammar(form, list, false, false).value(),
             one = call_grammar(form, list, true, false).value();
  EXPECT_TRUE(forced->matches(call).value());
  EXPECT_TRUE(forced->matches(call + "\n" + call).value());
  EXPECT_FALSE(one->matches(call + "\n" + call).value());
  for (const char* wrong : {"", "Text.", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"n\": 10}}\n</tool_call>",
                            "<tool_call>\n{\"name\": \"go\", \"arguments\": {\"n\": 3}}\n</tool_call>",
                            "<tool_call>\n{\"name\": \"new\", \"arguments\": {}}\n</tool_call>"})
    EXPECT_FALSE(forced->matches(wrong).value()) << wrong;
  EXPECT_FALSE(forced->matches("So: " + call).value());
}

TEST(CallForm, StrictCallsMayFollowText) {
  const std::string call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"n\": 3}}\n</tool_call>";
  const auto list = functions();
  const auto strict = call_grammar(form_of("Qwen-Qwen2.5-7B-Instruct").value(), list, false, true).value();
  for (const std::string& text : {std::string(), std::string("Text, a < b <<tool <tool_cal."), call, "So: <" + call})
    EXPECT_TRUE(strict->matches(text).value()) << text;
  for (const std::string text : {"<tool_call>", "x <tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>"})
    EXPECT_FALSE(strict->matches(text).value()) << text;
  const auto plain = call_grammar(form_of("meta-llama-Llama-3.1-8B-Instruct").value(), list, false, true).value();
  for (const char* text : {"", " ", "Text {}", "\n x", R"({"name": "add", "parameters": {"n": 3}})"})
    EXPECT_TRUE(plain->matches(text).value()) << text;
  for (const char* text : {"{}", " {", R"({"name": "add", "parameters": {}})"})
    EXPECT_FALSE(plain->matches(text).value()) << text;
}

TEST(CallForm, SchemasThatCannotBeCompiledAreNamed) {
  std::vector<Function> list = functions();
  list[1].parameters = Json{{"not", Json::object()}};
  const auto made = call_grammar(form_of("Qwen-Qwen2.5-7B-Instruct").value(), list, false, false);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().text().find("/tools: function 1"), std::string::npos) << made.error().text();
  EXPECT_NE(made.error().text().find("/not"), std::string::npos) << made.error().text();
}

TEST(CallForm, TheOwnFormTellsOfFunctionsCallsAndResults) {
  Json messages = parse_json(R"([{"role":"user","content":"1 + 2?"},
      {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"add","arguments":{"n":3}}}]},
      {"role":"tool","tool_call_id":"a","content":"3"}])")
                      .value();
  std::vector<Function> list = functions();
  for (Function& function : list) function.shown = Json{{"name", function.name}};
  const Json own = messages_in_own_form(messages, list);
  ASSERT_EQ(own.size(), 4u);
  EXPECT_EQ(own[0]["role"], "system");
  EXPECT_NE(as_string(own[0]["content"])->find("{\"name\":\"go\"}"), std::string::npos);
  EXPECT_EQ(own[2]["content"], R"({"name":"add","arguments":{"n":3}})");
  EXPECT_FALSE(own[2].contains("tool_calls"));
  EXPECT_EQ(own[3]["role"], "user");
  EXPECT_EQ(own[3]["content"], "Result of add:\n3");
}

}  // namespace
}  // namespace loom::server_call_form_test
