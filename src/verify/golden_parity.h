#pragma once
// A golden layer in one of the 21 types is compared with the f64 pass over its decoded weights.

#include <optional>
#include <string_view>
#include <vector>

#include "verify/golden_layers.h"
#include "network/session/network_session.h"

namespace loom {

struct GoldenRun {
  std::vector<double> y, dx;
};
// One forward, and with `backward` the backward of a fixed dy. The network is golden_network(layer, ..).
// Unsupported where the device has no form for it.
Result<GoldenRun> run_golden(const GoldenLayer& layer, const Network& network, bool backward, int threads = 1,
                             std::optional<Isa> isa = std::nullopt, Device* device = nullptr);

// Like run_golden() in f64, on the decoded values of the weights of `network`.
Result<GoldenRun> run_golden_exact(const GoldenLayer& layer, const Network& network, bool backward);
// Both for an input of one's own instead of golden_input().
Result<GoldenRun> run_golden(const GoldenLayer& layer, const Network& network, std::span<const float> input);
Result<GoldenRun> run_golden_exact(const GoldenLayer& layer, const Network& network, std::span<const float> input,
                                   bool backward = false);

// Bound relative to the largest value: float and wide types differ from f64 by the rounding of sums; the INT types
// round inputs to 127 levels first, which is 0.4 % of the largest input, and kinds with two consecutive products
// (swiglu, attention) amplify it to 2.2 %. The bits that they give are not a matter of a bound:
// tests/conformance/simulated_test.cpp.
double parity_bound(const GoldenLayer& layer, DType dtype);

// f64 rounded to f32 gives the same bits; within parity_bound(); neither
enum class Parity { BitEqual, WithinBound, Beyond };
std::string_view name(Parity parity);
struct ParityResult {
  Parity parity = Parity::BitEqual;
  double error = 0;  // largest difference, in parts of the largest value
};
ParityResult compare_parity(const std::vector<double>& values, const std::vector<double>& exact, double bound);

}  // namespace loom
