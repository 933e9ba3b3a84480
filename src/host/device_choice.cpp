#include "host/device_choice.h"

#include <algorithm>
#include <map>

#include "backend/rehearsal.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "ops/all.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gemm/gemm.h"

namespace loom {
namespace {

// Figures of the model that are not measured, from the trainings of docs/benchmarks/graphics-cards.md.
constexpr double kBackward = 3;           // a pass with its way back, in forward passes
constexpr double kUpdateKernels = 6;      // of a weight's update
constexpr double kUpdateBytes = 28;       // that an update moves for an element: weight, gradient, two moments
constexpr double kKernelsOfBlock = 10.2;  // of a decoder's block for one token
constexpr double kCardStart = 1;          // seconds, nearly all of them compilation
constexpr double kLeastLayer = 1e-6;      // seconds of a layer on the CPU
constexpr double kWorthTheCard = 0.9;     // a card has to take less than this part of the CPU's time

// Adds up the work of the layers that a rehearsal runs on a card.
class WorkWatch final : public LayerWatch {
 public:
  explicit WorkWatch(const Device& card) : card_(card), seen_(card.counters().rehearsed) {}
  bool sees_rehearsals() const override { return true; }
  void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) override {
    const std::uint64_t now = card_.counters().rehearsed;
    const auto kernels = static_cast<double>(now - std::exchange(seen_, now));
    ++work.layers, work.kernels += kernels;
    if ((layer.kind() == "rnn" || layer.kind() == "lstm" || layer.kind() == "gru") && x.shape.rank() > 1) {
      // A rehearsal runs one step, after the product of all inputs.
      const auto more = static_cast<double>(x.shape[x.shape.rank() - 2] - 1);
      work.layers += more, work.kernels += more * std::max(kernels - 1, 1.0);
    }
    work.activation_bytes += static_cast<double>(y.shape.elements() * loom::bytes_of(y.element));
    const_cast<Layer&>(layer).visit_weights([&](Weight& w) {  // only read
      work.weight_bytes += static_cast<double>(w.resident_bytes());
      if (w.role() != WeightRole::Matrix || layer.kind() == "embedding") return;
      // A filter meets every place of its output, a matrix every row.
      const bool is_filter = w.shape().rank() > 2;
      const std::size_t rows = is_filter ? y.shape.elements() / w.shape()[0] : std::max(x.shape.rows(), y.shape.rows());
      work.multiply_adds += static_cast<double>(w.elements()) * static_cast<double>(rows);
    });
  }
  void after_backward(const Layer&, const ConstView&, const ConstView&) override {}
  PassWork work;

 private:
  const Device& card_;
  std::uint64_t seen_;
};

// The least seconds of some calls of f().
template <class F>
double least_seconds(F&& f) {
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point begin = Clock::now();
    f();
    if (i > 0) least = std::min(least, ms_since(begin) / 1e3);  // the first one warms up
  }
  return least;
}

