#include "io/npy/npz.h"

#include <gtest/gtest.h>

#include <cstring>

#include "io/hostile_test.h"
#include "support/paths.h"

namespace loom {
namespace {

std::vector<std::byte> golden(const char* name) { return bytes_of_file(test::source_path("tests/golden/npy/") + name); }

// F-01
TEST(Npz, reads_what_numpy_saves) {  // tools/golden/npy.py
  const auto arrays = parse_npz(golden("two.npz"));
  ASSERT_TRUE(arrays) << arrays.error().text();
  ASSERT_EQ(arrays->size(), 2u);
  const NpyArray& x = arrays->at("inputs");
  EXPECT_EQ(x.shape, (std::vector<std::size_t>{3, 2}));
  float last = 0;
  std::memcpy(&last, x.bytes.data() + 5 * sizeof last, sizeof last);
  EXPECT_EQ(last, 5.0f);
  EXPECT_EQ(arrays->at("targets").dtype, DType::int64);
}

// F-01
TEST(Npz, reads_what_numpy_compresses) {  // tools/golden/npy.py
  const auto zeros = parse_npz(golden("compressed.npz"));
  ASSERT_TRUE(zeros) << zeros.error().text();
  EXPECT_EQ(zeros->at("x").shape, (std::vector<std::size_t>{3}));
  const auto arrays = parse_npz(golden("deflated.npz"));
  ASSERT_TRUE(arrays) << arrays.error().text();
  const NpyArray& ramp = arrays->at("ramp");
  ASSERT_EQ(ramp.shape, (std::vector<std::size_t>{3000}));
  for (std::size_t i = 0; i < 3000; ++i) {
    std::int32_t value = 0;
    std::memcpy(&value, ramp.bytes.data() + i * sizeof value, sizeof value);
    ASSERT_EQ(value, static_cast<std::int32_t>(i * 7 % 911)) << i;
  }
  EXPECT_EQ(arrays->at("noise").shape, (std::vector<std::size_t>{2000}));  // its bytes are under a checksum
  EXPECT_EQ(arrays->at("small").shape, (std::vector<std::size_t>{6}));
}

TEST(Npz, reads_the_arrays_that_are_asked_for) {  // F-01
  const std::string_view wanted[] = {"small", "absent"};
  const auto arrays = parse_npz(golden("deflated.npz"), wanted);
  ASSERT_TRUE(arrays) << arrays.error().text();
  EXPECT_EQ(arrays->size(), 1u);
  EXPECT_TRUE(arrays->contains("small"));
}

TEST(Npz, no_damage_of_compressed_data_crashes) {  // F-01
  const auto good = golden("deflated.npz");
  for (std::size_t n = 0; n < good.size(); n += 7) EXPECT_FALSE(parse_npz(std::span(good).first(n))) << n;
  std::size_t found = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= static_cast<std::byte>(1 << i % 8);
    found += !parse_npz(bad);
  }
  EXPECT_GT(found, good.size() * 9 / 10);
}
TEST(Npz, every_cut_is_an_error_and_no_flip_crashes) {  // F-01
  const auto good = golden("two.npz");
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(parse_npz(std::span(good).first(n))) << n;
  std::size_t found = 0;
  for (std::size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto bad = good;
      bad[i] ^= static_cast<std::byte>(1 << bit);
      found += !parse_npz(bad);
    }
  EXPECT_GT(found, good.size() * 8 / 2);  // names, times and local headers are free; contents are under a checksum
  EXPECT_EQ(read_npz("/nowhere.npz").error().code, Code::NotFound);
}

}  // namespace
}  // namespace loom
