// Templates in a thread with little stack: what nests too deeply is an error, and what chat templates do has room.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "core/file.h"
#include "core/stack_limit.h"
#include "support/paths.h"
#include "support/repeat.h"
#include "support/small_stack.h"
#include "text/template/chat_template.h"

namespace loom {
namespace {

using test::on_small_stack;
using test::repeat;

Result<std::string> rendered(const std::string& source, const Json& context = Json::object()) {
  LOOM_TRY(const ChatTemplate parsed, ChatTemplate::parse(source));
  return parsed.render(context, {}, TemplateTime{2025, 3, 7, 14, 5, 9, 0});
}

// Outcome of a render: its text, or the kind of its error.
std::string outcome(const Result<std::string>& r) {
  return r ? "ok " + *r : r.error().code == Code::LimitExceeded ? "limit" : "error " + r.error().text();
}

TEST(StackLimit, knows_the_stack_of_its_thread) {  // F-01
  std::size_t left = 0, deeper = 0;
  on_small_stack([&] {
    const StackLimit limit(0);
    left = limit.left();
    const std::function<void(int)> descend = [&](int n) { n > 0 ? descend(n - 1) : void(deeper = limit.left()); };
    descend(10);
  });
  EXPECT_GT(left, test::kSmallStack / 2);
  EXPECT_LT(left, test::kSmallStack);
  EXPECT_LT(deeper, left);
  EXPECT_GT(StackLimit().left(), test::kSmallStack) << "of the main thread";
}

TEST(SmallStack, templates_that_nest_deeply_end_in_an_error) {
  for (const int n : {5, 30, 60, 99, 400, 700, 5000})
    for (const std::string& source : {"{{ " + repeat(n, "(") + "1" + repeat(n, ")") + " }}",
                                      "{{ " + repeat(n, "[") + repeat(n, "]") + " }}",
                                      "{{ " + repeat(n, "-") + "1 }}",
                                      "{{ " + repeat(n, "not ") + "1 }}",
                                      "{{ x" + repeat(n, ".a") + " }}",
                                      "{{ 1" + repeat(n, "|abs") + " }}",
                                      "{{ 1" + repeat(n, " if 1 else 2") + " }}",
                                      "{{ " + repeat(n, "{1:") + "1" + repeat(n, "}") + " }}",
                                      "{{ a" + repeat(n, "(a") + repeat(n, ")") + " }}",
                                      "{{ a" + repeat(n, "[a") + repeat(n, "]") + " }}",
                                      "{{ 'a'" + repeat(n, "|replace('a', 'a'") + repeat(n, ")") + " }}",
                                      "{% set " + repeat(n, "(") + "a" + repeat(n, ",)") + " = " + repeat(n, "(") +
                                          "1" + repeat(n, ",)") + " %}{{ a }}",
                                      "{% for " + repeat(n, "(") + "a" + repeat(n, ",)") + " in [1] %}{% endfor %}",
                                      "{% filter upper" + repeat(n, "|upper") + " %}a{% endfilter %}",
                                      repeat(n, "{% if 1 %}") + repeat(n, "{% endif %}"),
                                      repeat(n, "{% if 1 %}{% set a = 1 %}{% else %}") + repeat(n, "{% endif %}"),
                                      repeat(n, "{% for a in [1] %}") + repeat(n, "{% endfor %}"),
                                      repeat(n, "{% with a = 1 %}") + repeat(n, "{% endwith %}"),
                                      repeat(n, "{% set a %}") + repeat(n, "{% endset %}"),
                                      repeat(n, "{% macro a() %}{{ a() }}") + repeat(n, "{% endmacro %}") + "{{ a() }}",
                                      repeat(n, "{% filter upper %}") + repeat(n, "{% endfilter %}")}) {
      std::string small;
      on_small_stack([&] { small = outcome(rendered(source)); });
      const std::string large = outcome(rendered(source));
      EXPECT_TRUE(small == large || small == "limit")
          << source.substr(0, 60) << " x " << n << "\n  " << small.substr(0, 200) << "\n  " << large.substr(0, 200);
      if (n == 5) {
        EXPECT_EQ(small, large) << source;
      }
    }
}

TEST(SmallStack, macros_and_loops_that_call_themselves_end_in_an_error) {
  const std::string macro =
      "{% macro m(n) %}{% if n > 0 %}{% for a in [n] %}{{ m(a - 1) }}{% endfor %}{% else %}end{% endif %}{% endmacro "
      "%}{{ m(N) }}";
  const std::string loop = "{% for a in N recursive %}{% if a %}{{ loop(a) }}{% else %}end{% endif %}{% endfor %}";
  for (const int n : {3, 10, 50, 100, 400, 5000}) {
    std::string calls = macro, loops = loop;
    calls.replace(calls.find("N)"), 1, std::to_string(n));
    loops.replace(loops.find('N'), 1, n > 45 ? "(x or 1)" : repeat(n, "[") + "[]" + repeat(n, "]"));
    for (const std::string& source : {calls, loops}) {
      std::string small;
      on_small_stack([&] { small = outcome(rendered(source)); });
      const std::string large = outcome(rendered(source));
      EXPECT_TRUE(small == large || small == "limit") << source << "\n  " << small << "\n  " << large;
      if (n <= 10) {
        EXPECT_EQ(small, large) << source;
      }
    }
  }
}

TEST(SmallStack, values_that_hold_values_end_in_an_error) {
  for (const int n : {5, 40, 100, 290, 1000}) {
    const std::string count = std::to_string(n);
    for (const std::string wrap : {"[X]", "(X,)", "{'k': X}", "[X, [1]]"}) {
      std::string once = wrap, twice = wrap;
      once.replace(once.find('X'), 1, "ns.x");
      twice.replace(twice.find('X'), 1, "ns.y");
      const std::string grow = "{% set ns = namespace(x=1, y=1) %}{% for i in range(" + count +
                               ") %}{% set ns.x = " + once + " %}{% set ns.y = " + twice + " %}{% endfor %}";
      for (const char* use : {"", "{{ ns.x == ns.y }}", "{{ ns.x | string | length }}", "{{ ns.x | tojson | length }}",
                              "{{ ns.x | tojson(indent=1) | length }}", "{{ ns.x | pprint | length }}",
                              "{{ ([ns.x, ns.y] | sort) == [ns.x] }}", "{{ {ns.x: 1} }}", "{{ ns.x in [ns.y] }}",
                              "{{ ns }}", "{{ [ns.x, ns.y] | unique | list | length }}", "{{ '%s' % [ns.x] }}"}) {
        std::string small;
        on_small_stack([&] { small = outcome(rendered(grow + use)); });
        const std::string large = outcome(rendered(grow + use));
        EXPECT_TRUE(small == large || small == "limit")
            << grow << use << "\n  " << small.substr(0, 200) << "\n  " << large.substr(0, 200);
        if (n == 5) {
          EXPECT_EQ(small, large) << grow << use;
        }
      }
    }
    std::string small;
    const Json deep =
        parse_json("{\"x\":" + repeat(std::min(n, 250), "[") + repeat(std::min(n, 250), "]") + "}").value();
    on_small_stack([&] { small = outcome(rendered("{{ x | tojson | length }}", deep)); });
    EXPECT_TRUE(small.starts_with("ok ") || small == "limit") << n << ": " << small;
  }
}

TEST(SmallStack, the_templates_of_models_have_room) {
  const auto contexts =
      parse_json(read_text_file(test::source_path("tests/golden/template/template_contexts.json")).value()).value();
  const char* data = std::getenv("LOOM_DATA");
  ASSERT_NE(data, nullptr) << "LOOM_DATA must name the data folder";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(data) + "/vocabs/templates")) {
    if (entry.path().extension() != ".jinja") continue;
    const std::string source = read_text_file(entry.path().string()).value();
    for (const auto& [name, context] : contexts.items()) {
      std::string small;
      on_small_stack([&] { small = outcome(rendered(source, context)); });
      EXPECT_EQ(small, outcome(rendered(source, context))) << entry.path() << " " << name;
      ++count;
    }
  }
  EXPECT_GT(count, 1000);
}

}  // namespace
}  // namespace loom
