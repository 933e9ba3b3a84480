#pragma once
// Base64 of RFC 4648 section 4: the alphabet with + and /, padded with =. Packed weights in JSON are stored so (engine
// F-10).

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom {

std::string base64_encode(std::span<const std::byte> bytes);

// Strict: no spaces or line breaks, whole groups of four, padding only at the end, unused bits zero; so exactly one
// text stands for any bytes. CorruptData with the position in the text.
Result<std::vector<std::byte>> base64_decode(std::string_view text);

}  // namespace loom
