#include "backend/webgpu/prelude.h"

#include <algorithm>

#include "backend/webgpu/wgsl/dots_floats.wgsl.h"
#include "backend/webgpu/wgsl/dots_integers.wgsl.h"
#include "backend/webgpu/wgsl/dots_packed.wgsl.h"
#include "backend/webgpu/wgsl/fast.wgsl.h"
#include "backend/webgpu/wgsl/prelude.wgsl.h"
#include "backend/webgpu/wgsl/sums_kept.wgsl.h"
#include "backend/webgpu/wgsl/sums_left.wgsl.h"
#include "core/error.h"

namespace loom::gpu {
namespace {

// Without the function whose name and ( stand at `head`: to the } of its line, or to the first one that begins a line.
void cut_function(std::string& text, std::string_view head) {
  const std::size_t begin = text.find("\n" + std::string(head)) + 1, line = text.find('\n', begin);
  LOOM_ASSERT(begin != 0 && line != text.npos);
  const std::size_t end = text[line - 1] == '}' ? line : text.find("\n}", line) + 2;
  text.erase(begin, end + 1 - begin);
}

}  // namespace

std::optional<Dots> dots_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kDotsNames.size(); ++i)
    if (kDotsNames[i] == name) return static_cast<Dots>(i);
  return std::nullopt;
}

std::string_view text_of(Dots dots) {
  if (dots == Dots::Packed) return wgsl::dots_packed;
  return dots == Dots::Integers ? wgsl::dots_integers : wgsl::dots_floats;
}

std::string prelude(Sums sums, Dots dots) {
  return std::string(wgsl::prelude) + std::string(text_of(dots)) +
         std::string(sums == Sums::Left ? wgsl::sums_left : wgsl::sums_kept);
}

std::string fast_prelude(Dots dots) {
  std::string text = prelude(Sums::Left, dots);
  const std::string_view fast = wgsl::fast;
  for (std::size_t at = fast.find("\nfn "); at != fast.npos; at = fast.find("\nfn ", at + 1)) {
    const std::string_view head = fast.substr(at + 1, fast.find('(', at) - at);
    if (!head.ends_with("_kept(")) cut_function(text, head);
  }
  return text + std::string(fast);
}

std::string with_rounding_kept(std::string_view shader) {
  constexpr std::string_view kLast = ", 12582912.0f)";
  std::string text(shader);
  for (std::size_t at = text.find(kLast); at != text.npos; at = text.find(kLast, at + kLast.size())) {
    // Back to the ( of the call that the number ends.
    std::size_t open = at;
    for (int depth = 1; depth != 0;) {
      LOOM_ASSERT(open != 0);
      --open;
      depth += text[open] == ')' ? 1 : text[open] == '(' ? -1 : 0;
    }
    const std::string_view name = std::string_view(text).substr(0, open);
    if (!name.ends_with("add") && !name.ends_with("sub")) continue;
    text.insert(open, "_kept");
  }
  return text;
}

}  // namespace loom::gpu
