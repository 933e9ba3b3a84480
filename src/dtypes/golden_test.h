#pragma once
// Shared by the codec tests: tests/golden/dtypes.json, and the generator of inputs that tools/golden/dtypes.py uses as
// well.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/file.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "core/sha256.h"
#include "dtypes/quantize.h"
#include "support/paths.h"

namespace loom {

inline const Json& golden_dtypes() {
  static const Json golden = [] {
    const auto text = read_text_file(test::source_path("tests/golden/dtypes.json"));
    auto parsed = text ? parse_json(*text) : Result<Json>(Json());
    return parsed ? std::move(*parsed) : Json();
  }();
  return golden;
}

// golden[section][name][key], or golden[section][name] when key is empty; "" when absent, which no digest equals.
inline std::string golden_text(const char* section, const std::string& name, const char* key) {
  const Json* found = find(golden_dtypes(), section);
  if (found && !name.empty()) found = find(*found, name);
  if (found && *key) found = find(*found, key);
  return found && as_string(*found) ? *as_string(*found) : "";
}

// Output number `index`, from 0, of splitmix64.
inline std::uint64_t splitmix(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

// Every granularity of scales.
inline const std::vector<ScaleSpan>& spans() {
  static const std::vector<ScaleSpan> all = {{Granularity::Auto},      {Granularity::Tensor},
                                             {Granularity::Row},       {Granularity::Group, 32},
                                             {Granularity::Group, 64}, {Granularity::Group, 128}};
  return all;
}

// SHA-256 of the numbers as little-endian bytes.
template <class T>
std::string digest(const std::vector<T>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) store_le(bytes.data() + i * sizeof(T), numbers[i]);
  Sha256 hash;
  hash.update(bytes);
  return to_hex(hash.finish());
}

}  // namespace loom
