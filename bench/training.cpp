// Times steps of training and single forwards of a table (bench/training.json), one line of microseconds per row,
// "name <tab> least <tab> median". bench/torch_training.py runs it beside PyTorch.
//   bench_training TABLE [PART_OF_NAME] [SECONDS_PER_ROW] [THREADS] [DEVICE] [ISA] [kernels]
// DEVICE as of loom train --device; with `kernels` the times of a card's kernels in one step follow each row.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "backend/cpu/isa.h"
#include "backend/webgpu/gpu_device.h"
#include "core/file.h"
#include "core/json.h"
#include "core/philox.h"
#include "host/device.h"
#include "network/spec/spec.h"
#include "training/trainer.h"

namespace loom {
namespace {

// Least and median microseconds of f() within `seconds`.
template <class F>
void report(const std::string& name, double seconds, F&& f) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const auto elapsed = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  for (int i = 0; i < 3; ++i) f();
  for (const auto begin = Clock::now(); elapsed(begin) < seconds || times.size() < 5;) {
    const auto start = Clock::now();
    f();
    times.push_back(elapsed(start) * 1e6);
  }
  std::ranges::sort(times);
  fmt::print("{}\t{:.2f}\t{:.2f}\n", name, times[0], times[times.size() / 2]);
}

std::size_t count_of(const Json& row, const char* key) {
  return find(row, key) != nullptr ? static_cast<std::size_t>(*as_int(row[key])) : 0;
}

// One layer, or a cell for each of "layers", which mixed precision rounds between; "dtype" is the type of all weights.
Result<Network> network_of(const Json& row) {
  const Json* const layers = find(row, "layers");
  LOOM_TRY(Network network, Network::create({.layers_per_cell = layers != nullptr ? layers->size() : 1}));
  for (std::size_t l = 0; l < (layers != nullptr ? layers->size() : 1); ++l) {
    LOOM_TRY(LayerPtr layer, layer_from_json(layers != nullptr ? (*layers)[l] : row["layer"]));
    LOOM_TRY_VOID(network.place({.l = l}, std::move(layer)));
  }
  LOOM_TRY_VOID(network.initialise());
  if (const Json* type = find(row, "dtype")) {
    LOOM_TRY(const DType dtype, dtype_from_name(*as_string(*type)));
    LOOM_TRY_VOID(network.morph_all(dtype));
  }
  return network;
}

Result<void> bench_row(const std::string& name, const Json& row, const Shape& shape, double seconds, int threads,
                       Device* device, Isa isa, bool times_kernels) {
  LOOM_TRY(Network network, network_of(row));
  const RandomStream random{.seed = 1};
  std::vector<float> x(shape.elements());
  const auto ids = static_cast<std::uint32_t>(count_of(row, "ids")),
             classes = static_cast<std::uint32_t>(count_of(row, "classes"));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = ids != 0 ? static_cast<float>(random.below(i, ids)) : random.uniform(i) - 0.5f;
  if (find(row, "optimizer") == nullptr) {
    if (device != nullptr) return {};  // steps alone
    LOOM_TRY(const auto session, NetworkSession::create(network, shape, {threads, isa, false}));
    report(name, seconds, [&] { (void)session->forward({x.data(), shape}); });
    return {};
  }
  const Json& optimizer = row["optimizer"];
  TrainerConfig config;
  config.loss.kind = classes != 0 ? LossKind::SoftmaxCrossEntropy : LossKind::Mse;
  config.optimizer.name = *as_string(optimizer["name"]);
  if (const Json* momentum = find(optimizer, "momentum")) config.optimizer.momentum = *as_number(*momentum);
  config.schedule.learning_rate = 1e-3;
  config.session.threads = threads, config.session.device = device, config.session.isa = isa;
  if (const Json* mixed = find(row, "mixed")) config.session.mixed = *mixed == "bf16" ? Mixed::bf16 : Mixed::f16;
  LOOM_TRY(const auto trainer, Trainer::create(network, shape, config));
  const Shape out = trainer->session().plan()->shape_after(network.cells().size() - 1);
  std::vector<std::int32_t> labels(classes != 0 ? out.rows() : 0);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(random.below(i, classes));
  std::vector<float> values(classes == 0 ? out.elements() : 0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i);
  Samples batch{{x.data(), shape}, labels, {}};
  if (classes == 0) batch.values = {values.data(), out};
  LOOM_TRY_VOID(trainer->step(batch));
  report(name, seconds, [&] { (void)trainer->step(batch); });
  if (times_kernels && device != nullptr) {
    device->time_kernels();
    LOOM_TRY_VOID(trainer->step(batch));
    fmt::print("{}", kernel_times(*device));
  }
  return {};
}

Result<void> bench_table(const char* path, std::string_view part, double seconds, int threads, Device* device,
                         std::string_view isa_name, bool times_kernels) {
  LOOM_TRY(const Isa isa, isa_from_name(isa_name));
  LOOM_TRY(const std::string text, read_text_file(path));
  LOOM_TRY(const Json table, parse_json(text));
  for (const Json& row : table) {
    const std::string name = *as_string(row["name"]);
    if (name.find(part) == std::string::npos) continue;
    std::vector<std::size_t> extents;
    for (const Json& n : row["x"]) extents.push_back(static_cast<std::size_t>(*as_int(n)));
    LOOM_TRY(const Shape shape, Shape::create(extents));
    if (auto done = bench_row(name, row, shape, seconds, threads, device, isa, times_kernels); !done)
      return at(name, std::move(done).error());
  }
  return {};
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  if (count < 2)
    return fmt::print(stderr,
                      "bench_training TABLE [PART_OF_NAME] [SECONDS_PER_ROW] [THREADS] [DEVICE] [ISA] "
                      "[kernels]\n"),
           2;
  const auto device = loom::device_from_name(count > 5 ? arguments[5] : "cpu");
  if (!device) return fmt::print(stderr, "{}\n", device.error().text()), 1;
  const auto done = loom::bench_table(
      arguments[1], count > 2 ? arguments[2] : "", count > 3 ? std::strtod(arguments[3], nullptr) : 0.5,
      count > 4 ? std::atoi(arguments[4]) : 1, *device, count > 6 ? arguments[6] : loom::name(loom::best_isa()),
      count > 7 && std::string_view(arguments[7]) == "kernels");
  if (!done) return fmt::print(stderr, "{}\n", done.error().text()), 1;
  return 0;
}
