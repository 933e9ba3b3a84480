#include "ops/rope/rope.h"

#include <algorithm>
#include <cmath>

#include "core/checked.h"
#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/rope/rope_gpu.h"
#include "simd/math64.h"
#include "simd/orders.h"

namespace loom {
namespace {

constexpr double kPi = 3.14159265358979323846;

double llama3_frequency(const RopeConfig& c, double f) {
  const double wavelength = 2 * kPi / f;
  if (wavelength < c.original_max_positions / c.high_freq_factor) return f;
  if (wavelength > c.original_max_positions / c.low_freq_factor) return f / c.factor;
  const double m =
      (c.original_max_positions / wavelength - c.low_freq_factor) / (c.high_freq_factor - c.low_freq_factor);
  return (1 - m) * f / c.factor + m * f;
}

// The pair whose angle turns `rotations` times over the original context (Peng et al. 2023, YaRN).
double yarn_pair(const RopeConfig& c, double rotations) {
  return static_cast<double>(c.dim) * log64(c.original_max_positions / (rotations * 2 * kPi)) / (2 * log64(c.theta));
}

double yarn_frequency(const RopeConfig& c, double f, std::size_t pair) {
  const double last = static_cast<double>(c.dim) - 1;
  double low = std::floor(yarn_pair(c, c.beta_fast)), high = std::ceil(yarn_pair(c, c.beta_slow));
  low = low < 0 ? 0 : low;
  high = high > last ? last : high;
  const double width = high - low < 0.001 ? 0.001 : high - low;
  double ramp = (static_cast<double>(pair) - low) / width;
  ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
  return f / c.factor * ramp + f * (1 - ramp);
}

float to_table(double v) { return snap(static_cast<float>(v)); }

}  // namespace

Result<void> RopeTable::check(const RopeConfig& c) {
  if (c.dim == 0 || c.dim % 2 != 0)
    return fail(Code::InvalidConfig, "rope: {} rotated elements given, expected a positive even number", c.dim);
  if (!(c.theta > 1) || !(c.factor > 0) || !(c.low_freq_factor > 0) || !(c.high_freq_factor > c.low_freq_factor) ||
      !(c.original_max_positions > 0))
    return fail(
        Code::InvalidConfig,
        "rope: theta {}, factor {}, low {} and high {} frequency factors, {} original positions are no usable set",
        c.theta, c.factor, c.low_freq_factor, c.high_freq_factor, c.original_max_positions);
  if (!c.divisors.empty() && c.divisors.size() != c.dim / 2)
    return fail(Code::ShapeMismatch, "rope: {} frequency divisors given, expected {}", c.divisors.size(), c.dim / 2);
  return {};
}

Result<RopeTable> RopeTable::create(const RopeConfig& c, std::size_t max_positions, Device* device) {
  LOOM_TRY_VOID(check(c));
  RopeTable t;
  t.dim_ = c.dim;
  t.max_positions_ = max_positions;
  t.interleaved_ = c.interleaved;
  const double log_theta = log64(c.theta);
  for (std::size_t i = 0; i < c.dim / 2; ++i) {
    double f = exp64(-2.0 * static_cast<double>(i) / static_cast<double>(c.dim) * log_theta);
    if (!c.divisors.empty()) f /= c.divisors[i];
    if (c.scaling == RopeConfig::Scaling::Linear) f /= c.factor;
    if (c.scaling == RopeConfig::Scaling::Llama3) f = llama3_frequency(c, f);
    if (c.scaling == RopeConfig::Scaling::Yarn) f = yarn_frequency(c, f, i);
    t.frequencies_.push_back(f);
  }
  if (c.scaling == RopeConfig::Scaling::Yarn) {
    // positions that are not stretched need no sharper attention
    const double by_default = c.factor > 1 ? 0.1 * log64(c.factor) + 1 : 1;
    t.amplitude_ = c.attention_factor > 0 ? c.attention_factor : by_default;
  }
  LOOM_TRY(const std::size_t bytes, checked_product({max_positions, c.dim, sizeof(float)}));
  LOOM_TRY(t.memory_, Memory::create(device, bytes, true));
  t.staged_.resize(64 * c.dim);
  t.token_ = std::make_shared<char>();
  return t;
}

void RopeTable::fill(std::size_t positions) {
  LOOM_ASSERT(positions <= max_positions_);
  while (filled_ < positions) {
    const std::size_t count = std::min(positions - filled_, staged_.size() / dim_);
    float* out = staged_.data();
    for (std::size_t position = filled_; position < filled_ + count; ++position, out += dim_)
      for (std::size_t i = 0; i < dim_ / 2; ++i) {
        const double angle = static_cast<double>(position) * frequencies_[i];
        out[i] = to_table(cos64(angle) * amplitude_);
        out[dim_ / 2 + i] = to_table(sin64(angle) * amplitude_);
      }
    memory_.write(filled_ * dim_ * sizeof(float), std::as_bytes(std::span(staged_).first(count * dim_)));
    filled_ += count;
  }
}

const void* RopeTable::rows_on(const Exec& exec) const {
  Device* const device = exec.arena.device();
  if (device == nullptr || device == memory_.device() || exec.rehearsal()) return memory_.data();
  auto placed = device->place(token_, {memory_.data(), filled_ * dim_ * sizeof(float)});
  if (placed) return *placed;
  if (!exec.status) exec.status = std::move(placed).error();
  return memory_.data();
}

namespace {

// Every row at the position that `position_of` gives for it.
template <class F>
void rotate_rows(const Exec& exec, const RopeTable& table, std::size_t head_dim, ConstTensor x, Tensor y, bool back,
                 F&& position_of) {
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, x.cols, [&](std::size_t r) {
      if (y.data != x.data) std::copy_n(x.row<T>(r), x.cols, y.row<T>(r));
      for (std::size_t h = 0; h < x.cols; h += head_dim)
        exec.kernels.rope.of<T>().rotate(table.row(position_of(r)), table.dim(), table.interleaved(), back,
                                         y.row<T>(r) + h);
    });
  });
}

}  // namespace

void rope(const Exec& exec, const RopeTable& table, std::span<const std::uint32_t> positions, std::size_t head_dim,
          ConstTensor x, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::rope(exec, table, positions, head_dim, x, y); }))
    rotate_rows(host, table, head_dim, x, y, false, [&](std::size_t r) { return positions[r]; });
}

void rope_sequences(const Exec& exec, const RopeTable& table, std::size_t steps, std::size_t head_dim, Tensor x,
                    bool back) {
  for (const Exec& host : dispatch(exec, [&] { gpu::rope_sequences(exec, table, steps, head_dim, x, back); }))
    rotate_rows(host, table, head_dim, x, x, back, [&](std::size_t r) { return r % steps; });
}

}  // namespace loom
