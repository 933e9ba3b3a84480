#pragma once
// Weights follow target propagation (docs/guide/tween.md, engine W-11) in three steps: a rate that figures of the pass
// decide, a velocity, and the weight. A rate is a tensor of two elements, its value and whether there is a move at all
// (1 or 0), in the element type of the weight; where there is none, the ops change nothing.

#include "ops/gap/gap.h"

namespace loom {

enum RateEntry : std::uint8_t { kRate, kTakesPart };
inline constexpr std::size_t kRateEntries = 2;

// rate = base * (0.5 + 0.5 budget) * factor, where the figures of gap_figures() say that the cell moves; else 0, 0.
// `factor` is a tensor of one element, or has no data: 1. Figures, factor and rate are of one element type.
void move_rate(const Exec& exec, double base, ConstTensor figures, ConstTensor factor, Tensor rate);
// sum = snap(sum + snap(rate * g)), and `moved` takes part if the rate does.
void add_products(const Exec& exec, ConstTensor rate, ConstTensor g, Tensor sum, Tensor moved);

// v = snap(snap(keep v) + snap(take snap(rate g))); figures: the sum of v^2 by lanes16, 0 where nothing moves, and how
// many elements of g, or of w + v where something moves, are not finite.
enum VelocityFigure : std::uint8_t { kSquares, kNotFinite };
inline constexpr std::size_t kVelocityFigures = 2;
struct VelocityStep {
  double keep = 0, take = 1;
};
// `failed` [1] of f32 is raised to 1 where the figures tell of something that is not finite.
void velocity(const Exec& exec, const VelocityStep& step, ConstTensor rate, ConstTensor g, ConstTensor w, Tensor v,
              Tensor figures, Tensor failed);
// w = snap(w + v), brought into [-limit, limit] (0: no limit). Not where there is no rate, where v is 0 by the figures
// of velocity(), and where `failed` was raised.
void add_velocity(const Exec& exec, ConstTensor rate, ConstTensor figures, ConstTensor failed, ConstTensor v,
                  double limit, Tensor w);
// y = snap(y + snap(factor x)).
void add_scaled(const Exec& exec, double factor, ConstTensor x, Tensor y);
// y = snap(y + snap(now - before)).
void add_change(const Exec& exec, ConstTensor before, ConstTensor now, Tensor y);

template <class T>
struct VelocityKernels {
  void (*rate)(T base, const T* figures, const T* factor, T* rate);
  void (*take_part)(const T* rate, T* moved);
  void (*products)(const T* rate, const T* g, std::size_t n, T* sum);
  // A block of sum_blocks(): `lanes` as the figures.
  void (*velocity)(T keep, T take, const T* rate, const T* g, const T* w, std::size_t n, T* v, T* lanes);
  void (*check)(const T* figures, float* failed);
  void (*move)(const T* rate, const T* figures, const float* failed, const T* v, T limit, std::size_t n, T* w);
  void (*scaled)(T factor, const T* x, std::size_t n, T* y);
  void (*change)(const T* before, const T* now, std::size_t n, T* y);
};

}  // namespace loom
