#pragma once
// Failing cases of the past, shrunk: kept/NAME.json.

#include <gtest/gtest.h>

#include <filesystem>

#include "support/files.h"
#include "verify/trial.h"

namespace loom::test {

// f(trial) for each of them, which there are.
template <class F>
void each_kept_trial(F&& f) {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_path("tests/determinism/random_networks/kept"))) {
    SCOPED_TRACE(file.path().filename().string());
    const auto json = parse_json(read_all(file.path().string()));
    ASSERT_TRUE(json) << json.error().text();
    const auto trial = trial_from_json(*json);
    ASSERT_TRUE(trial) << trial.error().text();
    f(*trial);
    ++count;
  }
  EXPECT_GT(count, 0u);
}

}  // namespace loom::test
