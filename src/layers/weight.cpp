#include "layers/weight.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "backend/rehearsal.h"
#include "backend/webgpu/call.h"
#include "dtypes/float16.h"
#include "dtypes/packing.h"
#include "dtypes/scales.h"
#include "dtypes/whole_scale.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matrix_gpu.h"
#include "simd/normal.h"

namespace loom {
namespace {

float snapped_to(float v) { return snapped(v); }
double snapped_to(double v) { return std::abs(v) < 0x1p-485 ? 0.0 : v; }

// Rows [first, first + count) of a quantised matrix.
QuantizedMatrix rows_of(const QuantizedMatrix& q, std::size_t first, std::size_t count) {
  QuantizedMatrix part;
  part.dtype = q.dtype, part.rows = count, part.cols = q.cols, part.span = q.span;
  const auto cut = [&](auto& to, const auto& from, std::size_t per_row) {
    if (!from.empty())
      to.assign(from.begin() + static_cast<std::ptrdiff_t>(first * per_row),
                from.begin() + static_cast<std::ptrdiff_t>((first + count) * per_row));
  };
  cut(part.codes, q.codes, q.cols * q.code_bytes());
  if (q.spans_per_row() == 0) {
    part.scales = q.scales, part.zero_points = q.zero_points;
  } else {
    cut(part.scales, q.scales, q.spans_per_row());
    cut(part.zero_points, q.zero_points, q.spans_per_row());
  }
  return part;
}

// Block formats whose inputs stay as they are become floats (engine D-26).
Result<Matrix> met_so(Result<Matrix> m, ActivationQuant way) {
  if (!m || way != ActivationQuant::None || !is_block_format(m->dtype())) return m;
  std::vector<float> values(m->rows() * m->cols());
  for (std::size_t r = 0; r < m->rows(); ++r) m->decode_row(r, values.data() + r * m->cols());
  return Matrix::from_floats(DType::float32, values, m->rows(), m->cols());
}

PanelScales input_scales(ActivationQuant way) {
  return way == ActivationQuant::Row     ? PanelScales::ByRow
         : way == ActivationQuant::Group ? PanelScales::ByGroup
                                         : PanelScales::None;
}

Result<std::vector<MatrixPtr>> pack(std::vector<MatrixPtr> parts, Result<Matrix> matrix, ActivationQuant way) {
  if (!matrix) return tl::make_unexpected(std::move(matrix).error());
  if (matrix->layout().quantises_input()) matrix->set_input_scales(input_scales(way));
  parts.push_back(std::make_shared<Matrix>(std::move(*matrix)));
  return parts;
}

}  // namespace

Result<void> Weight::declare(std::string name, WeightRole role, std::span<const std::size_t> extents,
                             const WeightInit& init, std::size_t parts) {
  auto shape = Shape::create(extents);
  if (!shape) return at(name, std::move(shape).error());
  *this = Weight();
  name_ = std::move(name), role_ = role, shape_ = *shape, init_ = init, parts_ = parts;
  LOOM_ASSERT(rows() % parts_ == 0);
  return {};
}

template <class T>
Result<void> Weight::set_of(std::span<const T> values) {
  if (tied_ != nullptr) return tied_->set_of(values);
  ahead_ = nullptr, master_token_.reset();
  if (values.size() != elements())
    return fail(Code::ShapeMismatch, "{}: {} values given, {} of shape {} expected", name_, values.size(), elements(),
                shape_.text());
  const double most =
      encoding_.dtype == DType::float64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const auto fits = [most](T v) { return std::abs(static_cast<double>(v)) <= most; };  // a NaN does not
  constexpr std::size_t kAtOnce = 4096;  // without an early exit inside, which compilers look through many at a time
  for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
    const auto some = values.subspan(begin, std::min(kAtOnce, values.size() - begin));
    unsigned bad = 0;
    for (const T v : some) bad |= static_cast<unsigned>(!fits(v));
    if (bad == 0) continue;
    const auto first = begin + static_cast<std::size_t>(std::ranges::find_if_not(some, fits) - some.begin());
    return fail(Code::NonFinite, "{}: value {} is not a finite number", name_, first);
  }
  if (encoding_.dtype == DType::float64) {
    master_.clear(), master64_.resize(values.size());
    std::ranges::transform(values, master64_.begin(), [](T v) { return snapped_to(static_cast<double>(v)); });
  } else {
    master_.resize(values.size()), master64_.clear();
    std::ranges::transform(values, master_.begin(), [](T v) { return snapped_to(static_cast<float>(v)); });
  }
  return refill(nullptr) ? Result<void>() : refresh();
}

Result<void> Weight::set(std::span<const float> values) { return set_of(values); }
Result<void> Weight::set(std::span<const double> values) { return set_of(values); }

