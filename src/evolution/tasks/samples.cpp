#include <cmath>
#include <limits>

#include "core/checked.h"
#include "evolution/sums.h"
#include "evolution/tasks/task.h"
#include "simd/math64.h"

namespace loom {
namespace {

constexpr std::size_t kMaxBehaviour = 64;

// Outputs of a network for all samples, as f64; valid until its runner's next call.
struct Outputs {
  ConstView y;
  std::size_t width = 0;  // outputs per sample

  std::size_t size() const { return y.shape.elements(); }
  double operator[](std::size_t i) const {
    return y.element == Element::f64 ? y.as<double>()[i] : static_cast<double>(y.as<float>()[i]);
  }
};

class SampleTask final : public Task {
 public:
  SampleTask(TaskKind kind, TaskSamples samples, Score score, double target)
      : kind_(kind), samples_(std::move(samples)), score_(score), target_(target) {
    count_ = samples_.inputs.size() / samples_.input.elements();
    batch_ = Network::with_batch(samples_.input, count_);
    wide_.assign(samples_.inputs.begin(), samples_.inputs.end());
  }
  TaskKind kind() const override { return kind_; }
  Shape input() const override { return batch_; }
  double target() const override { return target_; }

  Result<void> check_output(const Shape& output) const override {
    if (output[0] != count_ || output.elements() % count_ != 0)
      return fail(Code::ShapeMismatch, "an output {} for {} samples", output.text(), count_);
    const std::size_t width = output.elements() / count_;
    if (samples_.labels.empty()) {
      if (width == samples_.outputs) return {};
      return fail(Code::ShapeMismatch, "{} output{} for each sample, {} expected", width, width == 1 ? "" : "s",
                  samples_.outputs);
    }
    const bool takes_one = samples_.classes <= 2 && score_ != Score::CrossEntropy;
    if (width == 1 ? takes_one : width >= samples_.classes) return {};
    return fail(Code::ShapeMismatch, "{} output{} for {} classes, {}{} or more expected", width, width == 1 ? "" : "s",
                samples_.classes, takes_one ? "1, " : "", std::max<std::size_t>(samples_.classes, 2));
  }

  Result<Fitness> judge(Runner& runner, const Candidate& candidate) const override {
    Fitness f;
    const auto out = outputs(runner, candidate);
    f.objectives.assign(1, std::numeric_limits<double>::quiet_NaN());
    const std::size_t shown = std::min(kMaxBehaviour, count_);
    if (!out) {
      f.behaviour.assign(shown, 0);
      return f;
    }
    f.behaviour.reserve(shown);
    for (std::size_t i = 0; i < shown; ++i) f.behaviour.push_back((*out)[i * out->width]);
    f.objectives[0] = score(*out);
    return f;
  }

  Result<std::vector<bool>> right(Runner& runner, const Candidate& candidate) const override {
    LOOM_TRY(const Outputs out, outputs(runner, candidate));
    std::vector<bool> mask(count_);
    for (std::size_t i = 0; i < count_; ++i) mask[i] = is_right(out, i);
    return mask;
  }

