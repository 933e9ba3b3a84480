#include "host/export_model.h"

#include <algorithm>
#include <cstdlib>

#include "core/file.h"
#include "core/folder.h"
#include "core/json.h"
#include "core/system.h"
#include "dtypes/block_formats.h"
#include "io/gguf/gguf_writer.h"
#include "io/safetensors/safetensors.h"
#include "lm/model_entity.h"
#include "lm/language_model.h"
#include "text/tokenizer/json_writer.h"

namespace loom {
namespace {

using Bytes = std::vector<std::byte>;

// The type that a tensor is written in: norms and biases stay float32, matrices take the type asked for.
DType written_type(const SourceTensor& t, const ExportOptions& options) {
  return is_matrix(t.place.role) ? options.dtype.value_or(t.dtype) : DType::float32;
}

// A tensor's rows in `dtype`; row r is at place_of(r).
template <class PlaceOf>
Result<Bytes> encoded(const DecoderSource& source, const SourceTensor& t, DType dtype, const Stop& stop,
                      PlaceOf place_of) {
  LOOM_TRY(const Matrix m, source_matrix(t, source_row_order(source, t), nullptr, stop));
  LOOM_TRY(const std::size_t stride, row_bytes(dtype, m.cols()));
  Bytes out(stride * m.rows());
  std::vector<float> row(m.cols());
  StopCheck check(stop);
  for (std::size_t r = 0; r < m.rows() && !check.before(m.cols()); ++r) {
    m.decode_row(r, row.data());
    LOOM_TRY_VOID(encode_row(dtype, row, out.data() + place_of(r) * stride));
  }
  LOOM_TRY_VOID(check.end());
  return out;
}

Result<void> told(const ExportOptions& options, std::size_t done, std::size_t total) {
  if (options.progress && !options.progress(done, total))
    return fail(Code::Cancelled, "interrupted; nothing was written");
  return {};
}

void set_vocab(GgufWriter& writer, const text::VocabSpec& v) {
  const std::string at = "tokenizer.ggml.";
  writer.set(at + "model", v.model);
  if (!v.pre.empty()) writer.set(at + "pre", v.pre);
  writer.set(at + "tokens", std::vector<std::string_view>(v.tokens.begin(), v.tokens.end()));
  if (!v.scores.empty()) writer.set(at + "scores", v.scores);
  if (!v.types.empty()) writer.set(at + "token_type", v.types);
  if (!v.merges.empty()) writer.set(at + "merges", std::vector<std::string_view>(v.merges.begin(), v.merges.end()));
  if (!v.precompiled_charsmap.empty())
    writer.set(at + "precompiled_charsmap",
               std::vector<std::uint8_t>(v.precompiled_charsmap.begin(), v.precompiled_charsmap.end()));
  for (const auto& [key, id] :
       {std::pair("bos_token_id", v.bos), std::pair("eos_token_id", v.eos), std::pair("unknown_token_id", v.unk),
        std::pair("seperator_token_id", v.sep), std::pair("padding_token_id", v.pad), std::pair("cls_token_id", v.cls),
        std::pair("mask_token_id", v.mask)})
    if (id) writer.set(at + key, static_cast<std::uint32_t>(*id));
  for (const auto& [key, flag] :
       {std::pair("add_bos_token", v.add_bos), std::pair("add_eos_token", v.add_eos),
        std::pair("add_sep_token", v.add_sep), std::pair("add_space_prefix", v.add_space_prefix),
        std::pair("remove_extra_whitespaces", v.remove_extra_whitespaces)})
    if (flag) writer.set(at + key, *flag);
}

// Returns the family in GGUF's words; Unsupported for what its keys cannot say.
Result<std::string> gguf_architecture(const ModelConfig& c) {
  std::string name = c.architecture == "mistral" ? "llama" : c.architecture;
  if (name != "llama" && name != "qwen2" && name != "qwen3")
    return fail(Code::Unsupported, "a {} model: llama, mistral, qwen2 and qwen3 can be GGUF files", c.architecture);
  if (c.inner_norm || c.qk_norm != (name == "qwen3") || c.qkv_bias != (name == "qwen2"))
    return fail(Code::Unsupported, "norms or biases that GGUF's {} has no place for", name);
  if (c.sliding_window > 0 && name != "llama")
    return fail(Code::Unsupported, "a sliding window: which layers of {} slide is not in a GGUF file", name);
  for (const std::uint8_t slides : c.layer_slides)
    if (c.sliding_window > 0 && slides == 0)
      return fail(Code::Unsupported, "layers without the sliding window of others");
  if (c.rope_scaling.type == RopeScalingType::Llama3)
    return fail(Code::Unsupported, "rope_scaling llama3 would need a tensor of factors");
  if (c.partial_rotary_factor != 1) return fail(Code::Unsupported, "heads that are rotated in part");
  if (c.hidden_act != "silu") return fail(Code::Unsupported, "the activation {}", c.hidden_act);
  return name;
}

void set_config(GgufWriter& writer, const ModelConfig& c, const std::string& name) {
  const auto u32 = [&](const char* key, std::int64_t value) {
    writer.set(name + "." + key, static_cast<std::uint32_t>(value));
  };
  const auto f32 = [&](const char* key, double value) { writer.set(name + "." + key, static_cast<float>(value)); };
  writer.set("general.architecture", name);
  writer.set("general.type", "model");
  u32("block_count", c.num_hidden_layers);
  u32("context_length", c.max_position_embeddings);
  u32("embedding_length", c.hidden_size);
  u32("feed_forward_length", c.intermediate_size);
  u32("attention.head_count", c.num_attention_heads);
  u32("attention.head_count_kv", c.num_key_value_heads);
  u32("attention.key_length", c.head_dim);
  u32("attention.value_length", c.head_dim);
  u32("rope.dimension_count", c.head_dim);
  u32("vocab_size", c.vocab_size);
  f32("attention.layer_norm_rms_epsilon", static_cast<double>(c.rms_norm_eps));
  f32("rope.freq_base", c.rope_theta);
  if (c.sliding_window > 0) u32("attention.sliding_window", c.sliding_window);
  const RopeScaling& s = c.rope_scaling;
  if (s.type == RopeScalingType::None) return;
  writer.set(name + ".rope.scaling.type", s.type == RopeScalingType::Linear ? "linear" : "yarn");
  f32("rope.scaling.factor", s.factor);
  if (s.type != RopeScalingType::Yarn) return;
  u32("rope.scaling.original_context_length", s.original_max_position_embeddings);
  f32("rope.scaling.yarn_beta_fast", s.beta_fast);
  f32("rope.scaling.yarn_beta_slow", s.beta_slow);
  if (s.attention_factor) f32("rope.scaling.yarn_attn_factor", *s.attention_factor);
}

void set_templates(GgufWriter& writer, const ModelContents& contents) {
  constexpr const char* kKey = "tokenizer.chat_template";
  if (!contents.chat_template.empty()) writer.set(kKey, contents.chat_template);
  if (contents.named_templates.empty()) return;
  std::vector<std::string_view> names;
  for (const auto& [name, source] : contents.named_templates) {
    writer.set(fmt::format("{}.{}", kKey, name), std::string_view(source));
    names.push_back(name);
  }
  writer.set(fmt::format("{}s", kKey), names);
}

Result<void> write_text(const std::string& path, const std::string& text) {
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

// Moves settings that Loom keeps in a tokenizer.json to the config, where transformers has them.
Result<std::string> tokenizer_of_export(const std::string& tokenizer_json, Json& config) {
  constexpr std::pair<const char*, const char*> kMoved[] = {{"encode_special_tokens", "split_special_tokens"},
                                                            {"chat_control_tokens", "chat_control_tokens"}};
  const auto stands = [&](const auto& moved) { return tokenizer_json.find(moved.first) != std::string::npos; };
  if (std::ranges::none_of(kMoved, stands)) return tokenizer_json;
  LOOM_TRY(Json tokenizer, parse_json(tokenizer_json));
  for (const auto& [from, to] : kMoved)
    if (const Json* const value = find(tokenizer, from)) {
      config[to] = *value;
      tokenizer.erase(from);
    }
  return dump_json(tokenizer);
}

// Writes the tokenizer as it is used, so that no class changes it again, and the special tokens, which templates print.
Result<void> write_own_tokenizer(const std::string& folder, const ModelContents& contents) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  LOOM_TRY(const std::string tokenizer, tokenizer_of_export(contents.tokenizer_json, config));
  LOOM_TRY_VOID(write_text(folder + "/tokenizer.json", tokenizer));
  if (contents.bos_token && !contents.bos_token->empty()) config["bos_token"] = *contents.bos_token;
  if (contents.eos_token && !contents.eos_token->empty()) config["eos_token"] = *contents.eos_token;
  for (const auto& [name, text] : contents.special_tokens)
    (name.ends_with("_token") ? config : config["model_specific_special_tokens"])[name] = text;
  return write_text(folder + "/tokenizer_config.json", dump_json(config, 1) + "\n");
}

// chat_template.jinja, and additional_chat_templates/NAME.jinja for the others.
Result<void> write_templates(const std::string& folder, const ModelContents& contents) {
  if (!contents.chat_template.empty())
    LOOM_TRY_VOID(write_text(folder + "/chat_template.jinja", contents.chat_template));
  if (contents.named_templates.empty()) return {};
  const std::string more = folder + "/additional_chat_templates";
  LOOM_TRY_VOID(create_folders(more));
  for (const auto& [name, source] : contents.named_templates) {
    if (name.empty() || name.find_first_of("/\\:") != name.npos || name[0] == '.')
      return fail(Code::Unsupported, "the chat template \"{}\" has a name that no file can have", name);
    LOOM_TRY_VOID(write_text(fmt::format("{}/{}.jinja", more, name), source));
  }
  return {};
}

// Neither format has a place for adapters, and without them the answers are others.
Result<ModelContents> read_plain(const std::string& model) {
  LOOM_TRY(ModelContents contents, read_model(model));
  if (!contents.adapters.empty())
    return fail(Code::Unsupported, "{}: its adapters have no place in what other programs read", model);
  return contents;
}

Result<ExportResult> result_of(const std::string& output, const std::string& format, const std::string& weights,
                               std::size_t tensors) {
  LOOM_TRY(const auto written, MappedFile::open(weights));
  Sha256 hash;
  hash.update(written->bytes());
  return ExportResult{output, format, written->bytes().size(), tensors, 0, hash.finish()};
}

}  // namespace

Result<ExportResult> export_gguf(const std::string& model, const std::string& output, const ExportOptions& options) {
  LOOM_TRY(const ModelContents contents, read_plain(model));
  const DecoderSource& source = contents.source;
  const ModelConfig& c = source.config;
  LOOM_TRY(const std::string name, gguf_architecture(c));
  if (!contents.vocab)
    return fail(Code::Unsupported, "the tokenizer is {}, which GGUF's vocabularies do not hold",
                contents.tokenizer_json.empty() ? "missing" : "a tokenizer.json");
  GgufWriter writer;
  set_config(writer, c, name);
  set_vocab(writer, *contents.vocab);
  set_templates(writer, contents);
  std::size_t done = 0;
  for (const SourceTensor& t : source.tensors) {
    const DType dtype = written_type(t, options);
    if (info(dtype).gguf < 0)
      return fail(Code::Unsupported, "tensor {}: GGUF has no {}; --dtype float16 writes another type", t.name,
                  loom::name(dtype));
    const bool turned = has_interleaved_rows(name, t.place.role);
    const bool is_plain =
        !t.packed && !t.bitnet_scale && dtype == t.dtype && turned == !source_row_order(source, t).empty();
    const std::string to = gguf_name(t.place);
    if (is_plain) {
      LOOM_TRY_VOID(writer.add_tensor(to, dtype, t.shape, t.bytes));
      ++done;
      continue;
    }
    const auto head_dim = static_cast<std::size_t>(c.head_dim);
    const auto produce = [&source, &t, &options, &done, dtype, turned, head_dim]() -> Result<Bytes> {
      LOOM_TRY_VOID(told(options, ++done, source.tensors.size()));
      auto bytes = encoded(source, t, dtype, options.stop,
                           [&](std::size_t r) { return turned && t.shape.size() == 2 ? gguf_row(r, head_dim) : r; });
      if (!bytes) return at(t.name, std::move(bytes).error());
      return bytes;
    };
    if (turned && t.shape.size() == 1)
      return fail(Code::Unsupported, "tensor {}: a bias of rows that GGUF turns", t.name);
    LOOM_TRY_VOID(writer.add_tensor(to, dtype, t.shape, produce));
  }
  LOOM_TRY_VOID(writer.write(output));
  return result_of(output, "gguf", output, source.tensors.size());
}

namespace {

// The shortest text of a float read as a double: 1e-05, not 9.999999747378752e-06.
double short_double(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

Json scaling_to_json(const RopeScaling& s) {
  constexpr const char* kNames[] = {"default", "linear", "llama3", "yarn"};
  Json out{{"rope_type", kNames[static_cast<std::size_t>(s.type)]}, {"factor", s.factor}};
  if (s.type == RopeScalingType::Llama3)
    out["low_freq_factor"] = s.low_freq_factor, out["high_freq_factor"] = s.high_freq_factor;
  if (s.type != RopeScalingType::Linear) out["original_max_position_embeddings"] = s.original_max_position_embeddings;
  if (s.type == RopeScalingType::Yarn) {
    out["beta_fast"] = s.beta_fast, out["beta_slow"] = s.beta_slow;
    if (s.attention_factor) out["attention_factor"] = *s.attention_factor;
  }
  return out;
}

Json folder_config(const ModelConfig& c, DType dtype) {
  const std::string& type = c.architecture;
  static const std::map<std::string, std::string> kClasses = {{"llama", "LlamaForCausalLM"},
                                                              {"mistral", "MistralForCausalLM"},
                                                              {"qwen2", "Qwen2ForCausalLM"},
                                                              {"qwen3", "Qwen3ForCausalLM"}};
  const auto known = kClasses.find(type);
  Json out{{"architectures", Json::array({known == kClasses.end() ? type : known->second})},
           {"model_type", type},
           {"hidden_size", c.hidden_size},
           {"intermediate_size", c.intermediate_size},
           {"num_hidden_layers", c.num_hidden_layers},
           {"num_attention_heads", c.num_attention_heads},
           {"num_key_value_heads", c.num_key_value_heads},
           {"head_dim", c.head_dim},
           {"vocab_size", c.vocab_size},
           {"max_position_embeddings", c.max_position_embeddings},
           {"rms_norm_eps", short_double(c.rms_norm_eps)},
           {"rope_theta", c.rope_theta},
           {"hidden_act", c.hidden_act},
           {"tie_word_embeddings", c.tie_word_embeddings},
           {"torch_dtype", name(dtype)}};
  if (c.rope_scaling.type != RopeScalingType::None) out["rope_scaling"] = scaling_to_json(c.rope_scaling);
  if (type == "llama") out["attention_bias"] = c.qkv_bias, out["mlp_bias"] = c.mlp_bias;
  if (type == "qwen3") out["attention_bias"] = c.qkv_bias;
  if (type == "mistral") out["sliding_window"] = c.sliding_window > 0 ? Json(c.sliding_window) : Json();
  // null is none, where an absent key would be the class's default
  const std::vector<std::int64_t>& eos = c.eos_token_ids;
  out["bos_token_id"] = c.bos_token_id >= 0 ? Json(c.bos_token_id) : Json();
  out["pad_token_id"] = c.pad_token_id >= 0 ? Json(c.pad_token_id) : Json();
  out["eos_token_id"] = eos.empty() ? Json() : eos.size() == 1 ? Json(eos[0]) : Json(eos);
  return out;
}

// Read back, it is the same config; else the format cannot express it.
Result<std::string> config_text(const ModelConfig& c, DType dtype) {
  const Json json = folder_config(c, dtype);
  auto read = config_from_json(json);
  if (!read) return fail(Code::Unsupported, "config.json cannot express the model: {}", read.error().text());
  if (!(config_to_entity(*read) == config_to_entity(c)))
    return fail(Code::Unsupported, "config.json of a {} cannot express all of the model's settings", c.architecture);
  return dump_json(json, 2) + "\n";
}

// Writes tokenizer.json as the model brings it, or from a GGUF's vocabulary, and tokenizer_config.json; a warning where
// there is none to write.
Result<std::vector<std::string>> write_tokenizer(const ModelContents& contents, const std::string& folder) {
  std::vector<std::string> warnings;
  if (!contents.tokenizer_json.empty()) {
    LOOM_TRY_VOID(write_own_tokenizer(folder, contents));
    return warnings;
  }
  const auto files = contents.vocab ? text::write_tokenizer_files(*contents.vocab)
                                    : Result<text::TokenizerFiles>(fail(Code::NotFound, "the model brings none"));
  if (!files) {
    warnings.push_back(fmt::format("{}: no tokenizer was written: {}", folder, files.error().text()));
    return warnings;
  }
  LOOM_TRY_VOID(write_text(folder + "/tokenizer.json", files->tokenizer_json));
  LOOM_TRY_VOID(write_text(folder + "/tokenizer_config.json", files->tokenizer_config_json));
  return warnings;
}

}  // namespace

Result<ExportResult> export_folder(const std::string& model, const std::string& output, const ExportOptions& options) {
  LOOM_TRY(const ModelContents contents, read_plain(model));
  const DecoderSource& source = contents.source;
  std::vector<Bytes> kept;
  SafetensorsWriter writer;
  writer.set_metadata("format", "pt");
  DType matrices = DType::float32;
  kept.reserve(source.tensors.size());
  for (const SourceTensor& t : source.tensors) {
    const std::string name = hf_name(t.place);
    if (name.empty()) return fail(Code::Unsupported, "tensor {} has no place in a Hugging Face folder", t.name);
    const DType dtype = written_type(t, options);
    if (is_matrix(t.place.role)) matrices = dtype;
    if (dtype != DType::float32 && dtype != DType::float16 && dtype != DType::bfloat16)
      return fail(Code::Unsupported, "tensor {}: transformers reads no {}; --dtype float16 writes another type", t.name,
                  loom::name(dtype));
  }
  LOOM_TRY(const std::string config, config_text(source.config, matrices));
  if (os::is_there(output + "/config.json") || os::is_there(output + "/model.safetensors"))
    return fail(Code::InvalidArgument, "{}: holds a model already", output);
  for (const SourceTensor& t : source.tensors) {
    LOOM_TRY_VOID(told(options, kept.size() + 1, source.tensors.size()));
    auto bytes = encoded(source, t, written_type(t, options), options.stop, [](std::size_t r) { return r; });
    if (!bytes) return at(t.name, std::move(bytes).error());
    kept.push_back(std::move(*bytes));
    LOOM_TRY_VOID(writer.add(hf_name(t.place), written_type(t, options), t.shape, kept.back()));
  }
  LOOM_TRY_VOID(create_folders(output));
  LOOM_TRY_VOID(writer.write(output + "/model.safetensors"));
  LOOM_TRY(std::vector<std::string> warnings, write_tokenizer(contents, output));
  LOOM_TRY_VOID(write_templates(output, contents));
  LOOM_TRY_VOID(write_text(output + "/config.json", config));  // last: without it there is no model
  LOOM_TRY(ExportResult result, result_of(output, "huggingface", output + "/model.safetensors", source.tensors.size()));
  result.warnings = std::move(warnings);
  return result;
}

}  // namespace loom
