#include "verify/golden_parity.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace loom {
namespace {

template <class T>
Result<GoldenRun> run_in(const GoldenLayer& c, const Network& network, std::span<const float> input, bool backward,
                         int threads, std::optional<Isa> isa, Device* device = nullptr) {
  NetworkSessionOptions options{threads, isa, backward};
  options.device = device;
  LOOM_TRY(const Shape shape, Shape::create(c.input));
  LOOM_TRY(const auto session, NetworkSession::create(network, shape, options));
  const std::vector<T> x(input.begin(), input.end());
  PassExtras extras;
  extras.training = c.training, extras.step = 3;
  LOOM_TRY(const ConstView y, session->forward_host({x.data(), shape, element_of<T>}, extras));
  GoldenRun out;
  out.y.assign(y.as<T>(), y.as<T>() + y.shape.elements());
  if (!backward) return out;
  std::vector<T> dy(out.y.size());
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<T>(static_cast<int>(i * 29 % 31) - 15) / T{8};
  LOOM_TRY(const ConstView dx, session->backward_host({dy.data(), y.shape, element_of<T>}));
  out.dx.assign(dx.as<T>(), dx.as<T>() + dx.shape.elements());
  return out;
}

}  // namespace

Result<GoldenRun> run_golden(const GoldenLayer& c, const Network& network, bool backward, int threads,
                             std::optional<Isa> isa, Device* device) {
  return run_in<float>(c, network, golden_input(c), backward, threads, isa, device);
}

Result<GoldenRun> run_golden(const GoldenLayer& c, const Network& network, std::span<const float> input) {
  return run_in<float>(c, network, input, false, 1, std::nullopt);
}

Result<GoldenRun> run_golden_exact(const GoldenLayer& c, const Network& network, bool backward) {
  return run_golden_exact(c, network, golden_input(c), backward);
}

Result<GoldenRun> run_golden_exact(const GoldenLayer& c, const Network& network, std::span<const float> input,
                                   bool backward) {
  LOOM_TRY(Network exact, golden_network(c, DType::float64));
  exact.settings.activations = Element::f64;
  std::vector<std::vector<double>> decoded;
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    decoded.emplace_back(w.elements());
    w.decode(0, w.elements(), decoded.back().data());
  });
  std::size_t i = 0;
  std::optional<Error> error;
  exact.visit_weights([&](const std::string& path, Weight& w, const Layer&) {
    if (auto set = w.set(std::span<const double>(decoded[i++])); !set && !error)
      error = std::move(set.error().in_source(path));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return run_in<double>(c, exact, input, backward, 1, std::nullopt);
}

double parity_bound(const GoldenLayer& c, DType dtype) {
  return c.typed && info(dtype).compute == ComputeClass::Int ? 2.5e-2 : 2e-5;
}

std::string_view name(Parity parity) {
  constexpr std::string_view kNames[] = {"bit-equal", "within", "beyond"};
  return kNames[static_cast<std::size_t>(parity)];
}

ParityResult compare_parity(const std::vector<double>& values, const std::vector<double>& exact, double bound) {
  ParityResult out;
  double largest = 0, difference = 0;
  bool equal = values.size() == exact.size(), finite = equal;
  for (std::size_t i = 0; equal && i < values.size(); ++i) largest = std::max(largest, std::abs(exact[i]));
  for (std::size_t i = 0; i < std::min(values.size(), exact.size()); ++i) {
    equal = equal && std::bit_cast<std::uint32_t>(static_cast<float>(values[i])) ==
                         std::bit_cast<std::uint32_t>(static_cast<float>(exact[i]));
    difference = std::max(difference, std::abs(values[i] - exact[i]));
    finite = finite && std::isfinite(values[i]) && std::isfinite(exact[i]);
  }
  out.error = largest > 0 ? difference / largest : difference;
  out.parity = equal ? Parity::BitEqual : finite && out.error <= bound ? Parity::WithinBound : Parity::Beyond;
  return out;
}

}  // namespace loom