Result<void> Weight::initialise(const WeightInit& init, std::uint64_t seed, std::uint32_t site) {
  using Rule = WeightInit::Rule;
  if (init.rule == Rule::Zeros) {  // large models that get their values later begin so: nothing to draw or look at
    const bool is_wide = encoding_.dtype == DType::float64;
    master_.assign(is_wide ? 0 : elements(), 0), master64_.assign(is_wide ? elements() : 0, 0);
    return refresh_zeros();
  }
  const RandomStream stream{seed, RandomDomain::Init, 0, site};
  const auto fan_in = static_cast<double>(init.fan_in), fan_out = static_cast<double>(init.fan_out);
  const double half_width = init.rule == Rule::Glorot ? std::sqrt(6.0 / (fan_in + fan_out)) : init.size;
  const double deviation = init.rule == Rule::He ? std::sqrt(2.0 / fan_in) : init.size;
  std::vector<float> values(elements());
  for (std::size_t i = 0; i < values.size(); ++i) {
    double v = 0;
    switch (init.rule) {
      case Rule::Zeros: break;  // above
      case Rule::Ones: v = 1; break;
      case Rule::Identity: v = i / cols() == i % cols() ? 1 : 0; break;
      case Rule::Glorot:
      case Rule::Uniform: v = (2.0 * static_cast<double>(stream.uniform(i)) - 1.0) * half_width; break;
      case Rule::He:
      case Rule::Normal: v = normal(stream, i) * deviation; break;
      case Rule::LogCount: v = log64(static_cast<double>(1 + i % cols())); break;
      case Rule::InverseSoftplus: {
        const double low = log64(1e-3), y = exp64(low + static_cast<double>(stream.uniform(i)) * (log64(1e-1) - low));
        v = y + log64(0.0 - expm1_64(0.0 - y));
        break;
      }
    }
    values[i] = static_cast<float>(v);
  }
  return set(std::span<const float>(values));
}

Result<std::shared_ptr<Weight::Version>> Weight::encode(const Encoding& e, const QuantizedMatrix* like) const {
  auto version = std::make_shared<Version>();
  version->encoding = e;
  std::vector<float> narrow;
  if (master_.empty()) {
    narrow.resize(master64_.size());
    std::ranges::transform(master64_, narrow.begin(), [](double v) { return snapped_to(static_cast<float>(v)); });
  }
  const std::span<const float> values = master_.empty() ? narrow : master_;
  if (role_ != WeightRole::Matrix) {
    if (e.dtype == DType::float64) {
      version->decoded64 = master64_.empty() ? std::vector<double>(master_.begin(), master_.end()) : master64_;
    } else if (role_ != WeightRole::TypedVector || e.dtype == DType::float32) {
      version->decoded.assign(values.begin(), values.end());
    } else {
      LOOM_TRY(const QuantizedMatrix q, like != nullptr
                                            ? quantize_like(*like, values)
                                            : quantize(e.dtype, values, 1, values.size(), {Granularity::Tensor}));
      return version_of(q, e);
    }
    return version;
  }
  if (e.dtype != DType::float64 && e.dtype != DType::float32 && !is_block_format(e.dtype)) {
    LOOM_TRY(const QuantizedMatrix q,
             like != nullptr ? quantize_like(*like, values) : quantize(e.dtype, values, rows(), cols(), e.span));
    return version_of(q, e);
  }
  const std::size_t part_rows = rows() / parts_, part_size = part_rows * cols();
  const std::vector<double> wide = e.dtype != DType::float64 ? std::vector<double>{}
                                   : master64_.empty()       ? std::vector<double>(master_.begin(), master_.end())
                                                             : master64_;
  for (std::size_t p = 0; p < parts_; ++p) {
    auto part =
        e.dtype == DType::float64
            ? Matrix::from_source(DType::float64, std::as_bytes(std::span(wide).subspan(p * part_size, part_size)),
                                  part_rows, cols())
            : Matrix::from_floats(e.dtype, values.subspan(p * part_size, part_size), part_rows, cols());
    LOOM_TRY(version->parts,
             pack(std::move(version->parts), met_so(std::move(part), e.activation_quant), e.activation_quant));
  }
  return version;
}

// Makes a version of codes of one of the types with an encoder.
Result<std::shared_ptr<Weight::Version>> Weight::version_of(const QuantizedMatrix& q, const Encoding& e) const {
  auto version = std::make_shared<Version>();
  version->encoding = e;
  if (role_ != WeightRole::Matrix) {
    version->decoded = dequantize(q);
    version->codes = q;
    return version;
  }
  const std::size_t part_rows = rows() / parts_;
  std::vector<float> decoded;
  if (e.activation_quant == ActivationQuant::None) {
    decoded = dequantize(q);
    version->codes = q;
  }
  for (std::size_t p = 0; p < parts_; ++p) {
    LOOM_TRY(version->parts, pack(std::move(version->parts),
                                  decoded.empty() ? Matrix::from_quantized(rows_of(q, p * part_rows, part_rows))
                                                  : Matrix::from_floats(DType::float32,
                                                                        std::span<const float>(decoded).subspan(
                                                                            p * part_rows * cols(), part_rows * cols()),
                                                                        part_rows, cols()),
                                  e.activation_quant));
  }
  return version;
}

