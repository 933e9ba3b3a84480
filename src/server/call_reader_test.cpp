#include "server/call_reader.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "support/files.h"

namespace loom::server_call_reader_test {
namespace {

using server::CallForm;
using server::CallReader;
using server::ToolCall;

const std::vector<std::string> kNames = {"add", "get_weather"};

CallForm hermes() {
  return {.kind = CallForm::Kind::Json,
          .open = "<tool_call>\n{\"name\": \"",
          .middle = "\", \"arguments\": ",
          .between = "}\n</tool_call>\n<tool_call>\n{\"name\": \"",
          .close = "}\n</tool_call>",
          .marker = "<tool_call>",
          .ending = "</tool_call>"};
}
CallForm llama() {
  return {.kind = CallForm::Kind::Json,
          .open = "{\"name\": \"",
          .middle = "\", \"parameters\": ",
          .between = {},
          .close = "}",
          .several = false};
}
CallForm mistral() {
  return {.kind = CallForm::Kind::Json,
          .open = "[TOOL_CALLS][{\"name\": \"",
          .middle = "\", \"arguments\": ",
          .between = "}, {\"name\": \"",
          .close = "}]",
          .marker = "[TOOL_CALLS]"};
}
CallForm named() {
  return {.kind = CallForm::Kind::Named,
          .open = "[TOOL_CALLS]",
          .middle = "[ARGS]",
          .between = "[TOOL_CALLS]",
          .close = {},
          .marker = "[TOOL_CALLS]"};
}

struct Read {
  std::string text;
  std::string calls;  // "add {"a":1}; ..."
  bool operator==(const Read&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Read& read) { return out << read.text << " | " << read.calls; }

// In pieces of so many bytes.
Read read(const CallForm& form, std::string_view text, std::size_t piece, std::size_t most = ~std::size_t{0}) {
  CallReader reader(form, kNames, most);
  Read out;
  const auto add = [&out](const CallReader::Found& found) {
    out.text += found.text;
    for (const ToolCall& call : found.calls) out.calls += call.name + " " + call.arguments + ";";
  };
  for (std::size_t at = 0; at < text.size(); at += piece) add(reader.push(text.substr(at, piece)));
  add(reader.finish());
  return out;
}

// Reads in one piece, by bytes and in pieces between.
void expect(const CallForm& form, std::string_view text, const Read& expected, std::size_t most = ~std::size_t{0}) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, text.size() + 1})
    EXPECT_EQ(read(form, text, piece, most), expected) << text << ", in pieces of " << piece;
}

