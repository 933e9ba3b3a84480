// A population as JSON and back, so that a run that was stopped goes on to the same bits.

#include <algorithm>
#include <cmath>

#include "core/base64.h"
#include "core/json.h"
#include "evolution/population/population.h"
#include "io/network_file.h"

namespace loom {
namespace {

// JSON has no NaN and no infinity (engine S-06).
Json as_json(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  return v;
}
std::optional<double> number_of(const Json& value) {
  if (const std::string* text = as_string(value)) {
    if (*text == "NaN") return std::nan("");
    if (*text == "Infinity") return HUGE_VAL;
    if (*text == "-Infinity") return -HUGE_VAL;
    return std::nullopt;
  }
  return as_number(value);
}
Json as_json(std::span<const double> values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(as_json(v));
  return list;
}
Json as_json(const MemberId& id) { return Json::array({id.island, id.generation, id.index}); }

Result<Json> as_json(const Member& m) {
  LOOM_TRY(const auto bytes, network_to_entity(m.network, {true}));
  Json parents = Json::array();
  for (const MemberId& id : m.parents) parents.push_back(as_json(id));
  Json out{{"id", as_json(m.id)},
           {"parents", std::move(parents)},
           {"operations", m.operations},
           {"network", base64_encode(bytes)}};
  if (m.fitness) out["objectives"] = as_json(m.fitness->objectives), out["behaviour"] = as_json(m.fitness->behaviour);
  return out;
}

tl::unexpected<Error> bad(std::string_view what) { return fail(Code::CorruptData, "expected {}", what); }

Result<const Json*> member_of(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr) return fail_at({key}, Code::CorruptData, "is missing");
  return value;
}

Result<std::vector<double>> numbers(const Json& list, std::string_view what) {
  std::vector<double> out;
  if (!list.is_array()) return bad(what);
  for (const Json& item : list) {
    const auto v = number_of(item);
    if (!v) return bad(what);
    out.push_back(*v);
  }
  return out;
}

Result<MemberId> id_of(const Json& list) {
  if (!list.is_array() || list.size() != 3) return bad("an id of three numbers");
  std::array<std::uint32_t, 3> n{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto v = as_int(list[i]);
    if (!v || *v < 0 || *v > 0xffffffff) return bad("an id of three numbers");
    n[i] = static_cast<std::uint32_t>(*v);
  }
  return MemberId{n[0], n[1], n[2]};
}

// All fitnesses of a run have this many numbers. Behaviours are as long as the first one read.
struct Lengths {
  std::size_t objectives = 0;
  std::optional<std::size_t> behaviour = {};
};

Result<void> check_length(const Steps& place, std::size_t given, std::size_t expected) {
  if (given != expected) return fail_at(place, Code::CorruptData, "expected {} numbers, got {}", expected, given);
  return {};
}

Result<std::vector<double>> behaviour_of(const Json& json, const Steps& place, Lengths& lengths) {
  LOOM_TRY(auto behaviour, numbers(json, "a behaviour"));
  if (!lengths.behaviour) lengths.behaviour = behaviour.size();
  LOOM_TRY_VOID(check_length(place, behaviour.size(), *lengths.behaviour));
  return behaviour;
}

Result<Member> member_from(const Json& json, const Shape& input, Lengths& lengths) {
  LOOM_TRY(const Json* text, member_of(json, "network"));
  const std::string* base64 = as_string(*text);
  if (base64 == nullptr) return bad("a network in Base64");
  LOOM_TRY(const auto bytes, base64_decode(*base64));
  LOOM_TRY(SpecResult loaded, network_from_entity(bytes));
  Member m{std::move(loaded.network), nullptr, {}, {}, {}, {}, std::nullopt};
  LOOM_TRY(m.plan, ForwardPlan::create(m.network, input));
  LOOM_TRY(const Json* id, member_of(json, "id"));
  LOOM_TRY(m.id, id_of(*id));
  LOOM_TRY(const Json* parents, member_of(json, "parents"));
  if (!parents->is_array() || parents->size() > 2) return bad("at most two parents");
  for (const Json& parent : *parents) {
    LOOM_TRY(const MemberId p, id_of(parent));
    m.parents.push_back(p);
  }
  if (const Json* operations = find(json, "operations"); operations != nullptr && as_string(*operations) != nullptr)
    m.operations = *as_string(*operations);
  if (const Json* objectives = find(json, "objectives")) {
    m.fitness.emplace();
    LOOM_TRY(m.fitness->objectives, numbers(*objectives, "a list of objectives"));
    LOOM_TRY_VOID(check_length({"objectives"}, m.fitness->objectives.size(), lengths.objectives));
    m.fitness->drop_infinities();
    LOOM_TRY(const Json* behaviour, member_of(json, "behaviour"));
    LOOM_TRY(m.fitness->behaviour, behaviour_of(*behaviour, {"behaviour"}, lengths));
  }
  m.structure = spec_digest(m.network);
  return m;
}

Result<Signature> signature_from(const Json& json) {
  Signature s;
  LOOM_TRY(const Json* cell, member_of(json, "cell"));
  LOOM_TRY(const auto place, numbers(*cell, "a cell"));
  const auto fits = [](double extent) { return extent >= 0 && extent <= 65535; };
  if (place.size() != 4 || !std::ranges::all_of(place, fits)) return bad("a cell of four numbers");
  s.address = {static_cast<std::size_t>(place[0]), static_cast<std::size_t>(place[1]),
               static_cast<std::size_t>(place[2]), static_cast<std::size_t>(place[3])};
  LOOM_TRY(const Json* type, member_of(json, "type"));
  if (as_string(*type) == nullptr) return bad("a type");
  s.type = *as_string(*type);
  LOOM_TRY(const Json* weights, member_of(json, "weights"));
  LOOM_TRY(s.weights, numbers(*weights, "weights"));
  return s;
}

}  // namespace

