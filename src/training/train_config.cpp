#include "training/train_config.h"

#include <array>

#include "core/config_reader.h"
#include "core/config_writer.h"
#include "learning/names.h"
#include "training/config_fields.h"
#include "training/data_config.h"

namespace loom {
namespace {

// As Schedule::create() takes it, said at the key.
constexpr NumberRange kRates{0, 1e12};

void train_optimizer_fields(ConfigVisitor& visit, TrainerConfig& trainer) {
  OptimizerConfig& o = trainer.optimizer;
  visit({"name", "One of those"}, o.name);
  std::optional<double> rate;
  visit({"learning_rate", "In place of the top one"}, rate, kRates);
  trainer.schedule.learning_rate = rate.value_or(trainer.schedule.learning_rate);
  const bool is_lbfgs = folded_name(o.name) == "lbfgs";
  if (!is_lbfgs || visit.describes()) optimizer_fields(visit, o);
  if (!is_lbfgs && !visit.describes()) return;
  std::size_t history = 10;
  visit({"history", "lbfgs: pairs that are kept. It refuses `clip_norm`, `clip_value` and mixed f16"}, history,
        {1, 1000});
  trainer.lbfgs_history = history;
  o.name = "sgd";
}

void train_schedule_fields(ConfigVisitor& visit, TrainConfig& c) {
  ScheduleConfig& s = c.trainer.schedule;
  visit({"name", "One of those"}, s.name);
  visit.choice({"unit", "The unit that is counted: step or epoch. constant and plateau count in `warmup_steps` alone"},
               c.trainer.schedule_by_epoch, {"step", "epoch"}, Code::InvalidConfig);
  visit({"size", "step: steps from one fall to the next"}, s.size, kAnySize);
  std::optional<std::int64_t> total;
  visit({"total",
         "Length of linear, polynomial, cosine, one_cycle, counted from the end of a warm-up. Without it: what the "
         "warm-up leaves of the run"},
        total);
  c.schedule_total_given = total.has_value();
  if (total) s.total = static_cast<std::uint64_t>(*total);
  schedule_fields(visit, s);
}

constexpr std::array<std::string_view, 6> kComputeModes = {"cpu", "cpu_tiled", "cpu_parallel",
                                                           "gpu", "gpu_tiled", "gpu_parallel"};

// A name, or its number as Loom 0.8x wrote it.
Result<ComputeMode> compute_mode(const Json& given) {
  if (const std::string* text = as_string(given)) {
    LOOM_TRY(const std::size_t index, find_name("mode", *text, kComputeModes));
    return static_cast<ComputeMode>(index);
  }
  const std::optional<double> number = as_number(given);
  for (std::size_t id = 0; id < kComputeModes.size(); ++id)
    if (number == static_cast<double>(id)) return static_cast<ComputeMode>(id);
  return fail(Code::InvalidConfig, "{}", expected("a name, as \"cpu\", or a number from 0 to 5", given));
}

void early_stop_fields(ConfigVisitor& visit, EarlyStop& stop) {
  enum class Mode : std::uint8_t { ByMetric, Min, Max } mode = Mode::ByMetric;
  Metric metric = Metric::Loss;
  visit.choice({"metric",
                "A metric of the validation samples: loss; for classes accuracy, top_5 (with more than five); for "
                "values mae, r2 (each output "
                "about its own mean, all together: scikit-learn's variance_weighted)"},
               metric, kMetrics);
  visit({"patience", "Validations without a better value"}, stop.patience, kAnySize);
  visit({"min_delta", "The least change that counts as better"}, stop.min_delta);
  visit.choice({"mode", "min or max; empty: by the metric"}, mode, {"", "min", "max"}, Code::InvalidConfig);
  visit({"restore_best", "End with the weights of the best validation"}, stop.restore_best);
  stop.metric = metric;
  stop.higher_is_better = mode == Mode::ByMetric ? is_better_higher(metric) : mode == Mode::Max;
}

// "" for their own type, then the types that matrices may be trained in.
std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names = {""};
  for (std::size_t i = 0; i < kNumTypes; ++i) names.push_back(loom::name(static_cast<DType>(i)));
  return names;
}

void size_fields(ConfigVisitor& visit, TrainConfig& c) {
  TrainerConfig& t = c.trainer;
  visit({"seed", "Seed of shuffling, splitting and augmenting. Weights and dropout have the network's own `seed`"},
        c.seed, kAnySize);
  visit({"epochs", "Passes over the training samples"}, c.epochs, {1, 1'000'000});
  visit({"batch_size", "Samples of a batch"}, c.batch_size, {1, 1 << 24});
  visit({"accumulate", "Batches whose gradients make one step. Not with `tween`"}, c.accumulate, {1, 1 << 16});
  visit({"micro_batch",
         "Samples that run at once; 0: the whole batch. Less memory; same bits for multiples of 16. Not with `tween`"},
        t.micro_batch, {0, 1 << 24});
  visit({"shards", "Parts of a batch whose gradients are added as a binary tree. Part of the result. Not with `tween`"},
        t.shards, {1, 4096});
  visit({"workers", "Sessions side by side that compute the shards. Same bits. Not with `tween`"}, t.workers, {1, 256});
  visit({"checkpoint_every",
         "Cells of a segment that backward computes again, for less memory; 0: off. Same bits. Not with `tween`"},
        t.session.checkpoint_every, {0, 1 << 24});
  visit(
      {"tbptt_steps", "Steps of a sequence after which gradients stop; 0: they go through all of it. Not with `tween`"},
      t.tbptt_steps, {0, 1 << 24});
}

// Keys whose values other code reads.
struct GivenJson {
  Json mode, tween, clamp = "auto";
};

void train_fields(ConfigVisitor& visit, TrainConfig& c, GivenJson& given) {
  TrainerConfig& t = c.trainer;
  visit.json({"network", "Required. Path of a network, or its spec"}, c.network);
  visit.json({"data", "Required. Where samples come from, below"}, c.data);
  visit.json({"mode",
              "Default `cpu_parallel`. cpu and cpu_tiled run on one thread, cpu_parallel on as many as are given: the "
              "same bits. gpu, gpu_tiled, gpu_parallel take the first graphics card, with the same bits, where the "
              "command names no other device. Or their numbers, 0 to 5"},
             given.mode);
  visit(
      {"cpu_fallback",
       "A mode of a GPU trains on the CPU, and says so, where there is no card or it does not do. Else it is refused"},
      c.cpu_fallback);
  size_fields(visit, c);
  visit.json(
      {"tween", "Learn by targets instead of gradients: an object with the options of tween.md, `{}` for its defaults"},
      given.tween);
  visit({"shuffle", "A new order every epoch, from the seed"}, c.shuffle);
  visit({"drop_last", "Leave out a last batch that is short"}, c.drop_last);
  visit({"learning_rate", "Unless the optimiser names its own"}, t.schedule.learning_rate, kRates);
  visit.object(
      {"loss", "A name, or an object. Default `mse`"}, [&](ConfigVisitor& inner) { loss_fields(inner, t.loss); },
      "name");
  visit.object(
      {"optimizer", "A name, or an object. Default `sgd`. With `tween` only the modes mirror and dtp have another"},
      [&](ConfigVisitor& inner) { train_optimizer_fields(inner, t); }, "name");
  t.schedule.max = t.schedule.learning_rate;
  visit.object(
      {"schedule", "A name, or an object. Default `constant`"},
      [&](ConfigVisitor& inner) { train_schedule_fields(inner, c); }, "name");
  visit({"clip_norm", "Most that the norm of all gradients may be; 0: off. Not with `tween`"}, t.clip_norm,
        kNotNegative);
  visit({"clip_value", "Most that a gradient's element may be, after `clip_norm`; 0: off. Not with `tween`"},
        t.clip_value, kNotNegative);
  visit({"max_skipped", "Batches in a row with a loss or gradient that is not finite, before training stops"},
        t.max_skipped, {1, 1'000'000});
  std::size_t dtype = 0;
  visit.choice({"dtype", "Train every matrix in this type (float64 to binary). The masters stay exact"}, dtype,
               dtype_names());
  if (dtype != 0) c.dtype = static_cast<DType>(dtype - 1);
  visit.json({"clamp_master",
              "Default `auto`: masters of binary and ternary matrices stay within ±1.5 times the largest entry they "
              "began with; `none`, or a "
              "limit as a number"},
             given.clamp);
  visit.choice(
      {"qat_scale",
       "Scales of quantised types are estimated again after every update; `\"frozen\"`: they stay as training began"},
      t.frozen_scales, {"dynamic", "frozen"});
  visit.choice({"mixed", "Rounding between layers: none, bf16, f16, fp8. Not with `tween`"}, t.session.mixed,
               {"none", "bf16|bfloat16", "f16|float16", "fp8"});
  visit({"commit_meta", "Between two steps metacognition layers get the changes of the network that they ask for"},
        t.commit_meta);
  visit(
      {"keep_dna", "`loom train` writes dna.jsonl: how far each cell turned in every epoch, for `loom dna --journal`"},
      c.keep_dna);
  visit.object({"early_stop", "An object; without it training runs to the end. Asks for validation samples"},
               [&](ConfigVisitor& inner) { early_stop_fields(inner, c.early_stop); });
  visit.object({"checkpoint", "An object"}, [&](ConfigVisitor& inner) {
    inner({"every_steps", "Checkpoints between those of the epochs; 0: none"}, c.checkpoint_steps, kAnySize);
  });
  visit.object({"journal", "An object"}, [&](ConfigVisitor& inner) {
    inner({"hash_every", "Steps from one hash of the weights to the next"}, c.hash_steps, kOneOrMore);
  });
}

// Checks what no key shows by itself: whether a loss, an optimiser and a schedule can be made of these settings, and
// whether keys go together.
Result<void> check(const TrainConfig& c) {
  const auto within = [](const char* key, Error error) { return under({key}, std::move(error)); };
  if (auto loss = Loss::create(c.trainer.loss); !loss) return within("loss", std::move(loss).error());
  if (auto optimizer = Optimizer::create(c.trainer.optimizer); !optimizer)
    return within("optimizer", std::move(optimizer).error());
  if (const auto total = static_cast<std::int64_t>(c.trainer.schedule.total); c.schedule_total_given && total < 1)
    return fail_at({"schedule", "total"}, Code::InvalidConfig, "expected an integer of at least 1, got {}", total);
  const auto schedule = Schedule::create(c.trainer.schedule);
  if (!schedule) return within("schedule", schedule.error());
  if (c.schedule_total_given && !schedule->has_total())
    return fail_at({"schedule", "total"}, Code::InvalidConfig, "schedule {} has no total", c.trainer.schedule.name);
  if (c.trainer.schedule_by_epoch && !schedule->counts())
    return fail_at({"schedule", "unit"}, Code::InvalidConfig, "schedule {} has no unit but with warmup_steps",
                   c.trainer.schedule.name);
  return {};
}

// Checks the settings of a whole training beside those of its steps.
Result<void> check_run(const TrainConfig& c) {
  if (c.held.network && !c.network.is_null())
    return fail_at({"network"}, Code::InvalidConfig, "given beside a network in memory");
  if (!c.held.network && !c.network.is_object() && !c.network.is_string())
    return fail_at({"network"}, Code::InvalidConfig, "{}",
                   expected("the path of a network, or its spec as an object", c.network));
  if (c.held.samples && !c.data.is_object())
    return fail_at({"data"}, Code::InvalidConfig, "{}", expected("an object without format and paths", c.data));
  if (!c.data.is_object())
    return fail_at({"data"}, Code::InvalidConfig, "{}", expected("an object with a format and paths", c.data));
  return {};
}

Result<TrainConfig> read_config_of_steps(const Json& json, const std::string& folder, HeldInMemory held) {
  TrainConfig c;
  c.json = json, c.folder = folder, c.held = held;
  if (held.samples) c.data = Json::object();
  GivenJson given;
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& visit) { train_fields(visit, c, given); }));
  if (!given.mode.is_null()) {
    auto mode = compute_mode(given.mode);
    if (!mode) return under({"mode"}, std::move(mode).error());
    c.mode = *mode;
  }
  LOOM_TRY_VOID(check(c));
  auto limit = master_clamp_from_json(given.clamp);
  if (!limit) return under({"clamp_master"}, std::move(limit).error());
  c.trainer.clamp_master = *limit;
  if (!given.tween.is_null()) {
    auto read = tween_config_from_json(given.tween);
    if (!read) return under({"tween"}, std::move(read).error());
    c.trainer.tween = std::move(*read);
  }
  return c;
}

