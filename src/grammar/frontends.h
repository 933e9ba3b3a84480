#pragma once
// The compilers of grammars into rules. Internal to grammar/.

#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"
#include "grammar/rules.h"

namespace loom::grammar {

// Adds the rules of the text and returns the one that the text must satisfy.
Result<RuleId> compile_gbnf(std::string_view text, Rules& rules);
Result<RuleId> compile_schema(const Json& schema, Rules& rules);
// Compiles a schema inside of another one, to which its references refer.
Result<RuleId> compile_schema_part(const Json& root, const Json& part, Rules& rules);

// A regular expression as a machine over sets of code points, state 0 first.
struct PatternMachine {
  struct Edge {
    std::uint32_t set = 0, to = 0;
  };
  struct State {
    std::vector<Edge> edges{};
    bool accepts = false;
  };
  std::vector<State> states;
  std::vector<CharSet> sets;

  static constexpr std::size_t kMostStates = std::size_t{1} << 14, kMostEdges = std::size_t{1} << 17;
};
// `is_whole`: the pattern matches all of a text, else some part of it (JSON Schema). ECMA-262 syntax with the u flag:
//   literals, . [..] \d \D \w \W \s \S \p{..} \P{..} \n \r \t \f \v \0 \xHH \uHHHH \u{H..} \cX
//   (..) (?:..) (?<name>..) | * + ? {m,n} and the lazy forms, ^ and $ anywhere
// InvalidArgument with the place for bad syntax and, by name, for back references, look-around and \b.
Result<PatternMachine> compile_pattern(std::string_view pattern, bool is_whole);
// The texts that both machines take.
Result<PatternMachine> intersection(const PatternMachine& a, const PatternMachine& b);
// The texts of `min` to `max` code points.
PatternMachine length_machine(std::uint32_t min, std::uint32_t max);

}  // namespace loom::grammar
