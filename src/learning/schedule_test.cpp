#include "learning/schedule.h"

#include "learning/test_data.h"

namespace loom::schedule_test {
namespace {

std::uint64_t count_or(const Json& config, const char* key, std::uint64_t fallback) {
  return static_cast<std::uint64_t>(test::number_or(config, key, static_cast<double>(fallback)));
}

ScheduleConfig config_of(const Json& json) {
  ScheduleConfig c;
  c.name = test::text_or(json, "name", "");
  c.cyclic_mode = test::text_or(json, "cyclic_mode", c.cyclic_mode);
  c.higher_is_better = test::flag(json, "higher_is_better");
  for (auto [key, member] : std::initializer_list<std::pair<const char*, double*>>{{"learning_rate", &c.learning_rate},
                                                                                   {"gamma", &c.gamma},
                                                                                   {"start_factor", &c.start_factor},
                                                                                   {"end_factor", &c.end_factor},
                                                                                   {"power", &c.power},
                                                                                   {"min", &c.min},
                                                                                   {"max", &c.max},
                                                                                   {"base", &c.base},
                                                                                   {"pct", &c.pct},
                                                                                   {"div", &c.div},
                                                                                   {"final_div", &c.final_div},
                                                                                   {"factor", &c.factor},
                                                                                   {"warmup_factor", &c.warmup_factor}})
    *member = test::number_or(json, key, *member);
  for (auto [key, member] :
       std::initializer_list<std::pair<const char*, std::uint64_t*>>{{"size", &c.size},
                                                                     {"total", &c.total},
                                                                     {"first_cycle", &c.first_cycle},
                                                                     {"cycle_mult", &c.cycle_mult},
                                                                     {"up", &c.up},
                                                                     {"down", &c.down},
                                                                     {"warmup", &c.warmup},
                                                                     {"patience", &c.patience},
                                                                     {"cooldown", &c.cooldown},
                                                                     {"warmup_steps", &c.warmup_steps}})
    *member = count_or(json, key, *member);
  if (const Json* milestones = find(json, "milestones")) c.milestones = test::numbers<std::uint64_t>(*milestones);
  return c;
}

TEST(Schedule, every_schedule_gives_the_rates_of_the_frameworks) {  // T-30
  const Json golden = test::learning_golden("schedules");
  std::size_t cases = 0;
  for (const Json& c : *find(golden, "cases")) {
    ++cases;
    SCOPED_TRACE(find(c, "config")->dump());
    const auto schedule = Schedule::create(config_of(*find(c, "config")));
    ASSERT_TRUE(schedule) << schedule.error().text();
    const std::vector<double> want = test::numbers<double>(*find(c, "rates"));
    // The frameworks update the rate of the step before, so their rounding adds up over the steps.
    for (std::size_t s = 0; s < want.size(); ++s) EXPECT_NEAR(schedule->rate(s), want[s], 1e-14) << "step " << s;
  }
  EXPECT_EQ(cases, 16u);
}

TEST(Schedule, plateau_gives_the_rates_of_the_framework_and_resumes) {  // T-30
  const Json golden = test::learning_golden("schedules");
  std::size_t cases = 0;
  for (const Json& c : *find(golden, "plateaus")) {
    ++cases;
    SCOPED_TRACE(find(c, "config")->dump());
    const ScheduleConfig config = config_of(*find(c, "config"));
    Schedule schedule = Schedule::create(config).value();
    const std::vector<double> metrics = test::numbers<double>(*find(c, "metrics")),
                              want = test::numbers<double>(*find(c, "rates"));
    for (std::size_t s = 0; s < want.size(); ++s) {
      if (s == 7) {  // as from a checkpoint
        const PlateauState state = schedule.plateau();
        schedule = Schedule::create(config).value();
        ASSERT_TRUE(schedule.restore(state));
      }
      schedule.observe(metrics[s]);
      EXPECT_NEAR(schedule.rate(s), want[s], 1e-15) << s;
    }
  }
  EXPECT_EQ(cases, 3u);
}

TEST(Schedule, totals_hold_and_a_cosine_warmup_meets_its_schedule) {  // T-30
  ScheduleConfig c;
  c.learning_rate = 0.5;
  c.total = 10;
  for (const auto& [name, last] : {std::pair{"cosine", 0.125}, {"polynomial", 0.25}, {"linear", 0.5}}) {
    ScheduleConfig falls = c;
    falls.name = name;
    if (falls.name == "cosine") falls.min = last;
    if (falls.name == "polynomial") falls.end = last;
    EXPECT_EQ(Schedule::create(falls)->rate(10), last) << name;
    EXPECT_EQ(Schedule::create(falls)->rate(~std::uint64_t{0}), last) << name;
  }
  c.warmup_steps = 8;
  c.warmup_shape = "cosine";
  const Schedule warm = Schedule::create(c).value();
  EXPECT_EQ(warm.rate(0), 0.0);
  EXPECT_NEAR(warm.rate(4), 0.25, 1e-16);
  EXPECT_EQ(warm.rate(8), 0.5);
}

// get_cosine_schedule_with_warmup and get_linear_schedule_with_warmup of transformers 4.57: 3 steps of 10 warm up.
TEST(Schedule, FillLeavesTheStepsAfterTheWarmup) {
  const double cosine[] = {0.0,
                           1.0 / 3,
                           2.0 / 3,
                           1.0,
                           0.9504844339512095,
                           0.8117449009293668,
                           0.6112604669781572,
                           0.38873953302184283,
                           0.18825509907063326,
                           0.04951556604879043};
  const double linear[] = {0.0, 1.0 / 3, 2.0 / 3, 1.0, 6.0 / 7, 5.0 / 7, 4.0 / 7, 3.0 / 7, 2.0 / 7, 1.0 / 7};
  for (const auto& [name, rates] : {std::pair<const char*, std::span<const double>>{"cosine", cosine},
                                    {"linear", linear},
                                    {"polynomial", linear}}) {
    ScheduleConfig c;
    c.name = name, c.learning_rate = 1, c.warmup_steps = 3;
    if (c.name == "linear") c.start_factor = 1, c.end_factor = 0;
    c.fill(10);
    EXPECT_EQ(c.total, 7u);
    const Schedule schedule = Schedule::create(c).value();
    for (std::size_t step = 0; step < rates.size(); ++step)
      EXPECT_NEAR(schedule.rate(step), rates[step], 1e-15) << name << " " << step;
  }
  ScheduleConfig all;
  all.warmup_steps = 10;
  all.fill(10);
  EXPECT_EQ(all.total, 1u);
}

TEST(Schedule, every_step_of_every_schedule_is_a_finite_rate) {  // T-30
  for (const char* name : {"constant", "step", "multi_step", "exponential", "linear", "polynomial", "cosine",
                           "cosine_restarts", "one_cycle", "cyclic", "inverse_sqrt", "plateau"}) {
    ScheduleConfig c;
    c.name = name;
    for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 52}) {
      c.total = size;
      if (c.name == "step") c.size = size;
      if (c.name == "cosine_restarts") c.first_cycle = c.cycle_mult = size;
      if (c.name == "cyclic") c.up = c.down = size;
      if (c.name == "inverse_sqrt") c.warmup = size;
      for (const double pct : {0.0, 0.3, 1.0}) {
        if (c.name == "one_cycle") c.pct = pct;
        const Schedule schedule = Schedule::create(c).value();
        for (const std::uint64_t s :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 53, ~std::uint64_t{0}}) {
          const double rate = schedule.rate(s);
          EXPECT_TRUE(rate >= 0 && rate <= 1)
              << name << " size " << size << " pct " << pct << " step " << s << ": " << rate;
        }
      }
    }
  }
}

