#include "backend/webgpu/kernel.h"

#include <fmt/format.h>

#include <iterator>

namespace loom::gpu {
namespace {

std::string word(std::size_t index) { return fmt::format("words[{}].{}", index / 4, "xyzw"[index % 4]); }

}  // namespace

std::string joined(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all += text;
  return all;
}

std::string shader_text(const Kernel& kernel, const Bindings& bindings, std::string_view prelude) {
  std::string out(prelude);
  const auto say = [&]<class... A>(fmt::format_string<A...> text, A&&... values) {
    fmt::format_to(std::back_inserter(out), text, std::forward<A>(values)...);
  };
  say("\n@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 16>;\n");
  for (std::uint32_t s = 0; s < bindings.buffers; ++s)
    say("@group(0) @binding({}) var<storage, {}> memory_{}: array<u32>;\n", s + 1,
        (bindings.read_only >> s & 1) != 0 ? "read" : "read_write", s);
  for (const Kernel::Number& c : kernel.constants()) say("const {}: u32 = {}u;\n", c.name, c.bits);
  std::size_t at = kFirstOperandWord;
  for (std::size_t i = 0; i < kernel.operands().size(); ++i, ++at) {
    const auto& [name, address, access] = kernel.operands()[i];
    const int slot = bindings.slot[i];
    if (access != Access::Write) {
      say("fn bits_{}(i: u32) -> u32 {{ return memory_{}[{} + i]; }}\n", name, slot, word(at));
      say("fn load_{0}(i: u32) -> f32 {{ return bitcast<f32>(bits_{0}(i)); }}\n", name);
    }
    if (access != Access::Read) {
      say("fn put_{}(i: u32, bits: u32) {{ memory_{}[{} + i] = bits; }}\n", name, slot, word(at));
      say("fn store_{0}(i: u32, value: f32) {{ put_{0}(i, bitcast<u32>(value)); }}\n", name);
    }
  }
  for (const Kernel::Number& n : kernel.numbers()) {
    const std::string value = word(at++);
    if (n.is_float)
      say("fn {}() -> f32 {{ return bitcast<f32>({}); }}\n", n.name, value);
    else
      say("fn {}() -> u32 {{ return {}; }}\n", n.name, value);
  }
  out += kernel.body();
  say(R"(
@compute @workgroup_size({})
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(num_workgroups) count: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {{
  opaque_zero = words[0].x;
  let group = id.x + id.y * count.x;
  if (group < words[0].y) {{ run(group, thread); }}
}}
)",
      kernel.threads());
  return out;
}

}  // namespace loom::gpu
