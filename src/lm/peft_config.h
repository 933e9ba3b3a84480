#pragma once
// adapter_config.json of Hugging Face's PEFT (LoraConfig): which modules have adapters, their ranks and scales, and
// what PEFT does to the base model when it loads them.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "lm/model_config.h"
#include "text/regex/regex.h"

namespace loom {

// How a field of LoraConfig is treated: read, without effect on answers, or refused unless it is off (absent, null,
// false or empty).
enum class LoraFieldUse : std::uint8_t { Read, NoEffect, MustBeOff };
struct LoraField {
  std::string_view name;
  LoraFieldUse use;
  std::string_view reason;  // of NoEffect: why; of MustBeOff: what it would change
};
// Every field of LoraConfig in PEFT 0.21, and those that older versions wrote.
std::span<const LoraField> lora_fields();

// The part of a base matrix that `init_lora_weights` takes away before A and B are added: nothing, its largest singular
// triples, or the projection on its first `rank` columns.
enum class LoraStart : std::uint8_t { None, Pissa, Olora };

// A pattern of adapter_config.json, compiled once.
struct LoraPattern {
  text::Regex regex;
  double value = 0;
};

class LoraSettings {
 public:
  // Reads a folder's adapter_config.json. CorruptData for what PEFT would not accept, Unsupported with the key and what
  // to do for what Loom does not compute.
  static Result<LoraSettings> read(const std::string& folder, const ModelConfig& model);

  std::size_t rank = 0;  // where no pattern matches
  double alpha = 0;
  bool rank_stabilised = false, dora = false, bias_of_b = false, keeps_tie = false;
  LoraStart start = LoraStart::None;
  std::vector<std::string> modules_to_save;
  // Rows of a table that the file replaces, by the module's name.
  std::map<std::string, std::vector<std::int64_t>> trainable_tokens;

  // For a module such as "model.layers.0.self_attn.q_proj".
  Result<bool> has_adapter(std::string_view module) const;
  Result<std::size_t> rank_of(std::string_view module) const;
  // The adapter is scaled by alpha / rank.
  Result<double> alpha_of(std::string_view module, std::size_t module_rank) const;
  // Returns whether modules_to_save names the module or one that contains it.
  Result<bool> is_saved(std::string_view module) const;

 private:
  friend class LoraReader;
  Result<bool> is_targeted(std::string_view module) const;
  Result<bool> is_in_layers(std::string_view module) const;

  std::vector<std::string> targets_, excluded_;
  std::optional<text::Regex> target_pattern_, excluded_pattern_;
  std::vector<text::Regex> saved_patterns_;
  bool all_linear_ = false;
  std::optional<std::vector<std::int64_t>> layers_;
  std::vector<std::string> layers_pattern_;
  std::vector<LoraPattern> ranks_, alphas_;
};

}  // namespace loom
