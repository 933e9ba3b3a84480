#include "data/pipeline/normalise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dtypes/float16.h"

namespace loom {
namespace {

std::size_t groups_of(const Shape& shape, NormaliseBy by) {
  switch (by) {
    case NormaliseBy::whole: return 1;
    case NormaliseBy::element: return shape.elements();
    case NormaliseBy::first_axis: return shape[0];
    case NormaliseBy::last_axis: return shape.cols();
  }
  return 1;
}

std::size_t group_of(const Shape& shape, NormaliseBy by, std::size_t element) {
  switch (by) {
    case NormaliseBy::whole: return 0;
    case NormaliseBy::element: return element;
    case NormaliseBy::first_axis: return element / (shape.elements() / shape[0]);
    case NormaliseBy::last_axis: return element % shape.cols();
  }
  return 0;
}

// Calls visit(sample's place, its inputs) in order.
Result<void> for_samples(const Dataset& data, std::span<const std::uint32_t> samples, auto&& visit) {
  const DatasetInfo& about = data.info();
  std::vector<float> inputs(about.input.elements()), values(about.target.elements());
  std::vector<std::int32_t> labels(about.target.elements());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    LOOM_TRY_VOID(data.read(samples.subspan(i, 1), {inputs, labels, values}));
    visit(i, std::span<const float>(inputs));
  }
  return {};
}

// Sums over samples by chain64, one accumulator per element.
class ChainSums {
 public:
  explicit ChainSums(std::size_t elements) : block_(elements), total_(elements) {}
  void add(std::size_t element, double term) { block_[element] += term; }
  void end_sample(std::size_t place) {
    if (place % 64 == 63) close_block();
  }
  std::vector<double> by_group(const Shape& shape, NormaliseBy by) {
    close_block();
    std::vector<double> sums(groups_of(shape, by));
    for (std::size_t e = 0; e < total_.size(); ++e) sums[group_of(shape, by, e)] += total_[e];
    return sums;
  }

 private:
  void close_block() {
    for (std::size_t e = 0; e < total_.size(); ++e) total_[e] += block_[e], block_[e] = 0;
  }
  std::vector<double> block_, total_;
};

Result<void> expect_samples(const Dataset& data, std::span<const std::uint32_t> samples) {
  if (samples.empty())
    return fail(Code::InvalidArgument, "{}: no samples to fit a normalisation on", data.info().source);
  return {};
}

}  // namespace

Result<void> Normalisation::check(const Shape& shape) const {
  if (offset.empty() && scale.empty()) return {};
  const std::size_t groups = groups_of(shape, by);
  if (offset.size() != groups || scale.size() != groups)
    return fail(Code::ShapeMismatch, "normalisation: {} offsets and {} scales, samples of {} need {}", offset.size(),
                scale.size(), shape.text(), groups);
  for (std::size_t g = 0; g < groups; ++g)
    if (!std::isfinite(offset[g]) || !std::isfinite(scale[g]))
      return fail(Code::NonFinite, "normalisation: group {} has no finite offset and scale", g);
  return {};
}

void Normalisation::apply(const Shape& shape, std::span<float> sample) const {
  if (offset.empty()) return;
  for (std::size_t e = 0; e < sample.size(); ++e) {
    const std::size_t g = group_of(shape, by, e);
    sample[e] = snapped(snapped(sample[e] - offset[g]) * scale[g]);
  }
}

Result<Normalisation> fit_mean_std(const Dataset& data, std::span<const std::uint32_t> samples, NormaliseBy by) {
  LOOM_TRY_VOID(expect_samples(data, samples));
  const Shape& shape = data.info().input;
  const std::size_t elements = shape.elements(), groups = groups_of(shape, by), of_group = elements / groups;
  const double n = static_cast<double>(samples.size()) * static_cast<double>(of_group);
  ChainSums sums(elements);
  LOOM_TRY_VOID(for_samples(data, samples, [&](std::size_t place, std::span<const float> x) {
    for (std::size_t e = 0; e < elements; ++e) sums.add(e, static_cast<double>(x[e]));
    sums.end_sample(place);
  }));
  std::vector<double> mean = sums.by_group(shape, by);
  for (double& m : mean) m /= n;
  ChainSums squares(elements);
  LOOM_TRY_VOID(for_samples(data, samples, [&](std::size_t place, std::span<const float> x) {
    for (std::size_t e = 0; e < elements; ++e) {
      const double gap = static_cast<double>(x[e]) - mean[group_of(shape, by, e)];
      squares.add(e, gap * gap);
    }
    squares.end_sample(place);
  }));
  const std::vector<double> square = squares.by_group(shape, by);
  Normalisation out{by, std::vector<float>(groups), std::vector<float>(groups)};
  for (std::size_t g = 0; g < groups; ++g) {
    const double deviation = std::sqrt(square[g] / n);  // correctly rounded everywhere
    out.offset[g] = snapped(static_cast<float>(mean[g]));
    out.scale[g] = deviation == 0 ? 1.0f : static_cast<float>(1 / deviation);
  }
  LOOM_TRY_VOID(out.check(shape));
  return out;
}

Result<Normalisation> fit_min_max(const Dataset& data, std::span<const std::uint32_t> samples, NormaliseBy by) {
  LOOM_TRY_VOID(expect_samples(data, samples));
  const Shape& shape = data.info().input;
  const std::size_t groups = groups_of(shape, by);
  std::vector<float> least(groups, std::numeric_limits<float>::infinity()),
      greatest(groups, -std::numeric_limits<float>::infinity());
  LOOM_TRY_VOID(for_samples(data, samples, [&](std::size_t, std::span<const float> x) {
    for (std::size_t e = 0; e < x.size(); ++e) {
      const std::size_t g = group_of(shape, by, e);
      least[g] = std::min(least[g], x[e]);
      greatest[g] = std::max(greatest[g], x[e]);
    }
  }));
  Normalisation out{by, least, std::vector<float>(groups)};
  for (std::size_t g = 0; g < groups; ++g) {
    const double range = static_cast<double>(greatest[g]) - static_cast<double>(least[g]);
    out.scale[g] = range == 0 ? 1.0f : static_cast<float>(1 / range);
  }
  LOOM_TRY_VOID(out.check(shape));
  return out;
}

}  // namespace loom
