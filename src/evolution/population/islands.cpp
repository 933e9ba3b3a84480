#include "evolution/population/islands.h"

#include "core/json.h"

#include <cmath>
#include <limits>

namespace loom {

Result<Islands> Islands::create(std::uint64_t seed, const IslandsConfig& config, const Network& base,
                                const Shape& input, Workers& workers) {
  if (config.count < 1 || config.count > 1024)
    return fail(Code::InvalidConfig, "{} islands, 1 to 1024 expected", config.count);
  Islands out;
  out.config_ = config;
  for (std::size_t i = 0; i < config.count; ++i) {
    LOOM_TRY(Population p, Population::create(seed_of(seed, i), config.population, base, input, workers,
                                              static_cast<std::uint32_t>(i)));
    out.populations_.push_back(std::move(p));
  }
  return out;
}

Result<Islands::Report> Islands::evolve(const FitnessFunction& fitness, Workers& workers,
                                        const std::function<void(const Member&)>& seen) {
  return advance([&](std::size_t island) { return populations_[island].evolve(fitness, workers, seen); });
}

std::vector<Islands::Place> Islands::ask() const {
  std::vector<Place> places;
  for (std::size_t island = 0; island < populations_.size(); ++island)
    for (const std::size_t member : populations_[island].ask()) places.push_back({island, member});
  return places;
}

Result<Islands::Report> Islands::tell(std::span<const Fitness> told, Workers& workers,
                                      const std::function<void(const Member&)>& seen) {
  std::vector<std::span<const Fitness>> parts;  // by island
  std::size_t next = 0;
  for (const Population& p : populations_) {
    const std::size_t count = std::min(p.ask().size(), told.size() - next);
    parts.push_back(told.subspan(next, count));
    next += count;
  }
  if (next != told.size() || next != ask().size())
    return fail(Code::InvalidArgument, "{} fitnesses for {} members that have none", told.size(), ask().size());
  for (std::size_t i = 0; i < parts.size(); ++i) LOOM_TRY_VOID(populations_[i].check(parts[i]));
  return advance([&](std::size_t island) { return populations_[island].tell(parts[island], workers, seen); });
}

Result<Islands::Report> Islands::advance(const Advance& one) {
  Report report;
  report.generation = generation();
  report.best = std::numeric_limits<double>::quiet_NaN();
  Sha256 hash;
  for (std::size_t island = 0; island < populations_.size(); ++island) {
    LOOM_TRY(GenerationReport made, one(island));
    hash.update(std::as_bytes(std::span(made.hash)));
    if (!(made.best <= report.best) && !std::isnan(made.best)) report.best = made.best;
    report.average += made.average / static_cast<double>(populations_.size());
    report.evaluated += made.evaluated;
    report.islands.push_back(std::move(made));
  }
  report.hash = hash.finish();
  if (populations_.size() > 1 && config_.migrate_every != 0 && generation() % config_.migrate_every == 0) {
    // All leave before any arrives: where one member is all there is, its place is the guest's.
    std::vector<Member> guests;
    for (const Population& p : populations_) {
      LOOM_TRY(Member guest, p.emigrant());
      guests.push_back(std::move(guest));
    }
    for (std::size_t i = 0; i < guests.size(); ++i)
      populations_[(i + 1) % populations_.size()].settle(std::move(guests[i]));
  }
  return report;
}

const Member* Islands::best_member() const {
  const Member* best = nullptr;
  for (const Population& p : populations_)
    if (const Member* m = p.best_member();
        m != nullptr && (best == nullptr || m->fitness->score() > best->fitness->score()))
      best = m;
  return best;
}

Result<Json> Islands::state() const {
  Json list = Json::array();
  for (const Population& p : populations_) {
    LOOM_TRY(Json one, p.state());
    list.push_back(std::move(one));
  }
  return list;
}

Result<Islands> Islands::restore(const Json& state, std::uint64_t seed, const IslandsConfig& config,
                                 const Shape& input) {
  if (!state.is_array() || state.size() != config.count || config.count < 1)
    return fail(Code::CorruptData, "state: expected a list of {} islands", config.count);
  Islands out;
  out.config_ = config;
  for (std::size_t i = 0; i < config.count; ++i) {
    auto p = Population::restore(state[i], seed_of(seed, i), config.population, input, static_cast<std::uint32_t>(i));
    if (!p) return at("state", std::move(p.error().under({std::to_string(i)})));
    if (i > 0 && p->generation() != out.generation())
      return fail(Code::CorruptData, "state: islands of different generations");
    out.populations_.push_back(std::move(*p));
  }
  return out;
}

}  // namespace loom
