#include "evolution/population/population.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/file.h"
#include "core/json.h"
#include "evolution/evolution_test.h"
#include "evolution/population/islands.h"
#include "evolution/run/config.h"
#include "evolution/tasks/task.h"
#include "network/spec/clone.h"
#include "support/divided.h"
#include "support/paths.h"

namespace loom {
namespace {

using namespace evolution_test;

const std::string kXorBase =
    row_of({dense(2, 4, R"("activation":"tanh","bias":true)"), dense(4, 1, R"("bias":true)")}, R"("seed":1,)");

PopulationConfig weights_only(std::size_t size) {
  PopulationConfig c;
  c.size = size;
  c.mutation.activation_rate = c.mutation.node_rate = c.mutation.layer_toggle_rate = c.mutation.connection_add_rate =
      c.mutation.connection_drop_rate = 0;
  c.mutation.weight_perturb_scale = 0.8;
  c.splice_mode = SpliceConfig::Mode::Uniform, c.splice_rate = 0.3, c.splice_by_fitness = false;
  return c;
}

Network base_of(const EvolutionConfig& config) {
  auto spec = network_from_json(config.network);
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().text());
  return std::move(spec->network);
}

Population made(const PopulationConfig& c, Workers& workers, const Task& task, std::uint64_t seed = 1,
                const std::string& base = kXorBase) {
  auto p = Population::create(seed, c, read(base), task.input(), workers);
  EXPECT_TRUE(p) << (p ? "" : p.error().text());
  return std::move(*p);
}

TEST(Population, elites_stay_unchanged_and_keep_their_fitness) {  // E-30
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  const FitnessFunction fitness = fitness_of(*task, {"score"}).value();
  Population p = made(weights_only(16), workers, *task);
  for (const Member& m : p.members()) EXPECT_FALSE(m.fitness);
  std::vector<Digest> before;
  for (const Member& m : p.members()) before.push_back(network_digest(m.network, m.structure));
  const GenerationReport r = p.evolve(fitness, workers).value();
  EXPECT_EQ(r.evaluated, 16u);
  ASSERT_EQ(r.scores.size(), 16u);
  std::vector<std::size_t> order(16);
  for (std::size_t i = 0; i < 16; ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return r.scores[a] > r.scores[b]; });
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(p.fitness_of(i));
    EXPECT_EQ(p.fitness_of(i)->score(), r.scores[order[i]]);
    EXPECT_EQ(network_digest(p.members()[i].network, p.members()[i].structure), before[order[i]]);
  }
  for (std::size_t i = 4; i < 16; ++i) EXPECT_FALSE(p.fitness_of(i));
  EXPECT_EQ(p.best_score(), r.best);
  EXPECT_EQ(r.summary(), fmt::format("Gen 0 | best {:.6g} avg {:.6g} worst {:.6g} pop 16", r.best, r.average, r.worst));
  EXPECT_EQ(p.evolve(fitness, workers)->evaluated, 12u);
}

