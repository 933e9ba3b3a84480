#include "backend/webgpu/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

namespace loom::gpu {
namespace {

std::string word(std::size_t index) { return fmt::format("words[{}].{}", index / 4, "xyzw"[index % 4]); }

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool goes_on(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

// name(n) for every name in a text, other(t) for what lies between; the letters of numbers are no names.
template <class Name, class Other>
void each_name(std::string_view text, Name&& name, Other&& other) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    const bool is_word = goes_on(text[i]);
    while (end < text.size() && goes_on(text[end]) == is_word) ++end;
    is_word&& begins_name(text[i]) ? name(text.substr(i, end - i)) : other(text.substr(i, end - i));
    i = end;
  }
}

constexpr std::string_view kWorkgroupMemory = "var<workgroup>";

// A body without the lines that declare workgroup memory.
std::string without_workgroup_memory(std::string_view body) {
  std::string out;
  while (!body.empty()) {
    const std::string_view line = body.substr(0, std::min(body.size(), body.find('\n') + 1));
    if (!line.starts_with(kWorkgroupMemory)) out += line;
    body.remove_prefix(line.size());
  }
  return out;
}

// The names that the body of a kernel declares: functions, variables, constants, structs; `memory`: workgroup memory.
std::set<std::string, std::less<>> declared(std::string_view body, bool memory) {
  std::set<std::string, std::less<>> names;
  std::string_view last;
  std::string_view between;
  each_name(
      body,
      [&](std::string_view name) {
        const bool declares =
            last == "fn" || last == "struct" || last == "const" || last == "private" || (last == "workgroup" && memory);
        if (declares && between.find_first_not_of(" >") == between.npos) names.emplace(name);
        last = name, between = {};
      },
      [&](std::string_view other) { between = other; });
  return names;
}

}  // namespace

std::size_t parameter_words(Kernels kernels) {
  std::size_t words = kFirstOperandWord;
  for (const Kernel& k : kernels) words += k.operands().size() + k.numbers().size();
  return words;
}

std::string joined(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all += text;
  return all;
}

std::string shader_text(Kernels kernels, const Bindings& bindings, std::string_view prelude) {
  const bool on_units = std::ranges::any_of(kernels, &Kernel::is_on_matrix_units);
  std::string out(on_units ? kMatrixUnitsHead : std::string_view()), calls;
  out += prelude;
  const auto say = [&]<class... A>(fmt::format_string<A...> text, A&&... values) {
    fmt::format_to(std::back_inserter(out), text, std::forward<A>(values)...);
  };
  say("\n@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 16>;\n");
  for (std::uint32_t s = 0; s < bindings.buffers; ++s)
    say("@group(0) @binding({}) var<storage, {}> memory_{}: array<u32>;\n", s + 1,
        (bindings.read_only >> s & 1) != 0 ? "read" : "read_write", s);
  const bool shares_rows = kernels.size() > 1 && kernels.back().groups_of_row() != 0;
  if (shares_rows) say("var<private> row_of_group: u32;\nvar<private> is_first_of_row: bool;\n");
  for (std::uint32_t c = 0; c < bindings.copies; ++c)
    say("var<workgroup> copy_{}: array<u32, {}>;\n", c, bindings.copy_words[c]);
  const bool are_beside = kernels[0].is_beside();
  std::size_t at = kFirstOperandWord, operand = 0, number = 0;
  for (const Kernel& kernel : kernels) {
    // Kernels side by side have names of their own: x_1, x_2.
    const std::string mark = kernels.size() == 1 ? std::string() : fmt::format("_{}", ++number);
    std::set<std::string, std::less<>> names = declared(kernel.body(), !are_beside);
    const std::string rest = are_beside && number > 1 ? without_workgroup_memory(kernel.body()) : std::string();
    for (const Kernel::Number& c : kernel.constants()) {
      say("const {}{}: u32 = {}u;\n", c.name, mark, c.bits);
      names.emplace(c.name);
    }
    for (const auto& [name, address, access, row] : kernel.operands()) {
      const int slot = bindings.slot[operand], copy = bindings.copy[operand] - 1;
      ++operand;
      const std::string place = word(at++);
      const std::string own =
          copy < 0 ? std::string() : fmt::format("copy_{}[i - row_of_group * {}u]", copy, bindings.copy_words[copy]);
      if (access != Access::Write) {
        const std::string from = copy < 0 ? fmt::format("memory_{}[{} + i]", slot, place) : own;
        say("fn bits_{}{}(i: u32) -> u32 {{ return {}; }}\n", name, mark, from);
        say("fn load_{0}{1}(i: u32) -> f32 {{ return bitcast<f32>(bits_{0}{1}(i)); }}\n", name, mark);
      }
      if (access != Access::Read) {
        const std::string head = copy < 0 ? std::string() : fmt::format("{} = bits; if (is_first_of_row) ", own);
        say("fn put_{}{}(i: u32, bits: u32) {{ {}{{ memory_{}[{} + i] = bits; }} }}\n", name, mark, head, slot, place);
        say("fn store_{0}{1}(i: u32, value: f32) {{ put_{0}{1}(i, bitcast<u32>(value)); }}\n", name, mark);
      }
      for (const char* const way : {"bits", "load", "put", "store"}) names.insert(fmt::format("{}_{}", way, name));
    }
    for (const Kernel::Number& n : kernel.numbers()) {
      const std::string value = word(at++);
      if (n.is_float)
        say("fn {}{}() -> f32 {{ return bitcast<f32>({}); }}\n", n.name, mark, value);
      else
        say("fn {}{}() -> u32 {{ return {}; }}\n", n.name, mark, value);
      names.emplace(n.name);
    }
    each_name(
        rest.empty() ? kernel.body() : std::string_view(rest),
        [&](std::string_view name) {
          out += name;
          if (names.contains(name)) out += mark;
        },
        [&](std::string_view other) { out += other; });
    if (are_beside) {
      calls += fmt::format("    if (group / each == {}u) {{ run{}(group % each, thread); }}\n", number - 1, mark);
      continue;
    }
    if (!calls.empty())  // what the one before wrote
      calls += shares_rows ? "    workgroupBarrier();\n" : "    storageBarrier();\n";
    calls += fmt::format("    run{}({}, thread);\n", mark,
                         shares_rows && &kernel != &kernels.back() ? "row_of_group" : "group");
  }
  if (are_beside) calls.insert(0, fmt::format("    let each = words[0].y / {}u;\n", kernels.size()));
  if (shares_rows)
    calls.insert(0, fmt::format("    row_of_group = group / {0}u;\n    is_first_of_row = group % {0}u == 0u;\n",
                                kernels.back().groups_of_row()));
  say(R"(
@compute @workgroup_size({})
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(num_workgroups) count: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
  opaque_zero = words[0].x;
  let group = id.x + id.y * count.x;
  if (group < words[0].y) {{
{}  }}
}}
)",
      kernels[0].threads(), calls);
  return out;
}

}  // namespace loom::gpu
