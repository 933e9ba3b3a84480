// How near kernels of a graphics card come to its limits: matrix-vector products of weights in Q4_0 and f32 in the
// shapes of a model with 7 billion of them, beside a kernel that copies, and products of f32 matrices. A line for each:
//   name <tab> least us <tab> median us <tab> GB/s of weights, or GFLOP/s, of the median
// All data is on the card; a time is that of many consecutive ops, divided, after the card's clock has risen.
//   bench_gpu_shapes [DEVICE] [ROUNDS] [--precision strict|fast|both] [--only TEXT]   DEVICE: gpu (the standard), gpu:N
// --only: lines whose names contain it.
// both: rounds of the exact device and of the fast one in turn, so that a clock that moves moves both; the line has the
// three figures of each, strict first, and the median of fast over that of strict.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/rehearsal.h"
#include "backend/webgpu/gpu_device.h"
#include "core/clock.h"
#include "core/philox.h"
#include "host/device.h"
#include "ops/all.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"

namespace loom {
namespace {

struct Flags {
  std::string device = "gpu", precision = "strict", only;
  std::size_t rounds = 7;
};

// Timed work: `count` ops, which op(exec, i) records one after the other.
struct Work {
  std::string name;
  std::size_t count = 0;
  double giga = 0;  // bytes or operations of one of them, in 10^9
  std::function<void(const Exec&, std::size_t)> op;
};

class Card {
 public:
  // only: part of the names of what is timed.
  static Result<Card> create(Device& device, std::string only) {
    LOOM_TRY(auto pool, ThreadPool::create(1));
    LOOM_TRY(const KernelTable* const kernels, kernels_for(best_isa()));
    return Card(device, std::move(only), std::move(pool), *kernels);
  }

  bool times(std::string_view name) const { return name.find(only_) != name.npos; }

  Result<Tensor> tensor(std::size_t rows, std::size_t cols) {
    LOOM_TRY(Memory memory, Memory::create(device_, rows * cols * sizeof(float)));
    memory_.push_back(std::move(memory));
    return Tensor{memory_.back().data(), rows, cols, Element::f32};
  }
  Result<Tensor> numbers(std::size_t rows, std::size_t cols, std::uint32_t site) {
    LOOM_TRY(const Tensor made, tensor(rows, cols));
    const RandomStream random{.seed = site};
    std::vector<float> values(rows * cols);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i) - 0.5f;
    memory_.back().write(0, std::as_bytes(std::span(values)));
    return made;
  }

  Result<void> plan(const Work& work) {
    return plan_scratch(Exec{*pool_, *kernels_, arena_}, [&](const Exec& e) { record(e, work); });
  }
  // Microseconds of one op.
  Result<double> round(const Work& work) {
    const Exec exec{*pool_, *kernels_, arena_};
    const Clock::time_point begin = Clock::now();
    record(exec, work);
    std::byte word[4];
    device_->read(memory_.back().data(), word);  // waits
    LOOM_TRY_VOID(device_->check());
    if (exec.status) return tl::make_unexpected(*exec.status);
    return 1e3 * ms_since(begin) / static_cast<double>(work.count);
  }
  // Forgets the tensors of what was timed.
  void clear() { memory_.clear(); }
  const gpu::Limits& limits() const { return device_->gpu()->adapter().limits; }
  std::string title() const {
    return fmt::format("{}, {}", device_->gpu()->adapter().name, name(device_->precision()));
  }

 private:
  Card(Device& device, std::string only, std::unique_ptr<ThreadPool> pool, const KernelTable& kernels)
      : device_(&device), only_(std::move(only)), pool_(std::move(pool)), kernels_(&kernels), arena_(&device) {}
  static void record(const Exec& exec, const Work& work) {
    exec.arena.clear();
    for (std::size_t i = 0; i < work.count; ++i) work.op(exec, i);
  }