// Every child is the mutation of the mixture of its parents, who are elites (engine E-30).
TEST(Population, children_are_mutations_of_mixtures_of_two_elites) {  // E-30
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  const FitnessFunction fitness = fitness_of(*task, {"score"}).value();
  PopulationConfig c;
  c.size = 12;
  c.mutation.node_rate = c.mutation.connection_add_rate = 0.3;
  constexpr std::uint64_t kSeed = 9;
  Population p = made(c, workers, *task, kSeed);
  for (std::uint32_t generation = 1; generation < 4; ++generation) {
    std::map<std::string, std::pair<Network, double>> before;  // by name
    std::vector<std::string> names;
    for (const Member& m : p.members()) {
      names.push_back(m.id.text());
      before.emplace(names.back(), std::pair(clone_network(m.network).value(), 0.0));
    }
    const GenerationReport r = p.evolve(fitness, workers).value();
    std::vector<std::size_t> order(names.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i, before.at(names[i]).second = r.scores[i];
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return r.scores[a] > r.scores[b]; });
    for (std::uint32_t i = 0; i < c.size; ++i) {
      const Member& m = p.members()[i];
      if (i < 3) {
        EXPECT_EQ(m.id.text(), names[order[i]]);
        EXPECT_EQ(network_digest(m.network, spec_digest(m.network)),
                  network_digest(before.at(names[order[i]]).first, spec_digest(m.network)));
        continue;
      }
      ASSERT_EQ(m.parents.size(), 2u);
      for (const MemberId& parent : m.parents)
        EXPECT_TRUE(parent.text() == names[order[0]] || parent.text() == names[order[1]] ||
                    parent.text() == names[order[2]])
            << parent.text();
      const auto &a = before.at(m.parents[0].text()), &b = before.at(m.parents[1].text());
      SpliceConfig s;
      s.fitness_a = a.second, s.fitness_b = b.second, s.seed = kSeed + i, s.step = generation;
      Network child = splice(a.first, b.first, s).value();
      MutationConfig mutation = c.mutation;
      mutation.seed = kSeed;
      ASSERT_TRUE(mutate(child, task->input(), mutation, {generation, i}));
      EXPECT_EQ(network_digest(m.network, spec_digest(m.network)), network_digest(child, spec_digest(child)))
          << generation << " " << i;
    }
  }
}

TEST(Population, nan_ranks_last_and_spoils_nothing) {  // E-30
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  Population p = made(weights_only(8), workers, *task);
  std::size_t calls = 0;
  const auto r = p.evolve(
      [&](Runner&, const Candidate&) -> Result<Fitness> {
        return Fitness{{calls++ % 2 == 0 ? std::nan("") : static_cast<double>(calls)}, {}};
      },
      workers);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->best, 8);
  EXPECT_EQ(r->worst, 2);
  EXPECT_EQ(r->average, 5);
  EXPECT_EQ(p.fitness_of(0)->score(), 8);
  Population none = made(weights_only(4), workers, *task);
  const auto nothing =
      none.evolve([](Runner&, const Candidate&) -> Result<Fitness> { return Fitness{{std::nan("")}, {}}; }, workers);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(std::isnan(nothing->best));
  EXPECT_EQ(none.best(), nullptr);
}

TEST(Population, pareto_rank_then_crowding_then_index) {  // E-26
  const std::vector<Fitness> f = {
      {{1, 1}, {}}, {{3, 0}, {}}, {{0, 3}, {}}, {{2, 2}, {}}, {{2.1, 1.9}, {}}, {{std::nan(""), 9}, {}}, {{1, 1}, {}}};
  std::vector<const Fitness*> list;
  for (const Fitness& one : f) list.push_back(&one);
  EXPECT_EQ(pareto_ranks(list), (std::vector<std::size_t>{1, 0, 0, 0, 0, 2, 1}));
  // Ends of the front first; (2, 2) has the larger gap to its neighbours: 2.1/3 + 3/3*... beside (2.1, 1.9).
  const std::vector<std::size_t> order = ranked(list);
  EXPECT_EQ(order[0], 1u);
  EXPECT_EQ(order[1], 2u);
  EXPECT_EQ(order[2], 3u);
  EXPECT_EQ(order[3], 4u);
  EXPECT_EQ(order[4], 0u);
  EXPECT_EQ(order[5], 6u);
  EXPECT_EQ(order[6], 5u);
}

