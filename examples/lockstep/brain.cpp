#include "brain.h"

#include <bit>
#include <stdexcept>
#include <vector>

namespace lockstep {
namespace {

constexpr std::uint64_t kShape[] = {1, kInputs};

struct WeightInfo {
  const char* name;
  std::size_t count;
};
// In the order of the names.
constexpr WeightInfo kWeights[] = {
    {"layers.0.bias", 12}, {"layers.0.weight", 96}, {"layers.1.bias", 2}, {"layers.1.weight", 24}};

std::string spec(std::uint32_t seed) {
  return R"({"seed": )" + std::to_string(seed) +
         R"(, "input_shape": [8], "layers": [
  {"type": "dense", "input_height": 8, "output_height": 12, "bias": true, "activation": "tanh"},
  {"type": "dense", "input_height": 12, "output_height": 2, "bias": true}]})";
}

constexpr char kLearning[] = R"({"loss": "mse", "learning_rate": 0.1,
  "tween": {"mode": "layerwise", "momentum": 0, "budget_threshold": 0}})";

loom_compute_options compute(const std::string& isa) {
  auto options = loom::sized<loom_compute_options>();
  options.thread_count = 1;
  options.isa = isa.empty() ? nullptr : isa.c_str();
  return options;
}

loom::NetworkSession session_of(const loom::Network& network, const std::string& isa) {
  const loom_compute_options computing = compute(isa);
  auto options = loom::sized<loom_network_session_options>();
  options.compute = &computing;
  return loom::NetworkSession::create(network, options);
}

// A tensor over memory of the caller.
std::vector<float> values_of(const loom::Network& network, const WeightInfo& weight) {
  std::vector<float> values(weight.count);
  network.get_weight(weight.name, loom::tensor_of(values.data(), values.size()));
  return values;
}

}  // namespace

Brain::Brain(std::uint32_t seed, const std::string& isa)
    : network_(loom::Network::from_json(spec(seed))),
      trainer_(loom::Trainer::create(network_, kLearning, {kShape, 2}, compute(isa))),
      session_(session_of(network_, isa)) {}

void Brain::learn(const Inputs& inputs, const Outputs& targets) {
  auto batch = loom::sized<loom_batch>();
  const loom_tensor x = loom::tensor_of(inputs.data(), inputs.size(), kShape, 2);
  const loom_tensor y = loom::tensor_of(targets.data(), targets.size());
  batch.inputs = &x, batch.targets = &y;
  trainer_.step(batch);
}

Outputs Brain::act(const Inputs& inputs) {
  const loom_tensor y = session_.forward(loom::tensor_of(inputs.data(), inputs.size(), kShape, 2));
  const float* const values = static_cast<const float*>(y.data);
  return {values[0], values[1]};
}

std::string Brain::hash() const { return network_.hash().text(); }

std::map<std::string, std::string> Brain::weights() const {
  std::map<std::string, std::string> out;
  for (const WeightInfo& weight : kWeights) out[weight.name] = hexadecimal(values_of(network_, weight));
  return out;
}

void Brain::flip(const std::string& name, std::size_t index, unsigned bit) {
  for (const WeightInfo& weight : kWeights) {
    if (weight.name != name) continue;
    if (index >= weight.count || bit > 31) throw std::out_of_range("--flip: " + name + " has no such bit");
    std::vector<float> values = values_of(network_, weight);
    values[index] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[index]) ^ (1U << bit));
    network_.set_weight(name, loom::tensor_of(values.data(), values.size()));
    return;
  }
  throw std::out_of_range("--flip: there is no weight " + name);
}

std::string hexadecimal(std::span<const float> values) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned byte = 0; byte < 4; ++byte) {
      out += kDigits[bits >> (8 * byte + 4) & 15];
      out += kDigits[bits >> (8 * byte) & 15];
    }
  }
  return out;
}

}  // namespace lockstep
