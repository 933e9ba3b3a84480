#pragma once
// The settings of optimisers and schedules by their names in JSON, for readers (ConfigReader) and writers (ConfigWriter).

#include "core/json.h"
#include "learning/optimizer.h"
#include "learning/schedule.h"

namespace loom {

// Members into a JSON object; what has no value is left out.
class ConfigWriter {
 public:
  template <class T>
  void operator()(const char* key, const T& value) {
    json[key] = value;
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) json[key] = *value;
  }
  Json json = Json::object();
};

// All but the name.
template <class Visit>
void optimizer_fields(Visit& visit, OptimizerConfig& o) {
  visit("momentum", o.momentum);
  visit("dampening", o.dampening);
  visit("nesterov", o.nesterov);
  visit("beta1", o.beta1);
  visit("beta2", o.beta2);
  visit("alpha", o.alpha);
  visit("eps", o.eps);
  visit("amsgrad", o.amsgrad);
  visit("centered", o.centered);
  visit("weight_decay", o.weight_decay);
  visit("decay_vectors", o.decay_vectors);
}

// All but the name, the rate, the size of a step and the total.
template <class Visit>
void schedule_fields(Visit& visit, ScheduleConfig& s) {
  visit("milestones", s.milestones);
  visit("gamma", s.gamma);
  visit("start_factor", s.start_factor);
  visit("end_factor", s.end_factor);
  visit("power", s.power);
  visit("end", s.end);
  visit("min", s.min);
  visit("first_cycle", s.first_cycle);
  visit("cycle_mult", s.cycle_mult);
  visit("max", s.max);
  visit("base", s.base);
  visit("pct", s.pct);
  visit("div", s.div);
  visit("final_div", s.final_div);
  visit("up", s.up);
  visit("down", s.down);
  visit("cyclic_mode", s.cyclic_mode);
  visit("warmup", s.warmup);
  visit("factor", s.factor);
  visit("threshold", s.threshold);
  visit("patience", s.patience);
  visit("cooldown", s.cooldown);
  visit("higher_is_better", s.higher_is_better);
  visit("warmup_steps", s.warmup_steps);
  visit("warmup_shape", s.warmup_shape);
  visit("warmup_factor", s.warmup_factor);
}

}  // namespace loom