TEST(Schedule, powers_are_products_in_an_order_of_their_own) {  // T-25
  EXPECT_EQ(whole_power(0.9, 0), 1.0);
  EXPECT_EQ(whole_power(0.9, 1), 0.9);
  EXPECT_EQ(whole_power(0.9, 5), 0.9 * ((0.9 * 0.9) * (0.9 * 0.9)));
  EXPECT_EQ(whole_power(0.5, 485), 0x1p-485);
  EXPECT_EQ(whole_power(0.5, 486), 0.0);
  EXPECT_EQ(whole_power(0, 0), 1.0);
  double product = 1;
  for (int t = 0; t < 1000; ++t) product *= 0.999;
  EXPECT_NEAR(whole_power(0.999, 1000), product, 1e-13 * product);
}

// A setting that the schedule never reads is an error of the caller.
TEST(Schedule, settings_of_other_schedules_are_errors) {  // T-30
  const auto refused = [](const ScheduleConfig& config, const char* message) {
    const auto made = Schedule::create(config);
    ASSERT_FALSE(made) << message;
    EXPECT_EQ(made.error().code, Code::InvalidConfig);
    EXPECT_EQ(made.error().message, message);
  };
  refused({.name = "cosine", .size = 2}, "schedule cosine has no size");
  refused({.name = "step", .milestones = {2}}, "schedule step has no milestones");
  refused({.gamma = 0.5}, "schedule constant has no gamma");
  refused({.name = "cyclic", .gamma = 0.5}, "schedule cyclic has no gamma but in cyclic_mode exp_range");
  refused({.name = "polynomial", .start_factor = 0.5}, "schedule polynomial has no start_factor");
  refused({.name = "step", .end_factor = 0.5}, "schedule step has no end_factor");
  refused({.name = "linear", .power = 2}, "schedule linear has no power");
  refused({.name = "cosine", .end = 0.1}, "schedule cosine has no end");
  refused({.name = "polynomial", .min = 0.1}, "schedule polynomial has no min");
  refused({.name = "cosine", .first_cycle = 2}, "schedule cosine has no first_cycle");
  refused({.name = "cosine", .cycle_mult = 2}, "schedule cosine has no cycle_mult");
  refused({.name = "cosine", .max = 0.2}, "schedule cosine has no max");
  refused({.name = "one_cycle", .base = 0.1}, "schedule one_cycle has no base");
  refused({.name = "cyclic", .pct = 0.5}, "schedule cyclic has no pct");
  refused({.name = "cyclic", .div = 2}, "schedule cyclic has no div");
  refused({.name = "cyclic", .final_div = 2}, "schedule cyclic has no final_div");
  refused({.name = "one_cycle", .up = 2}, "schedule one_cycle has no up");
  refused({.name = "one_cycle", .down = 2}, "schedule one_cycle has no down");
  refused({.name = "one_cycle", .cyclic_mode = "exp_range"}, "schedule one_cycle has no cyclic_mode");
  refused({.name = "cosine", .warmup = 2}, "schedule cosine has no warmup");
  refused({.name = "step", .factor = 0.5}, "schedule step has no factor");
  refused({.name = "step", .threshold = 0.5}, "schedule step has no threshold");
  refused({.name = "step", .patience = 2}, "schedule step has no patience");
  refused({.name = "step", .cooldown = 2}, "schedule step has no cooldown");
  refused({.name = "step", .higher_is_better = true}, "schedule step has no higher_is_better");
  refused({.name = "step", .warmup_shape = "cosine"},
          "schedule step: warmup_shape and warmup_factor ask for warmup_steps");
  refused({.name = "step", .warmup_factor = 0.5}, "schedule step: warmup_shape and warmup_factor ask for warmup_steps");
  for (const char* name : {"cosine", "cosine_restarts", "plateau"})
    EXPECT_TRUE(Schedule::create({.name = name, .min = 1e-3})) << name;
  for (const char* name : {"step", "multi_step", "exponential"})
    EXPECT_TRUE(Schedule::create({.name = name, .gamma = 0.5})) << name;
  for (const char* name : {"linear", "polynomial", "cosine", "one_cycle"})
    EXPECT_TRUE(Schedule::create({.name = name})->has_total()) << name;
  for (const char* name : {"constant", "step", "cosine_restarts", "cyclic", "plateau"})
    EXPECT_FALSE(Schedule::create({.name = name})->has_total()) << name;
}

