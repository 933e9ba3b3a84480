#include "evolution/population/population.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "core/json.h"
#include "evolution/mutation/editor.h"
#include "evolution/sums.h"
#include "evolution/weight_values.h"
#include "network/spec/clone.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void feed(Sha256& hash, std::uint64_t v) {
  hash.update_u32(static_cast<std::uint32_t>(v));
  hash.update_u32(static_cast<std::uint32_t>(v >> 32));
}
void feed(Sha256& hash, double v) {
  feed(hash, std::isnan(v) ? std::uint64_t{0x7ff8000000000000} : std::bit_cast<std::uint64_t>(v));
}

std::string text_of(const MutationReport& report, bool spliced) {
  std::string text = spliced ? "splice" : "";
  for (std::size_t m = 0; m < kNumMutations; ++m) {
    if (report.made[m] == 0) continue;
    if (!text.empty()) text += ' ';
    text += name(static_cast<Mutation>(m));
    text += ':';
    text += std::to_string(report.made[m]);
  }
  return text;
}

// Feeds the number and the type of a weight's values, which stand before the values themselves.
void feed_head(Sha256& hash, const Weight& w) {
  std::array<std::byte, 32> head{};
  std::size_t n = 0;
  for (; n < 8; ++n) head[n] = static_cast<std::byte>(static_cast<std::uint64_t>(w.elements()) >> (8 * n));
  for (const char c : name(w.dtype())) head[n++] = static_cast<std::byte>(c);
  hash.update(std::span(head).first(n));
}

Digest digest_of(const Genes& genes, const Digest& structure) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(structure)));
  for (const Weight* w : genes.weights()) feed_head(hash, *w), hash.update_floats(w->master());
  return hash.finish();
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
    feed_head(hash, w);
    if (!w.master().empty())
      hash.update_floats(w.master());
    else
      for (const double v : values_of(w)) feed(hash, v);
  });
  return hash.finish();
}

void Fitness::drop_infinities() {
  for (double& o : objectives)
    if (!std::isfinite(o)) o = kNaN;
}

std::string GenerationReport::summary() const {
  return fmt::format("Gen {} | best {:.6g} avg {:.6g} worst {:.6g} pop {}", generation, best, average, worst,
                     scores.size());
}

Result<Population> Population::create(std::uint64_t seed, const PopulationConfig& config, const Network& base,
                                      const Shape& input, Workers& workers, std::uint32_t island) {
  if (config.size < 1 || config.size > 65536)
    return fail(Code::InvalidConfig, "population of {}, 1 to 65536 expected", config.size);
  if (config.elites > config.size)
    return fail(Code::InvalidConfig, "{} elites in a population of {}", config.elites, config.size);
  Population p;
  p.seed_ = seed, p.config_ = config, p.input_ = input, p.island_ = island;
  p.config_.mutation.seed = seed;
  std::vector<std::optional<Member>> made(config.size);
  LOOM_TRY_VOID(workers.each(config.size, [&](std::size_t i, Runner&) -> Result<void> {
    LOOM_TRY(Network network, clone_network(base));
    Member m{std::move(network), nullptr, {island, 0, static_cast<std::uint32_t>(i)}, {}, {}, {}, std::nullopt};
    MutationReport report;
    LOOM_TRY(m.plan, mutate(m.network, input, p.config_.mutation, {0, static_cast<std::uint32_t>(i)}, &report));
    m.operations = text_of(report, false), m.structure = spec_digest(m.network);
    made[i] = std::move(m);
    return {};
  }));
  for (auto& m : made) p.members_.push_back(std::move(*m));
  return p;
}

std::vector<std::size_t> Population::ask() const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (!members_[i].fitness) open.push_back(i);
  return open;
}

Result<void> Population::check(const Member& member, const Fitness& fitness) const {
  if (fitness.objectives.size() == config_.objectives) return {};
  return fail(Code::InvalidArgument, "member {}: a fitness of {} objectives, {} expected", member.id.text(),
              fitness.objectives.size(), config_.objectives);
}

Result<void> Population::check(std::span<const Fitness> told) const {
  const std::vector<std::size_t> open = ask();
  if (told.size() != open.size())
    return fail(Code::InvalidArgument, "{} fitnesses for {} members that have none", told.size(), open.size());
  for (std::size_t i = 0; i < open.size(); ++i) LOOM_TRY_VOID(check(members_[open[i]], told[i]));
  return {};
}

Result<GenerationReport> Population::tell(std::span<const Fitness> told, Workers& workers,
                                          const std::function<void(const Member&)>& seen) {
  LOOM_TRY_VOID(check(told));
  const std::vector<std::size_t> open = ask();
  for (std::size_t i = 0; i < open.size(); ++i) {
    members_[open[i]].fitness = told[i];
    members_[open[i]].fitness->drop_infinities();
  }
  return advance(open.size(), workers, seen);
}

