#include "lm/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/file.h"
#include "core/json.h"
#include "core/nearest.h"
#include "lm/encoder_files.h"
#include "lm/hub.h"
#include "lm/tokenizer_files.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

constexpr std::size_t kBatchTexts = 32, kBatchTokens = 4096;
constexpr std::size_t kFirstBlock = 3;  // after the two embeddings and their norm

// The "gelu" of Hugging Face is the exact form.
Result<std::string> activation_of(const EncoderConfig& config) {
  if (config.hidden_act == "gelu") return "gelu_exact";
  if (config.hidden_act == "gelu_new" || config.hidden_act == "gelu_pytorch_tanh") return "gelu";
  if (config.hidden_act == "relu" || config.hidden_act == "silu" || config.hidden_act == "tanh")
    return config.hidden_act;
  return fail_at({"hidden_act"}, Code::Unsupported, "\"{}\": gelu, gelu_new, relu, silu and tanh are supported",
                 config.hidden_act);
}

Json dense(std::size_t in, std::size_t out, const std::string& activation) {
  return {{"type", "dense"}, {"input_height", in}, {"output_height", out}, {"bias", true}, {"activation", activation}};
}

Json residual(Json layers) {
  return {{"type", "sequential"}, {"residual", true}, {"sequential_layers", std::move(layers)}};
}

Result<Json> spec_of(const EncoderConfig& c) {
  LOOM_TRY(const std::string activation, activation_of(c));
  const std::size_t d = c.hidden_size;
  const Json norm{{"type", "layernorm"}, {"input_height", d}, {"eps", c.layer_norm_eps}};
  const Json mha{{"type", "mha"},
                 {"d_model", d},
                 {"num_heads", c.num_attention_heads},
                 {"qkv_bias", true},
                 {"out_bias", true},
                 {"causal", false},
                 {"rope", false},
                 {"max_seq_len", c.max_position_embeddings}};
  Json layers = Json::array();
  layers.push_back({{"type", "embedding"}, {"vocab_size", c.vocab_size}, {"embedding_dim", d}});
  layers.push_back({{"type", "position_embedding"}, {"max_seq_len", c.max_position_embeddings}, {"embedding_dim", d}});
  layers.push_back(norm);
  for (std::size_t i = 0; i < c.num_hidden_layers; ++i) {
    Json attention = Json::array({mha});
    Json forward = Json::array({dense(d, c.intermediate_size, activation), dense(c.intermediate_size, d, "linear")});
    layers.push_back({{"type", "sequential"},
                      {"sequential_layers",
                       Json::array({residual(std::move(attention)), norm, residual(std::move(forward)), norm})}});
  }
  return Json{{"id", "encoder"}, {"layers", std::move(layers)}};
}

// The tensors of block i and the weights that they fill.
void mount_block(std::size_t i, std::vector<Mount>& mounts) {
  const std::string from = fmt::format("encoder.layer.{}.", i);
  const std::string to = fmt::format("layers.{}.sequential_layers.", kFirstBlock + i);
  const auto pair = [&](const char* name, const std::string& place, const char* weight, const char* bias) {
    mounts.push_back({from + name + ".weight", to + place + weight});
    mounts.push_back({from + name + ".bias", to + place + bias});
  };
  const std::string attention = "0.sequential_layers.0.", forward = "2.sequential_layers.";
  pair("attention.self.query", attention, "q.weight", "q.bias");
  pair("attention.self.key", attention, "k.weight", "k.bias");
  pair("attention.self.value", attention, "v.weight", "v.bias");
  pair("attention.output.dense", attention, "o.weight", "o.bias");
  pair("attention.output.LayerNorm", "1.", "gamma", "beta");
  pair("intermediate.dense", forward + "0.", "weight", "bias");
  pair("output.dense", forward + "1.", "weight", "bias");
  pair("output.LayerNorm", "3.", "gamma", "beta");
}

std::vector<Mount> mounts_of(const EncoderConfig& c) {
  std::vector<Mount> mounts{{"embeddings.word_embeddings.weight", "layers.0.table"},
                            {"embeddings.position_embeddings.weight", "layers.1.table"},
                            {"embeddings.LayerNorm.weight", "layers.2.gamma"},
                            {"embeddings.LayerNorm.bias", "layers.2.beta"}};
  for (std::size_t i = 0; i < c.num_hidden_layers; ++i) mount_block(i, mounts);
  return mounts;
}

// Names as a BertModel has them: without "bert.", and with the present names of a norm's weights.
Result<void> plain_names(std::vector<BareTensor>& tensors) {
  if (std::ranges::any_of(tensors, [](const BareTensor& t) { return t.name.starts_with("bert."); })) {
    LOOM_TRY_VOID(rename_by_prefix(tensors, {{"bert.", ""}}));
  }
  for (BareTensor& t : tensors) {
    if (t.name.ends_with(".gamma")) t.name.replace(t.name.size() - 5, 5, "weight");
    if (t.name.ends_with(".beta")) t.name.replace(t.name.size() - 4, 4, "bias");
  }
  return {};
}

