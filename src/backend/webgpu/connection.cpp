#include "backend/webgpu/connection.h"

#include <fmt/format.h>

#include <string>

namespace loom::gpu {
namespace {

// The text in one line: drivers write several.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = static_cast<unsigned char>(c) <= ' ';
    if (!is_space || (!line.empty() && line.back() != ' ')) line += is_space ? ' ' : c;
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace

tl::unexpected<Error> Connection::mark_lost(std::string_view why) {
  const std::string last = last_kernel_.empty() ? std::string() : fmt::format(" after {}", last_kernel_);
  if (!lost_)
    lost_ = Error{Code::DeviceLost,
                  fmt::format("{}: the card was lost{}: {}; --device cpu does without{}", adapter().name, last,
                              in_one_line(why), precision_ == Precision::Strict ? ", with the same bits" : "")};
  return loss();
}

}  // namespace loom::gpu