// The active version anew, and no other: the master has changed (engine D-22).
Result<void> Weight::refresh(const QuantizedMatrix* like) {
  versions_.clear();
  auto version = encode(encoding_, like);
  if (!version) return at(name_, std::move(version).error());
  active_ = std::move(*version);
  versions_.push_back(active_);
  find_plain();
  return {};
}

// The same for a master of zeros. New panels of f32 are zeros as the system gives them: nobody touches them until
// values arrive.
Result<void> Weight::refresh_zeros() {
  if (role_ != WeightRole::Matrix || encoding_.dtype != DType::float32) return refresh();
  versions_.clear();
  auto version = std::make_shared<Version>();
  version->encoding = encoding_;
  for (std::size_t p = 0; p < parts_; ++p) {
    auto part = Matrix::zeros(DType::float32, rows() / parts_, cols());
    if (!part) return at(name_, std::move(part).error());
    version->parts.push_back(std::make_shared<Matrix>(std::move(*part)));
  }
  active_ = std::move(version);
  versions_.push_back(active_);
  find_plain();
  return {};
}

Tensor Weight::master_for_update() {
  if (tied_ != nullptr) return tied_->master_for_update();
  if (!master64_.empty()) return {master64_.data(), rows(), cols(), Element::f64};
  if (!master_.empty()) return {master_.data(), rows(), cols(), Element::f32};
  return {};
}

namespace {

// f(begin, end) over [0, n): one call for few elements or without a pool, else a few per thread.
template <class F>
void in_shares(ThreadPool* pool, std::size_t n, std::size_t elements, F&& f) {
  if (pool == nullptr || elements < 32768) return f(std::size_t{0}, n);
  const std::size_t shares = std::min<std::size_t>(n, static_cast<std::size_t>(pool->threads()) * 4);
  pool->run(shares, [&](std::size_t share) { f(share * n / shares, (share + 1) * n / shares); });
}

// Returns whether the active version holds scales that quantized() gives back.
bool has_scales(const Weight& w) {
  const bool is_typed = w.role() == WeightRole::Matrix || w.role() == WeightRole::TypedVector;
  return is_typed && !is_block_format(w.dtype()) && traits(info(w.dtype()).panel.kind).scales != PanelScales::None;
}

// Returns whether the panels lie as those of an encoding do, so that new values can go into them.
bool lie_as(std::span<const MatrixPtr> parts, const Encoding& e) {
  if (e.dtype == DType::float64 || is_block_format(e.dtype)) return false;
  const PanelLayout layout = panel_layout(e.dtype, e.span);
  return std::ranges::all_of(parts, [&](const MatrixPtr& part) {
    return part->dtype() == e.dtype && part->layout().kind == layout.kind && part->layout().sub_cols == layout.sub_cols;
  });
}

// Encodes values of all parts into panels that nobody else reads. They were made here as matrices that may change.
void fill_parts(std::span<const MatrixPtr> parts, const Encoding& e, std::span<const float> values, ThreadPool* pool) {
  const std::size_t cols = parts[0]->cols(), part_size = parts[0]->rows() * cols;
  QuantizedMatrix row;
  row.dtype = e.dtype, row.rows = 1, row.cols = cols, row.span = resolved(e.dtype, e.span);
  if (row.span.granularity == Granularity::Tensor) {
    row.rows = values.size() / cols;
    pool != nullptr ? estimate_scales(row, values, *pool) : estimate_scales(row, values);
    row.rows = 1;
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    auto& matrix = const_cast<Matrix&>(*parts[p]);
    in_shares(pool, matrix.panels(), part_size, [&](std::size_t begin, std::size_t end) {
      QuantizedMatrix own = row;
      matrix.refill(values.subspan(p * part_size, part_size), begin, end, own);
    });
  }
}

// Codes anew; what they stand for goes to `decoded`.
void encode_values(QuantizedMatrix& codes, std::span<const float> values, std::span<float> decoded) {
  estimate_scales(codes, values);
  encode(codes, values);
  std::ranges::copy(dequantize(codes), decoded.begin());
}

// Returns whether kernels of a graphics card encode new values of a weight, in place of a version that is its own.
bool is_encoded_there(const Weight& w, std::span<const MatrixPtr> parts, bool has_codes, bool keeps_scales) {
  if (!gpu::encodes(w.dtype()) || (keeps_scales && has_scales(w))) return false;
  if (w.role() != WeightRole::Matrix) return has_codes;
  return lie_as(parts, has_codes ? Encoding() : w.encoding());
}

// Makes the panels of matrices on a graphics card anew, of values that lie there.
void refill_there(const Exec& exec, std::span<const MatrixPtr> parts, const Encoding& e,
                  std::span<const float> values) {
  Device& device = *exec.arena.device();  // the call may put another arena there
  const gpu::Call call(exec, [&] { gpu::refill(exec, parts, e.span, values.data()); });
  if (call.is_done() || !exec.computes()) return;
  fill_parts(parts, e, values, nullptr);
  for (const MatrixPtr& part : parts) {
    const std::size_t factor_bytes = part->panels() * kPanelRows * sizeof(float);
    const auto put = [&](const void* from, std::size_t bytes) {
      const std::span<const std::byte> here{static_cast<const std::byte*>(from), bytes};
      if (from == nullptr) return;
      if (auto at = device.place(part->token(), here)) std::ranges::copy(here, const_cast<std::byte*>(*at));
    };
    put(part->panel(0), part->panels() * part->panel_bytes());
    put(part->row_scales(), factor_bytes), put(part->row_zeros(), factor_bytes);
  }
}

// The same of values that are kept decoded: `codes` have their type, sizes and span.
void encode_there(const Exec& exec, const QuantizedMatrix& codes, std::span<const float> values,
                  std::span<float> decoded) {
  const gpu::Call call(exec, [&] { gpu::requantize(exec, codes, values.data(), decoded.data()); });
  if (call.is_done() || !exec.computes()) return;
  QuantizedMatrix own = codes;
  encode_values(own, values, decoded);
}

}  // namespace