Result<Json> Population::state() const {
  Json members = Json::array(), archive = Json::array(), species = Json::array();
  for (const Member& m : members_) {
    LOOM_TRY(Json member, as_json(m));
    members.push_back(std::move(member));
  }
  for (const auto& behaviour : archive_) archive.push_back(as_json(behaviour));
  for (const Species& s : species_) {
    Json signatures = Json::array();
    for (const Signature& sig : s.dna.signatures)
      signatures.push_back(
          Json{{"cell", std::vector<std::size_t>{sig.address.z, sig.address.y, sig.address.x, sig.address.l}},
               {"type", sig.type},
               {"weights", as_json(sig.weights)}});
    species.push_back(Json{{"dna", std::move(signatures)}, {"best", as_json(s.best)}, {"improved", s.improved}});
  }
  Json out{{"generation", generation_},
           {"members", std::move(members)},
           {"archive", std::move(archive)},
           {"species", std::move(species)}};
  if (best_) {
    LOOM_TRY(out["best"], as_json(*best_));
  }
  return out;
}

Result<Population::Species> Population::species_from(const Json& json, std::uint32_t generation) {
  Species s;
  LOOM_TRY(const Json* dna, member_of(json, "dna"));
  if (!dna->is_array()) return bad("signatures");
  for (const Json& item : *dna) {
    LOOM_TRY(Signature signature, signature_from(item));
    s.dna.signatures.push_back(std::move(signature));
  }
  LOOM_TRY(const Json* best, member_of(json, "best"));
  const auto score = number_of(*best);
  LOOM_TRY(const Json* improved, member_of(json, "improved"));
  const auto when = as_int(*improved);
  if (!score || !when || *when < 0 || *when > generation) return bad("a species' record");
  s.best = std::isfinite(*score) ? *score : -HUGE_VAL, s.improved = static_cast<std::uint32_t>(*when);
  return s;
}

Result<Population> Population::restore(const Json& state, std::uint64_t seed, const PopulationConfig& config,
                                       const Shape& input, std::uint32_t island) {
  Population p;
  p.seed_ = seed, p.config_ = config, p.input_ = input, p.island_ = island;
  p.config_.mutation.seed = seed;
  LOOM_TRY(const Json* generation, member_of(state, "generation"));
  const auto g = as_int(*generation);
  if (!g || *g < 0 || *g > 0xffffffff) return bad("a generation");
  p.generation_ = static_cast<std::uint32_t>(*g);
  LOOM_TRY(const Json* members, member_of(state, "members"));
  if (!members->is_array() || members->size() != config.size) return bad(fmt::format("{} members", config.size));
  Lengths lengths{config.objectives};
  for (std::size_t i = 0; i < members->size(); ++i) {
    auto m = member_from((*members)[i], input, lengths);
    if (!m) return under({"members", std::to_string(i)}, std::move(m).error());
    p.members_.push_back(std::move(*m));
  }
  if (const Json* best = find(state, "best")) {
    auto m = member_from(*best, input, lengths);
    if (!m) return under({"best"}, std::move(m).error());
    p.best_ = std::move(*m);
    if (!p.best_->fitness || p.best_->fitness->objectives.empty()) return bad("a score of the best member");
    if (std::isnan(p.best_->fitness->score())) p.best_.reset();
  }
  LOOM_TRY(const Json* archive, member_of(state, "archive"));
  if (!archive->is_array()) return bad("an archive");
  for (std::size_t i = 0; i < archive->size(); ++i) {
    LOOM_TRY(auto values, behaviour_of((*archive)[i], {"archive", std::to_string(i)}, lengths));
    p.archive_.push_back(std::move(values));
  }
  LOOM_TRY(const Json* species, member_of(state, "species"));
  if (!species->is_array()) return bad("species");
  for (std::size_t i = 0; i < species->size(); ++i) {
    auto one = species_from((*species)[i], p.generation_);
    if (!one) return under({"species", std::to_string(i)}, std::move(one).error());
    p.species_.push_back(std::move(*one));
  }
  return p;
}

}  // namespace loom