// Every token of a text is of type 0: that row joins the table of positions. The reasons why tensors have no place.
Result<std::map<std::string, std::string>> join_types(const EncoderConfig& c, std::vector<BareTensor>& tensors) {
  std::map<std::string, std::string> ignored;
  BareTensor *types = nullptr, *positions = nullptr;
  for (BareTensor& t : tensors) {
    if (t.name == "embeddings.token_type_embeddings.weight") types = &t;
    if (t.name == "embeddings.position_embeddings.weight") positions = &t;
    if (t.name == "embeddings.position_ids") ignored[t.name] = "numbers of the positions";
    if (t.name.starts_with("pooler.")) ignored[t.name] = "a pooler, which embeddings do not pass";
    if (t.name.starts_with("cls.")) ignored[t.name] = "a head, which embeddings do not pass";
  }
  const std::vector<std::size_t> type_shape{c.type_vocab_size, c.hidden_size},
      position_shape{c.max_position_embeddings, c.hidden_size};
  if (types == nullptr || types->shape != type_shape)
    return fail(Code::ShapeMismatch, "embeddings.token_type_embeddings.weight: [{}, {}] expected", c.type_vocab_size,
                c.hidden_size);
  if (positions == nullptr || positions->shape != position_shape)
    return fail(Code::ShapeMismatch, "embeddings.position_embeddings.weight: [{}, {}] expected",
                c.max_position_embeddings, c.hidden_size);
  LOOM_TRY(const std::vector<float> type, types->values());
  LOOM_TRY(std::vector<float> table, positions->values());
  for (std::size_t i = 0; i < table.size(); ++i) table[i] += type[i % c.hidden_size];
  const auto kept = std::make_shared<const std::vector<float>>(std::move(table));
  positions->dtype = DType::float32, positions->bytes = std::as_bytes(std::span(*kept)), positions->keeps = kept;
  ignored[types->name] = "row 0 is added to every position; others are for pairs of texts";
  return ignored;
}

}  // namespace

Result<TextEncoder> TextEncoder::load(const std::string& given, const EncoderOptions& options) {
  TextEncoder encoder;
  LOOM_TRY(const std::string folder, find_model(given));
  if (is_file(folder))
    return fail(Code::Unsupported,
                "{}: a file; embeddings are computed by the folder of a BERT (config.json, model.safetensors and "
                "tokenizer.json)",
                folder);
  LOOM_TRY(encoder.config_, encoder_files::read_config(folder));
  LOOM_TRY(encoder_files::Modules modules, encoder_files::read_modules(folder, encoder.config_.hidden_size));
  encoder.pooling_ = modules.pooling, encoder.modules_ = std::move(modules.after);
  LOOM_TRY(encoder.prompts_, encoder_files::read_prompts(folder));
  LOOM_TRY(const auto length, encoder_files::read_max_length(folder));
  const EncoderConfig& c = encoder.config_;
  encoder.max_tokens_ = std::min(length.value_or(c.max_position_embeddings), c.max_position_embeddings);
  LOOM_TRY(FolderTokenizer tokenizer, read_folder_tokenizer(FileSet::folder(folder)));
  if (tokenizer.json.empty()) {  // the error of a missing file
    LOOM_TRY(tokenizer.json, read_text_file(folder + "/tokenizer.json"));
  }
  auto read = text::Tokenizer::from_json(tokenizer.json);
  if (!read) return at(folder + "/tokenizer.json", std::move(read).error());
  encoder.tokenizer_ = std::make_shared<const text::Tokenizer>(std::move(*read));
  if (auto chosen = encoder.choose_prompt(options); !chosen) return at(folder, std::move(chosen).error());
  auto spec = spec_of(c);
  if (!spec) return at(folder + "/config.json", std::move(spec).error());
  LOOM_TRY(SpecResult built, network_from_json(*spec, {.initialise = false}));
  encoder.network_ = std::make_unique<Network>(std::move(built.network));
  LOOM_TRY(std::vector<BareTensor> tensors, read_bare_tensors(folder));
  const auto mount = [&]() -> Result<LoadReport> {
    LOOM_TRY_VOID(plain_names(tensors));
    LOOM_TRY(const auto ignored, join_types(c, tensors));
    return mount_tensors(*encoder.network_, tensors, mounts_of(c), ignored);
  };
  auto report = mount();
  if (!report) return at(folder, std::move(report).error());
  encoder.report_ = std::move(*report), encoder.report_.format = "huggingface";
  if (options.dtype) {
    LOOM_TRY_VOID(encoder.network_->morph_all(*options.dtype));
  }
  encoder.network_->release_masters();
  const Shape whole = Shape::of({1, encoder.max_tokens_});
  LOOM_TRY(encoder.session_, NetworkSession::create(*encoder.network_, whole, options.session));
  LOOM_TRY_VOID(encoder.load_modules(options));
  return encoder;
}