TEST(Population, fewer_bytes_win_where_scores_are_equal) {  // E-26
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  PopulationConfig c = weights_only(12);
  c.mutation.weight_perturb_rate = 0, c.mutation.dtype_rate = 0.5, c.splice_rate = 0;
  c.mutation.dtypes = {DType::float32, DType::int8}, c.objectives = 2;
  const std::string base = row_of({dense(2, 64, R"("activation":"tanh")"), dense(64, 1)}, R"("seed":1,)");
  const auto network = read(base);
  Population p = Population::create(3, c, network, task->input(), workers).value();
  const FitnessFunction bytes = fitness_of(*task, {"score", "bytes"}).value(),
                        flat = [&](Runner& r, const Candidate& n) -> Result<Fitness> {
                          LOOM_TRY(Fitness f, bytes(r, n));
                          f.objectives[0] = 0;
                          return f;
                        };
  const auto r = p.evolve(flat, workers);
  ASSERT_TRUE(r);
  for (std::size_t i = 1; i < p.members().size(); ++i)
    if (p.fitness_of(i)) {
      EXPECT_GE(p.fitness_of(0)->objectives[1], p.fitness_of(i)->objectives[1]);
    }
  Network judged = clone_network(network).value();
  const auto plan = ForwardPlan::create(judged, task->input()).value();
  EXPECT_EQ(multiply_adds({judged, *plan}), 2 * 64 + 64);
}

std::vector<std::string> hashes(int threads, std::optional<Isa> isa, const EvolutionConfig& config,
                                std::size_t generations) {
  auto workers = Workers::create(threads, isa).value();
  const auto task = built_in_task(config.task).value();
  Network base = base_of(config);
  auto islands = Islands::create(config.seed, config.islands, base, task->input(), workers);
  EXPECT_TRUE(islands) << (islands ? "" : islands.error().text());
  std::vector<std::string> out;
  for (std::size_t g = 0; g < generations; ++g) {
    const auto r = islands->evolve(fitness_of(*task, config.objectives).value(), workers);
    EXPECT_TRUE(r) << (r ? "" : r.error().text());
    out.push_back(to_hex(r->hash));
  }
  return out;
}

EvolutionConfig everything_on(const std::string& task) {
  Json json =
      parse_json(
          R"({"population":10,"islands":2,"migrate_every":2,"seed":9,"objectives":["score","bytes","multiply_adds"],
    "mutation":{"weight_perturb_scale":0.5,"node_rate":0.2,"connection_add_rate":0.3,"dtype_rate":0.1,"cell_grow_rate":0.2,"layer_prune_rate":0.05,
      "max_layers":24,"max_operations":40,"vocab_size":8},
    "splice":{"mode":"uniform"},"species":{"distance":0.6},"novelty":{"weight":0.3}})")
          .value();
  json["task"] = task == "cart_pole" ? Json{{"name", task}, {"episodes", 2}, {"steps", 60}} : Json(task);
  const std::size_t in = task == "cart_pole" ? 4 : 2;
  json["network"] =
      parse_json(row_of({dense(in, 4, R"("activation":"tanh","bias":true)"), "", dense(4, 1, R"("bias":true)")},
                        R"("seed":1,)"))
          .value();
  auto config = evolution_config_from(json);
  EXPECT_TRUE(config) << (config ? "" : config.error().text());
  return *config;
}

TEST(Population, one_hash_for_all_threads_and_targets) {  // E-30
  for (const char* task : {"xor", "cart_pole", "spirals"}) {
    const EvolutionConfig config = everything_on(task);
    const auto first = hashes(1, std::nullopt, config, 5);
    for (const int threads : {2, 3, 7}) {
      const test::ExpectDivided divided(threads);
      EXPECT_EQ(hashes(threads, std::nullopt, config, 5), first) << task << " " << threads << " threads";
    }
    for (const Isa isa : usable_isas()) EXPECT_EQ(hashes(1, isa, config, 5), first) << task << " " << name(isa);
  }
}

