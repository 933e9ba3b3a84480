#pragma once
// Rules of what graphics cards do not run (docs/guide/gpu.md).

#include <algorithm>
#include <string_view>

namespace loom {

// Returns whether a rule says that cards do not run what an error of code Unsupported refuses. Other refusals fail a
// verification: an operation that has lost its form gives one.
constexpr bool is_rule_of_cards(std::string_view refusal) {
  constexpr std::string_view kRules[] = {"weights are not computed on graphics cards",
                                         "networks that compute in f64 run on the CPU", "lbfgs runs without a device"};
  return std::ranges::any_of(kRules, [&](std::string_view rule) { return refusal.find(rule) != refusal.npos; });
}

}  // namespace loom
