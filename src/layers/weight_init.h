#pragma once
// The values that a fresh weight gets: a function of the rule, the seed and the site alone (engine J-02).

#include <cstdint>
#include <vector>

#include "core/philox.h"  // random_site()
#include "layers/weight_version.h"

namespace loom {

struct WeightInit {
  // LogCount: log 1, log 2, .. along every row. InverseSoftplus: what softplus makes a number between 0.001 and 0.1,
  // its logarithm uniform.
  enum class Rule : std::uint8_t {
    Zeros,
    Ones,
    Glorot,
    He,
    Uniform,
    Normal,
    Identity,
    LogCount,
    InverseSoftplus
  } rule = Rule::Zeros;
  std::size_t fan_in = 1, fan_out = 1;
  double size = 0;  // half width of Uniform, deviation of Normal
};

std::vector<float> initial_values(const WeightForm& form, const WeightInit& init, std::uint64_t seed,
                                  std::uint32_t site);

}  // namespace loom