Result<DeviceRates> measure(Device* device, int threads) {
  const DeviceTurn turn(device);
  const bool is_card = device != nullptr;
  LOOM_TRY(const auto pool, ThreadPool::create(threads > 0 ? threads : ThreadPool::default_threads()));
  LOOM_TRY(const KernelTable* const kernels, kernels_for(best_isa()));
  Arena arena(device);
  const Exec exec{*pool, *kernels, arena};
  const bool is_software = is_card && device->is_software();  // minutes of the sizes of a card
  const std::size_t side = is_software ? 128
                           : is_card   ? 1024
                                       : 384,
                    row = std::size_t{1} << (is_software ? 16 : 20), rows = is_card ? 16 : 8;
  LOOM_TRY(Memory memory, Memory::create(device, 2 * rows * row * sizeof(float)));
  const auto tensor = [&](std::size_t at, std::size_t r, std::size_t c) {
    return Tensor{memory.data() + at * sizeof(float), r, c, Element::f32};
  };
  Result<void> done;
  // Seconds of a pass that records something, and reads a word.
  const auto pass = [&](auto&& record) {
    return least_seconds([&] {
      done = done ? plan_scratch(exec, record) : done;
      if (done) record(exec);
      float word = 0;
      memory.read(0, std::as_writable_bytes(std::span(&word, 1)));
      if (exec.status) done = tl::make_unexpected(*exec.status);
      if (is_card && done) done = device->check();
    });
  };
  DeviceRates rates;
  const auto steps = [&](std::size_t n) {
    return pass([&](const Exec& e) {
      for (std::size_t i = 0; i < n; ++i) copy(e, tensor(i % 2 * 64, 1, 64), tensor((i + 1) % 2 * 64, 1, 64));
    });
  };
  constexpr std::size_t kSteps = 200;
  const double one = steps(1);
  rates.step_s = std::max(0.0, steps(kSteps) - one) / (kSteps - 1);
  rates.pass_s = is_card ? std::max(0.0, one - rates.step_s) : 0;
  rates.start_s = is_card ? kCardStart : 0;
  if (!is_card) rates.step_s = std::max(rates.step_s, kLeastLayer);
  const auto work = [&](double seconds) { return std::max(seconds - rates.pass_s - rates.step_s, 1e-9); };
  rates.bytes = static_cast<double>(2 * rows * row * sizeof(float)) /
                work(pass([&](const Exec& e) { copy(e, tensor(0, rows, row), tensor(rows * row, rows, row)); }));
  const Tensor a = tensor(0, side, side), b = tensor(side * side, side, side), c = tensor(2 * side * side, side, side);
  rates.multiply_adds = static_cast<double>(side * side * side) /
                        work(pass([&](const Exec& e) { gemm(e, Operand::of(a), Operand::of(b), side, c); }));
  LOOM_TRY_VOID(done);
  return rates;
}

std::string ms(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

}  // namespace

double seconds_of(const PassWork& work, double steps, const DeviceRates& rates) {
  return rates.start_s / work.passes + (1 + work.trips) * rates.pass_s + steps * rates.step_s +
         std::max(work.multiply_adds / rates.multiply_adds, work.weight_bytes / rates.bytes) +
         work.activation_bytes / rates.bytes;
}

DeviceChoice choose_device(const PassWork& work, const DeviceRates& here, const DeviceRates& card,
                           const std::string& name) {
  DeviceChoice choice;
  choice.here_s = seconds_of(work, work.layers, here), choice.card_s = seconds_of(work, work.kernels, card);
  choice.is_card = choice.card_s < kWorthTheCard * choice.here_s;
  choice.reason = fmt::format("about {} a pass on the CPU, {} on {}", ms(choice.here_s), ms(choice.card_s), name);
  return choice;
}

Result<PassWork> work_of(const Network& network, const std::shared_ptr<const ForwardPlan>& plan,
                         const NetworkSessionOptions& options, Device& device) {
  WorkWatch watch(device);
  NetworkSessionOptions there;
  there.threads = options.threads, there.pool = options.pool, there.device = &device;
  LOOM_TRY(const auto session, NetworkSession::create(network, plan, there));
  session->watch(&watch);
  LOOM_TRY_VOID(session->prepare(plan->input()));
  PassWork work = watch.work;
  if (!options.backward) return work;
  for (double* const part :
       {&work.multiply_adds, &work.weight_bytes, &work.activation_bytes, &work.layers, &work.kernels})
    *part *= kBackward;
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    if (w.is_frozen() || w.is_tied() || w.role() == WeightRole::Statistic) return;
    work.kernels += kUpdateKernels, work.layers += 1;
    work.activation_bytes += kUpdateBytes * static_cast<double>(w.elements());
  });
  return work;
}

PassWork work_of(const DecoderModel& model) {
  PassWork work;
  work.weight_bytes = static_cast<double>(model.network.resident_bytes());
  model.network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    work.multiply_adds += w.role() == WeightRole::Matrix ? static_cast<double>(w.elements()) : 0;
  });
  const auto blocks = static_cast<double>(model.config.num_hidden_layers);
  work.layers = 6 * blocks + 3, work.kernels = kKernelsOfBlock * blocks;
  return work;
}

Result<DeviceRates> measured_rates(Device* device, int threads) {
  static Mutex& mutex = *new Mutex;
  static auto& known = *new std::map<std::pair<Device*, int>, DeviceRates>;
  const std::pair key{device, device == nullptr ? threads : 0};
  const Mutex::Guard lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  LOOM_TRY(const DeviceRates rates, measure(device, threads));
  return known[key] = rates;
}

}  // namespace loom
