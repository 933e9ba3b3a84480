#include "io/tagged/tagged.h"

namespace loom {
namespace {

constexpr std::string_view kTag = "TAGGED\n";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool is_tagged(std::span<const std::byte> bytes) { return text_of(bytes).starts_with(kTag); }

Result<SpecResult> network_from_tagged(std::span<const std::byte> bytes, const SpecOptions& options) {
  if (!is_tagged(bytes)) return fail(Code::CorruptData, "expected a first line TAGGED");
  return network_from_json(text_of(bytes).substr(kTag.size()), options);
}

}  // namespace loom