// Keys that mean nothing to somebody who gives the batches himself.
constexpr std::array<std::string_view, 14> kRunKeys = {
    "network",    "data",       "epochs",  "batch_size", "accumulate", "shuffle",      "drop_last",
    "early_stop", "checkpoint", "journal", "keep_dna",   "mode",       "cpu_fallback", "seed"};

}  // namespace

Result<TrainConfig> parse_train_config(std::string_view text, const std::string& folder, HeldInMemory held) {
  LOOM_TRY(const Json json, parse_json(text));
  return read_train_config(json, folder, held);
}

Result<TrainConfig> read_train_config(const Json& json, const std::string& folder, HeldInMemory held) {
  LOOM_TRY(TrainConfig c, read_config_of_steps(json, folder, held));
  LOOM_TRY_VOID(check_run(c));
  return c;
}

Result<TrainConfig> read_step_config(const Json& json) {
  for (const std::string_view key : kRunKeys)
    if (find(json, key) != nullptr)
      return fail_at({std::string(key)}, Code::UnknownKey, "this key belongs to a whole training, not to its steps");
  LOOM_TRY(TrainConfig c, read_config_of_steps(json, "", {}));
  LOOM_TRY(const Schedule schedule, Schedule::create(c.trainer.schedule));
  if (schedule.has_total() && !c.schedule_total_given)
    return fail_at({"schedule", "total"}, Code::InvalidConfig, "schedule {} needs its total in steps",
                   c.trainer.schedule.name);
  return c;
}

Json train_schema() {
  TrainConfig c;
  GivenJson given;
  Json schema =
      file_schema("Loom training", {"network", "data"}, [&](ConfigVisitor& visit) { train_fields(visit, c, given); });
  schema["properties"]["data"].update(data_schema());
  return schema;
}

}  // namespace loom