 private:
  Result<Outputs> outputs(Runner& runner, const Candidate& candidate) const {
    const Element element = candidate.network.settings.activations;
    const bool wide = element == Element::f64;
    runner.use(candidate);
    LOOM_TRY(const ConstView y,
             runner.forward({wide ? static_cast<const void*>(wide_.data()) : samples_.inputs.data(), batch_, element}));
    LOOM_TRY_VOID(check_output(y.shape));
    return Outputs{y, y.shape.elements() / count_};
  }
  double wanted(std::size_t sample, std::size_t output, std::size_t width) const {
    if (samples_.labels.empty()) return static_cast<double>(samples_.values[sample * samples_.outputs + output]);
    const auto label = static_cast<std::size_t>(samples_.labels[sample]);
    return width == 1 ? static_cast<double>(label) : label == output ? 1 : 0;
  }
  bool is_right(const Outputs& out, std::size_t sample) const {
    const std::size_t width = out.width;
    const auto row = [&](std::size_t o) { return out[sample * width + o]; };
    if (samples_.labels.empty()) {
      for (std::size_t o = 0; o < width; ++o)
        if (!(std::abs(row(o) - wanted(sample, o, width)) < 0.5)) return false;
      return true;
    }
    if (width == 1) return (row(0) > 0.5) == (samples_.labels[sample] != 0) && !std::isnan(row(0));
    std::size_t best = 0;
    for (std::size_t o = 1; o < width; ++o)
      if (row(o) > row(best)) best = o;
    return static_cast<std::int32_t>(best) == samples_.labels[sample] && !std::isnan(row(best));
  }
  double score(const Outputs& out) const {
    const std::size_t width = out.width;
    const double nan = std::numeric_limits<double>::quiet_NaN(), n = static_cast<double>(count_);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!std::isfinite(out[i])) return nan;
    switch (score_) {
      case Score::SquaredError:
        return 1 - lanes16(out.size(), [&](std::size_t i) {
                     const double gap = out[i] - (samples_.labels.empty() ? static_cast<double>(samples_.values[i])
                                                                          : wanted(i / width, i % width, width));
                     return gap * gap;
                   }) / static_cast<double>(out.size());
      case Score::Accuracy: return lanes16(count_, [&](std::size_t i) { return is_right(out, i) ? 1.0 : 0.0; }) / n;
      case Score::CrossEntropy:
        return -lanes16(count_, [&](std::size_t i) {
          const auto row = [&](std::size_t o) { return out[i * width + o]; };
          double most = row(0);
          for (std::size_t o = 1; o < width; ++o) most = row(o) > most ? row(o) : most;
          const double sum = lanes16(width, [&](std::size_t o) { return exp64(row(o) - most); });
          return log64(sum) - (row(static_cast<std::size_t>(samples_.labels[i])) - most);
        }) / n;
    }
    return nan;
  }

  TaskKind kind_;
  TaskSamples samples_;
  std::vector<double> wide_;  // the inputs for networks that compute in f64
  Score score_;
  double target_;
  std::size_t count_ = 0;
  Shape batch_;
};

}  // namespace

Result<std::unique_ptr<Task>> sample_task(TaskKind kind, TaskSamples s, Score score, double target) {
  const std::size_t each = s.input.elements(), n = s.inputs.size() / each;
  if (n == 0 || n * each != s.inputs.size())
    return fail(Code::InvalidConfig, "task: {} inputs for samples of {}", s.inputs.size(), s.input.text());
  if (s.labels.empty() ? s.outputs == 0 || s.values.size() != n * s.outputs : s.labels.size() != n)
    return fail(Code::InvalidConfig, "task: targets do not fit {} samples", n);
  if (s.labels.empty() && score == Score::CrossEntropy)
    return fail(Code::InvalidConfig, "task: cross_entropy is of classes, the targets are values");
  for (const std::int32_t label : s.labels)
    if (label < 0 || static_cast<std::size_t>(label) >= s.classes)
      return fail(Code::OutOfRange, "task: label {} of {} classes", label, s.classes);
  LOOM_TRY_VOID(checked_mul(n, each));
  return std::make_unique<SampleTask>(kind, std::move(s), score, target);
}

std::unique_ptr<Task> xor_task() {
  TaskSamples s;
  s.input = Shape::of({2});
  s.inputs = {0, 0, 0, 1, 1, 0, 1, 1};
  s.values = {0, 1, 1, 0};
  return std::make_unique<SampleTask>(TaskKind::Xor, std::move(s), Score::SquaredError, 0.975);
}

std::unique_ptr<Task> spirals_task(std::size_t points, Score score, double target) {
  TaskSamples s;
  s.input = Shape::of({2});
  s.classes = 2;
  constexpr double kPi = 3.141592653589793;
  for (std::size_t i = 0; i < points; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(points), angle = t * 3 * kPi, radius = 0.1 + 0.9 * t;
    for (int arm = 0; arm < 2; ++arm) {
      const double a = angle + (arm == 0 ? 0 : kPi);
      s.inputs.push_back(static_cast<float>(radius * cos64(a)));
      s.inputs.push_back(static_cast<float>(radius * sin64(a)));
      s.labels.push_back(arm);
    }
  }
  return std::make_unique<SampleTask>(TaskKind::Spirals, std::move(s), score, target);
}

}  // namespace loom
