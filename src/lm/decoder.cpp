#include "lm/decoder.h"

#include <atomic>
#include <cstring>
#include <map>
#include <set>

#include "core/checked.h"
#include "core/file_stamp.h"
#include "core/fp_environment.h"
#include "dtypes/float16.h"
#include "dtypes/packing.h"
#include "layers/dense/dense.h"
#include "layers/embedding/embedding.h"
#include "layers/mha/mha.h"
#include "layers/rmsnorm/rmsnorm.h"
#include "layers/sequential/sequential.h"
#include "layers/swiglu/swiglu.h"

namespace loom {
namespace {

std::string shape_text(std::span<const std::size_t> shape) {
  std::string text;
  for (const std::size_t d : shape) text += (text.empty() ? "" : " x ") + fmt::format("{}", d);
  return text;
}

// The bytes of a tensor that its file has on demand.
Result<Buffer> read_tensor_bytes(const SourceTensor& t) {
  auto buffer = Buffer::create(t.unread);
  if (!buffer) return tl::make_unexpected(std::move(buffer).error());
  LOOM_TRY_VOID(t.file->copy(t.offset, buffer->bytes()));
  return buffer;
}

// source_matrix() without its check of hashes.
Result<Matrix> unchecked_matrix(const SourceTensor& t, std::span<const std::uint32_t> row_order,
                                std::shared_ptr<PanelPool> pool, const Stop& stop) {
  const std::size_t rows = t.shape.size() == 1 ? 1 : t.shape[0], cols = t.shape.back();
  if (t.unread != 0) {
    LOOM_TRY(const Buffer held, read_tensor_bytes(t));
    SourceTensor here = t;
    here.unread = 0, here.bytes = held.bytes();
    return unchecked_matrix(here, row_order, std::move(pool), stop);
  }
  if (t.bitnet_scale) return Matrix::from_bitnet(t.bytes, rows, cols, *t.bitnet_scale, std::move(pool), stop);
  if (!t.packed)
    return Matrix::from_source(t.dtype, t.bytes, rows, cols, rows == 1 ? std::span<const std::uint32_t>() : row_order,
                               std::move(pool), stop);
  LOOM_TRY(const QuantizedMatrix codes, unpack(t.dtype, rows, cols, *t.packed, t.bytes, t.scales, t.zeros, stop));
  return Matrix::from_quantized(codes, std::move(pool), stop);
}

Result<std::vector<float>> decode_vector(const SourceTensor& t) {
  LOOM_TRY(const Matrix m, unchecked_matrix(t, {}, nullptr, {}));
  std::vector<float> out(t.shape[0]);
  m.decode_row(0, out.data());
  return out;
}

// In slices of rows, so that no matrix is held as f32 in whole; where one scale covers the tensor the slice is all of
// it.
Result<Matrix> converted(const Matrix& from, DType dtype, std::shared_ptr<PanelPool> pool, const Stop& stop) {
  const std::size_t slice_rows =
      has_scales(dtype) && resolved(dtype, {}).granularity == Granularity::Tensor ? from.rows() : 256;
  const bool blocks = is_block_format(dtype), as_bytes = blocks || dtype == DType::float32;
  LOOM_TRY(const std::size_t stride, as_bytes ? row_bytes(dtype, from.cols()) : std::size_t{0});
  LOOM_TRY(const std::size_t size, checked_mul(stride, from.rows()));
  std::vector<std::byte> encoded(size);
  QuantizedMatrix all;
  std::vector<float> values;
  StopCheck check(stop);
  for (std::size_t begin = 0; begin < from.rows(); begin += slice_rows) {
    const std::size_t rows = std::min(slice_rows, from.rows() - begin);
    values.resize(rows * from.cols());
    for (std::size_t r = 0; r < rows && !check.before(from.cols()); ++r) {
      const std::span<float> row = std::span(values).subspan(r * from.cols(), from.cols());
      from.decode_row(begin + r, row.data());
      std::byte* const to = encoded.data() + (begin + r) * stride;
      if (blocks) LOOM_TRY_VOID(encode_row(dtype, row, to));
      if (as_bytes && !blocks) std::memcpy(to, row.data(), stride);
    }
    LOOM_TRY_VOID(check.end());
    if (as_bytes) continue;
    LOOM_TRY(QuantizedMatrix slice, quantize(dtype, values, rows, from.cols(), {}, stop));
    if (begin == 0) {
      all = std::move(slice);
      all.codes.reserve(from.rows() * from.cols() * all.code_bytes());  // each larger piece would cost its pages again
      continue;
    }
    all.rows += rows;
    all.codes.insert(all.codes.end(), slice.codes.begin(), slice.codes.end());
    all.scales.insert(all.scales.end(), slice.scales.begin(), slice.scales.end());
    all.zero_points.insert(all.zero_points.end(), slice.zero_points.begin(), slice.zero_points.end());
  }
  if (as_bytes) return Matrix::from_source(dtype, encoded, from.rows(), from.cols(), {}, std::move(pool), stop);
  return Matrix::from_quantized(all, std::move(pool), stop);
}

// A tensor of a file that stays mapped, of which its panels can be made again.
struct TensorOfFile {
  SourceTensor tensor;
  std::vector<std::uint32_t> row_order;
  std::optional<DType> dtype;  // that it was converted to
  std::optional<os::FileStamp> stamp;

