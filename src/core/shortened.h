#pragma once
// Places of any depth in messages.

#include <cstddef>
#include <string>
#include <string_view>

namespace loom {

// A place in at most kMostPlace bytes, its middle left out: "/layers/0/base_layer/.../base_layer". Its steps are joined
// by '/' or '.', or by ": " as places in documents inside of one another. Error::text() shortens what it holds.
inline constexpr std::size_t kMostPlace = 240;
std::string shortened_place(std::string_view place);

}  // namespace loom
