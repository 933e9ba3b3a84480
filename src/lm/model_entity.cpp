#include "lm/model_entity.h"

#include <atomic>

#include "core/json.h"
#include "core/nearest.h"
#include "dtypes/decode.h"
#include "dtypes/quantize.h"
#include "io/byte_reader.h"
#include "io/entity/entity_tensors.h"
#include "lm/entity_fields.h"

namespace loom {
namespace {

constexpr std::uint64_t kWeightSection = std::uint64_t{1} << 20;
constexpr std::uint32_t kTokenizerJson = 0, kVocabulary = 1;  // indices of "tokenize"

Error cancelled() { return {Code::Cancelled, "interrupted; nothing was written"}; }

bool has_scales_or_zeros(DType t) { return !is_block_format(t) && (has_scales(t) || has_zero_points(t)); }

// One tensor on its way into a file.
class Packer {
 public:
  Packer(const DecoderSource& source, const SourceTensor& tensor, const ModelEntityOptions& options)
      : source_(source), tensor_(tensor), stop_(options.stop) {
    dtype_ = !is_matrix(tensor.place.role) ? DType::float32 : options.dtype.value_or(tensor.dtype);
    if (options.adapter != nullptr && options.adapter->find(tensor.place) != nullptr) adapter_ = options.adapter;
  }
  DType dtype() const { return dtype_; }
  const SourceTensor& tensor() const { return tensor_; }
  // Squares of the change that an adapter asks for, and the part of it that packed() has kept.
  double asked() const { return asked_; }
  double kept() const { return kept_; }

  Result<PackedMatrix> packed() const {
    auto made = pack_all();
    if (!made && made.error().code == Code::Cancelled) return tl::make_unexpected(cancelled());
    if (!made) return at(tensor_.name, std::move(made).error());
    if (tensor_.file) tensor_.file->release(tensor_.bytes);
    return made;
  }

 private:
  Result<PackedMatrix> pack_all() const {
    const std::vector<std::uint32_t> order = source_row_order(source_, tensor_);
    const bool vector = tensor_.shape.size() == 1;
    LOOM_TRY(const Matrix m, source_matrix(tensor_, order, nullptr, stop_));
    if (adapter_ == nullptr && is_block_format(dtype_) && tensor_.dtype == dtype_)
      return PackedMatrix{blocks(order), {}, {}};
    if (adapter_ == nullptr && !vector && tensor_.dtype == dtype_) {
      LOOM_TRY(QuantizedMatrix q, m.to_quantized(stop_));
      // In memory each row has a copy of the scale of a whole tensor (as in BitNet); the file keeps one.
      const ScaleSpan span = resolved(dtype_, tensor_.packed.value_or(ScaleSpan{}));
      if (span.granularity == Granularity::Tensor && q.span.granularity == Granularity::Row) {
        q.span = span, q.scales.resize(std::min<std::size_t>(q.scales.size(), 1));
        q.zero_points.resize(std::min<std::size_t>(q.zero_points.size(), 1));
      }
      return pack(q, stop_);
    }
    std::vector<float> values(m.rows() * m.cols());
    StopCheck check(stop_);
    for (std::size_t r = 0; r < m.rows() && !check.before(m.cols()); ++r) m.decode_row(r, values.data() + r * m.cols());
    LOOM_TRY_VOID(check.end());
    const std::vector<float> before = adapter_ != nullptr ? values : std::vector<float>();
    if (adapter_ != nullptr) LOOM_TRY_VOID(adapter_->add_to(tensor_.place, m.rows(), m.cols(), values));
    const std::vector<float> wanted = adapter_ != nullptr ? values : std::vector<float>();
    if (vector && !order.empty()) {
      std::vector<float> half_split(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) half_split[i] = values[order[i]];
      values = std::move(half_split);
    }
    if (!is_block_format(dtype_)) {
      LOOM_TRY(const QuantizedMatrix q, quantize(dtype_, values, m.rows(), m.cols(), {}, stop_));
      if (adapter_ != nullptr) measure(before, wanted, dequantize(q));
      return pack(q, stop_);
    }
    LOOM_TRY(const std::size_t stride, row_bytes(dtype_, m.cols()));
    PackedMatrix out;
    out.codes.resize(stride * m.rows());
    for (std::size_t r = 0; r < m.rows() && !check.before(m.cols()); ++r) {
      LOOM_TRY_VOID(
          encode_row(dtype_, std::span(values).subspan(r * m.cols(), m.cols()), out.codes.data() + r * stride));
    }
    LOOM_TRY_VOID(check.end());
    if (adapter_ != nullptr) {
      std::vector<float> stored(values.size());
      for (std::size_t r = 0; r < m.rows(); ++r)
        decode_to_float(dtype_, out.codes.data() + r * stride, stored.data() + r * m.cols(), m.cols());
      measure(before, wanted, stored);
    }
    return out;
  }

