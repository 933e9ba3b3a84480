#include "evolution/population/population.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "evolution/mutation/editor.h"
#include "evolution/sums.h"
#include "evolution/weight_values.h"
#include "network/clone.h"
#include "network/spec.h"

namespace loom {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void feed(Sha256& hash, std::uint64_t v) {
  hash.update_u32(static_cast<std::uint32_t>(v));
  hash.update_u32(static_cast<std::uint32_t>(v >> 32));
}
void feed(Sha256& hash, double v) { feed(hash, std::isnan(v) ? std::uint64_t{0x7ff8000000000000} : std::bit_cast<std::uint64_t>(v)); }

std::string text_of(const MutationReport& report, bool spliced) {
  std::string text = spliced ? "splice" : "";
  for (std::size_t m = 0; m < kNumMutations; ++m)
    if (report.made[m] != 0) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", name(static_cast<Mutation>(m)), report.made[m]);
  return text;
}

bool changes_structure(const MutationReport& report) {
  for (std::size_t m = 0; m < kNumMutations; ++m)
    if (static_cast<Mutation>(m) != Mutation::Perturb && report.made[m] != 0) return true;
  return false;
}

}  // namespace

Digest spec_digest(const Network& network) {
  Sha256 hash;
  const std::string text = dump_json(network_to_json(network));
  hash.update(std::as_bytes(std::span(text)));
  return hash.finish();
}

Digest network_digest(const Network& network, const Digest& structure) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(structure)));
  network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    feed(hash, static_cast<std::uint64_t>(w.elements()));
    const std::string_view type = name(w.dtype());
    hash.update(std::as_bytes(std::span(type)));
    if (!w.master().empty())
      hash.update_floats(w.master());
    else
      for (const double v : values_of(w)) feed(hash, v);
  });
  return hash.finish();
}

std::string GenerationReport::summary() const {
  return fmt::format("Gen {} | best {:.6g} avg {:.6g} worst {:.6g} pop {}", generation, best, average, worst, scores.size());
}

Result<Population> Population::create(std::uint64_t seed, const PopulationConfig& config, const Network& base, const Shape& input, Workers& workers,
                                      std::uint32_t island) {
  if (config.size < 1 || config.size > 65536) return fail(Code::InvalidConfig, "population of {}, 1 to 65536 expected", config.size);
  if (config.elites > config.size) return fail(Code::InvalidConfig, "{} elites in a population of {}", config.elites, config.size);
  Population p;
  p.seed_ = seed, p.config_ = config, p.input_ = input, p.island_ = island;
  p.config_.mutation.seed = seed;
  std::vector<std::optional<Member>> made(config.size);
  LOOM_TRY_VOID(workers.each(config.size, [&](std::size_t i, Runner&) -> Result<void> {
    LOOM_TRY(Network network, clone_network(base));
    Member m{std::move(network), {island, 0, static_cast<std::uint32_t>(i)}, {}, {}, {}, std::nullopt};
    MutationReport report;
    LOOM_TRY_VOID(mutate(m.network, input, p.config_.mutation, {0, static_cast<std::uint32_t>(i)}, &report));
    m.operations = text_of(report, false), m.structure = spec_digest(m.network);
    made[i] = std::move(m);
    return {};
  }));
  for (auto& m : made) p.members_.push_back(std::move(*m));
  return p;
}

Result<void> Population::judge(const FitnessFunction& fitness, Workers& workers, GenerationReport& report) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (!members_[i].fitness) open.push_back(i);
  report.evaluated = open.size();
  // Several networks a part: a small one is judged faster than a part is handed over.
  constexpr std::size_t kPerPart = 4;
  return workers.each((open.size() + kPerPart - 1) / kPerPart, [&](std::size_t part, Runner& runner) -> Result<void> {
    for (std::size_t i = part * kPerPart; i < std::min(open.size(), (part + 1) * kPerPart); ++i) {
      Member& m = members_[open[i]];
      auto judged = fitness(runner, m.network);
      if (!judged) return at("member " + m.id.text(), std::move(judged).error());
      m.fitness = std::move(*judged);
    }
    return {};
  });
}

Result<GenerationReport> Population::evolve(const FitnessFunction& fitness, Workers& workers, const std::function<void(const Member&)>& seen) {
  GenerationReport report;
  report.generation = generation_;
  LOOM_TRY_VOID(judge(fitness, workers, report));
  Sha256 hash;
  double sum = 0;
  std::size_t count = 0;
  report.best = report.worst = report.average = kNaN;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& m = members_[i];
    if (seen && m.id.generation == generation_ && m.id.island == island_) seen(m);
    const double score = m.fitness->score();
    report.scores.push_back(score);
    const Digest digest = network_digest(m.network, m.structure);
    hash.update(std::as_bytes(std::span(digest)));
    for (const double o : m.fitness->objectives) feed(hash, o);
    if (std::isnan(score)) continue;
    if (!(score <= report.best)) report.best = score, report.best_index = i;
    if (!(score >= report.worst)) report.worst = score;
    sum += score, ++count;
  }
  report.hash = hash.finish();
  if (count != 0) report.average = sum / static_cast<double>(count);
  if (count != 0 && (!best_ || report.best > best_->fitness->score())) {
    const Member& m = members_[report.best_index];
    LOOM_TRY(Network copy, clone_network(m.network));
    LOOM_TRY_VOID(copy.prepare(input_));
    best_ = Member{std::move(copy), m.id, m.parents, m.operations, m.structure, m.fitness, m.species};
  }
  if (config_.novelty_weight > 0) add_novelty();
  if (config_.species_distance > 0) {
    LOOM_TRY_VOID(assign_species(workers));
    report.species = species_.size();
  }
  const std::vector<Plan> plans = config_.species_distance > 0 ? plan_by_species() : plan();
  ++generation_;
  std::vector<std::optional<Member>> next(plans.size());
  LOOM_TRY_VOID(workers.each(plans.size(), [&](std::size_t i, Runner&) -> Result<void> {
    if (plans[i].is_elite) return {};
    LOOM_TRY(next[i], child(plans[i], static_cast<std::uint32_t>(i)));
    return {};
  }));
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (plans[i].is_elite) next[i] = std::move(members_[plans[i].a]);  // unchanged, with its fitness
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (i < members_.size())
      members_[i] = std::move(*next[i]);
    else
      members_.push_back(std::move(*next[i]));
  }
  return report;
}

