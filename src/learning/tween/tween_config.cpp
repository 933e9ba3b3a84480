#include <array>

#include "core/json.h"
#include "core/nearest.h"
#include "learning/tween/tween.h"

namespace loom {
namespace {

// One visit finds the key, sets it, and says what stood in the way.
struct Reader {
  const std::string& key;
  const Json& value;
  bool known = false, fits = true;

  void operator()(std::string_view name, bool& to) { take(name, as_bool(value), to); }
  void operator()(std::string_view name, double& to) { take(name, as_number(value), to); }
  void operator()(std::string_view name, std::size_t& to) {
    const auto number = as_number(value);
    const bool whole = number && *number >= 0 && *number <= 0x1p53 && *number == static_cast<double>(static_cast<std::uint64_t>(*number));
    take(name, whole ? std::optional(static_cast<std::size_t>(*number)) : std::nullopt, to);
  }
  void operator()(std::string_view name, std::string& to) {
    take(name, value.is_string() ? std::optional(value.get_ref<const std::string&>()) : std::nullopt, to);
  }

 private:
  template <class T>
  void take(std::string_view name, const std::optional<T>& given, T& to) {
    if (name != key) return;
    known = true, fits = given.has_value();
    if (given) to = *given;
  }
};

std::vector<std::string_view> keys() {
  std::vector<std::string_view> names;
  TweenConfig any;
  TweenConfig::fields(any, [&](std::string_view name, const auto&) { names.push_back(name); });
  return names;
}

// Settings that some modes never read.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kModes = {{{"gradient_scale", "chain"},
                                                                                   {"weight_threshold", "layerwise dtp"},
                                                                                   {"slope", "layerwise dtp"},
                                                                                   {"slope_step", "layerwise dtp"},
                                                                                   {"target_scale", "layerwise dtp"},
                                                                                   {"estimate", "layerwise dtp"},
                                                                                   {"depth_scale_layerwise", "layerwise"},
                                                                                   {"momentum", "chain layerwise"},
                                                                                   {"feedback_steps", "dtp"},
                                                                                   {"feedback_noise", "dtp"},
                                                                                   {"feedback_learning_rate", "dtp"},
                                                                                   {"output_step", "dtp"}}};

}  // namespace

Result<TweenConfig> tween_config_from_json(const Json& json) {
  if (!json.is_object()) return fail(Code::InvalidConfig, "tween: an object of settings expected");
  TweenConfig config;
  for (const auto& [key, value] : json.items()) {
    Reader reader{key, value};
    TweenConfig::fields(config, reader);
    if (key == "learning_rate" || key == "batch_size") return fail(Code::UnknownKey, "tween: {} is a key of the run, beside \"tween\"", key);
    if (!reader.known) return fail(Code::UnknownKey, "tween: no setting is named \"{}\"; nearest: {}", printable(key), nearest_names(key, keys()));
    if (!reader.fits) return fail(Code::InvalidConfig, "tween: {} has a value of another type or range", key);
  }
  const std::string given = folded_name(config.mode);
  const std::string_view mode = given.empty() ? config.use_chain_rule ? "chain" : "layerwise" : given == "pure" ? "layerwise" : std::string_view(given);
  if (mode != "chain" && mode != "layerwise" && mode != "dtp") return config;  // TweenSession::create names the modes
  if (json.contains("use_chain_rule") && config.use_chain_rule != (mode == "chain"))
    return fail(Code::InvalidConfig, "tween: use_chain_rule {} contradicts mode {}", config.use_chain_rule, mode);
  for (const auto& [key, modes] : kModes)
    if (json.contains(key) && modes.find(mode) == modes.npos)
      return fail(Code::InvalidConfig, "tween: {} is not read in mode {}, only in {}", key, mode, modes == "layerwise dtp" ? "layerwise and dtp" : modes == "chain layerwise" ? "chain and layerwise" : modes);
  return config;
}

}  // namespace loom
