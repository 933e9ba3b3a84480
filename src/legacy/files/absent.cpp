// In place of the readers and the writer in builds without LOOM_LEGACY.

#include <string_view>

#include "core/json.h"
#include "legacy/files/loom08.h"
#include "legacy/files/write.h"

namespace loom::loom08 {
namespace {

constexpr std::string_view kAbsent = "this build has no files of Loom 0.8x (LOOM_LEGACY=OFF)";

}  // namespace

Result<SpecResult> network_from_checkpoint(Json, const SpecOptions&) {
  return fail(Code::Unsupported, "a JSON checkpoint of Loom 0.8x: {}", kAbsent);
}

Result<SpecResult> network_from_entity(std::span<const std::byte>, const SpecOptions&) {
  return fail(Code::Unsupported, "an .entity of version 1: {}", kAbsent);
}

Result<WrittenEntity> write_entity(const Network&, const WriteOptions&) {
  return fail(Code::Unsupported, "an .entity of version 1: {}", kAbsent);
}

}  // namespace loom::loom08