// New values go where the old ones lie, unless somebody shares the version.
bool Weight::refill(ThreadPool* pool) {
  if (active_ == nullptr || !is_own() || master_.empty()) return false;
  const DType dtype = encoding_.dtype;
  if (role_ != WeightRole::Matrix) {
    if (dtype != DType::float32 || active_->decoded.size() != master_.size()) return false;
    std::ranges::copy(master_, active_->decoded.begin());
    active_->token.reset();
    find_plain();
    return true;
  }
  if (!lie_as(active_->parts, encoding_) || (keeps_scales_ && has_scales(*this))) return false;
  active_->token.reset();
  for (const MatrixPtr& part : active_->parts) const_cast<Matrix&>(*part).renew();  // made here, and ours alone
  fill_parts(active_->parts, encoding_, master_, pool);
  find_plain();
  return true;
}

Result<void> Weight::commit_update(ThreadPool& pool, Values values) {
  if (tied_ != nullptr) return tied_->commit_update(pool, values);
  LOOM_ASSERT(ahead_ == nullptr);
  master_token_.reset();
  return encode_master(pool, values);
}

Result<void> Weight::encode_master(ThreadPool& pool, Values given) {
  const auto bad = [&](const auto& values) -> Result<void> {
    using T = typename std::remove_cvref_t<decltype(values)>::value_type;
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr Bits kInfinite = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
    std::atomic<bool> found{false};
    in_shares(&pool, values.size(), values.size(), [&](std::size_t begin, std::size_t end) {
      Bits any = 0;  // integers and no early exit: compilers look at many at once
      for (std::size_t i = begin; i < end; ++i)
        any |= static_cast<Bits>((std::bit_cast<Bits>(values[i]) & kInfinite) == kInfinite);
      if (any != 0) found.store(true, std::memory_order_relaxed);
    });
    for (std::size_t i = 0; found && i < values.size(); ++i)
      if (!std::isfinite(values[i])) return fail(Code::NonFinite, "{}: value {} is not a finite number", name_, i);
    return {};
  };
  if (given == Values::Any) {
    LOOM_TRY_VOID(bad(master_));
    LOOM_TRY_VOID(bad(master64_));
  }
  if (refill(&pool)) return {};
  if (!keeps_scales_ || !has_scales(*this)) return refresh();
  LOOM_TRY(const QuantizedMatrix now, quantized());
  return refresh(&now);
}

// Whether an update moves the very values that ops read: f32, but for panels, which are made of them.
bool Weight::moves_as_it_lies() const {
  return encoding_.dtype == DType::float32 ||
         (encoding_.dtype != DType::float64 && role_ != WeightRole::Matrix && role_ != WeightRole::TypedVector);
}

// Whether nobody else holds the active version.
bool Weight::is_own() const {
  return versions_.size() == 1 && active_.use_count() == 2 &&
         std::ranges::all_of(active_->parts, [](const MatrixPtr& part) { return part.use_count() == 1; });
}

Tensor Weight::master_for_update(const Exec& exec) {
  if (tied_ != nullptr) return tied_->master_for_update(exec);
  if (exec.gpu() == nullptr || exec.rehearsal() || master_.empty()) return master_for_update();
  const auto give_up = [&](Error error) {
    if (!exec.status) exec.status = std::move(error);
    return Tensor{};
  };
  const float* at = nullptr;
  if (moves_as_it_lies()) {
    if (!is_own()) {
      if (auto fetched = fetch(); !fetched) return give_up(std::move(fetched).error());
      if (auto made = refresh(); !made) return give_up(std::move(made).error());
    }
    at = placed(exec, {plain_, elements()}).data();
  } else {
    // The version here is what the next one is made like, or somebody else's too.
    if (ahead_ != nullptr &&
        !(is_own() && is_encoded_there(*this, active_->parts, active_->codes.has_value(), keeps_scales_)))
      if (auto fetched = fetch(); !fetched) return give_up(std::move(fetched).error());
    if (master_token_ == nullptr) master_token_ = std::make_shared<char>();
    auto placed = exec.arena.device()->place(master_token_, std::as_bytes(std::span(master_)));
    if (!placed) return give_up(std::move(placed).error());
    at = reinterpret_cast<const float*>(*placed);
  }
  return {const_cast<float*>(at), rows(), cols(), Element::f32};
}