  Device* device_;
  std::string only_;
  std::unique_ptr<ThreadPool> pool_;
  const KernelTable* kernels_;
  Arena arena_;
  std::vector<Memory> memory_;
};

// Times the work of make(card) on each card, by interleaved rounds; work without ops is not asked for.
Result<void> time(std::vector<Card>& cards, const Flags& flags, const std::function<Result<Work>(Card&)>& make) {
  std::vector<Work> works;
  for (Card& card : cards) {
    LOOM_TRY(Work work, make(card));
    if (work.count == 0) return {};
    works.push_back(std::move(work));
    LOOM_TRY_VOID(card.plan(works.back()));
  }
  // Shaders are compiled, and proved, in the first two rounds, while the clock of the card falls.
  constexpr double kWarmMs = 300;
  double warm_ms = 0;
  std::vector<std::vector<double>> times(cards.size());
  for (std::size_t round = 0; times[0].size() < flags.rounds; ++round) {
    const bool counts = round >= 2 && warm_ms >= kWarmMs;
    for (std::size_t i = 0; i < cards.size(); ++i) {
      const std::size_t c = (round + i) % cards.size();  // neither is always the first
      LOOM_TRY(const double us, cards[c].round(works[c]));
      if (counts) times[c].push_back(us);
      if (round >= 2) warm_ms += 1e-3 * us * static_cast<double>(works[c].count);
    }
  }
  fmt::print("{}", works[0].name);
  std::vector<double> medians;
  for (std::vector<double>& of_card : times) {
    std::ranges::sort(of_card);
    medians.push_back(of_card[of_card.size() / 2]);
    fmt::print("\t{:.2f}\t{:.2f}\t{:.1f}", of_card[0], medians.back(), works[0].giga / (1e-6 * medians.back()));
  }
  if (medians.size() > 1) fmt::print("\t{:.3f}", medians[1] / medians[0]);
  fmt::print("\n");
  std::fflush(stdout);
  for (Card& card : cards) card.clear();
  return {};
}

Result<Work> copies(Card& card) {
  const std::string name = "copy, read and written";
  if (!card.times(name)) return Work{};
  constexpr std::size_t kCols = 4096;
  // 268 MB each, more than any cache holds; a software adapter binds less.
  const std::size_t rows = std::min<std::size_t>(16384, card.limits().binding_bytes / (kCols * sizeof(float)));
  LOOM_TRY(const Tensor from, card.numbers(rows, kCols, 1));
  LOOM_TRY(const Tensor to, card.tensor(rows, kCols));
  return Work{name, 4, 2e-9 * static_cast<double>(rows * kCols * sizeof(float)),
              [=](const Exec& exec, std::size_t) { copy(exec, from, to); }};
}

// Copies that read and write as many bytes in total as a matrix of Q4_0 has: data that goes between two kernels counts
// too.
Result<Work> copies_like(Card& card, std::size_t outputs, std::size_t inputs) {
  const std::string name = fmt::format("copy of {} x {}'s bytes in q4_0", outputs, inputs);
  if (!card.times(name)) return Work{};
  constexpr std::size_t kPieces = 8;
  const std::size_t bytes = outputs * inputs / 32 * 18, half = bytes / 2 / sizeof(float);
  LOOM_TRY(const Tensor from, card.numbers(kPieces, half, 1));
  LOOM_TRY(const Tensor to, card.tensor(kPieces, half));
  const auto piece = [half](const Tensor& of, std::size_t i) {
    return Tensor{of.row(i % kPieces), 1, half, of.element};
  };
  return Work{name, 32, 1e-9 * static_cast<double>(bytes),
              [=](const Exec& exec, std::size_t i) { copy(exec, piece(from, i), piece(to, i)); }};
}

// Blocks of Q4_0 with codes of all kinds, or numbers.
std::vector<std::byte> some_weights(DType type, std::size_t count) {
  const RandomStream random{.seed = 2};
  if (type == DType::float32) {
    std::vector<std::byte> bytes(count * sizeof(float));
    for (std::size_t i = 0; i < count; ++i) {
      const float value = random.uniform(i) - 0.5f;
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
    return bytes;
  }
  if (type == DType::float16) {
    std::vector<std::byte> bytes(count * sizeof(std::uint16_t));
    for (std::size_t i = 0; i < count; ++i) {
      const auto code = static_cast<std::uint16_t>(0x2000 | (random.below(i, 0x10000) & 0x8fff));  // 2^-7 and more
      std::memcpy(bytes.data() + i * sizeof code, &code, sizeof code);
    }
    return bytes;
  }
  constexpr std::size_t kBlockBytes = 18, kBlock = 32;
  constexpr std::uint16_t kScale = 0x2000;  // 2^-7 as a half
  std::vector<std::byte> bytes(count / kBlock * kBlockBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random.below(i, 256));
  for (std::size_t i = 0; i < bytes.size(); i += kBlockBytes) std::memcpy(bytes.data() + i, &kScale, sizeof kScale);
  return bytes;
}

// Several matrices, one after another, more than any cache holds, by rows of a prompt: operations instead of bytes.
Result<Work> products(Card& card, DType type, std::size_t outputs, std::size_t inputs, std::size_t rows) {
  const bool many = rows > 1;
  const std::string title = fmt::format("{} {} x {} by {}", name(type), outputs, inputs,
                                        many ? fmt::format("{} rows", rows) : std::string("a vector"));
  if (!card.times(title)) return Work{};
  const std::vector<std::byte> weights = some_weights(type, outputs * inputs);
  const std::size_t count = type == DType::q4_0 ? 8 : 2;
  const auto matrices = std::make_shared<std::vector<Matrix>>();
  for (std::size_t i = 0; i < count; ++i) {
    LOOM_TRY(Matrix made, Matrix::from_source(type, weights, outputs, inputs));
    matrices->push_back(std::move(made));
  }
  LOOM_TRY(const Tensor x, card.numbers(rows, inputs, 3));
  LOOM_TRY(const Tensor y, card.tensor(rows, outputs));
  const double operations = 2e-9 * static_cast<double>(rows) * static_cast<double>(outputs * inputs);
  return Work{title, many ? count : 32, many ? operations : 1e-9 * static_cast<double>(weights.size()),
              [=](const Exec& exec, std::size_t i) {
                const MatmulJob job{&(*matrices)[i % count], y};
                matmul(exec, x, {&job, 1});
              }};
}

// [m, k] by [k, n], as forward passes, and [k, m] by [k, n], as gradients of weights over k samples.
Result<Work> matrices(Card& card, std::size_t m, std::size_t n, std::size_t k, bool turned = false) {
  const std::string name = fmt::format("f32 {} x {} x {}{}", m, k, n, turned ? ", the first transposed" : "");
  if (!card.times(name)) return Work{};
  LOOM_TRY(const Tensor a, card.numbers(turned ? k : m, turned ? m : k, 4));
  LOOM_TRY(const Tensor b, card.numbers(k, n, 5));
  LOOM_TRY(const Tensor c, card.tensor(m, n));
  const double operations = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return Work{name, operations < 20 ? std::size_t{16} : 4, operations, [=](const Exec& exec, std::size_t) {
                gemm(exec, turned ? Operand::transposed(a) : Operand::of(a), Operand::of(b), k, c);
              }};
}

Result<void> run(const Flags& flags) {
  std::vector<Card> cards;
  for (const std::string_view precision : {"strict", "fast"}) {
    if (flags.precision != precision && flags.precision != "both") continue;
    LOOM_TRY(const std::string name, with_precision(flags.device, precision));
    LOOM_TRY(Device* const device, device_from_name(name));
    if (device == nullptr || device->gpu() == nullptr)
      return fail(Code::InvalidArgument, "a graphics card is expected");
    LOOM_TRY(Card card, Card::create(*device, flags.only));
    fmt::print("# {}\n", card.title());
    cards.push_back(std::move(card));
  }
  if (cards.empty()) return fail(Code::InvalidArgument, "--precision {}: strict, fast or both", flags.precision);
  LOOM_TRY_VOID(time(cards, flags, copies));
  constexpr std::pair<std::size_t, std::size_t> kOf7B[] = {{4096, 4096}, {14336, 4096}, {4096, 14336}};
  for (const auto& [outputs, inputs] : {kOf7B[0], kOf7B[1]})
    LOOM_TRY_VOID(time(cards, flags, [&](Card& card) { return copies_like(card, outputs, inputs); }));
  for (const auto& [outputs, inputs] : kOf7B)
    for (const DType type : {DType::q4_0, DType::float16, DType::float32})
      LOOM_TRY_VOID(time(cards, flags, [&](Card& card) { return products(card, type, outputs, inputs, 1); }));
  for (const auto& [outputs, inputs] : kOf7B)
    for (const DType type : {DType::q4_0, DType::float16})
      for (const std::size_t rows : {32, 128, 512})
        LOOM_TRY_VOID(time(cards, flags, [&](Card& card) { return products(card, type, outputs, inputs, rows); }));
  for (const std::size_t side : {512, 1024, 2048, 4096})
    LOOM_TRY_VOID(time(cards, flags, [&](Card& card) { return matrices(card, side, side, side); }));
  for (const std::size_t width : {256, 1024}) {  // of a transformer with 4096 positions at once
    LOOM_TRY_VOID(time(cards, flags, [&](Card& card) { return matrices(card, 4096, width, 256); }));
    LOOM_TRY_VOID(time(cards, flags, [&](Card& card) { return matrices(card, width, 256, 4096, true); }));
  }
  // Products of a transformer of 31 million weights, 2048 positions at once.
  for (const auto& [to, from] : {std::pair<std::size_t, std::size_t>{512, 512}, {1344, 512}, {512, 1344}}) {
    LOOM_TRY_VOID(time(cards, flags, [&](Card& card) { return matrices(card, 2048, to, from); }));
    LOOM_TRY_VOID(time(cards, flags, [&](Card& card) { return matrices(card, to, from, 2048, true); }));
  }
  return {};
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  loom::Flags flags;
  int place = 0;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--precision" && i + 1 < count)
      flags.precision = arguments[++i];
    else if (argument == "--only" && i + 1 < count)
      flags.only = arguments[++i];
    else if (place++ == 0)
      flags.device = argument;
    else
      flags.rounds = std::max<std::size_t>(std::strtoul(argument.c_str(), nullptr, 10), 1);
  }
  if (const auto done = loom::run(flags); !done) return fmt::print(stderr, "{}\n", done.error().text()), 1;
  return 0;
}
