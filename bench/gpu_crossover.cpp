// Where a graphics card begins to take less time than this computer: forward passes of 20 dense layers and 20
// convolutions on both, and what the cost model of `--device auto` expects and would choose. A line for each:
//   shape <tab> multiply-adds <tab> us on the CPU <tab> on the card <tab> us expected CPU <tab> card <tab> choice
// bench/gpu_crossover.py draws them.
//   bench_gpu_crossover [DEVICE] [THREADS] [SECONDS]      DEVICE: gpu (the standard), gpu:N

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/philox.h"
#include "host/device.h"
#include "host/device_choice.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

struct Case {
  std::string name;
  Json layer;
  Shape input;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const std::size_t width : {64, 256, 1024, 4096})
    for (const std::size_t rows : {1, 8, 64, 512, 2048})
      out.push_back({fmt::format("dense {}x{} batch {}", width, width, rows),
                     {{"type", "dense"}, {"input_height", width}, {"output_height", width}},
                     Shape::of({rows, width})});
  for (const std::size_t channels : {8, 32, 64, 128})
    for (const std::size_t side : {8, 16, 32, 64, 128})
      out.push_back(
          {fmt::format("conv {} channels {}x{} batch 8", channels, side, side),
           {{"type", "cnn2"}, {"input_channels", channels}, {"filters", channels}, {"kernel_size", 3}, {"padding", 1}},
           Shape::of({8, channels, side, side})});
  return out;
}

// Median microseconds of a pass whose input and output are in host memory.
Result<double> time_of(const Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                       const std::vector<float>& x, Device* device, int threads, double seconds) {
  const Shape& input = plan->input();
  LOOM_TRY(const auto session, NetworkSession::create(network, plan, {.threads = threads, .device = device}));
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) LOOM_TRY_VOID(session->forward_host({x.data(), input}));
  for (const Clock::time_point begin = Clock::now(); ms_since(begin) < 1e3 * seconds || times.size() < 5;) {
    const Clock::time_point start = Clock::now();
    LOOM_TRY_VOID(session->forward_host({x.data(), input}));
    times.push_back(1e3 * ms_since(start));
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

Result<void> run(const char* name, int threads, double seconds) {
  LOOM_TRY(Device* const device, device_from_name(name));
  if (device == nullptr) return fail(Code::InvalidArgument, "a graphics card is expected");
  LOOM_TRY(const DeviceRates here, measured_rates(nullptr, threads));
  LOOM_TRY(const DeviceRates there, measured_rates(device, threads));
  const auto tell = [](std::string_view what, const DeviceRates& r) {
    fmt::print("# {}: {:.4g} multiply-adds/s, {:.4g} bytes/s, {:.3g} us a step, {:.3g} us a pass\n", what,
               r.multiply_adds, r.bytes, 1e6 * r.step_s, 1e6 * r.pass_s);
  };
  fmt::print("# {}, {} threads\n", device->gpu()->adapter().name, threads);
  tell("here", here), tell("card", there);
  double lost = 0, most = 0;
  for (const Case& c : cases()) {
    LOOM_TRY(SpecResult read, network_from_json({{"seed", 1}, {"layers", Json::array({c.layer})}}));
    LOOM_TRY(const auto plan, ForwardPlan::create(read.network, c.input));
    const RandomStream random{.seed = 1};
    std::vector<float> x(c.input.elements());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = random.uniform(i) - 0.5f;
    LOOM_TRY(const double mine, time_of(read.network, plan, x, nullptr, threads, seconds));
    LOOM_TRY(const double its, time_of(read.network, plan, x, device, threads, seconds));
    LOOM_TRY(PassWork work, work_of(read.network, plan, {.threads = threads}, *device));
    work.passes = kManyPasses;
    const DeviceChoice choice = choose_device(work, here, there, "");
    const double loss = (choice.is_card ? its : mine) / std::min(its, mine) - 1;
    lost += loss / static_cast<double>(cases().size()), most = std::max(most, loss);
    fmt::print("{}\t{:.4g}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{}\n", c.name, work.multiply_adds, mine, its,
               1e6 * choice.here_s, 1e6 * choice.card_s, choice.is_card ? "gpu" : "cpu");
    std::fflush(stdout);
  }
  fmt::print("# auto loses {:.1f} % against the better choice, {:.1f} % where it loses most\n", 100 * lost, 100 * most);
  return {};
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  const auto done = loom::run(count > 1 ? arguments[1] : "gpu",
                              count > 2 ? std::atoi(arguments[2]) : loom::ThreadPool::default_threads(),
                              count > 3 ? std::strtod(arguments[3], nullptr) : 0.1);
  if (!done) return fmt::print(stderr, "{}\n", done.error().text()), 1;
  return 0;
}
