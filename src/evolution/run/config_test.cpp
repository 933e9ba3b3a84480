#include "evolution/run/config.h"

#include <set>

#include "evolution/evolution_test.h"
#include "support/key_tables.h"
#include "support/schema_check.h"

namespace loom {
namespace {

Result<EvolutionConfig> config(const std::string& text) { return evolution_config_from(parse_json(text).value()); }

TEST(EvolutionConfig, defaults_and_every_key) {
  const auto plain = config(R"({"network":"base.json"})");
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_EQ(plain->task.kind, TaskKind::Xor);
  EXPECT_EQ(plain->islands.population.size, 64u);
  EXPECT_EQ(plain->islands.population.mutation.weight_perturb_rate, 0.8);
  const auto all =
      config(R"({"network":{},"task":{"name":"cart_pole","episodes":2,"steps":9,"seed":3,"target":0.5},"population":7,
    "islands":3,"migrate_every":4,"generations":5,"seed":6,"objectives":["score","bytes"],"ensemble":true,
    "mutation":{"weight_perturb_scale":2,"node_rate":0,"layer_types":["dense"],"activations":["tanh"],"dtypes":["int8","int4"]},
    "splice":{"mode":"point","split_ratio":0.2,"by_fitness":false,"rate":0.3},"species":{"distance":0.4,"stagnation":5},
    "novelty":{"weight":0.6,"neighbours":7}})");
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->islands.population.mutation.layer_types, (std::vector<std::string>{"dense"}));
  EXPECT_EQ(all->islands.population.splice_mode, SpliceConfig::Mode::Point);
  EXPECT_EQ(all->islands.population.novelty_neighbours, 7u);
  EXPECT_EQ(all->task.target, 0.5);
  EXPECT_EQ(built_in_task(all->task).value()->input(), Shape::of({2, 4}));
}

TEST(EvolutionConfig, every_key_stands_in_the_manual_with_its_default) {  // E-25
  test::expect_documented(evolution_schema(), "docs/guide/evolution.md", 50);
  test::expect_described(evolution_schema());
  EXPECT_GE(test::expect_examples_fit(evolution_schema(), "examples/evolve",
                                      [](const Json& file) { return find(file, "population") != nullptr; }),
            4u);
}

TEST(EvolutionConfig, errors_say_where) {
  const std::tuple<const char*, Code, const char*> bad[] = {
      {R"({})", Code::InvalidConfig, "/network"},
      {R"([])", Code::InvalidConfig, ""},
      {R"({"network":{},"populaton":3})", Code::UnknownKey, "population"},
      {R"({"network":{},"population":0})", Code::InvalidConfig, "/population"},
      {R"({"network":{},"mutation":{"node_rate":2}})", Code::InvalidConfig, "/mutation/node_rate"},
      {R"({"network":{},"mutation":{"layer_types":["dense","densa"]}})", Code::UnknownName, "dense"},
      {R"({"network":{},"splice":{"mode":"blent"}})", Code::UnknownName, "blend"},
      {R"({"network":{},"task":{"nam":"xor"}})", Code::UnknownKey, "/task"},
      {R"({"network":{},"seed":-1})", Code::InvalidConfig, "/seed"},
      {R"({"network":{},"population":2,"elites":3})", Code::InvalidConfig, "/elites"},
      {R"({"network":{},"elites":2,"species":{"distance":0.4}})", Code::InvalidConfig, "/elites: "},
      {R"({"network":{},"mutation":{"dtypes":["int8","q4_0"]}})", Code::InvalidConfig,
       "/mutation/dtypes/1: q4_0 is a block type of language models"},
      {R"({"network":{},"task":{"name":"xr","path":"x"}})", Code::UnknownName,
       "/task/name: \"xr\" is unknown; nearest: xor"},
      {R"({"network":{},"objectives":["score","bytes","score"]})", Code::InvalidConfig,
       "/objectives/2: \"score\" stands twice"},
      {R"({"network":{},"objectives":["score","byte"]})", Code::UnknownName,
       "/objectives/1: objective \"byte\" is unknown; nearest: bytes"},
      {R"({"network":{},"objectives":["score","bytes","Bytes"]})", Code::InvalidConfig,
       "/objectives/2: \"bytes\" stands twice"},
      {R"({"network":{},"objectives":["bytes","score"]})", Code::InvalidConfig,
       "/objectives/0: expected \"score\" first, got \"bytes\""}};
  for (const auto& [text, code, where] : bad) {
    const auto c = config(text);
    ASSERT_FALSE(c) << text;
    EXPECT_EQ(c.error().code, code) << c.error().text();
    EXPECT_NE(c.error().text().find(where), std::string::npos) << c.error().text();
  }
  const Json own = parse_json(R"({"network":{},"objectives":["accuracy","speed"]})").value();
  EXPECT_FALSE(evolution_config_from(own));
  const auto of_host = evolution_config_from(own, ObjectiveNames::OfHost);
  ASSERT_TRUE(of_host) << of_host.error().text();
  EXPECT_EQ(of_host->objectives, (std::vector<std::string>{"accuracy", "speed"}));
  TaskConfig table;
  table.kind = TaskKind::Csv;
  EXPECT_EQ(built_in_task(table).error().code, Code::InvalidArgument);
}

