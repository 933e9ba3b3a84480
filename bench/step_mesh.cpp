// A tick of the step mesh beside the forward passes of its layers one after the other, with the same threads and
// kernels, in turns: per network the least and median ratio, and ticks per second. Then a crowd of states of one
// network: stepped together, one by one, and as rows of one batch, whose bits are compared.
//   bench_step_mesh [SECONDS_PER_ROW] [THREADS] [STATES]

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/philox.h"
#include "network/spec/spec.h"
#include "network/mesh/step_mesh.h"
#include "ops/all.h"

namespace loom {
namespace {

// With one thread its processor time, which other programs do not lengthen; with more, time passed.
struct Clock {
  static inline bool own = false;
  static double now() {
    timespec t{};
    clock_gettime(own ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
};
double seconds_since(double start) { return Clock::now() - start; }

std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = random.uniform(i) - 0.5f;
  return v;
}

std::string dense(int width, const std::string& more = "") {
  return fmt::format(R"({}"type":"dense","bias":true,"activation":"tanh","input_height":{},"output_height":{})", more,
                     width, width);
}

// A 4 x 4 x 4 grid of one layer, or of several in turns; every eighth cell adds the output of the cell seven places on.
std::string cube(const std::vector<std::string>& layers, bool feedback) {
  std::string cells;
  for (int i = 0; i < 64; ++i) {
    const int to = i + 7;
    const std::string link =
        feedback && i % 8 == 0
            ? fmt::format(
                  R"("is_remote_link":true,"link_mode":"feed","link_merge":"add","target_z":{},"target_y":{},"target_x":{},)",
                  to / 16, to / 4 % 4, to % 4)
            : "";
    cells += fmt::format(R"({}{{"z":{},"y":{},"x":{},"l":0,{}{}}})", i == 0 ? "" : ",", i / 16, i / 4 % 4, i % 4, link,
                         layers[static_cast<std::size_t>(i) % layers.size()]);
  }
  return R"({"depth":4,"rows":4,"cols":4,"layers_per_cell":1,"seed":3,"layers":[)" + cells + "]}";
}

Result<Network> read(const std::string& spec) {
  LOOM_TRY(SpecResult result, network_from_json(std::string_view(spec)));
  return std::move(result.network);
}

// The layers of a network, each on its own input.
class Layers {
 public:
  static Result<Layers> create(std::shared_ptr<const StepPlan> plan, int threads) {
    Layers l;
    l.plan_ = std::move(plan);
    LOOM_TRY(l.pool_, ThreadPool::create(threads));
    LOOM_TRY(l.kernels_, kernels_for(best_isa()));
    LOOM_TRY(l.arena_, Arena::create(std::size_t{64} << 20));
    for (const StepCell& cell : l.plan_->cells())
      l.x_.push_back(random_floats(cell.input.elements(), l.x_.size())), l.y_.emplace_back(cell.output.elements());
    return l;
  }
  void forward() {
    const Exec exec{*pool_, *kernels_, arena_, nullptr, Activations::int16};
    std::size_t i = 0;
    for (const StepCell& cell : plan_->cells()) {
      arena_.clear();
      run_forward(*cell.operation, Run(exec), {x_[i].data(), cell.input}, {y_[i].data(), cell.output});
      ++i;
    }
  }

