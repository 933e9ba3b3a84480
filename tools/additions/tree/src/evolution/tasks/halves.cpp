// The task "halves": half of a number, to show how little a task needs.

#include "evolution/tasks/task.h"

namespace loom {

Result<std::unique_ptr<Task>> halves_task() {
  TaskSamples s;
  s.input = Shape::of({1});
  s.inputs = {0, 1, 2};
  s.values = {0, 0.5F, 1};
  return sample_task(TaskKind::Halves, std::move(s), Score::SquaredError, 0.99);
}

}  // namespace loom
