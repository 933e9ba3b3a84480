#pragma once
// Several populations side by side; every few generations the best of each takes the last place in the next one, round
// and round.

#include "evolution/population/population.h"

namespace loom {

struct IslandsConfig {
  std::size_t count = 1;
  std::size_t migrate_every = 10;  // generations; 0: never
  PopulationConfig population;     // of each
};

class Islands {
 public:
  // InvalidConfig; errors of Population::create().
  static Result<Islands> create(std::uint64_t seed, const IslandsConfig& config, const Network& base,
                                const Shape& input, Workers& workers);

  struct Report {
    std::vector<GenerationReport> islands;
    std::uint32_t generation = 0;
    double best = 0;  // of this generation, over all islands; NaN without any
    double average = 0;
    std::size_t evaluated = 0;
    Digest hash{};  // of the islands' hashes
  };
  Result<Report> evolve(const FitnessFunction& fitness, Workers& workers,
                        const std::function<void(const Member&)>& seen = nullptr);
  // The members that have no fitness yet, island by island, and a generation whose fitness the caller computes
  // (Population::ask(), tell()). InvalidArgument with everything as it was.
  struct Place {
    std::size_t island = 0, member = 0;
  };
  std::vector<Place> ask() const;
  const Member& member(const Place& place) const { return populations_[place.island].members()[place.member]; }
  Result<Report> tell(std::span<const Fitness> told, Workers& workers,
                      const std::function<void(const Member&)>& seen = nullptr);

  std::uint32_t generation() const { return populations_.front().generation(); }
  std::span<const Population> populations() const { return populations_; }
  // The best so far of all islands, the first where they are equal; null as Population::best_member().
  const Member* best_member() const;

  Result<Json> state() const;
  static Result<Islands> restore(const Json& state, std::uint64_t seed, const IslandsConfig& config,
                                 const Shape& input);

 private:
  using Advance = std::function<Result<GenerationReport>(std::size_t island)>;
  Result<Report> advance(const Advance& one);
  static std::uint64_t seed_of(std::uint64_t seed, std::size_t island) { return seed + 0x9e3779b97f4a7c15u * island; }
  IslandsConfig config_;
  std::vector<Population> populations_;
};

}  // namespace loom