TEST(Population, a_run_that_goes_on_gives_the_bits_of_one_that_never_stopped) {  // E-30
  const EvolutionConfig config = everything_on("xor");
  auto workers = Workers::create(2).value();
  const auto task = built_in_task(config.task).value();
  const FitnessFunction fitness = fitness_of(*task, config.objectives).value();
  Network base = base_of(config);
  const auto whole = hashes(1, std::nullopt, config, 7);
  Islands first = Islands::create(config.seed, config.islands, base, task->input(), workers).value();
  for (int g = 0; g < 3; ++g) ASSERT_TRUE(first.evolve(fitness, workers));
  const std::string saved = dump_json(first.state().value());
  auto again = Islands::restore(parse_json(saved).value(), config.seed, config.islands, task->input());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->generation(), 3u);
  EXPECT_EQ(dump_json(again->state().value()), saved);
  for (std::size_t g = 3; g < 7; ++g) EXPECT_EQ(to_hex(again->evolve(fitness, workers)->hash), whole[g]) << g;
}

// The fitness by a task, computed by a caller with a session for each network.
std::vector<Fitness> judged_outside(const Islands& islands, const Task& task) {
  const std::vector<std::string> objectives = {"score", "bytes"};
  const FitnessFunction fitness = fitness_of(task, objectives).value();
  std::vector<Fitness> told;
  for (const Islands::Place& place : islands.ask()) {
    auto runner = Runner::create().value();
    const Member& member = islands.member(place);
    EXPECT_TRUE(member.plan->is_of(member.network));
    told.push_back(fitness(*runner, member.candidate()).value());
  }
  return told;
}

TEST(Population, fitness_that_is_told_breeds_the_bits_of_a_task_that_is_asked) {  // E-30
  auto workers = Workers::create(2).value();
  const auto task = xor_task();
  const FitnessFunction fitness = fitness_of(*task, {"score", "bytes"}).value();
  IslandsConfig c;
  c.count = 2, c.migrate_every = 2;
  c.population.size = 10, c.population.objectives = 2;
  c.population.mutation.node_rate = c.population.mutation.connection_add_rate = 0.3;
  for (const bool has_species : {false, true}) {
    if (has_species) c.population.species_distance = 0.4;
    Islands asked = Islands::create(5, c, read(kXorBase), task->input(), workers).value();
    Islands told = Islands::create(5, c, read(kXorBase), task->input(), workers).value();
    for (int generation = 0; generation < 6; ++generation) {
      std::vector<std::string> seen[2];
      const auto wanted =
          asked.evolve(fitness, workers, [&](const Member& m) { seen[0].push_back(m.id.text()); }).value();
      const std::vector<Fitness> outside = judged_outside(told, *task);
      EXPECT_EQ(outside.size(), wanted.evaluated);
      // Refused, and nothing has moved.
      const auto fewer = told.tell(std::span(outside).first(outside.size() - 1), workers);
      ASSERT_FALSE(fewer);
      EXPECT_EQ(fewer.error().code, Code::InvalidArgument);
      std::vector<Fitness> wrong = outside;
      wrong.back().objectives.pop_back();
      EXPECT_EQ(told.tell(wrong, workers).error().code, Code::InvalidArgument);
      wrong = outside;
      wrong.push_back(outside.back());
      EXPECT_EQ(told.tell(wrong, workers).error().code, Code::InvalidArgument);
      const auto got = told.tell(outside, workers, [&](const Member& m) { seen[1].push_back(m.id.text()); });
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_EQ(got->hash, wanted.hash) << generation;
      EXPECT_EQ(got->evaluated, wanted.evaluated);
      EXPECT_EQ(seen[0], seen[1]);
      EXPECT_EQ(dump_json(told.state().value()), dump_json(asked.state().value())) << generation;
    }
  }
}

TEST(Population, infinite_fitness_that_is_told_counts_like_nan) {  // E-30
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  Population p = made(weights_only(8), workers, *task);
  std::vector<Fitness> told(8, Fitness{{0.5}, {}});
  told[3].objectives[0] = std::numeric_limits<double>::infinity();
  told[5].objectives[0] = 0.75;
  const auto report = p.tell(told, workers);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(std::isnan(report->scores[3]));
  EXPECT_EQ(report->best_index, 5u);
  EXPECT_EQ(p.best_score(), 0.75);
  EXPECT_EQ(p.ask().size(), 6u);  // but for two elites
}