Result<void> Weight::commit_update(const Exec& exec, Values values) {
  if (tied_ != nullptr) return tied_->commit_update(exec, values);
  if (exec.gpu() == nullptr || master_.empty()) return commit_update(exec.pool, values);
  const Tensor moved = master_for_update(exec);
  if (exec.status) return tl::make_unexpected(*exec.status);
  const bool is_matrix = role_ == WeightRole::Matrix;
  if (!moves_as_it_lies() &&
      !(is_own() && is_encoded_there(*this, active_->parts, active_->codes.has_value(), keeps_scales_))) {
    exec.arena.device()->read(moved.as<std::byte>(), std::as_writable_bytes(std::span(master_)));
    LOOM_TRY_VOID(exec.arena.device()->check());
    return encode_master(exec.pool, values);
  }
  const std::span<const float> from{moved.as<float>(), elements()};
  const auto follow = [&](const Exec& now) {
    if (!active_->codes) return refill_there(now, active_->parts, encoding_, from);
    auto* const to =
        is_matrix ? now.arena.take<float>(elements()) : const_cast<float*>(placed(now, active_->decoded).data());
    if (!now.status) encode_there(now, *active_->codes, from, {to, elements()});
    if (!now.status && is_matrix) refill_there(now, active_->parts, {}, {to, elements()});
  };
  if (!moves_as_it_lies()) LOOM_TRY_VOID(plan_scratch(exec, follow));
  if (is_matrix || !moves_as_it_lies()) follow(exec);
  if (exec.status) return tl::make_unexpected(*exec.status);
  ahead_ = exec.arena.device();
  return {};
}

Result<void> Weight::take(const Exec& exec, const void* values) {
  if (tied_ != nullptr) return tied_->take(exec, values);
  LOOM_TRY_VOID(ensure_master());
  const Tensor to = master_for_update(exec);
  if (to.data != nullptr) copy(exec, {values, to.rows, to.cols, to.element}, to);
  if (exec.status) return tl::make_unexpected(*exec.status);
  return commit_update(exec, Values::Finite);
}

Result<void> Weight::fetch() {
  if (tied_ != nullptr) return tied_->fetch();
  if (ahead_ == nullptr) return {};
  Device& device = *ahead_;
  const bool as_it_lies = moves_as_it_lies();
  const float* const here = as_it_lies ? plain_ : master_.data();
  LOOM_TRY(const std::byte* const at,
           device.place(as_it_lies ? active_->token : master_token_, std::as_bytes(std::span(here, elements()))));
  device.read(at, std::as_writable_bytes(std::span(master_)));
  LOOM_TRY_VOID(device.check());
  ahead_ = nullptr;  // not where the card was lost: the values here are older ones
  // What the device has stays good, so tokens stay.
  std::vector<float> values;
  if (active_->codes) values.resize(elements()), encode_values(*active_->codes, master_, values);
  const std::span<const float> now = active_->codes ? values : master_;
  if (role_ == WeightRole::Matrix)
    fill_parts(active_->parts, active_->codes ? Encoding() : encoding_, now, nullptr);
  else
    std::ranges::copy(now, active_->decoded.begin());
  return {};
}

Result<void> Weight::morph(const Encoding& encoding) {
  if (tied_ != nullptr) return tied_->morph(encoding);
  LOOM_TRY_VOID(fetch());
  if (!has_value()) {  // what is set later arrives in this type
    encoding_ = encoding;
    return {};
  }
  for (const auto& version : versions_)
    if (version->encoding == encoding) {
      active_ = version, encoding_ = encoding;
      find_plain();
      return {};
    }
  if (!has_master())
    return fail(Code::InvalidArgument, "{}: its master was released; ensure_master() decodes one", name_);
  auto version = encode(encoding);
  if (!version) return at(name_, std::move(version).error());
  active_ = std::move(*version), encoding_ = encoding;
  versions_.push_back(active_);
  find_plain();
  return {};
}

Result<void> Weight::inject(const Encoding& encoding, std::span<const std::byte> codes,
                            std::span<const std::byte> scales, std::span<const std::byte> zeros) {
  auto q = unpack(encoding.dtype, rows(), cols(), encoding.span, codes, scales, zeros);
  if (!q) return at(name_, std::move(q).error());
  return restore(*q, encoding);
}

