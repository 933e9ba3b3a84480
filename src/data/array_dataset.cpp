#include "data/array_dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/checked.h"
#include "core/little_endian.h"
#include "dtypes/decode.h"

namespace loom {
namespace {

bool is_integer(DType dtype) { return name(dtype)[0] == 'i' || name(dtype)[0] == 'u'; }

// One integer element, exact; nothing beyond int64.
std::optional<std::int64_t> integer_at(const RawArray& array, std::size_t i) {
  const std::size_t width = info(array.dtype).block_bytes;
  std::uint64_t bits = 0;
  for (std::size_t k = 0; k < width; ++k)
    bits |= std::to_integer<std::uint64_t>(array.bytes[i * width + k]) << 8 * (array.big_endian ? width - 1 - k : k);
  if (name(array.dtype)[0] == 'u')
    return bits >> 63 != 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(bits));
  const auto unused = static_cast<int>(64 - 8 * width);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

double double_at(const RawArray& array, std::size_t i) {
  std::array<std::byte, sizeof(double)> bytes;
  std::memcpy(bytes.data(), array.bytes.data() + i * sizeof(double), sizeof(double));
  if (array.big_endian) std::ranges::reverse(bytes);
  return load_le<double>(bytes.data());
}

class ArrayDataset final : public Dataset {
 public:
  ArrayDataset(DatasetInfo info, RawArray inputs, RawArray targets)
      : Dataset(std::move(info)), inputs_(std::move(inputs)), targets_(std::move(targets)) {}

 private:
  static Result<void> finite(const RawArray& array, std::size_t sample, std::span<float> to) {
    read_elements(array, sample * to.size(), to);
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (std::isfinite(to[i])) continue;
      const double given = array.dtype == DType::float64 ? double_at(array, sample * to.size() + i) : to[i];
      return fail(Code::NonFinite, "{}: sample {}, element {}: {}{}", array.name, sample, i, given,
                  std::isfinite(given) ? " is beyond float32" : ", expected a finite number");
    }
    return {};
  }
  Result<void> read_sample(std::size_t sample, const SampleBuffers& to) const override {
    LOOM_TRY_VOID(finite(inputs_, sample, to.inputs));
    for (std::size_t i = 0; i < to.labels.size(); ++i)
      to.labels[i] = static_cast<std::int32_t>(*integer_at(targets_, sample * to.labels.size() + i));
    return to.values.empty() ? Result<void>{} : finite(targets_, sample, to.values);
  }
  RawArray inputs_, targets_;
};

Result<Shape> sample_shape(const RawArray& array) {
  if (array.shape.empty())
    return fail(Code::ShapeMismatch, "{}: a single number, expected an axis of samples", array.name);
  auto shape = array.shape.size() == 1 ? Result<Shape>(Shape{}) : Shape::create(std::span(array.shape).subspan(1));
  if (!shape) return at(array.name, std::move(shape).error());
  std::size_t size = 1;
  for (const std::size_t extent : array.shape) {
    LOOM_TRY(size, checked_mul(size, extent));
  }
  LOOM_TRY(size, checked_mul(size, info(array.dtype).block_bytes));
  if (size != array.bytes.size())
    return fail(Code::ShapeMismatch, "{}: {} bytes, the shape needs {}", array.name, array.bytes.size(), size);
  return shape;
}

Result<std::size_t> count_classes(const RawArray& targets, std::size_t labels, std::size_t per_sample,
                                  const ArrayOptions& options, bool& has_ignored) {
  if (!is_integer(targets.dtype))
    return fail(Code::InvalidConfig, "{}: elements are {}, class ids must be integers", targets.name,
                name(targets.dtype));
  const std::size_t classes = options.classes, limit = classes == 0 ? kMaxClasses : classes;
  std::size_t greatest = 0;
  for (std::size_t i = 0; i < labels; ++i) {
    const auto label = integer_at(targets, i);
    const bool is_outside = !label || *label < 0 || static_cast<std::uint64_t>(*label) >= limit;
    if (is_outside && label && label == options.ignored) {
      has_ignored = true;
      continue;
    }
    if (is_outside)
      return fail(Code::OutOfRange, "{}: sample {}: label {}, expected 0 to {}", targets.name, i / per_sample,
                  label ? fmt::format("{}", *label) : "beyond int64", limit - 1);
    greatest = std::max(greatest, static_cast<std::size_t>(*label));
  }
  return classes == 0 ? greatest + 1 : classes;
}

}  // namespace

void read_elements(const RawArray& array, std::size_t first, std::span<float> to) {
  const std::size_t width = info(array.dtype).block_bytes;
  const std::byte* from = array.bytes.data() + first * width;
  if (!array.big_endian || width == 1) {
    decode_to_float(array.dtype, from, to.data(), to.size());
    return;
  }
  std::array<std::byte, 1024> turned;
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t n = std::min(to.size() - done, turned.size() / width);
    for (std::size_t i = 0; i < n; ++i)
      std::reverse_copy(from + (done + i) * width, from + (done + i + 1) * width, turned.data() + i * width);
    decode_to_float(array.dtype, turned.data(), to.data() + done, n);
    done += n;
  }
}

Result<std::unique_ptr<Dataset>> dataset_of(RawArray inputs, RawArray targets, const Digest& sha256,
                                            const ArrayOptions& options) {
  DatasetInfo about;
  about.source = inputs.name;
  about.sha256 = sha256;
  LOOM_TRY(about.input, sample_shape(inputs));
  LOOM_TRY(about.target, sample_shape(targets));
  about.samples = inputs.shape[0];
  if (targets.shape[0] != about.samples)
    return fail(Code::ShapeMismatch, "{}: {} samples, {} has {} targets", inputs.name, about.samples, targets.name,
                targets.shape[0]);
  if (about.samples == 0) return fail(Code::ShapeMismatch, "{}: no samples", inputs.name);
  if (about.samples > kMaxSamples)
    return fail(Code::LimitExceeded, "{}: {} samples, at most {} are read", inputs.name, about.samples, kMaxSamples);
  if (options.input) {
    if (options.input->elements() != about.input.elements())
      return fail(Code::ShapeMismatch, "{}: samples are {}, asked for {}", inputs.name, about.input.text(),
                  options.input->text());
    about.input = *options.input;
  }
  const bool looks_like_classes = is_integer(targets.dtype) && about.target.elements() == 1;
  about.targets = options.targets.value_or(looks_like_classes ? TargetKind::classes : TargetKind::values);
  if (about.targets == TargetKind::classes) {
    if (options.classes > kMaxClasses)
      return fail(Code::LimitExceeded, "{}: {} classes, at most {}", targets.name, options.classes, kMaxClasses);
    const std::size_t per_sample = about.target.elements();
    LOOM_TRY(about.classes, count_classes(targets, about.samples * per_sample, per_sample, options, about.has_ignored));
    if (!options.class_names.empty() && options.class_names.size() < about.classes)
      return fail(Code::InvalidConfig, "{}: {} class names for {} classes", targets.name, options.class_names.size(),
                  about.classes);
    if (!options.class_names.empty()) about.classes = options.class_names.size();
    about.class_names = options.class_names;
  }
  about.columns = options.columns;
  return std::unique_ptr<Dataset>(new ArrayDataset(std::move(about), std::move(inputs), std::move(targets)));
}

}  // namespace loom
