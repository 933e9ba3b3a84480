#include "host/adapt.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/json.h"
#include "host/right_answers.h"
#include "report/markup.h"
#include "report/svg.h"
#include "training/weight_hash.h"

namespace loom {
namespace {

constexpr std::size_t kMostOutputs = std::min<std::uint64_t>(std::uint64_t{1} << 40, SIZE_MAX / 2);

double steady_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One sample after the other, of the tasks in their order.
class TaskStream {
 public:
  TaskStream(Network& network, const std::vector<AdaptTask>& tasks, const AdaptOptions& o)
      : network_(network), tasks_(tasks), o_(o) {}

  Result<AdaptResult> run() {
    LOOM_TRY_VOID(check());
    const Shape one = Network::with_batch(sample_, 1);
    LOOM_TRY(const auto plan, ForwardPlan::create(network_, one));
    LOOM_TRY(output_, plan->output_shape(one));
    if (network_.settings.activations != Element::f32)
      return fail(Code::Unsupported, "the network computes in f64: a stream is of float32");
    LOOM_TRY(trainer_, Trainer::create(network_, plan, o_.trainer));
    LOOM_TRY_VOID(trainer_->check_effects());
    LOOM_TRY(AdaptationTracker tracker, make_tracker());
    AdaptResult out;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      out.tasks.push_back(tasks_[t].name);
      if (t > 0) tracker.mark_task_change(tasks_[t].name);
      for (std::size_t i = 0; i < outputs_of(tasks_[t]) && !out.stopped; ++i) {
        out.stopped = o_.cancel != nullptr && o_.cancel->load();
        if (!out.stopped) LOOM_TRY_VOID(one_sample(t, i, tracker, out));
      }
      if (out.stopped) break;
    }
    tracker.finish();
    take_over(tracker, out);
    return out;
  }

 private:
  Result<void> check() {
    if (tasks_.empty()) return fail(Code::InvalidArgument, "there is no task: expected one or more");
    if (o_.window == 0) return fail(Code::InvalidArgument, "a window of 0 outputs: expected 1 or more");
    for (const AdaptTask& task : tasks_) {
      const TensorValues& x = task.data.inputs;
      if (!task.data.has_targets)
        return fail(Code::InvalidArgument, "task {} has no targets: expected inputs and targets", task.name);
      if (x.shape.rank() < 2)
        return fail(Code::ShapeMismatch, "task {}: inputs of the shape {}: expected samples first, [samples, ...]",
                    task.name, x.shape.text());
      if (task.data.targets.values.size() % x.shape[0] != 0)
        return fail(Code::ShapeMismatch, "task {}: {} targets for {} samples", task.name,
                    task.data.targets.values.size(), x.shape[0]);
      LOOM_TRY(const Shape one, Shape::create(x.shape.extents().subspan(1)));
      if (&task == &tasks_.front()) sample_ = one;
      if (!(one == sample_))
        return fail(Code::ShapeMismatch, "task {}: samples of the shape {}, those of {} have {}", task.name, one.text(),
                    tasks_.front().name, sample_.text());
      if (auto fine = check_input(x.values, x.shape, Element::f32); !fine)
        return at("task " + task.name, std::move(fine).error());
      if (outputs_of(task) > kMostOutputs - total_ || o_.window > kMostOutputs)
        return fail(Code::LimitExceeded, "outputs of all tasks, or of a window: expected at most {}", kMostOutputs);
      total_ += outputs_of(task);
    }
    return {};
  }

  std::size_t outputs_of(const AdaptTask& task) const {
    return o_.outputs_per_task != 0 ? o_.outputs_per_task : task.data.inputs.shape[0];
  }

  Result<AdaptationTracker> make_tracker() {
    const std::string& first = tasks_.front().name;
    constexpr double kMostWindows = 1 << 20;
    if (o_.window_ms) return AdaptationTracker::create(*o_.window_ms, *o_.window_ms * kMostWindows, steady_ms, first);
    const std::uint64_t windows = (total_ + o_.window - 1) / o_.window;
    const auto count = static_cast<double>(windows * o_.window);
    return AdaptationTracker::create(
        static_cast<double>(o_.window), count, [this] { return static_cast<double>(done_); }, first);
  }

  Result<void> one_sample(std::size_t t, std::size_t i, AdaptationTracker& tracker, AdaptResult& out) {
    const AdaptTask& task = tasks_[t];
    const std::size_t at_sample = i % task.data.inputs.shape[0], each = sample_.elements();
    const auto from = std::span(task.data.inputs.values).subspan(at_sample * each, each);
    x_.assign(from.begin(), from.end());
    Samples batch;
    batch.inputs = {x_.data(), Network::with_batch(sample_, 1), Element::f32};
    LOOM_TRY(const bool has_classes, give_targets(task, at_sample, batch));
    LOOM_TRY(const Trainer::Evaluation answer, trainer_->evaluate(batch));
    const std::vector<double> y(answer.output.as<float>(), answer.output.as<float>() + answer.output.shape.elements());
    const auto given = row_classes(y, answer.output.shape.cols());
    const auto wanted = has_classes ? classes_ : row_classes(targets_, answer.output.shape.cols());
    tracker.record(given == wanted);
    if (o_.learns) {
      LOOM_TRY(const StepReport step, trainer_->step(batch));
      out.skipped_steps += step.skipped ? 1 : 0;
    }
    ++done_;
    if (o_.progress) o_.progress(done_, total_);
    return {};
  }

