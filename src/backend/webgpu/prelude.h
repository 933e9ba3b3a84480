#pragma once
// The text that every shader begins with: wgsl/prelude.wgsl says what is in it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loom::gpu {

// Whether a compiler may see the sums of kept products (add_plain): it has nothing to fuse in them, but some
// reassociate.
enum class Sums { Left, Kept };

// How dot_bytes() computes the sum of the products of four bytes: by the function of the language, by integers or by
// floats. All are exact; which is the fastest depends on the card and its compiler.
enum class Dots : std::uint8_t { Packed, Integers, Floats };
inline constexpr std::array<std::string_view, 3> kDotsNames = {"packed", "integers", "floats"};  // as they are numbered
constexpr std::string_view name(Dots dots) { return kDotsNames[static_cast<std::size_t>(dots)]; }
std::optional<Dots> dots_from_name(std::string_view name);
std::string_view text_of(Dots dots);

std::string prelude(Sums sums, Dots dots);

// Like prelude(), with the plain operators of wgsl/fast.wgsl in place of the functions of the same names.
std::string fast_prelude(Dots dots);
// Returns a whole shader that begins with that prelude, in which no compiler removes the addition that rounds to an
// integer. Without it the value would stay unrounded, and exp() would take the exponent of another number.
std::string with_rounding_kept(std::string_view shader);

}  // namespace loom::gpu
