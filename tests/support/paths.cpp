#include "paths.h"

namespace loom::test {

std::string source_path(const std::string& name) { return LOOM_SOURCE_DIR "/" + name; }
std::string binary_path(const std::string& name) { return LOOM_BINARY_DIR "/" + name; }

}  // namespace loom::test
