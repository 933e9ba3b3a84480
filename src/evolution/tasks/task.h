#pragma once
// Tasks: the objectives of evolution.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evolution/population/population.h"

namespace loom {

// Tasks of a config: built in, or samples of a file.
enum class TaskKind : std::uint8_t { Xor, Spirals, CartPole, Csv, Idx };
inline constexpr std::array<std::string_view, 5> kTaskNames = {"xor", "spirals", "cart_pole", "csv", "idx"};
constexpr std::string_view name(TaskKind kind) { return kTaskNames[static_cast<std::size_t>(kind)]; }
constexpr bool is_of_file(TaskKind kind) { return kind == TaskKind::Csv || kind == TaskKind::Idx; }

class Task {
 public:
  virtual ~Task() = default;
  virtual TaskKind kind() const = 0;
  // Shape of a call's input, [samples of a call, one sample]: networks are planned for it.
  virtual Shape input() const = 0;
  // The score at which the task counts as solved.
  virtual double target() const = 0;
  // ShapeMismatch for outputs that judge() could give no score but NaN.
  virtual Result<void> check_output(const Shape& output) const = 0;
  // The score of a network; NaN when it gives no finite numbers or cannot run.
  virtual Result<Fitness> judge(Runner& runner, const Candidate& candidate) const = 0;
  // Returns for each case, a sample or an episode, whether the network gets it right. Ensembles are matched by it.
  virtual Result<std::vector<bool>> right(Runner& runner, const Candidate& candidate) const = 0;
};

// TaskSamples with targets. One output and two classes: right means on the same side of 0.5. More outputs than one: the
// largest is the class.
struct TaskSamples {
  Shape input = Shape::of({1});  // of one sample
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;  // classes, or
  std::vector<float> values;         // values, `outputs` per sample
  std::size_t outputs = 1, classes = 0;
};
enum class Score : std::uint8_t {
  SquaredError,  // 1 - mean squared distance of outputs to targets (one-hot, or 0 and 1 for one output)
  Accuracy,      // share of samples that are right
  CrossEntropy   // minus the mean of -ln softmax(outputs)[class], for several outputs
};
inline constexpr std::array<std::string_view, 3> kScoreNames = {"squared_error", "accuracy", "cross_entropy"};
// InvalidConfig for samples that do not fit together, and for the cross-entropy of values.
Result<std::unique_ptr<Task>> sample_task(TaskKind kind, TaskSamples samples, Score score, double target);

// Two bits, their exclusive or. Solved at a mean squared error of 0.025 (neat-python's threshold of 3.9 of 4).
std::unique_ptr<Task> xor_task();
// Two arms wound round each other, `points` each; classes 0 and 1, one output.
std::unique_ptr<Task> spirals_task(std::size_t points = 96, Score score = Score::Accuracy, double target = 0.98);

// A pole on a cart, held up by pushes to the left or right (Barto, Sutton & Anderson 1983): force 10 N, 20 ms a step,
// Euler; an episode ends beyond 2.4 m, beyond 12 degrees, or after `steps`. Inputs: position, speed, angle, angular
// speed. One output pushes right above 0, two by the larger one. Starts are drawn from `seed`, uniform in +-0.05. The
// score is the mean share of the steps survived.
struct CartPoleConfig {
  std::size_t episodes = 5, steps = 500;
  std::uint64_t seed = 0;
};
std::unique_ptr<Task> cart_pole_task(const CartPoleConfig& config = {});

// Multiply-adds of the matrices that one sample meets, embeddings left out; links count what they run.
double multiply_adds(const Candidate& candidate);

// Objectives of a run: the score of its task, resident bytes (fewer is better), multiply-adds (fewer is better).
enum class Objective : std::uint8_t { Score, Bytes, MultiplyAdds };
inline constexpr std::array<std::string_view, 3> kObjectives = {"score", "bytes", "multiply_adds"};
// A function of the objectives with these names, the score first. UnknownName, InvalidConfig.
Result<FitnessFunction> fitness_of(const Task& task, const std::vector<std::string>& names);

}  // namespace loom
