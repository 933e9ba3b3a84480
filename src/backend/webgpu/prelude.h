#pragma once
// The text that every shader begins with: wgsl/prelude.wgsl says what is in it.

#include <string>
#include <string_view>

namespace loom::gpu {

// Whether a compiler may see the sums of kept products (add_plain): it has nothing to fuse in them, but some
// reassociate.
enum class Sums { Left, Kept };

std::string prelude(Sums sums);

// Like prelude(), with the plain operators of wgsl/fast.wgsl in place of the functions of the same names.
std::string fast_prelude();
// Returns a whole shader that begins with that prelude, in which no compiler removes the addition that rounds to an
// integer. Without it the value would stay unrounded, and exp() would take the exponent of another number.
std::string with_rounding_kept(std::string_view shader);

}  // namespace loom::gpu