Result<void> Population::judge(std::span<const std::size_t> open, const FitnessFunction& fitness, Workers& workers) {
  // Several networks a part: a small one is judged faster than a part is handed over.
  constexpr std::size_t kPerPart = 4;
  return workers.each((open.size() + kPerPart - 1) / kPerPart, [&](std::size_t part, Runner& runner) -> Result<void> {
    for (std::size_t i = part * kPerPart; i < std::min(open.size(), (part + 1) * kPerPart); ++i) {
      Member& m = members_[open[i]];
      auto judged = fitness(runner, m.candidate());
      if (!judged) return at("member " + m.id.text(), std::move(judged).error());
      LOOM_TRY_VOID(check(m, *judged));
      m.fitness = std::move(*judged);
      m.fitness->drop_infinities();
    }
    return {};
  });
}

Result<GenerationReport> Population::evolve(const FitnessFunction& fitness, Workers& workers,
                                            const std::function<void(const Member&)>& seen) {
  const std::vector<std::size_t> open = ask();
  LOOM_TRY_VOID(judge(open, fitness, workers));
  return advance(open.size(), workers, seen);
}

// Scores of a generation whose members all have a fitness, and its hash.
void Population::rank_scores(GenerationReport& report, const std::function<void(const Member&)>& seen) {
  Sha256 hash;
  double sum = 0;
  std::size_t count = 0;
  report.best = report.worst = report.average = kNaN;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& m = members_[i];
    if (!m.digest) {
      if (!m.genes.usable()) m.genes = Genes(m.network);
      m.digest = m.genes.usable() ? digest_of(m.genes, m.structure) : network_digest(m.network, m.structure);
    }
    if (seen && m.id.generation == generation_ && m.id.island == island_) seen(m);
    const double score = m.fitness->score();
    report.scores.push_back(score);
    hash.update(std::as_bytes(std::span(*m.digest)));
    for (const double o : m.fitness->objectives) feed(hash, o);
    if (std::isnan(score)) continue;
    if (!(score <= report.best)) report.best = score, report.best_index = i;
    if (!(score >= report.worst)) report.worst = score;
    sum += score, ++count;
  }
  report.hash = hash.finish();
  if (count != 0) report.average = sum / static_cast<double>(count);
}

// From a generation that was judged to the next one.
Result<GenerationReport> Population::advance(std::size_t judged, Workers& workers,
                                             const std::function<void(const Member&)>& seen) {
  GenerationReport report;
  report.generation = generation_, report.evaluated = judged;
  rank_scores(report, seen);
  if (!std::isnan(report.best) && (!best_ || report.best > best_->fitness->score())) {
    const Member& m = members_[report.best_index];
    LOOM_TRY(Network copy, clone_network(m.network));
    LOOM_TRY(auto planned, ForwardPlan::create(copy, input_));
    best_ =
        Member{std::move(copy), std::move(planned), m.id, m.parents, m.operations, m.structure, m.fitness, m.species};
  }
  if (config_.novelty_weight > 0) add_novelty();
  if (config_.species_distance > 0) {
    LOOM_TRY_VOID(assign_species(workers));
    report.species = species_.size();
  }
  const std::vector<Plan> plans = config_.species_distance > 0 ? plan_by_species() : plan();
  ++generation_;
  const std::vector<std::size_t> dead = dead_for(plans);
  std::vector<std::optional<Member>> fresh(plans.size());
  LOOM_TRY_VOID(workers.each(plans.size(), [&](std::size_t i, Runner& runner) -> Result<void> {
    if (plans[i].is_elite) return {};
    if (dead[i] != kNobody) return reuse(members_[dead[i]], plans[i], static_cast<std::uint32_t>(i), runner);
    LOOM_TRY(fresh[i], child(plans[i], static_cast<std::uint32_t>(i)));
    return {};
  }));
  std::vector<Member> next;
  next.reserve(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].is_elite)
      next.push_back(std::move(members_[plans[i].a]));  // unchanged, with its fitness
    else
      next.push_back(dead[i] != kNobody ? std::move(members_[dead[i]]) : std::move(*fresh[i]));
  }
  members_ = std::move(next);
  return report;
}

std::vector<double> Population::selection_values() const {
  std::vector<double> values;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const double score = members_[i].fitness ? members_[i].fitness->score() : kNaN, w = config_.novelty_weight;
    const double value = w > 0 && i < novelty_.size() ? (1 - w) * score + w * novelty_[i] : score;
    values.push_back(std::isfinite(value) ? value : kNaN);
  }
  return values;
}

std::vector<std::size_t> Population::ranking() const {
  const std::vector<double> values = selection_values();
  std::vector<Fitness> changed(config_.novelty_weight > 0 ? members_.size() : 0);
  const Fitness none{{kNaN}, {}};
  std::vector<const Fitness*> list;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    list.push_back(members_[i].fitness ? &*members_[i].fitness : &none);
    if (changed.empty()) continue;
    changed[i].objectives = list[i]->objectives;
    if (!changed[i].objectives.empty()) changed[i].objectives[0] = values[i];
    list[i] = &changed[i];
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
    const std::size_t among = std::min(elites, order.size()), a = order[draws.below(among)],
                      b = order[draws.below(among)];
    plans[i] = {a, b, false, draws.chance(config_.splice_rate)};
  }
  return plans;
}