  // A file that was replaced or removed stays mapped as it was. Reading one that became shorter would end the process.
  Result<void> write_panels(std::span<std::byte> panels) const {
    const FpEnvironment environment;
    if (const auto now = os::stamp(tensor.file->name());
        now && stamp && now->id == stamp->id && now->bytes < stamp->bytes)
      return fail(Code::CorruptData,
                  "the file has {} bytes, and had {} when the model was loaded; load the model again", now->bytes,
                  stamp->bytes);
    LOOM_TRY(Matrix m, source_matrix(tensor, row_order));
    if (dtype) {
      LOOM_TRY(m, converted(m, *dtype, nullptr, {}));
    }
    tensor.file->release(tensor.bytes);
    if (m.panels() * m.panel_bytes() != panels.size())
      return fail(Code::CorruptData, "{} bytes of panels, expected {}", m.panels() * m.panel_bytes(), panels.size());
    std::memcpy(panels.data(), m.panel(0), panels.size());
    return {};
  }
};

// Every tensor of the model, loaded. Filled in parallel: each entry has one author.
class Loader {
 public:
  Loader(const DecoderSource& source, const DecoderOptions& options) : source_(source), options_(options) {
    for (std::size_t i = 0; i < source.tensors.size(); ++i) by_place_[key(source.tensors[i].place)].push_back(i);
    if (!source.tensors.empty()) file_ = source.tensors[0].entity.get();
    matrices_.resize(source.tensors.size());
    vectors_.resize(source.tensors.size());
    if (options.cancel != nullptr)
      stop_ = [cancel = options.cancel] { return cancel->load(std::memory_order_relaxed); };
  }

  Result<void> check_complete() const {
    std::set<std::pair<int, std::int64_t>> expected;
    for (const TensorPlace& place : expected_tensors(source_.config)) {
      expected.insert(key(place));
      if (!by_place_.contains(key(place)))
        return fail(Code::NotFound, "tensor {} ({}) is missing", gguf_name(place), hf_name(place));
    }
    for (const auto& [k, indices] : by_place_)
      if (indices.size() > 1)
        return fail(Code::CorruptData, "tensors {} and {} have the same role", source_.tensors[indices[0]].name,
                    source_.tensors[indices[1]].name);
    for (const SourceTensor& t : source_.tensors) {
      if (t.place.role == TensorRole::RopeFactors) continue;
      if (t.place.layer >= source_.config.num_hidden_layers)
        return fail(Code::ShapeMismatch, "tensor {} belongs to no layer: the config has {}", t.name,
                    source_.config.num_hidden_layers);
      // transformers ignores such a tensor with a warning; its author meant it to count. Neither is computed.
      if (!expected.contains(key(t.place)))
        return fail(Code::Unsupported, "tensor {}: the config announces no such tensor in a {} model", t.name,
                    source_.config.architecture);
      const std::vector<std::size_t> shape = expected_shape(source_.config, t.place.role);
      if (t.shape != shape)
        return fail(Code::ShapeMismatch, "tensor {} is {}, expected {}", t.name, shape_text(t.shape),
                    shape_text(shape));
    }
    return {};
  }