  // Measures how much of the target change is left after rounding: the projection of the stored change on the target
  // change.
  void measure(std::span<const float> before, std::span<const float> wanted, std::span<const float> stored) const {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double change = static_cast<double>(wanted[i]) - static_cast<double>(before[i]);
      asked_ += change * change, kept_ += change * (static_cast<double>(stored[i]) - static_cast<double>(before[i]));
    }
  }

  std::vector<std::byte> blocks(std::span<const std::uint32_t> order) const {
    if (order.empty()) return {tensor_.bytes.begin(), tensor_.bytes.end()};
    const std::size_t stride = tensor_.bytes.size() / tensor_.shape[0];
    std::vector<std::byte> out;
    out.reserve(tensor_.bytes.size());
    for (const std::uint32_t r : order) {
      const auto row = tensor_.bytes.subspan(r * stride, stride);
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }

  const DecoderSource& source_;
  const SourceTensor& tensor_;
  const PeftDelta* adapter_ = nullptr;
  const Stop& stop_;
  DType dtype_;
  mutable double asked_ = 0, kept_ = 0;
};

// All tensors: scales must be known before the file is laid out, so types that have them are packed at once and kept;
// the others are made when their turn to be written has come.
class Tensors {
 public:
  Tensors(const ModelContents& model, const ModelEntityOptions& options) : options_(options) {
    for (const SourceTensor& t : model.source.tensors)
      // the config holds those
      if (t.place.role != TensorRole::RopeFactors) packers_.emplace_back(model.source, t, options);
    kept_.resize(packers_.size());
  }

  Result<void> pack_scaled(ThreadPool& pool) {
    std::vector<std::optional<Error>> errors(packers_.size());
    std::atomic<bool> stop{false};
    pool.run(packers_.size(), [&](std::size_t i, int worker) {
      if (stop || !has_scales_or_zeros(packers_[i].dtype())) return;
      auto made = packers_[i].packed();
      if (made)
        kept_[i] = std::move(*made);
      else
        errors[i] = std::move(made).error();
      const std::size_t done = done_.fetch_add(1) + 1;
      if (worker == 0 && !tell(done) && !errors[i]) errors[i] = cancelled();
      if (errors[i]) stop = true;
    });
    for (auto& error : errors)
      if (error) return tl::make_unexpected(*std::move(error));
    return {};
  }

  Result<std::vector<EntityTensor>> entries(const ModelConfig& config) {
    std::vector<EntityTensor> out;
    for (std::size_t i = 0; i < packers_.size(); ++i) {
      const SourceTensor& t = packers_[i].tensor();
      EntityTensor e;
      NetworkPlace place = place_in_network(config, t.place);
      e.path = std::move(place.path), e.weight = std::move(place.weight);
      e.dtype = packers_[i].dtype();
      LOOM_TRY(e.shape, Shape::create(t.shape));
      if (!is_block_format(e.dtype))
        e.span = resolved(e.dtype, t.packed && t.dtype == e.dtype ? *t.packed : ScaleSpan{});
      if (has_scales_or_zeros(e.dtype)) {
        e.codes = kept_[i].codes, e.scales = kept_[i].scales, e.zeros = kept_[i].zeros;
      } else {
        e.make_codes = [this, i]() -> Result<std::vector<std::byte>> {
          if (!tell(done_.fetch_add(1) + 1)) return tl::make_unexpected(cancelled());
          LOOM_TRY(PackedMatrix made, packers_[i].packed());
          return std::move(made.codes);
        };
      }
      out.push_back(std::move(e));
    }
    return out;
  }

  // The share is known after the last of entries() was made; it is 1 where nothing was asked for.
  double adapter_share() const {
    double asked = 0, kept = 0;
    for (const Packer& p : packers_) asked += p.asked(), kept += p.kept();
    return asked > 0 ? kept / asked : 1;
  }

 private:
  bool tell(std::size_t done) const {
    return !options_.progress || options_.progress(std::min(done, packers_.size()), packers_.size());
  }

