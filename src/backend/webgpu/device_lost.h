#pragma once
#include "core/error.h"
namespace loom {
inline constexpr Code kDeviceLost = static_cast<Code>(32);
}
