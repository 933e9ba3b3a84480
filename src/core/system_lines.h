#pragma once

#include <string>
#include <vector>

namespace loom {

// Returns the lines of a file that the system makes as it is read (/proc, /sys), without their ends; none where it
// cannot be read. Such files report a size of 0 or of a page. A file above 16 MiB counts as unreadable.
std::vector<std::string> system_lines(const std::string& path);

}  // namespace loom
