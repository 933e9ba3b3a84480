// Chat templates against jinja2 3.1.6 as transformers configures it; golden files by tools/golden/templates.py.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>

#include "core/file.h"
#include "support/repeat.h"
#include "core/sha256.h"
#include "text/template/chat_template.h"
#include "support/paths.h"

namespace loom {
namespace {

const TemplateTime kNow{2025, 3, 7, 14, 5, 9, 0};

std::string golden(const std::string& name) {
  auto text = read_text_file(test::source_path("tests/golden/template/") + name);
  EXPECT_TRUE(text) << text.error().text();
  return text.value_or("");
}
Json golden_json(const std::string& name) { return parse_json(golden(name)).value_or(Json()); }

std::string data_path(const std::string& name) {
  const char* data = std::getenv("LOOM_DATA");
  EXPECT_NE(data, nullptr) << "LOOM_DATA must name the data folder";
  return std::string(data ? data : "") + "/" + name;
}
std::string real_template(const std::string& name) {
  auto text = read_text_file(data_path("vocabs/templates/" + name));
  EXPECT_TRUE(text) << text.error().text();
  return text.value_or("");
}

Result<std::string> render(const std::string& source, const Json& context, const TemplateLimits& limits = {}) {
  LOOM_TRY(const ChatTemplate parsed, ChatTemplate::parse(source));
  return parsed.render(context, limits, kNow);
}
Result<std::string> render(const std::string& source) { return render(source, Json::object()); }

// "ok text", "raise text", "undefined text", "error": the golden notation. Empty when `got` fits.
std::string difference(const Result<std::string>& got, const std::string& expected) {
  if (expected.starts_with("ok ")) {
    if (!got) return "error: " + got.error().text();
    return *got == expected.substr(3) ? "" : "printed: " + *got;
  }
  if (got) return "printed: " + *got;
  for (const std::string_view kind : {"raise ", "undefined "})
    if (expected.starts_with(kind) && !got.error().text().ends_with(": " + expected.substr(kind.size())))
      return "error: " + got.error().text();
  return "";
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == at)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace

TEST(Template, every_real_template_renders_as_jinja2) {  // X-10
  const Json contexts = golden_json("template_contexts.json");
  std::set<std::string> files;
  int rows = 0, differences = 0;
  std::optional<Result<ChatTemplate>> parsed;
  for (const std::string& line : split(golden("template_hashes.tsv"), '\n')) {
    const auto part = split(line, '\t');
    if (part.size() != 3) continue;
    if (files.insert(part[0]).second) parsed = ChatTemplate::parse(real_template(part[0]));
    const auto got = *parsed ? (*parsed)->render(*find(contexts, part[1]), {}, kNow)
                             : Result<std::string>(tl::make_unexpected(parsed->error()));
    std::string expected = part[2], why;
    if (expected[0] == '"') {
      why = difference(got, *as_string(parse_json(expected).value()));
    } else if (!got) {
      why = got.error().text();
    } else {
      Sha256 sha;
      sha.update(std::as_bytes(std::span(got->data(), got->size())));
      if (to_hex(sha.finish()) != expected) why = "printed: " + *got;
    }
    ++rows;
    if (!why.empty() && ++differences <= 20)
      ADD_FAILURE() << part[0] << " with " << part[1] << ": " << why << "\nexpected: " << expected;
  }
  EXPECT_EQ(differences, 0);
  EXPECT_EQ(rows, 1680);
  EXPECT_EQ(files.size(), 70u);
}

TEST(Template, whole_prompts) {  // X-10
  const Json contexts = golden_json("template_contexts.json");
  const Json full = golden_json("template_full.json");
  int prompts = 0;
  for (const auto& [key, text] : full.items()) {
    const auto part = split(key, ' ');
    const auto got = render(real_template(part[0]), *find(contexts, part[1]));
    ASSERT_TRUE(got) << key << ": " << got.error().text();
    EXPECT_EQ(*got, *as_string(text)) << key;
    ++prompts;
  }
  EXPECT_GE(prompts, 6);
}

TEST(Template, small_cases_as_jinja2) {  // X-10
  const Json file = golden_json("template_cases.json");
  int cases = 0, differences = 0;
  for (const Json& row : *find(file, "cases")) {
    const std::string why = difference(render(*as_string(row[0]), *find(file, "context")), *as_string(row[1]));
    ++cases;
    if (!why.empty() && ++differences <= 60)
      ADD_FAILURE() << *as_string(row[0]) << "\n  " << why << "\n  expected: " << *as_string(row[1]);
  }
  EXPECT_EQ(differences, 0);
  EXPECT_GT(cases, 1000);
}

// G-105: the template comes from the model or from the caller; these families were once guessed wrong.
TEST(Template, named_templates_print_their_family) {  // G-105
  const Json chat =
      chat_context(
          {.messages =
               parse_json(
                   R"([{"role":"system","content":"S"},{"role":"user","content":"U"},{"role":"assistant","content":"A"},{"role":"user","content":"V"}])")
                   .value(),
           .add_generation_prompt = true,
           .bos_token = "<s>",
           .eos_token = "</s>"})
          .value();
  const std::pair<const char*, const char*> kRows[] = {
      {"chatml",
       "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n<|im_start|"
       ">user\nV<|im_end|>\n<|im_"
       "start|>assistant\n"},
      {"llama2", "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]"},
      {"llama3",
       "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nU<|eot_"
       "id|><|start_header_id|>"
       "assistant<|end_header_id|>\n\nA<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_"
       "id|>assistant<|end_header_id|>"
       "\n\n"},
      {"mistral", "<s>[INST] S\n\nU [/INST] A</s>[INST] V [/INST]"},
      {"tinyllama", "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\nA</s>\n<|user|>\nV</s>\n<|assistant|>\n"},
      {"zephyr", "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\nA</s>\n<|user|>\nV</s>\n<|assistant|>\n"},
      {"plain", "S\nU\nA\nV\n"},
      {"bitnet_instruction",
       "S\n\n### Instruction:\nU\n\n### Response:\nA</s>\n\n### Instruction:\nV\n\n### Response:\n"},
      {"bitnet_microsoft", "<s>System: S<|eot_id|>User: U<|eot_id|>Assistant: A<|eot_id|>User: V<|eot_id|>Assistant: "},
  };
  for (const auto& [name, expected] : kRows) {
    const auto source = builtin_template(name);
    ASSERT_TRUE(source) << name;
    const auto got = render(std::string(*source), chat);
    ASSERT_TRUE(got) << name << ": " << got.error().text();
    EXPECT_EQ(*got, expected) << name;
  }
  EXPECT_EQ(builtin_template("SmolLM3").error().code, Code::NoTemplate);
}

TEST(Template, context_is_that_of_transformers) {  // X-10
  const Json chat =
      chat_context({.messages = Json::array(), .extra = parse_json(R"({"enable_thinking":false})").value()}).value();
  EXPECT_EQ(dump_json(chat),
            R"({"messages":[],"tools":null,"documents":null,"add_generation_prompt":false,"enable_thinking":false})");
  EXPECT_EQ(chat_context({.messages = "x"}).error().code, Code::InvalidArgument);
  EXPECT_EQ(chat_context({.extra = 5}).error().code, Code::InvalidArgument);
}

TEST(Template, errors_name_the_line) {  // X-10
  EXPECT_EQ(render("a\n{{ raise_exception('no ' ~ 1) }}").error().text(), "template: line 2: no 1");
  EXPECT_EQ(render("a\n\n{{ x.y }}").error().text(), "template: line 3: 'x' is undefined");
  EXPECT_EQ(render("a\n{% if %}").error().text(), "template: line 2: expected an expression, got '%}'");
  EXPECT_EQ(render("{% include 'x' %}").error().code, Code::Unsupported);
  EXPECT_EQ(render("{% extends 'x' %}").error().code, Code::Unsupported);
  EXPECT_EQ(render("{% import 'x' as y %}").error().code, Code::Unsupported);
  EXPECT_EQ(render("{{ 1 }}", Json::array()).error().code, Code::InvalidArgument);
  EXPECT_EQ(render("{{ 9223372036854775807 + 1 }}").error().code, Code::OutOfRange);
  EXPECT_EQ(render("{{ 3 ** 99 }}").error().code, Code::OutOfRange);
  EXPECT_EQ(render("{{ 99999999999999999999 }}").error().code, Code::Unsupported);
  const auto no_clock = ChatTemplate::parse("{{ strftime_now('%Y') }}")->render(Json::object());
  EXPECT_EQ(no_clock.error().text(),
            "template: line 1: strftime_now: the template writes the date, and none was given (--date YYYY-MM-DD)");
}

// jinja2 3.1.6: ('a', 'b') True False False m
TEST(Template, a_macro_tells_its_arguments) {  // X-10
  const std::string macro =
      "{% macro m(a, b=1) %}{{ kwargs }}{% endmacro %}{{ m.arguments }} {{ m.catch_kwargs }} {{ m.catch_varargs }} {{ "
      "m.caller }} {{ m.name }}";
  EXPECT_EQ(render(macro).value(), "('a', 'b') True False False m");
}

TEST(Template, what_is_not_there_is_named) {  // X-10
  const std::pair<const char*, const char*> rows[] = {
      {"{{ 'a'.encode() }}", "the method encode of str is not supported: templates have texts and no bytes"},
      {"{{ 'a'.translate([1]) }}", "translate: a table of type list is not supported, expected a dict"},
      {"{{ [1] | random }}", "the filter random is not supported: a template gives the same text every time"},
      {"{{ 'a' | urlize }}", "the filter urlize is not supported: it writes links for web pages"},
      {"{{ {(1, none): 1, (1, false): 2} | pprint }}",
       "pprint: keys of type tuple that have no order are not supported"},
      {"{{ self }}", "printing a function is not supported"},
  };
  for (const auto& [source, message] : rows) {
    const auto got = render(source);
    ASSERT_FALSE(got) << source << " printed " << *got;
    EXPECT_EQ(got.error().code, Code::Unsupported) << source;
    EXPECT_EQ(got.error().text(), std::string("template: line 1: ") + message);
  }
}

// Messages are lines for people, whatever a template puts into them.
TEST(Template, messages_are_short) {  // X-10
  for (const char* source : {"{{ {}['a' * 1000000].b }}", "{{ ('a' * 1000000) | abs }}",
                             "{{ {} | attr('a' * 1000000) + 1 }}", "{{ raise_exception('a' * 1000000) }}",
                             "{{ '%(' ~ 'a' * 1000000 ~ ')s' }}{{ ('%(' ~ 'a' * 1000000 ~ ')s') % {} }}",
                             "{{ [].x['\u00e9' * 1000000] }}"}) {
    const auto got = render(source);
    ASSERT_FALSE(got) << source;
    EXPECT_LT(got.error().text().size(), 2100u) << source;
    EXPECT_TRUE(is_utf8(got.error().text())) << source;
  }
}

TEST(Template, the_date_is_the_hosts) {  // X-10
  const auto llama =
      ChatTemplate::parse("{{ strftime_now('%d %b %Y') if strftime_now is defined else '26 Jul 2024' }}").value();
  EXPECT_EQ(llama.render(Json::object()).value(), "26 Jul 2024");
  EXPECT_EQ(llama.render(Json::object(), {}, parse_template_date("2024-02-29").value()).value(), "29 Feb 2024");
  for (const char* text : {"", "2024-2-29", "2023-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "0000-01-01",
                           "2024-01-00", "2024/01/01", "2024-01-011"})
    EXPECT_EQ(parse_template_date(text).error().code, Code::InvalidArgument) << text;
}

TEST(Template, a_render_can_be_cancelled) {  // X-10
  const auto endless =
      ChatTemplate::parse("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}").value();
  const std::atomic<bool> stop{true};
  EXPECT_EQ(endless.render(Json::object(), {.cancel = &stop}).error().code, Code::Cancelled);
}

// ---- hostile input

TEST(Template, limits_stop_what_would_not_end) {  // X-10
  const std::string half = "{% for a in range(100000) %}";
  const std::string bombs[] = {
      half + half + half + "{% endfor %}{% endfor %}{% endfor %}",
      half + half + "{{ a }}{% endfor %}{% endfor %}",
      "{% set ns = namespace(s='xxxxxxxx') %}" + half + "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
      "{% set ns = namespace(s=[1]) %}" + half + "{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(s=[1]) %}" + half + "{% set ns.s = [ns.s, ns.s] %}{% endfor %}",
      "{% set ns = namespace(s=[1], t=[1]) %}{% for a in range(200) %}{% set ns.s = [ns.s, ns.s] %}{% set ns.t = "
      "[ns.t, ns.t] %}{% endfor %}{{ ns.s "
      "== ns.t }}",
      "{% set ns = namespace(s=(1,)) %}{% for a in range(200) %}{% set ns.s = (ns.s, ns.s) %}{% endfor %}{{ {ns.s: 1} "
      "}}",
      "{% set ns = namespace(s=[1]) %}{% for a in range(200) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
      "{% set ns = namespace(s=[1]) %}{% for a in range(200) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s | "
      "tojson }}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m(a) %}{% call m(a) %}{{ caller() }}{% endcall %}{% endmacro %}{{ m(1) }}",
      "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
      "{{ 'x' * 99999999999 }}",
      "{{ [1] * 99999999999 }}",
      "{{ 'a'.center(99999999999) }}",
      "{{ 'a' | indent(99999999999) }}",
      "{{ '%99999999999d' % 1 }}",
      "{{ '{:99999999999}'.format(1) }}",
      "{{ 'x' * 9000000000000000000 }}",
      "{{ 'ab'.replace('', 'x' * 90000000) * 9 }}",
      "{{ [1] | batch(99999999999, 0) | list }}",
      "{{ [1] | slice(99999999999) | list }}",
      "{{ 'a'.zfill(99999999999) }}",
      "{{ '\t'.expandtabs(99999999999) }}",
      "{{ ('x' * 100000000).split('') }}",
      "{{ ('x' * 100000000) | list | length }}",
      "{% set x = 'x' * 60000000 %}{{ x }}{{ x }}",
  };
  for (const std::string& bomb : bombs) {
    const auto got = render(bomb, Json::object(), {.max_steps = 2'000'000, .max_memory_bytes = std::size_t{128} << 20});
    ASSERT_FALSE(got) << bomb;
    EXPECT_TRUE(got.error().code == Code::LimitExceeded || got.error().code == Code::TemplateError)
        << bomb << ": " << got.error().text();
  }
  EXPECT_EQ(render("{{ 'x' * 100 }}", Json::object(), {.max_output_bytes = 99}).error().code, Code::LimitExceeded);
}

// Long chains of closures, namespaces and loops must not be freed by recursion, nor leak (the sanitizer build checks).
TEST(Template, chains_of_references_are_freed) {  // X-10
  const std::string each = "{% for i in range(50000) %}";
  EXPECT_TRUE(render("{% set ns = namespace(f=none) %}" + each +
                     "{% set ns.f = namespace(next=ns.f) %}{% endfor %}{% set ns.f = none %}"));
  EXPECT_TRUE(
      render("{% set ns = namespace(f=none) %}{% macro m(x) %}{% macro inner() %}{{ x }}{% endmacro %}{% set ns.f = "
             "inner %}{% endmacro %}" +
             each + "{% set r = m(ns.f) %}{% endfor %}{% set ns.f = none %}"));
  EXPECT_FALSE(render("{% set ns = namespace(f=none) %}" + each +
                      "{% for a in [ns.f] %}{% set ns.f = loop %}{% endfor %}{% endfor %}"));
  EXPECT_FALSE(
      render("{% set ns = namespace(f=none) %}{% for a in [1] recursive %}{% set ns.f = loop %}{% set ns.g = [ns, "
             "loop] %}{{ nope.x }}{% endfor %}"));
  EXPECT_TRUE(
      render("{% set ns = namespace() %}{% for a in [1, 2] %}{% set x = loop.changed(loop) %}{% set ns.l = loop %}{% "
             "endfor %}"));
}

TEST(Template, deep_nesting_is_an_error) {  // X-10
  for (const int depth : {50, 500, 50000}) {
    const auto many = [&](const std::string& s) { return test::repeat(depth, s); };
    for (const std::string& source : {"{{ " + many("(") + "1" + many(")") + " }}",
                                      "{{ " + many("[") + many("]") + " }}",
                                      "{{ " + many("-") + "1 }}",
                                      "{{ " + many("not ") + "1 }}",
                                      "{{ 1" + many(" + 1") + " }}",
                                      "{{ x" + many(".a") + " }}",
                                      "{{ 1" + many("|abs") + " }}",
                                      many("{% if 1 %}") + many("{% endif %}"),
                                      many("{% for a in b %}"),
                                      many("{% macro a() %}") + many("{% endmacro %}"),
                                      "{{ 1" + many(" if 1 else 2") + " }}",
                                      "{{ " + many("{1:") + many("}") + " }}",
                                      "{{ a" + many("(a") + many(")") + " }}",
                                      "{{ a" + many("[a") + many("]") + " }}",
                                      "{% set " + many("(") + "a" + many(",)") + " = 1 %}",
                                      "{% if 1 %}" + many("{% elif 1 %}") + "{% endif %}",
                                      "{{ 1" + many(" == 1") + " }}",
                                      "{{ 'a'" + many(" ~ 'a'") + " }}",
                                      many("{{ 1 }}"),
                                      "{{ x" + many("()") + " }}"}) {
      const auto got = render(source);
      if (!got) {
        EXPECT_LT(got.error().text().size(), 300u) << source.substr(0, 40);
      }
    }
  }
}

TEST(Template, truncated_at_every_byte) {  // X-10
  for (const char* name : {"Qwen-Qwen3-0.6B.jinja", "microsoft-Phi-3.5-mini-instruct.jinja"}) {
    const std::string source = real_template(name);
    const Json contexts = golden_json("template_contexts.json"), context = *find(contexts, "two_calls_gen");
    for (std::size_t n = 0; n < source.size(); ++n) {
      const auto got = render(source.substr(0, n), context);
      if (!got) {
        EXPECT_NE(got.error().code, Code::LimitExceeded) << n;
      }
    }
  }
}

TEST(Template, random_mutations) {  // X-10
  const Json contexts = golden_json("template_contexts.json");
  std::uint64_t state = 20250307;
  const auto below = [&](std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  const std::string bits[] = {"{{", "}}",   "{%", "%}",          "(",         ")",    "[", "]", "|",
                              ".",  "'",    "\"", "loop",        "namespace", " in ", "~", "-", "#}",
                              "{#", "\xff", "\0", "99999999999", "range",     "*",    "**"};
  for (const char* name :
       {"openai-gpt-oss-120b.jinja", "meetkai-functionary-medium-v3.2.jinja", "HuggingFaceTB-SmolLM3-3B.jinja"}) {
    const std::string source = real_template(name);
    for (int round = 0; round < 150; ++round) {
      std::string mutant = source;
      for (std::size_t k = 1 + below(4); k > 0; --k) {
        const std::size_t at = below(mutant.size());
        if (below(2) == 0)
          mutant.erase(at, 1 + below(20));
        else
          mutant.insert(at, bits[below(std::size(bits))]);
      }
      (void)render(mutant, *find(contexts, "tool_turns_gen"), {.max_steps = 500'000});
    }
  }
}

TEST(Template, parsed_once_rendered_by_many) {  // X-10
  const Json contexts = golden_json("template_contexts.json"), context = *find(contexts, "long");
  const auto parsed = ChatTemplate::parse(real_template("Qwen-Qwen3-0.6B.jinja"));
  ASSERT_TRUE(parsed);
  const std::string first = parsed->render(context).value();
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < 200; ++k) ASSERT_EQ(parsed->render(context).value(), first);
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 200;
  RecordProperty("microseconds_per_render", static_cast<int>(us));
  std::printf("[ measured ] 20 messages, Qwen3 template: %.0f us a render\n", us);
}

}  // namespace loom