Result<void> Weight::inject_bitnet(std::span<const std::byte> codes, float weight_scale) {
  auto matrix = Matrix::from_bitnet(codes, rows(), cols(), weight_scale);
  if (!matrix) return at(name_, std::move(matrix).error());
  return inject(std::make_shared<const Matrix>(std::move(*matrix)));
}

Result<void> Weight::inject(MatrixPtr matrix) {
  if (tied_ != nullptr) return tied_->inject(std::move(matrix));
  LOOM_TRY_VOID(fetch());
  if (matrix->rows() != rows() || matrix->cols() != cols() || parts_ != 1)
    return fail(Code::ShapeMismatch, "{}: a matrix of {} x {}, expected {} x {}", name_, matrix->rows(), matrix->cols(),
                rows(), cols());
  master_.clear(), master64_.clear(), versions_.clear(), master_token_.reset();
  encoding_ = {matrix->dtype()};
  active_ = std::make_shared<Version>();
  active_->encoding = encoding_;
  if (role_ == WeightRole::Matrix) {
    active_->parts.push_back(std::move(matrix));
  } else {
    active_->decoded.resize(elements());
    for (std::size_t r = 0; r < rows(); ++r) matrix->decode_row(r, active_->decoded.data() + r * cols());
  }
  versions_.push_back(active_);
  find_plain();
  return {};
}

Result<QuantizedMatrix> Weight::quantized() const {
  const Weight& w = owner();
  LOOM_ASSERT(!w.is_ahead());
  if (w.active_ == nullptr) return fail(Code::InvalidState, "{} has no value yet", name_);
  if (w.active_->codes) return *w.active_->codes;
  if (role_ == WeightRole::Matrix && is_block_format(w.dtype()))
    return fail(Code::Unsupported, "{}: {} blocks are not kept as they stood in their file", name_,
                loom::name(w.dtype()));
  if (role_ != WeightRole::Matrix) {
    QuantizedMatrix q;
    q.dtype = w.active_->decoded64.empty() ? DType::float32 : DType::float64, q.rows = rows(), q.cols = cols(),
    q.span = {Granularity::Tensor};
    const auto bytes = w.active_->decoded64.empty() ? std::as_bytes(std::span(w.active_->decoded))
                                                    : std::as_bytes(std::span(w.active_->decoded64));
    q.codes.assign(bytes.begin(), bytes.end());
    return q;
  }
  LOOM_TRY(QuantizedMatrix all, w.active_->parts[0]->to_quantized());
  for (std::size_t p = 1; p < parts_; ++p) {
    LOOM_TRY(const QuantizedMatrix part, w.active_->parts[p]->to_quantized());
    all.codes.insert(all.codes.end(), part.codes.begin(), part.codes.end());
    all.scales.insert(all.scales.end(), part.scales.begin(), part.scales.end());
    all.zero_points.insert(all.zero_points.end(), part.zero_points.begin(), part.zero_points.end());
  }
  all.rows = rows();
  if (resolved(dtype(), encoding().span).granularity == Granularity::Tensor && !all.scales.empty()) {
    all.span.granularity = Granularity::Tensor;
    all.scales.resize(1);
    if (!all.zero_points.empty()) all.zero_points.resize(1);
  }
  return all;
}

namespace {

// Values of a float32 or float64 matrix.
std::vector<double> floats_of(const QuantizedMatrix& q) {
  std::vector<double> values(q.rows * q.cols);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (q.dtype == DType::float64)
      std::memcpy(&values[i], q.codes.data() + i * 8, 8);
    else
      values[i] = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(q.code(i))));
  }
  return values;
}

}  // namespace

Result<void> Weight::restore_master(const QuantizedMatrix& q) {
  if (tied_ != nullptr) return tied_->restore_master(q);
  LOOM_TRY_VOID(fetch());
  if (q.rows * q.cols != elements() || (q.dtype != DType::float32 && q.dtype != DType::float64))
    return fail(Code::CorruptData, "{}: a master of {} {} values, {} of float32 or float64 expected", name_,
                q.rows * q.cols, loom::name(q.dtype), elements());
  std::vector<double> values = floats_of(q);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return fail(Code::NonFinite, "{}: value {} of the master is not a finite number", name_, i);
  master_.clear(), master64_.clear(), master_token_.reset();
  if (q.dtype == DType::float64)
    master64_ = std::move(values);
  else
    master_.assign(values.begin(), values.end());
  find_plain();
  return {};
}

