#include "lm/language_model.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "core/checked.h"
#include "core/fp_environment.h"
#include "dtypes/decode.h"
#include "io/byte_reader.h"
#include "io/gguf/gguf.h"
#include "io/gguf/gguf_keys.h"
#include "io/identify.h"
#include "io/network_file.h"
#include "io/safetensors/safetensors.h"
#include "lm/chat_files.h"
#include "lm/hub.h"
#include "lm/model_entity.h"
#include "lm/peft.h"
#include "lm/tokenizer_files.h"

namespace loom {
namespace {

constexpr std::string_view kModelsRead =
    "models that loom convert wrote, GGUF files of architectures llama (Llama 2/3, SmolLM2, TinyLlama, Mistral), qwen2 "
    "and qwen3, and Hugging Face folders of model types llama, mistral, qwen2, qwen3 and bitnet";

// Fills the front of a source on demand that holds a GGUF file; all of another file.
Result<void> fill_front(const ByteSource& source) {
  constexpr std::uint64_t kFront = std::uint64_t{1} << 20;
  LOOM_TRY_VOID(source.fill(kFront));
  return looks_like_gguf(source.bytes()) ? Result<void>() : source.fill(source.size());
}

// ---- GGUF ----

// An id that no vocabulary can have means that there is none: some converters write -1 so.
Result<void> read_id(const GgufKeys& in, const char* key, std::optional<std::int32_t>& to) {
  std::int64_t id = -1;
  LOOM_TRY_VOID(in.u32(key, id));
  if (id >= 0 && id < (1 << 24)) to = static_cast<std::int32_t>(id);
  return {};
}

Result<text::VocabSpec> gguf_vocab(const GgufFile& file) {
  const GgufKeys in(file, "tokenizer.ggml.");
  text::VocabSpec spec;
  LOOM_TRY_VOID(in.text("model", spec.model));
  LOOM_TRY_VOID(in.text("pre", spec.pre));
  LOOM_TRY_VOID(in.texts("tokens", spec.tokens));
  LOOM_TRY_VOID(in.texts("merges", spec.merges));
  if (spec.model.empty() || spec.tokens.empty())
    return fail(Code::NotFound, "the file holds no tokenizer (tokenizer.ggml.model, tokenizer.ggml.tokens)");
  LOOM_TRY_VOID(in.f32s("scores", spec.scores));
  LOOM_TRY_VOID(in.i32s("token_type", spec.types));
  LOOM_TRY_VOID(in.bytes("precompiled_charsmap", spec.precompiled_charsmap));
  for (const auto& [key, to] : {std::pair("bos_token_id", &spec.bos), std::pair("eos_token_id", &spec.eos),
                                std::pair("unknown_token_id", &spec.unk), std::pair("seperator_token_id", &spec.sep),
                                std::pair("padding_token_id", &spec.pad), std::pair("cls_token_id", &spec.cls),
                                std::pair("mask_token_id", &spec.mask)})
    LOOM_TRY_VOID(read_id(in, key, *to));
  for (const auto& [key, to] :
       {std::pair("add_bos_token", &spec.add_bos), std::pair("add_eos_token", &spec.add_eos),
        std::pair("add_sep_token", &spec.add_sep), std::pair("add_space_prefix", &spec.add_space_prefix),
        std::pair("remove_extra_whitespaces", &spec.remove_extra_whitespaces)})
    LOOM_TRY_VOID(in.boolean(key, *to));
  std::string name;
  LOOM_TRY_VOID(GgufKeys(file, "general.").text("name", name));
  spec.general_name(name);
  return spec;
}

Result<DecoderSource> gguf_source(const GgufFile& file) {
  DecoderSource source;
  LOOM_TRY(source.config, config_from_gguf(file));
  source.interleaved_qk = source.config.architecture == "llama";
  for (const GgufTensor& t : file.tensors()) {
    const auto place = place_from_gguf(t.name);
    if (!place)
      return fail(Code::Unsupported, "tensor {} has no place in a {} model", t.name, source.config.architecture);
    source.tensors.push_back(
        {std::string(t.name), *place, t.dtype, {t.shape().begin(), t.shape().end()}, t.bytes, file.source()});
    if (t.bytes.empty()) source.tensors.back().unread = t.size, source.tensors.back().offset = t.offset;
  }
  return source;
}

// ---- Hugging Face ----

Result<ModelConfig> folder_config(const FileSet& folder) {
  constexpr std::string_view kConfig = "config.json", kGeneration = "generation_config.json";
  LOOM_TRY(const Json json, read_json_file(folder, kConfig));
  auto config = config_from_json(json);
  if (!config) return at(folder.place_of(kConfig), std::move(config).error());
  if (folder.has(kGeneration)) {
    LOOM_TRY(const Json generation, read_json_file(folder, kGeneration));
    if (auto added = add_generation_config(*config, generation); !added)
      return at(folder.place_of(kGeneration), std::move(added).error());
  } else if (auto checked = check_generation_fields(json); !checked) {
    return at(folder.place_of(kConfig), std::move(checked).error());
  }
  return config;
}

bool is_linear(TensorRole role) {
  return role != TensorRole::Embedding && role != TensorRole::Head && role != TensorRole::RopeFactors;
}

// One number in a tensor of its own.
Result<float> scale_value(const SafeTensor& t) {
  std::size_t elements = 1;
  for (const std::size_t d : t.shape) elements *= d;
  const bool is_float = t.dtype == DType::float32 || t.dtype == DType::float16 || t.dtype == DType::bfloat16;
  if (elements != 1 || !is_float)
    return fail(Code::ShapeMismatch, "tensor {} holds {} {} values, expected one float", t.name, elements,
                name(t.dtype));
  float value = 0;
  decode_to_float(t.dtype, t.bytes.data(), &value, 1);
  return value;
}

// Marks the packed ternary weights of a BitNet checkpoint and gives each its scale; strict both ways.
Result<void> join_scales(DecoderSource& source, std::map<std::string, float> scales) {
  for (SourceTensor& t : source.tensors) {
    if (t.dtype != DType::uint8 || !is_linear(t.place.role)) continue;
    const auto found = scales.find(t.name + "_scale");
    if (found == scales.end()) return fail(Code::NotFound, "tensor {}_scale is missing", t.name);
    if (t.shape.size() != 2)
      return fail(Code::ShapeMismatch, "tensor {} has {} axes, expected 2", t.name, t.shape.size());
    LOOM_TRY(t.shape[0], checked_mul(t.shape[0], 4));
    t.dtype = DType::ternary;
    t.bitnet_scale = source.config.ternary_weights == TernaryWeights::Divided ? 1.0f / found->second : found->second;
    scales.erase(found);
  }
  if (!scales.empty()) return fail(Code::Unsupported, "tensor {} belongs to no packed weight", scales.begin()->first);
  return {};
}

// A tied head that is stored all the same is the embedding once more. Of one that differs transformers 4 takes the
// embedding and 5 the head.
Result<void> drop_tied_head(DecoderSource& source) {
  const auto with_role = [&](TensorRole role) {
    return std::find_if(source.tensors.begin(), source.tensors.end(),
                        [&](const SourceTensor& t) { return t.place.role == role; });
  };
  const auto head = with_role(TensorRole::Head), table = with_role(TensorRole::Embedding);
  if (head == source.tensors.end()) return {};
  const bool same = table != source.tensors.end() && table->dtype == head->dtype && table->shape == head->shape &&
                    std::equal(table->bytes.begin(), table->bytes.end(), head->bytes.begin(), head->bytes.end());
  if (!same)
    return fail(Code::Unsupported, "tensor {} differs from the embedding, though tie_word_embeddings is true",
                head->name);
  source.tensors.erase(head);
  return {};
}

Result<DecoderSource> folder_source(const FileSet& folder) {
  DecoderSource source;
  LOOM_TRY(source.config, folder_config(folder));
  auto opened = SafetensorsModel::open(folder);
  if (!opened) return tl::make_unexpected(std::move(opened).error());
  const bool has_ternary = source.config.ternary_weights != TernaryWeights::None;
  std::map<std::string, float> scales;
  for (const SafetensorsFile& file : opened->files())
    for (const SafeTensor& t : file.tensors()) {
      if (is_ignorable_hf(t.name)) continue;
      if (has_ternary && t.name.ends_with(".weight_scale")) {
        auto scale = scale_value(t);
        if (!scale) return at(folder.name(), std::move(scale).error());
        scales[t.name] = *scale;
        continue;
      }
      const auto place = place_from_hf(t.name);
      if (!place)
        return fail(Code::Unsupported, "{}: tensor {} has no place in a {} model", folder.name(), t.name,
                    source.config.architecture);
      source.tensors.push_back({t.name, *place, t.dtype, t.shape, t.bytes, file.source()});
    }
  if (source.config.tie_word_embeddings)
    if (auto dropped = drop_tied_head(source); !dropped) return at(folder.name(), std::move(dropped).error());
  if (has_ternary)
    if (auto joined = join_scales(source, std::move(scales)); !joined)
      return at(folder.name(), std::move(joined).error());
  return source;
}

// The default template becomes that of the model, the others keep their names.
void take_templates(NamedTexts found, ModelContents& all) {
  if (auto one = found.extract(std::string(kDefaultTemplate))) all.chat_template = std::move(one.mapped());
  all.named_templates = std::move(found);
}

Result<ModelContents> folder_contents(const FileSet& folder) {
  constexpr std::string_view kTokenizer = "tokenizer.json", kTokenizerConfig = "tokenizer_config.json";
  ModelContents all;
  all.format = ModelFormat::HuggingFace;
  LOOM_TRY(all.source, folder_source(folder));
  all.tokenizer_place = folder.place_of(kTokenizer);
  LOOM_TRY(FolderTokenizer tokenizer, read_folder_tokenizer(folder));
  all.tokenizer_json = std::move(tokenizer.json);
  Json config = nullptr;
  if (folder.has(kTokenizerConfig)) {
    LOOM_TRY(config, read_json_file(folder, kTokenizerConfig));
  }
  LOOM_TRY(auto templates, folder_templates(folder, config));
  take_templates(std::move(templates), all);
  all.special_tokens = std::move(tokenizer.special_tokens);
  for (const auto& [name, to] : {std::pair("bos_token", &all.bos_token), std::pair("eos_token", &all.eos_token)}) {
    auto token = all.special_tokens.extract(name);
    *to = token ? std::move(token.mapped()) : std::string();
  }
  if (auto text = folder.text("LICENSE", std::size_t{1} << 20)) all.licence = std::move(*text);
  return all;
}

Result<ModelContents> gguf_contents(const std::shared_ptr<const ByteSource>& source) {
  ModelContents all;
  all.format = ModelFormat::Gguf;
  LOOM_TRY(GgufFile file, GgufFile::parse(source));
  // The config needs this tensor, which files have in front of the others.
  if (const GgufTensor* const factors = file.tensor("rope_freqs.weight"); factors && factors->bytes.empty()) {
    LOOM_TRY_VOID(source->fill(factors->offset + factors->size));
    LOOM_TRY(file, GgufFile::parse(source));
  }
  LOOM_TRY(all.source, gguf_source(file));
  if (auto vocab = gguf_vocab(file); vocab)
    all.vocab = std::move(*vocab);
  else if (vocab.error().code != Code::NotFound)
    return tl::make_unexpected(std::move(vocab).error());
  all.tokenizer_place = source->name();
  LOOM_TRY(auto templates, gguf_templates(file));
  take_templates(std::move(templates), all);
  if (const GgufValue* licence = file.find("general.license")) all.licence = as_string(*licence).value_or("");
  return all;
}

// ---- all ----

Result<std::shared_ptr<const text::Tokenizer>> tokenizer_of(const std::string& json,
                                                            std::optional<text::VocabSpec> vocab,
                                                            const std::string& place) {
  auto tokenizer = vocab ? text::Tokenizer::from_vocab(*std::move(vocab)) : text::Tokenizer::from_json(json);
  if (!tokenizer) return at(place, std::move(tokenizer).error());
  return std::make_shared<const text::Tokenizer>(std::move(*tokenizer));
}

// An error that names the path once.
Error with_path(const std::string& path, Error error) {
  return error.text().starts_with(path) ? error : error.in_source(path);
}

std::string text_of(const text::Tokenizer& tokenizer, std::optional<std::int32_t> id) {
  if (!id) return {};
  const std::int32_t one[] = {*id};
  return tokenizer.decode(one, {.skip_special_tokens = false});
}

// The named tokens of a GGUF's vocabulary that no text names.
NamedTexts tokens_of(const text::VocabSpec& vocab) {
  NamedTexts out;
  for (const auto& [name, id] :
       {std::pair("unk_token", vocab.unk), std::pair("sep_token", vocab.sep), std::pair("pad_token", vocab.pad),
        std::pair("cls_token", vocab.cls), std::pair("mask_token", vocab.mask)})
    if (id && static_cast<std::size_t>(*id) < vocab.tokens.size())
      out[name] = vocab.tokens[static_cast<std::size_t>(*id)];
  return out;
}

void parse_templates(LanguageModel& model, ModelContents& all) {
  if (!all.chat_template.empty()) {
    auto parsed = ChatTemplate::parse(std::move(all.chat_template));
    if (parsed)
      model.chat_template = std::move(*parsed);
    else
      model.template_error = std::move(parsed.error().in_source(model.path + ": chat template"));
  }
  for (auto& [name, source] : all.named_templates) {
    auto parsed = ChatTemplate::parse(std::move(source));
    if (!parsed) parsed.error().in_source(fmt::format("{}: chat template {}", model.path, name));
    model.named_templates.emplace(name, std::move(parsed));
  }
}

// Fails for a truncated or damaged file, and for one that holds no network (only prompts, for example).
Result<void> check_readable(const std::shared_ptr<const ByteSource>& source) {
  LOOM_TRY(const EntityReader file, EntityReader::parse(source));
  auto readable = check_holds_network(file);
  if (readable)
    if (auto network = file.section("network"); !network) readable = tl::make_unexpected(std::move(network).error());
  if (!readable) return at(source->name(), std::move(readable).error());
  return {};
}

Result<ModelFormat> format_of(const std::shared_ptr<const ByteSource>& source) {
  const std::string& path = source->name();
  LOOM_TRY_VOID(fill_front(*source));
  LOOM_TRY(const FileKind kind, kind_of(source->bytes(), path));
  switch (kind) {
    case FileKind::Gguf: return ModelFormat::Gguf;
    case FileKind::ModelEntity: return ModelFormat::Entity;
    case FileKind::Safetensors:
      if (auto file = SafetensorsFile::parse(source); !file) return at(path, std::move(file).error());
      return fail(Code::Unsupported, "{}: tensors without a config.json; give the model's folder", path);
    default: break;
  }
  if (!is_entity(kind))
    return fail(Code::Unsupported, "{}: no GGUF file (it does not begin with \"GGUF\"); Loom reads {}", path,
                kModelsRead);
  if (kind != FileKind::Loom08Entity) LOOM_TRY_VOID(check_readable(source));
  return fail(Code::Unsupported,
              "{}: an .entity that holds no language model; loom run, inspect and diff read networks", path);
}

// Files beside those that a folder in memory needs, some of which count only where others are missing.
Result<void> check_all_read(const FileSet& files) {
  for (const std::string& file : files.unread())
    if (file != "special_tokens_map.json" && file != "chat_template.json")
      return fail(Code::InvalidArgument,
                  "{}: no file that Loom reads; expected config.json, model.safetensors (or its index and shards), and "
                  "the tokenizer's files",
                  files.place_of(file));
  return {};
}

// Reads PEFT folders under numbers that no adapter of the model has for its name.
Result<std::vector<PeftDelta>> read_adapters(const ModelContents& all, const std::vector<std::string>& folders) {
  std::vector<PeftDelta> read;
  std::size_t number = 0;
  const auto is_taken = [&](const PeftDelta& known) { return known.config().name == fmt::format("{}", number); };
  for (const std::string& folder : folders) {
    while (std::ranges::any_of(all.adapters, is_taken)) ++number;
    LOOM_TRY(PeftDelta adapter, PeftDelta::read(folder, all.source.config));
    LOOM_TRY_VOID(adapter.rename(fmt::format("{}", number++)));
    read.push_back(std::move(adapter));
  }
  return read;
}

Result<void> build(LanguageModel& model, ModelContents all, const ModelOptions& options, ThreadPool& pool) {
  // Not beside the tensors: where memory runs out in a small request, what is thrown must not leave threads at work.
  if (all.vocab) all.special_tokens.merge(tokens_of(*all.vocab));
  if (all.vocab || !all.tokenizer_json.empty()) {
    auto tokenizer = tokenizer_of(all.tokenizer_json, std::move(all.vocab), all.tokenizer_place);
    if (tokenizer)
      model.tokenizer = *std::move(tokenizer);
    else
      model.tokenizer_error = with_path(model.path, std::move(tokenizer).error());
  }
  LOOM_TRY(std::vector<PeftDelta> adapters, read_adapters(all, options.adapters));
  for (std::size_t i = 0; i < adapters.size(); ++i)
    model.adapter_folders.emplace_back(adapters[i].config().name, options.adapters[i]);
  adapters.insert(adapters.begin(), all.adapters.begin(), all.adapters.end());
  std::vector<std::string> fixed;
  for (const PeftDelta& adapter : adapters)
    if (adapter.is_fixed()) fixed.push_back(adapter.config().name);
  if (!adapters.empty()) LOOM_TRY_VOID(settle_all(all.source, adapters));
  LOOM_TRY(DecoderModel decoder, build_decoder(all.source, pool, options.decoder));
  for (const PeftDelta& adapter : adapters) LOOM_TRY_VOID(load_peft(decoder, adapter));
  decoder.fixed_adapters = std::move(fixed);
  model.decoder = std::make_shared<DecoderModel>(std::move(decoder));
  const auto special = [&](const std::optional<std::string>& text, auto id) {
    return text ? *text : model.tokenizer ? text_of(*model.tokenizer, id(*model.tokenizer)) : std::string();
  };
  model.bos_token = special(all.bos_token, [](const text::Tokenizer& t) { return t.bos(); });
  model.eos_token = special(all.eos_token, [](const text::Tokenizer& t) { return t.eos(); });
  model.special_tokens = std::move(all.special_tokens);
  parse_templates(model, all);
  return {};
}

std::vector<std::int32_t> stop_ids(const LanguageModel& model) {
  std::vector<std::int32_t> ids;
  for (const std::int64_t id : model.decoder->config.eos_token_ids) ids.push_back(static_cast<std::int32_t>(id));
  if (model.tokenizer) {
    if (const auto eos = model.tokenizer->eos()) ids.push_back(*eos);
    // In models where <|return|> and <|call|> end an answer, <|end|> ends only one of its parts.
    const bool has_parts = model.tokenizer->id_of("<|return|>") && model.tokenizer->id_of("<|call|>");
    for (const std::string_view marker : text::end_markers())
      if (const auto id = model.tokenizer->id_of(marker); id && !(has_parts && marker == "<|end|>")) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// `read` gives the contents.
template <class Read>
Result<LanguageModel> loaded(const std::string& path, const Read& read, const ModelOptions& options) {
  const FpEnvironment environment;
  const auto begin = std::chrono::steady_clock::now();
  LOOM_TRY(ModelContents all, read());
  LOOM_TRY(const auto pool, ThreadPool::given_or_new(options.pool, options.threads));
  LanguageModel model;
  model.path = path;
  model.format = all.format;
  if (options.decoder.dtype) model.dtype = name(*options.decoder.dtype);
  if (auto built = build(model, std::move(all), options, *pool); !built)
    return tl::make_unexpected(with_path(path, std::move(built).error()));
  model.stop_ids = stop_ids(model);
  model.load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return model;
}

}  // namespace

Result<const text::Tokenizer*> LanguageModel::need_tokenizer() const {
  if (tokenizer) return tokenizer.get();
  if (tokenizer_error) return tl::make_unexpected(*tokenizer_error);
  return fail(Code::NotFound, "{}: the model brings no tokenizer", path);
}

Result<std::shared_ptr<const TokenTrie>> LanguageModel::token_trie(std::span<const std::int32_t> visible) const {
  LOOM_TRY_VOID(need_tokenizer());
  return token_tries->get(tokenizer, visible);
}

Result<const ChatTemplate*> LanguageModel::need_template(std::string_view name) const {
  if (const auto found = named_templates.find(std::string(name)); found != named_templates.end()) {
    if (!found->second) return tl::make_unexpected(found->second.error());
    return &*found->second;
  }
  if (chat_template && name == kDefaultTemplate) return &*chat_template;
  if (template_error && name == kDefaultTemplate) return tl::make_unexpected(*template_error);
  if (!named_templates.empty()) {
    std::string names = chat_template ? std::string(kDefaultTemplate) : "";
    for (const auto& [known, parsed] : named_templates) names += (names.empty() ? "" : ", ") + known;
    return fail(Code::NoTemplate, "{}: no chat template is called {}; --chat-template takes one of {}", path, name,
                names);
  }
  return fail(Code::NoTemplate, "{}: the model brings no chat template; loom generate --raw continues text", path);
}

Result<ModelFormat> model_format(const std::string& given) {
  LOOM_TRY(const std::string path, find_model(given));
  if (is_directory(path)) {
    LOOM_TRY(const Identified folder, identify(path));
    if (folder.kind == FileKind::EncoderFolder)
      return fail(Code::Unsupported, "{}: a text encoder, which writes no text; loom embed and welvet.Encoder read it",
                  path);
    if (folder.kind == FileKind::ModelFolder) return ModelFormat::HuggingFace;
    const std::string meant = models_below(path);
    if (!meant.empty()) return fail(Code::Unsupported, "{}: a folder without config.json{}", path, meant);
    return fail(Code::Unsupported, "{}: a folder without config.json; Loom reads {}", path, kModelsRead);
  }
  LOOM_TRY(const auto source, ByteSource::file(path));
  return format_of(source);
}

Result<ModelContents> read_model(const std::shared_ptr<const ByteSource>& source) {
  LOOM_TRY(const ModelFormat format, format_of(source));
  auto all = format == ModelFormat::Gguf ? gguf_contents(source) : read_model_entity(source);
  if (!all) return tl::make_unexpected(with_path(source->name(), std::move(all).error()));
  return all;
}

Result<ModelContents> read_model(const std::string& given) {
  LOOM_TRY(const std::string path, find_model(given));
  if (!is_directory(path)) {
    LOOM_TRY(const auto source, ByteSource::file(path));
    return read_model(source);
  }
  LOOM_TRY_VOID(model_format(path));
  auto all = folder_contents(FileSet::folder(path));
  if (!all) return tl::make_unexpected(with_path(path, std::move(all).error()));
  return all;
}

Result<LanguageModel> load_language_model(const std::string& path, const ModelOptions& options) {
  return loaded(path, [&] { return read_model(path); }, options);
}

Result<LanguageModel> load_language_model(std::shared_ptr<const ByteSource> source, const ModelOptions& options) {
  const std::string name = source->name();
  return loaded(name, [source = std::move(source)] { return read_model(source); }, options);
}

Result<LanguageModel> load_language_model(const FileSet& files, const ModelOptions& options) {
  const auto read = [&]() -> Result<ModelContents> {
    auto all = folder_contents(files);
    if (!all) return tl::make_unexpected(with_path(files.name(), std::move(all).error()));
    LOOM_TRY_VOID(check_all_read(files));
    return all;
  };
  return loaded(files.name(), read, options);
}

Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const std::shared_ptr<const ByteSource>& source) {
  const std::string& place = source->name();
  std::string json;
  std::optional<text::VocabSpec> vocab;
  LOOM_TRY_VOID(fill_front(*source));
  const auto kind = kind_of(source->bytes(), place);
  if (kind && *kind == FileKind::Gguf) {
    LOOM_TRY(const GgufFile gguf, GgufFile::parse(source));
    auto found = gguf_vocab(gguf);
    if (!found) return at(place, std::move(found).error());
    vocab = std::move(*found);
  } else if (kind && *kind == FileKind::ModelEntity) {
    LOOM_TRY_VOID(read_entity_tokenizer(source, json, vocab));
  } else {
    json = as_text(source->bytes());
  }
  return tokenizer_of(json, std::move(vocab), place);
}

Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const std::string& given) {
  LOOM_TRY(const std::string path, find_model(given));
  if (is_directory(path)) {
    LOOM_TRY(FolderTokenizer tokenizer, read_folder_tokenizer(FileSet::folder(path)));
    const std::string place = path + "/tokenizer.json";
    if (!tokenizer.json.empty()) return tokenizer_of(tokenizer.json, std::nullopt, place);
    return load_tokenizer(place);
  }
  LOOM_TRY(const auto source, ByteSource::file(path));
  return load_tokenizer(source);
}

}  // namespace loom
