#pragma once
// Networks that are judged, mixed and changed, generation by generation (engine 9.4). A generation is a function of
// (seed, configuration, fitness) alone; threads and the order of evaluation never show.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/sha256.h"
#include "evolution/mutation/mutation.h"
#include "evolution/population/genes.h"
#include "evolution/population/runner.h"
#include "evolution/splice/splice.h"

namespace loom {

// The fitness says how good a network is. More is better in every objective; the first is the score. With one
// objective, networks are sorted by it; with several, by Pareto rank and then crowding distance. Novelty compares
// `behaviour`. Both vectors have the same length for all networks of a run.
struct Fitness {
  std::vector<double> objectives;
  std::vector<double> behaviour;
  double score() const { return objectives.empty() ? 0 : objectives[0]; }
  // Infinite objectives become NaN: there is no mean, share or distance of them.
  void drop_infinities();
};

// Called from several threads, each with a runner of its own; Runner::use() comes first. An error ends the run; what
// only this network cannot do is a score of NaN, which ranks last; so do infinities.
using FitnessFunction = std::function<Result<Fitness>(Runner& runner, const Candidate& candidate)>;

struct PopulationConfig {
  std::size_t size = 64;
  std::size_t objectives = 1;  // of every fitness
  MutationConfig mutation;
  SpliceConfig::Mode splice_mode = SpliceConfig::Mode::Blend;
  double blend_alpha = 0.5, split_ratio = 0.5;
  bool splice_by_fitness = true;  // blend and uniform weigh the parents by their scores
  double splice_rate = 1;         // of children with two parents; the others change one
  std::size_t elites = 0;         // 0: max(1, size / 4)
  double species_distance = 0;    // above 0: networks further apart (1 - structural overlap) are of different species
  // generations without a better score after which a species, unless it is the best, leaves no children
  std::size_t stagnation = 15;
  double novelty_weight = 0;  // ranks by (1 - w) score + w novelty
  std::size_t novelty_neighbours = 5;
};

// "2.17.5": island, generation, place.
struct MemberId {
  std::uint32_t island = 0, generation = 0, index = 0;
  std::string text() const { return fmt::format("{}.{}.{}", island, generation, index); }
};

struct Member {
  Network network;
  std::shared_ptr<const ForwardPlan> plan;  // for the input of the task
  MemberId id;
  std::vector<MemberId> parents;
  std::string operations;          // "splice perturb:2 type:1"
  Digest structure{};              // of the spec
  std::optional<Fitness> fitness;  // of the current network; elites keep theirs
  std::size_t species = 0;
  std::optional<Digest> digest = {};  // network_digest(), once a generation has been judged
  Genes genes = {};                   // likewise

  Candidate candidate() const { return {network, *plan}; }
};

struct GenerationReport {
  std::uint32_t generation = 0;
  std::vector<double> scores;               // of the generation evaluated, by place
  double best = 0, average = 0, worst = 0;  // over scores that are numbers; NaN without any
  std::size_t best_index = 0, species = 1, evaluated = 0;
  Digest hash{};                // of its members and their fitness
  std::string summary() const;  // "Gen n | best b avg a worst w pop p"
};

class Population {
 public:
  // Members are mutations of `base`, which can be planned for `input`, a batch. InvalidConfig.
  static Result<Population> create(std::uint64_t seed, const PopulationConfig& config, const Network& base,
                                   const Shape& input, Workers& workers, std::uint32_t island = 0);

  // Judges the members that have no fitness yet, then breeds the next generation. `seen`, when given, sees every judged
  // member first. InvalidArgument for a fitness of other lengths than the others'.
  Result<GenerationReport> evolve(const FitnessFunction& fitness, Workers& workers,
                                  const std::function<void(const Member&)>& seen = nullptr);

