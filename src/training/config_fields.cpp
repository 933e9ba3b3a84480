#include "training/config_fields.h"

namespace loom {

void loss_fields(ConfigVisitor& visit, LossConfig& loss) {
  visit.choice({"name", "One of those"}, loss.kind, kLossNames);
  visit({"delta", "huber: where the parabola ends"}, loss.delta);
  visit({"label_smoothing", "softmax_crossentropy: 0 to 1"}, loss.label_smoothing);
  visit({"ignore_index",
         "softmax_crossentropy of classes: rows of this label do not count. A class, or a label outside of them, as "
         "-100"},
        loss.ignore_index);
  visit({"class_weights", "softmax_crossentropy: one per class"}, loss.class_weights);
  visit({"heads", "multi_head_softmax_ce: outputs of each head"}, loss.heads, kAnySize);
  visit({"temperature", "contrastive"}, loss.temperature);
}

void optimizer_fields(ConfigVisitor& visit, OptimizerConfig& o) {
  visit({"momentum", "sgd, rmsprop"}, o.momentum);
  visit({"dampening", "sgd"}, o.dampening);
  visit({"nesterov", "sgd with momentum"}, o.nesterov);
  visit({"beta1", "adam, adamw, lion: 0.9"}, o.beta1);
  visit({"beta2", "adam, adamw: 0.999; lion: 0.99"}, o.beta2);
  visit({"alpha", "rmsprop: 0.99"}, o.alpha);
  visit({"eps", "1e-8; adagrad: 1e-10"}, o.eps);
  visit({"amsgrad", "adam, adamw"}, o.amsgrad);
  visit({"centered", "rmsprop"}, o.centered);
  visit({"weight_decay", "0; adamw: 0.01"}, o.weight_decay);
  visit({"decay_vectors", "With weight_decay: decay biases and gains too"}, o.decay_vectors);
}

void schedule_fields(ConfigVisitor& visit, ScheduleConfig& s) {
  visit({"milestones", "multi_step: where the rate falls"}, s.milestones, kAnySize);
  visit({"gamma", "step, multi_step, exponential, cyclic in exp_range: the factor"}, s.gamma);
  visit({"start_factor", "linear"}, s.start_factor);
  visit({"end_factor", "linear"}, s.end_factor);
  visit({"power", "polynomial"}, s.power);
  visit({"end", "polynomial: the last rate"}, s.end);
  visit({"min", "cosine, cosine_restarts: the last rate; plateau: the lowest"}, s.min);
  visit({"first_cycle", "cosine_restarts: steps of the first cycle"}, s.first_cycle, kAnySize);
  visit({"cycle_mult", "cosine_restarts: each cycle is this much longer"}, s.cycle_mult, kAnySize);
  std::optional<double> rate;  // what stands for the highest one
  if (constexpr Key max{"max", "one_cycle, cyclic: the highest rate. Without it: the learning rate"}; visit.describes())
    visit(max, rate);
  else
    visit(max, s.max);
  visit({"base", "cyclic: the lowest rate"}, s.base);
  visit({"pct", "one_cycle: share of the rise"}, s.pct);
  visit({"div", "one_cycle: the first rate is max / div"}, s.div);
  visit({"final_div", "one_cycle: the last rate is the first / final_div"}, s.final_div);
  visit({"up", "cyclic: steps of the rise"}, s.up, kAnySize);
  visit({"down", "cyclic: steps of the fall"}, s.down, kAnySize);
  visit({"cyclic_mode", "cyclic: triangular, triangular2, exp_range"}, s.cyclic_mode);
  visit({"warmup", "inverse_sqrt: steps until the highest rate"}, s.warmup, kAnySize);
  visit({"factor", "plateau: the factor of the rate"}, s.factor);
  visit({"threshold", "plateau: the least relative change that counts as better"}, s.threshold);
  visit({"patience", "plateau: epochs without a better value"}, s.patience, kAnySize);
  visit({"cooldown", "plateau: epochs of rest after a fall"}, s.cooldown, kAnySize);
  visit({"higher_is_better", "plateau"}, s.higher_is_better);
  visit({"warmup_steps", "Any schedule: steps of a rise in front"}, s.warmup_steps, kAnySize);
  visit({"warmup_shape", "With warmup_steps: linear, cosine"}, s.warmup_shape);
  visit({"warmup_factor", "With warmup_steps: where that rise begins, as a share"}, s.warmup_factor);
}

}  // namespace loom
