#pragma once
// Files of Loom 0.8x, the earlier program of the same name (engine 4.5, 10.2, 10.3): JSON checkpoints and .entity of
// version 1. write.h writes the latter. The network computes what the file says with today's equations
// (docs/reference/formats.md lists what is set for old files); every value is the one that the old program decoded.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/json_fwd.h"
#include "network/spec/spec.h"

namespace loom::loom08 {

// The beginning of an .entity of version 1.
inline constexpr std::string_view kMagic("ENTITY\0\0", 8);
inline constexpr std::uint16_t kVersion = 1;

// Returns whether a document is a checkpoint of 0.8x: some layer, nested ones too, has its weights as one text.
bool is_checkpoint(const Json& document);

// Returns whether bytes begin as an .entity of version 1.
bool is_entity(std::span<const std::byte> bytes);

// Keys without a reader are warnings whatever `options` say. CorruptData, NonFinite, Unsupported and NotFound with the
// place of the store or layer: a network whose weights are not all in the file is an error. Errors of
// network_from_json().
Result<SpecResult> network_from_checkpoint(Json document, const SpecOptions& options = {});
Result<SpecResult> network_from_entity(std::span<const std::byte> bytes, const SpecOptions& options = {});

}  // namespace loom::loom08
