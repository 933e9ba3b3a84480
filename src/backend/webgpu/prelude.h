#pragma once
// The text that every shader begins with: wgsl/prelude.wgsl says what is in it.

#include <string>

namespace loom::gpu {

// Whether a compiler may see the sums of kept products (add_plain): it has nothing to fuse in them, but some
// reassociate.
enum class Sums { Left, Kept };

std::string prelude(Sums sums);

}  // namespace loom::gpu
