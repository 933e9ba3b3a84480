// A program whose loom.h has another version than the library: loom.hpp says so before it makes an object.
#include <loom/loom.h>
#undef LOOM_ABI_VERSION
#define LOOM_ABI_VERSION 99
#include <loom/loom.hpp>
#include <string>

int main() {
  try {
    loom::Cancel::create();
  } catch (const loom::Error& error) {
    const std::string expected = "the library has version " + std::to_string(loom_library_abi_version()) +
                                 " of the C interface, loom.h has 99: use the header and the library of one release";
    return error.code() == LOOM_UNSUPPORTED && error.what() == expected ? 0 : 2;
  }
  return 1;
}