TEST(Population, states_that_are_damaged_are_errors) {
  const EvolutionConfig config = everything_on("xor");
  auto workers = Workers::create(1).value();
  const auto task = built_in_task(config.task).value();
  Islands islands = Islands::create(config.seed, config.islands, base_of(config), task->input(), workers).value();
  const Json state = islands.state().value();
  EXPECT_FALSE(Islands::restore(Json::array(), config.seed, config.islands, task->input()));
  for (const char* key : {"generation", "members", "archive", "species"}) {
    Json less = state;
    less[0].erase(key);
    EXPECT_FALSE(Islands::restore(less, config.seed, config.islands, task->input())) << key;
    less[0][key] = "text";
    EXPECT_FALSE(Islands::restore(less, config.seed, config.islands, task->input())) << key;
  }
  Json damaged = state;
  damaged[0]["members"][0]["network"] = "AAAA";
  EXPECT_FALSE(Islands::restore(damaged, config.seed, config.islands, task->input()));
}

// The fitness in a state must fit the run that reads it (E-26): the same number of objectives, and behaviours of one
// length.
TEST(Population, states_of_another_fitness_are_errors) {  // E-26
  const EvolutionConfig config = everything_on("xor");
  auto workers = Workers::create(1).value();
  const auto task = built_in_task(config.task).value();
  Islands islands = Islands::create(config.seed, config.islands, base_of(config), task->input(), workers).value();
  const FitnessFunction fitness = fitness_of(*task, config.objectives).value();
  for (int g = 0; g < 2; ++g) ASSERT_TRUE(islands.evolve(fitness, workers));
  const Json state = islands.state().value();
  ASSERT_TRUE(state[0]["members"][0].contains("objectives"));
  const auto refused = [&](const std::string& pointer, const Json& value, const char* message) {
    Json damaged = state;
    damaged[Json::json_pointer(pointer)] = value;
    const auto restored = Islands::restore(damaged, config.seed, config.islands, task->input());
    ASSERT_FALSE(restored) << pointer;
    EXPECT_EQ(restored.error().code, Code::CorruptData);
    EXPECT_EQ(restored.error().text(), message);
  };
  for (const Json& objectives : {Json::array(), Json{1.0}, Json{1.0, 2.0}, Json{1.0, 2.0, 3.0, 4.0}}) {
    const auto told = [&](const char* place) {
      return fmt::format("state: {}/objectives: expected 3 numbers, got {}", place, objectives.size());
    };
    refused("/0/members/0/objectives", objectives, told("/0/members/0").c_str());
    refused("/1/members/1/objectives", objectives, told("/1/members/1").c_str());
    refused("/0/best/objectives", objectives, told("/0/best").c_str());
  }
  refused("/0/members/1/behaviour", {1.0}, "state: /0/members/1/behaviour: expected 4 numbers, got 1");
  refused("/0/best/behaviour", {1.0}, "state: /0/best/behaviour: expected 4 numbers, got 1");
  refused("/0/archive/1", {1.0}, "state: /0/archive/1: expected 4 numbers, got 1");
  refused("/0/species/0/improved", 9, "state: /0/species/0: expected a species' record");
}

TEST(Population, a_fitness_of_another_number_of_objectives_ends_the_run) {  // E-26
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  Population p = made(weights_only(4), workers, *task);
  const auto r = p.evolve([](Runner&, const Candidate&) -> Result<Fitness> { return Fitness{{1, 2}, {}}; }, workers);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().text(), "member 0.0.0: a fitness of 2 objectives, 1 expected");
}

