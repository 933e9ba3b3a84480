#pragma once
// Helpers shared by the tests of data sets.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/dataset.h"
#include "io/hostile_test.h"
#include "support/paths.h"

namespace loom {

inline std::string golden_data(const std::string& name) { return test::source_path("tests/golden/data/") + name; }

inline const nlohmann::json& expected_data() {
  static const nlohmann::json json = [] {
    std::ifstream file(golden_data("expected.json"));
    return nlohmann::json::parse(file);
  }();
  return json;
}

struct ReadSamples {
  std::vector<float> inputs, values;
  std::vector<std::int32_t> labels;
};

inline Result<ReadSamples> read_samples(const Dataset& data, std::vector<std::uint32_t> which) {
  const DatasetInfo& about = data.info();
  ReadSamples out{std::vector<float>(which.size() * about.input.elements()), {}, {}};
  const std::size_t targets = which.size() * about.target.elements();
  if (about.targets == TargetKind::values)
    out.values.resize(targets);
  else
    out.labels.resize(targets);
  LOOM_TRY_VOID(data.read(which, {out.inputs, out.labels, out.values}));
  return out;
}

inline std::vector<std::uint32_t> all_of(std::size_t n) {
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}
inline Result<ReadSamples> read_all(const Dataset& data) { return read_samples(data, all_of(data.info().samples)); }

// The message holds every one of `parts`.
template <class T>
void expect_error(const Result<T>& result, Code code, std::initializer_list<std::string_view> parts) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, code) << result.error().text();
  for (const auto part : parts)
    EXPECT_NE(result.error().text().find(part), std::string::npos) << part << " is not in: " << result.error().text();
}

}  // namespace loom
