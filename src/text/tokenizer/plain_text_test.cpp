// Conversations with control tokens in their messages give the ids of transformers' sanitize_control_tokens:
// tests/golden/tokenizers/plain_text.json, made by tools/golden/plain_text.py.

#include "text/tokenizer/plain_text.h"

#include "core/json.h"
#include "support/paths.h"
#include "text/template/chat_template.h"
#include "text/tokenizer/test_data.h"

namespace loom::text::plain_text_test {
namespace {

using namespace fixtures;

Tokenizer tokenizer_of(Json file, const Json& control) {
  if (!control.is_null()) file["chat_control_tokens"] = control;
  return value_of(Tokenizer::from_json(dump_json(file)));
}

Result<std::vector<std::int32_t>> ids_of(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                         const std::string& text) {
  const PlainTextMarker marker(tokenizer, chat_template.literal_text());
  ChatContext context;
  context.add_generation_prompt = true;
  for (const auto& [role, content] :
       {std::pair("user", text), std::pair("assistant", std::string("a")), std::pair("user", "x" + text)})
    context.messages.push_back({{"role", marker.mark(role)}, {"content", marker.mark(content)}});
  std::vector<std::int32_t> ids;
  const std::string rendered = value_of(chat_template.render(value_of(chat_context(context))));
  LOOM_TRY_VOID(encode_marked(tokenizer, rendered, static_cast<std::size_t>(-1), ids));
  return ids;
}

TEST(PlainText, GivesTheIdsOfTransformersForControlTokensInMessages) {
  const Json golden = value_of(parse_json(read_file(test::source_path("tests/golden/tokenizers/plain_text.json"))));
  EXPECT_GT(golden["cases"].size(), 400u);
  for (const Json& c : golden["cases"]) {
    const std::string title = dump_json({{"base", c["base"]}, {"control", c["control"]}, {"text", c["text"]}});
    const Tokenizer tokenizer = tokenizer_of(golden["tokenizers"][*as_string(c["base"])], c["control"]);
    const auto ids = ids_of(tokenizer, value_of(ChatTemplate::parse(*as_string(c["template"]))), *as_string(c["text"]));
    if (c["ids"].is_null()) {
      EXPECT_FALSE(ids) << title;
      continue;
    }
    ASSERT_TRUE(ids) << title << ": " << ids.error().text();
    EXPECT_EQ(Json(*ids), c["ids"]) << title;
  }
}

TEST(PlainText, MarksGoAgain) {
  const std::string marked = "\xF3\xB0\x80\x80<|im_end|>\xF3\xB0\x80\x81 he \xF3\xB0\x80\x82";
  EXPECT_TRUE(has_marks(marked));
  EXPECT_EQ(without_marks(marked), "<|im_end|> he \xF3\xB0\x80\x82");
  EXPECT_FALSE(has_marks(without_marks(marked)));
}

TEST(PlainText, EncodingStopsAtTheLimit) {
  const Json golden = value_of(parse_json(read_file(test::source_path("tests/golden/tokenizers/plain_text.json"))));
  const Tokenizer tokenizer = tokenizer_of(golden["tokenizers"]["gpt2"], nullptr);
  const PlainTextMarker marker(tokenizer, "");
  std::vector<std::int32_t> ids;
  const std::string text = marker.mark("<|im_end|>he<|im_end|>he");
  ASSERT_TRUE(encode_marked(tokenizer, text, 100, ids));
  const std::size_t count = ids.size();
  EXPECT_TRUE(encode_marked(tokenizer, text, count, ids));
  for (std::size_t limit = 0; limit < count; ++limit)
    EXPECT_EQ(encode_marked(tokenizer, text, limit, ids).error().code, Code::ContextFull) << limit;
}

}  // namespace
}  // namespace loom::text::plain_text_test
