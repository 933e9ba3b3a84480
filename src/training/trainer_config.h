#pragma once
// Settings of a trainer.

#include <optional>

#include "learning/loss.h"
#include "learning/optimizer.h"
#include "learning/schedule.h"
#include "learning/tween/tween.h"

namespace loom {

struct TrainerConfig {
  LossConfig loss;
  OptimizerConfig optimizer;
  std::optional<std::size_t> lbfgs_history;  // L-BFGS over each batch in place of `optimizer`
  std::optional<TweenConfig> tween;          // targets in place of gradients; mirror and dtp use `optimizer`
  ScheduleConfig schedule;
  bool schedule_by_epoch = false;
  double clip_norm = 0, clip_value = 0;  // 0: off (T-40)
  // samples that run at once; 0: the whole batch. Multiples of 16 give its bits (T-41; but see trainer.h)
  std::size_t micro_batch = 0;
  // positions of a sequence [B, T, ...] that gradients travel back through (T-81); 0: all
  std::size_t tbptt_steps = 0;
  std::size_t shards = 1;  // of a batch; their gradients are added as a binary tree (numerics 2),
  // whatever the number of workers: sessions side by side, each with its share of the threads
  std::size_t workers = 1;
  MasterClamp clamp_master;       // of binary and ternary masters (D-36)
  bool frozen_scales = false;     // codes keep the scales that training began with (D-37)
  bool commit_meta = false;       // metacognition layers change the network between two steps (engine L-151)
  std::size_t max_skipped = 10;   // batches in a row that are not finite before training stops (T-04)
  NetworkSessionOptions session;  // `backward` and `input_gradient` are set by the trainer
};

}  // namespace loom
