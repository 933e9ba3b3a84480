// Times layers of a table (bench/layers.json), forward and forward with backward, per row and pass a line of
// microseconds, "name <tab> pass <tab> least <tab> median". bench/torch_layers.py runs it beside PyTorch.
//   bench_layers TABLE [PART_OF_NAME] [SECONDS_PER_PASS] [THREADS] [ISA]

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "backend/cpu/isa.h"
#include "core/file.h"
#include "core/json.h"
#include "core/philox.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = random.uniform(i) - 0.5f;
  return v;
}

// Least and median microseconds of f() within `seconds`.
template <class F>
void report(const std::string& name, const char* pass, double seconds, F&& f) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const auto elapsed = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  f();
  for (const auto begin = Clock::now(); elapsed(begin) < seconds || times.size() < 5;) {
    const auto start = Clock::now();
    f();
    times.push_back(elapsed(start) * 1e6);
  }
  std::ranges::sort(times);
  fmt::print("{}\t{}\t{:.2f}\t{:.2f}\n", name, pass, times[0], times[times.size() / 2]);
}

Result<void> bench_row(const std::string& name, const Json& spec, const Shape& shape, double seconds, int threads,
                       Isa isa, bool backward) {
  LOOM_TRY(Network network, Network::create({}));
  LOOM_TRY(LayerPtr layer, layer_from_json(spec));
  LOOM_TRY_VOID(network.place({}, std::move(layer)));
  LOOM_TRY_VOID(network.initialise());
  const std::vector<float> x = random_floats(shape.elements(), 1);
  {
    LOOM_TRY(const auto session, NetworkSession::create(network, shape, {threads, isa, false}));
    LOOM_TRY_VOID(session->forward({x.data(), shape}));
    report(name, "forward", seconds, [&] { (void)session->forward({x.data(), shape}); });
  }
  if (!backward) return {};
  LOOM_TRY(const auto session, NetworkSession::create(network, shape, {threads, isa, true}));
  LOOM_TRY(const ConstView y, session->forward({x.data(), shape}));
  const std::vector<float> dy = random_floats(y.shape.elements(), 2);
  const Shape out = y.shape;
  LOOM_TRY_VOID(session->backward({dy.data(), out}));
  report(name, "forward+backward", seconds, [&] {
    (void)session->forward({x.data(), shape});
    session->gradients().clear();
    (void)session->backward({dy.data(), out});
  });
  return {};
}

Result<void> bench_table(const char* path, std::string_view part, double seconds, int threads,
                         std::string_view isa_name, bool backward) {
  LOOM_TRY(const Isa isa, isa_from_name(isa_name));
  LOOM_TRY(const std::string text, read_text_file(path));
  LOOM_TRY(const Json table, parse_json(text));
  for (const Json& row : table) {
    const std::string name = *as_string(row["name"]);
    if (name.find(part) == std::string::npos) continue;
    std::vector<std::size_t> extents;
    for (const Json& n : row["x"]) extents.push_back(static_cast<std::size_t>(*as_int(n)));
    LOOM_TRY(const Shape shape, Shape::create(extents));
    if (auto done = bench_row(name, row["layer"], shape, seconds, threads, isa, backward); !done)
      return at(name, std::move(done).error());
  }
  return {};
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  if (count < 2)
    return fmt::print(stderr, "bench_layers TABLE [PART_OF_NAME] [SECONDS_PER_PASS] [THREADS] [ISA] [both|forward]\n"),
           2;
  const auto done = loom::bench_table(
      arguments[1], count > 2 ? arguments[2] : "", count > 3 ? std::strtod(arguments[3], nullptr) : 0.5,
      count > 4 ? std::atoi(arguments[4]) : 1, count > 5 ? arguments[5] : loom::name(loom::best_isa()),
      count < 7 || std::string_view(arguments[6]) != "forward");
  if (!done) return fmt::print(stderr, "{}\n", done.error().text()), 1;
  return 0;
}
