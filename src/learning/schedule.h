#pragma once
// Learning rates by step (engine 6.4). s counts from 0; lr is the rate of the configuration.
//   constant         lr
//   step             lr gamma^floor(s / size)
//   multi_step       lr gamma^(milestones <= s)
//   exponential      lr gamma^s
//   linear           lr (start_factor + (end_factor - start_factor) s / total), s held at total
//   polynomial       end + (lr - end) (1 - s / total)^power, s held at total
//   cosine           min + (lr - min) (1 + cos(pi s / total)) / 2, s held at total
//   cosine_restarts  cosine over cycles of T0, T0 mult, T0 mult^2 ... steps (Loshchilov & Hutter 2017)
//   one_cycle        from max / div up to max over pct of total, down to max / (div final_div), both by cosine (Smith &
//     Topin 2018)
//   cyclic           base to max in `up` steps, back in `down`; the height halves per cycle (triangular2) or is gamma^s
//     (exp_range)
//   inverse_sqrt     lr s / warmup, from s = warmup on lr sqrt(warmup / s)
//   plateau          lr times factor each time that observe() saw no better value for more than `patience` calls
// With warmup_steps W the rate of steps below W rises from warmup_factor of the wrapped schedule's first rate to that
// rate, and the wrapped schedule begins at step W, with s counted from W.

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/error.h"

namespace loom {

struct ScheduleConfig {
  std::string name = "constant";
  double learning_rate = 0.01;
  std::uint64_t size = 1, total = 1;        // steps (or epochs: whatever the caller counts)
  std::vector<std::uint64_t> milestones{};  // ascending
  double gamma = 0.1;                       // 0 to 1
  double start_factor = 1.0 / 3, end_factor = 1;
  double power = 1, end = 0, min = 0;             // end, min: rates
  std::uint64_t first_cycle = 1, cycle_mult = 1;  // T0, mult
  double max = 0.1, base = 0.001;                 // rates
  double pct = 0.3, div = 25, final_div = 1e4;
  std::uint64_t up = 2000, down = 2000;
  std::string cyclic_mode = "triangular";  // triangular, triangular2, exp_range
  std::uint64_t warmup = 1;                // inverse_sqrt
  double factor = 0.1, threshold = 1e-4;   // plateau; the threshold is relative
  std::uint64_t patience = 10, cooldown = 0;
  bool higher_is_better = false;
  std::uint64_t warmup_steps = 0;
  std::string warmup_shape = "linear";  // linear, cosine
  double warmup_factor = 0;

  // Sets `total` so that the warm-up and the schedule after it take so many steps together.
  void fill(std::uint64_t steps) { total = steps > warmup_steps ? steps - warmup_steps : 1; }
};

// State of the plateau schedule; a checkpoint holds it.
struct PlateauState {
  double rate = 0, best = 0;
  std::uint64_t bad = 0, cooldown_left = 0;
  bool seen = false;
};

class Schedule {
 public:
  // UnknownName with the nearest names; InvalidConfig for a setting outside its range, or one that is not the standard
  // and this schedule does not have, except for `total`: the code that counts the steps sets it for all.
  static Result<Schedule> create(const ScheduleConfig& config);

  // A function of the step alone, but for plateau.
  double rate(std::uint64_t step) const;
  // Plateau's metric of one validation; a NaN is never better. Other schedules ignore it.
  void observe(double metric);

  // Returns whether the rates depend on `total`.
  bool has_total() const { return is({Kind::Linear, Kind::Polynomial, Kind::Cosine, Kind::OneCycle}); }
  // Returns whether the rates depend on the step; plateau's depend on what it observes.
  bool counts() const { return config_.warmup_steps != 0 || !is({Kind::Constant, Kind::Plateau}); }
  const PlateauState& plateau() const { return plateau_; }
  // InvalidConfig unless the rate is finite and not negative.
  Result<void> restore(const PlateauState& state);

 private:
  enum class Kind : std::uint8_t {
    Constant,
    Step,
    MultiStep,
    Exponential,
    Linear,
    Polynomial,
    Cosine,
    CosineRestarts,
    OneCycle,
    Cyclic,
    InverseSqrt,
    Plateau
  };
  enum class Mode : std::uint8_t { Triangular, Triangular2, ExpRange };
  bool is(std::initializer_list<Kind> kinds) const { return std::ranges::find(kinds, kind_) != kinds.end(); }
  Result<void> check() const;
  Result<void> check_read() const;
  double wrapped(std::uint64_t s) const;
  double restarts(std::uint64_t s) const;
  double one_cycle(std::uint64_t s) const;
  double cyclic(std::uint64_t s) const;

  ScheduleConfig config_;
  Kind kind_ = Kind::Constant;
  Mode mode_ = Mode::Triangular;
  bool cosine_warmup_ = false;
  PlateauState plateau_;
};

}  // namespace loom