TEST(CallReader, FindsCallsBetweenMarkers) {
  expect(hermes(),
         "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": [2, {\"c\": \"}\"}]}}\n</tool_call>",
         {"", R"(add {"a":1,"b":[2,{"c":"}"}]};)"});
  expect(hermes(), "Let me see. <tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>",
         {"Let me see. ", "add {};"});
  expect(hermes(),
         "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>\n{\"name\": "
         "\"get_weather\", \"arguments\": {\"city\": \"\\\"K\\u00f6ln\\\"\"}}\n</tool_call>",
         {"", "add {\"a\":1};get_weather {\"city\":\"\\\"Köln\\\"\"};"});
  expect(hermes(), "<tool_call>{\"arguments\": {\"a\": 2}, \"name\": \"add\"}</tool_call> Done.",
         {"Done.", "add {\"a\":2};"});
  expect(hermes(), "<tool_call>{\"name\": \"add\", \"arguments\": \"{\\\"a\\\": 3}\"}</tool_call>",
         {"", "add {\"a\":3};"});
  expect(hermes(), "<tool_call>{\"name\": \"add\"}", {"", "add {};"});  // the end may be missing
}

TEST(CallReader, WhatIsNoCallIsText) {
  for (const std::string text :
       {"No call.", "a < b", "<tool_cal", "<tool_call>", "<tool_call>nothing", "<tool_call>{\"name\": \"add\", \"argum",
        "<tool_call>{\"name\": \"add\", \"arguments\": 1}</tool_call>", "<tool_call>{\"name\": 1}</tool_call>",
        "<tool_call>{\"name\": \"unknown\", \"arguments\": {}}</tool_call>", "<tool_call>{{}}", "{\"name\": \"add\"}",
        "<tool_call>{\"name\": \"add\", \"name\": \"add\"}"})
    expect(hermes(), text, {text, ""});
  expect(hermes(), "<tool_call>{\"name\": \"x\"}</tool_call><tool_call>{\"name\": \"add\"}</tool_call>",
         {"<tool_call>{\"name\": \"x\"}</tool_call>", "add {};"});
}

TEST(CallReader, WithoutAMarkerTheWholeAnswerIsACall) {
  expect(llama(), R"({"name": "add", "parameters": {"a": 1}})", {"", R"(add {"a":1};)"});
  expect(llama(), "\n {\"name\": \"add\", \"parameters\": {}}; {\"name\": \"get_weather\", \"parameters\": {}}",
         {"", "add {};get_weather {};"});
  for (const std::string text :
       {R"({"name": "Ada", "age": 36})", R"(I call {"name": "add", "parameters": {}})", "  ", "{", R"([1, 2])"})
    expect(llama(), text, {text, ""});
}

TEST(CallReader, ReadsListsAndNamesInFront) {
  expect(
      mistral(),
      R"([TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}, "id": "abcdefghi"}, {"name": "add", "arguments": {}}])",
      {"", R"(add {"a":1};add {};)"});
  expect(named(), R"([TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]get_weather[ARGS]{})",
         {"", R"(add {"a":1};get_weather {};)"});
  expect(named(), "[TOOL_CALLS]other[ARGS]{}", {"[TOOL_CALLS]other[ARGS]{}", ""});
  expect(named(), "[TOOL_CALLS]a name that is much too long to be one[ARGS]{}",
         {"[TOOL_CALLS]a name that is much too long to be one[ARGS]{}", ""});
}

CallForm tagged(const std::string& file) {
  const std::string source = test::read_all(test::data_path("vocabs/templates/" + file + ".jinja"));
  return server::call_form_of(ChatTemplate::parse(source).value(), {.bos_token = "<s>", .eos_token = "</s>"}).value();
}

TEST(CallReader, ReadsArgumentsInTags) {
  const auto qwen = tagged("Qwen3-Coder");
  expect(qwen,
         "I look.\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n[\"x\"]\n</parameter>\n"
         "</function>\n</tool_call>\n<tool_call>\n<function=get_weather>\n</function>\n</tool_call>",
         {"I look.\n", R"(add {"a":1,"b":["x"]};get_weather {};)"});
  expect(qwen,
         "<tool_call>\n<function=add>\n<parameter=code>\nif a < b:\n  return "
         "\"</function>\"\n\n</parameter>\n</function>\n"
         "</tool_call> Done.",
         {"Done.", R"(add {"code":"if a < b:\n  return \"</function>\"\n"};)"});
  expect(tagged("GLM-4.6"),
         "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>Oslo, 7</arg_value>\n<arg_key>b</arg_key><arg_value>true"
         "</arg_value>\n</tool_call>\n<tool_call>add\n</tool_call>",
         {"", R"(add {"a":"Oslo, 7","b":true};add {};)"});
  expect(tagged("MiniMax-M2"),
         "<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"a\">1</parameter>\n</invoke>\n<invoke "
         "name=\"get_weather\">\n</invoke>\n</minimax:tool_call>",
         {"", R"(add {"a":1};get_weather {};)"});
  expect(tagged("openbmb-MiniCPM5-1B"),
         R"(<function name="add"><param name="a">x</param></function><function name="add"></function>)",
         {"", R"(add {"a":"x"};add {};)"});
  for (const std::string text :
       {"<tool_call>", "<tool_call>\n<function=other>\n</function>\n</tool_call>", "<tool_call>\n<function=add>\n",
        "<tool_call>\n<function=add>\n<parameter=a>\n1\n</function>\n</tool_call>",
        "<tool_call>\n<function=add>\n1\n</function>\n</tool_call>"})
    expect(qwen, text, {text, ""});
}

TEST(CallReader, TheSchemaSaysWhichValuesInTagsAreTexts) {
  CallReader reader(tagged("GLM-4.6"), kNames);
  reader.describe("add", parse_json(R"({"properties":{"a":{"type":"string"},"b":{"type":"integer"}}})").value());
  const auto found = reader.push(
      "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>7</arg_value>\n<arg_key>b</arg_key>\n<arg_value>7</arg_value>\n"
      "<arg_key>c</arg_key>\n<arg_value>[1</arg_value>\n</tool_call>");
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_EQ(found.calls[0].arguments, R"({"a":"7","b":7,"c":"[1"})");
}

TEST(CallReader, LeavesOutCallsBeyondTheMost) {
  expect(hermes(), "<tool_call>{\"name\": \"add\"}</tool_call><tool_call>{\"name\": \"add\"}</tool_call>",
         {"", "add {};"}, 1);
}

}  // namespace
}  // namespace loom::server_call_reader_test
