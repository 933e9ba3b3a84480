#pragma once
// Shared by the readers' tests: real data, files that were cut or had a byte changed, and a count of the bytes
// allocated meanwhile.

#include <gtest/gtest.h>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/little_endian.h"

namespace loom {

// Bytes that operator new gave out since the program started (hostile_test.cpp).
std::size_t allocated_bytes();

inline std::string data_path(const std::string& name) {
  const char* folder = std::getenv("LOOM_DATA");
  return (folder ? std::string(folder) : std::string("LOOM_DATA is not set")) + "/" + name;
}

inline std::vector<std::byte> bytes_of_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file) return {};
  return {(*file)->bytes().begin(), (*file)->bytes().end()};
}

inline std::string write_test_file(const std::string& name, std::string_view text) {
  const std::string path = ::testing::TempDir() + name;
  EXPECT_TRUE(write_file_atomically(path, std::as_bytes(std::span(text))));
  return path;
}

// Output number `index` of splitmix64, as in tools/golden/io_files.py.
inline std::uint64_t splitmix(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

inline std::vector<std::byte> random_bytes(std::uint64_t seed, std::size_t n) {
  std::vector<std::byte> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(splitmix(seed, i) >> 56);
  return out;
}

// F-01: `read` (bytes -> whether they were accepted) meets every prefix of a good file, none of which it may accept,
// and the file with each of its first `header` bytes changed in several ways, and allocates no more than `factor` x
// size + 1 MiB. The bytes are in allocations of their exact size, so that a sanitizer sees a read past the end.
template <class Read>
void expect_survives_damage(const std::vector<std::byte>& good, std::size_t header, std::size_t factor, Read read) {
  const auto within_bounds = [&](std::vector<std::byte> bytes) {
    bytes.shrink_to_fit();
    const std::size_t before = allocated_bytes();
    const bool accepted = read(std::span<const std::byte>(bytes));
    EXPECT_LE(allocated_bytes() - before, factor * bytes.size() + (std::size_t{1} << 20));
    return accepted;
  };
  ASSERT_TRUE(within_bounds(good));
  for (std::size_t n = 0; n < good.size(); ++n)
    ASSERT_FALSE(within_bounds({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)})) << n;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < header; ++i)
    for (const std::byte change : {std::byte{0x01}, std::byte{0x10}, std::byte{0x80}, std::byte{0xff}}) {
      auto bad = good;
      bad[i] ^= change;
      refused += within_bounds(std::move(bad)) ? 0 : 1;
    }
  EXPECT_GT(refused, header);  // names and values may change unseen, structure may not
}

}  // namespace loom
