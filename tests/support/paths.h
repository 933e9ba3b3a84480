#pragma once
// Folders of this checkout and of this build. Functions, not macros: a path in a compiler's arguments would keep
// checkouts at different paths from sharing their objects (ccache).

#include <string>

namespace loom::test {

std::string source_path(const std::string& name);  // name: below the root of the sources
std::string binary_path(const std::string& name);  // name: below the build folder

}  // namespace loom::test
