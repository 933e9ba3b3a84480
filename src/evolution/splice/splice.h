#pragma once
// A child of two networks (engine E-10): a deep copy of A whose weights are mixed with B's where cells, and layers
// nested in them, have the same path, kind and number of weights.

#include <cstdint>
#include <span>

#include "evolution/dna/dna.h"

namespace loom {

struct SpliceConfig {
  enum class Mode : std::uint8_t { Blend, Point, Uniform } mode = Mode::Blend;  // "blend", "point", "uniform"
  double blend_alpha = 0.5;  // blend without fitnesses: (1 - alpha) A + alpha B
  double split_ratio = 0.5;  // point: the first floor(n * ratio) weights of a layer from A, the rest from B
  // Negative values are shifted by the lower of the two; what is not finite counts as the lower one. Blend: with
  // fitnesses alpha = fB / (fA + fB) * (0.5 + 0.5 cos), cos the similarity of the two layers. Uniform: a weight is A's
  // with probability fA / (fA + fB). Both 0: blend_alpha, and 0.5.
  double fitness_a = 0, fitness_b = 0;
  std::uint64_t seed = 0;
  std::uint32_t step = 0;  // of the random stream (domain 7): the generation of a population
};

// Mixes the weights of two layers, each as one concatenated vector.
class Mixer {
 public:
  explicit Mixer(const SpliceConfig& config);
  // `a` becomes the child's; `site` is random_site() of the layer's path.
  void mix(std::uint32_t site, std::span<double> a, std::span<const double> b) const;

 private:
  const SpliceConfig& config_;
  double total_ = 0, share_a_ = 0.5;
};

struct SpliceReport {
  struct Layer {
    std::string path;
    double similarity = 0;
  };
  std::vector<Layer> layers;      // those that were mixed, in order
  std::size_t blended_count = 0;  // cells with a similarity above 0
  Dna parent_a, parent_b, child;
};

// UnknownName.
Result<SpliceConfig::Mode> splice_mode_from_name(std::string_view name);

// Errors of clone_network(), extract_dna(); NonFinite.
Result<Network> splice(const Network& a, const Network& b, const SpliceConfig& config, SpliceReport* report = nullptr);

}  // namespace loom
