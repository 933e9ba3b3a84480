#pragma once
// Deflated bytes (RFC 1951), as numpy.savez_compressed stores arrays. Loom has a decoder of its own, since fixtures
// must be readable on every target, without a library.

#include <span>

#include "core/buffer.h"
#include "core/error.h"

namespace loom {

// Exactly `size` bytes come out, which the caller has checked against what memory allows. CorruptData with the offset
// in `deflated` for a damaged stream and for one that holds another number of bytes; OutOfMemory.
Result<Buffer> inflate_exactly(std::span<const std::byte> deflated, std::size_t size);

// No stream of n bytes holds more than this many (RFC 1951: 258 bytes in two bits).
inline constexpr std::size_t kMostInflatedPerByte = 1032;

}  // namespace loom