std::vector<double> Population::selection_values() const {
  std::vector<double> values;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const double score = members_[i].fitness ? members_[i].fitness->score() : kNaN, w = config_.novelty_weight;
    values.push_back(w > 0 && i < novelty_.size() ? (1 - w) * score + w * novelty_[i] : score);
  }
  return values;
}

std::vector<std::size_t> Population::ranking() const {
  const std::vector<double> values = selection_values();
  std::vector<Fitness> fitness(members_.size());
  std::vector<const Fitness*> list;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    fitness[i].objectives = members_[i].fitness ? members_[i].fitness->objectives : std::vector<double>{kNaN};
    if (!fitness[i].objectives.empty()) fitness[i].objectives[0] = values[i];
    list.push_back(&fitness[i]);
  }
  return ranked(list);
}

std::vector<Population::Plan> Population::plan() const {
  const std::vector<std::size_t> order = ranking();
  const std::size_t elites = config_.elites != 0 ? config_.elites : std::max<std::size_t>(1, config_.size / 4);
  std::vector<Plan> plans(config_.size);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (i < elites && i < order.size()) {
      plans[i] = {order[i], order[i], true, false};
      continue;
    }
    Draws draws(seed_, {generation_ + 1, static_cast<std::uint32_t>(i)}, "", "parents");
    const std::size_t among = std::min(elites, order.size()), a = order[draws.below(among)], b = order[draws.below(among)];
    plans[i] = {a, b, false, draws.chance(config_.splice_rate)};
  }
  return plans;
}

Result<Member> Population::child(const Plan& plan, std::uint32_t place) const {
  const Member &a = members_[plan.a], &b = members_[plan.b];
  std::optional<Network> network;
  if (plan.splices) {
    SpliceConfig splicing;
    splicing.mode = config_.splice_mode, splicing.blend_alpha = config_.blend_alpha, splicing.split_ratio = config_.split_ratio;
    if (config_.splice_by_fitness) splicing.fitness_a = a.fitness->score(), splicing.fitness_b = b.fitness->score();
    splicing.seed = seed_ + place, splicing.step = generation_;
    LOOM_TRY(network, splice(a.network, b.network, splicing));
  } else {
    LOOM_TRY(network, clone_network(a.network));
  }
  Member m{std::move(*network), {island_, generation_, place}, {a.id}, {}, a.structure, std::nullopt};
  if (plan.splices) m.parents.push_back(b.id);
  MutationReport report;
  LOOM_TRY_VOID(mutate(m.network, input_, config_.mutation, {generation_, place}, &report));
  if (changes_structure(report)) m.structure = spec_digest(m.network);
  m.operations = text_of(report, plan.splices);
  return m;
}

Result<void> Population::settle(const Member& guest) {
  LOOM_TRY(Network copy, clone_network(guest.network));
  LOOM_TRY_VOID(copy.prepare(input_));
  members_.back() = Member{std::move(copy), guest.id, guest.parents, guest.operations, guest.structure, guest.fitness};
  return {};
}

// Mean distance to the nearest behaviours, of this generation and of those that were most novel before (Lehman & Stanley 2011).
void Population::add_novelty() {
  novelty_.assign(members_.size(), 0);
  std::size_t most = 0;
  const auto distance = [](std::span<const double> a, std::span<const double> b) {
    return a.size() != b.size() ? 0.0 : std::sqrt(lanes16(a.size(), [&](std::size_t i) { return (a[i] - b[i]) * (a[i] - b[i]); }));
  };
  for (std::size_t i = 0; i < members_.size(); ++i) {
    std::vector<double> all;
    for (std::size_t j = 0; j < members_.size(); ++j)
      if (j != i) all.push_back(distance(members_[i].fitness->behaviour, members_[j].fitness->behaviour));
    for (const auto& other : archive_) all.push_back(distance(members_[i].fitness->behaviour, other));
    for (double& d : all)
      if (std::isnan(d)) d = 0;
    std::ranges::sort(all);
    const std::size_t k = std::min(config_.novelty_neighbours, all.size());
    for (std::size_t n = 0; n < k; ++n) novelty_[i] += all[n] / static_cast<double>(k);
    if (novelty_[i] > novelty_[most]) most = i;
  }
  constexpr std::size_t kMaxArchive = 1024;
  if (!members_.empty() && archive_.size() < kMaxArchive) archive_.push_back(members_[most].fitness->behaviour);
}

}  // namespace loom
