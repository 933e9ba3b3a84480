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
  return config;
}

}  // namespace loom