 private:
  std::shared_ptr<const StepPlan> plan_;
  std::unique_ptr<ThreadPool> pool_;
  const KernelTable* kernels_ = nullptr;
  Arena arena_;
  std::vector<std::vector<float>> x_, y_;
};

Result<void> bench_row(const char* name, const std::string& spec, const Shape& input, double seconds, int threads) {
  LOOM_TRY(const Network network, read(spec));
  LOOM_TRY(const auto plan, StepPlan::create(network, input));
  LOOM_TRY(Layers layers, Layers::create(plan, threads));
  LOOM_TRY(const auto mesh, StepMesh::create(network, plan, {.threads = threads, .history_capacity = 16}));
  LOOM_TRY(StepState state, mesh->create_state());
  const std::vector<float> x = random_floats(input.elements(), 1);
  LOOM_TRY_VOID(state.set_input({x.data(), input}));
  for (const bool capture : {false, true}) {
    std::vector<double> ratios, ticks;
    for (int i = 0; i < 80; ++i) {
      LOOM_TRY_VOID(mesh->step(state, {.capture = capture}));
      layers.forward();
    }
    auto start = Clock::now();
    for (int i = 0; i < 20; ++i) layers.forward();
    const int turns = std::max(1, static_cast<int>(2e-3 * 20 / seconds_since(start)));
    for (const auto begin = Clock::now(); seconds_since(begin) < seconds;) {
      start = Clock::now();
      for (int i = 0; i < turns; ++i) layers.forward();
      const double apart = seconds_since(start);
      start = Clock::now();
      for (int i = 0; i < turns; ++i) (void)mesh->step(state, {.capture = capture});
      ticks.push_back(seconds_since(start) / turns);
      ratios.push_back(ticks.back() * turns / apart);
    }
    std::ranges::sort(ratios), std::ranges::sort(ticks);
    fmt::print("{:<28}{}\tleast {:.3f}\tmedian {:.3f}\t{:.0f} ticks/s\n", name, capture ? ", captured" : "          ",
               ratios[0], ratios[ratios.size() / 2], 1 / ticks[ticks.size() / 2]);
  }
  return {};
}

Result<void> bench_crowd(std::size_t states, double seconds, int threads) {
  const Shape one = Shape::of({1, 64}), all = Shape::of({states, 64});
  const std::string spec = cube({dense(64)}, true);
  LOOM_TRY(const Network network, read(spec));
  LOOM_TRY(const Network batch_network, read(spec));
  LOOM_TRY(const auto mesh, StepMesh::create(network, one, {.threads = threads, .history_capacity = 0}));
  LOOM_TRY(const auto batch_mesh, StepMesh::create(batch_network, all, {.threads = threads, .history_capacity = 0}));
  std::vector<StepState> crowd, single;
  std::vector<StepState*> members;
  const std::vector<float> x = random_floats(states * 64, 1);
  for (std::size_t n = 0; n < states; ++n)
    for (auto* list : {&crowd, &single}) {
      LOOM_TRY(StepState state, mesh->create_state());
      LOOM_TRY_VOID(state.set_input({x.data() + n * 64, one}));
      list->push_back(std::move(state));
    }
  for (StepState& s : crowd) members.push_back(&s);
  LOOM_TRY(StepState batch, batch_mesh->create_state());
  LOOM_TRY_VOID(batch.set_input({x.data(), all}));
  std::vector<double> times[3];
  const auto timed = [&](int k, auto&& f) {
    const auto start = Clock::now();
    f();
    if (batch.step_count() > 70) times[k].push_back(seconds_since(start));  // data is everywhere
  };
  for (const auto begin = Clock::now(); seconds_since(begin) < 3 * seconds || batch.step_count() < 80;) {
    timed(0, [&] { (void)mesh->step(members); });
    timed(1, [&] {
      for (StepState& s : single) (void)mesh->step(s);
    });
    timed(2, [&] { (void)batch_mesh->step(batch); });
  }
  for (auto& list : times) std::ranges::sort(list);
  std::size_t differ = 0;
  LOOM_TRY(const ConstView rows, batch.output());
  for (std::size_t n = 0; n < states; ++n) {
    LOOM_TRY(const ConstView alone, single[n].output());
    differ +=
        crowd[n].hash() != single[n].hash() || std::memcmp(rows.as() + n * 64, alone.as(), 64 * sizeof(float)) != 0;
  }
  const char* const names[] = {"together", "one by one", "as a batch"};
  for (int k = 0; k < 3; ++k)
    fmt::print("{} states of 64 cells dense 64-64, {:<12}\tleast {:.2f} ms\tmedian {:.2f} ms a tick\n", states,
               names[k], times[k][0] * 1e3, times[k][times[k].size() / 2] * 1e3);
  fmt::print("{} of {} differ after {} ticks\n", differ, states, batch.step_count());
  return {};
}

Result<void> bench(double seconds, int threads, std::size_t states) {
  Clock::own = threads == 1;
  const std::string rms = R"("type":"rmsnorm","input_height":128)",
                    swiglu = R"("type":"swiglu","input_height":128,"output_height":256)";
  LOOM_TRY_VOID(bench_row("dense 16-16", cube({dense(16)}, false), Shape::of({1, 16}), seconds, threads));
  LOOM_TRY_VOID(bench_row("dense 64-64", cube({dense(64)}, false), Shape::of({1, 64}), seconds, threads));
  LOOM_TRY_VOID(bench_row("dense 64-64, feedback", cube({dense(64)}, true), Shape::of({1, 64}), seconds, threads));
  LOOM_TRY_VOID(bench_row("dense 64-64, batch 32", cube({dense(64)}, false), Shape::of({32, 64}), seconds, threads));
  LOOM_TRY_VOID(bench_row("dense 256-256", cube({dense(256)}, false), Shape::of({1, 256}), seconds, threads));
  LOOM_TRY_VOID(
      bench_row("dense 256-256, batch 32", cube({dense(256)}, false), Shape::of({32, 256}), seconds, threads));
  LOOM_TRY_VOID(bench_row("rmsnorm, swiglu 128-256", cube({rms, swiglu}, true), Shape::of({1, 128}), seconds, threads));
  return bench_crowd(states, seconds, threads);
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  const auto done =
      loom::bench(count > 1 ? std::strtod(arguments[1], nullptr) : 1, count > 2 ? std::atoi(arguments[2]) : 1,
                  count > 3 ? static_cast<std::size_t>(std::atoi(arguments[3])) : 200);
  if (!done) return fmt::print(stderr, "{}\n", done.error().text()), 1;
  return 0;
}
