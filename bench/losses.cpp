// Losses and clipping of gradients: least and median milliseconds of a call with its gradient.
//   cmake --preset release -DLOOM_BENCH=ON && cmake --build build --target bench_losses && build/bin/bench_losses
//     [threads] [rounds]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "learning/clip.h"
#include "learning/loss.h"
#include "ops/all.h"

namespace loom {
namespace {

struct Case {
  const char* loss;
  std::size_t rows, cols;
};

std::vector<float> floats(std::size_t n, std::uint64_t seed, float low, float high) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = low + (high - low) * random.uniform(i);
  return v;
}

template <class F>
void report(const std::string& name, int rounds, F&& f) {
  std::vector<double> times;
  f();
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  std::printf("%-40s least %9.3f ms, median %9.3f ms\n", name.c_str(), times[0], times[times.size() / 2]);
}

void measure(const Exec& exec, int rounds) {
  for (const Case& c : {Case{"softmax_crossentropy", 128, 49152}, Case{"mse", 4096, 512}, Case{"bce_logits", 4096, 512},
                        Case{"cosine", 4096, 512}, Case{"contrastive", 256, 256}}) {
    const Loss loss = Loss::create({.kind = loss_from_name(c.loss).value()}).value();
    const std::vector<float> o = floats(c.rows * c.cols, 1, -8, 8), t = floats(c.rows * c.cols, 2, 0, 1);
    std::vector<float> g(o.size());
    std::vector<std::int64_t> classes(c.rows);
    for (std::size_t r = 0; r < c.rows; ++r) classes[r] = static_cast<std::int64_t>(r * 7919 % c.cols);
    const Shape shape = Shape::of({c.rows, c.cols});
    LossCall call{.output = {o.data(), shape, Element::f32}};
    if (loss.takes_classes())
      call.classes = classes;
    else
      call.target = {t.data(), shape, Element::f32};
    call.gradient = {g.data(), c.rows, c.cols, Element::f32};
    report(std::string(c.loss) + " " + shape.text(), rounds,
           [&] { exec.arena.clear(), (void)loss.evaluate(exec, call).value(); });
  }
  std::vector<float> g = floats(10'000'000, 3, -1, 1);
  const Tensor gradient{g.data(), 1, g.size(), Element::f32};
  float clip[kClipFigures];
  report("clip_norm 10M", rounds, [&] {
    exec.arena.clear(), (void)clip_norm(exec, {&gradient, 1}, 1e-3, {clip, 1, kClipFigures, Element::f32}).has_value();
  });
  report("clip_value 10M", rounds, [&] { (void)clip_value(exec, {&gradient, 1}, 1e-3).has_value(); });
}

}  // namespace
}  // namespace loom

int main(int argc, char** argv) {
  using namespace loom;
  const FpEnvironment environment;
  const auto pool = ThreadPool::create(argc > 1 ? std::atoi(argv[1]) : 1).value();
  Arena arena = Arena::create(std::size_t{64} << 20).value();
  measure({*pool, *kernels_for(best_isa()).value(), arena}, argc > 2 ? std::atoi(argv[2]) : 15);
}