  // A part is loaded by one thread. Of an .entity it checks the hashes of the sections that its tensors reach first:
  // the tensors are then read out of the cache and not once more out of memory. The first and the last of them may
  // reach into sections of other parts, so that what is loaded counts for nothing before all hashes were right.
  Result<void> load(ThreadPool& pool) {
    LOOM_TRY(const std::size_t bytes, pool_bytes());
    LOOM_TRY(panels_, PanelPool::create(bytes));
    const std::vector<Part> parts = divide();
    std::vector<std::optional<Error>> damage(parts.size()), errors(source_.tensors.size());
    std::atomic<bool> damaged{false}, stop{false}, asked{false};  // a request counts although it is taken back
    std::atomic<std::size_t> done{0};
    const auto load_part = [&](std::size_t p, int worker) {
      const Part& part = parts[p];
      if (stop_ && stop_()) asked = true;
      if (damaged || asked) return;
      if (file_ != nullptr)
        if (auto checked = file_->check(part.sections_begin, part.sections_end - part.sections_begin); !checked) {
          damage[p] = std::move(checked).error(), damaged = true;
          return;
        }
      for (std::size_t n = part.tensors_begin; n < part.tensors_end && !stop; ++n) {
        const std::size_t i = order_[n];
        if (auto loaded = load_one(i); !loaded) {
          errors[i] = loaded.error().code == Code::Cancelled
                          ? cancelled()
                          : std::move(loaded.error().in_source(source_.tensors[i].name));
          stop = true;
        }
        const std::size_t count = done.fetch_add(1) + 1;
        if (worker != 0 || !options_.progress || options_.progress(count, errors.size()) || stop) continue;
        errors[i] = cancelled(), stop = true;
      }
    };
    if (is_on_demand()) {
      LOOM_TRY_VOID(load_on_demand(pool, parts.size(), load_part, stop));
    } else {
      pool.run(parts.size(), load_part);
    }
    for (const auto* const found : {&damage, &errors})  // damage explains what is wrong with a tensor
      for (const auto& error : *found)
        if (error) return tl::make_unexpected(*error);
    if (asked || (stop_ && stop_())) return tl::make_unexpected(cancelled());
    return {};
  }

  MatrixPtr matrix(TensorRole role, std::int64_t layer = -1) { return matrices_[by_place_.at(key({role, layer}))[0]]; }
  std::vector<float> vector(TensorRole role, std::int64_t layer = -1) {
    const auto found = by_place_.find(key({role, layer}));
    return found == by_place_.end() ? std::vector<float>{} : std::move(vectors_[found->second[0]]);
  }
  bool has(TensorRole role, std::int64_t layer = -1) const { return by_place_.count(key({role, layer})) != 0; }

 private:
  static std::pair<int, std::int64_t> key(TensorPlace place) { return {static_cast<int>(place.role), place.layer}; }

  // Tensors, by their numbers in order_, and sections of the file.
  struct Part {
    std::size_t tensors_begin = 0, tensors_end = 0, sections_begin = 0, sections_end = 0;
  };
  static Error cancelled() { return {Code::Cancelled, "loading was cancelled"}; }

