#pragma once
// The rules that the names of tokenizer.ggml.pre stand for.

#include <optional>
#include <string_view>
#include <vector>

namespace loom::text {

struct PreRules {
  std::vector<const char*> patterns;  // applied one after another, each to the pieces of the one before
  bool ignore_merges = false, add_bos = false;
};
// For a name, "" being "default"; nullopt for names that are not known.
std::optional<PreRules> pre_rules(std::string_view name);

}  // namespace loom::text
