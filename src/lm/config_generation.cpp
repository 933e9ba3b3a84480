// generation_config.json of transformers: which fields change an answer.

#include <algorithm>

#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "lm/model_config.h"

namespace loom {
namespace {

// Fields of transformers' GenerationConfig that its generate() reads and Loom's answers do not: sampling, lengths and
// stops come from the caller's options (temperature, top_k, ... are recorded defaults), the rest is about how and where
// it runs.
constexpr std::string_view kGenerationIgnorable[] = {"_from_model_config",
                                                     "transformers_version",
                                                     "assistant_confidence_threshold",
                                                     "assistant_early_exit",
                                                     "assistant_ensemble_weight",
                                                     "assistant_lookbehind",
                                                     "bos_token_id",
                                                     "cache_config",
                                                     "cache_implementation",
                                                     "chat_format",
                                                     "compile_config",
                                                     "continuous_batching_config",
                                                     "decoder_start_token_id",
                                                     "disable_compile",
                                                     "do_sample",
                                                     "early_stopping",
                                                     "epsilon_cutoff",
                                                     "eta_cutoff",
                                                     "is_assistant",
                                                     "length_penalty",
                                                     "low_memory",
                                                     "max_cache_len",
                                                     "max_length",
                                                     "max_matching_ngram_size",
                                                     "max_new_tokens",
                                                     "max_time",
                                                     "min_p",
                                                     "num_assistant_tokens",
                                                     "num_assistant_tokens_schedule",
                                                     "num_return_sequences",
                                                     "output_attentions",
                                                     "output_hidden_states",
                                                     "output_logits",
                                                     "output_scores",
                                                     "pad_token_id",
                                                     "prefill_chunk_size",
                                                     "prompt_lookup_num_tokens",
                                                     "remove_invalid_values",
                                                     "renormalize_logits",
                                                     "repetition_penalty",
                                                     "return_dict_in_generate",
                                                     "speculation_type",
                                                     "target_lookbehind",
                                                     "temperature",
                                                     "top_h",
                                                     "top_k",
                                                     "top_p",
                                                     "trust_remote_code",
                                                     "typical_p",
                                                     "unk_token_id",
                                                     "use_cache",
                                                     "use_mtp"};
// Fields that forbid, force or weigh tokens: an answer without them would be another one.
struct Neutral {
  std::string_view name;
  double value;  // besides null, false, 0 and empty lists
};
constexpr Neutral kGenerationOff[] = {{"bad_words_ids", 0},
                                      {"begin_suppress_tokens", 0},
                                      {"constraints", 0},
                                      {"diversity_penalty", 0},
                                      {"dola_layers", 0},
                                      {"encoder_no_repeat_ngram_size", 0},
                                      {"encoder_repetition_penalty", 1},
                                      {"exponential_decay_length_penalty", 0},
                                      {"force_words_ids", 0},
                                      {"forced_bos_token_id", 0},
                                      {"forced_eos_token_id", 0},
                                      {"guidance_scale", 1},
                                      {"min_length", 0},
                                      {"min_new_tokens", 0},
                                      {"no_repeat_ngram_size", 0},
                                      {"num_beam_groups", 1},
                                      {"num_beams", 1},
                                      {"penalty_alpha", 0},
                                      {"sequence_bias", 0},
                                      {"stop_strings", 0},
                                      {"suppress_tokens", 0},
                                      {"token_healing", 0},
                                      {"watermarking_config", 0}};

// A field of the table, with its value.
Result<void> check_neutral(const Neutral& field, const std::string& key, const Json& value, std::string_view file) {
  if (value.is_null() || as_bool(value) == false) return {};
  const auto number = as_number(value);
  const bool is_id = key.starts_with("forced_");
  if ((value.is_structured() && value.empty()) || (!is_id && number && (*number == 0 || *number == field.value)))
    return {};
  return fail_at({key}, Code::Unsupported, "{} is not supported; remove the key from {} to answer without it",
                 shown(value), file);
}

}  // namespace

Result<void> check_generation_config(const Json& generation) {
  if (!generation.is_object()) return fail(Code::InvalidConfig, "{}", expected("an object", generation));
  for (const auto& [key, value] : *generation.get_ptr<const Json::object_t*>()) {
    if (key == "eos_token_id" || std::ranges::find(kGenerationIgnorable, key) != std::end(kGenerationIgnorable) ||
        value.is_null() || as_bool(value) == false)
      continue;
    const auto known = std::ranges::find(kGenerationOff, key, &Neutral::name);
    if (known == std::end(kGenerationOff))
      return fail_at({printable(key)}, Code::UnknownKey, "unknown key with the value {}; it might change answers",
                     shown(value));
    LOOM_TRY_VOID(check_neutral(*known, key, value, "generation_config.json"));
  }
  return {};
}

Result<void> check_generation_fields(const Json& config) {
  if (!config.is_object()) return {};
  for (const auto& [key, value] : *config.get_ptr<const Json::object_t*>())
    if (const auto known = std::ranges::find(kGenerationOff, key, &Neutral::name); known != std::end(kGenerationOff))
      LOOM_TRY_VOID(check_neutral(*known, key, value, "config.json"));
  return {};
}

}  // namespace loom