Result<void> Weight::restore(const QuantizedMatrix& q, const Encoding& encoding) {
  if (tied_ != nullptr) return tied_->restore(q, encoding);
  LOOM_TRY_VOID(fetch());
  if (q.rows != rows() || q.cols != cols())
    return fail(Code::ShapeMismatch, "{}: {} x {} codes, {} x {} expected", name_, q.rows, q.cols, rows(), cols());
  if (q.dtype == DType::float32 || q.dtype == DType::float64) {
    encoding_ = encoding;
    const std::vector<double> values = floats_of(q);
    return set(std::span<const double>(values));
  }
  if (const std::uint64_t mask = info(q.dtype).non_finite_mask; mask != 0)
    for (std::size_t i = 0; i < elements(); ++i)
      if ((static_cast<std::uint64_t>(q.code(i)) & mask) == mask)
        return fail(Code::NonFinite, "{}: value {} is not a finite number", name_, i);
  if (auto good = check_scales(q); !good) return at(name_, std::move(good).error());
  auto version = version_of(q, encoding);
  if (!version) return at(name_, std::move(version).error());
  master_.clear(), master64_.clear(), versions_.clear(), master_token_.reset();
  active_ = std::move(*version), encoding_ = encoding;
  versions_.push_back(active_);
  find_plain();
  return {};
}

Result<void> Weight::copy_from(const Weight& other) {
  const Weight& from = other.owner();
  LOOM_ASSERT(!from.is_ahead());
  ahead_ = nullptr, master_token_.reset();
  if (!(from.shape_ == shape_) || from.role_ != role_ || from.parts_ != parts_)
    return fail(Code::ShapeMismatch, "{} of shape {} cannot take the values of {} of shape {}", name_, shape_.text(),
                from.name_, from.shape_.text());
  master_ = from.master_, master64_ = from.master64_, encoding_ = from.encoding_;
  active_ = from.active_;  // encoders make new versions and leave old ones as they are
  versions_.clear();
  if (active_ != nullptr) versions_.push_back(active_);
  find_plain();
  return {};
}

Result<void> Weight::tie(Weight& owner) {
  Weight& last = owner.tied_ != nullptr ? *owner.tied_ : owner;
  if (!(last.shape_ == shape_))
    return fail(Code::ShapeMismatch, "{} of shape {} is tied to {} of shape {}", name_, shape_.text(), last.name_,
                last.shape_.text());
  tied_ = &last;
  return {};
}

void Weight::release_master() {
  if (tied_ != nullptr || active_ == nullptr) return;
  master_ = {}, master64_ = {};
  find_plain();
}

Result<void> Weight::ensure_master() {
  if (tied_ != nullptr) return tied_->ensure_master();
  if (has_master()) return {};
  if (active_ == nullptr) return fail(Code::InvalidArgument, "{} has no value yet", name_);
  if (dtype() == DType::float64) {
    std::vector<double> values(elements());
    decode(0, elements(), values.data());
    master64_ = std::move(values);
  } else {
    std::vector<float> values(elements());
    decode(0, elements(), values.data());
    master_ = std::move(values);
  }
  find_plain();
  return {};
}

Result<void> Weight::convert_master(Element element) {
  if (tied_ != nullptr) return tied_->convert_master(element);
  LOOM_TRY_VOID(fetch());
  if (element == Element::f64 && !master_.empty()) {
    master64_.assign(master_.begin(), master_.end()), master_ = {};
  } else if (element == Element::f32 && !master64_.empty()) {
    const auto is_exact = [](double v) { return snapped_to(static_cast<float>(v)) == v; };  // infinities are not
    const auto found = std::ranges::find_if_not(master64_, is_exact);
    if (found != master64_.end())
      return fail(Code::Unsupported,
                  "{}: value {} is {}, which float32 does not hold, in a network that computes in float32; expected "
                  "\"activations\": \"float64\" in the network, or a \"default_dtype\" or \"dtype\" other than float64",
                  name_, found - master64_.begin(), *found);
    master_.assign(master64_.begin(), master64_.end()), master64_ = {};
  }
  master_token_.reset();
  find_plain();
  return {};
}

void Weight::trim_versions() {
  versions_.clear();
  if (active_ != nullptr) versions_.push_back(active_);
}

// f32 values that need no decoding: a vector, or the master of an f32 matrix.
void Weight::find_plain() {
  plain_ = nullptr;
  if (active_ == nullptr) return;
  if (!active_->decoded.empty()) plain_ = active_->decoded.data();
  if (role_ == WeightRole::Matrix && encoding_.dtype == DType::float32 && !master_.empty()) plain_ = master_.data();
}

template <class T>
void Weight::decode_to(std::size_t first, std::size_t count, T* to) const {
  LOOM_ASSERT(!is_ahead());
  if (role_ != WeightRole::Matrix) {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = active_->decoded64.empty() ? static_cast<T>(active_->decoded[first + i])
                                         : static_cast<T>(active_->decoded64[first + i]);
    return;
  }
  LOOM_ASSERT(first % cols() == 0 && count % cols() == 0);
  const std::size_t part_rows = rows() / parts_;
  for (std::size_t r = first / cols(); r < (first + count) / cols(); ++r, to += cols())
    active_->parts[r / part_rows]->decode_row(r % part_rows, to);
}