TEST(EvolutionConfig, elites_are_counted_where_no_species_are_told_apart) {  // E-30
  for (const char* species : {"", R"(,"species":{"distance":0})", R"(,"species":{})"}) {
    const auto read = config(fmt::format(R"({{"network":{{}},"elites":2{}}})", species));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->islands.population.elites, 2u);
  }
}

// A key that another one switches off is refused by its place, and taken where it has an effect.
TEST(EvolutionConfig, KeysWithoutEffectAreRefused) {
  const std::pair<const char*, const char*> pairs[] = {
      {R"("migrate_every":3)", R"("islands":2,"migrate_every":3)"},
      {R"("novelty":{"neighbours":3})", R"("novelty":{"neighbours":3,"weight":0.5})"},
      {R"("species":{"stagnation":3})", R"("species":{"stagnation":3,"distance":0.5})"},
      {R"("splice":{"split_ratio":0.3})", R"("splice":{"split_ratio":0.3,"mode":"point"})"},
      {R"("splice":{"blend_alpha":0.3,"mode":"uniform"})", R"("splice":{"blend_alpha":0.3})"},
      {R"("splice":{"blend_alpha":0.3,"mode":"point"})", R"("splice":{"blend_alpha":0.3,"mode":"blend"})"},
      {R"("splice":{"by_fitness":true,"mode":"point"})", R"("splice":{"by_fitness":true,"mode":"uniform"})"},
      {R"("splice":{"mode":"uniform","rate":0})", R"("splice":{"mode":"uniform","rate":0.1})"}};
  for (const auto& [without, with] : pairs) {
    const auto refused = config(fmt::format(R"({{"network":{{}},{}}})", without));
    ASSERT_FALSE(refused) << without;
    EXPECT_EQ(refused.error().code, Code::InvalidConfig);
    EXPECT_NE(refused.error().text().find("has no effect"), std::string::npos) << refused.error().text();
    const auto taken = config(fmt::format(R"({{"network":{{}},{}}})", with));
    EXPECT_TRUE(taken) << with << taken.error().text();
  }
}

// All that a mutation may choose can be saved.
TEST(EvolutionConfig, mutations_choose_among_the_types_that_networks_have) {  // E-25
  for (std::size_t t = 0; t < kNumDTypes; ++t) {
    const Json json{{"network", Json::object()},
                    {"mutation", Json{{"dtypes", Json::array({std::string(name(static_cast<DType>(t)))})}}}};
    EXPECT_EQ(evolution_config_from(json).has_value(), t < kNumTypes) << name(static_cast<DType>(t));
  }
}

TEST(EvolutionConfig, a_task_takes_its_own_keys_alone) {  // E-25
  const std::tuple<const char*, std::set<std::string>> tasks[] = {
      {"xor", {"target"}},
      {"spirals", {"target", "points", "score"}},
      {"cart_pole", {"target", "episodes", "steps", "seed"}},
      {"csv", {"target", "path", "target_column", "header", "values", "limit", "score"}},
      {"idx", {"target", "path", "labels", "limit", "score"}}};
  const std::pair<const char*, Json> keys[] = {
      {"target", 0.5}, {"points", 3},   {"score", "accuracy"},  {"episodes", 2},  {"steps", 3},      {"seed", 1},
      {"path", "x"},   {"labels", "y"}, {"target_column", "z"}, {"header", true}, {"values", false}, {"limit", 4}};
  for (const auto& [task, own] : tasks)
    for (const auto& [key, value] : keys) {
      const auto read =
          evolution_config_from(Json{{"network", Json::object()}, {"task", Json{{"name", task}, {key, value}}}});
      ASSERT_EQ(read.has_value(), own.contains(key)) << task << " " << key;
      if (read) continue;
      EXPECT_EQ(read.error().code, Code::UnknownKey);
      EXPECT_NE(read.error().text().find(key), std::string::npos) << read.error().text();
    }
}