// Each island has one place, which is the first and the last: nobody is lost all the same.
TEST(Islands, all_leave_before_any_arrives) {  // E-30
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  const FitnessFunction fitness = fitness_of(*task, {"score"}).value();
  Islands islands = Islands::create(1, {.count = 3, .migrate_every = 1, .population = weights_only(1)}, read(kXorBase),
                                    task->input(), workers)
                        .value();
  std::vector<Digest> before;
  for (const Population& p : islands.populations())
    before.push_back(network_digest(p.members()[0].network, p.members()[0].structure));
  ASSERT_TRUE(islands.evolve(fitness, workers));
  for (std::size_t i = 0; i < 3; ++i) {
    const Member& m = islands.populations()[i].members()[0];
    EXPECT_EQ(m.id.island, (i + 2) % 3);
    EXPECT_EQ(network_digest(m.network, m.structure), before[(i + 2) % 3]);
    EXPECT_TRUE(m.fitness);
  }
}

// Scores that are no finite numbers count like NaN, and no choice of scores keeps a generation from ending.
TEST(Population, scores_beyond_all_numbers_rank_last_whatever_breeds) {  // E-30
  constexpr double kInf = std::numeric_limits<double>::infinity(), kMost = std::numeric_limits<double>::max();
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  const std::vector<std::vector<double>> fields = {{-kInf, 1, 2, 3},         {kInf, 1, 2, 3},
                                                   {std::nan(""), 1, 2, 3},  {-kInf, kInf, std::nan(""), 3},
                                                   {kMost, -kMost, 0, 3},    {-kInf, -kInf, -kInf, -kInf},
                                                   {kInf, kInf, kInf, kInf}, {kMost, kMost, kMost, kMost}};
  for (const auto& scores : fields)
    for (int way = 0; way < 16; ++way) {
      IslandsConfig config{.count = (way & 1) != 0 ? 3u : 1u, .migrate_every = 1, .population = weights_only(8)};
      config.population.species_distance = (way & 2) != 0 ? 0.2 : 0, config.population.stagnation = 1;
      config.population.novelty_weight = (way & 4) != 0 ? 0.5 : 0;
      config.population.objectives = (way & 8) != 0 ? 2 : 1;
      config.population.mutation.node_rate = 0.5;
      std::size_t calls = 0;
      const FitnessFunction fitness = [&](Runner&, const Candidate&) -> Result<Fitness> {
        const double score = scores[calls++ % scores.size()];
        return (way & 8) != 0 ? Fitness{{score, static_cast<double>(calls % 3)}, {score, 1}}
                              : Fitness{{score}, {score, 1}};
      };
      Islands islands = Islands::create(1, config, read(kXorBase), task->input(), workers).value();
      const std::string what = fmt::format("{} way {}", fmt::join(scores, " "), way);
      for (int g = 0; g < 3; ++g) {
        const auto r = islands.evolve(fitness, workers);
        ASSERT_TRUE(r) << what << r.error().text();
        const std::string saved = dump_json(islands.state().value());
        const auto again = Islands::restore(parse_json(saved).value(), 1, config, task->input());
        ASSERT_TRUE(again) << what << again.error().text();
        EXPECT_EQ(dump_json(again->state().value()), saved) << what;
        bool any = false;
        for (const GenerationReport& one : r->islands)
          for (const double score : one.scores) {
            EXPECT_FALSE(std::isinf(score)) << what;
            any = any || std::isfinite(score);
          }
        EXPECT_EQ(any, std::isfinite(r->best)) << what;
        if (!any) continue;
        ASSERT_NE(islands.best_member(), nullptr) << what;
        EXPECT_TRUE(std::isfinite(islands.best_member()->fitness->score())) << what;
        if ((way & 2) != 0) continue;  // the first place is the first species' champion
        const std::optional<Fitness>& first = islands.populations()[0].fitness_of(0);
        ASSERT_TRUE(first) << what;
        EXPECT_TRUE(std::isfinite(first->score())) << what;
      }
    }
}