// The values where they lie, or the copy that the device has of them.
std::span<const float> Weight::placed(const Exec& exec, std::span<const float> values) const {
  Device* const device = exec.arena.device();
  if (device == nullptr || exec.rehearsal() || active_ == nullptr) return values;
  if (active_->token == nullptr) active_->token = std::make_shared<char>();
  auto at = device->place(active_->token, std::as_bytes(values));
  if (at) return {reinterpret_cast<const float*>(*at), values.size()};
  if (!exec.status) exec.status = std::move(at.error().in_source(name_));
  return values;
}

template <class T>
const T* Weight::values(const Exec& exec) const {
  const Weight& w = owner();
  LOOM_ASSERT(w.ahead_ == nullptr || w.ahead_ == exec.arena.device() || exec.rehearsal());
  if constexpr (sizeof(T) == 4) {
    if (w.plain_ != nullptr) return w.placed(exec, std::span(w.plain_, w.elements())).data();
  } else {
    if (w.dtype() == DType::float64 && !w.master64_.empty()) return w.master64_.data();
    if (w.active_ != nullptr && !w.active_->decoded64.empty()) return w.active_->decoded64.data();
  }
  T* const to = exec.arena.template take<T>(w.elements());
  if (exec.rehearsal()) return to;
  if (w.role_ != WeightRole::Matrix) {
    const bool wide = !w.active_->decoded64.empty();
    const void* const from = wide ? static_cast<const void*>(w.active_->decoded64.data()) : w.active_->decoded.data();
    convert(exec, {from, 1, w.elements(), wide ? Element::f64 : Element::f32}, {to, 1, w.elements(), element_of<T>});
    return to;
  }
  const std::size_t part_rows = w.rows() / w.parts_, cols = w.cols();
  for (std::size_t p = 0; p < w.parts_; ++p)
    decode_matrix(exec, *w.active_->parts[p], {to + p * part_rows * cols, part_rows, cols, element_of<T>});
  return to;
}
template const float* Weight::values<float>(const Exec&) const;
template const double* Weight::values<double>(const Exec&) const;

namespace {

std::size_t bytes_of_panels(const PanelLayout& layout, std::size_t rows, std::size_t cols) {
  const std::size_t panels = (rows + kPanelRows - 1) / kPanelRows;
  const bool is_wide =
      layout.kind == PanelKind::Wide16 || layout.kind == PanelKind::Wide32 || layout.kind == PanelKind::Wide64;
  const std::size_t factors = layout.has_row_scales() ? (layout.has_zeros ? 2 : 1) * (is_wide ? 8 : 4) : 0;
  return panels * (layout.panel_bytes(cols) + kPanelRows * factors);
}

// Returns the bytes that a version of this weight will take once it has values, so that memory is known beforehand.
std::size_t bytes_to_come(const Weight& w) {
  const Encoding& e = w.encoding();
  if (w.role() != WeightRole::Matrix && e.dtype == DType::float64) return w.elements() * sizeof(double);
  const bool is_plain =
      e.dtype == DType::float32 || (w.role() != WeightRole::Matrix && w.role() != WeightRole::TypedVector);
  std::size_t bytes = w.role() != WeightRole::Matrix ? w.elements() * sizeof(float) : 0;  // vectors are kept decoded
  const bool decodes = w.role() == WeightRole::Matrix && e.activation_quant == ActivationQuant::None &&
                       e.dtype != DType::float64 && !is_plain;
  if (w.role() == WeightRole::Matrix) {
    const PanelLayout layout = decodes ? panel_layout(DType::float32) : panel_layout(e.dtype, e.span);
    bytes += w.parts() * bytes_of_panels(layout, w.rows() / w.parts(), w.cols());
  }
  // and their codes beside
  if ((decodes && !is_block_format(e.dtype)) || (w.role() == WeightRole::TypedVector && !is_plain)) {
    QuantizedMatrix q;
    q.dtype = e.dtype, q.rows = w.rows(), q.cols = w.cols(),
    q.span = resolved(e.dtype, w.role() == WeightRole::Matrix ? e.span : ScaleSpan{Granularity::Tensor});
    const bool is_scaled = e.dtype != DType::float16 && e.dtype != DType::bfloat16;
    bytes += w.elements() * q.code_bytes() +
             (is_scaled ? std::max<std::size_t>(1, q.rows * q.spans_per_row()) * sizeof(double) : 0);
  }
  return bytes;
}

}  // namespace

std::size_t Weight::resident_bytes() const {
  if (tied_ != nullptr) return 0;
  if (!has_value()) return bytes_to_come(*this);
  std::size_t bytes = master_.size() * sizeof(float) + master64_.size() * sizeof(double);
  for (const auto& version : versions_) {
    bytes += version->decoded.size() * sizeof(float) + version->decoded64.size() * sizeof(double);
    for (const MatrixPtr& part : version->parts) bytes += part->resident_bytes();
    if (version->codes) bytes += version->codes->codes.size() + version->codes->scales.size() * sizeof(double);
  }
  return bytes;
}

}  // namespace loom
