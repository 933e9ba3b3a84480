#pragma once
// The text that every shader begins with: wgsl/prelude.wgsl says what is in it.

#include <string>
#include <string_view>

namespace loom::gpu {

// Whether a compiler may see the sums of kept products (add_plain): it has nothing to fuse in them, but some
// reassociate.
enum class Sums { Left, Kept };

std::string prelude(Sums sums);

// The same with the functions of wgsl/fast.wgsl in place of those of their names: plain operators.
std::string fast_prelude();
// A whole shader behind that prelude: additions of the number that rounds to an integer are kept, since a compiler that
// takes it off again is left with what was to be rounded, and exp() with an exponent of another number.
std::string with_rounding_kept(std::string_view shader);

}  // namespace loom::gpu