TEST(Schedule, hostile_settings_are_errors) {  // T-30
  ScheduleConfig c;
  c.name = "cosin";
  auto made = Schedule::create(c);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::UnknownName);
  EXPECT_NE(made.error().text().find("cosine"), std::string::npos) << made.error().text();
  const auto refused = [](auto&& change) {
    ScheduleConfig bad;
    change(bad);
    const auto result = Schedule::create(bad);
    return !result && (result.error().code == Code::InvalidConfig || result.error().code == Code::UnknownName);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(refused([](auto& b) { b.size = 0; }));
  EXPECT_TRUE(refused([](auto& b) { b.total = 0; }));
  EXPECT_TRUE(refused([](auto& b) { b.up = 0; }));
  EXPECT_TRUE(refused([](auto& b) { b.cycle_mult = 0; }));
  EXPECT_TRUE(refused([](auto& b) { b.warmup_steps = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([&](auto& b) { b.learning_rate = nan; }));
  EXPECT_TRUE(refused([&](auto& b) { b.max = infinity; }));
  EXPECT_TRUE(refused([](auto& b) { b.learning_rate = -1; }));
  EXPECT_TRUE(refused([](auto& b) { b.gamma = 1.5; }));
  EXPECT_TRUE(refused([](auto& b) { b.div = 0; }));
  EXPECT_TRUE(refused([](auto& b) { b.milestones = {5, 3}; }));
  EXPECT_TRUE(refused([](auto& b) { b.cyclic_mode = "square"; }));
  EXPECT_TRUE(refused([](auto& b) { b.warmup_shape = ""; }));
  Schedule plateau = Schedule::create({.name = "plateau"}).value();
  EXPECT_FALSE(plateau.restore({.rate = nan}));
}

}  // namespace
}  // namespace loom::schedule_test
