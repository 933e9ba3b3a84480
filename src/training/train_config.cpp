#include "training/train_config.h"

#include <array>

#include "core/nearest.h"
#include "learning/names.h"
#include "training/config_fields.h"
#include "training/config_reader.h"

namespace loom {
namespace {

// A name alone, or an object with a name.
class Named {
 public:
  Named(const Json* value, std::string place) : text_(value == nullptr ? nullptr : as_string(*value)), read(text_ != nullptr ? nullptr : value, std::move(place)) {}
  void name(std::string& to) {
    read("name", to);
    if (text_ != nullptr) to = *text_;
  }

 private:
  const std::string* text_;

 public:
  ConfigReader read;
};

Result<LossConfig> read_loss(const Json* json) {
  LossConfig loss;
  Named named(json, "loss");
  named.name(loss.name);
  ConfigReader& read = named.read;
  read("delta", loss.delta);
  read("label_smoothing", loss.label_smoothing);
  read("ignore_index", loss.ignore_index);
  read("class_weights", loss.class_weights);
  read("heads", loss.heads);
  read("temperature", loss.temperature);
  LOOM_TRY_VOID(read.finish());
  LOOM_TRY_VOID(Loss::create(loss));
  return loss;
}

Result<void> read_optimizer(const Json* json, TrainerConfig& trainer) {
  OptimizerConfig& o = trainer.optimizer;
  Named named(json, "optimizer");
  named.name(o.name);
  ConfigReader& read = named.read;
  read("learning_rate", trainer.schedule.learning_rate);
  if (folded_name(o.name) == "lbfgs") {
    std::size_t history = 10;
    read("history", history, 1, 1000);
    trainer.lbfgs_history = history;
    o.name = "sgd";
    return read.finish();
  }
  optimizer_fields(read, o);
  LOOM_TRY_VOID(read.finish());
  LOOM_TRY_VOID(Optimizer::create(o));
  return {};
}

Result<void> read_schedule(const Json* json, TrainConfig& config) {
  ScheduleConfig& s = config.trainer.schedule;
  Named named(json, "schedule");
  named.name(s.name);
  ConfigReader& read = named.read;
  std::string unit = "step";
  read("unit", unit);
  read("size", s.size);
  config.schedule_total_given = read.member("total") != nullptr;
  read("total", s.total);
  s.max = s.learning_rate;
  schedule_fields(read, s);
  if (unit != "step" && unit != "epoch") read.fail("unit", "\"step\" or \"epoch\"");
  config.trainer.schedule_by_epoch = unit == "epoch";
  LOOM_TRY_VOID(read.finish());
  LOOM_TRY(const Schedule schedule, Schedule::create(s));
  if (config.schedule_total_given && !schedule.has_total()) return fail(Code::InvalidConfig, "schedule {} has no total", s.name);
  if (config.trainer.schedule_by_epoch && !schedule.counts())
    return fail(Code::InvalidConfig, "schedule {} has no unit but with warmup_steps", s.name);
  return {};
}

Result<EarlyStop> read_early_stop(const Json* json) {
  EarlyStop stop;
  if (json == nullptr) return stop;
  stop.metric = "loss";
  ConfigReader read(json, "early_stop");
  std::string mode;
  read("metric", stop.metric);
  read("patience", stop.patience);
  read("min_delta", stop.min_delta);
  read("mode", mode);
  read("restore_best", stop.restore_best);
  constexpr std::array<std::string_view, 5> kMetrics = {"loss", "accuracy", "top_5", "mae", "r2"};
  LOOM_TRY(const std::size_t metric, find_name("early_stop.metric", stop.metric, kMetrics));
  stop.metric = kMetrics[metric];
  stop.higher_is_better = mode.empty() ? stop.metric != "loss" && stop.metric != "mae" : mode == "max";
  if (!mode.empty() && mode != "max" && mode != "min") read.fail("mode", "\"min\" or \"max\"");
  LOOM_TRY_VOID(read.finish());
  return stop;
}

Result<DType> type_named(const std::string& name) {
  for (std::size_t i = 0; i < kNumTypes; ++i)
    if (loom::name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < kNumTypes; ++i) known.push_back(loom::name(static_cast<DType>(i)));
  LOOM_TRY(const std::size_t found, find_name("dtype", name, known));
  return static_cast<DType>(found);
}

}  // namespace

Result<TrainConfig> parse_train_config(std::string_view text, const std::string& folder) {
  LOOM_TRY(const Json json, parse_json(text));
  return read_train_config(json, folder);
}

Result<TrainConfig> read_train_config(const Json& json, const std::string& folder) {
  TrainConfig c;
  c.json = json, c.folder = folder;
  ConfigReader read(&json, "");
  const Json* network = read.member("network");
  const Json* data = read.member("data");
  std::string dtype, mixed = "none", qat_scale = "dynamic";
  read("seed", c.seed);
  read("epochs", c.epochs, 1, 1'000'000);
  read("batch_size", c.batch_size, 1, 1 << 24);
  read("accumulate", c.accumulate, 1, 1 << 16);
  read("micro_batch", c.trainer.micro_batch, 0, 1 << 24);
  read("tbptt_steps", c.trainer.tbptt_steps, 0, 1 << 24);
  read("checkpoint_every", c.trainer.session.checkpoint_every, 0, 1 << 24);
  read("shards", c.trainer.shards, 1, 4096);
  read("workers", c.trainer.workers, 1, 256);
  read("shuffle", c.shuffle);
  read("drop_last", c.drop_last);
  read("clip_norm", c.trainer.clip_norm);
  read("clip_value", c.trainer.clip_value);
  read("max_skipped", c.trainer.max_skipped, 1, 1'000'000);
  const Json* clamp = read.member("clamp_master", "auto");
  read("qat_scale", qat_scale);
  read("dtype", dtype);
  read("mixed", mixed);
  read("keep_dna", c.keep_dna);
  const Json* checkpoint = read.member("checkpoint");
  const Json* journal = read.member("journal");
  c.trainer.schedule.learning_rate = 0.01;
  read("learning_rate", c.trainer.schedule.learning_rate);
  const Json* loss = read.member("loss");
  const Json* optimizer = read.member("optimizer");
  const Json* schedule = read.member("schedule");
  const Json* tween = read.member("tween");
  const Json* early_stop = read.member("early_stop");
  LOOM_TRY_VOID(read.finish());
  if (network == nullptr || (!network->is_object() && !network->is_string()))
    return fail(Code::InvalidConfig, "network: the path of a network, or its spec as an object, expected");
  if (data == nullptr || !data->is_object()) return fail(Code::InvalidConfig, "data: an object with a format and paths expected");
  c.network = *network, c.data = *data;
  for (const double limit : {c.trainer.clip_norm, c.trainer.clip_value})
    if (!(limit >= 0)) return fail(Code::InvalidConfig, "clip_norm, clip_value: {} given, 0 or more expected", limit);
  if (!dtype.empty()) {
    LOOM_TRY(c.dtype, type_named(dtype));
  }
  constexpr std::array<std::string_view, 4> kMixed = {"none", "bf16|bfloat16", "f16|float16", "fp8"};
  LOOM_TRY(const std::size_t rounding, find_name("mixed", mixed, kMixed));
  c.trainer.session.mixed = static_cast<Mixed>(rounding);
  constexpr std::array<std::string_view, 2> kScales = {"dynamic", "frozen"};
  LOOM_TRY(const std::size_t scales, find_name("qat_scale", qat_scale, kScales));
  c.trainer.frozen_scales = scales == 1;
  if (clamp != nullptr) {
    LOOM_TRY(c.trainer.clamp_master, master_clamp_from_json(*clamp));
  }
  LOOM_TRY(c.trainer.loss, read_loss(loss));
  LOOM_TRY_VOID(read_optimizer(optimizer, c.trainer));
  LOOM_TRY_VOID(read_schedule(schedule, c));
  if (tween != nullptr) {
    LOOM_TRY(c.trainer.tween, tween_config_from_json(*tween));
  }
  LOOM_TRY(c.early_stop, read_early_stop(early_stop));
  ConfigReader checkpoints(checkpoint, "checkpoint");
  checkpoints("every_steps", c.checkpoint_steps);
  LOOM_TRY_VOID(checkpoints.finish());
  ConfigReader journals(journal, "journal");
  journals("hash_every", c.hash_steps, 1);
  LOOM_TRY_VOID(journals.finish());
  return c;
}

}  // namespace loom
