#pragma once
// The range of the masters of binary and ternary matrices in training, by gradients and by targets alike (engine D-36):
// after each update an entry is in [-limit, limit]. The codes of these types say little more than a sign, so a master
// that has wandered far from 0 would take as long to come back before a code changes. Other types need no limit: their
// encoders saturate and their scales follow.

#include <optional>

#include "core/json_fwd.h"
#include "layers/weight.h"

namespace loom {

struct MasterClamp {
  enum class Rule : std::uint8_t { Auto, None, Limit } rule = Rule::Auto;
  double limit = 0;  // of Rule::Limit
};

// "auto", "none", or a number above 0. InvalidConfig.
Result<MasterClamp> master_clamp_from_json(const Json& json);

// The limit of this weight's master: by Auto 1.5 times the largest entry as it is now, when training begins; 0 leaves a
// master alone that has nothing but zeros. Absent where the rule does not meet the weight. A training keeps it in its
// checkpoints.
std::optional<double> master_limit(const MasterClamp& rule, const Weight& weight);
// CorruptData unless a limit from a checkpoint is one.
Result<void> check_master_limit(const std::optional<double>& limit);

}  // namespace loom
