// The golden set on a graphics card, through navigator.gpu, beside the same lines of the CPU, in WebAssembly. Prints
// the lines, which are those of hashes.tsv and training.tsv, and counts those that the card has no form for.
//
//   verify_golden_gpu [N]      every N-th network of a layer, model and training; 1 without

#include <charconv>
#include <cstdio>
#include <cstring>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/js.h"
#include "backend/webgpu/prover.h"
#include "core/clock.h"
#include "verify/card_rules.h"
#include "verify/golden_models.h"
#include "verify/golden_layers.h"
#include "verify/golden_trainings.h"

namespace {

using namespace loom;

class Verification {
 public:
  Verification(gpu::GpuDevice& device, std::size_t one_in) : device_(device), one_in_(one_in) {}

  Result<void> run() {
    LOOM_TRY_VOID(run_layers());
    LOOM_TRY_VOID(run_models());
    return run_trainings();
  }
  // The digest of the card's lines, which are those of the CPU.
  std::string digest() const { return digest_of_text(table_); }
  std::size_t lines() const { return static_cast<std::size_t>(std::ranges::count(table_, '\n')); }
  std::size_t refused() const { return refused_; }

 private:
  Result<void> run_layers() {
    for (const GoldenLayer& layer : golden_layers())
      for (std::size_t t = 0; t < golden_types(layer); ++t)
        if (is_next())
          LOOM_TRY_VOID(compare(layer.name, [&](Device* device) {
            return layer_golden_lines(layer, static_cast<DType>(t), best_isa(), 1, device);
          }));
    return {};
  }
  Result<void> run_models() {
    for (const GoldenCase& c : golden_cases())
      if (is_next()) {
        LOOM_TRY(const auto model, golden_model(c));
        LOOM_TRY_VOID(compare(c.name, [&](Device* device) {
          return golden_digest(
              model, {.isa = best_isa(), .activations = c.activations, .kv_dtype = c.kv_dtype, .device = device});
        }));
      }
    return {};
  }
  Result<void> run_trainings() {
    for (const GoldenTraining& training : golden_trainings())
      if (is_next())
        LOOM_TRY_VOID(compare(training.name, [&](Device* device) {
          return training_digest(training, {.isa = best_isa(), .device = device});
        }));
    return {};
  }

  bool is_next() { return count_++ % one_in_ == 0; }

  template <class F>
  Result<void> compare(std::string_view name, const F& lines) {
    auto there = lines(&device_);
    if (!there && is_rule_of_cards(there.error().message)) return void(++refused_), Result<void>();
    if (!there) return fail(there.error().code, "{}: {}", name, there.error().message);
    LOOM_TRY(const std::string here, lines(nullptr));
    if (here != *there) return fail(Code::CorruptData, "{} differs: {} on the CPU, {} on the card", name, here, *there);
    const std::string added = here.ends_with('\n') ? here : fmt::format("{}\t{}\n", name, here);
    std::printf("%s", added.c_str());
    std::fflush(stdout);
    table_ += added;
    return {};
  }

  gpu::GpuDevice& device_;
  std::size_t one_in_, count_ = 0, refused_ = 0;
  std::string table_;
};

Result<bool> verify(std::size_t one_in) {
  LOOM_TRY(auto driver, gpu::open_js());
  const auto begin = Clock::now();
  LOOM_TRY(const auto device, gpu::GpuDevice::create(std::move(driver)));
  std::printf("%s: its arithmetic is exact\n", device->adapter().name.c_str());
  Verification verification(*device, one_in);
  LOOM_TRY_VOID(verification.run());
  const gpu::Prover::Report& report = device->prover().report();
  std::printf(
      "%zu lines of the card are those of the CPU, %zu networks cannot run on it, %llu shaders, %llu trials, %.0f "
      "s\n",
      verification.lines(), verification.refused(), static_cast<unsigned long long>(device->counters().pipelines),
      static_cast<unsigned long long>(report.trials), ms_since(begin) / 1000);
  for (const std::string& name : report.refused) std::printf("refused: %s\n", name.c_str());
  std::printf("%s  %s\n", report.refused.empty() ? "PASS" : "FAIL", verification.digest().c_str());
  return report.refused.empty();
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t one_in = 1;
  if (argc > 2 || (argc == 2 && (std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), one_in).ec != std::errc{} ||
                                 one_in == 0))) {
    std::fprintf(stderr, "usage: verify_golden_gpu [N]\n");
    return 2;
  }
  const auto passed = verify(one_in);
  if (!passed) std::printf("FAIL  %s\n", passed.error().text().c_str());
  return passed && *passed ? 0 : 1;
}