  // A class id, where the output has more numbers than the target, else values.
  Result<bool> give_targets(const AdaptTask& task, std::size_t sample, Samples& batch) {
    const std::size_t each = task.data.targets.values.size() / task.data.inputs.shape[0];
    const auto from = std::span(task.data.targets.values).subspan(sample * each, each);
    targets_.assign(from.begin(), from.end());
    narrow_.assign(from.begin(), from.end());
    if (each == output_.rows() && output_.cols() > 1) {
      classes_.clear();
      LOOM_TRY(classes_, target_classes({targets_, Shape::create(std::array{each}).value()}, each, output_.cols()));
      batch.classes = classes_;
      return true;
    }
    if (each != output_.elements())
      return fail(Code::ShapeMismatch, "task {}: {} targets of a sample: expected {} numbers or {} class ids",
                  task.name, each, output_.elements(), output_.rows());
    batch.values = {narrow_.data(), output_, Element::f32};
    return false;
  }

  void take_over(const AdaptationTracker& tracker, AdaptResult& out) const {
    out.windows = tracker.windows(), out.changes = tracker.changes(), out.outputs = tracker.outputs();
    out.accuracy = tracker.accuracy(), out.throughput = tracker.throughput();
    out.availability = tracker.availability(), out.score = tracker.score();
    out.counts_outputs = !o_.window_ms;
    out.window_ms = o_.window_ms.value_or(static_cast<double>(o_.window));
    out.weights = weight_hash(network_);
  }

  Network& network_;
  const std::vector<AdaptTask>& tasks_;
  const AdaptOptions& o_;
  std::unique_ptr<Trainer> trainer_;
  Shape sample_ = Shape::of({1}), output_ = Shape::of({1});
  std::size_t total_ = 0, done_ = 0;
  std::vector<float> x_, narrow_;
  std::vector<double> targets_;
  std::vector<std::int32_t> classes_;
};

}  // namespace

Result<AdaptResult> run_adaptation(Network& network, const std::vector<AdaptTask>& tasks, const AdaptOptions& options) {
  return TaskStream(network, tasks, options).run();
}

Json to_json(const AdaptResult& r) {
  Json out{{"tasks", r.tasks}, {"clock", r.counts_outputs ? "outputs" : "milliseconds"}};
  out.update(adaptation_json(r.windows, r.changes));
  out["outputs"] = r.outputs, out["accuracy"] = r.accuracy, out["throughput"] = r.throughput;
  out["availability"] = r.availability, out["score"] = r.score;
  out["stopped"] = r.stopped, out["skipped_steps"] = r.skipped_steps, out["weights_hash"] = to_hex(r.weights);
  return out;
}

std::string adaptation_svg(const AdaptResult& r) {
  constexpr double kLeft = 44, kTop = 24, kWide = 660, kHigh = 190;
  const double last = std::max<double>(1, static_cast<double>(r.windows.size()) - 1);
  const auto x_of = [&](double window) { return kLeft + kWide * window / last; };
  const auto y_of = [&](double percent) { return kTop + kHigh * (1 - percent / 100); };
  Svg svg;
  for (const int percent : {0, 25, 50, 75, 100}) {
    svg.path({.stroke = "#ddd"}, fmt::format("M{} {:.1f}H{}", kLeft, y_of(percent), kLeft + kWide));
    svg.text({.x = kLeft - 6, .y = y_of(percent) + 4, .size = 11, .anchor = "end"}, fmt::format("{}%", percent));
  }
  std::string line;
  for (std::size_t w = 0; w < r.windows.size(); ++w)
    if (r.windows[w].outputs != 0)
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x_of(static_cast<double>(w)),
                          y_of(r.windows[w].accuracy));
  if (!line.empty()) svg.path({.stroke = "#2563eb", .width = 1.5}, line);
  const auto mark = [&](double x, const std::string& name) {
    svg.path({.stroke = "#dc2626", .dashed = true}, fmt::format("M{:.1f} {}V{}", x, kTop, kTop + kHigh));
    svg.text({.x = x + 4, .y = kTop - 8, .size = 11}, shortened(name, 24));
  };
  if (!r.tasks.empty()) mark(kLeft, r.tasks.front());
  for (const TaskChange& change : r.changes)
    mark(x_of(std::min(last, std::floor(change.at_ms / r.window_ms))), change.task);
  svg.text({.x = kLeft + kWide / 2, .y = 248, .size = 11, .anchor = "middle"}, "window");
  return svg.finish(720, 260, "sans-serif", "accuracy by window");
}

}  // namespace loom
