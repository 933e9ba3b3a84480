#pragma once
// The frame around every state that is kept as bytes: what it is a state of, by which numerics, and that it is whole.
//   "LOOMSTAT", numerics version (u32), kind (u32), digest of the owner (32 bytes), body, SHA-256 of all before it

#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/sha256.h"

namespace loom {

// 2 was a step mesh's state without the losses of its gates.
enum class StateKind : std::uint32_t { Sequence = 1, StepMesh = 3 };

std::vector<std::byte> frame_state(StateKind kind, const Digest& owner, std::span<const std::byte> body);
// The body: CorruptData; Unsupported for other numerics and for the older state of a step mesh; ShapeMismatch for
// another owner.
Result<std::span<const std::byte>> unframe_state(StateKind kind, const Digest& owner, std::span<const std::byte> bytes);

}  // namespace loom