// States of older runs may hold infinite scores: they count as NaN.
TEST(Population, infinite_scores_of_a_state_count_like_nan) {  // E-30
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  PopulationConfig c = weights_only(4);
  c.species_distance = 2;
  const FitnessFunction fitness = fitness_of(*task, {"score"}).value();
  Population p = made(c, workers, *task);
  ASSERT_TRUE(p.evolve(fitness, workers));
  for (const char* infinite : {"Infinity", "-Infinity"}) {
    Json state = p.state().value();
    state["members"][0]["objectives"] = state["best"]["objectives"] = Json{infinite};
    state["species"][0]["best"] = infinite;
    auto again = Population::restore(state, 1, c, task->input(), 0);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(std::isnan(again->fitness_of(0)->score()));
    EXPECT_EQ(again->best_member(), nullptr);
    const auto r = again->evolve(fitness, workers);
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_TRUE(std::isfinite(again->best_score()));
    EXPECT_NE(again->best_member(), nullptr);
  }
}

TEST(Population, species_keep_champions_of_different_shapes) {
  auto workers = Workers::create(1).value();
  const auto task = xor_task();
  PopulationConfig c = weights_only(24);
  c.mutation.node_rate = 0.3, c.species_distance = 0.5;
  Population p = made(c, workers, *task);
  const FitnessFunction fitness = fitness_of(*task, {"score"}).value();
  std::size_t most = 0;
  for (int g = 0; g < 6; ++g) {
    const auto r = p.evolve(fitness, workers);
    ASSERT_TRUE(r) << r.error().text();
    most = std::max(most, r->species);
    EXPECT_EQ(p.members().size(), 24u);
  }
  EXPECT_GT(most, 1u);
}

TEST(Population, errors_of_the_fitness_end_the_generation) {  // E-30
  auto workers = Workers::create(3).value();
  const auto task = xor_task();
  Population p = made(weights_only(8), workers, *task);
  const auto r =
      p.evolve([](Runner&, const Candidate&) -> Result<Fitness> { return fail(Code::Cancelled, "enough"); }, workers);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::Cancelled);
}

std::size_t generations_to_solve(const EvolutionConfig& config, std::size_t most) {
  auto workers = Workers::create(1).value();
  const auto task = built_in_task(config.task).value();
  Network base = base_of(config);
  Islands islands = Islands::create(config.seed, config.islands, base, task->input(), workers).value();
  const FitnessFunction fitness = fitness_of(*task, config.objectives).value();
  for (std::size_t g = 1; g <= most; ++g) {
    EXPECT_TRUE(islands.evolve(fitness, workers));
    if (islands.best_member() != nullptr && islands.best_member()->fitness->score() >= task->target()) return g;
  }
  return most + 1;
}

EvolutionConfig example(const char* name) {
  const auto text = read_text_file(test::source_path("examples/evolve/") + name);
  EXPECT_TRUE(text) << name;
  auto config = evolution_config_from(parse_json(*text).value());
  EXPECT_TRUE(config) << (config ? "" : config.error().text());
  return *config;
}

TEST(Population, xor_is_solved_in_50_generations_at_the_median_of_20_seeds) {  // E-20, E-30
  for (const char* name : {"xor.json", "xor_minimal.json"}) {
    EvolutionConfig config = example(name);
    std::vector<std::size_t> all;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      config.seed = seed;
      all.push_back(generations_to_solve(config, 100));
    }
    std::ranges::sort(all);
    EXPECT_LE((all[9] + all[10]) / 2, 50u) << name;
    fmt::print("{}: generations to solve, sorted: {}\n", name, fmt::join(all, " "));
  }
}

TEST(Population, cart_poles_are_balanced) {  // E-30
  EvolutionConfig config = example("cart_pole.json");
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    config.seed = seed;
    EXPECT_LE(generations_to_solve(config, 50), 50u) << seed;
  }
}

}  // namespace
}  // namespace loom
