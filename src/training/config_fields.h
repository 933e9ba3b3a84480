#pragma once
// The settings of losses, optimisers and schedules by their names in JSON.

#include "core/config_visitor.h"
#include "learning/loss.h"
#include "learning/optimizer.h"
#include "learning/schedule.h"

namespace loom {

void loss_fields(ConfigVisitor& visit, LossConfig& loss);
// All but the name.
void optimizer_fields(ConfigVisitor& visit, OptimizerConfig& optimizer);
// All but the name, the rate, the size of a step and the total.
void schedule_fields(ConfigVisitor& visit, ScheduleConfig& schedule);

}  // namespace loom
