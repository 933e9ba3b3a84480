#include <gtest/gtest.h>

#include "text/template/chat_template.h"

namespace loom {
TEST(Template, X_10_smoke) {
  auto t = ChatTemplate::parse("{% for m in messages %}{{ m.role }}:{{ m['content']|trim }}\n{% endfor %}{{ messages|tojson }}");
  ASSERT_TRUE(t) << t.error().message;
  auto r = t->render(parse_json(R"({"messages":[{"role":"user","content":" hi "}]})").value());
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(*r, "user:hi\n[{\"role\": \"user\", \"content\": \" hi \"}]");
}
}  // namespace loom
