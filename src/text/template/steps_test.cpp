// The cost of a template is counted in steps, so everything that looks at a text or a list must pay for its size: each
// operator, filter, test and method is run on a small and on a large subject, and the difference must show in the
// steps. No time is measured.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "text/template/interpreter.h"
#include "text/template/parser.h"

namespace loom::jinja {
namespace {

constexpr std::size_t kLarge = 1 << 16;
constexpr std::uint64_t kRounds = 8;
constexpr std::size_t kBytesPerStep = 64;

Json context_of(std::size_t size) {
  Json numbers = Json::array(), names = Json::object();
  auto& members = names.get_ref<Json::object_t&>();
  for (std::size_t k = 0; k < size / 16; ++k) {
    numbers.push_back(k);
    // ordered_map looks for each key
    members.std::vector<std::pair<const std::string, Json>>::emplace_back("k" + std::to_string(k), k);
  }
  const std::string half(size / 2, 'a');
  return Json{{"s", half + half},
              {"t", half + half},
              {"sub", half + "b"},
              {"u", std::string(size, ' ') + "\xC3\xA9"},
              {"l", numbers},
              {"m", numbers},
              {"d", names},
              {"e", names},
              {"digits", std::string(size, '1')}};
}

// Steps of `source` over variables whose size is `size`. An error counts as well: the work before it was done.
std::uint64_t steps_of(const std::string& source, std::size_t size) {
  const auto program = parse_template(source);
  EXPECT_TRUE(program) << source << ": " << program.error().text();
  if (!program) return 0;
  static std::map<std::size_t, Json> contexts;
  Json& context = contexts[size];
  if (context.is_null()) context = context_of(size);
  const std::optional<TemplateTime> now = TemplateTime{};
  TemplateLimits limits;
  limits.max_steps = std::uint64_t{1} << 40;
  Machine machine(*program, limits, now);
  (void)machine.run(context);
  return machine.heap.steps;
}
// Steps that one evaluation of `expression` takes more on a large subject than on a small one.
double growth(const std::string& expression) {
  const auto each = [&](std::size_t size) {
    const std::string body = "{% set x = " + expression + " %}";
    const std::string once = "{% for i in range(1) %}" + body + "{% endfor %}",
                      many = "{% for i in range(" + std::to_string(kRounds + 1) + ") %}" + body + "{% endfor %}";
    return static_cast<double>(steps_of(many, size) - steps_of(once, size)) / static_cast<double>(kRounds);
  };
  return each(kLarge) - each(64);
}

void expect_growth(const std::string& expression, std::size_t bytes) {
  EXPECT_GE(growth(expression) * 1.02, static_cast<double>(bytes - 64) / kBytesPerStep) << expression;
}

// Constant work whatever the subject: nothing to pay for.
const std::map<std::string, std::string> kConstant = {
    {"filter abs", "a number"},
    {"filter d", "the value itself"},
    {"filter default", "the value itself"},
    {"filter attr", "see below"},
    {"filter pprint", "refused"},
    {"filter random", "refused"},
    {"filter striptags", "refused"},
    {"filter urlize", "refused"},
    {"filter wordwrap", "refused"},
    {"filter xmlattr", "refused"},
    {"filter filesizeformat", "a number"},
    {"filter round", "a number"},
    {"filter string", "the value itself"},
    {"test boolean", ""},
    {"test callable", ""},
    {"test defined", ""},
    {"test divisibleby", "numbers"},
    {"test escaped", ""},
    {"test even", "numbers"},
    {"test false", ""},
    {"test filter", "a name of another length"},
    {"test float", ""},
    {"test integer", ""},
    {"test iterable", ""},
    {"test mapping", ""},
    {"test none", ""},
    {"test number", ""},
    {"test odd", "numbers"},
    {"test sequence", ""},
    {"test string", ""},
    {"test test", "a name of another length"},
    {"test true", ""},
    {"test undefined", ""},
    {"method casefold", "refused"},
    {"method encode", "refused"},
    {"method maketrans", "refused"},
    {"method translate", "refused"},
};

// Arguments and, where it is not `s`, the subject.
struct Use {
  std::string subject = "s", arguments = {};
};
const std::map<std::string, Use> kFilters = {
    {"batch", {"l", "(3)"}},
    {"center", {"s", "(s | length + 9)"}},
    {"count", {"u"}},
    {"length", {"u"}},
    {"dictsort", {"d"}},
    {"first", {"l"}},
    {"float", {"digits"}},
    {"groupby", {"l", "('x', default=1)"}},
    {"int", {"u"}},
    {"items", {"d"}},
    {"join", {"l"}},
    {"last", {"l"}},
    {"list", {"l"}},
    {"map", {"l", "('abs')"}},
    {"max", {"l"}},
    {"min", {"l"}},
    {"reject", {"l"}},
    {"rejectattr", {"l", "('x')"}},
    {"replace", {"s", "('b', 'c')"}},
    {"select", {"l"}},
    {"selectattr", {"l", "('x')"}},
    {"slice", {"l", "(3)"}},
    {"sort", {"l"}},
    {"sum", {"l"}},
    {"trim", {"u"}},
    {"truncate", {"s", "(10)"}},
    {"unique", {"l"}},
    {"format", {"s"}},
};
const std::map<std::string, Use> kTests = {
    {"in", {"sub", "(s)"}},     {"sameas", {"s", "(t)"}},  {"!=", {"s", "(t)"}}, {"<", {"s", "(t)"}},
    {"<=", {"s", "(t)"}},       {"==", {"s", "(t)"}},      {">", {"s", "(t)"}},  {">=", {"s", "(t)"}},
    {"eq", {"s", "(t)"}},       {"equalto", {"s", "(t)"}}, {"ne", {"s", "(t)"}}, {"lt", {"s", "(t)"}},
    {"lessthan", {"s", "(t)"}}, {"le", {"s", "(t)"}},      {"gt", {"s", "(t)"}}, {"greaterthan", {"s", "(t)"}},
    {"ge", {"s", "(t)"}},
};
const std::map<std::string, Use> kMethods = {
    {"center", {"s", "(s | length + 9)"}},
    {"ljust", {"s", "(s | length + 9)"}},
    {"rjust", {"s", "(s | length + 9)"}},
    {"zfill", {"s", "(s | length + 9)"}},
    {"count", {"s", "(sub)"}},
    {"find", {"s", "(sub)"}},
    {"index", {"s", "('a')"}},
    {"rfind", {"s", "(sub)"}},
    {"rindex", {"s", "('a')"}},
    {"endswith", {"s", "(t)"}},
    {"startswith", {"s", "(t)"}},
    {"format_map", {"s", "(d)"}},
    {"join", {"s", "(['a', 'b'])"}},
    {"partition", {"s", "(sub)"}},
    {"rpartition", {"s", "(sub)"}},
    {"removeprefix", {"s", "(t)"}},
    {"removesuffix", {"s", "(t)"}},
    {"replace", {"s", "(sub, 'c')"}},
    {"split", {"s", "(sub)"}},
    {"rsplit", {"s", "(sub)"}},
    {"strip", {"s", "('a')"}},
    {"lstrip", {"s", "('a')"}},
    {"rstrip", {"s", "('a')"}},
    {"istitle", {"s", "()"}},
};

}  // namespace

TEST(TemplateSteps, every_filter_pays_for_its_subject) {
  for (const auto& table : {text_filters(), sequence_filters()})
    for (const FilterEntry& entry : table) {
      const std::string name(entry.name);
      if (kConstant.contains("filter " + name)) continue;
      const auto it = kFilters.find(name);
      const Use use = it == kFilters.end() ? Use{} : it->second;
      const std::size_t bytes = use.subject == "l" || use.subject == "d" ? kLarge / 16 : kLarge;
      expect_growth(use.subject + " | " + name + use.arguments, bytes);
    }
}

TEST(TemplateSteps, every_test_pays_for_its_subject) {
  for (int k = 0; k < 1000; ++k) {
    if (k > 0 && std::string_view(test_entry(k - 1).name) == "upper") break;
    const std::string name(test_entry(k).name);
    if (kConstant.contains("test " + name)) continue;
    const auto it = kTests.find(name);
    const Use use = it == kTests.end() ? Use{} : it->second;
    // Operators cannot be written as tests; select() takes their names.
    const std::string expression =
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos
            ? use.subject + " is " + name + use.arguments
            : "[" + use.subject + "] | select('" + name + "', " + use.arguments.substr(1) + " | list";
    expect_growth(expression, kLarge / 2);
  }
}

TEST(TemplateSteps, every_method_of_str_pays_for_its_subject) {
  for (const MethodEntry& entry : text_methods()) {
    const std::string name(entry.name);
    if (kConstant.contains("method " + name)) continue;
    const auto it = kMethods.find(name);
    const Use use = it == kMethods.end() ? Use{"s", "()"} : it->second;
    expect_growth(use.subject + "." + name + use.arguments, name == "isupper" || name == "join" ? kLarge / 2 : kLarge);
  }
}

TEST(TemplateSteps, operators_and_the_rest_pay_for_what_they_touch) {
  for (const char* expression : {"s == t",
                                 "s != t",
                                 "s < t",
                                 "s <= t",
                                 "sub in s",
                                 "sub not in s",
                                 "s + t",
                                 "s ~ t",
                                 "s * 2",
                                 "s[1:]",
                                 "u[1:]",
                                 "u[::2]",
                                 "u[5]",
                                 "u | length",
                                 "s % ()",
                                 "'%s' % s",
                                 "'{}'.format(s)",
                                 "'{:>5}'.format(s)",
                                 "[s] == [t]",
                                 "(s,) < (t,)",
                                 "{s: 1} == {t: 1}",
                                 "d[s]",
                                 "d.get(s)",
                                 "s in d",
                                 "s in [t]",
                                 "[t].index(s)",
                                 "[t].count(s)",
                                 "[s, t] | unique | list",
                                 "[s, t] | sort",
                                 "[s, t] | max",
                                 "s.strip(t)",
                                 "'b'.strip(s)",
                                 "s.startswith(('b', t))",
                                 "s.rsplit(none, 3)",
                                 "u.rsplit(none, 3)",
                                 "s.rsplit('b', 3)",
                                 "s.splitlines()",
                                 "namespace(a=s).a == t",
                                 "dict(a=s) == dict(a=t)",
                                 "s | tojson",
                                 "u | tojson(ensure_ascii=true)",
                                 "[s] | string",
                                 "s | urlencode",
                                 "{'a': s} | urlencode",
                                 "s | indent(2)",
                                 "s | wordcount",
                                 "[1] | map(attribute=s) | list",
                                 "[d] | sort(attribute=s)",
                                 "strftime_now(s)",
                                 "s | safe ~ t",
                                 "d[(s, 1)]",
                                 "s.isalpha()",
                                 "s | float",
                                 "s | int",
                                 "s | title",
                                 "s is lower"})
    expect_growth(expression, kLarge / 2);
  // Lists: an item is a step.
  for (const char* expression : {"l == m",
                                 "l != m",
                                 "l < m",
                                 "l + m",
                                 "l[1:]",
                                 "99999999 in l",
                                 "l.index(4094)",
                                 "l.count(1)",
                                 "d == e",
                                 "d.keys() | list",
                                 "d.items() | list",
                                 "[l] == [m]",
                                 "dict(**d)",
                                 "namespace(**d)",
                                 "dict(d)",
                                 "l | first",
                                 "l | reverse | list",
                                 "l | tojson",
                                 "l | string",
                                 "l | join",
                                 "'%s' % l",
                                 "cycler(*l)"})
    EXPECT_GE(growth(expression) * 1.1, static_cast<double>(kLarge / 16 - 4)) << expression;
  // Keys are compared as sets, each with all others.
  EXPECT_GE(steps_of("{{ d.keys() == e.keys() }}", 16 * 1000) - steps_of("{{ d }}{{ e }}", 16 * 1000), 400'000u);
}

// "NAME(a0=1,a1=1,..)".
std::string keyword_call(const std::string& name, std::size_t count) {
  std::string text = "{% set x = " + name + "(";
  for (std::size_t k = 0; k < count; ++k) text += "a" + std::to_string(k) + "=1,";
  return text + ") %}";
}

TEST(TemplateSteps, KeywordsAreSetInLinearTime) {
  for (const char* name : {"dict", "namespace"}) {
    const auto steps = [&](std::size_t count) { return steps_of(keyword_call(name, count), 64); };
    EXPECT_GT(steps(8000), 8000U) << name;
    EXPECT_LT(steps(8000), 9 * steps(1000)) << name;
  }
  const auto spread = [](std::size_t size) { return steps_of("{% set x = namespace(**d) %}", size); };
  EXPECT_LT(spread(std::size_t{16} * 8000), 9 * spread(std::size_t{16} * 1000));
  // The names of a namespace that statements set one by one.
  const auto statements = [](std::size_t count) {
    std::string text = "{% set n = namespace() %}";
    for (std::size_t k = 0; k < count; ++k) text += "{% set n.a" + std::to_string(k) + " = 1 %}";
    return steps_of(text, 64);
  };
  EXPECT_LT(statements(8000), 9 * statements(1000));
}

// The parser has no steps to count: the processor's time of the thread for 16 times as many keywords. A search among
// all earlier keywords made it more than 100 times as long.
TEST(TemplateSteps, KeywordsAreParsedInLinearTime) {
  const auto seconds = [](std::size_t count) {
    const std::string text = keyword_call("dict", count);
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      const auto now = [] {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
      };
      const double begin = now();
      EXPECT_TRUE(parse_template(text));
      best = std::min(best, now() - begin);
    }
    return best;
  };
  EXPECT_LT(seconds(64000), 60 * seconds(4000));
}

TEST(TemplateSteps, NamesOfLargeNamespacesAreFound) {
  std::string text = keyword_call("namespace", 100) + "{% set x.a7 = 5 %}{% set x.b = 6 %}";
  text += "{{ x.a0 }} {{ x.a7 }} {{ x.a99 }} {{ x.b }} {{ x.c is defined }}";
  const auto parsed = parse_template(text);
  ASSERT_TRUE(parsed);
  const std::optional<TemplateTime> now;
  Machine machine(*parsed, {}, now);
  const auto out = machine.run(Json::object());
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(*out, "1 5 1 6 False");
  EXPECT_FALSE(parse_template("{{ dict(a=1, b=2, a=3) }}"));
  for (const char* bad : {"{{ dict(a=1, **{'a': 2}) }}", "{{ dict(b=1, a=1, **{'c': 1, 'a': 2}) }}"}) {
    const auto program = parse_template(bad);
    ASSERT_TRUE(program) << bad;
    Machine other(*program, {}, now);
    const auto refused = other.run(Json::object());
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().text().find("multiple values for keyword argument 'a'"), std::string::npos);
  }
}

// Templates that once ran for minutes to years: 20 million steps end each within seconds, and most of them far earlier.
TEST(TemplateSteps, short_templates_cannot_run_for_long) {
  const std::string a = "{% set s = 'a' * 20000000 %}{% set t = 'a' * 10000000 + 'b' %}{% set n = 'a' * 20000000 %}";
  for (const char* body : {"s.find(t)", "s.rfind(t)", "t in s", "s.split(t)", "s.rsplit(t)", "s.replace(t, 'c')",
                           "s.count(t)", "s.partition(t)", "s.rpartition(t)", "s == n", "s < n"}) {
    const auto program =
        parse_template(a + "{% for i in range(100000) %}{% set x = " + std::string(body) + " %}{% endfor %}");
    ASSERT_TRUE(program) << body;
    const std::optional<TemplateTime> now;
    TemplateLimits limits;
    limits.max_steps = 5'000'000;
    Machine machine(*program, limits, now);
    const auto out = machine.run(Json::object());
    ASSERT_FALSE(out) << body;
    EXPECT_EQ(out.error().code, Code::LimitExceeded) << body << ": " << out.error().text();
  }
}

}  // namespace loom::jinja
