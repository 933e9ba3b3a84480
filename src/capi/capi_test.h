#pragma once
// What tests of the C ABI share.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cstddef>
#include <string>

namespace loom::test {

template <class S>
S sized() {
  S s{};
  s.struct_size = sizeof s;
  return s;
}

// The bytes of a blob, which is released.
inline std::string take(loom_blob blob) {
  const void* data = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(loom_blob_view(blob, &data, &size), LOOM_OK) << loom_last_error();
  std::string out(static_cast<const char*>(data), size);
  EXPECT_EQ(static_cast<const char*>(data)[size], '\0');
  EXPECT_EQ(loom_release(blob), LOOM_OK);
  return out;
}

}  // namespace loom::test
