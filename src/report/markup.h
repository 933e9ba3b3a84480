#pragma once
// Text that goes into HTML and SVG.

#include <string>
#include <string_view>

namespace loom {

// For any place between tags or in a quoted attribute: markup is escaped, control characters and bytes that are no
// UTF-8 become U+FFFD.
std::string html_text(std::string_view text);

// At most so many characters, an ellipsis after them when there were more.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace loom
