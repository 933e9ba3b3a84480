#include "learning/master_clamp.h"

#include <algorithm>
#include <cmath>

#include "core/config_reader.h"
#include "core/json.h"

namespace loom {

Result<MasterClamp> master_clamp_from_json(const Json& json) {
  if (const std::string* text = as_string(json); text != nullptr) {
    if (*text == "auto") return MasterClamp{};
    if (*text == "none") return MasterClamp{MasterClamp::Rule::None};
  }
  const std::optional<double> limit = as_number(json);
  if (!limit || !(*limit > 0) || !(*limit <= 1e30))
    return fail(Code::InvalidConfig, "{}", expected("\"auto\", \"none\" or a number above 0", json));
  return MasterClamp{MasterClamp::Rule::Limit, *limit};
}

std::optional<double> master_limit(const MasterClamp& rule, const Weight& w) {
  const bool has_signs = w.dtype() == DType::binary || w.dtype() == DType::ternary;
  if (rule.rule == MasterClamp::Rule::None || w.role() != WeightRole::Matrix || !has_signs) return {};
  if (rule.rule == MasterClamp::Rule::Limit) return rule.limit;
  float largest = 0;
  for (const float v : w.master()) largest = std::max(largest, std::fabs(v));
  return 1.5 * static_cast<double>(largest);
}

Result<void> check_master_limit(const std::optional<double>& limit) {
  if (!limit || (*limit >= 0 && std::isfinite(*limit))) return {};
  return fail(Code::CorruptData, "checkpoint: a limit of {} for the entries of a master", *limit);
}

}  // namespace loom
