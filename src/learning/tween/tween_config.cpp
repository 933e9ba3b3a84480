#include <array>

#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "learning/tween/tween.h"

namespace loom {
namespace {

// Settings that some modes never read.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kModes = {
    {{"gradient_scale", "chain"},
     {"weight_threshold", "layerwise mirror"},
     {"slope", "layerwise mirror"},
     {"slope_step", "layerwise mirror"},
     {"target_scale", "layerwise mirror"},
     {"estimate", "layerwise mirror"},
     {"depth_scale_layerwise", "layerwise"},
     {"momentum", "chain layerwise"},
     {"feedback_steps", "mirror dtp"},
     {"feedback_noise", "mirror dtp"},
     {"feedback_learning_rate", "mirror dtp"},
     {"output_step", "mirror dtp"}}};

// Keys that other settings switch off. `target_scale` beside estimate average is read by recurrent layers.
Result<void> check_effect(const Json& json, const TweenConfig& c) {
  const auto off = [&](const char* key, bool is_off, std::string_view by) -> Result<void> {
    if (!is_off || !json.contains(key)) return {};
    return fail_at({key}, Code::InvalidConfig, "has no effect {}", by);
  };
  LOOM_TRY_VOID(off("slope_step", c.slope == TweenSlope::Sign, "with slope sign, only with secant"));
  LOOM_TRY_VOID(off("depth_scale_factor", mode_of(c) != TweenMode::Chain && !c.depth_scale_layerwise,
                    "in this mode, only in chain and with depth_scale_layerwise"));
  for (const char* key : {"feedback_noise", "feedback_learning_rate"})
    LOOM_TRY_VOID(off(key, c.feedback_steps == 0, "with feedback_steps 0"));
  return {};
}

}  // namespace

Result<void> check_tween(const TweenConfig& c) {
  constexpr double kMost = 1e30;
  // below which the feedback weights do not diverge (docs/guide/tween.md)
  const double rates = mode_of(c) == TweenMode::Dtp ? 0.5 : 2;
  enum Ends : std::uint8_t { Closed, OpenAbove, OpenBelow };
  const struct {
    const char* key;
    double value, low, high;
    Ends ends = Closed;
  } ranges[] = {{"gradient_scale", c.gradient_scale, 0, kMost},
                {"depth_scale_factor", c.depth_scale_factor, 0, kMost},
                {"momentum", c.momentum, 0, 1, OpenAbove},
                {"activation_clamp", c.activation_clamp, 0, kMost},
                {"budget_threshold", c.budget_threshold, 0, 1},
                {"weight_threshold", c.weight_threshold, 0, kMost},
                {"slope_step", c.slope_step, 0, kMost},
                {"feedback_noise", c.feedback_noise.value_or(0), 0, kMost},
                {"feedback_learning_rate", c.feedback_learning_rate.value_or(0), 0, rates, OpenAbove},
                {"output_step", c.output_step, 0, kMost, OpenBelow}};
  for (const auto& [key, value, low, high, ends] : ranges) {
    const bool is_inside = value >= low && value <= high;  // NaN never is
    if (is_inside && !(ends == OpenAbove && value == high) && !(ends == OpenBelow && value == low)) continue;
    return fail_at({key}, Code::InvalidConfig, "expected a number {} {} {} {}, got {}",
                   ends == OpenBelow ? "above" : "from", low, ends == OpenAbove ? "to below" : "to", high, value);
  }
  return {};
}

TweenMode mode_of(const TweenConfig& config) {
  if (config.mode != TweenMode::ByChainRule) return config.mode;
  return config.use_chain_rule ? TweenMode::Chain : TweenMode::Layerwise;
}

std::string_view name(TweenMode mode) { return Key(kTweenModes[static_cast<std::size_t>(mode)]).first(); }

Result<TweenConfig> tween_config_from_json(const Json& json) {
  for (const char* key : {"learning_rate", "batch_size"})
    if (find(json, key) != nullptr) return fail_at({key}, Code::UnknownKey, "a key of the run, beside \"tween\"");
  TweenConfig config;
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& visit) { TweenConfig::fields(config, visit); }));
  const std::string_view mode = name(mode_of(config));
  if (json.contains("use_chain_rule") && config.use_chain_rule != (mode_of(config) == TweenMode::Chain))
    return fail_at({"use_chain_rule"}, Code::InvalidConfig, "{} contradicts mode {}", config.use_chain_rule, mode);
  for (const auto& [key, modes] : kModes) {
    if (!json.contains(key) || modes.find(mode) != modes.npos) continue;
    std::string readers(modes);
    if (const std::size_t second = readers.find(' '); second != readers.npos) readers.replace(second, 1, " and ");
    return fail_at({std::string(key)}, Code::InvalidConfig, "not read in mode {}, only in {}", mode, readers);
  }
  LOOM_TRY_VOID(check_effect(json, config));
  LOOM_TRY_VOID(check_tween(config));
  return config;
}

}  // namespace loom
