#include "layers/weight_init.h"

#include <cmath>

#include "core/philox.h"
#include "simd/math64.h"
#include "simd/normal.h"

namespace loom {

std::vector<float> initial_values(const WeightForm& form, const WeightInit& init, std::uint64_t seed,
                                  std::uint32_t site) {
  using Rule = WeightInit::Rule;
  const RandomStream stream{seed, RandomDomain::Init, 0, site};
  const auto fan_in = static_cast<double>(init.fan_in), fan_out = static_cast<double>(init.fan_out);
  const double half_width = init.rule == Rule::Glorot ? std::sqrt(6.0 / (fan_in + fan_out)) : init.size;
  const double deviation = init.rule == Rule::He ? std::sqrt(2.0 / fan_in) : init.size;
  std::vector<float> values(form.elements());
  for (std::size_t i = 0; i < values.size(); ++i) {
    double v = 0;
    switch (init.rule) {
      case Rule::Zeros: break;
      case Rule::Ones: v = 1; break;
      case Rule::Identity: v = i / form.cols() == i % form.cols() ? 1 : 0; break;
      case Rule::Glorot:
      case Rule::Uniform: v = (2.0 * static_cast<double>(stream.uniform(i)) - 1.0) * half_width; break;
      case Rule::He:
      case Rule::Normal: v = normal(stream, i) * deviation; break;
      case Rule::LogCount: v = log64(static_cast<double>(1 + i % form.cols())); break;
      case Rule::InverseSoftplus: {
        const double low = log64(1e-3), y = exp64(low + static_cast<double>(stream.uniform(i)) * (log64(1e-1) - low));
        v = y + log64(0.0 - expm1_64(0.0 - y));
        break;
      }
    }
    values[i] = static_cast<float>(v);
  }
  return values;
}

}  // namespace loom
