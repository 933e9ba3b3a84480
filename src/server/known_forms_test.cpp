#include "server/known_forms.h"

#include <gtest/gtest.h>

#include <string>

namespace loom::server_known_forms_test {
namespace {

std::shared_ptr<const Grammar> letters(std::size_t count) {
  return Grammar::from_regex(std::string(count, 'a')).value();
}

TEST(KnownForms, EqualSourcesShareTheFirstForm) {
  server::KnownForms forms;
  const auto first = letters(1);
  EXPECT_EQ(forms.find(first), first);
  EXPECT_EQ(forms.find(letters(1)), first);
  EXPECT_NE(forms.find(letters(2)), first);
  const auto same_text = Grammar::from_choices(std::vector<std::string>{"a"}).value();
  EXPECT_EQ(forms.find(same_text), same_text);
  EXPECT_EQ(forms.find(nullptr), nullptr);
}

TEST(KnownForms, FormsOfCallsAreFoundByTheirSource) {
  server::KnownForms forms;
  const Json schema = Json::object();
  CallSyntax syntax{.open = "<", .between = ",", .close = ">", .trigger = {}};
  const CallGrammar call{.before = "f", .schema = &schema};
  const auto first = Grammar::from_calls(syntax, {&call, 1}).value(),
             second = Grammar::from_calls(syntax, {&call, 1}).value();
  EXPECT_EQ(forms.of(first->source()), nullptr);
  EXPECT_EQ(forms.find(first), first);
  EXPECT_EQ(forms.find(second), first);
  EXPECT_EQ(forms.of(Grammar::source_of_calls(syntax, {&call, 1})), first);
  syntax.several = false;
  EXPECT_EQ(forms.of(Grammar::source_of_calls(syntax, {&call, 1})), nullptr);
}

TEST(KnownForms, TheOneThatWasUsedLeastRecentlyLeaves) {
  server::KnownForms forms;
  const auto first = letters(1), second = letters(2);
  (void)forms.find(first), (void)forms.find(second);
  for (std::size_t i = 3; i <= server::KnownForms::kMost; ++i) (void)forms.find(letters(i));
  EXPECT_EQ(forms.find(letters(1)), first);
  (void)forms.find(letters(100));
  EXPECT_EQ(forms.find(letters(1)), first);
  EXPECT_NE(forms.find(letters(2)), second);
}

}  // namespace
}  // namespace loom::server_known_forms_test
