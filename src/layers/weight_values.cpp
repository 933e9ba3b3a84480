#include "layers/weight_values.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "dtypes/packing.h"
#include "dtypes/panel_pages.h"
#include "dtypes/scales.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gather/gather.h"

namespace loom {

template <class T>
Result<void> WeightValues::set_of(std::span<const T> values) {
  forget_device();
  if (values.size() != elements())
    return fail(Code::ShapeMismatch, "{}: {} values given, {} of shape {} expected", form_.name, values.size(),
                elements(), form_.shape.text());
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
    return fail(Code::NonFinite, "{}: value {} is not a finite number", form_.name, first);
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

Result<void> WeightValues::set(std::span<const float> values) { return set_of(values); }
Result<void> WeightValues::set(std::span<const double> values) { return set_of(values); }

Result<void> WeightValues::initialise(const WeightInit& init, std::uint64_t seed, std::uint32_t site) {
  if (init.rule != WeightInit::Rule::Zeros) return set(std::span<const float>(initial_values(form_, init, seed, site)));
  // Large models that get their values later begin so: nothing to draw or look at.
  const bool is_wide = encoding_.dtype == DType::float64;
  master_.assign(is_wide ? 0 : elements(), 0), master64_.assign(is_wide ? elements() : 0, 0);
  return refresh_zeros();
}

// Makes a new version the active one.
Result<void> WeightValues::activate(Result<VersionPtr> version) {
  if (!version) return at(form_.name, std::move(version).error());
  active_ = std::move(*version);
  versions_.push_back(active_);
  find_plain();
  return {};
}

// Re-encodes the active version after a change of the master, and drops all other versions (engine D-22).
Result<void> WeightValues::refresh(const QuantizedMatrix* like) {
  versions_.clear();
  return activate(encode_version(form_, encoding_, master_, master64_, like));
}

// Like `refresh()`, for a master of zeros. New panels of f32 are zeros as the operating system gives them: nothing
// touches them until values arrive.
Result<void> WeightValues::refresh_zeros() {
  if (!is_matrix() || encoding_.dtype != DType::float32) return refresh();
  versions_.clear();
  auto version = version_of_zeros(form_);
  if (version) (*version)->encoding = encoding_;
  return activate(std::move(version));
}

Tensor WeightValues::master_for_update() {
  if (!master64_.empty()) return {master64_.data(), form_.rows(), form_.cols(), Element::f64};
  if (!master_.empty()) return {master_.data(), form_.rows(), form_.cols(), Element::f32};
  return {};
}

// Encodes the master into the memory of the active version; false: impossible, or somebody shares the version.
bool WeightValues::refill(ThreadPool* pool) {
  if (active_ == nullptr || !is_unshared() || master_.empty()) return false;
  const DType dtype = encoding_.dtype;
  if (!is_matrix()) {
    if (dtype != DType::float32 || active_->decoded.size() != master_.size()) return false;
    std::ranges::copy(master_, active_->decoded.begin());
    active_->token.reset();
    find_plain();
    return true;
  }
  if (!has_layout_of(*active_, encoding_) || (keeps_scales_ && has_scales(form_, dtype))) return false;
  active_->token.reset();
  for (Matrix* part : active_->own) part->renew();
  fill_panels(active_->own, encoding_, master_, pool);
  find_plain();
  return true;
}

Result<void> WeightValues::commit_update(ThreadPool& pool, Check check) {
  LOOM_ASSERT(ahead_ == nullptr);
  master_token_.reset();
  return encode_master(pool, check);
}

template <class T>
Result<void> WeightValues::check_finite(ThreadPool& pool, std::span<const T> values) const {
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
    if (!std::isfinite(values[i])) return fail(Code::NonFinite, "{}: value {} is not a finite number", form_.name, i);
  return {};
}

Result<void> WeightValues::encode_master(ThreadPool& pool, Check check) {
  if (check == Check::Any) {
    LOOM_TRY_VOID(check_finite(pool, std::span<const float>(master_)));
    LOOM_TRY_VOID(check_finite(pool, std::span<const double>(master64_)));
  }
  if (refill(&pool)) return {};
  if (!keeps_scales_ || !has_scales(form_, encoding_.dtype)) return refresh();
  LOOM_TRY(const QuantizedMatrix now, quantized());
  return refresh(&now);
}

// Returns whether nobody else holds the active version.
bool WeightValues::is_unshared() const {
  constexpr long kOwn = 2;  // active_ and its place in versions_
  return versions_.size() == 1 && active_.use_count() == kOwn;
}

Result<void> WeightValues::morph(const Encoding& encoding) {
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
    return fail(Code::InvalidArgument, "{}: its master was released; ensure_master() decodes one", form_.name);
  LOOM_TRY_VOID(activate(encode_version(form_, encoding, master_, master64_)));
  encoding_ = encoding;
  find_plain();
  return {};
}

Result<void> WeightValues::inject(const Encoding& encoding, std::span<const std::byte> codes,
                                  std::span<const std::byte> scales, std::span<const std::byte> zeros) {
  auto q = unpack(encoding.dtype, form_.rows(), form_.cols(), encoding.span, codes, scales, zeros);
  if (!q) return at(form_.name, std::move(q).error());
  return restore(*q, encoding);
}

Result<void> WeightValues::inject(MatrixPtr matrix) {
  LOOM_TRY_VOID(fetch());
  if (matrix->rows() != form_.rows() || matrix->cols() != form_.cols() || form_.parts != 1)
    return fail(Code::ShapeMismatch, "{}: a matrix of {} x {}, expected {} x {}", form_.name, matrix->rows(),
                matrix->cols(), form_.rows(), form_.cols());
  master_.clear(), master64_.clear(), versions_.clear(), master_token_.reset();
  encoding_ = {matrix->dtype()};
  active_ = std::make_shared<WeightVersion>();
  active_->encoding = encoding_;
  if (is_matrix()) {
    active_->parts.push_back(std::move(matrix));
  } else {
    active_->decoded.resize(elements());
    for (std::size_t r = 0; r < form_.rows(); ++r) matrix->decode_row(r, active_->decoded.data() + r * form_.cols());
  }
  versions_.push_back(active_);
  find_plain();
  return {};
}

Result<QuantizedMatrix> WeightValues::quantized() const {
  LOOM_ASSERT(!is_ahead());
  if (active_ == nullptr) return fail(Code::InvalidState, "{} has no value yet", form_.name);
  return codes_of(form_, encoding_, *active_);
}

namespace {

// Returns the values of a float32 or float64 matrix.
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

Result<void> WeightValues::restore_master(const QuantizedMatrix& q) {
  LOOM_TRY_VOID(fetch());
  if (q.rows * q.cols != elements() || (q.dtype != DType::float32 && q.dtype != DType::float64))
    return fail(Code::CorruptData, "{}: a master of {} {} values, {} of float32 or float64 expected", form_.name,
                q.rows * q.cols, loom::name(q.dtype), elements());
  std::vector<double> values = floats_of(q);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return fail(Code::NonFinite, "{}: value {} of the master is not a finite number", form_.name, i);
  master_.clear(), master64_.clear(), master_token_.reset();
  if (q.dtype == DType::float64)
    master64_ = std::move(values);
  else
    master_.assign(values.begin(), values.end());
  find_plain();
  return {};
}

Result<void> WeightValues::restore(const QuantizedMatrix& q, const Encoding& encoding) {
  LOOM_TRY_VOID(fetch());
  if (q.rows != form_.rows() || q.cols != form_.cols())
    return fail(Code::ShapeMismatch, "{}: {} x {} codes, {} x {} expected", form_.name, q.rows, q.cols, form_.rows(),
                form_.cols());
  if (q.dtype == DType::float32 || q.dtype == DType::float64) {
    encoding_ = encoding;
    const std::vector<double> values = floats_of(q);
    return set(std::span<const double>(values));
  }
  if (const std::uint64_t mask = info(q.dtype).non_finite_mask; mask != 0)
    for (std::size_t i = 0; i < elements(); ++i)
      if ((static_cast<std::uint64_t>(q.code(i)) & mask) == mask)
        return fail(Code::NonFinite, "{}: value {} is not a finite number", form_.name, i);
  if (auto good = check_scales(q); !good) return at(form_.name, std::move(good).error());
  auto version = version_of_codes(form_, encoding, q);
  if (!version) return at(form_.name, std::move(version).error());
  master_.clear(), master64_.clear(), versions_.clear(), master_token_.reset();
  active_ = std::move(*version), encoding_ = encoding;
  versions_.push_back(active_);
  find_plain();
  return {};
}

Result<void> WeightValues::copy_from(const WeightValues& from) {
  LOOM_ASSERT(!from.is_ahead());
  forget_device();
  if (!(from.form_.shape == form_.shape) || from.form_.role != form_.role || from.form_.parts != form_.parts)
    return fail(Code::ShapeMismatch, "{} of shape {} cannot take the values of {} of shape {}", form_.name,
                form_.shape.text(), from.form_.name, from.form_.shape.text());
  master_ = from.master_, master64_ = from.master64_, encoding_ = from.encoding_;
  active_ = from.active_;  // encoders make new versions and leave old ones as they are
  trim_versions();
  find_plain();
  return {};
}

void WeightValues::release_master() {
  if (active_ == nullptr) return;
  master_ = {}, master64_ = {};
  find_plain();
}

Result<void> WeightValues::ensure_master() {
  if (has_master()) return {};
  if (active_ == nullptr) return fail(Code::InvalidArgument, "{} has no value yet", form_.name);
  std::vector<PanelHold> held;
  for (const MatrixPtr& part : active_->parts) {
    LOOM_TRY(held.emplace_back(), PanelHold::take(*part));
  }
  if (encoding_.dtype == DType::float64) {
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

WeightValues::Kept WeightValues::kept() const {
  return {encoding_, versions_, active_, frozen_, keeps_scales_, !master_.empty(), !master64_.empty()};
}

void WeightValues::put_back(const Kept& kept) {
  encoding_ = kept.encoding, versions_ = kept.versions, active_ = kept.active;
  frozen_ = kept.frozen, keeps_scales_ = kept.keeps_scales;
  // A master was converted exactly, or decoded where there was none.
  if (kept.has_f32 && master_.empty()) master_.assign(master64_.begin(), master64_.end());
  if (kept.has_f64 && master64_.empty()) master64_.assign(master_.begin(), master_.end());
  if (!kept.has_f32) master_ = {};
  if (!kept.has_f64) master64_ = {};
  master_token_.reset();
  find_plain();
}

Result<void> WeightValues::convert_master(Element element) {
  LOOM_TRY_VOID(fetch());
  if (element == Element::f64 && !master_.empty()) {
    master64_.assign(master_.begin(), master_.end());
    master_ = {};
  } else if (element == Element::f32 && !master64_.empty()) {
    const auto is_exact = [](double v) { return snapped_to(static_cast<float>(v)) == v; };  // infinities are not
    const auto found = std::ranges::find_if_not(master64_, is_exact);
    if (found != master64_.end())
      return fail(Code::Unsupported,
                  "{}: value {} is {}, which float32 does not hold, in a network that computes in float32; expected "
                  "\"activations\": \"float64\" in the network, or a \"default_dtype\" or \"dtype\" other than float64",
                  form_.name, found - master64_.begin(), *found);
    master_.assign(master64_.begin(), master64_.end());
    master64_ = {};
  }
  master_token_.reset();
  find_plain();
  return {};
}

void WeightValues::trim_versions() {
  versions_.clear();
  if (active_ != nullptr) versions_.push_back(active_);
}

// Finds f32 values that need no decoding: a vector, or the master of an f32 matrix.
void WeightValues::find_plain() {
  plain_ = nullptr;
  if (active_ == nullptr) return;
  if (!active_->decoded.empty()) plain_ = active_->decoded.data();
  if (is_matrix() && encoding_.dtype == DType::float32 && !master_.empty()) plain_ = master_.data();
}

template <class T>
void WeightValues::decode(std::size_t first, std::size_t count, T* to) const {
  LOOM_ASSERT(!is_ahead());
  if (!is_matrix()) {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = active_->decoded64.empty() ? static_cast<T>(active_->decoded[first + i])
                                         : static_cast<T>(active_->decoded64[first + i]);
    return;
  }
  LOOM_ASSERT(first % form_.cols() == 0 && count % form_.cols() == 0);
  const std::size_t part_rows = form_.rows() / form_.parts;
  for (std::size_t r = first / form_.cols(); r < (first + count) / form_.cols(); ++r, to += form_.cols())
    active_->parts[r / part_rows]->decode_row(r % part_rows, to);
}

template void WeightValues::decode(std::size_t, std::size_t, float*) const;
template void WeightValues::decode(std::size_t, std::size_t, double*) const;

template <class T>
const T* WeightValues::values(const Exec& exec) const {
  LOOM_ASSERT(ahead_ == nullptr || ahead_ == exec.arena.device() || exec.rehearsal());
  if constexpr (sizeof(T) == 4) {
    if (plain_ != nullptr) return placed(exec, std::span(plain_, elements())).data();
  } else {
    if (encoding_.dtype == DType::float64 && !master64_.empty()) return master64_.data();
    if (active_ != nullptr && !active_->decoded64.empty()) return active_->decoded64.data();
  }
  T* const to = exec.arena.template take<T>(elements());
  if (exec.rehearsal()) return to;
  if (!is_matrix()) {
    const bool wide = !active_->decoded64.empty();
    const void* const from = wide ? static_cast<const void*>(active_->decoded64.data()) : active_->decoded.data();
    convert(exec, {from, 1, elements(), wide ? Element::f64 : Element::f32}, {to, 1, elements(), element_of<T>});
    return to;
  }
  const std::size_t part_rows = form_.rows() / form_.parts, cols = form_.cols();
  for (std::size_t p = 0; p < form_.parts; ++p)
    decode_matrix(exec, *active_->parts[p], {to + p * part_rows * cols, part_rows, cols, element_of<T>});
  return to;
}

template const float* WeightValues::values<float>(const Exec&) const;
template const double* WeightValues::values<double>(const Exec&) const;

std::size_t WeightValues::resident_bytes() const {
  if (!has_value()) return bytes_to_come(form_, encoding_);
  std::size_t bytes = master_.size() * sizeof(float) + master64_.size() * sizeof(double);
  for (const VersionPtr& version : versions_) bytes += version->bytes();
  return bytes;
}

}  // namespace loom
