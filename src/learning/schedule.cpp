#include "learning/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "learning/names.h"
#include "simd/math64.h"

namespace loom {
namespace {

// The names stand in the order of Schedule::Kind.
constexpr std::array<std::string_view, 12> kSchedules = {"constant",
                                                         "step",
                                                         "multi_step",
                                                         "exponential",
                                                         "linear",
                                                         "polynomial",
                                                         "cosine|cosine_annealing",
                                                         "cosine_restarts|cosine_annealing_warm_restarts",
                                                         "one_cycle",
                                                         "cyclic",
                                                         "inverse_sqrt",
                                                         "plateau|reduce_on_plateau"};
constexpr std::array<std::string_view, 3> kCyclicModes = {"triangular", "triangular2", "exp_range"};
constexpr std::array<std::string_view, 2> kWarmupShapes = {"linear", "cosine"};

// Steps and rates beyond these are mistakes; they keep every product below finite and every count exact in f64.
constexpr double kMostSteps = 0x1p52, kHighestRate = 1e12;

double number(std::uint64_t n) { return static_cast<double>(n); }

// Goes along half a cosine from `from` at x = 0 to `to` at x = 1.
double cosine_between(double from, double to, double x) {
  constexpr double kPi = 3.141592653589793;
  return to + (from - to) * (1 + cos64(kPi * x)) / 2;
}

}  // namespace

Result<Schedule> Schedule::create(const ScheduleConfig& config) {
  Schedule s;
  s.config_ = config;
  LOOM_TRY(const std::size_t kind, find_name("schedule", config.name, kSchedules));
  s.kind_ = static_cast<Kind>(kind);
  LOOM_TRY(const std::size_t mode, find_name("cyclic_mode", config.cyclic_mode, kCyclicModes));
  s.mode_ = static_cast<Mode>(mode);
  LOOM_TRY(const std::size_t shape, find_name("warmup_shape", config.warmup_shape, kWarmupShapes));
  s.cosine_warmup_ = shape == 1;
  LOOM_TRY_VOID(s.check());
  s.plateau_.rate = config.learning_rate;
  return s;
}

Result<void> Schedule::check() const {
  const ScheduleConfig& c = config_;
  const std::string where = "schedule " + config_.name;
  const auto rate = [&](std::string_view key, double value) { return check_range(where, key, value, 0, kHighestRate); };
  const auto steps = [&](std::string_view key, std::uint64_t value) {
    return check_range(where, key, number(value), 1, kMostSteps);
  };
  LOOM_TRY_VOID(rate("learning_rate", c.learning_rate));
  LOOM_TRY_VOID(check_range(where, "warmup_steps", number(c.warmup_steps), 0, kMostSteps));
  LOOM_TRY_VOID(check_range(where, "warmup_factor", c.warmup_factor, 0, 1));
  LOOM_TRY_VOID(check_range(where, "gamma", c.gamma, 0, 1));
  LOOM_TRY_VOID(rate("min", c.min));
  LOOM_TRY_VOID(rate("end", c.end));
  LOOM_TRY_VOID(rate("max", c.max));
  LOOM_TRY_VOID(rate("base", c.base));
  LOOM_TRY_VOID(steps("size", c.size));
  LOOM_TRY_VOID(steps("total", c.total));
  LOOM_TRY_VOID(steps("first_cycle", c.first_cycle));
  LOOM_TRY_VOID(steps("cycle_mult", c.cycle_mult));
  LOOM_TRY_VOID(steps("up", c.up));
  LOOM_TRY_VOID(steps("down", c.down));
  LOOM_TRY_VOID(steps("warmup", c.warmup));
  LOOM_TRY_VOID(check_range(where, "start_factor", c.start_factor, 0, kHighestRate));
  LOOM_TRY_VOID(check_range(where, "end_factor", c.end_factor, 0, kHighestRate));
  LOOM_TRY_VOID(check_range(where, "power", c.power, 0, 1e3));
  LOOM_TRY_VOID(check_range(where, "pct", c.pct, 0, 1));
  LOOM_TRY_VOID(check_range(where, "div", c.div, 1e-12, kHighestRate));
  LOOM_TRY_VOID(check_range(where, "final_div", c.final_div, 1e-12, kHighestRate));
  LOOM_TRY_VOID(check_range(where, "factor", c.factor, 0, 1));
  LOOM_TRY_VOID(check_range(where, "threshold", c.threshold, 0, 1));
  LOOM_TRY_VOID(check_read());
  if (!std::ranges::is_sorted(c.milestones))
    return fail(Code::InvalidConfig, "{}: milestones are not ascending", where);
  return {};
}

// Whatever differs from the standard is read.
Result<void> Schedule::check_read() const {
  const ScheduleConfig &c = config_, standard;
  const auto of = [&](std::initializer_list<Kind> kinds, std::string_view key, const auto& value,
                      const auto& usual) -> Result<void> {
    if (value != usual && !is(kinds))
      return fail_at({std::string(key)}, Code::InvalidConfig, "schedule {} has no {}", c.name, key);
    return {};
  };
  LOOM_TRY_VOID(of({Kind::Step}, "size", c.size, standard.size));
  LOOM_TRY_VOID(of({Kind::MultiStep}, "milestones", c.milestones, standard.milestones));
  LOOM_TRY_VOID(of({Kind::Step, Kind::MultiStep, Kind::Exponential, Kind::Cyclic}, "gamma", c.gamma, standard.gamma));
  LOOM_TRY_VOID(of({Kind::Linear}, "start_factor", c.start_factor, standard.start_factor));
  LOOM_TRY_VOID(of({Kind::Linear}, "end_factor", c.end_factor, standard.end_factor));
  LOOM_TRY_VOID(of({Kind::Polynomial}, "power", c.power, standard.power));
  LOOM_TRY_VOID(of({Kind::Polynomial}, "end", c.end, standard.end));
  LOOM_TRY_VOID(of({Kind::Cosine, Kind::CosineRestarts, Kind::Plateau}, "min", c.min, standard.min));
  LOOM_TRY_VOID(of({Kind::CosineRestarts}, "first_cycle", c.first_cycle, standard.first_cycle));
  LOOM_TRY_VOID(of({Kind::CosineRestarts}, "cycle_mult", c.cycle_mult, standard.cycle_mult));
  // read_schedule sets it to the rate
  if (c.max != c.learning_rate) LOOM_TRY_VOID(of({Kind::OneCycle, Kind::Cyclic}, "max", c.max, standard.max));
  LOOM_TRY_VOID(of({Kind::Cyclic}, "base", c.base, standard.base));
  LOOM_TRY_VOID(of({Kind::OneCycle}, "pct", c.pct, standard.pct));
  LOOM_TRY_VOID(of({Kind::OneCycle}, "div", c.div, standard.div));
  LOOM_TRY_VOID(of({Kind::OneCycle}, "final_div", c.final_div, standard.final_div));
  LOOM_TRY_VOID(of({Kind::Cyclic}, "up", c.up, standard.up));
  LOOM_TRY_VOID(of({Kind::Cyclic}, "down", c.down, standard.down));
  LOOM_TRY_VOID(of({Kind::Cyclic}, "cyclic_mode", c.cyclic_mode, standard.cyclic_mode));
  LOOM_TRY_VOID(of({Kind::InverseSqrt}, "warmup", c.warmup, standard.warmup));
  LOOM_TRY_VOID(of({Kind::Plateau}, "factor", c.factor, standard.factor));
  LOOM_TRY_VOID(of({Kind::Plateau}, "threshold", c.threshold, standard.threshold));
  LOOM_TRY_VOID(of({Kind::Plateau}, "patience", c.patience, standard.patience));
  LOOM_TRY_VOID(of({Kind::Plateau}, "cooldown", c.cooldown, standard.cooldown));
  LOOM_TRY_VOID(of({Kind::Plateau}, "higher_is_better", c.higher_is_better, standard.higher_is_better));
  if (kind_ == Kind::Cyclic && mode_ != Mode::ExpRange && c.gamma != standard.gamma)
    return fail_at({"gamma"}, Code::InvalidConfig, "schedule {} has no gamma but in cyclic_mode exp_range", c.name);
  if (c.warmup_steps == 0 && (c.warmup_shape != standard.warmup_shape || c.warmup_factor != standard.warmup_factor))
    return fail(Code::InvalidConfig, "schedule {}: warmup_shape and warmup_factor ask for warmup_steps", c.name);
  return {};
}

double Schedule::rate(std::uint64_t step) const {
  const std::uint64_t warm = config_.warmup_steps;
  if (step >= warm) return wrapped(step - warm);
  const double first = wrapped(0), x = number(step) / number(warm);
  return cosine_warmup_ ? cosine_between(first * config_.warmup_factor, first, x)
                        : first * (config_.warmup_factor + (1 - config_.warmup_factor) * x);
}

double Schedule::wrapped(std::uint64_t s) const {
  const ScheduleConfig& c = config_;
  const double lr = c.learning_rate, part = number(std::min(s, c.total)) / number(c.total);
  switch (kind_) {
    case Kind::Constant: return lr;
    case Kind::Step: return lr * whole_power(c.gamma, s / c.size);
    case Kind::MultiStep:
      return lr * whole_power(c.gamma, static_cast<std::uint64_t>(std::ranges::upper_bound(c.milestones, s) -
                                                                  c.milestones.begin()));
    case Kind::Exponential: return lr * whole_power(c.gamma, s);
    case Kind::Linear: return lr * (c.start_factor + (c.end_factor - c.start_factor) * part);
    case Kind::Polynomial: return c.end + (lr - c.end) * pow64(1 - part, c.power);
    case Kind::Cosine: return cosine_between(lr, c.min, part);
    case Kind::CosineRestarts: return restarts(s);
    case Kind::OneCycle: return one_cycle(s);
    case Kind::Cyclic: return cyclic(s);
    case Kind::InverseSqrt:
      return s < c.warmup ? lr * (number(s) / number(c.warmup)) : lr * std::sqrt(number(c.warmup) / number(s));
    case Kind::Plateau: return plateau_.rate;
  }
  return lr;
}

double Schedule::restarts(std::uint64_t s) const {
  std::uint64_t length = config_.first_cycle;
  if (config_.cycle_mult == 1) s %= length;
  // Lengths at least double, so this ends within 64 rounds; the last one may be cut by the range of s.
  while (s >= length) {
    s -= length;
    length = length > ~std::uint64_t{0} / config_.cycle_mult ? ~std::uint64_t{0} : length * config_.cycle_mult;
  }
  return cosine_between(config_.learning_rate, config_.min, number(s) / number(length));
}

double Schedule::one_cycle(std::uint64_t s) const {
  const double first = config_.max / config_.div, last = first / config_.final_div;
  const double end = number(config_.total) - 1, peak = config_.pct * number(config_.total) - 1, at = number(s);
  if (at >= end) return last;
  if (at <= peak) return cosine_between(first, config_.max, peak > 0 ? at / peak : 1);
  return cosine_between(config_.max, last, (at - peak) / (end - peak));
}

double Schedule::cyclic(std::uint64_t s) const {
  const std::uint64_t length = config_.up + config_.down, cycle = s / length, at = s % length;
  const double scale = at <= config_.up ? number(at) / number(config_.up) : number(length - at) / number(config_.down);
  const double height = mode_ == Mode::Triangular2 ? whole_power(0.5, cycle)
                        : mode_ == Mode::ExpRange  ? whole_power(config_.gamma, s)
                                                   : 1;
  return config_.base + (config_.max - config_.base) * scale * height;
}

void Schedule::observe(double metric) {
  PlateauState& p = plateau_;
  const bool better =
      metric == metric && (!p.seen || (config_.higher_is_better ? metric > p.best * (1 + config_.threshold)
                                                                : metric < p.best * (1 - config_.threshold)));
  if (better) p.best = metric, p.seen = true;
  p.bad = better ? 0 : p.bad + 1;
  if (p.cooldown_left > 0) --p.cooldown_left, p.bad = 0;
  if (p.bad <= config_.patience) return;
  p.rate = std::min(p.rate, std::max(p.rate * config_.factor, config_.min));
  p.cooldown_left = config_.cooldown;
  p.bad = 0;
}

Result<void> Schedule::restore(const PlateauState& state) {
  LOOM_TRY_VOID(check_range("plateau state", "rate", state.rate, 0, kHighestRate));
  plateau_ = state;
  return {};
}

}  // namespace loom