std::size_t TextEncoder::dimensions() const {
  std::size_t width = config_.hidden_size;
  for (const EncoderModule& module : modules_)
    if (module.is_dense) width = module.out;
  return width;
}

// A network of one dense layer for each Dense module, from the module's own folder.
Result<void> TextEncoder::load_modules(const EncoderOptions& options) {
  for (const EncoderModule& module : modules_) {
    Head& head = heads_.emplace_back();
    if (!module.is_dense) continue;
    Json layer{{"type", "dense"}, {"input_height", module.in}, {"output_height", module.out}, {"bias", module.bias}};
    layer["activation"] = module.activation;
    if (module.activation == "leakyrelu") layer["leaky_slope"] = 0.01;
    if (module.activation == "elu") layer["elu_alpha"] = 1.0;
    LOOM_TRY(SpecResult built,
             network_from_json(Json{{"id", "head"}, {"layers", Json::array({layer})}}, {.initialise = false}));
    head.network = std::make_unique<Network>(std::move(built.network));
    std::vector<Mount> mounts{{"linear.weight", "layers.0.weight"}};
    if (module.bias) mounts.push_back({"linear.bias", "layers.0.bias"});
    LOOM_TRY(std::vector<BareTensor> tensors, read_bare_tensors(module.folder));
    if (auto mounted = mount_tensors(*head.network, tensors, mounts, {}); !mounted)
      return at(module.folder, std::move(mounted).error());
    if (options.dtype) LOOM_TRY_VOID(head.network->morph_all(*options.dtype));
    head.network->release_masters();
    LOOM_TRY(head.session, NetworkSession::create(*head.network, Shape::of({1, module.in}), options.session));
  }
  return {};
}

Result<void> TextEncoder::choose_prompt(const EncoderOptions& options) {
  prompt_ = options.prompt;
  const std::string& name = options.prompt_name.empty() ? prompts_.default_name : options.prompt_name;
  if (!prompt_ && !name.empty()) {
    const auto found = prompts_.texts.find(name);
    if (found == prompts_.texts.end()) {
      std::string known;
      for (const auto& [each, text] : prompts_.texts) known += (known.empty() ? "" : ", ") + each;
      return fail(Code::UnknownName, "the model has no prompt \"{}\"; it has: {}", printable(name),
                  known.empty() ? "none" : known);
    }
    prompt_ = found->second;
  }
  if (!prompt_ || pooling_.include_prompt) return {};
  // As sentence-transformers count them: the tokens of the prompt alone, without the special one at their end.
  std::vector<std::int32_t> ids;
  LOOM_TRY_VOID(tokenizer_->encode(*prompt_, {}, ids).map([](const text::Encoded&) {}));
  unpooled_ = ids.size();
  if (!ids.empty() && tokenizer_->is_special(ids.back())) --unpooled_;
  return {};
}

namespace {

// At a length of 1, which is measured in f64.
void normalise(std::vector<float>& values) {
  double square = 0;
  for (const float v : values) square += static_cast<double>(v) * static_cast<double>(v);
  const double length = std::max(std::sqrt(square), 1e-12);
  for (float& v : values) v = static_cast<float>(static_cast<double>(v) / length);
}

}  // namespace

Result<void> TextEncoder::run_modules(std::span<TextEmbedding* const> batch, const std::atomic<bool>* cancel) {
  for (const Head& head : heads_) {
    if (head.session == nullptr) {
      for (TextEmbedding* const each : batch) normalise(each->values);
      continue;
    }
    std::vector<float> rows;
    for (const TextEmbedding* const each : batch) rows.insert(rows.end(), each->values.begin(), each->values.end());
    PassExtras extras;
    extras.cancel = cancel;
    const Shape shape = Shape::of({batch.size(), rows.size() / batch.size()});
    LOOM_TRY(const ConstView y, head.session->forward_host({rows.data(), shape}, extras));
    const std::size_t width = y.shape.cols();
    for (std::size_t b = 0; b < batch.size(); ++b)
      batch[b]->values.assign(y.as() + b * width, y.as() + (b + 1) * width);
  }
  return {};
}