  bool is_on_demand() const {
    return std::ranges::any_of(source_.tensors, [](const SourceTensor& t) { return t.unread != 0; });
  }
  // A tensor for each thread at a time: this thread reads their bytes, all of them repack.
  Result<void> load_on_demand(ThreadPool& pool, std::size_t parts,
                              const std::function<void(std::size_t, int)>& load_part, const std::atomic<bool>& stop) {
    held_.resize(parts);
#if defined(__wasm__)  // Node 20 replaces code while workers run it, and damages memory (docs/plan.md, issue 38)
    constexpr std::size_t at_once = 1;
#else
    const auto at_once = static_cast<std::size_t>(pool.threads());
#endif
    for (std::size_t begin = 0; begin < parts && !stop; begin += at_once) {
      const std::size_t count = std::min(at_once, parts - begin);
      for (std::size_t i = begin; i < begin + count; ++i) {
        if (source_.tensors[i].unread == 0) continue;
        if (auto read = read_tensor_bytes(source_.tensors[i]); read)
          held_[i] = std::move(*read);
        else
          return at(source_.tensors[i].name, std::move(read).error());
      }
      pool.run(count, [&](std::size_t i, int worker) { load_part(begin + i, worker); });
      for (std::size_t i = begin; i < begin + count; ++i) held_[i] = {};
    }
    return {};
  }

  // A tensor each; of an .entity as many as two sections hold, whose hashes are computed in turns (sha256_each).
  std::vector<Part> divide() {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < source_.tensors.size(); ++i) order_.push_back(i), parts.push_back({i, i + 1, 0, 0});
    if (file_ == nullptr) return parts;
    std::ranges::sort(order_, {}, [&](std::size_t i) { return source_.tensors[i].bytes.data(); });
    const std::span<const EntitySection> sections = file_->sections();
    const auto is_weights = [](const EntitySection& s) { return s.kind == "weights"; };
    const auto first = static_cast<std::size_t>(std::ranges::find_if(sections, is_weights) - sections.begin());
    std::size_t end = sections.size();  // after the last one; other sections between them are checked too
    while (end > first && !is_weights(sections[end - 1])) --end;
    const std::byte* const base = file_->source()->bytes().data();
    Part next{0, 0, first, first};
    parts.clear();
    for (std::size_t n = 0; n < order_.size(); ++n) {
      const SourceTensor& t = source_.tensors[order_[n]];
      std::size_t& reached = next.sections_end;
      for (const auto& blob : {t.bytes, t.scales, t.zeros})
        while (reached < end && !blob.empty() && base + sections[reached].offset < blob.data() + blob.size()) ++reached;
      constexpr std::size_t kAtOnce = 2;
      const bool last = n + 1 == order_.size();
      if (last) reached = end;
      if (reached - next.sections_begin < kAtOnce && !last) continue;
      next.tensors_end = n + 1;
      parts.push_back(next);
      next = {n + 1, n + 1, reached, reached};
    }
    return parts;
  }

  Result<std::size_t> pool_bytes() const {
    std::size_t total = 0;
    for (const SourceTensor& t : source_.tensors) {
      if (!is_matrix(t.place.role)) continue;
      const PanelLayout layout = panel_layout(options_.dtype.value_or(t.dtype));
      total += PanelPool::room_for(ceil_div(t.shape[0], kPanelRows) * layout.panel_bytes(t.shape[1]));
    }
    return total;
  }

