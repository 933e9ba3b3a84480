// Measures the host's work for a token on a graphics card, without a card: a driver that computes nothing takes the
// commands of a greedy generation. Prints the least and the median time of a token in us over rounds of 64 tokens.
//   bench_gpu_recording MODEL [ROUNDS]
// Loom's own part alone: what a WebGPU library makes of the commands comes on top (counters of loom bench --device).

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "core/clock.h"
#include "lm/language_model.h"
#include "lm/session.h"

namespace loom {
namespace {

class Nowhere final : public gpu::Driver {
 public:
  const gpu::AdapterInfo& adapter() const override { return adapter_; }
  Result<gpu::Id> create_buffer(std::uint64_t bytes, gpu::BufferUse) override { return bytes_ += bytes, ++last_; }
  void destroy_buffer(gpu::Id) override {}
  void write(gpu::Id, std::uint64_t, std::span<const std::byte>) override {}
  Result<gpu::Id> create_pipeline(std::string_view, std::string_view, std::uint32_t, std::uint32_t) override {
    return ++last_;
  }
  gpu::Id create_group(gpu::Id, gpu::Id, std::span<const gpu::Id>) override { return ++last_; }
  void destroy_group(gpu::Id) override {}
  void submit(std::span<const std::uint32_t>) override {}
  Result<gpu::Ticket> begin_read(gpu::Id, std::uint64_t, std::uint64_t) override { return ++last_; }
  Result<bool> poll(gpu::Ticket, std::span<std::byte> to, bool) override {
    std::ranges::fill(to, std::byte{0});
    return true;
  }
  Result<void> check() override { return {}; }
  std::uint64_t buffer_bytes() const override { return bytes_; }

 private:
  gpu::AdapterInfo adapter_{"none", "none", "none", "none", {1u << 31, 1u << 31, 40, 49152, 1024, 65535}};
  gpu::Id last_ = 0;
  std::uint64_t bytes_ = 0;
};

Result<void> run(const char* model_path, int rounds) {
  LOOM_TRY(const LanguageModel model, load_language_model(std::string(model_path)));
  gpu::GpuOptions options;
  options.precision = Precision::Fast;  // nothing is compared with what was not computed
  LOOM_TRY(const auto device, gpu::GpuDevice::create(std::make_unique<Nowhere>(), options));
  SessionOptions wanted;
  wanted.device = device.get();
  LOOM_TRY(const auto session, Session::create(model.decoder, wanted));
  std::vector<double> times;
  std::int32_t id = 1;
  std::uint64_t dispatches = 0;
  constexpr int kTokens = 64;
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = Clock::now();
    const auto before = device->counters().dispatches;
    for (int i = 0; i < kTokens; ++i) {
      LOOM_TRY(id, session->feed_and_choose({0, {&id, 1}}, Session::kMostAhead));
    }
    if (round != 0) times.push_back(ms_since(begin) * 1000 / kTokens);
    dispatches = device->counters().dispatches - before;
    LOOM_TRY_VOID(session->rewind(0));
  }
  std::ranges::sort(times);
  fmt::print("recording a token\t{:.0f}\t{:.0f}\tus\t{} dispatches\n", times.front(), times[times.size() / 2],
             dispatches / kTokens);
  return {};
}

}  // namespace
}  // namespace loom

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "bench_gpu_recording MODEL [ROUNDS]\n"), 2;
  const auto done = loom::run(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 9);
  if (!done) fmt::print(stderr, "{}\n", done.error().text());
  return done ? 0 : 1;
}