// Outputs per sample: how many a task accepts, and its error for other numbers.
TEST(Tasks, tasks_name_the_outputs_that_they_cannot_score) {  // E-25
  const auto fits = [](const Task& task, std::size_t outputs) {
    const auto fit = task.check_output(Shape::of({task.input()[0], outputs}));
    if (fit) return true;
    EXPECT_EQ(fit.error().code, Code::ShapeMismatch);
    EXPECT_NE(fit.error().text().find(fmt::format("{} output", outputs)), std::string::npos) << fit.error().text();
    return false;
  };
  const auto taken = [&](const Task& task) {
    std::vector<std::size_t> all;
    for (std::size_t n = 1; n <= 4; ++n)
      if (fits(task, n)) all.push_back(n);
    return all;
  };
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(taken(*xor_task()), (Sizes{1}));
  EXPECT_EQ(taken(*spirals_task()), (Sizes{1, 2, 3, 4}));
  EXPECT_EQ(taken(*cart_pole_task()), (Sizes{1, 2}));
  TaskSamples s;
  s.inputs = {1, 2, 3}, s.labels = {0, 1, 2}, s.classes = 3;
  EXPECT_EQ(taken(*sample_task(TaskKind::Csv, s, Score::Accuracy, 1).value()), (Sizes{3, 4}));
  s.labels = {0, 1, 1}, s.classes = 2;
  EXPECT_EQ(taken(*sample_task(TaskKind::Csv, s, Score::CrossEntropy, 1).value()), (Sizes{2, 3, 4}));
  s.labels = {}, s.outputs = 2, s.values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(taken(*sample_task(TaskKind::Csv, s, Score::SquaredError, 1).value()), (Sizes{2}));
  const auto task = sample_task(TaskKind::Csv, s, Score::CrossEntropy, 1);  // of numbers there are no classes
  ASSERT_FALSE(task);
  EXPECT_EQ(task.error().code, Code::InvalidConfig);
  // As many numbers as samples, but not one row for each.
  EXPECT_FALSE(xor_task()->check_output(Shape::of({2, 1})));
  EXPECT_FALSE(cart_pole_task()->check_output(Shape::of({3, 5})));
}

TEST(Tasks, targets_scores_and_samples_that_do_not_fit) {
  const auto runner = Runner::create().value();
  Network n = evolution_test::read(evolution_test::row_of({evolution_test::dense(2, 1, R"("bias":true)")}));
  evolution_test::fill(n, 0, {0, 0, 0.5});
  const auto task = xor_task();
  const auto plan = ForwardPlan::create(n, task->input()).value();
  EXPECT_DOUBLE_EQ(task->judge(*runner, {n, *plan})->score(), 0.75);
  evolution_test::fill(n, 0, {1, 1, 0});
  EXPECT_EQ(*task->right(*runner, {n, *plan}), (std::vector<bool>{true, true, true, false}));
  TaskSamples s;
  s.input = Shape::of({2}), s.inputs = {1, 2, 3}, s.values = {1};
  EXPECT_FALSE(sample_task(TaskKind::Csv, s, Score::SquaredError, 1));
  s.inputs = {1, 2}, s.values = {}, s.labels = {4}, s.classes = 3;
  EXPECT_FALSE(sample_task(TaskKind::Csv, s, Score::Accuracy, 1));
}

TEST(Tasks, cross_entropy_of_equal_scores_is_the_logarithm_of_the_classes) {
  const auto runner = Runner::create().value();
  Network n = evolution_test::read(evolution_test::row_of({evolution_test::dense(1, 4, R"("init":"zeros")")}));
  TaskSamples s;
  s.inputs = {1, 2}, s.labels = {0, 3}, s.classes = 4;
  const auto task = sample_task(TaskKind::Csv, s, Score::CrossEntropy, 0).value();
  const auto plan = ForwardPlan::create(n, task->input()).value();
  EXPECT_NEAR(task->judge(*runner, {n, *plan})->score(), -1.3862943611198906, 1e-12);
}

}  // namespace
}  // namespace loom