  Result<void> load_one(std::size_t i) {
    SourceTensor here;  // with the bytes that were read
    const bool is_held = i < held_.size() && held_[i].size() != 0;
    if (is_held) here = source_.tensors[i], here.unread = 0, here.bytes = std::as_const(held_[i]).bytes();
    const SourceTensor& t = is_held ? here : source_.tensors[i];
    std::vector<std::uint32_t> order = source_row_order(source_, t);
    if (!is_matrix(t.place.role)) {
      LOOM_TRY(vectors_[i], decode_vector(t));
      if (!order.empty()) {
        std::vector<float> half_split(vectors_[i].size());
        for (std::size_t r = 0; r < half_split.size(); ++r) half_split[r] = vectors_[i][order[r]];
        vectors_[i] = std::move(half_split);
      }
      return {};
    }
    const bool convert = options_.dtype && *options_.dtype != t.dtype;
    LOOM_TRY(Matrix m, source_matrix(t, order, convert ? nullptr : panels_, stop_));
    if (convert) {
      LOOM_TRY(m, converted(m, *options_.dtype, panels_, stop_));
    }
    if (t.file && t.file->is_file() && !is_held && !t.replaced) {
      auto again = std::make_shared<const TensorOfFile>(TensorOfFile{
          t, std::move(order), convert ? options_.dtype : std::optional<DType>(), os::stamp(t.file->name())});
      m.let_panels_leave(fmt::format("{}: {}", t.file->name(), t.name),
                         [again](std::span<std::byte> panels) { return again->write_panels(panels); });
    }
    matrices_[i] = std::make_shared<const Matrix>(std::move(m));
    if (t.file && !is_held) t.file->release(t.bytes);
    return {};
  }

