#include "lm/entity_fields.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/base64.h"
#include "core/config_reader.h"
#include "core/json.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "lm/model_entity.h"

namespace loom {
namespace {

constexpr std::string_view kRopeTypes[] = {"none", "linear", "llama3", "yarn"};  // as RopeScalingType

// f(key, member) for every key.
void config_fields(auto& c, auto&& f) {
  f("architecture", c.architecture);
  f("hidden_size", c.hidden_size);
  f("intermediate_size", c.intermediate_size);
  f("num_hidden_layers", c.num_hidden_layers);
  f("num_attention_heads", c.num_attention_heads);
  f("num_key_value_heads", c.num_key_value_heads);
  f("head_dim", c.head_dim);
  f("vocab_size", c.vocab_size);
  f("max_position_embeddings", c.max_position_embeddings);
  f("rms_norm_eps", c.rms_norm_eps);
  f("rope_theta", c.rope_theta);
  f("partial_rotary_factor", c.partial_rotary_factor);
  f("rope_type", c.rope_scaling.type);
  f("rope_factor", c.rope_scaling.factor);
  f("rope_low_freq_factor", c.rope_scaling.low_freq_factor);
  f("rope_high_freq_factor", c.rope_scaling.high_freq_factor);
  f("rope_original_max_position_embeddings", c.rope_scaling.original_max_position_embeddings);
  f("rope_beta_fast", c.rope_scaling.beta_fast);
  f("rope_beta_slow", c.rope_scaling.beta_slow);
  f("rope_attention_factor", c.rope_scaling.attention_factor);
  f("rope_freq_factors", c.rope_freq_factors);
  f("sliding_window", c.sliding_window);
  f("layer_slides", c.layer_slides);
  f("qkv_bias", c.qkv_bias);
  f("o_bias", c.o_bias);
  f("mlp_bias", c.mlp_bias);
  f("qk_norm", c.qk_norm);
  f("tie_word_embeddings", c.tie_word_embeddings);
  f("hidden_act", c.hidden_act);
  f("bos_token_id", c.bos_token_id);
  f("pad_token_id", c.pad_token_id);
  f("eos_token_ids", c.eos_token_ids);
}

void vocab_fields(auto& v, auto&& f) {
  f("model", v.model);
  f("pre", v.pre);
  f("tokens", v.tokens);
  f("scores", v.scores);
  f("types", v.types);
  f("merges", v.merges);
  f("bos", v.bos);
  f("eos", v.eos);
  f("unk", v.unk);
  f("sep", v.sep);
  f("pad", v.pad);
  f("cls", v.cls);
  f("mask", v.mask);
  f("add_bos", v.add_bos);
  f("add_eos", v.add_eos);
  f("add_sep", v.add_sep);
  f("add_space_prefix", v.add_space_prefix);
  f("remove_extra_whitespaces", v.remove_extra_whitespaces);
  f("blanks_go_with_markers", v.blanks_go_with_markers);
}

// ---- to JSON: what is absent is left out, so that a text has one meaning ----

Json json_of(const std::string& v) { return v; }
Json json_of(bool v) { return v; }
Json json_of(std::int64_t v) { return v; }
Json json_of(std::int32_t v) { return v; }
Json json_of(std::uint8_t v) { return static_cast<std::int64_t>(v); }
Json json_of(float v) { return static_cast<double>(v); }
Json json_of(double v) { return v; }
Json json_of(RopeScalingType v) { return std::string(kRopeTypes[static_cast<std::size_t>(v)]); }
template <class T>
Json json_of(const std::vector<T>& v) {
  Json list = Json::array();
  for (const T& item : v) list.push_back(json_of(item));
  return list;
}

struct Writer {
  Json& out;
  template <class T>
  void operator()(const char* key, const T& v) {
    out[key] = json_of(v);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& v) {
    if (v) out[key] = json_of(*v);
  }
};

// ---- from JSON ----

bool take(const Json& j, std::string& to) {
  const std::string* text = as_string(j);
  if (text) to = *text;
  return text != nullptr;
}
bool take(const Json& j, bool& to) {
  const auto v = as_bool(j);
  if (v) to = *v;
  return v.has_value();
}
template <class Int>
bool take_int(const Json& j, Int& to) {
  const auto v = j.is_number_integer() ? as_int(j) : std::nullopt;
  if (!v || *v < std::numeric_limits<Int>::min() || *v > std::numeric_limits<Int>::max()) return false;
  to = static_cast<Int>(*v);
  return true;
}
bool take(const Json& j, std::int64_t& to) { return take_int(j, to); }
bool take(const Json& j, std::int32_t& to) { return take_int(j, to); }
bool take(const Json& j, std::uint8_t& to) { return take_int(j, to); }
bool take(const Json& j, double& to) {
  const auto v = as_number(j);
  if (v) to = *v;
  return v.has_value();
}
bool take(const Json& j, float& to) {
  const auto v = as_number(j);
  if (!v || std::abs(*v) > static_cast<double>(std::numeric_limits<float>::max())) return false;
  to = static_cast<float>(*v);
  return true;
}
bool take(const Json& j, RopeScalingType& to) {
  const std::string* text = as_string(j);
  for (std::size_t i = 0; text && i < std::size(kRopeTypes); ++i)
    if (*text == kRopeTypes[i]) {
      to = static_cast<RopeScalingType>(i);
      return true;
    }
  return false;
}
template <class T>
bool take(const Json& j, std::vector<T>& to) {
  if (!j.is_array()) return false;
  to.reserve(j.size());
  for (const Json& item : j) {
    T v{};
    if (!take(item, v)) return false;
    to.push_back(std::move(v));
  }
  return true;
}

struct Reader {
  const Json& in;
  std::size_t used = 0;
  std::optional<Error> error{};