  // Breeds a generation in two calls, for fitness that the caller computes. ask() gives the places of the members that
  // have none yet, whose networks stay where they are until tell(); `told` has their fitness in that
  // order. With the numbers of a fitness function it breeds the same bits. InvalidArgument for another number of them
  // or of objectives, with everything as it was.
  std::vector<std::size_t> ask() const;
  Result<GenerationReport> tell(std::span<const Fitness> told, Workers& workers,
                                const std::function<void(const Member&)>& seen = nullptr);
  // Returns the error that tell() would return.
  Result<void> check(std::span<const Fitness> told) const;

  std::uint32_t generation() const { return generation_; }
  std::span<const Member> members() const { return members_; }
  const std::optional<Fitness>& fitness_of(std::size_t member) const { return members_[member].fitness; }
  // The best score so far and its network; null before the first generation, or while every score is NaN.
  const Network* best() const { return best_ ? &best_->network : nullptr; }
  double best_score() const { return best_ ? best_->fitness->score() : 0; }
  const Member* best_member() const { return best_ ? &*best_ : nullptr; }
  // Places of members, best first: by score or rank, as elites are chosen. Of a generation that was judged.
  std::vector<std::size_t> ranking() const;
  // A copy of the first place, which after a generation is its best elite.
  Result<Member> emigrant() const;
  // `guest` takes the last place.
  void settle(Member guest) { members_.back() = std::move(guest); }

  // State that a resumed run needs beside seed, configuration and base; networks are .entity files in Base64.
  // CorruptData.
  Result<Json> state() const;
  static Result<Population> restore(const Json& state, std::uint64_t seed, const PopulationConfig& config,
                                    const Shape& input, std::uint32_t island);

 private:
  struct Species {
    Dna dna;  // of its first member
    double best = 0;
    std::uint32_t improved = 0;  // generation
  };
  static Result<Species> species_from(const Json& json, std::uint32_t generation);
  Result<void> judge(std::span<const std::size_t> open, const FitnessFunction& fitness, Workers& workers);
  Result<void> check(const Member& member, const Fitness& fitness) const;
  Result<GenerationReport> advance(std::size_t judged, Workers& workers,
                                   const std::function<void(const Member&)>& seen);
  void rank_scores(GenerationReport& report, const std::function<void(const Member&)>& seen);
  Result<void> assign_species(Workers& workers);
  void add_novelty();
  struct Plan {
    std::size_t a = 0, b = 0;
    bool is_elite = false, splices = false;
  };
  std::vector<Plan> plan() const;
  std::vector<Plan> plan_by_species();
  SpliceConfig splicing(const Plan& plan, std::uint32_t place) const;
  // For each plan the place of a dead member whose network the child may take over, or kNobody.
  std::vector<std::size_t> dead_for(std::span<const Plan> plans) const;
  static constexpr std::size_t kNobody = ~std::size_t{0};
  Result<void> reuse(Member& dead, const Plan& plan, std::uint32_t place, Runner& runner) const;
  Result<Member> child(const Plan& plan, std::uint32_t place) const;
  void born(Member& m, const Plan& plan, std::uint32_t place, const MutationReport& report) const;
  std::vector<double> selection_values() const;

  std::uint64_t seed_ = 0;
  PopulationConfig config_;
  Shape input_;
  std::uint32_t island_ = 0, generation_ = 0;
  std::vector<Member> members_;
  std::optional<Member> best_;
  std::vector<double> novelty_;               // by place
  std::vector<std::vector<double>> archive_;  // behaviours
  std::vector<Species> species_;
};

// Pareto rank of networks judged by equally many numbers: 0 for those that no other one dominates, and so on; fitness
// that is not finite ranks last.
std::vector<std::size_t> pareto_ranks(std::span<const Fitness* const> fitness);
// Places, best first: one objective by value, several by Pareto rank, crowding distance (Deb et al. 2002), then index.
std::vector<std::size_t> ranked(std::span<const Fitness* const> fitness);

// Digest of settings and weights; `structure` is spec_digest() of the network.
Digest network_digest(const Network& network, const Digest& structure);
Digest spec_digest(const Network& network);

}  // namespace loom