SpliceConfig Population::splicing(const Plan& plan, std::uint32_t place) const {
  SpliceConfig s;
  s.mode = config_.splice_mode, s.blend_alpha = config_.blend_alpha, s.split_ratio = config_.split_ratio;
  if (config_.splice_by_fitness)
    s.fitness_a = members_[plan.a].fitness->score(), s.fitness_b = members_[plan.b].fitness->score();
  s.seed = seed_ + place, s.step = generation_;
  return s;
}

// Members that neither live on nor have children are dead; a child of parents of one structure may take over a dead
// network of the same.
std::vector<std::size_t> Population::dead_for(std::span<const Plan> plans) const {
  std::vector<bool> lives(members_.size());
  for (const Plan& plan : plans) lives[plan.a] = lives[plan.b] = true;
  std::map<Digest, std::vector<std::size_t>> dead;
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (!lives[i] && members_[i].genes.usable()) dead[members_[i].structure].push_back(i);
  std::vector<std::size_t> taken(plans.size(), kNobody);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Member &a = members_[plans[i].a], &b = members_[plans[i].b];
    if (plans[i].is_elite || !a.genes.usable() ||
        (plans[i].splices && (!b.genes.usable() || a.structure != b.structure)))
      continue;
    const auto same = dead.find(a.structure);
    if (same == dead.end() || same->second.empty()) continue;
    taken[i] = same->second.back();
    same->second.pop_back();
  }
  return taken;
}

// A child in the place of a dead member: what child() makes, to the bit.
Result<void> Population::reuse(Member& dead, const Plan& plan, std::uint32_t place, Runner& runner) const {
  const Member &a = members_[plan.a], &b = members_[plan.b];
  dead.fitness.reset(), dead.digest.reset();
  LOOM_TRY_VOID(dead.genes.take(a.genes, plan.splices ? &b.genes : nullptr, splicing(plan, place)));
  MutationReport report;
  const bool is_done = dead.genes.move(config_.mutation, {generation_, place}, report);
  LOOM_TRY_VOID(dead.genes.commit(runner.pool()));
  if (!is_done) {
    dead.genes = {};
    LOOM_TRY(dead.plan, mutate(dead.network, input_, config_.mutation, {generation_, place}, &report));
  }
  born(dead, plan, place, report);
  return {};
}

Result<Member> Population::child(const Plan& plan, std::uint32_t place) const {
  const Member &a = members_[plan.a], &b = members_[plan.b];
  LOOM_TRY(Network network,
           plan.splices ? splice(a.network, b.network, splicing(plan, place)) : clone_network(a.network));
  Member m{std::move(network), nullptr, {}, {}, {}, a.structure, std::nullopt};
  MutationReport report;
  LOOM_TRY(m.plan, mutate(m.network, input_, config_.mutation, {generation_, place}, &report));
  born(m, plan, place, report);
  return m;
}

// Everything but the network, which is of the first parent's structure unless the report says otherwise.
void Population::born(Member& m, const Plan& plan, std::uint32_t place, const MutationReport& report) const {
  m.id = {island_, generation_, place};
  m.parents.assign(1, members_[plan.a].id);
  if (plan.splices) m.parents.push_back(members_[plan.b].id);
  m.operations = text_of(report, plan.splices);
  if (changes_structure(report)) m.structure = spec_digest(m.network);
  m.species = 0;
}

Result<Member> Population::emigrant() const {
  const Member& best = members_.front();
  LOOM_TRY(Network copy, clone_network(best.network));
  LOOM_TRY(auto planned, ForwardPlan::create(copy, input_));
  return Member{std::move(copy), std::move(planned), best.id,     best.parents,
                best.operations, best.structure,     best.fitness};
}

// Mean distance to the nearest behaviours, of this generation and of those that were most novel before (Lehman &
// Stanley 2011).
void Population::add_novelty() {
  novelty_.assign(members_.size(), 0);
  std::size_t most = 0;
  const auto distance = [](std::span<const double> a, std::span<const double> b) {
    return a.size() != b.size()
               ? 0.0
               : std::sqrt(lanes16(a.size(), [&](std::size_t i) { return (a[i] - b[i]) * (a[i] - b[i]); }));
  };
  for (std::size_t i = 0; i < members_.size(); ++i) {
    std::vector<double> all;
    for (std::size_t j = 0; j < members_.size(); ++j)
      if (j != i) all.push_back(distance(members_[i].fitness->behaviour, members_[j].fitness->behaviour));
    for (const auto& other : archive_) all.push_back(distance(members_[i].fitness->behaviour, other));
    for (double& d : all)
      if (!std::isfinite(d)) d = 0;
    std::ranges::sort(all);
    const std::size_t k = std::min(config_.novelty_neighbours, all.size());
    for (std::size_t n = 0; n < k; ++n) novelty_[i] += all[n] / static_cast<double>(k);
    if (novelty_[i] > novelty_[most]) most = i;
  }
  constexpr std::size_t kMaxArchive = 1024;
  if (!members_.empty() && archive_.size() < kMaxArchive) archive_.push_back(members_[most].fitness->behaviour);
}

}  // namespace loom