  const ModelEntityOptions& options_;
  std::vector<Packer> packers_;
  std::vector<PackedMatrix> kept_;
  std::atomic<std::size_t> done_{0};
};

Result<Json> section_json(const EntityReader& file, std::string_view kind, std::uint32_t index = 0) {
  LOOM_TRY(const auto bytes, file.section(kind, index));
  auto json = parse_json(as_text(bytes));
  if (!json) return at(fmt::format("section \"{}\"", kind), std::move(json).error());
  return json;
}

Result<SourceTensor> source_of(const ModelConfig& config, const EntityTensor& t) {
  const auto place = place_from_network(config, t.path, t.weight);
  if (!place || t.role != EntityRole::Active)
    return fail(Code::CorruptData, "tensor \"{}\" of \"{}\" has no place in the model", printable(t.weight),
                printable(t.path));
  SourceTensor s{hf_name(*place), *place, t.dtype, {t.shape.extents().begin(), t.shape.extents().end()},
                 t.codes,         nullptr};
  const std::size_t rank = is_matrix(place->role) ? 2 : 1;
  if (t.shape.rank() != rank)
    return fail(Code::ShapeMismatch, "tensor {} has {} axes, expected {}", s.name, t.shape.rank(), rank);
  // Rows of plain floats without padding are stored like an array.
  const bool array = is_block_format(t.dtype) || (!has_scales_or_zeros(t.dtype) && t.shape.cols() % 32 == 0);
  if (!array) s.packed = t.span, s.scales = t.scales, s.zeros = t.zeros;
  return s;
}

Result<void> read_tokenizer(const EntityReader& file, std::string& tokenizer_json,
                            std::optional<text::VocabSpec>& vocab) {
  if (file.find("tokenize", kTokenizerJson)) {
    LOOM_TRY(const auto bytes, file.section("tokenize", kTokenizerJson));
    tokenizer_json = as_text(bytes);
    return {};
  }
  if (!file.find("tokenize", kVocabulary)) return {};
  LOOM_TRY(const auto bytes, file.section("tokenize", kVocabulary));
  auto read = vocab_from_entity(std::string(as_text(bytes)));
  if (!read) return at("section \"tokenize\"", std::move(read).error());
  vocab = std::move(*read);
  return {};
}

// Reads an object of texts in the metadata, if it exists.
Result<void> read_texts(const Json& metadata, const char* key, NamedTexts& to) {
  const Json* const object = find(metadata, key);
  if (!object) return {};
  if (!object->is_object()) return fail(Code::CorruptData, "section \"metadata\": /{}: expected an object", key);
  for (const auto& [name, text] : object->items()) {
    if (!as_string(text)) return fail(Code::CorruptData, "section \"metadata\": /{}/{}: expected a text", key, name);
    to[name] = *as_string(text);
  }
  return {};
}

Result<ModelContents> contents_of(const EntityReader& file, CheckWeights check) {
  ModelContents all;
  all.format = ModelFormat::Entity;
  LOOM_TRY(const Json network, section_json(file, "network"));
  const Json* transformer = find(network, "transformer");
  if (!transformer || network.size() != 1) return fail(Code::Unsupported, "the file holds no language model");
  auto config = config_from_entity(*transformer);
  if (!config) return at("section \"network\": /transformer", std::move(config).error());
  all.source.config = std::move(*config);
  LOOM_TRY(const std::vector<EntityTensor> tensors, read_entity_tensors(file, check));
  for (const EntityTensor& t : tensors) {
    LOOM_TRY(SourceTensor source, source_of(all.source.config, t));
    source.file = file.source();
    all.source.tensors.push_back(std::move(source));
  }
  LOOM_TRY_VOID(read_tokenizer(file, all.tokenizer_json, all.vocab));
  all.tokenizer_place = file.source() ? file.source()->name() : "section \"tokenize\"";
  if (file.find("template")) {
    LOOM_TRY(const auto text, file.section("template"));
    all.chat_template = as_text(text);
  }
  if (file.find("licence")) {
    LOOM_TRY(const auto text, file.section("licence"));
    all.licence = as_text(text);
  }
  for (std::uint32_t i = 0; file.find("adapter", i); ++i) {
    LOOM_TRY(const auto bytes, file.section("adapter", i));
    auto adapter = PeftDelta::parse(bytes, all.source.config);
    if (!adapter) return at(fmt::format("section \"adapter\" {}", i), std::move(adapter).error());
    all.adapters.push_back(std::move(*adapter));
  }
  if (!file.find("metadata")) return all;
  LOOM_TRY(const Json metadata, section_json(file, "metadata"));
  for (const auto& [key, to] : {std::pair("bos_token", &all.bos_token), std::pair("eos_token", &all.eos_token)})
    if (const Json* value = find(metadata, key)) {
      const std::string* text = as_string(*value);
      if (!text) return fail(Code::CorruptData, "section \"metadata\": /{}: expected a text", key);
      *to = *text;
    }
  for (const auto& [key, to] :
       {std::pair("special_tokens", &all.special_tokens), std::pair("chat_templates", &all.named_templates)})
    LOOM_TRY_VOID(read_texts(metadata, key, *to));
  return all;
}

// Every section but the tensors is read by now, or is none of ours: those and the gaps are checked all the same.
Result<void> check_the_rest(const EntityReader& file) {
  for (const EntitySection& s : file.sections())
    if (s.kind != "weights" && s.kind != "kvcache") LOOM_TRY_VOID(file.section(s.kind, s.index));
  return file.check_gaps();
}

}  // namespace

Result<Digest> write_model_entity(const std::string& path, const ModelContents& model,
                                  const ModelEntityOptions& options) {
  EntityWriter writer;
  LOOM_TRY(std::string network, dump_canonical(Json{{"transformer", config_to_entity(model.source.config)}}));
  LOOM_TRY_VOID(writer.add_text("network", 0, kSectionMandatory, std::move(network)));
  if (!model.tokenizer_json.empty()) {
    LOOM_TRY_VOID(writer.add("tokenize", kTokenizerJson, 0, std::as_bytes(std::span(model.tokenizer_json))));
  } else if (model.vocab) {
    auto vocab = dump_canonical(vocab_to_entity(*model.vocab));
    if (!vocab) return fail(Code::CorruptData, "the vocabulary: {}", vocab.error().text());
    LOOM_TRY_VOID(writer.add_text("tokenize", kVocabulary, 0, std::move(*vocab)));
  }
  if (!model.chat_template.empty()) {
    LOOM_TRY_VOID(writer.add("template", 0, 0, std::as_bytes(std::span(model.chat_template))));
  }
  if (!model.licence.empty()) {
    LOOM_TRY_VOID(writer.add("licence", 0, 0, std::as_bytes(std::span(model.licence))));
  }
  std::vector<std::vector<std::byte>> adapters;
  for (const std::span<const PeftDelta> part : {std::span<const PeftDelta>(model.adapters), options.beside})
    for (const PeftDelta& adapter : part) {
      LOOM_TRY(auto bytes, adapter.to_bytes());
      adapters.push_back(std::move(bytes));
      LOOM_TRY_VOID(
          writer.add("adapter", static_cast<std::uint32_t>(adapters.size() - 1), kSectionMandatory, adapters.back()));
    }
  Json metadata = Json::object();
  if (model.bos_token) metadata["bos_token"] = *model.bos_token;
  if (model.eos_token) metadata["eos_token"] = *model.eos_token;
  for (const auto& [key, texts] :
       {std::pair("special_tokens", &model.special_tokens), std::pair("chat_templates", &model.named_templates)})
    if (!texts->empty()) metadata[key] = *texts;
  if (!metadata.empty()) {
    auto text = dump_canonical(metadata);
    if (!text) return fail(Code::CorruptData, "special tokens or chat templates: {}", text.error().text());
    LOOM_TRY_VOID(writer.add_text("metadata", 0, 0, std::move(*text)));
  }
  Tensors tensors(model, options);
  {
    LOOM_TRY(const auto pool,
             ThreadPool::create(options.threads > 0 ? options.threads : ThreadPool::default_threads()));
    LOOM_TRY_VOID(tensors.pack_scaled(*pool));
  }
  LOOM_TRY(auto entries, tensors.entries(model.source.config));
  LOOM_TRY_VOID(add_entity_tensors(writer, std::move(entries), kWeightSection));
  auto root = writer.write(path);
  if (options.adapter_share != nullptr) *options.adapter_share = tensors.adapter_share();
  return root;
}

Result<ModelContents> read_model_entity(const std::shared_ptr<const ByteSource>& source) {
  LOOM_TRY(EntityReader opened, EntityReader::parse(source));
  const auto file = std::make_shared<const EntityReader>(std::move(opened));
  LOOM_TRY_VOID(check_the_rest(*file));
  LOOM_TRY(ModelContents all, contents_of(*file, CheckWeights::Later));
  for (SourceTensor& t : all.source.tensors) t.entity = file;
  return all;
}

Result<ModelContents> parse_model_entity(const EntityReader& file) {
  LOOM_TRY_VOID(file.verify());
  return contents_of(file, CheckWeights::Now);
}

Result<void> read_entity_tokenizer(const std::shared_ptr<const ByteSource>& source, std::string& tokenizer_json,
                                   std::optional<text::VocabSpec>& vocab) {
  LOOM_TRY(const EntityReader file, EntityReader::parse(source));
  auto read = read_tokenizer(file, tokenizer_json, vocab);
  if (!read) return at(source->name(), std::move(read).error());
  if (tokenizer_json.empty() && !vocab)
    return fail(Code::NotFound, "{}: the model brings no tokenizer", source->name());
  return {};
}

}  // namespace loom