  const DecoderSource& source_;
  const DecoderOptions& options_;
  const EntityReader* file_ = nullptr;  // not null: hashes are to be checked
  std::vector<std::size_t> order_;      // of the tensors, by part
  std::vector<Buffer> held_;            // bytes of tensors that are read on demand, while they are repacked
  Stop stop_;
  std::map<std::pair<int, std::int64_t>, std::vector<std::size_t>> by_place_;
  std::shared_ptr<PanelPool> panels_;
  std::vector<MatrixPtr> matrices_;
  std::vector<std::vector<float>> vectors_;
};

RopeConfig rope_config(const ModelConfig& c) {
  RopeConfig r;
  r.dim = static_cast<std::size_t>(c.rotary_dim());
  r.theta = c.rope_theta;
  r.factor = c.rope_scaling.factor;
  r.low_freq_factor = c.rope_scaling.low_freq_factor;
  r.high_freq_factor = c.rope_scaling.high_freq_factor;
  r.beta_fast = c.rope_scaling.beta_fast;
  r.beta_slow = c.rope_scaling.beta_slow;
  r.attention_factor = c.rope_scaling.attention_factor.value_or(0.0);
  if (c.rope_scaling.original_max_position_embeddings > 0)
    r.original_max_positions = static_cast<double>(c.rope_scaling.original_max_position_embeddings);
  switch (c.rope_scaling.type) {
    case RopeScalingType::None: break;
    case RopeScalingType::Linear: r.scaling = RopeConfig::Scaling::Linear; break;
    case RopeScalingType::Llama3: r.scaling = RopeConfig::Scaling::Llama3; break;
    case RopeScalingType::Yarn: r.scaling = RopeConfig::Scaling::Yarn; break;
  }
  for (const float f : c.rope_freq_factors) r.divisors.push_back(f);
  return r;
}

LayerPtr residual(LayerPtr norm, LayerPtr body) {
  std::vector<LayerPtr> children;
  children.push_back(std::move(norm));
  children.push_back(std::move(body));
  return std::make_unique<Sequential>(std::move(children), true);
}

// Builds the layer and gives it the tensors of the file, by the names of its weights.
Result<LayerPtr> filled(LayerPtr layer, Loader& loader, std::int64_t i,
                        std::initializer_list<std::pair<std::string_view, TensorRole>> places) {
  LOOM_TRY_VOID(layer->build());
  std::optional<Error> error;
  layer->visit_weights([&](Weight& w) {
    for (const auto& [name, role] : places) {
      if (name != w.name() || error) continue;
      const auto given = w.role() == WeightRole::Matrix ? w.inject(loader.matrix(role, i))
                                                        : w.set(std::span<const float>(loader.vector(role, i)));
      if (!given) error = given.error();
      w.release_master();
    }
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return layer;
}

Result<LayerPtr> build_block(const ModelConfig& c, Loader& loader, std::int64_t i, Activation activation) {
  using R = TensorRole;
  const auto hidden = static_cast<std::size_t>(c.hidden_size);
  MhaConfig mha;
  mha.d_model = hidden;
  mha.num_heads = static_cast<std::size_t>(c.num_attention_heads);
  mha.num_kv_heads = static_cast<std::size_t>(c.num_key_value_heads);
  mha.head_dim = static_cast<std::size_t>(c.head_dim);
  mha.sliding_window = static_cast<std::size_t>(c.window_of_layer(static_cast<std::size_t>(i)));
  mha.qkv_bias = loader.has(R::QBias, i), mha.out_bias = loader.has(R::OBias, i);
  if (loader.has(R::QNorm, i)) mha.qk_norm = QkNorm::Head;
  mha.inner_norm = loader.has(R::AttentionInnerNorm, i);
  mha.rms_norm_eps = c.rms_norm_eps;
  mha.max_seq_len = std::max(mha.max_seq_len, static_cast<std::size_t>(c.max_position_embeddings));
  mha.rope = rope_config(c);
  LOOM_TRY(LayerPtr attention, filled(std::make_unique<Mha>(mha), loader, i,
                                      {{"q.weight", R::Q},
                                       {"k.weight", R::K},
                                       {"v.weight", R::V},
                                       {"o.weight", R::O},
                                       {"q.bias", R::QBias},
                                       {"k.bias", R::KBias},
                                       {"v.bias", R::VBias},
                                       {"o.bias", R::OBias},
                                       {"q_norm", R::QNorm},
                                       {"k_norm", R::KNorm},
                                       {"inner_norm", R::AttentionInnerNorm}}));
  const SwigluConfig swiglu{hidden,
                            static_cast<std::size_t>(c.intermediate_size),
                            loader.has(R::GateBias, i),
                            activation,
                            loader.has(R::FfnInnerNorm, i),
                            c.rms_norm_eps};
  LOOM_TRY(LayerPtr mlp, filled(std::make_unique<Swiglu>(swiglu), loader, i,
                                {{"gate.weight", R::Gate},
                                 {"up.weight", R::Up},
                                 {"down.weight", R::Down},
                                 {"gate.bias", R::GateBias},
                                 {"up.bias", R::UpBias},
                                 {"down.bias", R::DownBias},
                                 {"inner_norm", R::FfnInnerNorm}}));
  const auto norm = [&](TensorRole role) {
    return filled(std::make_unique<RmsNorm>(RmsNormConfig{hidden, c.rms_norm_eps}), loader, i, {{"gamma", role}});
  };
  LOOM_TRY(LayerPtr attention_norm, norm(R::AttentionNorm));
  LOOM_TRY(LayerPtr mlp_norm, norm(R::FfnNorm));
  std::vector<LayerPtr> halves(2);
  halves[0] = residual(std::move(attention_norm), std::move(attention));
  halves[1] = residual(std::move(mlp_norm), std::move(mlp));
  return std::make_unique<Sequential>(std::move(halves));
}

// Hugging Face's "gelu" is the exact one (engine L-10), and its names have no capitals.
Result<Activation> activation_of(const ModelConfig& c) {
  if (c.hidden_act == "gelu") return Activation::GeluExact;
  const bool is_theirs = c.hidden_act.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (const auto known = activation_from_name(c.hidden_act); known && is_theirs) return *known;
  return fail(Code::Unsupported, "hidden_act \"{}\" is not known", c.hidden_act);
}

}  // namespace

bool is_matrix(TensorRole role) {
  switch (role) {
    case TensorRole::Embedding:
    case TensorRole::Q:
    case TensorRole::K:
    case TensorRole::V:
    case TensorRole::O:
    case TensorRole::Gate:
    case TensorRole::Up:
    case TensorRole::Down:
    case TensorRole::Head: return true;
    default: return false;
  }
}

std::vector<std::uint32_t> source_row_order(const DecoderSource& source, const SourceTensor& t) {
  std::vector<std::uint32_t> order;
  if (!source.interleaved_qk || t.replaced || !has_interleaved_rows("llama", t.place.role)) return order;
  const auto head_dim = static_cast<std::size_t>(source.config.head_dim);
  for (std::size_t r = 0; r < t.shape[0]; ++r) order.push_back(static_cast<std::uint32_t>(gguf_row(r, head_dim)));
  return order;
}

Result<Matrix> source_matrix(const SourceTensor& t, std::span<const std::uint32_t> row_order,
                             std::shared_ptr<PanelPool> pool, const Stop& stop) {
  if (t.entity)
    for (const auto& part : {t.bytes, t.scales, t.zeros}) LOOM_TRY_VOID(t.entity->check(part));
  return unchecked_matrix(t, row_order, std::move(pool), stop);
}

Result<std::vector<float>> source_values(const DecoderSource& source, const SourceTensor& t) {
  const std::vector<std::uint32_t> order = source_row_order(source, t);
  auto m = source_matrix(t, order);
  if (!m) return at(t.name, std::move(m).error());
  std::vector<float> values(m->rows() * m->cols());
  for (std::size_t r = 0; r < m->rows(); ++r) m->decode_row(r, values.data() + r * m->cols());
  if (t.shape.size() > 1 || order.empty()) return values;
  std::vector<float> half_split(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) half_split[i] = values[order[i]];
  return half_split;
}

Result<DecoderModel> build_decoder(const DecoderSource& source, ThreadPool& pool, const DecoderOptions& options) {
  const ModelConfig& c = source.config;
  LOOM_TRY(const Activation activation, activation_of(c));
  Loader loader(source, options);
  LOOM_TRY_VOID(loader.check_complete());
  LOOM_TRY_VOID(loader.load(pool));

  const auto layers = static_cast<std::size_t>(c.num_hidden_layers);
  LOOM_TRY(Network network, Network::create({.depth = layers + 3}));
  network.settings.quantized_inputs = Activations::int16;  // a network that learns computes what sessions do
  const auto hidden = static_cast<std::size_t>(c.hidden_size), vocab = static_cast<std::size_t>(c.vocab_size);
  LOOM_TRY(LayerPtr embedding, filled(std::make_unique<Embedding>(EmbeddingConfig{vocab, hidden}), loader, -1,
                                      {{"table", TensorRole::Embedding}}));
  Weight* const table = find_weight(*embedding, "table");
  LOOM_TRY_VOID(network.place({.z = 0}, std::move(embedding)));
  for (std::size_t i = 0; i < layers; ++i) {
    LOOM_TRY(LayerPtr block, build_block(c, loader, static_cast<std::int64_t>(i), activation));
    LOOM_TRY_VOID(network.place({.z = i + 1}, std::move(block)));
  }
  LOOM_TRY(LayerPtr norm, filled(std::make_unique<RmsNorm>(RmsNormConfig{hidden, c.rms_norm_eps}), loader, -1,
                                 {{"gamma", TensorRole::FinalNorm}}));
  LOOM_TRY_VOID(network.place({.z = layers + 1}, std::move(norm)));
  auto head = std::make_unique<Dense>(DenseConfig{hidden, vocab, false, {}, {}});
  if (loader.has(TensorRole::Head)) {
    LOOM_TRY(LayerPtr own, filled(std::move(head), loader, -1, {{"weight", TensorRole::Head}}));
    LOOM_TRY_VOID(network.place({.z = layers + 2}, std::move(own)));
  } else {
    LOOM_TRY_VOID(head->build());
    LOOM_TRY_VOID(find_weight(*head, "weight")->tie(*table));
    LOOM_TRY_VOID(network.place({.z = layers + 2}, std::move(head)));
  }
  DecoderModel model{c, std::move(network)};
  LOOM_TRY_VOID(model.plan_again());
  return model;
}

Result<void> DecoderModel::plan_again() {
  LOOM_TRY(plan, ForwardPlan::create(network, Shape::of({1})));
  return {};
}

}  // namespace loom