  template <class T>
  void operator()(const char* key, T& to) {
    const Json* value = find(in, key);
    if (!value && !error) error = Error{Code::CorruptData, "is missing", Steps{key}};
    if (value) read(key, *value, to);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& to) {
    if (const Json* value = find(in, key)) read(key, *value, to.emplace());
  }
  // Every key was one of ours.
  Result<void> finish() {
    if (error) return tl::make_unexpected(*std::move(error));
    if (used != in.size()) return fail(Code::UnknownKey, "{} keys are unknown", in.size() - used);
    return {};
  }

 private:
  template <class T>
  void read(const char* key, const Json& value, T& to) {
    ++used;
    if (!take(value, to) && !error) error = Error{Code::CorruptData, shown(value) + " is no such value", Steps{key}};
  }
};

// ---- long lists ----

// Returns the text after an opening quote, up to the closing one, and moves `at` after that. Nothing for text that is
// not canonical JSON.
std::optional<std::string> take_text(std::string_view json, std::size_t& at) {
  constexpr std::string_view kLetters = "bfnrt\"\\", kMeant = "\b\f\n\r\t\"\\";
  std::string out;
  for (std::size_t run = at; at < json.size(); ++at) {
    const char c = json[at];
    if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
    if (c != '"' && c != '\\') continue;
    out.append(json, run, at - run);
    if (c == '"') {
      ++at;
      return is_utf8(out) ? std::optional(std::move(out)) : std::nullopt;
    }
    const std::size_t letter = at + 1 < json.size() ? kLetters.find(json[at + 1]) : kLetters.npos;
    if (letter == kLetters.npos) return std::nullopt;
    out += kMeant[letter];
    ++at, run = at + 1;
  }
  return std::nullopt;
}

std::optional<std::int32_t> take_number(std::string_view json, std::size_t& at) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(json.data() + at, json.data() + json.size(), value);
  if (error != std::errc() || (json[at] == '0' && end != json.data() + at + 1) || json[at] == '-') return std::nullopt;
  at = static_cast<std::size_t>(end - json.data());
  return value;
}

// Takes the items of a list out of canonical JSON, which keeps an empty list. A general parser makes a value of each
// item, which takes several times as long; where anything is unexpected it stays, and that parser says what is wrong.
template <class T, class Take>
std::optional<std::vector<T>> cut_list(std::string& json, std::string_view key, Take take) {
  const std::string opening = fmt::format(",\"{}\":[", key);  // a quote inside of a text has a backslash before it
  const std::size_t found = json.find(opening), begin = found + opening.size();
  if (found == json.npos) return std::nullopt;
  std::vector<T> items;
  for (std::size_t at = begin; at < json.size(); ++at) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (json[at++] != '"') return std::nullopt;
    }
    std::optional<T> item = take(json, at);
    if (!item || at >= json.size()) return std::nullopt;
    items.push_back(std::move(*item));
    if (json[at] == ',') continue;
    if (json[at] != ']') return std::nullopt;
    json.erase(begin, at - begin);
    return items;
  }
  return std::nullopt;
}

}  // namespace

Json config_to_entity(const ModelConfig& config) {
  Json out = Json::object();
  config_fields(config, Writer{out});
  return out;
}

Result<ModelConfig> config_from_entity(const Json& transformer) {
  if (!transformer.is_object()) return fail(Code::CorruptData, "expected an object");
  ModelConfig config;
  Reader reader{transformer};
  config_fields(config, reader);
  LOOM_TRY_VOID(reader.finish());
  config.inner_norm = config.architecture == "bitnet";  // follows from the family, like the packing, which is not kept
  LOOM_TRY_VOID(check(config));
  return config;
}

Json vocab_to_entity(const text::VocabSpec& vocab) {
  Json out = Json::object();
  vocab_fields(vocab, Writer{out});
  out["precompiled_charsmap"] = base64_encode(std::as_bytes(std::span(vocab.precompiled_charsmap)));
  return out;
}

Result<text::VocabSpec> vocab_from_entity(std::string text) {
  auto tokens = cut_list<std::string>(text, "tokens", take_text);
  auto merges = cut_list<std::string>(text, "merges", take_text);
  auto types = cut_list<std::int32_t>(text, "types", take_number);
  LOOM_TRY(const Json json, parse_json(text));
  if (!json.is_object()) return fail(Code::CorruptData, "expected an object");
  text::VocabSpec vocab;
  Reader reader{json};
  vocab_fields(vocab, reader);
  std::string map;
  reader("precompiled_charsmap", map);
  LOOM_TRY_VOID(reader.finish());
  auto bytes = base64_decode(map);
  if (!bytes) return under({"precompiled_charsmap"}, std::move(bytes).error());
  if (tokens) vocab.tokens = std::move(*tokens);
  if (merges) vocab.merges = std::move(*merges);
  if (types) vocab.types = std::move(*types);
  vocab.precompiled_charsmap.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return vocab;
}

}  // namespace loom
