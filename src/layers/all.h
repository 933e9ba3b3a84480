#pragma once
// Every layer kind. To add one: its folder, whose row (layers/kind.h) says all there is to know, and one line in
// all.cpp.

#include <span>

#include "layers/layer.h"

namespace loom {

std::span<const LayerKind* const> layer_kinds();
// Case-insensitive, '_' and '-' ignored (engine J-20). UnknownName with the nearest names.
Result<const LayerKind*> layer_kind(std::string_view name);

}  // namespace loom