// Sums run over the tokens in their order, in f64.
std::vector<float> TextEncoder::pooled(const float* rows, std::size_t count) const {
  using Mode = PoolingConfig::Mode;
  const std::size_t d = config_.hidden_size;
  if (pooling_.mode != Mode::Cls) {
    const std::size_t skipped = std::min(unpooled_, count);
    rows += skipped * d, count -= skipped;
    if (count == 0) return std::vector<float>(d, 0.0f);
  }
  std::vector<double> sum(rows, rows + d);
  for (std::size_t r = 1; r < count && pooling_.mode != Mode::Cls; ++r)
    for (std::size_t i = 0; i < d; ++i) {
      const double v = static_cast<double>(rows[r * d + i]);
      sum[i] = pooling_.mode == Mode::Max ? std::max(sum[i], v) : sum[i] + v;
    }
  const double n = static_cast<double>(count);
  const double divisor = pooling_.mode == Mode::Mean ? n : pooling_.mode == Mode::MeanSqrtLength ? std::sqrt(n) : 1;
  double square = 0;
  for (double& v : sum) v /= divisor, square += v * v;
  const double length = pooling_.normalize ? std::max(std::sqrt(square), 1e-12) : 1;
  std::vector<float> out(d);
  for (std::size_t i = 0; i < d; ++i) out[i] = static_cast<float>(sum[i] / length);
  return out;
}

Result<void> TextEncoder::run_batch(std::span<const std::vector<std::int32_t>* const> batch,
                                    const std::atomic<bool>* cancel, std::span<TextEmbedding* const> results) {
  const std::size_t steps = batch[0]->size();
  std::vector<float> ids;
  for (const auto* text : batch)
    for (const std::int32_t id : *text) ids.push_back(static_cast<float>(id));
  PassExtras extras;
  extras.cancel = cancel;
  const Shape shape = Shape::of({batch.size(), steps});
  LOOM_TRY(const ConstView y, session_->forward_host({ids.data(), shape}, extras));
  for (std::size_t b = 0; b < batch.size(); ++b)
    results[b]->values = pooled(y.as() + b * steps * config_.hidden_size, steps);
  return run_modules(results, cancel);
}

Result<std::vector<TextEmbedding>> TextEncoder::embed(std::span<const std::string> texts,
                                                      const std::atomic<bool>* cancel) {
  std::vector<EncoderInput> inputs;
  inputs.reserve(texts.size());
  for (const std::string& text : texts) inputs.push_back({text});
  return embed(inputs, cancel);
}

Result<std::vector<TextEmbedding>> TextEncoder::embed(std::span<const EncoderInput> inputs,
                                                      const std::atomic<bool>* cancel) {
  std::vector<std::vector<std::int32_t>> ids(inputs.size());
  std::vector<TextEmbedding> results(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ids[i] = inputs[i].ids;
    if (ids[i].empty()) {
      const std::string text = prompt_.value_or("") + inputs[i].text;
      LOOM_TRY_VOID(tokenizer_->encode(text, {}, ids[i]).map([](const text::Encoded&) {}));
    }
    if (ids[i].empty()) return fail(Code::InvalidArgument, "text {}: no tokens", i);
    const auto [least, most] = std::ranges::minmax(ids[i]);
    if (least < 0 || static_cast<std::size_t>(most) >= config_.vocab_size)
      return fail(Code::OutOfRange, "text {}: the id {} is none of the vocabulary, whose ids are 0 to {}", i,
                  least < 0 ? least : most, config_.vocab_size - 1);
    if (ids[i].size() > max_tokens_) {  // the last token ends every text
      const std::int32_t end = ids[i].back();
      ids[i].resize(max_tokens_);
      ids[i].back() = end, results[i].is_truncated = true;
    }
    results[i].tokens = ids[i].size();
  }
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return ids[i].size(); });
  for (std::size_t first = 0; first < order.size();) {
    const std::size_t steps = ids[order[first]].size();
    const std::size_t most = std::clamp<std::size_t>(kBatchTokens / steps, 1, kBatchTexts);
    std::vector<const std::vector<std::int32_t>*> batch;
    std::vector<TextEmbedding*> to;
    while (first < order.size() && batch.size() < most && ids[order[first]].size() == steps) {
      batch.push_back(&ids[order[first]]);
      to.push_back(&results[order[first++]]);
    }
    LOOM_TRY_VOID(run_batch(batch, cancel, to));
  }
  return results;
}

void shorten(std::vector<float>& vector, std::size_t dimensions) {
  if (dimensions >= vector.size()) return;
  vector.resize(dimensions);
  double squares = 0;
  for (const float v : vector) squares += static_cast<double>(v) * static_cast<double>(v);
  if (squares == 0) return;
  const double length = std::sqrt(squares);
  for (float& v : vector) v = static_cast<float>(static_cast<double>(v) / length);
}

double cosine_of(std::span<const float> a, std::span<const float> b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    dot += x * y, aa += x * x, bb += y * y;
  }
  return aa == 0 || bb == 0 ? 0 : dot / std::sqrt(aa * bb);
}

}  // namespace loom
